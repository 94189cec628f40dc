"""What the oracles excuse of how calls end, exactly: the same a little otherwise is no excuse."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from groupspec.conformance.schedules.answers import SLOW
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.outcomes import CALL_MS
from groupspec.conformance.schedules.tests.heard import (
    CALM,
    LIMIT_MS,
    PLACE,
    WHERE,
    World,
    expect,
)
from groupspec.impl.calls import GRACE_MS
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import KafkaTimeoutError
from groupspec.impl.core.events import COORDINATOR, SendRequest
from groupspec.impl.core.messages import OffsetAndMetadata, OffsetCommitRequest, TopicPartition
from groupspec.impl.listener import NoListener
from groupspec.impl.records import ConsumerRecords
from groupspec.impl.scheduling import ScheduledRuntime

SLOWLY: dict[str, tuple[tuple[str, ...], int, int, bool]] = {
    "two": ((SLOW, SLOW), 0, 0, True),
    "two, and one between them": ((SLOW, "", SLOW), 0, 0, True),
    "one": ((SLOW,), 0, 0, False),
    "two, with one between them that is not": ((SLOW, "", SLOW), 300, 0, True),
    "two, with one between each and a third": ((SLOW, "", SLOW, "", SLOW), 300, 0, True),
    "two, with two between them that are not": ((SLOW, "", "", SLOW), 300, 0, False),
    "two, with two between them, and leaders change": ((SLOW, "", "", SLOW), 300, 3_500, True),
    "one, and leaders change": ((SLOW, "", ""), 300, 3_500, False),
}
"""Slow answers -> the answers, how long each takes at least, when leaders change, and whether that is an excuse."""


@pytest.mark.parametrize("slowly", SLOWLY)
def test_P4_a_call_may_be_out_of_time_behind_slow_answers_that_fill_it(slowly: str) -> None:
    """Schedules 9004864: those to an earlier call, which a wakeup has interrupted; 9012650: a leader is another one.

    848: two commits, and one answer between them that is not slow.
    """
    answers, latency_ms, elects_ms, excused = SLOWLY[slowly]
    slow = {**CALM.answers, "ListOffsets": answers}
    scenario = replace(CALM, answers=slow, latency_ms=latency_ms, elects_ms=elects_ms)

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, scenario)
        world.group.asked.add((PLACE, -1))

        def broker() -> None:
            for number in range(1, 1 + len(answers)):
                world.group.serve(SendRequest(number, "1", WHERE, LIMIT_MS))

        def application() -> None:
            runtime.sleep_ms(CALL_MS)
            world.outcomes.raises(KafkaTimeoutError("Not answered in time"))

        world.run(broker, application)

    expect(work, None if excused else "rule L2")


@pytest.mark.parametrize(
    ("call", "waits", "excused"), [("position()", True, True), ("position()", False, False), ("commit()", True, False)]
)
def test_H4_a_call_that_waits_for_a_leader_is_out_of_time_although_the_coordinator_was_refused(
    call: str, waits: bool, excused: bool
) -> None:
    """Schedule 1000810: it waits for no coordinator any more. A commit does, whatever else is under way."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)
        if waits:
            world.requests.sent(SendRequest(1, "1", WHERE, LIMIT_MS), runtime.now_ms())

        def application() -> None:
            with suppress(KafkaTimeoutError), world.questions.limited(call):
                runtime.sleep_ms(CALL_MS // 2)
                world.requests.refused_ms = runtime.now_ms()
                runtime.sleep_ms(CALL_MS // 2)
                raise KafkaTimeoutError("Not answered in time")

        world.run(application)

    expect(work, None if excused else "refused its coordinator")


@pytest.mark.parametrize(("takes_ms", "excused"), [(500 + GRACE_MS, True), (500 + GRACE_MS - 1, False)])
def test_C7_a_close_by_another_thread_may_leave_what_is_owned_if_it_has_given_the_driver_up(
    takes_ms: int, excused: bool
) -> None:
    """Schedule 243327: while timers race the driver may not have had its turn in that time (rule L2)."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, replace(CALM, timers_race=True))
        application = Application(runtime, world.scenario, world.group, world.transport, world.requests)
        application.ledger.owned.add(PLACE)
        closer = runtime.thread(lambda: application.close(ClosesLate(runtime, takes_ms), 500), "close")
        application.races_with(closer, "close", 0)
        world.run(lambda: application.rest(5_000), closer)

    expect(work, None if excused else "were never revoked")


@pytest.mark.parametrize("before", [True, False])
def test_M4_a_commit_that_was_sent_before_a_block_has_raised_may_arrive_later(before: bool) -> None:
    """Schedule 9013230: the block has gone back by seek() after the automatic commit was sent."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)
        commit = OffsetCommitRequest("billing", -1, "", None, {PLACE: OffsetAndMetadata(560)})
        sent = SendRequest(1, COORDINATOR, commit, LIMIT_MS)
        world.ledger.seek(PLACE, 560)
        world.transport.sent += [sent] if before else []
        world.ledger.limits({PLACE: 530})

        def broker() -> None:
            world.group.serve(sent)

        world.run(broker)

    expect(work, None if before else "rule M4")


@pytest.mark.parametrize("inside", [True, False])
def test_X2_who_subscribes_after_an_unsubscribe_that_was_out_of_time_is_a_new_member(inside: bool) -> None:
    """Schedule 9005582: it may be fenced like any other. What a callback chooses goes with what it is called for."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)
        choosing = world.choosing
        world.requests.leaves()
        world.questions.in_callback = inside
        choosing.has_unsubscribed = True
        choosing.choose(Chooses(), NoListener())
        assert (world.requests.leaving, choosing.has_unsubscribed) == (inside, inside)

    expect(work, None)


@pytest.mark.parametrize("joins", [True, False])
def test_C1_who_leaves_and_joins_in_a_poll_may_hear_of_an_assignment_as_it_leaves_again(joins: bool) -> None:
    """Schedule 1000896: the application's thread is held up, just before the callback, for a whole poll interval."""

    def work(runtime: ScheduledRuntime) -> None:
        world = World(runtime, CALM)

        def polled() -> None:
            if joins:
                world.requests.rounds.begins((), (), runtime.now_ms())
            world.requests.left = True
            assert world.reading.began_outside() != joins

        world.requests.left = True
        world.reading.poll(Polls(polled), 0)

    expect(work, None)


class Polls(Consumer):
    """Does this in its poll(), and nothing else."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def poll(self, timeout_ms: int = 0, max_records: int | None = None) -> ConsumerRecords:
        """Returns nothing."""
        self._act()
        return ConsumerRecords([])

    def subscription(self) -> set[str]:
        """None."""
        return set()

    def assignment(self) -> set[TopicPartition]:
        """None."""
        return set()


class Chooses(Consumer):
    """And does nothing about it."""

    def __init__(self) -> None:
        pass

    def subscribe(self, *_: object, **__: object) -> None:
        """That is all."""


class ClosesLate(Consumer):
    """Does nothing but that."""

    def __init__(self, runtime: ScheduledRuntime, takes_ms: int) -> None:
        self._sleep: Callable[[], None] = lambda: runtime.sleep_ms(takes_ms)

    def close(self, timeout_ms: int = 0) -> None:
        """Calls nobody back."""
        self._sleep()
