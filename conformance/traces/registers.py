"""What the kernel remembers of a member between two events: one vector of integers.

A table can hold which transition is possible; it cannot hold clocks, generations and counts. Those are here. A vector of
integers, because the kernel that reads it is compiled, and because it is carried from batch to batch as it is.

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

APIS: Final = ("join", "sync", "heartbeat", "leave", "commit", "lookup")


class Register(IntEnum):
    """The places in the vector."""

    STATE = 0  # state of the projected rebalance table; -1: not judged
    LAST_SEQ = 1
    LAST_AT = 2  # the time of the event before
    NOW = 3  # the latest time seen: never goes back
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
    COUNT = 38
