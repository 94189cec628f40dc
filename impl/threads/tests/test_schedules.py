"""The two threads in orders that nobody thought of: the schedule is drawn, and so is what the group does.

Everything is answered at once, so that answers race with what the application does. Whatever the order: no deadlock, callbacks
alternate, each commit has one outcome, records come in order and only while their partition is owned, and close() leaves once.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, note, settings
from hypothesis import strategies as st

from groupspec.impl.consumer import Consumer, WakeupError
from groupspec.impl.core.errors import KafkaError
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
from groupspec.impl.threads.testing import Callback
from groupspec.impl.threads.tests.stage import COMMITTED, Stage, name, partitions

SHARES = ((0, 1), (0,), (1, 2), ())


class Group:
    """Answers at once; what heartbeats and rounds bring is drawn."""

    def __init__(self, stage: Stage, heartbeats: list[str], shares: list[int]) -> None:
        self._stage = stage
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
            stage.transport.answer_always(kind, answer)

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

    def __init__(self) -> None:
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
                for record in consumer.poll(2_000):
                    partition = TopicPartition(record.topic, record.partition)
                    assert partition in self.owned
                    assert record.offset == self.next_offset[partition]
                    self.next_offset[partition] += 1
                self.commits += 1
                consumer.commit_async(callback=lambda _, error: self.outcomes.append(error))
                consumer.commit()
            except KafkaError as error:
                self.errors.append(error)
        consumer.close(5_000)


@settings(max_examples=150, deadline=None)
@given(
    schedule=st.lists(st.integers(0, 3), max_size=150),
    heartbeats=st.lists(
        st.sampled_from(["NONE", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"]), max_size=4
    ),
    shares=st.lists(st.integers(0, len(SHARES) - 1), max_size=6),
    wakeups=st.integers(0, 2),
    cooperative=st.booleans(),
)
def test_any_order_of_the_threads_keeps_the_promises(
    schedule: list[int], heartbeats: list[str], shares: list[int], wakeups: int, cooperative: bool
) -> None:
    application = Application()
    with Stage(schedule, cooperative, heartbeat_interval_ms=1_000, session_timeout_ms=10_000) as stage:
        group = Group(stage, heartbeats, shares)
        stage.listener.during = application.told
        stage.subscribe()
        work = stage.begin(application.work)
        for _ in range(wakeups):
            stage.consumer.wakeup()
            stage.settle()
        for _ in range(40):
            if not work.done:
                stage.advance(1_000)
        note(f"the application was told: {application.errors}")
        work.outcome()
        assert [type(error) for error in application.errors].count(WakeupError) <= wakeups
        assert not application.owned
        assert len(application.outcomes) == application.commits
        assert group.left <= 1
        assert stage.transport.closed
        assert [name(sent.request) for sent in stage.transport.unanswered()] == []
        assert stage.describe().connection == "DOWN"
