"""The members' side of the composition.

What a member's words do to the network, and what its effects mean for real partitions.

Who sends what to whom, from a member's side:

    a member emits    the network
    JoinGroup         `request` is JoinGroup, or JoinGroup_again if it carries a member id
    SyncGroup         `request` is SyncGroup
    LeaveGroup        `request` is LeaveGroup, of the id that has just been forgotten
    Heartbeat         it arrives at once, and `heartbeat` is the answer
    coordinator_lost  the connection is gone: `request` and `heartbeat` are none

Each member has one connection to the coordinator, with one request of a rebalance on it (`request`) and one heartbeat
(`heartbeat`): first the request, then, in the same place, its answer, named as the event that it will be. What a member
gives up (it leaves, it loses its identity) is gone. With the feature `late` it stays in the network (`request_late`): a
late request is thrown away when it arrives, a late answer reaches the member as one, and a new request takes the place
of a late one. A heartbeat arrives as it is sent, and its answer is in flight unless it is NONE, which says nothing
whenever it comes; one that is given up is gone (that late answers to heartbeats change nothing holds of the member
alone).

A LeaveGroup that arrives does to the group what the end of that id's session does, and one that is lost leaves the id
to its session. So the base model has no LeaveGroup in flight: the session of a forgotten id may run out at once, which
is the LeaveGroup that arrives. The feature `leave` has it all the same.

An id that a member forgets is not gone from the group: it moves to `forgotten`, where it lives until its LeaveGroup
arrives, its session runs out, or a rebalance goes on without it. There is one such place for each member; the id
forgotten last has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.spec.compiler.model import Block, ModelVariable, flag
from groupspec.spec.composition import static
from groupspec.spec.composition.blocks import each, sets

JOIN_ANSWERS: Final = ("join_accepted", "join_member_id_required", "join_unknown_member", "join_coordinator_gone")
SYNC_ANSWERS: Final = ("sync_accepted", "sync_rebalance_in_progress", "sync_unknown_member", "sync_illegal_generation",
                       "sync_coordinator_gone")  # fmt: skip
HEARTBEAT_ANSWERS: Final = ("heartbeat_rebalance_in_progress", "heartbeat_unknown_member",
                            "heartbeat_illegal_generation", "heartbeat_coordinator_gone")  # fmt: skip
CALLS: Final = ("none", "JoinGroup", "JoinGroup_again", "SyncGroup", "LeaveGroup", "awaiting", *JOIN_ANSWERS,
                *SYNC_ANSWERS)  # fmt: skip
IDS: Final = ("absent", "pending", "awaiting_join", "unsynced", "awaiting_sync", "member")

NETWORK: Final = (
    flag("request_late", "the member has given that request up", ("members",)),
    ModelVariable("request", CALLS, "none", ("members",),
                  "the request of a rebalance, or its answer, that is in flight; awaiting: the coordinator has it"),
    ModelVariable("heartbeat", ("none", *HEARTBEAT_ANSWERS), "none", ("members",),
                  "the answer to a heartbeat that is in flight"),
)  # fmt: skip

OWNERSHIP: Final = (
    flag("owns", "the member counts the partition as its own", ("members", "partitions")),
    flag("will_have", "cooperative: the assignment that it goes over to when it has given up what it lacks",
         ("members", "partitions")),
)  # fmt: skip

REFINED: Final[Mapping[str, str]] = {
    "owned": "any(owns[i][p] for p in partitions)",
    "will_own": "any(will_have[i][p] for p in partitions)",
}
"""Variables of the tables that are read off the partitions."""

UPGRADE: Final = flag("upgraded", "the process runs the cooperative protocol; before, the eager one", ("members",))
UPGRADED: Final[Mapping[str, str]] = {"eager": "not upgraded[i]", "cooperative": "upgraded[i]"}
"""What the two constants mean in a rolling upgrade from eager to cooperative (KIP-429, second round): the assignor is
the cooperative one for all, since all support it by then; whoever has been restarted keeps its partitions while it
joins, the others give them up first."""

TAKES: Final = "any(owns[i][p] and not share[i][p] for p in partitions)"
RETAINS: Final = "any(owns[i][p] and share[i][p] for p in partitions)"
GAINS: Final = "any(share[i][p] and not owns[i][p] for p in partitions)"


def remembered(features: frozenset[str]) -> str:
    """What the group's record of a forgotten id says."""
    if "awaiting" in features:
        return "registered[i] if registered[i] != 'absent' else forgotten[i]"
    pending = "'pending' if registered[i] == 'pending' else " if "ids" in features else ""
    return f"{pending}'member' if registered[i] != 'absent' else forgotten[i]"


def effects(features: frozenset[str]) -> dict[str, str]:
    """What an effect assigns besides: what the member gives up in the network, and in the group's records."""
    given_up = "request_late[i] = request[i] != 'none'" if "late" in features else "request[i] = 'none'"
    both = f"{given_up}; heartbeat[i] = 'none'"
    forgets = (
        f"forgotten[i] = {remembered(features)}; registered[i] = 'absent'; leader = 0 if leader == i else leader; "
    )
    if "log" in features:
        forgets += "forgotten_stored[i] = stored[i] or forgotten_stored[i]; stored[i] = False; "
    return {
        "forget_identity": both if static.FEATURE in features else forgets + both,
        "forget_generation": both,
        **dict.fromkeys(
            ("start_leaving", "lose", "lose_instead", "lose_but_stay", "drop_rebalance", "leave"), given_up
        ),
    }


def _each(assignments: str) -> Block:
    return each("p", sets(assignments), "partitions")


FOLLOWS: Final[Mapping[str, Block]] = {
    "take_assignment": _each("owns[i][p] = share[i][p]"),
    "take_smaller_assignment": _each("will_have[i][p] = share[i][p]"),
    "own_new": _each("owns[i][p] = will_have[i][p]; will_have[i][p] = False"),
    "shrink": _each("owns[i][p] = keeps[i] and owns[i][p] and will_have[i][p]"),
    **dict.fromkeys(("lose", "lose_instead", "lose_but_stay", "leave"), _each("will_have[i][p] = False")),
}
"""What an effect does to the partitions, where the tables say something of `owned` and `will_own`."""


def _call(request: str) -> Block:
    return sets(f"request[i] = {request}; request_late[i] = False")


def words(features: frozenset[str]) -> Mapping[str, Block]:
    """What a word of a member does to the network. Without `leave`, a LeaveGroup is as good as lost: see above."""
    join = _call("'JoinGroup' if identity[i] == 'none' else 'JoinGroup_again'")
    return {
        "JoinGroup": sets("heartbeat[i] = 'none'") + join,
        "SyncGroup": _call("'SyncGroup'"),
        "LeaveGroup": _call("'LeaveGroup'") if "leave" in features else (),
        "Heartbeat": (),
    }


BREAKS: Final = _call("'none'") + sets("heartbeat[i] = 'none'")
"""The connection of member i is gone, and with it what was in flight: what `coordinator_lost` means to the network."""
