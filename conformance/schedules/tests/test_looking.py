"""What an application is told about log, topics and itself: an answer that is not true is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import LOOKS
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import ErrorCode, ListedOffset
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.partition_state import PartitionState
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.questions import Questions
from groupspec.impl.partition_calls import PartitionCalls
from groupspec.impl.records import Records

WITHIN = 150
"""Schedules of scenarios in which the call is made."""


def _one_further(take: Callable[..., None], self: Questions, question: object, response: object, wrong: object) -> None:
    for partition, listed in response.offsets.items():  # type: ignore[attr-defined]
        if not listed.error:
            later = ListedOffset(listed.offset + 1, ErrorCode.NONE, listed.timestamp_ms)
            response.offsets[partition] = later  # type: ignore[attr-defined]
    take(self, question, response, wrong)


BROKEN: dict[str, tuple[str, Callable[[Seam], None], str]] = {
    "beginnings": ("beginning_offsets", lambda seam: seam.replace(Questions._take_offsets, _one_further), "it is"),
    "ends": ("end_offsets", lambda seam: seam.replace(Questions._take_offsets, _one_further), "it is"),
    "times": ("offsets_for_times", lambda seam: seam.replace(Questions._take_offsets, _one_further), "it is"),
    "topics": (
        "topics",
        lambda seam: seam.replace(PartitionCalls.topics, lambda topics, self, timeout_ms: set()),
        r"topics\(\) says",
    ),
    "partitions": (
        "partitions_for_topic",
        lambda seam: seam.replace(PartitionCalls.partitions_for_topic, lambda _, self, topic, timeout_ms: {0}),
        r"partitions_for_topic\(.*\) says",
    ),
    "pauses": ("look", lambda seam: seam.replace(Positions.paused, lambda _, self: ()), r"paused\(\) says"),
    "lag": (
        "look",
        lambda seam: seam.replace(PartitionState.lag, lambda lag, self: None if lag(self) is None else 1_000),
        "current_lag",
    ),
    "highwater": ("look", lambda seam: seam.replace(Positions.high_watermark, lambda _, self, tp: 7), "highwater"),
    "most records": ("poll", lambda seam: seam.replace(Records.take, lambda take, self, _: take(self, 500)), "at most"),
    "the beginning": (
        "seek_to_beginning",
        lambda seam: seam.replace(Offsets._found, lambda found, self, tp, epoch, offset: found(self, tp, epoch, 17)),
        "rule O1",
    ),
    "a wakeup": (
        "position",
        lambda seam: seam.replace(
            PartitionCalls._has_position, lambda _, self, partition: self._positions.position(partition) is not None
        ),
        r"position\(\) goes on for \d+ ms after a wakeup",
    ),
    "the end": (
        "seek_to_end",
        lambda seam: seam.replace(Consumer.seek_to_end, lambda _, self, *given: self.seek_to_beginning(*given)),
        "is reset|rule O1",
    ),
}
"""What is broken -> the call, how, and what is told then."""


@pytest.mark.parametrize("broken", BROKEN)
def test_an_answer_that_is_not_true_is_found_out(broken: str) -> None:
    call, change, told = BROKEN[broken]
    expect_found(change, lambda drawn: call in drawn.calls, told, WITHIN)


def test_all_further_calls_are_drawn() -> None:
    drawn = [draw(number) for number in range(1, 300)]
    assert {call for one in drawn for call in one.calls} >= set(LOOKS)
