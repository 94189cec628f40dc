"""Wakeups in callbacks, compacted logs, brokers that are behind, connections that end throttled, refused lookups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.answers import BEHIND, GARBLED
from groupspec.conformance.schedules.further import INSIDE, draw
from groupspec.conformance.schedules.scenario import AFTER_WORK, SEEKS, Scenario
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.core.connection import Connection as Coordinator
from groupspec.impl.core.context import Context
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.messages import ErrorCode, SyncGroupResponse, TopicMetadata, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.protocol import MalformedProtocolData, decode_assignment
from groupspec.impl.network.connection import Connection
from groupspec.impl.records import ConsumerRecord, _Opened
from groupspec.impl.threads.call_guard import CallGuard

WITHIN = 300
"""Schedules of scenarios that can show it."""

Next = tuple[Sequence[ConsumerRecord], int, bool]


def _forgets_in_a_callback(check: Callable[[CallGuard], None], self: CallGuard) -> None:
    """A call inside a callback takes the wakeup that it must not raise."""
    if self.is_in_callback():
        self._wakeup = False
    check(self)


def _counts_records(next_: Callable[..., Next], self: _Opened, at_most: int) -> Next:
    """The position is so many records further, not so many offsets."""
    records, end, last = next_(self, at_most)
    return records, end if last else self.position + len(records), last


def _takes_any(take: Callable[..., None], self: Metadata, topic: TopicMetadata) -> None:
    """Whatever a broker says of the leaders is true, as it was before KIP-320."""
    for known in (self._epochs, self._heard_of):
        for partition in topic.partitions:
            known.pop(TopicPartition(topic.topic, partition.partition), None)
    take(self, topic)


def _sleeps_on(next_deadline_ms: Callable[[Connection], int | None], self: Connection) -> int | None:
    """What is held back by a throttle time waits for something else to happen."""
    until_ms, self._throttled_until_ms = self._throttled_until_ms, None
    try:
        return next_deadline_ms(self)
    finally:
        self._throttled_until_ms = until_ms


def _forgets_the_queue(unanswered: Callable[..., Any], self: Connection) -> Any:
    """What had not gone out when the connection ended ends with it, unanswered."""
    self._queued.clear()
    return unanswered(self)


def _refused_in_silence(refused: Callable[..., None], self: Coordinator, code: ErrorCode) -> None:
    with Seam() as seam:
        seam.replace(Context.report, lambda *_: None)
        refused(self, code)


def _only_where_nothing_is_committed(_: object, self: Positions) -> dict[TopicPartition, int]:
    """seek_to_beginning() and seek_to_end() count where no offset is committed."""
    return {}


def _takes_none(accepted: Callable[..., None], self: Joining, response: SyncGroupResponse) -> None:
    """An assignment that cannot be read is taken for an empty one."""
    try:
        decode_assignment(response.assignment)
    except MalformedProtocolData:
        response = structs.replace(response, assignment=b"")
    accepted(self, response)


BROKEN: dict[str, tuple[Callable[[Seam], Any], Callable[[Scenario], bool], str]] = {
    "a wakeup while a callback works": (
        lambda seam: seam.replace(CallGuard.check_interrupted, _forgets_in_a_callback),
        lambda drawn: any(AFTER_WORK in each for each in drawn.callbacks),
        "rule T4",
    ),
    "records behind a batch without one": (
        lambda seam: seam.replace(_Opened.next, _counts_records),
        lambda drawn: drawn.compacted and drawn.at_most == 1,
        "rules? (L5|C3|O1|T3)",
    ),
    "a broker that is behind": (
        lambda seam: seam.replace(Metadata._take, _takes_any),
        lambda drawn: BEHIND in drawn.answers.get("Metadata", ()),
        "an earlier leader epoch",
    ),
    "the end of a throttle time": (
        lambda seam: seam.replace(Connection.next_deadline_ms, _sleeps_on),
        lambda drawn: drawn.brokers is not None and bool(drawn.brokers.throttles),
        "nothing looks at it",
    ),
    "a connection that ends held back": (
        lambda seam: seam.replace(Connection.take_unanswered, _forgets_the_queue),
        lambda drawn: drawn.brokers is not None and drawn.brokers.ends_held,
        "rule D6",
    ),
    "an assignment that cannot be read": (
        lambda seam: seam.replace(Joining.sync_accepted, _takes_none),
        lambda drawn: GARBLED in drawn.answers.get("SyncGroup", ()),
        "rules? (J2|C1)",
    ),
    "an end of the log instead of what is committed": (
        lambda seam: seam.replace(Positions.resets, _only_where_nothing_is_committed),
        lambda drawn: bool({*SEEKS} & {*drawn.calls}),
        "rule O1",
    ),
    "a lookup that is refused": (
        lambda seam: seam.replace(Coordinator.lookup_refused, _refused_in_silence),
        lambda drawn: "GROUP_AUTHORIZATION_FAILED" in drawn.answers.get("FindCoordinator", ()),
        "not all are told",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


@pytest.mark.parametrize("broken", BROKEN)
def test_rare_events_find_what_they_are_there_for(broken: str) -> None:
    expect_found(*BROKEN[broken], WITHIN)


def test_rare_events_are_drawn() -> None:
    drawn = [draw(number) for number in range(1, 3_000)]
    callbacks = {each for one in drawn for each in one.callbacks}
    assert callbacks >= {f"{AFTER_WORK}{call}" for call in INSIDE}
    assert {one.compacted for one in drawn if one.holes} == {True, False}
    assert any(GARBLED in one.answers.get("SyncGroup", ()) for one in drawn)
    assert any(BEHIND in one.answers.get("Metadata", ()) for one in drawn)
    assert {one.brokers.ends_held for one in drawn if one.brokers is not None} == {True, False}


def test_what_a_callback_calls_after_its_work_counts_as_a_call() -> None:
    one = replace(draw(1), callbacks=(f"{AFTER_WORK}commit",))
    assert "commit" in one.all_calls
    assert not one.commits_only_by_itself
