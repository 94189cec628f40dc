"""Runs of the kit against the reference in one process, in virtual time: a minute of a story takes a second or less.

Nothing of the kit, of the scripted broker or of the client is replaced: the same bytes go through the same sockets of
loopback. What is replaced is underneath (`world`): threads are greenlets, and the clock goes on to the next thing that
somebody waits for when nobody can run. So a run depends on no processor and on no neighbour, and says the same each
time. `run` forks a process for each run, in which all this is so; the harness is in there, too (`harness`).

Real clients are programs of their own, and meet the kit in real time only (`groupspec.conformance.wire.campaign`).
"""
