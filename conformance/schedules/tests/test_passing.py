"""Failures that pass, leaders that change again, calls without a limit, commits that take long, and long reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.answers import PASSING, SLOW
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.arguments import INT32_MAX
from groupspec.impl.calls import Calls
from groupspec.impl.core.commits import Commits, Operation, Purpose
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.messages import ErrorCode, OffsetAndMetadata, TopicMetadata, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.partition_state import Position
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.requests import Sent
from groupspec.impl.core.validation import Validation

WITHIN = 300
"""Schedules of scenarios that can show it."""


def _tells(_: object, self: Offsets, sent: Sent, code: ErrorCode) -> None:
    """The application hears of what would pass (as in KAFKA-17279)."""
    self.refused(sent, code, ())


def _stays_with_its_leader(take: Callable[..., None], self: Metadata, topic: TopicMetadata) -> None:
    """Only a higher epoch makes another leader (as in librdkafka's issue 4804)."""
    before = dict(self._leaders.get(topic.topic, {}))
    places = {p.partition: TopicPartition(topic.topic, p.partition) for p in topic.partitions}
    known = {number: self._epochs.get(place, -1) for number, place in places.items()}
    take(self, topic)
    later = {p.partition for p in topic.partitions if p.leader_epoch > known[p.partition]}
    self._leaders[topic.topic] |= {number: node for number, node in before.items() if number not in later}


def _asks_as_at_first(
    compare: Callable[..., None], self: Validation, leader: int, unsure: Mapping[TopicPartition, Position]
) -> None:
    """What is compared again names the epoch of the first time (as in librdkafka's issue 4433)."""
    first = self.__dict__.setdefault("_first", {})
    present = self._metadata.leader_epoch
    with Seam() as seam:
        seam.replace(Metadata.leader_epoch, lambda _, __, p: first.setdefault((p, unsure[p]), present(p)))
        compare(self, leader, unsure)


def _with_an_epoch(
    returned: Callable[..., Mapping[TopicPartition, OffsetAndMetadata]], self: Positions
) -> dict[TopicPartition, OffsetAndMetadata]:
    """A position of no epoch is not committed (as in librdkafka's issue 4442)."""
    return {tp: at for tp, at in returned(self).items() if at.leader_epoch >= 0}


def _for_ever(limit: Callable[..., int], self: Calls, timeout_ms: int | None, call: str) -> int:
    return limit(self, INT32_MAX if timeout_ms is None else timeout_ms, call)


def _overtakes(next_: Callable[..., Operation | None], self: Commits) -> Operation | None:
    """An automatic commit goes out beside one of the application's (as in franz-go before 1.21.4)."""
    sent = [operation for operation in self._queue if operation.sent is not None]
    if len(sent) == 1 and sent[0].purpose in (Purpose.SYNC, Purpose.ASYNC):
        return next((operation for operation in self._queue if operation.purpose is Purpose.TIMED), None)
    return next_(self)


class _Whole(str):
    """A text of which no part can be had."""

    def __getitem__(self, _: object) -> str:
        return self


def _at_length(send: Callable[..., None], self: Joining) -> None:
    """The reason goes out as long as it is (as in KAFKA-13998)."""
    self._membership.rejoin_reason = _Whole(self._membership.rejoin_reason)
    send(self)


BROKEN: dict[str, tuple[Callable[[Seam], Any], Callable[[Scenario], bool], str]] = {
    "a failure that passes": (
        lambda seam: seam.replace(Offsets.coordinator_gone, _tells),
        lambda drawn: "COORDINATOR_NOT_AVAILABLE" in drawn.answers.get("OffsetFetch", ()),
        "rules M2, D3|rule D3",
    ),
    "a leader of no new epoch": (
        lambda seam: seam.replace(Metadata._take, _stays_with_its_leader),
        lambda drawn: drawn.moves_ms > 0,
        "nothing comes of|rules? (D3, )?J8",
    ),
    "leaders that change while logs are compared": (
        lambda seam: seam.replace(Validation._compare, _asks_as_at_first),
        lambda drawn: drawn.elects_again_ms > 0,
        "nothing comes of|an earlier leader epoch",
    ),
    "a commit of a position without an epoch": (
        lambda seam: seam.replace(Positions.returned_positions, _with_an_epoch),
        lambda drawn: drawn.elects_again_ms > 0 and drawn.calls[-1] == "commit",
        "rule T3",
    ),
    "the limit of a call that names none": (
        lambda seam: seam.replace(Calls._limit_ms, _for_ever),
        lambda drawn: not drawn.sets_limits and drawn.has_faults and "NEVER" in str(drawn.answers),
        "rule L2|not done within",
    ),
    "a long reason": (
        lambda seam: seam.replace(Joining.send_join, _at_length),
        lambda drawn: "enforce_rebalance" in drawn.calls,
        "a reason of",
    ),
    "a commit that an automatic one rewinds": (
        lambda seam: seam.replace(Commits._next, _overtakes),
        lambda drawn: (
            drawn.answers.get("OffsetCommit", ())[:2] == (SLOW, SLOW)
            and drawn.auto_commit
            and "commit" not in drawn.calls  # which would tell it first, by its own outcome
        ),
        "rules? M",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


@pytest.mark.parametrize("broken", BROKEN)
def test_what_passes_finds_what_it_is_there_for(broken: str) -> None:
    expect_found(*BROKEN[broken], WITHIN)


def test_what_passes_is_drawn() -> None:
    drawn = [draw(number) for number in range(1, 2_000)]
    for api, errors in PASSING.items():
        assert {error for one in drawn for error in one.answers.get(api, ())} >= set(errors), api
    assert any(one.moves_ms and one.elects_ms for one in drawn)
    assert any(one.moves_ms and not one.elects_ms for one in drawn)
    assert any(one.elects_again_ms for one in drawn)
    assert not all(one.sets_limits for one in drawn)
