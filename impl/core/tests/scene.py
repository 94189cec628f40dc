"""One core and its surroundings, as a test of the core needs them.

Virtual time, a broker that answers what the test tells it to, and a memory of all that happened:
`scene.poll()`, `scene.answer("Heartbeat", error="REBALANCE_IN_PROGRESS")`, `assert scene.path == [...]`.
Metadata is answered at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from groupspec.impl.core.config import Config
from groupspec.impl.core.events import (
    CallbackStarted,
    Close,
    CompleteFuture,
    Error,
    InputEvent,
    Output,
    PartitionsAssigned,
    PartitionsRevoked,
    ResponseReceived,
    SendRequest,
    Start,
    Subscribe,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore, api_of
from groupspec.impl.trace import TraceEvent

R = TypeVar("R", bound=Request)
O = TypeVar("O", bound=Output)  # noqa: E741

TOPIC = "orders"
MEMBER = "member-1"
GROUP = "billing"


def partitions(*numbers: int, topic: str = TOPIC) -> tuple[TopicPartition, ...]:
    """Partitions of the topic."""
    return tuple(TopicPartition(topic, number) for number in numbers)


class Scene(ScriptedCore):
    """One member and its surroundings."""

    def __init__(self, topics: Mapping[str, int] | None = None, **config: Any) -> None:
        settings: dict[str, Any] = {"group_id": GROUP, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
        coordinator = ScriptedCoordinator(dict(topics or {TOPIC: 4}), leader="somebody-else")
        coordinator.leads, coordinator.committed = 0, -1
        self.trace: list[TraceEvent] = []
        self.outputs: list[Output] = []
        self.path: list[str] = []
        super().__init__(Config(**(settings | config)), coordinator, self.trace.append)
        self.now_ms = 0
        self._watch_states()

    # What happens ----------------------------------------------------------------------------------------------------

    def heard(self, output: Output) -> None:
        """Remember it."""
        self.outputs.append(output)

    def reactions(self, output: Output) -> list[InputEvent]:
        """Metadata is answered, unless there are no topics."""
        return super().reactions(output) if self.coordinator.topics else []

    def start(self) -> Scene:
        """The background thread runs, and the application has subscribed; nothing else."""
        self.do(Start())
        self.do(Subscribe((TOPIC,)))
        return self

    def respond(self, api: str, response: Response) -> list[Output]:
        """The broker answers the oldest unanswered request of this API."""
        sent = self.waiting(api)
        self.unanswered.remove(sent)
        return self.do(ResponseReceived(sent.request_id, response))

    def answer(self, api: str, error: str = "NONE") -> list[Output]:
        """The same, with an error or the ordinary content."""
        return self.respond(api, self.coordinator.answer(self.waiting(api).request, ErrorCode[error]))

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

    def waiting(self, api: str) -> SendRequest:
        """The oldest unanswered request of this API."""
        for sent in self.unanswered:
            if api_of(sent.request) == api:
                return sent
        raise AssertionError(f"no {api} is waiting for an answer, only {[api_of(s.request) for s in self.unanswered]}")

    def is_waiting(self, api: str) -> bool:
        """Whether a request of this API is unanswered."""
        return any(api_of(sent.request) == api for sent in self.unanswered)

    def sent(self, kind: type[R]) -> list[R]:
        """All requests of this kind since the scene was set."""
        return [o.request for o in self.outputs if isinstance(o, SendRequest) and isinstance(o.request, kind)]

    def apis(self) -> list[str]:
        """The names of all requests since the scene was set, without metadata and positions."""
        quiet = ("Metadata", "OffsetFetch", "ListOffsets")
        return [a for a in (api_of(o.request) for o in self.outputs if isinstance(o, SendRequest)) if a not in quiet]

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

    def _watch_states(self) -> None:
        enter = self.core.membership.enter

        def watched(state: RebalanceState) -> None:
            if state is not self.core.membership.state:
                self.path.append(state.value)
            enter(state)

        self.core.membership.enter = watched  # type: ignore[method-assign]
