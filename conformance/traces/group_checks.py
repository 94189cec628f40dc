"""What can be said only of a group as a whole, after its members: about owners and about generations.

Each assigned callback that ends is a *claim* of all that the member then owns, in its generation.

- T-TWO-OWNERS: two members claim one partition in one generation. It is keyed by generation and not by time, because
  the clocks of two hosts say nothing about each other. The violation is told of the later member in the order of names;
  its first claim of the partition is the place. The processes of a static member are one owner: one takes the other's
  place, in the same generation (rule G11).

A *term* is one member's time in one generation: when JoinGroup was answered, and when the last SyncGroup or commit of
it was sent that the coordinator accepted. (That it accepted a heartbeat proves nothing: while it loads the group it
answers each one with NONE. Source: Kafka GroupCoordinatorService.heartbeat.) The coordinator answers all JoinGroups of
a generation at one moment (rule G1); so two members that were both waiting for one generation have an event in common,
from which each can count with its own clock.

- T-STALE-ACCEPTED: B has joined the next generation so long after the one it shared with A; when A, so long after,
  still has a commit of the shared one accepted, the coordinator has let a zombie speak. B's answer may have come late
  by as much as B's session timeout, or B would have been expelled: that much is conceded. That it was not is known if
  the coordinator accepted B's SyncGroup in the shared generation; if it did not, B's process may have stood still. Both
  generations count only if that was accepted in them: another coordinator finds them in the log only then, and else
  goes on with the one before (Kafka: GroupMetadataManager, classicGroupSync, appends the assignment first).
- T-MANY-REBALANCES, T-LONG-JOIN: notices.

Two owners of one partition in *different* generations are not accused: a member that hears nothing from its coordinator
keeps what it owns until it hears (Kafka: AbstractCoordinator.HeartbeatThread only marks the coordinator unknown when
the session has run out), and the other may rightly have it by then. What is wrong is that such a member is still
listened to. Nor is a partition that nobody owns: not every member need be recorded, the leader decides (rule S2 asks
only for an entry for every member), and in a cooperative rebalance what moves is nobody's for one generation (KIP-429).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from groupspec.conformance.traces.registers import REBALANCES_OF_A_STORM, STORM_US
from groupspec.conformance.traces.schema import EVENTS
from groupspec.conformance.traces.trace_rules import CODES, detail

Ints = npt.NDArray[np.int64]
EVENT: Final = "join_answered"
TWO_OWNERS: Final = "T-TWO-OWNERS"


class Conflict(NamedTuple):
    """The claim of a second owner; all are numbers of the checker. The first nine are the columns of a claim."""

    group: int
    generation: int
    partition: int
    member: int
    seq: int
    at_us: int
    event: int
    state: int
    owner: int
    other: int


class Term(NamedTuple):
    """One member's time in one generation; the columns of the columnar checker's `terms`, the member's number first."""

    member: int
    generation: int
    joined_at: int
    seq: int
    waited: int
    together: int
    """Whether every JoinGroup had been answered, and with another generation: then this answer came when the others'
    came. (A follower of a Stable group that joins again is answered at once: rule G1's exception, Kafka's doJoinGroup.)
    """
    synced: int
    """Whether its SyncGroup was accepted: then the coordinator's log has the generation."""
    last_at: int
    last_seq: int
    last_event: int
    static: int
    session_us: int
    poll_us: int
    process: int


_TERMS: Final = np.dtype([(name, "i8") for name in Term._fields])
Terms = npt.NDArray[np.void]


class Found(NamedTuple):
    """A finding about a member's term."""

    rule: str
    member: int
    seq: int
    at_us: int
    event: str
    a: int
    b: int
    other: int = -1


def text_of_conflict(generation: int, partition: str, other: str) -> str:
    """The violation in words."""
    return detail(CODES[TWO_OWNERS], 0, generation, partition, other)


def conflicts(batches: Sequence[Ints]) -> list[Conflict]:
    """The conflicts among these claims. Members are numbered in the order of their names."""
    if not batches:
        return []
    claims = np.concatenate(batches)
    claims = claims[np.lexsort((claims[:, 4], claims[:, 3], claims[:, 8], claims[:, 2], claims[:, 1], claims[:, 0]))]
    if len(claims) < 2:
        return []
    same_partition = np.all(claims[1:, :3] == claims[:-1, :3], axis=1)
    other_owner = claims[1:, 8] != claims[:-1, 8]
    places = np.flatnonzero(same_partition & other_owner) + 1
    return [Conflict._make([*claims[place].tolist(), int(claims[place - 1, 3])]) for place in places]


def findings(batches: Sequence[Ints], group_of_member: Ints) -> list[Found]:
    """The findings among these terms."""
    if not batches or not sum(len(batch) for batch in batches):
        return []
    rows = np.ascontiguousarray(np.concatenate(batches)).view(_TERMS)[:, 0]
    rows = rows[np.argsort(rows["member"], kind="stable")]
    return [*_storms(rows), *_long_joins(rows), *_stale(rows, group_of_member)]


def _storms(rows: Terms) -> Iterator[Found]:
    """The first storm of each member."""
    count = REBALANCES_OF_A_STORM
    if len(rows) < count:
        return
    first, last = rows[: len(rows) - count + 1], rows[count - 1 :]
    took = last["joined_at"] - first["joined_at"]
    places = np.flatnonzero(_one_process(first, last) & (took <= STORM_US))
    _, once = np.unique(first["member"][places], return_index=True)
    for place in places[once]:
        term = Term._make(last[place].tolist())
        yield Found("T-MANY-REBALANCES", term.member, term.seq, term.joined_at, EVENT, count, int(took[place]) // 1000)


def _one_process(some: Terms, others: Terms) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = (some["member"] == others["member"]) & (some["process"] == others["process"])
    return same


def _long_joins(rows: Terms) -> Iterator[Found]:
    for row in rows[(rows["poll_us"] > 0) & (rows["waited"] > rows["poll_us"])]:
        term = Term._make(row.tolist())
        both_ms = (term.poll_us // 1000, term.waited // 1000)
        yield Found("T-LONG-JOIN", term.member, term.seq, term.joined_at, EVENT, *both_ms)


def _stale(rows: Terms, group_of_member: Ints) -> Iterator[Found]:
    """For each generation of a group the earliest end that a member knows of, against the last acceptance of each."""
    followed = np.zeros(len(rows), np.bool_)
    followed[:-1] = _one_process(rows[1:], rows[:-1]) & (rows["generation"][1:] > rows["generation"][:-1])
    followed[:-1] &= rows["synced"][1:] == 1
    first = np.ones(len(rows), np.bool_)
    first[1:] = ~_one_process(rows[1:], rows[:-1]) | (rows["generation"][1:] != rows["generation"][:-1])
    was_heard = (rows["together"] == 1) & (rows["synced"] == 1)
    knows = np.flatnonzero(followed & first & was_heard & (rows["static"] == 0))
    if not len(knows):
        return
    lasted = rows["joined_at"][knows + 1] - rows["joined_at"][knows] + rows["session_us"][knows]
    # One number for each generation of each group, and for each the earliest end, with the member that knows it.
    keys = group_of_member[rows["member"]] * (rows["generation"].max() + 1) + rows["generation"]
    order = np.lexsort((rows["member"][knows], lasted, keys[knows]))
    known, firsts = np.unique(keys[knows][order], return_index=True)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    until, other = lasted[order][firsts][place], rows["member"][knows][order][firsts][place]
    late = rows["last_at"] - rows["joined_at"] - until
    heard = (known[place] == keys) & (rows["synced"] == 1) & (other != rows["member"]) & (late > 0)
    for row in np.flatnonzero(heard).tolist():
        term = Term._make(rows[row].tolist())
        where = (term.member, term.last_seq, term.last_at, EVENTS[term.last_event])
        yield Found("T-STALE-ACCEPTED", *where, term.generation, int(late[row]) // 1000, int(other[row]))
