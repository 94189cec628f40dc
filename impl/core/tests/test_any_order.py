"""Whatever happens in whatever order: what must never break, and that the member always recovers and always closes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from groupspec.impl.core.events import (
    COORDINATOR,
    AssignPartitions,
    CallbackStarted,
    Close,
    Closed,
    Commit,
    CompleteFuture,
    DescribeMember,
    DescribeMetrics,
    EnforceRebalance,
    Fetch,
    FetchCommitted,
    InputEvent,
    ListOffsets,
    ListTopics,
    MetadataUpdate,
    Output,
    PartitionsAssigned,
    PartitionsRevoked,
    ResponseReceived,
    RevokePartitions,
    SendRequest,
    Start,
    Subscribe,
    TimerExpired,
    Unsubscribe,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetAndMetadata,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupspec.impl.core.tests.scene import Scene, partitions
from groupspec.impl.core.timers import ORDER

STRANGE = ["LEADS", "ANOTHER_PROTOCOL", "UNREADABLE"]
"""Answers without an error: this member leads; the group has another protocol; bytes that nobody can read, or none."""

GROUP_ERRORS = [
    "NONE",
    "NONE",
    "NONE",
    "DISCONNECTED",
    "TIMED_OUT",
    "NOT_COORDINATOR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "REBALANCE_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "FENCED_INSTANCE_ID",
    "MEMBER_ID_REQUIRED",
    "GROUP_AUTHORIZATION_FAILED",
    "UNKNOWN_SERVER_ERROR",
    *STRANGE,
]
AT_ONCE = ["NONE", "DISCONNECTED", "REBALANCE_IN_PROGRESS", "UNREADABLE"]
"""What is answered before anything else happens."""

DATA_ERRORS = [
    *GROUP_ERRORS[:5],
    "NOT_LEADER_OR_FOLLOWER",
    "LEADER_NOT_AVAILABLE",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "TOPIC_AUTHORIZATION_FAILED",
    "OFFSET_OUT_OF_RANGE",
    "UNKNOWN_SERVER_ERROR",
]
DATA_REQUESTS = (FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest)


class Chaos(Scene):
    """A scene that checks the invariants after every event."""

    def __init__(self, **config: Any) -> None:
        super().__init__({"orders": 4, "bills": 2}, **config)
        self.coordinator.records, self.coordinator.listed = b"x", 3
        self.generation = 0
        self.future = 0
        self.callbacks: list[RevokePartitions | AssignPartitions] = []
        self.told: set[object] = set()  # what the application believes that it has
        self.completed: list[int] = []
        self.metadata_waits = False
        self.leads = False

    def reactions(self, output: Output) -> list[InputEvent]:
        """Metadata is answered at once, or as everything else."""
        return [] if self.metadata_waits else super().reactions(output)

    def heard(self, output: Output) -> None:
        super().heard(output)
        if isinstance(output, SendRequest) and output.node == COORDINATOR:
            assert output.timeout_ms > 0
        if isinstance(output, RevokePartitions | AssignPartitions):
            self.callbacks.append(output)
        if isinstance(output, CompleteFuture):
            self.completed.append(output.future_id)

    def _follow(self, outputs: list[Output]) -> list[Output]:
        super()._follow(outputs)
        self.check()
        return outputs

    def check(self) -> None:
        described, core = self.describe(), self.core
        assert len(core.requests.pending("JoinGroup") + core.requests.pending("SyncGroup")) <= 1  # J1
        assert len(core.requests.pending("Heartbeat")) <= 1  # H7
        assert len(core.requests.pending("FindCoordinator")) <= 1  # D2
        assert len(core.requests.pending("OffsetCommit")) <= 1  # M6
        if described.connection != "STABLE":
            assert core.requests.to_coordinator() == []  # D4, D5
        assert len(self.completed) == len(set(self.completed))  # T3
        assert sum(isinstance(c, RevokePartitions) for c in self.callbacks) <= 1
        if described.rebalance == "REVOKING_PARTITION":
            assert self.subscription.pending_callback() is not None
        if described.heartbeat in ("IDLE", "IN_FLIGHT"):
            assert described.generation >= 0  # H3
        if described.rebalance == "STABLE":
            assert described.generation >= 0 and described.heartbeat != "DISABLED"  # S1, H3

    def run_callback(self) -> None:
        """The application runs the listener for the next consumer event."""
        if not self.callbacks:
            return
        event = self.callbacks.pop(0)
        if isinstance(event, AssignPartitions):
            assert not self.told & set(event.partitions)  # C1: not assigned twice
            self.told |= set(event.partitions)
            self.do(PartitionsAssigned())
        else:
            started = self.subscription.start_callback()
            assert started is not None
            assert set(started.partitions) <= self.told  # C1: never revoked what was not assigned
            self.told -= set(started.partitions)
            self.do(PartitionsRevoked())

    def next_future(self) -> int:
        self.future += 1
        return self.future

    def any_answer(self, sent: SendRequest, error: str, share: list[int]) -> Response:
        if isinstance(sent.request, JoinGroupRequest) and error in ("NONE", *STRANGE):
            return self.joined(sent.request, error)
        if isinstance(sent.request, SyncGroupRequest) and error == "ANOTHER_PROTOCOL":
            return SyncGroupResponse(ErrorCode.NONE, b"", "connect", None)
        if isinstance(sent.request, SyncGroupRequest) and error == "UNREADABLE":
            return SyncGroupResponse(ErrorCode.NONE, b"\0")
        if isinstance(sent.request, OffsetFetchRequest) and error == "UNREADABLE":
            return OffsetFetchResponse({})
        code = ErrorCode.NONE if error in STRANGE else ErrorCode[error]
        return self.coordinator.answer(sent.request, code, partitions(*share))

    def joined(self, request: JoinGroupRequest, what: str) -> JoinGroupResponse:
        """A new generation, of which this member is, and maybe leads."""
        self.generation += 1
        name, data = self.config.partition_assignment_strategy[0], request.protocols[0][1]
        member_id = f"m{self.generation % 3}"
        if what == "ANOTHER_PROTOCOL":
            return JoinGroupResponse(
                ErrorCode.NONE, self.generation, "eager", "other", member_id, protocol_type="connect"
            )
        if what == "NONE" and not self.leads:
            return JoinGroupResponse(ErrorCode.NONE, self.generation, name, "other", member_id)
        members = (
            JoinedMember(member_id, request.group_instance_id, data),
            JoinedMember("other", None, data if what != "UNREADABLE" else b"\0"),
        )
        skips = request.group_instance_id is not None and self.generation % 3 == 2  # as if it had come back
        return JoinGroupResponse(ErrorCode.NONE, self.generation, name, member_id, member_id, members, skips)

    def answer_any(self, index: int, error: str, share: list[int], data_error: str = "NONE") -> None:
        if self.unanswered:
            sent = self.unanswered.pop(index % len(self.unanswered))
            error = data_error if isinstance(sent.request, DATA_REQUESTS) else error
            over_quota_ms = 300 * (sent.request_id % 3 == 0)
            self.do(ResponseReceived(sent.request_id, self.any_answer(sent, error, share), over_quota_ms))

    def settle(self) -> None:
        """Everything goes well from now on: answers, callbacks, polls, and time."""
        for _ in range(60):
            if self.callbacks:
                self.run_callback()
            elif self.unanswered:
                self.answer_any(0, "NONE", [0, 1])
            else:
                self.poll()
                described = self.describe()
                if (described.connection, described.rebalance) == ("STABLE", "STABLE") and not described.rejoin_needed:
                    return
                self.pass_ms(100)


def joining(scene: Chaos) -> None:
    """JoinGroup is out for the first time."""
    scene.poll()
    scene.coordinator_found()


def leading(scene: Chaos) -> None:
    """This member leads the round, and does not know the topics of its group yet."""
    scene.metadata_waits = True
    joining(scene)
    scene.answer_any(-1, "LEADS", [])


def syncing(scene: Chaos) -> None:
    """SyncGroup is out for the first time."""
    joining(scene)
    scene.answer_any(0, "NONE", [])


def revoking(scene: Chaos) -> None:
    """A stable member is about to rebalance: an eager one revokes, a cooperative one joins."""
    scene.settle()
    scene.do(EnforceRebalance("test"))


def rejoining(scene: Chaos) -> None:
    """JoinGroup is out for the second time."""
    revoking(scene)
    scene.run_callback()


def resyncing(scene: Chaos) -> None:
    """SyncGroup is out for the second time."""
    rejoining(scene)
    scene.answer_any(-1, "NONE", [])


def moving(scene: Chaos) -> None:
    """The second assignment has come: a cooperative member has lost a partition."""
    resyncing(scene)
    scene.answer_any(-1, "NONE", [1, 2])


BEGINNINGS: tuple[Callable[[Chaos], object], ...] = (
    Chaos.poll,
    joining,
    leading,
    syncing,
    Chaos.settle,
    revoking,
    rejoining,
    resyncing,
    moving,
)

shares = st.lists(st.integers(0, 3), unique=True, max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("answer"),
            st.integers(0, 5),
            st.sampled_from(GROUP_ERRORS),
            shares,
            st.sampled_from(DATA_ERRORS),
        ),
        st.tuples(st.sampled_from(["poll", "callback", "fetch", "commit", "async", "committed", "enforce"])),
        st.tuples(st.just("subscribe"), st.sampled_from([("orders",), ("bills", "orders"), ("bills",)])),
        st.tuples(st.just("timer"), st.sampled_from(ORDER)),
        st.tuples(st.just("at once"), st.sampled_from(["heartbeat", "committed", "commit"]), st.sampled_from(AT_ONCE)),
        st.tuples(st.just("pass"), st.sampled_from([1, 100, 3_000, 50_000])),
        st.tuples(st.just("seek"), st.integers(0, 3), st.integers(0, 99)),
        st.tuples(st.just("unsubscribe")),
        st.tuples(st.just("answer"), st.just(-1), st.sampled_from(STRANGE), shares, st.just("NONE")),
        st.tuples(st.sampled_from(["poll quietly", "callback started", "start", "topic created", "topic deleted"])),
        st.tuples(st.sampled_from(["pattern, and topic deleted", "topics at once"]), st.sampled_from(DATA_ERRORS)),
        st.tuples(st.sampled_from(["ends", "topics", "all topics", "who", "metrics", "metadata", "pattern"])),
    ),
    max_size=40,
)
configs = st.fixed_dictionaries(
    {
        "partition_assignment_strategy": st.sampled_from([("range",), ("sticky",), ("cooperative-sticky",)]),
        "enable_auto_commit": st.booleans(),
        "group_instance_id": st.sampled_from([None, "one"]),
        "auto_offset_reset": st.sampled_from(["earliest", "none"]),
    }
)


def take_step(scene: Chaos, kind: str, *rest: object) -> None:
    offsets = {partitions(0)[0]: OffsetAndMetadata(1)}
    match kind, rest:
        case "answer", (int(index), str(error), list(share), str(data_error)):
            scene.answer_any(index, error, share, data_error)
        case "poll", _:
            scene.poll()
        case "callback", _:
            scene.run_callback()
        case "fetch", _:
            scene.do(Fetch())
        case "commit", _:
            scene.do(Commit(offsets, scene.next_future(), scene.now_ms + 1_000))
        case "async", _:
            scene.do(Commit(offsets, scene.next_future()))
        case "committed", _:
            scene.do(FetchCommitted(partitions(0), scene.next_future(), scene.now_ms + 1_000))
        case "enforce", _:
            scene.do(EnforceRebalance("test"))
        case "subscribe", (tuple(topics),):
            if not scene.describe().leaving:
                scene.do(Subscribe(topics))
        case "timer", (str(timer),):
            scene.do(TimerExpired(timer))
        case "at once", (str(asked), str(error)):
            take_step(scene, *(("timer", "heartbeat") if asked == "heartbeat" else (asked,)))
            scene.answer_any(-1, error, [])
        case "pass", (int(duration_ms),):
            scene.pass_ms(duration_ms)
        case "seek", (int(number), int(offset)):
            if partitions(number)[0] in scene.subscription.assignment():
                scene.subscription.positions.seek(partitions(number)[0], offset)
        case "unsubscribe", _:
            scene.do(Unsubscribe(scene.next_future()))
        case "topics at once", (str(error),):
            ask(scene, "topics")
            scene.answer_any(-1, "NONE", [], error)
        case "pattern", _:
            if not scene.describe().leaving:
                scene.do(Subscribe((), re.compile(".*orders|bills")))
        case _:
            ask(scene, kind)


def ask(scene: Chaos, what: str) -> None:
    """A question of the application's."""
    deadline_ms = scene.now_ms + 1_000
    match what:
        case "ends":
            scene.do(ListOffsets(dict.fromkeys(partitions(0, 1), -1), scene.next_future(), deadline_ms))
        case "topics":
            scene.do(ListTopics(("orders", "missing"), scene.next_future(), deadline_ms))
        case "all topics":
            scene.do(ListTopics(None, scene.next_future(), deadline_ms))
        case "who":
            scene.do(DescribeMember(scene.next_future()))
        case "metrics":
            scene.do(DescribeMetrics(scene.next_future()))
        case "metadata":
            scene.do(MetadataUpdate(("orders",)))
        case "topic created":
            scene.coordinator.topics = {"orders": 4, "bills": 2, "more orders": 1}
            scene.do(MetadataUpdate(("orders",)))
        case "topic deleted":
            scene.coordinator.topics = {"bills": 2}
            scene.do(MetadataUpdate(("orders",)))
        case "pattern, and topic deleted":
            take_step(scene, "pattern")
            ask(scene, "topic deleted")
            scene.pass_ms(100)
        case "poll quietly":  # just before it would have been too late
            scene.subscription.positions.poll_started(scene.now_ms)
            scene.do(TimerExpired("poll_interval"))
        case "callback started":
            scene.do(CallbackStarted())
        case "start":
            scene.do(Start())


@given(
    config=configs,
    beginning=st.sampled_from(BEGINNINGS),
    steps=steps,
    metadata_waits=st.booleans(),
    leads=st.booleans(),
    closes_in=st.sampled_from(["no callback", "unsubscribe", "a revocation"]),
)
def test_nothing_breaks_the_member_recovers_and_closes(
    config: dict[str, Any],
    beginning: Callable[[Chaos], object],
    steps: list[tuple[str, object]],
    metadata_waits: bool,
    leads: bool,
    closes_in: str,
) -> None:
    scene = Chaos(**config)
    scene.leads = leads
    scene.start()
    beginning(scene)
    scene.metadata_waits = metadata_waits
    for step in steps:
        take_step(scene, *step)
    while scene.callbacks:
        scene.run_callback()
    scene.poll()
    if "FencedInstanceIdError" in scene.errors():  # rule X2: final, until the application begins anew
        scene.do(Unsubscribe(scene.next_future()))
        while scene.callbacks:
            scene.run_callback()
    scene.do(Subscribe(("orders",)))
    scene.settle()
    described = scene.describe()
    assert (described.connection, described.rebalance) == ("STABLE", "STABLE")
    assert set(described.owned) == scene.told
    if closes_in == "unsubscribe":
        scene.do(Unsubscribe(scene.next_future()))
    if closes_in == "a revocation":  # of an eager member, while a commit is on its way
        take_step(scene, "async")
        take_step(scene, "enforce")
    for _ in range(2):
        scene.do(Close(scene.next_future(), scene.now_ms + 500))
    while scene.callbacks:
        scene.run_callback()
    scene.pass_ms(500)
    while scene.callbacks:
        scene.run_callback()
    assert len(scene.seen(Closed)) == 1
    assert sorted(scene.completed) == list(range(1, scene.future + 1))  # L2: every future has its end
    assert scene.told == set()
    assert scene.core.timers.armed() == {}
