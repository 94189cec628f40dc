"""The frozen net: what ran before the house was rebuilt, as it happened, and what each judge said of it.

Whoever replaces a world, or a judge, holds the new one to this: it says the same of the same history, or a witness
outside this repository says why not. From the bottom:

notes      What is noted while a world runs.
simulated  Lives of groups in virtual time.
scheduled  Lives of one consumer under drawn schedules.
stressed   Lives of groups of real clients on real brokers.
verdicts   What each judge that reads histories says of each of them.
changes    What is said otherwise than before, and why.
figures    What the checks find besides: nothing of it may be lost.
freeze     Makes the corpus: `python -m groupspec.conformance.frozen`.
"""
