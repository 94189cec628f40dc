"""Promises of the two threads that no other story here is about; see its namesake beside the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.events import Fetch
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.subscription import Buffered, SubscriptionState
from groupspec.impl.runtime import this_thread
from groupspec.impl.testing import Callback
from groupspec.impl.threads.tests.stage import TOPIC, Stage, partitions

FIRST = TopicPartition(TOPIC, 0)


# Assignments that are interrupted
# ----------------------------------------------------------------------------------------


def test_S3_a_listener_that_raises_does_not_keep_the_assignment_from_taking_effect_once() -> None:
    with Stage() as stage:

        def refuse(callback: Callback) -> None:
            raise ValueError(callback.kind)

        stage.joining()
        stage.joined()
        stage.synced(0, 1)
        stage.listener.during = refuse
        with pytest.raises(ValueError, match="assigned"):
            stage.poll()
        stage.listener.during = None
        assert stage.poll() == []
        assert stage.callbacks() == [("assigned", partitions(0, 1))]
        assert (stage.state, stage.describe().owned) == ("STABLE", partitions(0, 1))


def test_S3_Q1_a_wakeup_does_not_lose_the_assignment_that_is_due() -> None:
    with Stage() as stage:
        stage.joining()
        stage.joined()
        stage.synced(0, 1)
        stage.consumer.wakeup()
        with pytest.raises(WakeupError):
            stage.poll()
        stage.poll()
        assert stage.callbacks() == [("assigned", partitions(0, 1))]
        assert stage.state == "STABLE"


# Threads
# -----------------------------------------------------------------------------------------------------------------


def test_Q2_C5_callbacks_run_on_the_thread_that_polls() -> None:
    threads: list[int] = []
    with Stage() as stage:
        stage.listener.during = lambda callback: threads.append(this_thread())
        (application,) = {stage.call(lambda consumer: this_thread())}
        stage.stable(0)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.poll()
        stage.joined()
        stage.synced(0)
        assert len(threads) == 2  # the second assignment waits for the next poll
        stage.poll()
        stage.heartbeat("UNKNOWN_MEMBER_ID")
        stage.poll()
        assert threads == [application] * 4


def test_T1_no_lock_is_held_while_the_background_thread_waits_for_the_network() -> None:
    with Stage() as stage:
        stage.stable(0)
        calls: list[Callable[[Consumer], object]] = [
            lambda consumer: consumer.poll(0),
            lambda consumer: consumer.commit_async({FIRST: 5}),
            lambda consumer: consumer.assignment(),
            lambda consumer: consumer.pause([FIRST]),
        ]
        for call in calls:
            assert stage.begin(call).done


def test_T1_a_callback_holds_no_lock_that_the_background_thread_needs() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.listener.park = True
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.begin_poll(0)
        assert stage.listener.inside is not None
        stage.advance(3_000)
        assert stage.is_waiting("Heartbeat")
        stage.error("Heartbeat", "UNKNOWN_MEMBER_ID")
        stage.listener.park = False
        stage.release()
        assert stage.state == "PREPARING_REBALANCE"


def test_T1_who_waits_holds_no_lock_that_the_answer_needs() -> None:
    with Stage() as stage:
        stage.stable(0)
        commit = stage.begin(lambda consumer: consumer.commit({FIRST: 5}))
        stage.error("OffsetCommit", "NONE")
        assert commit.outcome() is None
        poll = stage.begin_poll(60_000)
        stage.fetched(10)
        assert [record.offset for record in poll.outcome()] == [10]


class _Guarded:
    """A lock, and the shared state that may be touched only by who holds it; every hold is counted."""

    def __init__(self) -> None:
        self.held = False
        self.holds = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        assert not self.held, "this lock is not reentrant"
        self.held = True
        self.holds += 1
        try:
            yield
        finally:
            self.held = False


class _Lock:
    def __init__(self, guarded: _Guarded) -> None:
        self._guarded = guarded
        self._inside: list[object] = []

    def __enter__(self) -> object:
        manager = self._guarded()
        self._inside.append(manager)
        return manager.__enter__()

    def __exit__(self, *error: object) -> bool | None:
        manager = self._inside.pop()
        return manager.__exit__(*error)  # type: ignore[attr-defined, no-any-return]


def guarded() -> tuple[SubscriptionState, _Guarded]:
    """A subscription that notices when its state is touched without its lock."""
    guard = _Guarded()
    state = SubscriptionState(lambda: _Lock(guard))

    class Watched(SubscriptionState):
        def __getattribute__(self, name: str) -> object:
            if name == "_shared":
                assert guard.held, "the shared state was touched without the lock"
            return super().__getattribute__(name)

    state.__class__ = Watched
    return state, guard


def test_T2_nobody_touches_the_shared_state_without_its_lock_and_each_step_takes_it_once() -> None:
    state, guard = guarded()
    state.subscribe([TOPIC])
    state.assign_from_group(partitions(0, 1))
    state.assigned_callback_done()
    (epoch, _) = state.without_position().popitem()[1], None
    state.set_position(FIRST, state.without_position()[FIRST], 10, committed=True)
    records = Buffered(FIRST, state.fetchable()[FIRST][0], 10, b"...", 20)
    steps: list[Callable[[], object]] = [
        lambda: state.poll_started(),
        lambda: state.begin_fetch({FIRST: (epoch, 10)}),
        lambda: state.fetch_ended(FIRST, records.epoch),
        lambda: state.buffer(records),
        lambda: state.next_buffered(),
        lambda: state.advance(records, 10, 12, exhausted=True),
        lambda: state.returned_positions(),
        lambda: state.has_unprocessed(),
        lambda: state.to_commit(),
        lambda: state.set_committed({FIRST: OffsetAndMetadata(11)}),
        lambda: state.pause([FIRST]),
        lambda: state.paused(),
        lambda: state.resume([FIRST]),
        lambda: state.seek(FIRST, 30),
        lambda: state.pause_for_revocation([FIRST]),
        lambda: state.turn_callback_into_lost(),
        lambda: state.start_callback(),
        lambda: state.callback_started(),
        lambda: state.finish_callback(),
        lambda: state.describe(),
        lambda: state.is_current(FIRST, epoch),
        lambda: state.keep_only([FIRST]),
        lambda: state.unsubscribe(),
    ]
    for number, step in enumerate(steps):
        before = guard.holds
        step()
        assert guard.holds == before + 1, f"step {number} is not one critical section"


def test_Q6_callbacks_that_are_due_come_before_records_that_are_there() -> None:
    positions: list[int] = []
    with Stage(cooperative=True) as stage:
        stage.stable(0)
        stage.fetched(10, 11)
        stage.heartbeat("REBALANCE_IN_PROGRESS")
        stage.joined()
        stage.synced(0, 1)
        stage.listener.during = lambda callback: positions.append(stage.consumer.position(FIRST))
        assert [record.offset for record in stage.poll()] == [10, 11]
        assert positions == [10]


# Wakeup
# ------------------------------------------------------------------------------------------------------------------


def test_T4_one_wakeup_interrupts_one_call() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.consumer.wakeup()
        for _ in range(2):
            stage.submit(Fetch())
        with pytest.raises(WakeupError):
            stage.poll()
        assert stage.poll() == []
        assert stage.poll() == []


def test_O4_T4_a_wakeup_while_records_are_there_takes_none_of_them() -> None:
    with Stage() as stage:
        stage.stable(0)
        stage.fetched(10, 11)
        stage.consumer.wakeup()
        with pytest.raises(WakeupError):
            stage.poll()
        assert [record.offset for record in stage.poll()] == [10, 11]


def test_L4_whoever_closes_second_waits_for_the_first_and_nothing_happens_twice() -> None:
    with Stage() as stage:
        stage.stable(0)
        closing = stage.begin(lambda consumer: consumer.close(1_000))
        if stage.is_waiting("LeaveGroup"):
            stage.error("LeaveGroup", "NONE")
        assert closing.done
        stage.ask(lambda consumer: consumer.close(1_000))
        assert stage.sent().count("LeaveGroup") == 1
        assert stage.callbacks() == [("revoked", partitions(0))]
