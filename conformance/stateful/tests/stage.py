"""A stage for one sans-IO core.

Time, brokers that answer at once unless told to hold back, an application that listens.

What is held back stays open until a test answers it, well or badly. Everything that the core says is written down in
order, so that a test can ask what followed from what. The core is driven by its front door alone: `handle`, `advance`,
its timers by name, `describe()`.
"""

from __future__ import annotations

import textwrap
from collections import deque
from collections.abc import Iterable

from groupspec.conformance.stateful.answers import PARTITIONS, TOPIC, Coordinator
from groupspec.conformance.stateful.lockstep import Divergence
from groupspec.conformance.stateful.translation import api_of
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import (
    Broker,
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    NoAnswer,
    OffsetFetchRequest,
    OffsetFetchResponse,
    PartitionMetadata,
    Request,
    Response,
    TopicMetadata,
)
from groupspec.impl.core.subscription import SubscriptionState

OWNED = PARTITIONS[:2]
COMMITTED = 5
LISTED = 3
NONE_COMMITTED = -1
RECORDS = b"records, which the core does not look into"
CALLBACK = "callback"
MANY = 500

_OF_A_PARTITION = (
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
"""Errors that OffsetFetch reports for each partition; the others concern the whole answer."""


class Stage:
    """One core and its surroundings."""

    def __init__(self, cooperative: bool = False, auto_commit: bool = False, reset: str = "earliest") -> None:
        self.config = Config(
            group_id="group",
            client_id="member",
            enable_auto_commit=auto_commit,
            auto_offset_reset=reset,
            partition_assignment_strategy=("cooperative-sticky",) if cooperative else ("range",),
        )
        self.subscription = SubscriptionState()
        self.core = Core(self.config, self.subscription)
        self.coordinator = Coordinator()
        self.now_ms = 1_000
        self.leader = 1
        self.committed = COMMITTED
        self.held: set[str] = set()
        self.open: list[SendRequest] = []
        self.heard: list[str] = []
        self.story: list[str] = []

    # What happens -----------------------------------------------------------------------------------------------------

    def give(self, event: impl.InputEvent) -> None:
        """One event, and everything that brokers and the application do at once because of it."""
        self.story.append(textwrap.shorten(f"at {self.now_ms} ms: {event}", 200, placeholder=" …"))
        self._follow(self.core.handle(event, self.now_ms))

    def _follow(self, outputs: Iterable[impl.Output]) -> None:
        waiting = deque(outputs)
        count = 0
        while waiting:
            output = waiting.popleft()
            self._hear(output)
            for reply in self._replies(output):
                waiting.extend(self.core.handle(reply, self.now_ms))
            count += 1
            if count > MANY:
                raise self.divergence(
                    "how much is sent at once", f"no more than {MANY} outputs", f"ever more {self.heard[-1]}"
                )

    def _hear(self, output: impl.Output) -> None:
        if isinstance(output, SendRequest):
            self.heard.append(api_of(output.request))
        elif isinstance(output, impl.CompleteFuture):
            failed = type(output.error).__name__ if output.error else ""
            self.heard.append(f"failed: {failed}" if failed else "answered")
        elif isinstance(output, impl.Error | impl.RevokePartitions | impl.AssignPartitions):
            self.heard.append(output.type.value)
        elif not isinstance(output, impl.ConnectCoordinator):
            self.heard.append(type(output).__name__)

    def _replies(self, output: impl.Output) -> list[impl.InputEvent]:
        if isinstance(output, SendRequest):
            if api_of(output.request) in self.held:
                self.open.append(output)
                return []
            return [impl.ResponseReceived(output.request_id, self.response(output.request, ErrorCode.NONE))]
        if isinstance(output, impl.RevokePartitions) and CALLBACK not in self.held:
            return [impl.CallbackStarted(), impl.PartitionsRevoked()]
        return [impl.PartitionsAssigned()] if isinstance(output, impl.AssignPartitions) else []

    def poll(self) -> None:
        """The application polls, and wants records."""
        self.subscription.poll_started()
        self.give(impl.Poll())
        self.give(impl.Fetch())

    def subscribe(self) -> None:
        """The background thread runs, the application subscribes and polls."""
        self.give(impl.Start())
        self.give(impl.Subscribe((TOPIC,)))
        self.subscription.poll_started()
        self.give(impl.Poll())

    def pass_ms(self, duration_ms: int) -> None:
        """Time passes; every timer fires when it is due."""
        end_ms = self.now_ms + duration_ms
        self.story.append(f"{duration_ms} ms pass")
        while (deadline_ms := self.core.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            before = self.core.describe().timers_ms
            self._follow(self.core.advance(self.now_ms))
            if self.core.describe().timers_ms == before:
                raise self.divergence("timers that were due", "stopped or moved", f"still {dict(before)}")
        self.now_ms = end_ms

    def expire(self, timer: str) -> None:
        """This timer runs out now."""
        if timer not in self.core.describe().timers_ms:
            raise self.divergence("timers that run", timer, f"only {list(self.core.describe().timers_ms)}")
        self.core.timers.expire_now(timer, self.now_ms)
        self.give(impl.TimerExpired(timer))

    def answer(self, api: str, error: ErrorCode = ErrorCode.NONE) -> None:
        """The newest open request of this API is answered, and what was heard before is done with."""
        sent = self.take(api)
        self.heard.clear()
        self.give(impl.ResponseReceived(sent.request_id, self.response(sent.request, error)))

    def take(self, api: str) -> SendRequest:
        """The newest open request of this API."""
        for sent in reversed(self.open):
            if api_of(sent.request) == api:
                self.open.remove(sent)
                return sent
        raise self.divergence("what waits for an answer", api, [api_of(sent.request) for sent in self.open])

    # Answers ----------------------------------------------------------------------------------------------------------

    def response(self, request: Request, error: ErrorCode) -> Response:
        """What a broker says to this request."""
        if error in (ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT):
            return NoAnswer(error)
        match request:
            case FetchRequest():
                fetched = FetchedPartition(b"" if error else RECORDS, 9, error)
                return FetchResponse(dict.fromkeys(request.offsets, fetched))
            case ListOffsetsRequest():
                return ListOffsetsResponse(dict.fromkeys(request.timestamps, ListedOffset(LISTED, error)))
            case OffsetFetchRequest() if error in _OF_A_PARTITION:
                return OffsetFetchResponse(dict.fromkeys(request.partitions, FetchedOffset(-1, error=error)))
            case OffsetFetchRequest() if not error:
                return OffsetFetchResponse(dict.fromkeys(request.partitions, FetchedOffset(self.committed)))
            case MetadataRequest():
                leaders = () if error else tuple(PartitionMetadata(p.partition, self.leader) for p in PARTITIONS)
                topics = tuple(TopicMetadata(topic, leaders, error) for topic in request.topics or ())
                return MetadataResponse((Broker(1, "127.0.0.1", 9092), Broker(2, "127.0.0.1", 9093)), topics)
            case _:
                return self.coordinator.answer(request, error, OWNED)

    # What was seen ----------------------------------------------------------------------------------------------------

    def require(self, what: str, expected: object, observed: object) -> None:
        """Divergence: they differ."""
        if expected != observed:
            raise self.divergence(what, expected, observed)

    def divergence(self, what: str, expected: object, observed: object) -> Divergence:
        """A failure, with the whole story."""
        story = "\n  ".join(self.story)
        return Divergence(
            f"{what}\n the specification says: {expected}\n the implementation says: {observed}\nafter\n  {story}"
        )

    def positions(self) -> list[int | None]:
        """Where the partitions that should be owned are to be read next."""
        described = self.core.describe().partitions
        return [described[p].position if p in described else None for p in OWNED]

    def count(self, word: str) -> int:
        """How often this was heard since the last answer."""
        return self.heard.count(word)
