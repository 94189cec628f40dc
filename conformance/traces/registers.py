"""What the columnar checker remembers of a member between two events: one vector of integers.

A table can hold which transition is possible; it cannot hold clocks, generations and counts. Those are here. A vector
of integers, because the columnar checker that reads it is compiled, and because it is carried from batch to batch as it
is.

Three-valued registers say UNKNOWN after a gap in the trace: what is not known is not judged.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

NO: Final = 0
YES: Final = 1
UNKNOWN: Final = 2

NO_GENERATION: Final = -1
UNKNOWN_GENERATION: Final = -2

GRACE_US: Final = 1_000_000
"""How late a member may notice that its poll interval ran out: threads are scheduled, and nobody's are on time."""

NOT_BEFORE_THE_NEXT_US: Final = 2**62
"""Where the heartbeat gap counts from once it was reported: one silence is one finding."""

REBALANCES_OF_A_STORM: Final = 10
STORM_US: Final = 600_000_000
"""So many rebalances of one member within ten minutes are worth a notice. No rule forbids them."""

APIS: Final = ("join", "sync", "heartbeat", "leave", "commit", "lookup")


class Register(IntEnum):
    """The places in the vector."""

    STATE = 0  # state of the projected rebalance table; -1: not judged
    LAST_SEQ = 1
    LAST_AT = 2  # the time of the event before
    NOW = 3  # the time of this event
    SOURCE = 4
    CONFIGURED = 5  # the settings below are known
    SESSION_US = 6
    POLL_US = 7
    STATIC = 8
    EAGER = 9
    GENERATION = 10  # of the last accepted join; NO_GENERATION, UNKNOWN_GENERATION
    GENERATION_BEFORE = 11
    JOINED = 12  # generation that SyncGroup must carry
    ACTIVE = 13  # in a generation: heartbeats and polls are due
    LIFE_AT = 14  # since when the heartbeat gap counts
    POLL_AT = 15
    POLL_SEEN = 16  # YES: the poll gap counts
    COORDINATOR = 17  # NO: it was lost, no heartbeat can be sent
    JOIN_OUT = 18
    SYNC_OUT = 19
    LEFT = 20
    OWNED_KNOWN = 21
    RELEASING = 22  # revoked_started or lost_started was seen, its end is due
    ASSIGNING = 23
    STAMP = 24  # which stamp marks a partition as owned by this member
    OWNED_COUNT = 25
    ASKED = 26  # six counters, one for each of APIS; then six for the answers
    ANSWERED = 32
    BOUND_US = 38  # how far apart heartbeats may be; 0: not judged
    SAYS_LOST = 39  # the client has a callback of its own for lost partitions
    QUIET_AT = 40  # since when the next heartbeat is waited for
    HOLE_LIFE = 41  # the longest time without any event since LIFE_AT, QUIET_AT, POLL_AT
    HOLE_QUIET = 42
    HOLE_POLL = 43
    MIXED = 44  # several processes under one name: nothing is judged
    MEMBER_ID = 45  # a number for the id that the coordinator gave; 0: none, or not known
    GONE_ID = 46  # the one that was given up, or that the coordinator does not know any more
    LOST = 47  # the membership ended without the application's will, and has not begun anew
    LOST_AT = 48
    ANNOUNCED = 49  # a rebalance was announced: a revoked callback may be under way
    ASKED_TO_LEAVE = 50
    JOINS = 51  # JoinGroups since the last accepted one
    JOIN_AT = 52  # when the last JoinGroup was sent
    TERM_AT = 53  # when the generation was joined; the row of `terms` that is being written
    TERM_WAITED = 54
    TERM_TOGETHER = 55  # NO: the answer may have come later than the others'
    TERM_LAST_AT = 56  # when the last request of it was sent that was accepted; -1: none
    TERM_LAST_SEQ = 57
    COMMIT_AT = 58  # when the last commit was sent
    TERM_GENERATION = 59
    TERM_SEQ = 60  # of the JoinGroup's answer
    TERM_LAST_EVENT = 61
    PROCESS = 62  # how many processes there were before this one
    COUNT = 63
