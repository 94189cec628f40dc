"""What the columnar checker remembers of a member between two events: one record of integers.

A table can hold which transition is possible; it cannot hold clocks, generations and counts. Those are here. A record
of integers, because the columnar checker that reads it is compiled, and because it is carried from batch to batch.

Three-valued registers say UNKNOWN after a gap in the trace: what is not known is not judged.
"""

from __future__ import annotations

from typing import Final

import numpy as np

NO: Final = 0
YES: Final = 1
UNKNOWN: Final = 2

NO_GENERATION: Final = -1
UNKNOWN_GENERATION: Final = -2

GRACE_US: Final = 1_000_000
"""How late a member may notice that its poll interval ran out: threads are scheduled late."""

NOT_BEFORE_THE_NEXT_US: Final = 2**62
"""Where the heartbeat gap counts from once it was reported: one silence is one finding."""

REBALANCES_OF_A_STORM: Final = 10
STORM_US: Final = 600_000_000
"""So many rebalances of one member within ten minutes are worth a notice. No rule forbids them."""

APIS: Final = ("join", "sync", "heartbeat", "leave", "commit", "lookup")


MEMBER: Final = np.dtype(
    [
        ("state", "i8"),  # state of the projected rebalance table; -1: not judged
        ("last_seq", "i8"),
        ("last_at", "i8"),  # the time of the event before
        ("now", "i8"),  # the time of this event
        ("source", "i8"),
        ("configured", "i8"),  # the settings below are known
        ("session_us", "i8"),
        ("poll_us", "i8"),
        ("static", "i8"),
        ("eager", "i8"),
        ("generation", "i8"),  # of the last accepted join; NO_GENERATION, UNKNOWN_GENERATION
        ("generation_before", "i8"),
        ("joined", "i8"),  # generation that SyncGroup must carry
        ("active", "i8"),  # in a generation: heartbeats and polls are due
        ("life_at", "i8"),  # since when the heartbeat gap counts
        ("poll_at", "i8"),
        ("poll_seen", "i8"),  # YES: the poll gap counts
        ("coordinator", "i8"),  # NO: it was lost, no heartbeat can be sent
        ("join_out", "i8"),
        ("sync_out", "i8"),
        ("left", "i8"),
        ("owned_known", "i8"),
        ("releasing", "i8"),  # revoked_started or lost_started was seen, its end is due
        ("assigning", "i8"),
        ("stamp", "i8"),  # which stamp marks a partition as owned by this member
        ("owned_count", "i8"),
        ("asked", "i8", len(APIS)),  # six counters, one for each of APIS; then six for the answers
        ("answered", "i8", len(APIS)),
        ("bound_us", "i8"),  # how far apart heartbeats may be; 0: not judged
        ("says_lost", "i8"),  # the client has a callback of its own for lost partitions
        ("quiet_at", "i8"),  # since when the next heartbeat is waited for
        ("hole_life", "i8"),  # the longest time without any event since LIFE_AT, QUIET_AT, POLL_AT
        ("hole_quiet", "i8"),
        ("hole_poll", "i8"),
        ("mixed", "i8"),  # several processes under one name: nothing is judged
        ("member_id", "i8"),  # a number for the id that the coordinator gave; 0: none, or not known
        ("gone_id", "i8"),  # the one that was given up, or that the coordinator does not know any more
        ("lost", "i8"),  # the membership ended without the application's will, and has not begun anew
        ("lost_at", "i8"),
        ("announced", "i8"),  # a rebalance was announced: a revoked callback may be under way
        ("asked_to_leave", "i8"),
        ("joins", "i8"),  # JoinGroups since the last accepted one
        ("join_at", "i8"),  # when the last JoinGroup was sent
        ("term_at", "i8"),  # when the generation was joined; the row of `terms` that is being written
        ("term_waited", "i8"),
        ("term_together", "i8"),  # NO: the answer may have come later than the others'
        ("term_last_at", "i8"),  # when the last request of it was sent that was accepted; -1: none
        ("term_last_seq", "i8"),
        ("commit_at", "i8"),  # when the last commit was sent
        ("term_generation", "i8"),
        ("term_seq", "i8"),  # of the JoinGroup's answer
        ("term_last_event", "i8"),
        ("process", "i8"),  # how many processes there were before this one
    ]
)
