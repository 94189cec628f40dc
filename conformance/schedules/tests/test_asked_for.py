"""What the oracles say of what is asked for, committed and told between calls, exactly: both ways."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from groupspec.conformance.schedules.parting import Parting
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.tests.heard import CALM, LIMIT_MS, PLACE, WHERE, Heard, World, expect
from groupspec.conformance.schedules.times import LOOK_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.core.events import COORDINATOR, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    TopicPartition,
)
from groupspec.impl.records import ConsumerRecord, ConsumerRecords
from groupspec.impl.scheduling import ScheduledRuntime

COMMIT = OffsetCommitRequest("billing", 1, "m", None, {})


@pytest.mark.parametrize(("calls", "told"), [(("poll",), True), (("poll", "commit"), False)])
@pytest.mark.parametrize("error", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_COORDINATOR])
def test_D5_after_a_commit_that_nobody_gives_up_its_coordinator_is_looked_for(
    calls: tuple[str, ...], told: bool, error: ErrorCode
) -> None:
    """One that is waited for may have been out of time before its answer came; then nobody looks at that."""
    heard = Heard(calls=calls)
    heard.stable()
    heard.takes((heard.sends(COMMIT), OffsetCommitResponse({PLACE: error})))
    heard.takes()
    if told:
        with pytest.raises(AssertionError, match="rules D4, D5"):
            heard.sends(COMMIT)
    else:
        heard.sends(COMMIT)


@pytest.mark.parametrize(("commits", "late_ms"), [(True, LOOK_MS + 1), (False, LOOK_MS + 1), (False, LOOK_MS)])
def test_L1_nobody_looks_for_a_coordinator_in_order_to_commit_nothing(commits: bool, late_ms: int) -> None:
    """KAFKA-13717. Schedule 1003019: a lookup may be on its way as close() begins."""
    heard = Heard()
    heard.requests.doing, heard.requests.ends_with_commit = "close", commits
    heard.requests.closes_ms = heard.at_ms - late_ms
    if commits or late_ms <= LOOK_MS:
        heard.sends(FindCoordinatorRequest("billing"), "any")
    else:
        with pytest.raises(AssertionError, match="nothing to commit"):
            heard.sends(FindCoordinatorRequest("billing"), "any")


@pytest.mark.parametrize("callbacks", [(), ("commit",), ("position",), ("commit_async",)])
def test_L1_but_a_callback_within_close_may_ask_the_coordinator(callbacks: tuple[str, ...]) -> None:
    """Schedule 791: it commits as the call lets go of what is owned."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, replace(CALM, calls=("poll",), callbacks=callbacks, others=(), ending="close"))
        world.requests.finding.is_needed = True
        parts = (runtime, world.scenario, world.group, world.requests, world.ledger, world.questions)
        parting = Parting(*parts, world.reading, world.choosing)
        parting.close(LooksWhileItCloses(world.requests, runtime.now_ms() + LOOK_MS + 1))

    expect(work, None if callbacks else "nothing to commit")


class LooksWhileItCloses(Consumer):
    """For its coordinator."""

    def __init__(self, requests: Requests, at_ms: int) -> None:
        self._sends, self._at_ms = requests, at_ms

    def close(self, timeout_ms: int | None = None) -> None:
        """Nothing else."""
        self._sends.sent(SendRequest(1, "any", FindCoordinatorRequest("billing"), LIMIT_MS), self._at_ms)


@pytest.mark.parametrize(
    ("subscribed", "known", "late_ms", "told"),
    [
        ("orders", 5, 0, False),
        ("orders", 5, 1, True),
        ("orders", None, 1, False),
        ("payments", None, 0, False),
        ("payments", None, 1, True),
    ],
)
def test_L2_a_question_ends_with_its_call(subscribed: str, known: int | None, late_ms: int, told: bool) -> None:
    """But who has no position of what it reads may need the same for that."""
    heard = Heard()
    asking = heard.requests.asking
    asking.subscribed = frozenset({subscribed})
    asking.places = {PLACE: known} if subscribed == PLACE.topic else {}
    asking.inquires({(PLACE, -1)}, heard.at_ms)
    heard.at_ms += late_ms
    with pytest.raises(AssertionError, match="nobody waits for any more") if told else nullcontext():
        heard.sends(WHERE, "1")


@pytest.mark.parametrize("asked", [True, False])
def test_M4_a_commit_may_have_an_epoch_of_the_past_if_it_was_asked_for_then(asked: bool) -> None:
    """Schedule 3000195: the log was truncated and read again before it went out. An automatic one goes by now."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, replace(CALM, calls=("poll", "commit_async") if asked else ("poll",), elects_ms=1))
        world.ledger.owned.add(PLACE)
        for epoch in (0, 1):
            world.ledger.goes_on(PLACE, 11)
            world.ledger.take([_record(PLACE, 11, epoch)])
        commit = OffsetCommitRequest("billing", -1, "", None, {PLACE: OffsetAndMetadata(12, "", 0)})
        world.run(lambda: _serve(world, SendRequest(1, COORDINATOR, commit, LIMIT_MS)))

    expect(work, None if asked else "with leader epoch 0")


@pytest.mark.parametrize(("wants", "leaves", "told"), [(True, False, True), (True, True, False), (False, False, False)])
def test_T2_poll_says_that_it_has_nothing_to_read_only_where_nothing_was_chosen_before(
    wants: bool, leaves: bool, told: bool
) -> None:
    """Schedule 1000723: an unsubscribe() that was out of time is done meanwhile."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)
        if leaves:
            world.requests.leaves()
        with pytest.raises(IllegalStateError):
            world.reading.poll(LosesItsTopics({"orders"} if wants else set()), 0)

    expect(work, "rules M2, D3" if told else None)


class LosesItsTopics(Consumer):
    """As it polls."""

    def __init__(self, wants: set[str]) -> None:
        self._wants = wants

    def subscription(self) -> set[str]:
        """What it has."""
        return self._wants

    def assignment(self) -> set[TopicPartition]:
        """Nothing."""
        return set()

    def poll(self, timeout_ms: int = 0, max_records: int | None = None) -> ConsumerRecords:
        """Nothing to read any more."""
        self._wants = set()
        raise IllegalStateError("poll() without topics or partitions")


def _serve(world: World, sent: SendRequest) -> None:
    world.group.serve(sent)


def _record(partition: TopicPartition, offset: int, epoch: int) -> ConsumerRecord:
    return ConsumerRecord(partition.topic, partition.partition, offset, -1, None, b"", (), leader_epoch=epoch)
