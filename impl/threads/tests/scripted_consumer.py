"""A driven consumer and the coordinator that it talks to, in the terms of the protocol.

Metadata and positions are answered at once; everything of the group is answered by the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar, Unpack

from groupspec.impl.consumer import Consumer
from groupspec.impl.core.config import Settings
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    JoinGroupRequest,
    MetadataRequest,
    OffsetFetchRequest,
    Response,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.records import ConsumerRecord
from groupspec.impl.scripted import ScriptedCoordinator, api_of
from groupspec.impl.testing import Call, DrivenConsumer
from groupspec.impl.threads.designs import Design

T = TypeVar("T")

TOPIC = "orders"
PARTITIONS = 4
COMMITTED = 10
QUIET = ("Metadata", "OffsetFetch", "Fetch")


def partitions(*numbers: int) -> tuple[TopicPartition, ...]:
    """Partitions of the topic."""
    return tuple(TopicPartition(TOPIC, number) for number in numbers)


class ScriptedConsumer(DrivenConsumer):
    """One member in a group of which the test is the rest.

    Attributes:
        default_design: The threading design, unless the test chooses one; changed by the fixture of this folder.
    """

    default_design: ClassVar[Design] = "background"

    def __init__(
        self,
        schedule: Sequence[int] = (),
        cooperative: bool = False,
        driver: Design | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        assignors = ("cooperative-sticky",) if cooperative else ("range",)
        chosen = Settings(
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            partition_assignment_strategy=assignors,
        )
        super().__init__(schedule, driver=driver or self.default_design, **(chosen | settings))
        self.coordinator = ScriptedCoordinator({TOPIC: PARTITIONS}, leader="somebody-else")
        self.coordinator.committed = COMMITTED
        for kind in (MetadataRequest, OffsetFetchRequest):
            self.transport.answer_always(kind, self.coordinator.answer)

    # The application --------------------------------------------------------------------------------------------------

    def subscribe(self) -> None:
        """The application wants the topic."""
        self.call(lambda consumer: consumer.subscribe([TOPIC], self.listener))

    def poll(self, timeout_ms: int = 0) -> list[ConsumerRecord]:
        """The application polls, and gets what there is."""
        return self.call(lambda consumer: consumer.poll(timeout_ms))

    def begin_poll(self, timeout_ms: int) -> Call[list[ConsumerRecord]]:
        """The application polls, and may still do so when this returns."""
        return self.begin(lambda consumer: consumer.poll(timeout_ms))

    def ask(self, question: Callable[[Consumer], T]) -> T:
        """Any other call."""
        return self.call(question)

    # The group -------------------------------------------------------------------------------------------------------

    def respond(self, api: str, response: Response) -> None:
        """The oldest unanswered request of this API is answered."""
        self.answer(self.waiting(api).request_id, response)

    def error(self, api: str, error: str) -> None:
        """The same, with an error."""
        self.respond(api, self.coordinator.answer(self.waiting(api).request, ErrorCode[error]))

    def found(self) -> None:
        """The coordinator is found."""
        self.error("FindCoordinator", "NONE")

    def joined(self) -> None:
        """JoinGroup is answered: a new generation."""
        self.error("JoinGroup", "NONE")

    def synced(self, *assigned: int) -> None:
        """SyncGroup is answered with these partitions."""
        self.respond(
            "SyncGroup", SyncGroupResponse(ErrorCode.NONE, encode_assignment(Assignment(partitions(*assigned))))
        )

    def heartbeat(self, error: str = "NONE") -> None:
        """A heartbeat is due, and is answered."""
        self.expire("heartbeat")
        self.error("Heartbeat", error)

    def joining(self) -> ScriptedConsumer:
        """The first JoinGroup is out."""
        self.subscribe()
        self.poll()
        self.found()
        return self

    def joining_anew(self) -> None:
        """It subscribes again after it has left, and joins as a new member."""
        self.subscribe()
        self.poll()
        if self.is_waiting("FindCoordinator"):
            self.found()
        request = self.waiting("JoinGroup").request
        assert isinstance(request, JoinGroupRequest)
        assert request.member_id == ""

    def stable(self, *assigned: int) -> ScriptedConsumer:
        """A member with these partitions; forget how it came to that."""
        self.joining()
        self.joined()
        self.synced(*(assigned or (0, 1)))
        self.poll()
        assert self.state == "STABLE"
        self.listener.calls.clear()
        self.driver.outputs.clear()
        return self

    # What is seen -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """Of the rebalance."""
        return self.describe().rebalance

    def waiting(self, api: str) -> SendRequest:
        """The oldest unanswered request of this API."""
        unanswered = self.transport.unanswered()
        for sent in unanswered:
            if api_of(sent.request) == api:
                return sent
        raise AssertionError(f"no {api} waits for an answer, only {[api_of(sent.request) for sent in unanswered]}")

    def is_waiting(self, api: str) -> bool:
        """Whether a request of this API is unanswered."""
        return any(api_of(sent.request) == api for sent in self.transport.unanswered())

    def sent(self) -> list[str]:
        """The group's requests since the test began, or the member was stable."""
        apis = [api_of(output.request) for output in self.driver.outputs if isinstance(output, SendRequest)]
        return [api for api in apis if api not in QUIET]

    def callbacks(self) -> list[tuple[str, tuple[TopicPartition, ...]]]:
        """What the listener was told since the test began, or the member was stable."""
        return [(call.kind, call.partitions) for call in self.listener.calls]

    def fetched(self, *offsets: int, partition: int | None = None) -> None:
        """The oldest fetch brings records with these offsets, for one of its partitions."""
        request = self.waiting("Fetch").request
        assert isinstance(request, FetchRequest)
        wanted = TopicPartition(TOPIC, partition) if partition is not None else min(request.offsets)
        data = b"".join(b"%d:value\n" % offset for offset in offsets)
        answers = {tp: FetchedPartition(data if tp == wanted else b"", 100) for tp in request.offsets}
        self.respond("Fetch", FetchResponse(answers))
