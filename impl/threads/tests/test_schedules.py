"""The two threads in orders that nobody thought of.

The schedule is drawn, and so is what the group and the application do.

Everything is answered at once, so that answers race with what the application does. Whatever the order: no deadlock,
callbacks alternate, each commit has one outcome, records come in order from where the application seeks and only while
their partition is owned, every partition goes on being read, and close() leaves once and ends every call of another
thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.errors import ConsumerClosedError, KafkaError
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.scripted import api_of
from groupspec.impl.testing import Callback, CallThread
from groupspec.impl.threads.tests.scripted_consumer import COMMITTED, ScriptedConsumer, partitions

SHARES = ((0, 1), (0,), (1, 2), ())


CALLS: Final[dict[str, Callable[[Consumer], object]]] = {
    "poll": lambda consumer: consumer.poll(5_000) if consumer.subscription() or consumer.assignment() else None,
    "commit": lambda consumer: consumer.commit(),
    "commit_async": lambda consumer: consumer.commit_async(),
    "committed": lambda consumer: consumer.committed(partitions(0)),
    "position": lambda consumer: consumer.position(partitions(0)[0]) if consumer.assignment() else None,
    "subscribe": lambda consumer: consumer.subscribe(["orders"]) if consumer.subscription() else None,
    "unsubscribe": lambda consumer: consumer.unsubscribe(),
    "assign": lambda consumer: None if consumer.subscription() else consumer.assign(partitions(0)),
}


class Group:
    """Answers at once; what heartbeats and rounds bring is drawn."""

    def __init__(self, driven: ScriptedConsumer, heartbeats: list[str], shares: list[int]) -> None:
        self._stage = driven
        self._heartbeats = list(heartbeats)
        self._shares = list(shares)
        self._generation = 0
        self.left = 0
        answers: dict[type[Request], Callable[[Request], Response | None]] = {
            FindCoordinatorRequest: lambda _: FindCoordinatorResponse(ErrorCode.NONE, 2, "localhost", 9092),
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            OffsetCommitRequest: self._commit,
            LeaveGroupRequest: self._leave,
            FetchRequest: self._fetch,
        }
        for kind, answer in answers.items():
            driven.transport.answer_always(kind, answer)

    def _join(self, _: Request) -> Response:
        self._generation += 1
        protocol = self._stage.core.config.partition_assignment_strategy[0]
        return JoinGroupResponse(ErrorCode.NONE, self._generation, protocol, "somebody-else", "member-1")

    def _sync(self, _: Request) -> Response:
        share = SHARES[self._shares.pop(0) if self._shares else 0]
        return SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(partitions(*share))))

    def _heartbeat(self, _: Request) -> Response:
        return HeartbeatResponse(ErrorCode[self._heartbeats.pop(0)] if self._heartbeats else ErrorCode.NONE)

    def _commit(self, request: Request) -> Response:
        assert isinstance(request, OffsetCommitRequest)
        return OffsetCommitResponse(dict.fromkeys(request.offsets, ErrorCode.NONE))

    def _leave(self, _: Request) -> Response:
        self.left += 1
        return LeaveGroupResponse(ErrorCode.NONE)

    def _fetch(self, request: Request) -> Response:
        assert isinstance(request, FetchRequest)
        return FetchResponse(
            {tp: FetchedPartition(b"%d:a\n%d:b\n" % (at, at + 1), at + 10) for tp, at in request.offsets.items()}
        )


class Application:
    """Polls, commits, and checks what it is told."""

    def __init__(self, seeks: list[int]) -> None:
        self._seeks = list(seeks)
        self.owned: set[TopicPartition] = set()
        self.next_offset: dict[TopicPartition, int] = {}
        self.outcomes: list[Exception | None] = []
        self.commits = 0
        self.errors: list[KafkaError] = []

    def told(self, callback: Callback) -> None:
        """Rule C1: assigned what was not owned, revoked or lost what was."""
        concerned = set(callback.partitions)
        if callback.kind == "assigned":
            assert not concerned & self.owned
            self.owned |= concerned
            self.next_offset |= dict.fromkeys(concerned, COMMITTED)
        else:
            assert concerned <= self.owned
            self.owned -= concerned

    def work(self, consumer: Consumer) -> None:
        """A few turns of an application's loop, then the end."""
        for _ in range(6):
            try:
                self.read(consumer)
                self.seek(consumer)
                self.commits += 1
                consumer.commit_async(callback=lambda _, error: self.outcomes.append(error))
                consumer.commit()
            except KafkaError as error:
                self.errors.append(error)
        self.read_all(consumer)
        consumer.close(5_000)

    def read(self, consumer: Consumer, timeout_ms: int = 2_000) -> set[TopicPartition]:
        """Poll once, and say of which partitions there was something."""
        read = set()
        for record in consumer.poll(timeout_ms):
            partition = TopicPartition(record.topic, record.partition)
            assert partition in self.owned
            assert record.offset == self.next_offset[partition]
            self.next_offset[partition] += 1
            read.add(partition)
        return read

    def seek(self, consumer: Consumer) -> None:
        """Somewhere else, right after a poll, whose fetches are just being sent."""
        self.read(consumer, 0)
        offset = self._seeks.pop(0) if self._seeks else 0
        for partition in sorted(self.owned) if offset else ():
            consumer.seek(partition, offset)
            self.next_offset[partition] = offset

    def read_all(self, consumer: Consumer) -> None:
        """Whatever has happened, there is something to read of everything that is owned."""
        read: set[TopicPartition] = set()
        for _ in range(12):
            with suppress(KafkaError):
                read |= self.read(consumer)
            if self.owned <= read:
                return
        raise AssertionError(f"nothing comes from {self.owned - read} any more")


@settings(max_examples=150, deadline=None)
@given(
    schedule=st.lists(st.integers(0, 3), max_size=150),
    heartbeats=st.lists(
        st.sampled_from(["NONE", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"]), max_size=4
    ),
    shares=st.lists(st.integers(0, len(SHARES) - 1), max_size=6),
    wakeups=st.integers(0, 2),
    seeks=st.lists(st.integers(0, 500), max_size=6),
    cooperative=st.booleans(),
)
def test_any_order_of_the_threads_keeps_the_promises(
    schedule: list[int], heartbeats: list[str], shares: list[int], wakeups: int, seeks: list[int], cooperative: bool
) -> None:
    application = Application(seeks)
    with ScriptedConsumer(schedule, cooperative, heartbeat_interval_ms=1_000, session_timeout_ms=10_000) as driven:
        group = Group(driven, heartbeats, shares)
        driven.listener.during = application.told
        driven.subscribe()
        work = driven.begin(application.work)
        for _ in range(wakeups):
            driven.consumer.wakeup()
            driven.settle()
        for _ in range(80):
            if not work.done:
                driven.advance(1_000)
        note(f"the application was told: {application.errors}")
        work.outcome()
        assert [type(error) for error in application.errors].count(WakeupError) <= wakeups
        assert not application.owned
        assert len(application.outcomes) == application.commits
        assert group.left <= 1
        assert driven.transport.closed
        assert [api_of(sent.request) for sent in driven.transport.unanswered()] == []
        assert driven.describe().connection == "DOWN"


@settings(max_examples=100, deadline=None)
@given(
    schedule=st.lists(st.integers(0, 3), max_size=200),
    calls=st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=4),
    closers=st.integers(1, 2),
    timeout_ms=st.sampled_from([0, 0, 500]),
)
def test_L2_whenever_other_threads_close_no_call_hangs(
    schedule: list[int], calls: list[str], closers: int, timeout_ms: int
) -> None:
    def work(consumer: Consumer) -> None:
        for name_of_call in calls:
            CALLS[name_of_call](consumer)

    with ScriptedConsumer(schedule) as driven:
        group = Group(driven, [], [])
        driven.subscribe()
        driven.poll(1_000)
        threads = [CallThread(driven.runtime, f"closer {number}") for number in range(closers)]
        closes = [thread.begin(lambda: driven.consumer.close(timeout_ms)) for thread in threads]
        under_way = driven.begin(work)
        driven.advance(120_000)
        assert under_way.done
        assert all(close.done for close in closes)
        assert isinstance(under_way.error, ConsumerClosedError | None)
        assert [close.error for close in closes] == [None] * closers
        assert group.left <= 1
        assert driven.transport.closed
