"""The terms of the field, for who knows the protocol only from its configuration; prose links each where it first stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Term:
    """A term.

    Attributes:
        name: As it is looked up.
        means: One or two sentences; rules named in it are links.
        also: Other forms in which prose has it.
    """

    name: str
    means: str
    also: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return "term-" + "-".join(self.name.lower().replace(".", " ").split())


def _by_name(terms: Iterable[Term]) -> Mapping[str, Term]:
    return MappingProxyType({term.name: term for term in terms})


TERMS: Final[Mapping[str, Term]] = _by_name(
    (
        Term(
            "assignment",
            "Which partitions each member of a generation owns. The leader decides it, and SyncGroup's answers "
            "carry it.",
        ),
        Term(
            "backoff",
            "`retry.backoff.ms`: how long a request that failed in passing waits before it goes out again (rule D3).",
            ("retry backoff",),
        ),
        Term(
            "cooperative",
            "The rebalance protocol of KIP-429: members keep what they own while they join, and give up "
            "afterwards only what the new assignment lacks. A partition that moves needs two generations.",
            ("cooperative members",),
        ),
        Term(
            "coordinator",
            'The broker that holds a group. FindCoordinator says which one it is; whoever hears "not me" forgets '
            "it (rule D1).",
            ("group coordinator",),
        ),
        Term(
            "eager",
            "The older rebalance protocol: every member gives up all its partitions before it joins.",
            ("eager members",),
        ),
        Term(
            "fencing",
            "Another process has joined with the same group.instance.id: the older one is answered "
            "FENCED_INSTANCE_ID, and must stop (rule X2).",
            ("fenced",),
        ),
        Term(
            "Fetch",
            "The request for records of a partition, sent to the partition's leader.",
        ),
        Term(
            "FindCoordinator",
            "The request by which a client learns which broker coordinates its group.",
        ),
        Term(
            "generation",
            "The number of a round of the group: it grows each time a join phase completes (rule G2). Requests "
            "carry it, and those of another one are refused with ILLEGAL_GENERATION. KIP-848 calls its successor "
            "the member epoch.",
            (
                "epoch",
                "generations",
            ),
        ),
        Term(
            "Heartbeat",
            "The request by which a member says that its process is alive. Its answer is how a member learns of a"
            " rebalance, or that it is out.",
        ),
        Term(
            "join phase",
            "The group's state PreparingRebalance: JoinGroups are parked until every member has sent one, or the "
            "rebalance timeout is over.",
        ),
        Term(
            "JoinGroup",
            "The request that asks for a place in the next generation. It is answered when the join phase "
            "completes: with the generation, and to the leader with all members.",
        ),
        Term(
            "late",
            "An answer to a request that is no longer waited for, or that was sent under an identity that is "
            "gone. It changes nothing (rule J9).",
        ),
        Term(
            "leader",
            "The member that computes the assignment, in the client; the coordinator names it in JoinGroup's "
            "answer. (A partition's leader is another thing: the broker that holds its records.)",
        ),
        Term(
            "LeaveGroup",
            "The request by which a dynamic member says good-bye. A static one sends none (rule L1).",
        ),
        Term(
            "lost partitions",
            "What a member still owned when its membership was taken away: somebody else may have them already. "
            "Nothing is committed for them, and the callback is onPartitionsLost (rule C2).",
        ),
        Term(
            "member id",
            "The name that the coordinator gives a member. Since KIP-394 it is handed out first, with "
            "MEMBER_ID_REQUIRED, and the client joins again with it (rule J3).",
        ),
        Term(
            "OffsetCommit",
            "The request that stores how far the group has come in its partitions.",
        ),
        Term(
            "parked",
            "A request that the coordinator holds, and answers when its phase completes.",
        ),
        Term(
            "pending member",
            "A member id that was handed out and has not come back yet; the join phase waits for it (rules G1, G4).",
            (
                "pending id",
                "pending member ids",
                "pending ids",
            ),
        ),
        Term(
            "poll interval",
            "`max.poll.interval.ms`: a client whose application does not poll for so long leaves the group by "
            "itself (rule P1).",
        ),
        Term(
            "position",
            "The offset of the next record to return. It moves when records are returned, not when they arrive.",
        ),
        Term(
            "rebalance",
            "One round in which the members of a group agree on a new assignment: JoinGroup, then SyncGroup.",
        ),
        Term(
            "rebalance timeout",
            "How long the coordinator waits in one phase of a rebalance. A client sends its max.poll.interval.ms "
            "as such; before JoinGroup v1 its session timeout counted.",
        ),
        Term(
            "revocation",
            "Partitions are taken from a member: paused, committed, and given up after onPartitionsRevoked has "
            "returned.",
        ),
        Term(
            "session timeout",
            "`session.timeout.ms`: a member of which the coordinator has heard nothing for so long is out of the "
            "group.",
        ),
        Term(
            "static member",
            "A member with a group.instance.id (KIP-345): it keeps its place when its process restarts, and sends"
            " no LeaveGroup.",
            (
                "static members",
                "static membership",
            ),
        ),
        Term(
            "sync phase",
            "The group's state CompletingRebalance: SyncGroups are parked until the leader's has come and the log"
            " has the assignment.",
        ),
        Term(
            "SyncGroup",
            "The request that fetches a member's assignment; the leader's carries everybody's. It is answered "
            "when the leader's has arrived.",
        ),
        Term(
            "zombie",
            "A member that was put out and does not know it yet: it goes on working on partitions that another "
            "one owns already.",
        ),
    )
)
"""By name, in alphabetical order. The requests are terms, too."""
