"""How a run goes on: with a further round, or several, or a loss; each changes a run of `stories.py`, or makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.tests.stories import BOTH, WireRun
from groupspec.conformance.wire.tests.stories_of_leaders import without
from groupspec.impl.core.messages import TopicPartition

ANEW: Final = "the id that it is given after it has left"
silent_from_1480 = without(lambda entry: entry.api == "Heartbeat" and entry.at_us >= 1_480_000)
"""The heartbeats of the run as it was are dropped: it goes on otherwise."""


def left_by_a_further_round(story: WireRun) -> None:
    """At 1500 another rebalance, which leaves orders-0 as the two rounds before did."""
    silent_from_1480(story)
    story.heartbeat(1_500, 3, "REBALANCE_IN_PROGRESS")
    story.join(1_510, 4, owned=BOTH[:1])
    story.sync(1_515, 4, BOTH[:1])
    story.callback(1_520, protocol.PartitionsAssigned, ())
    story.heartbeats(1_620, 1_990, 4)


def further_rounds(count: int) -> Callable[[WireRun], None]:
    """From 1500 on rounds that nothing asks for, one right after the other, which leave orders-0."""

    def spoil(story: WireRun) -> None:
        silent_from_1480(story)
        for number in range(count):
            story.join(1_500 + 30 * number, 4 + number, owned=BOTH[:1])
            story.sync(1_505 + 30 * number, 4 + number, BOTH[:1])
        story.heartbeats(1_660, 1_990, 3 + count)

    return spoil


def own_loss(story: WireRun, given: tuple[TopicPartition, ...] = BOTH[:1]) -> None:
    """At 1500 the member says lost, by itself; then it joins as a new one, and is given these."""
    silent_from_1480(story)
    story.callback(1_500, protocol.PartitionsLost, BOTH[:1])
    story.join(1_510, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(1_513, 4)
    story.sync(1_516, 4, given)
    story.callback(1_520, protocol.PartitionsAssigned, given)
    story.committed(1_530, {given[0]: 6})
    story.records(1_540, given[0], 6, 7)
    story.heartbeats(1_620, 1_990, 4)


def given_back(story: WireRun) -> None:
    """At 1500 another rebalance takes orders-0 away, which two rounds had left; the next round gives it back."""
    silent_from_1480(story)
    story.heartbeat(1_500, 3, "REBALANCE_IN_PROGRESS")
    story.join(1_510, 4, owned=BOTH[:1])
    story.sync(1_515, 4, ())
    story.callback(1_520, protocol.PartitionsRevoked, BOTH[:1], owned=BOTH[:1])
    story.join(1_550, 5)
    story.sync(1_555, 5, BOTH[:1])
    story.callback(1_560, protocol.PartitionsAssigned, BOTH[:1])
    story.committed(1_585, {BOTH[0]: 6})
    story.records(1_600, BOTH[0], 6, 7)
    story.heartbeats(1_660, 1_990, 5)


def leaves_a_round(story: WireRun, members: tuple[str, ...] = (ANEW,)) -> None:
    """It leaves before its JoinGroup is answered, and joins anew, as the leader of these; it names itself alone."""
    story.join(5, 1, ms=30)
    story.leave(10)
    story.join(50, 2, members=members)
    story.sync(60, 2, members=(ANEW,))


ASKING: Final[Mapping[str, Callable[[WireRun], None]]] = {
    "one of which was announced": lambda story: story.heartbeat(1_517, 4, "REBALANCE_IN_PROGRESS"),
    "before one of which a connection ends": lambda story: story.entries.append(
        Entry(1_517_000, "wire", "disconnect", node=1, connection=1)
    ),
    "before one of which everything is lost": lambda story: story.callback(1_516, protocol.PartitionsLost, BOTH[:1]),
}
"""What gives the second of these further rounds its reason."""
