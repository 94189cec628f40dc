"""A stage for one core.

Virtual time, a broker that answers what the test tells it to, and a memory of all that happened.

A test reads as a story: `scene.poll()`, `scene.answer("Heartbeat", error="REBALANCE_IN_PROGRESS")`,
`assert scene.path == [...]`. Metadata is answered at once, since it is nobody's subject here but metadata's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from groupspec.impl.core.config import Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import (
    CallbackStarted,
    Close,
    CompleteFuture,
    Description,
    Error,
    InputEvent,
    Output,
    PartitionsAssigned,
    PartitionsRevoked,
    Poll,
    ResponseReceived,
    SendRequest,
    Start,
    Subscribe,
)
from groupspec.impl.core.messages import (
    Broker,
    ErrorCode,
    FetchedOffset,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupResponse,
    MetadataRequest,
    MetadataResponse,
    NoAnswer,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    PartitionMetadata,
    Request,
    Response,
    SyncGroupResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.trace import TraceEvent

R = TypeVar("R", bound=Request)
O = TypeVar("O", bound=Output)  # noqa: E741

TOPIC = "orders"
MEMBER = "member-1"
GROUP = "billing"


def partitions(*numbers: int, topic: str = TOPIC) -> tuple[TopicPartition, ...]:
    """Partitions of the topic."""
    return tuple(TopicPartition(topic, number) for number in numbers)


class Scene:
    """One member and its surroundings."""

    def __init__(self, topics: Mapping[str, int] | None = None, **config: Any) -> None:
        settings: dict[str, Any] = {"group_id": GROUP, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
        self.config = Config(**(settings | config))
        self.topics = dict(topics or {TOPIC: 4})
        self.subscription = SubscriptionState()
        self.trace: list[TraceEvent] = []
        self.core = Core(self.config, self.subscription, self.trace.append)
        self.now_ms = 0
        self.outputs: list[Output] = []
        self.unanswered: list[SendRequest] = []
        self.answered_heartbeats = True
        self.path: list[str] = []
        self._watch_states()

    # What happens ----------------------------------------------------------------------------------------------------

    def do(self, event: InputEvent) -> list[Output]:
        """One event, now."""
        return self._take(self.core.handle(event, self.now_ms))

    def start(self) -> Scene:
        """The background thread runs, and the application has subscribed; nothing else."""
        self.do(Start())
        self.do(Subscribe((TOPIC,)))
        return self

    def poll(self) -> list[Output]:
        """The application polls."""
        self.subscription.poll_started()
        return self.do(Poll())

    def pass_ms(self, duration_ms: int) -> list[Output]:
        """Time passes; every timer fires when it is due."""
        end_ms = self.now_ms + duration_ms
        outputs: list[Output] = []
        while True:
            deadline_ms = self.core.next_deadline_ms()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            outputs += self._take(self.core.advance(self.now_ms))
        self.now_ms = end_ms
        return outputs

    def expire(self, timer: str) -> list[Output]:
        """This timer runs out now, whatever the clock says."""
        self.core.timers.expire_now(timer, self.now_ms)
        return self._take(self.core.advance(self.now_ms))

    def respond(self, api: str, response: Response) -> list[Output]:
        """The broker answers the oldest unanswered request of this API."""
        sent = self.waiting(api)
        self.unanswered.remove(sent)
        return self.do(ResponseReceived(sent.request_id, response))

    def answer(self, api: str, error: str = "NONE") -> list[Output]:
        """The same, with an error or the ordinary content."""
        code = ErrorCode[error]
        if code in (ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT):
            return self.respond(api, NoAnswer(code))
        return self.respond(api, self._ordinary(api, code, self.waiting(api).request))

    def coordinator_found(self) -> list[Output]:
        """FindCoordinator is answered."""
        return self.answer("FindCoordinator")

    def join_accepted(
        self,
        generation: int = 1,
        leader: str = "somebody-else",
        members: Iterable[JoinedMember] = (),
        protocol: str | None = None,
    ) -> list[Output]:
        """JoinGroup is answered."""
        name = protocol or self.config.partition_assignment_strategy[0]
        return self.respond(
            "JoinGroup", JoinGroupResponse(ErrorCode.NONE, generation, name, leader, MEMBER, tuple(members))
        )

    def sync_accepted(self, *assigned: TopicPartition) -> list[Output]:
        """SyncGroup is answered with these partitions."""
        return self.respond("SyncGroup", SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(assigned))))

    def revoked(self) -> list[Output]:
        """The application's listener has run for what was taken away."""
        self.do(CallbackStarted())
        return self.do(PartitionsRevoked())

    def assigned(self) -> list[Output]:
        """The application's listener has run for what was added."""
        return self.do(PartitionsAssigned())

    def preparing(self) -> Scene:
        """JoinGroup is out."""
        self.start()
        self.poll()
        self.coordinator_found()
        return self

    def completing(self, generation: int = 1) -> Scene:
        """SyncGroup is out."""
        self.preparing()
        self.join_accepted(generation)
        return self

    def stable(self, *numbers: int, committed: int = 10) -> Scene:
        """A member with these partitions, all with a position."""
        self.completing()
        self.sync_accepted(*partitions(*(numbers or (0, 1))))
        self.assigned()
        if self.is_waiting("OffsetFetch"):
            self.committed_are(committed)
        self.path.clear()
        self.outputs.clear()
        return self

    def committed_are(self, offset: int) -> list[Output]:
        """OffsetFetch is answered with this offset for every partition."""
        request = self.waiting("OffsetFetch").request
        assert isinstance(request, OffsetFetchRequest)
        offsets = {partition: FetchedOffset(offset) for partition in request.partitions}
        return self.respond("OffsetFetch", OffsetFetchResponse(offsets))

    def heartbeat(self, error: str = "NONE") -> list[Output]:
        """A heartbeat goes out and is answered."""
        self.expire("heartbeat")
        return self.answer("Heartbeat", error)

    def close(self, timeout_ms: int = 1_000) -> list[Output]:
        """The application closes the consumer."""
        return self.do(Close(999, self.now_ms + timeout_ms))

    # What was seen ---------------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """The core's state."""
        return self.core.describe()

    def waiting(self, api: str) -> SendRequest:
        """The oldest unanswered request of this API."""
        for sent in self.unanswered:
            if name(sent.request) == api:
                return sent
        raise AssertionError(f"no {api} is waiting for an answer, only {[name(s.request) for s in self.unanswered]}")

    def is_waiting(self, api: str) -> bool:
        """Whether a request of this API is unanswered."""
        return any(name(sent.request) == api for sent in self.unanswered)

    def sent(self, kind: type[R]) -> list[R]:
        """All requests of this kind since the scene was set."""
        return [o.request for o in self.outputs if isinstance(o, SendRequest) and isinstance(o.request, kind)]

    def apis(self) -> list[str]:
        """The names of all requests since the scene was set, without metadata and positions."""
        quiet = ("Metadata", "OffsetFetch", "ListOffsets")
        return [a for a in (name(o.request) for o in self.outputs if isinstance(o, SendRequest)) if a not in quiet]

    def seen(self, kind: type[O]) -> list[O]:
        """All outputs of this kind since the scene was set."""
        return [output for output in self.outputs if isinstance(output, kind)]

    def errors(self) -> list[str]:
        """The names of the errors that the application will see."""
        return [type(output.error).__name__ for output in self.seen(Error)]

    def result(self, future_id: int) -> CompleteFuture:
        """How this future was completed; exactly once, or the test fails."""
        (done,) = [o for o in self.seen(CompleteFuture) if o.future_id == future_id]
        return done

    def is_done(self, future_id: int) -> bool:
        """Whether this future was completed."""
        return any(o.future_id == future_id for o in self.seen(CompleteFuture))

    def last_join(self) -> JoinGroupRequest:
        """The latest JoinGroup."""
        return self.sent(JoinGroupRequest)[-1]

    # -----------------------------------------------------------------------------------------------------------------

    def _take(self, outputs: list[Output]) -> list[Output]:
        self.outputs += outputs
        self.unanswered += [output for output in outputs if isinstance(output, SendRequest)]
        while self.is_waiting("Metadata") and self.topics:
            sent = self.waiting("Metadata")
            assert isinstance(sent.request, MetadataRequest)
            self.unanswered.remove(sent)
            self._take(
                self.core.handle(ResponseReceived(sent.request_id, self.metadata(sent.request.topics)), self.now_ms)
            )
        return outputs

    def metadata(self, wanted: tuple[str, ...] | None) -> MetadataResponse:
        """What a broker knows of these topics."""
        known = [
            TopicMetadata(topic, tuple(PartitionMetadata(n, leader=1 + n % 2) for n in range(self.topics[topic])))
            if topic in self.topics
            else TopicMetadata(topic, (), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for topic in wanted or self.topics
        ]
        return MetadataResponse((Broker(1, "localhost", 1), Broker(2, "localhost", 2)), tuple(known))

    def _ordinary(self, api: str, code: ErrorCode, request: Request) -> Response:
        if isinstance(request, OffsetCommitRequest):
            return OffsetCommitResponse(dict.fromkeys(request.offsets, code))
        if isinstance(request, OffsetFetchRequest):
            return OffsetFetchResponse(dict.fromkeys(request.partitions, FetchedOffset(-1)), code)
        ordinary: dict[str, Response] = {
            "FindCoordinator": FindCoordinatorResponse(code, 2, "localhost", 9092),
            "JoinGroup": JoinGroupResponse(code, member_id=MEMBER),
            "SyncGroup": SyncGroupResponse(code),
            "Heartbeat": HeartbeatResponse(code),
            "LeaveGroup": LeaveGroupResponse(code),
        }
        return ordinary[api]

    def _watch_states(self) -> None:
        enter = self.core.membership.enter

        def watched(state: RebalanceState) -> None:
            if state is not self.core.membership.state:
                self.path.append(state.value)
            enter(state)

        self.core.membership.enter = watched  # type: ignore[method-assign]


def name(request: Request) -> str:
    """The API's name."""
    return type(request).__name__.removesuffix("Request")
