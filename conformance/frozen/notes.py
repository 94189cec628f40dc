"""What is noted while a world runs: from outside, by a `Seam`, so that no world need know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from groupspec.conformance.history.event import Event, Kind, json_value, message
from groupspec.conformance.mutation.mutant import Seam
from groupspec.impl.choice_calls import ChoiceCalls
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.config import Config
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.partition_calls import PartitionCalls
from groupspec.impl.trace import TraceEvent

API: Final = (
    *(ChoiceCalls.subscribe, ChoiceCalls.assign, ChoiceCalls.unsubscribe, ChoiceCalls.subscription),
    *(ChoiceCalls.assignment, Consumer.poll, Consumer.wakeup, Consumer.commit, Consumer.commit_async),
    *(Consumer.committed, Consumer.group_metadata, Consumer.enforce_rebalance, Consumer.close),
    *(PartitionCalls.position, PartitionCalls.seek, PartitionCalls.seek_to_beginning, PartitionCalls.seek_to_end),
    *(PartitionCalls.pause, PartitionCalls.resume, PartitionCalls.paused, PartitionCalls.highwater),
    *(PartitionCalls.current_lag, PartitionCalls.beginning_offsets, PartitionCalls.end_offsets),
    *(PartitionCalls.offsets_for_times, PartitionCalls.partitions_for_topic, PartitionCalls.topics),
)
"""The calls of a consumer that an application makes, and what it is told by them."""


class Notes:
    """The events of one run. `now_us`: its clock, read without a yield point."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self.events: list[Event] = []
        self._now_us = now_us
        self._told: dict[tuple[str, int], dict[str, Any] | None] = {}  # the answer as its broker wrote it

    def add(self, kind: Kind, member: str = "", **said: Any) -> None:
        """It happens now."""
        self.events.append(Event(self._now_us(), kind, member, **said))

    def request(self, member: str, sent: SendRequest, **said: Any) -> None:
        """A request leaves its member."""
        said |= {"to": str(sent.node), "value": sent.timeout_ms}
        self.add("request", member, number=sent.request_id, message=message(sent.request), **said)

    def answered(self, member: str, number: int, response: object, **said: Any) -> None:
        """Its broker has written the answer."""
        told = self._told[member, number] = message(response)
        self.add("answered", member, number=number, message=told, **said)

    def reached(self, kind: Kind, member: str, received: ResponseReceived, **said: Any) -> None:
        """The answer has reached the member's process, or is taken: with its content only if that is another one."""
        told = message(received.response)
        said["message"] = None if told == self._told.get((member, received.request_id)) else told
        self.add(kind, member, number=received.request_id, throttle_ms=received.throttle_time_ms, **said)

    def told(self, member: str, event: TraceEvent, **said: Any) -> None:
        """A core has told something."""
        value = {
            name: json_value(getattr(event, name))
            for name in ("generation", "member_id", "partitions", "detail")
            if getattr(event, name) != getattr(NOTHING, name)
        }
        error, throttle_ms = event.error or "", event.throttle_time_ms
        self.add("told", member, name=event.event, error=error, throttle_ms=throttle_ms, value=value or None, **said)

    @contextmanager
    def call(self, member: str, name: str, arguments: Sequence[object] = (), **said: Any) -> Iterator[list[object]]:
        """A call of the application's; what it returns is to be put into the list."""
        self.add("called", member, name=name, value=json_value(arguments) or None, **said)
        result: list[object] = []
        try:
            yield result
        except Exception as error:
            self.add("raised", member, name=name, error=type(error).__name__, text=str(error), **said)
            raise
        self.add("returned", member, name=name, value=json_value(result[0]) if result else None, **said)


def settings_of(config: Config) -> dict[str, Any]:
    """A member's settings, by Kafka's names."""
    return {name: json_value(value) for name, value in asdict(config).items()}


NOTHING: Final = TraceEvent("", "", 0, 0, "")


def note_calls(seam: Seam, notes: Notes, whose: Callable[[Consumer], tuple[str, str]]) -> None:
    """Note every call of every consumer. `whose`: the member, and the thread that makes the call."""

    def noted(original: Callable[..., object], self: Consumer, *arguments: object, **named: object) -> object:
        member, thread = whose(self)
        given = [*arguments, *([named] if named else [])]
        with notes.call(member, original.__name__, given, thread=thread) as result:
            result.append(original(self, *arguments, **named))
        return result[0]

    for each in API:
        seam.replace(each, noted)
