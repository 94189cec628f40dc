"""Logs that change under a reader: who overlooks it reads what it should not, or nothing any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.core.messages import OffsetAndMetadata, TopicMetadata, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.partition_state import PartitionState, Position, Shared
from groupspec.impl.core.positions import Positions

WITHIN = 300
"""Schedules of scenarios that can show it."""

Committed = dict[TopicPartition, OffsetAndMetadata]


def _takes_it_for_the_old_one(take: Callable[..., None], self: Metadata, topic: TopicMetadata) -> None:
    self._ids[topic.topic] = topic.topic_id
    take(self, topic)


def _whatever_the_position_is(
    at: Callable[..., PartitionState | None], self: Shared, partition: TopicPartition, position: Position
) -> PartitionState | None:
    p = self.partitions.get(partition)
    return at(self, partition, position) or (p if p is not None and p.position is not None else None)


def _only_with_epochs(to_commit: Callable[[Positions], Committed], self: Positions) -> Committed:
    return {partition: place for partition, place in to_commit(self).items() if place.leader_epoch >= 0}


BROKEN: dict[str, tuple[Callable[[Seam], None], Callable[[Scenario], bool], str]] = {
    "a topic made anew": (
        lambda seam: seam.replace(Metadata._take, _takes_it_for_the_old_one),
        lambda drawn: drawn.remakes and not drawn.same_epoch,
        "nothing comes of|not known after",
    ),
    "a topic made anew that has the old one's leader epoch": (
        lambda seam: seam.replace(Metadata._take, _takes_it_for_the_old_one),
        lambda drawn: drawn.same_epoch and not drawn.away_ms,
        "rule O2|rule O7",
    ),
    "a topic's id": (
        lambda seam: seam.replace(Metadata.topic_ids, lambda *_: {}),
        lambda drawn: drawn.same_epoch and not drawn.away_ms,
        "rule O2|rule O7",
    ),
    "a comparison for another position": (
        lambda seam: seam.replace(Shared.at, _whatever_the_position_is),
        lambda drawn: "OffsetForLeaderEpoch" in drawn.answers and drawn.loses > 0 and drawn.calls.count("seek") > 3,
        "rule O2|not known after",
    ),
    "a position without an epoch": (
        lambda seam: seam.replace(Positions.to_commit, _only_with_epochs),
        lambda drawn: drawn.elects_ms > 0 and not drawn.logs_change and drawn.auto_commit and drawn.seeks,
        "rule M5|rule M8|rules C3, M8|rule L5",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


SLOWLY_SHOWN = "a comparison for another position"


@pytest.mark.parametrize(
    "broken", [pytest.param(one, marks=[pytest.mark.exhaustive] * (one == SLOWLY_SHOWN)) for one in BROKEN]
)
def test_who_overlooks_that_the_logs_have_changed_is_found_out(broken: str) -> None:
    expect_found(*BROKEN[broken], WITHIN)
