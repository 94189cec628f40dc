"""KIP-62 in full: who watches what, since when, and what holds a rebalance up for how long.

Before KIP-62 one timeout said everything. A consumer heartbeated inside `poll()` only; so `session.timeout.ms` was at
once the time within which a crash is noticed, the time within which the application must poll again, and, since
JoinGroup v0 has no other, the time for which the group waits for it in a rebalance. KIP-62 (JoinGroup v1, Kafka 0.10.1)
gave each its own: heartbeats come from a background thread, `max.poll.interval.ms` is watched by the client itself, and
the same value goes to the coordinator as the rebalance timeout.

A group does not mind which of them its members are. To its coordinator an old client is one whose session expires while
it processes, and the rebalance timeout of a group is the longest of what its members say, by whatever field: during an
upgrade old members lend it their session timeout, new ones their poll interval. So a new member gives old ones the time
that they never had, and an old one's session timeout still bounds how long *it* may be silent.

The machines need no case of their own for any of it: `broker_group.py` takes lengths of time from the members (its
`START_REBALANCE_TIMER` says whose), `timeouts.py` is the new client. What they lack is here, as data: which version
says what (`JOIN_GROUP_VERSIONS`), which kinds of client there are (`CLIENTS`), and what follows for the length of a
rebalance (`DELAYS`), which a test plays through with the group's machine and a clock.

An old client has no machine of its own. Where its heartbeats come from is all that differs, and a member that is silent
is the same on the wire as one that heartbeats from a thread that stands still. What that costs it, for all lengths of
time and with the way to the coordinator and back, is proved in `expiry/theorems.py`; here the network takes no time.

Sources: KIP-62, "Proposed Changes", "Compatibility, Deprecation, and Migration Plan"; KIP-394; KIP-345; KIP-814; Kafka
JoinGroupRequest.json, GroupMetadataManager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class JoinGroupVersion:
    """What one version of JoinGroup brought.

    Attributes:
        first: The first version that has it.
        brings: What it is.
        before: How a coordinator takes a request of an older version.
        rules: Rules that rest on it.
    """

    first: int
    brings: str
    before: str
    rules: str


JOIN_GROUP_VERSIONS: Final = (
    JoinGroupVersion(1, "rebalance_timeout_ms (KIP-62)", "the session timeout counts as the rebalance timeout as well",
                     "G1 J5"),
    JoinGroupVersion(4, "MEMBER_ID_REQUIRED (KIP-394)", "the member is added at once, under a new id", "G4 J3"),
    JoinGroupVersion(5, "group_instance_id (KIP-345)", "every member is dynamic", "G11 X1"),
    JoinGroupVersion(9, "skip_assignment (KIP-814)",
                     "a static leader that comes back is told the old leader's id, and so takes itself for a follower",
                     "G11"),
)  # fmt: skip


@dataclass(frozen=True)
class ClientKind:
    """A generation of clients, as far as timeouts go.

    Attributes:
        name: As the entries below call it.
        heartbeats: Where they come from.
        crash: What bounds how long a crash goes unnoticed.
        stall: What bounds how long the application may go without a poll, and who enforces it.
        rebalance: What it tells the coordinator to wait for it.
    """

    name: str
    heartbeats: str
    crash: str
    stall: str
    rebalance: str


CLIENTS: Final = (
    ClientKind("before KIP-62", "inside poll()", "session.timeout.ms",
               "session.timeout.ms: the coordinator removes it", "session.timeout.ms"),
    ClientKind("KIP-62", "a background thread", "session.timeout.ms",
               "max.poll.interval.ms: it leaves by itself; a static one falls silent, and session.timeout.ms runs from "
               "then on", "max.poll.interval.ms"),
    ClientKind("manual assignment", "none: it is no member", "nothing", "nothing", "nothing: it never joins (rule D8)"),
)  # fmt: skip


@dataclass(frozen=True)
class Delay:
    """What may hold up a rebalance that one member has begun, and for how long.

    Attributes:
        situation: What the other member does.
        lasts: From the beginning of the join phase to its end, as an expression: `session` of the other member (from
            its last sign of life, here the beginning), `rebalance` (the longest of the group), `pending` (session
            timeout of an id that was handed out), `poll` (until the other polls and joins).
        stays: Whether the other is a member when it ends; an expression likewise.
        rules: Rules that say so.
    """

    situation: str
    lasts: str
    stays: str
    rules: str


DELAYS: Final = (
    Delay("polls, and joins", "min(poll, rebalance)", "poll < rebalance", "G1"),
    Delay("crashes", "min(session, rebalance)", "False", "G5 G1"),
    Delay("heartbeats, and never joins", "rebalance", "False", "G6"),
    Delay("leaves", "0", "False", "G1"),
    Delay("is static, and crashes", "min(session, rebalance)", "rebalance < session", "G5 G1"),
    Delay("is static, heartbeats, and never joins", "rebalance", "True", "G1"),
    Delay("joins, but an id was handed out that never comes back", "min(pending, rebalance)", "True", "G4"),
)
"""What follows from the group's rows for every combination of lengths; `tests/test_kip62.py` plays each through."""


def rebalance_timeout(members: tuple[tuple[int, int, int], ...]) -> int:
    """How long a group waits.

    The longest of its members' (JoinGroup version, session timeout, rebalance timeout), in ms.
    """
    return max(rebalance if version >= 1 else session for version, session, rebalance in members)
