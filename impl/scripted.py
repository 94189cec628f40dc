"""A group's coordinator, and one core in front of it, of which a test decides what happens.

`ScriptedCoordinator` makes the answers of coordinator and brokers: the wanted error, or contents that they could have
sent. `ScriptedCore` holds a core, its clock, and the requests that wait for an answer; a subclass says what else its
surroundings do at once. A whole consumer with its threads is driven by `groupspec.impl.testing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from groupspec.impl.core import messages
from groupspec.impl.core.config import Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import Description, InputEvent, Output, Poll, ResponseReceived, SendRequest
from groupspec.impl.core.messages import ErrorCode, Request, Response, TopicPartition
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.core.requests import APIS
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.trace import TraceSink

BROKERS = (messages.Broker(1, "localhost", 9092), messages.Broker(2, "localhost", 9093))
COORDINATOR_NODE = 2
HIGH_WATERMARK = 100
OF_A_PARTITION = (
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
"""Errors that OffsetFetch reports for each partition; the others concern the whole answer."""


def api_of(request: Request) -> str:
    """The name of a request, as Kafka's protocol has it."""
    return APIS[type(request)]


class ScriptedCoordinator:
    """Gives every request the answer that a test wants.

    Attributes:
        topics: How many partitions each topic has; None: every topic has `partitions`.
        leader: Who leads the group; empty: the member itself, which is then its only member.
        generation: Of the latest successful JoinGroup.
        committed: The offset that OffsetFetch answers; -1: none is committed.
        listed: The offset that ListOffsets answers.
        epoch_end: Where every leader epoch ends, as OffsetForLeaderEpoch answers.
        records: What Fetch brings.
        leads: The broker that leads all partitions; 0: both brokers, by turns.
        topic_ids: The id of each topic that has one.
    """

    def __init__(self, topics: Mapping[str, int] | None = None, leader: str = "", partitions: int = 64) -> None:
        self.topics = topics
        self.leader = leader
        self.partitions = partitions
        self.generation = 0
        self.members = 0
        self.committed = 5
        self.listed = 0
        self.epoch_end = 0
        self.records = b"records, which the core does not look into"
        self.leads = 1
        self.topic_ids: dict[str, bytes] = {}

    def answer(
        self, request: Request, error: ErrorCode = ErrorCode.NONE, assigned: Iterable[TopicPartition] = ()
    ) -> Response:
        """The response to `request` that says `error`; `assigned` is what a successful SyncGroup brings.

        Raises:
            ValueError: there is no answer for this kind of request.
        """
        if error in (ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT):
            return messages.NoAnswer(error)
        match request:
            case messages.FindCoordinatorRequest():
                found = messages.FindCoordinatorResponse(error, COORDINATOR_NODE, "localhost", 9093)
                return messages.FindCoordinatorResponse(error) if error else found
            case messages.JoinGroupRequest():
                return self._joined(request, error)
            case messages.SyncGroupRequest():
                return messages.SyncGroupResponse(
                    error, b"" if error else encode_assignment(Assignment(tuple(assigned)))
                )
            case messages.HeartbeatRequest():
                return messages.HeartbeatResponse(error)
            case messages.LeaveGroupRequest():
                return messages.LeaveGroupResponse(error)
            case messages.OffsetCommitRequest():
                return messages.OffsetCommitResponse(dict.fromkeys(request.offsets, error))
            case messages.OffsetFetchRequest() if error and error not in OF_A_PARTITION:
                return messages.OffsetFetchResponse({}, error)
            case messages.OffsetFetchRequest():
                offset = messages.FetchedOffset(-1 if error else self.committed, error=error)
                return messages.OffsetFetchResponse(dict.fromkeys(request.partitions, offset))
            case messages.ListOffsetsRequest():
                return messages.ListOffsetsResponse(
                    dict.fromkeys(request.timestamps, messages.ListedOffset(self.listed, error))
                )
            case messages.OffsetForLeaderEpochRequest(epochs=epochs):
                return messages.OffsetForLeaderEpochResponse(
                    {p: messages.EpochEnd(epoch, self.epoch_end, error) for p, epoch in epochs.items()}
                )
            case messages.FetchRequest():
                fetched = messages.FetchedPartition(b"" if error else self.records, HIGH_WATERMARK, error)
                return messages.FetchResponse(dict.fromkeys(request.offsets, fetched))
            case messages.MetadataRequest():
                return self.metadata(request.topics, error)
            case _:
                raise ValueError(f"no answer for {api_of(request)}")

    def _joined(self, request: messages.JoinGroupRequest, error: ErrorCode) -> messages.JoinGroupResponse:
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            return messages.JoinGroupResponse(error, member_id=self._new_id())
        if error:
            return messages.JoinGroupResponse(error, member_id=request.member_id)
        self.generation += 1
        member_id = request.member_id or self._new_id()
        name, metadata = request.protocols[0]
        if self.leader:
            return messages.JoinGroupResponse(error, self.generation, name, self.leader, member_id)
        itself = messages.JoinedMember(member_id, request.group_instance_id, metadata)
        return messages.JoinGroupResponse(error, self.generation, name, member_id, member_id, (itself,))

    def _new_id(self) -> str:
        self.members += 1
        return f"member-{self.members}"

    def metadata(self, wanted: Iterable[str] | None, error: ErrorCode = ErrorCode.NONE) -> messages.MetadataResponse:
        """What a broker knows of these topics; None: of all."""
        topics = (self._topic(topic, error) for topic in (self.topics or () if wanted is None else wanted))
        return messages.MetadataResponse(BROKERS, tuple(topics))

    def _topic(self, topic: str, error: ErrorCode) -> messages.TopicMetadata:
        if not error and self.topics is not None and topic not in self.topics:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        numbers = range(0 if error else self.partitions if self.topics is None else self.topics[topic])
        return messages.TopicMetadata(
            topic,
            tuple(messages.PartitionMetadata(n, self.leads or 1 + n % 2) for n in numbers),
            error,
            self.topic_ids.get(topic, messages.NO_TOPIC_ID),
        )


class ScriptedCore:
    """One core and its clock. `unanswered`: the requests that wait for an answer, the oldest first."""

    def __init__(self, config: Config, coordinator: ScriptedCoordinator, trace: TraceSink | None = None) -> None:
        self.config, self.coordinator = config, coordinator
        self.now_ms = 1_000
        self.new_core(trace)

    def new_core(self, trace: TraceSink | None = None) -> None:
        """A core before its first event; no request waits."""
        self.subscription = SubscriptionState()
        self.core = Core(self.config, self.subscription, trace)
        self.unanswered: list[SendRequest] = []

    # What happens -----------------------------------------------------------------------------------------------------

    def do(self, event: InputEvent) -> list[Output]:
        """One event, now, and everything that the surroundings do at once because of it; what the event brought."""
        return self._follow(self.core.handle(event, self.now_ms))

    def _follow(self, outputs: list[Output]) -> list[Output]:
        waiting = deque(outputs)
        while waiting:
            output = waiting.popleft()
            if isinstance(output, SendRequest):
                self.unanswered.append(output)
            self.heard(output)
            for event in self.reactions(output):
                waiting.extend(self.core.handle(event, self.now_ms))
        return outputs

    def heard(self, output: Output) -> None:
        """For a subclass: the core has said this."""

    def reactions(self, output: Output) -> list[InputEvent]:
        """What the surroundings do at once: metadata is answered."""
        if isinstance(output, SendRequest) and isinstance(output.request, messages.MetadataRequest):
            return [self.answered(output)]
        return []

    def poll(self) -> list[Output]:
        """The application polls."""
        self.subscription.positions.poll_started()
        return self.do(Poll())

    def pass_ms(self, duration_ms: int) -> list[Output]:
        """Time passes; every timer fires when it is due."""
        end_ms = self.now_ms + duration_ms
        outputs: list[Output] = []
        while (deadline_ms := self.core.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            outputs += self.timers_fire()
        self.now_ms = end_ms
        return outputs

    def timers_fire(self) -> list[Output]:
        """Those that are due."""
        return self._follow(self.core.advance(self.now_ms))

    def expire(self, timer: str) -> list[Output]:
        """This timer runs out now, whatever the clock says. KeyError if it does not run."""
        self.core.timers.expire_now(timer, self.now_ms)
        return self.timers_fire()

    def describe(self) -> Description:
        """The core's state."""
        return self.core.describe()

    # Answers ----------------------------------------------------------------------------------------------------------

    def answered(
        self, sent: SendRequest, error: ErrorCode = ErrorCode.NONE, assigned: Iterable[TopicPartition] = ()
    ) -> ResponseReceived:
        """The answer to a request, which then waits no more."""
        self.unanswered.remove(sent)
        return ResponseReceived(sent.request_id, self.coordinator.answer(sent.request, error, assigned))

    def newest(self, *apis: str) -> SendRequest | None:
        """The newest unanswered request of one of these APIs."""
        return next((sent for sent in reversed(self.unanswered) if api_of(sent.request) in apis), None)
