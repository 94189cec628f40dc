"""Every performance figure of the project, each measured beside the thing it is compared with, in the same run.

One file a benchmark, found by its name as commands are: `measure` is its entry. A figure without a peer says little
on another machine, so most have one: `ratio` is the measured figure over the peer's, both from the same process and
minute.
"""
