"""Promises of the two threads that no other story here is about; see its namesake beside the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.events import Fetch
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.partition_state import Buffered, Position
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.testing import Callback
from groupspec.impl.threads.tests.scripted_consumer import TOPIC, ScriptedConsumer, partitions

FIRST = TopicPartition(TOPIC, 0)


# Assignments that are interrupted
# ----------------------------------------------------------------------------------------


def test_S3_a_listener_that_raises_does_not_keep_the_assignment_from_taking_effect_once() -> None:
    with ScriptedConsumer() as driven:

        def refuse(callback: Callback) -> None:
            raise ValueError(callback.kind)

        driven.joining()
        driven.joined()
        driven.synced(0, 1)
        driven.listener.during = refuse
        with pytest.raises(ValueError, match="assigned"):
            driven.poll()
        driven.listener.during = None
        assert driven.poll() == []
        assert driven.callbacks() == [("assigned", partitions(0, 1))]
        assert (driven.state, driven.describe().owned) == ("STABLE", partitions(0, 1))


def test_S3_Q1_a_wakeup_does_not_lose_the_assignment_that_is_due() -> None:
    with ScriptedConsumer() as driven:
        driven.joining()
        driven.joined()
        driven.synced(0, 1)
        driven.consumer.wakeup()
        with pytest.raises(WakeupError):
            driven.poll()
        driven.poll()
        assert driven.callbacks() == [("assigned", partitions(0, 1))]
        assert driven.state == "STABLE"


# Commits that wait
# --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("waits_for", ["a coordinator", "an earlier commit"])
def test_M1_a_commit_that_waits_is_not_sent_as_nobody_when_unsubscribe_has_left_the_group(waits_for: str) -> None:
    """As simulated group 5018: the group is empty, takes it, and what the next member had committed goes back."""
    told: list[str] = []
    with ScriptedConsumer() as driven:
        driven.stable(0)
        if waits_for == "a coordinator":
            driven.heartbeat("NOT_COORDINATOR")
        else:
            driven.call(lambda consumer: consumer.commit_async({FIRST: 4}))
        sent = driven.sent().count("OffsetCommit")
        driven.call(lambda consumer: consumer.commit_async({FIRST: 5}, lambda _, error: told.append(str(error))))
        driven.call(lambda consumer: consumer.unsubscribe())
        if waits_for == "a coordinator":
            driven.found()
        else:
            driven.error("OffsetCommit", "NONE")
        driven.call(lambda consumer: consumer.subscribe([TOPIC]))
        driven.poll()
        assert driven.sent().count("OffsetCommit") == sent
        assert ["a membership that is over" in error for error in told] == [True]


# Threads
# -----------------------------------------------------------------------------------------------------------------


def test_Q2_C5_callbacks_run_on_the_thread_that_polls() -> None:
    threads: list[int] = []
    with ScriptedConsumer() as driven:
        driven.listener.during = lambda callback: threads.append(driven.runtime.thread_id())
        (application,) = {driven.call(lambda consumer: driven.runtime.thread_id())}
        driven.stable(0)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.poll()
        driven.joined()
        driven.synced(0)
        assert len(threads) == 2  # the second assignment waits for the next poll
        driven.poll()
        driven.heartbeat("UNKNOWN_MEMBER_ID")
        driven.poll()
        assert threads == [application] * 4


def test_T1_no_lock_is_held_while_the_background_thread_waits_for_the_network() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        calls: list[Callable[[Consumer], object]] = [
            lambda consumer: consumer.poll(0),
            lambda consumer: consumer.commit_async({FIRST: 5}),
            lambda consumer: consumer.assignment(),
            lambda consumer: consumer.pause([FIRST]),
        ]
        for call in calls:
            assert driven.begin(call).done


def test_T1_a_callback_holds_no_lock_that_the_background_thread_needs() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.listener.park = True
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.begin_poll(0)
        assert driven.listener.inside is not None
        driven.advance(3_000)
        assert driven.is_waiting("Heartbeat")
        driven.error("Heartbeat", "UNKNOWN_MEMBER_ID")
        driven.listener.park = False
        driven.release()
        assert driven.state == "PREPARING_REBALANCE"


def test_T1_who_waits_holds_no_lock_that_the_answer_needs() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        commit = driven.begin(lambda consumer: consumer.commit({FIRST: 5}))
        driven.error("OffsetCommit", "NONE")
        assert commit.outcome() is None
        poll = driven.begin_poll(60_000)
        driven.fetched(10)
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

    def touched(self: object, name: str) -> object:
        if name == "_shared":
            assert guard.held, "the shared state was touched without the lock"
        return object.__getattribute__(self, name)

    state.__class__ = type("Watched", (SubscriptionState,), {"__getattribute__": touched})
    state.positions.__class__ = type("WatchedToo", (Positions,), {"__getattribute__": touched})
    return state, guard


def test_T2_nobody_touches_the_shared_state_without_its_lock_and_each_step_takes_it_once() -> None:
    state, guard = guarded()
    positions = state.positions
    state.subscribe([TOPIC])
    state.assign_from_group(partitions(0, 1))
    state.assigned_callback_done()
    (epoch, _) = positions.without_position().popitem()[1], None
    positions.set_position(FIRST, positions.without_position()[FIRST], 10, committed=True)
    records = Buffered(FIRST, positions.fetchable()[FIRST][0], 10, b"...", 20)
    steps: list[Callable[[], object]] = [
        lambda: positions.poll_started(),
        lambda: positions.begin_fetch({FIRST: Position(epoch, 10)}, {}),
        lambda: positions.fetch_ended(FIRST, records.epoch),
        lambda: positions.buffer(records),
        lambda: positions.next_buffered(),
        lambda: positions.advance(records, 10, 12, exhausted=True),
        lambda: positions.returned_positions(),
        lambda: positions.has_unprocessed(),
        lambda: positions.to_commit(),
        lambda: positions.set_committed({FIRST: OffsetAndMetadata(11)}),
        lambda: positions.pause([FIRST]),
        lambda: positions.paused(),
        lambda: positions.resume([FIRST]),
        lambda: positions.seek(FIRST, 30),
        lambda: state.pause_for_revocation([FIRST]),
        lambda: state.turn_callback_into_lost(),
        lambda: state.start_callback(),
        lambda: state.finish_callback(),
        lambda: positions.describe(),
        lambda: positions.is_current(FIRST, epoch),
        lambda: state.keep_only([FIRST]),
        lambda: state.unsubscribe(),
    ]
    for number, step in enumerate(steps):
        before = guard.holds
        step()
        assert guard.holds == before + 1, f"step {number} is not one critical section"


def test_Q6_callbacks_that_are_due_come_before_records_that_are_there() -> None:
    positions: list[int] = []
    with ScriptedConsumer(cooperative=True) as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.heartbeat("REBALANCE_IN_PROGRESS")
        driven.joined()
        driven.synced(0, 1)
        driven.listener.during = lambda callback: positions.append(driven.consumer.position(FIRST))
        assert [record.offset for record in driven.poll()] == [10, 11]
        assert positions == [10]


# Wakeup
# ------------------------------------------------------------------------------------------------------------------


def test_T4_one_wakeup_interrupts_one_call() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.consumer.wakeup()
        for _ in range(2):
            driven.submit(Fetch())
        with pytest.raises(WakeupError):
            driven.poll()
        assert driven.poll() == []
        assert driven.poll() == []


def test_O4_T4_a_wakeup_while_records_are_there_takes_none_of_them() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        driven.fetched(10, 11)
        driven.consumer.wakeup()
        with pytest.raises(WakeupError):
            driven.poll()
        assert [record.offset for record in driven.poll()] == [10, 11]


def test_L4_whoever_closes_second_waits_for_the_first_and_nothing_happens_twice() -> None:
    with ScriptedConsumer() as driven:
        driven.stable(0)
        closing = driven.begin(lambda consumer: consumer.close(1_000))
        if driven.is_waiting("LeaveGroup"):
            driven.error("LeaveGroup", "NONE")
        assert closing.done
        driven.ask(lambda consumer: consumer.close(1_000))
        assert driven.sent().count("LeaveGroup") == 1
        assert driven.callbacks() == [("revoked", partitions(0))]
