"""Offset 0, one topic instead of another, one that is away for a while, and a coordinator that is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import NEVER_MS, TOPICS, Scenario
from groupspec.conformance.schedules.tests.heard import CALM, SYNC, Heard, World, expect, join_group
from groupspec.conformance.schedules.tests.searching import expect_found
from groupspec.impl.core import offsets
from groupspec.impl.core.events import COORDINATOR, SendRequest, Subscribe
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.requests import Sent
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.threads.designs import DESIGNS, Design

WITHIN = 300
"""Schedules of scenarios that can show it."""

PLACE = TopicPartition(TOPICS[0], 0)


def _zero_is_none(committed: Callable[..., None], self: Offsets, sent: Sent, response: OffsetFetchResponse) -> None:
    found = {tp: FetchedOffset(-1) if at.offset == 0 else at for tp, at in response.offsets.items()}
    committed(self, sent, OffsetFetchResponse(found))


def _none_is_told(as_result: Callable[..., Mapping[TopicPartition, Any]], response: OffsetFetchResponse) -> Any:
    return {tp: found if found is not None and found.offset else None for tp, found in as_result(response).items()}


def _but_zero(
    returned: Callable[..., Mapping[TopicPartition, OffsetAndMetadata]], self: Positions
) -> dict[TopicPartition, OffsetAndMetadata]:
    return {tp: at for tp, at in returned(self).items() if at.offset}


def _if_there_are_more_or_fewer(subscribe: Callable[..., None], self: Membership, event: Subscribe) -> None:
    are_as_many = event.pattern is None and len(set(event.topics)) == len(self._subscription.topics())
    if are_as_many and self.state is not RebalanceState.UNJOINED:
        self._subscription.subscribe(event.topics)
        self._context.note("subscribed", topics=list(self._subscription.topics()))
    else:
        subscribe(self, event)


def _forgets_its_id(missing: Callable[..., None], self: Metadata, topics: tuple[str, ...]) -> None:
    missing(self, topics)
    for topic in topics:
        self._ids.pop(topic, None)


def _does_not_look_again(_: object, self: Metadata, topics: tuple[str, ...]) -> None:
    for topic in topics:
        self._leaders.pop(topic, None)
        self._missing.add(topic)


def _is_away(drawn: Scenario) -> bool:
    return 0 < drawn.away_ms < NEVER_MS and not drawn.timers_race


BROKEN: dict[str, tuple[Callable[[Seam], Any], Callable[[Scenario], bool], str]] = {
    "a committed offset 0": (
        lambda seam: seam.replace(Offsets.committed, _zero_is_none),
        lambda drawn: drawn.from_start,
        "although an offset is committed|not known after",
    ),
    "a committed offset 0, asked for": (
        lambda seam: seam.replace((offsets, "_as_result"), _none_is_told),
        lambda drawn: drawn.from_start and "committed" in drawn.all_calls,
        r"committed\(\) says None",
    ),
    "a position 0": (
        lambda seam: seam.replace(Positions.returned_positions, _but_zero),
        lambda drawn: drawn.from_start and {"seek", "commit"} <= {*drawn.calls},
        r"commit\(\) says",
    ),
    "as many topics as before": (
        lambda seam: seam.replace(Membership.subscribe, _if_there_are_more_or_fewer),
        lambda drawn: drawn.swaps and "other topics" in drawn.calls,
        "and the group knows of",
    ),
    "a coordinator that moves while positions are looked up": (
        lambda seam: seam.replace(Offsets.coordinator_gone, lambda _, self, sent, code: self.retriable(sent)),
        lambda drawn: "NOT_COORDINATOR" in drawn.answers.get("OffsetFetch", ()),
        "unknown, or known to be gone",
    ),
    "the id of a topic that is away": (
        lambda seam: seam.replace(Metadata.topic_missing, _forgets_its_id),
        lambda drawn: _is_away(drawn) and drawn.same_epoch,
        "rule O7|rule O2|rule O1",
    ),
    "a topic that is back": (
        lambda seam: seam.replace(Metadata.topic_missing, _does_not_look_again),
        _is_away,
        "nothing comes of",
    ),
    "a topic that a leader has divided": (
        lambda seam: seam.replace(Leading.is_outdated, lambda *_: False),
        lambda drawn: drawn.leads and drawn.away_ms == NEVER_MS,
        "nothing comes of|times Metadata",
    ),
}
"""What is broken -> how, which scenarios can show it, and what is told then."""


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_broken_is_found(broken: str, design: Design) -> None:
    expect_found(*BROKEN[broken], WITHIN, design)


def test_each_choice_of_topics_is_drawn() -> None:
    drawn = [draw(number) for number in range(1, 1_500)]
    away = [one for one in drawn if one.away_ms]
    assert 50 < len(away) < 150
    assert {one.away_ms == NEVER_MS for one in away if one.leads} == {True, False}
    assert any(one.overlooked for one in away)
    assert any(one.manual for one in away)
    assert not any(one.overlooked and one.leads for one in away)
    assert sum(one.from_start for one in drawn) > 100
    assert any(one.swaps and one.topics == TOPICS[:1] and "other topics" in one.calls for one in drawn)
    assert all("orders made anew after" in str(one) for one in away)


@pytest.mark.parametrize(("from_start", "told"), [(True, None), (False, "is revoked at 0")])
def test_M8_who_has_gone_back_to_what_is_committed_has_nothing_to_commit(from_start: bool, told: str | None) -> None:
    """Schedule 1002628: a seek to 0, where 0 was committed at first."""

    def work(runtime: ScheduledRuntime) -> None:
        scenario = replace(CALM, from_start=from_start, fresh=(), auto_commit=True, topic_changes=())
        world = World(runtime, scenario)
        application = Application(runtime, scenario, world.group, world.transport, world.requests)
        application.ledger.assigned([PLACE])
        application.ledger.next[PLACE] = 0
        application._reading.is_under_way = True
        application._expect_committed([PLACE])

    expect(work, told)


AWAY = replace(CALM, calls=("poll",), remakes=True, elects_ms=2_000, loses=0, away_ms=1_000, from_start=False, fresh=())
AWAY = replace(AWAY, topic_changes=((2_000, TOPICS[0], 0), (3_000, TOPICS[0], 4)), latency_ms=0, reset="earliest")
OLD, NEW = (f"{TOPICS[0]} {which}".encode().ljust(16) for which in ("", "anew"))
FETCH = FetchRequest({PLACE: 12}, 1, 1, 1, 1, leader_epochs={PLACE: 0}, topic_ids={TOPICS[0]: OLD})
COMMIT = OffsetCommitRequest("billing", -1, "", None, {PLACE: OffsetAndMetadata(12)}, {TOPICS[0]: OLD})
WHERE = OffsetFetchRequest("billing", (PLACE,), topic_ids={TOPICS[0]: OLD})


def _errors(response: Any) -> list[ErrorCode]:
    """What it says of the partition or the topic."""
    match response:
        case MetadataResponse():
            return [topic.error for topic in response.topics]
        case FetchResponse():
            return [part.error for part in response.partitions.values()]
        case OffsetCommitResponse():
            return [*response.errors.values()]
    return [part.error for part in response.offsets.values()]


def _played(work: Callable[[World, Callable[[int, Any], Any]], None], scenario: Scenario = AWAY) -> None:
    """`work` gets a world, and who asks its brokers at a time."""

    def played(runtime: ScheduledRuntime) -> None:
        world = World(runtime, scenario)

        def asks(at_ms: int, request: Any) -> Any:
            runtime.sleep_ms(max(0, at_ms - runtime.now_ms()))
            return world.group.serve(SendRequest(1, 1, request, 30_000))

        world.run(lambda: work(world, asks))

    expect(played, None)


def test_who_names_a_topic_that_is_away_is_told_that_there_is_none() -> None:
    unknown, no_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID

    def work(world: World, asks: Callable[[int, Any], Any]) -> None:
        world.group.may_commit = lambda *_: True
        requests = (MetadataRequest(TOPICS[:1]), ListOffsetsRequest({PLACE: -2}), FETCH, COMMIT, WHERE)
        by_name = [structs.replace(one, topic_ids={}) for one in (FETCH, COMMIT, WHERE)]
        world.group.asked.add((PLACE, -2))
        assert [_errors(asks(1_500, one)) for one in requests] == [[ErrorCode.NONE]] * 5
        assert [_errors(asks(2_500, one)) for one in requests] == [[unknown], [unknown], [no_id], [no_id], [no_id]]
        assert [_errors(asks(2_500, one)) for one in by_name] == [[unknown], [unknown], [ErrorCode.NONE]]
        assert asks(2_500, by_name[2]).offsets[PLACE].offset == -1  # what was committed went with the topic
        assert [_errors(asks(3_500, one)) for one in requests[2:]] == [[no_id]] * 3
        [topic] = asks(3_500, requests[0]).topics
        assert (topic.topic_id, len(topic.partitions)) == (NEW, 4)
        assert asks(3_500, requests[1]).offsets[PLACE].offset == 0

    _played(work)


@pytest.mark.parametrize("overlooks", [True, False])
def test_somebody_else_who_leads_notices_that_a_topic_is_away_or_overlooks_it(overlooks: bool) -> None:
    def work(world: World, asks: Callable[[int, Any], Any]) -> None:
        joined = asks(1_000, structs.replace(join_group(TOPICS[0]), member_id=""))
        asks(1_000, structs.replace(SYNC, member_id=joined.member_id, generation=joined.generation))
        beat = HeartbeatRequest("billing", joined.generation, joined.member_id, None)
        told = [asks(at_ms, beat).error for at_ms in (1_500, 2_500, 3_500)]
        announced = ErrorCode.NONE if overlooks else ErrorCode.REBALANCE_IN_PROGRESS
        assert told == [ErrorCode.NONE, announced, ErrorCode.NONE]

    _played(work, replace(AWAY, overlooked=overlooks, assignors=("cooperative-sticky",)))


def _record(offset: int, old: bool) -> ConsumerRecord:
    value = b"old record of 0" if old else b"record of 0"
    return ConsumerRecord(TOPICS[0], 0, offset, -1, None, value, leader_epoch=0)


READS: dict[str, tuple[tuple[tuple[int, bool], ...], bool, str | None]] = {
    "the old one's, and all of the new one": (((10, True), (0, False), (1, False)), True, None),
    "on where it was in the old one": (((10, True), (11, False)), True, "rule O2"),
    "the old one's after the new one's": (((10, True), (0, False), (11, True)), True, "rule O7"),
    "from where it was to begin in the old one": (((10, False),), True, "rule O1"),
    "of the new one alone, and never told of another": (((10, False),), False, None),
}


@pytest.mark.parametrize("reads", READS)
def test_O7_of_a_topic_that_is_back_all_is_read_and_nothing_more_of_the_old_one(reads: str) -> None:
    records, knows, told = READS[reads]

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, AWAY)
        world.ledger.topic_ids = {TOPICS[0]: {OLD: 1_000, NEW: 3_500} if knows else {NEW: 3_500}}

        def read() -> None:
            world.ledger.assigned([PLACE])
            world.group.serve(SendRequest(1, COORDINATOR, WHERE, 30_000))
            runtime.sleep_ms(2_500)
            world.group.serve(SendRequest(2, 1, ListOffsetsRequest({PLACE: -2}), 30_000))
            world.ledger.take([_record(*one) for one in records])

        world.run(read)

    expect(work, told)


@pytest.mark.parametrize(("began_ms", "told"), [(3_400, None), (3_600, "told that it is no more")])
def test_O7_who_knows_of_the_new_topic_returns_nothing_of_the_old_one(began_ms: int, told: str | None) -> None:
    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, AWAY)
        world.ledger.topic_ids = {TOPICS[0]: {OLD: 1_000, NEW: 3_500}}
        world.ledger.expect_present([_record(10, old=False), _record(12, old=True)], began_ms)

    expect(work, told)


@pytest.mark.parametrize(("calls", "told"), [(("poll",), "rule M4"), (("poll", "commit one"), None)])
def test_O7_nothing_of_the_old_topic_is_committed_in_the_new_one(calls: tuple[str, ...], told: str | None) -> None:
    """But what the application names itself."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, replace(AWAY, calls=calls, manual=True))
        world.ledger.topic_ids = {TOPICS[0]: {OLD: 1_000, NEW: 3_500}}

        def commits() -> None:
            world.ledger.assigned([PLACE])
            world.group.serve(SendRequest(1, COORDINATOR, WHERE, 30_000))
            world.ledger.take([_record(10, old=True), _record(11, old=True)])
            runtime.sleep_ms(2_500)
            late = structs.replace(COMMIT, topic_ids={TOPICS[0]: NEW})
            world.group.serve(SendRequest(2, COORDINATOR, late, 30_000))

        world.run(commits)

    expect(work, told)


@pytest.mark.parametrize(("calls", "blind"), [(("poll",), True), (("poll", "committed"), False)])
def test_D1_who_is_told_by_OffsetFetch_that_the_coordinator_is_another_one_looks_for_it(
    calls: tuple[str, ...], blind: bool
) -> None:
    """Where the application asks, too, its call may have given the question up."""
    heard = Heard(calls=calls)
    heard.stable()
    answer = OffsetFetchResponse({PLACE: FetchedOffset(-1)}, ErrorCode.NOT_COORDINATOR)
    heard.takes((heard.sends(OffsetFetchRequest("billing", (PLACE,))), answer))
    heard.takes()
    assert heard.requests.finding.knows is not blind
    with pytest.raises(AssertionError, match="known to be gone") if blind else nullcontext():
        heard.sends(OffsetFetchRequest("billing", (PLACE,)))
