"""What is noted while a world runs, as events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from math import inf
from typing import Any, Final

from msgspec import structs

from groupspec.conformance.history.event import Event, Kind, json_value
from groupspec.impl.core.config import Config
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import FetchResponse, TopicPartition
from groupspec.impl.network.records import Gaps, NewRecord, encode_records
from groupspec.impl.records import RecordDecoder
from groupspec.impl.trace import TraceEvent


class Notes:
    """The events of one run.

    Args:
        now_us: Its clock, read without a yield point.
        decoder: Reads the world's records, which are no batches of Kafka's.
        looks: Called before each event: whether something is to be noted that nobody says.
        until_us: Nothing is noted after that time.
    """

    def __init__(
        self,
        now_us: Callable[[], int],
        decoder: RecordDecoder,
        looks: Callable[[], None] = lambda: None,
        until_us: float = inf,
    ) -> None:
        self.events: list[Event] = []
        self._now_us, self._decoder, self._looks, self._until_us = now_us, decoder, looks, until_us
        self._answers: dict[tuple[str, int], object] = {}  # as their brokers wrote them

    def add(self, kind: Kind, member: str = "", **said: Any) -> None:
        """It happens now."""
        self._looks()
        if not self._is_over():
            self.events.append(Event(self._now_us(), kind, member, **said))

    def _is_over(self) -> bool:
        return self._now_us() > self._until_us

    def request(self, member: str, sent: SendRequest, **said: Any) -> None:
        """A request leaves its member."""
        said |= {"to": str(sent.node), "value": sent.timeout_ms}
        self.add("request", member, number=sent.request_id, message=sent.request, **said)

    def answered(self, member: str, number: int, response: object, **said: Any) -> None:
        """Its broker has written the answer."""
        if self._is_over():
            return
        self._answers[member, number] = response
        self.add("answered", member, number=number, message=self._with_batches(response), **said)

    def reached(self, kind: Kind, member: str, received: ResponseReceived, **said: Any) -> None:
        """The answer has reached the member's process, or is taken: with its content only if that is another one."""
        if self._is_over():
            return
        if received.response != self._answers.get((member, received.request_id)):
            said["message"] = self._with_batches(received.response)
        self.add(kind, member, number=received.request_id, throttle_ms=received.throttle_time_ms, **said)

    def _with_batches(self, response: object) -> object:
        """With records as Kafka has them, that say nothing."""
        if not isinstance(response, FetchResponse):
            return response
        parts = {
            where: structs.replace(each, record_bytes=b"".join(batches(self._decoder, where, each.record_bytes)))
            for where, each in response.partitions.items()
        }
        return structs.replace(response, partitions=parts)

    def told(self, member: str, event: TraceEvent, **said: Any) -> None:
        """A core has told something."""
        if self._is_over():
            return
        value = {name: json_value(one) for name, nothing in _SAID.items() if (one := getattr(event, name)) != nothing}
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


def batches(decoder: RecordDecoder, partition: TopicPartition, data: bytes) -> Iterator[bytes]:
    """Batches that have a record, which says nothing, at the same offsets as these; one for each leader's."""
    read = decoder.decode(partition, data, 0) if data else None
    if read is None:
        return
    of_leaders = [(epoch, list(records)) for epoch, records in groupby(read.records, lambda one: one.leader_epoch)]
    ends = [*(records[0].offset for _, records in of_leaders[1:]), read.next_offset]
    for (epoch, records), end in zip(of_leaders, ends, strict=False):
        first = records[0].offset
        gaps = Gaps(tuple(one.offset - first for one in records), max(end, records[-1].offset + 1) - first)
        empty = [NewRecord(None, timestamp_ms=max(0, one.timestamp_ms)) for one in records]
        yield encode_records(empty, first, epoch, gaps)
    if not of_leaders and read.next_offset > 0:
        yield encode_records([], read.next_offset - 1, read.leader_epoch, Gaps((), 1))


def settings_of(config: Config) -> dict[str, Any]:
    """A member's settings, by Kafka's names."""
    return {name: json_value(value) for name, value in asdict(config).items()}


_SAID: Final = {
    name: getattr(TraceEvent("", "", 0, 0, ""), name) for name in ("generation", "member_id", "partitions", "detail")
}
"""What an event may say, with the values that say nothing."""
