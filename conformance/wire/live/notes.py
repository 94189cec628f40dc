"""What crosses a recording proxy, written down: frames in, entries of the kit's log out.

What the kit has no word for, such as Produce, is only noted. Of the records in Fetch's answers only the offsets are
kept: what they say is somebody's data, and no rule reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from msgspec import structs

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.pairing import Waiting
from groupspec.conformance.wire.log import now_us
from groupspec.impl.core.messages import FetchedPartition, FetchResponse, MetadataResponse, TopicPartition
from groupspec.impl.network.addresses import Address, told_otherwise
from groupspec.impl.network.answers import error_of
from groupspec.impl.network.codec import Answer, decode_request, decode_response, read_header, throttle_time_ms
from groupspec.impl.network.errors import CodecError, MalformedMessage, UnencodableMessage, UnservedRequest
from groupspec.impl.network.records import Gaps, NewRecord, decode_records, encode_records
from groupspec.impl.network.topic_ids import TopicIds
from groupspec.impl.network.versions import API_VERSIONS

NOBODYS: Final = "an answer that nobody waits for"
OFFSET_BYTES: Final = 8
"""With them the first batch's offset begins."""
MOST_OFFSETS: Final = 2**31 - 1
"""The last one's place in its batch is an INT32."""


@dataclass(eq=False)
class Line:
    """One connection of a client, to the broker at this address.

    `asked`: by correlation id, each request that is unanswered, and its API key.
    """

    number: int
    address: Address
    client_id: str = ""
    asked: Waiting[tuple[Entry, int]] = field(default_factory=Waiting)


class Notes:
    """Writes down what crosses the proxies of one tap.

    Args:
        take: Gets every entry.
        unreadable: Is told why what follows cannot be judged.
        proxy: The address of the proxy that stands before this address.
    """

    def __init__(
        self, take: Callable[[Entry], None], unreadable: Callable[[str], None], proxy: Callable[[Address], Address]
    ) -> None:
        self._take = take
        self._unreadable = unreadable
        self._proxy = proxy
        self._nodes: dict[Address, int] = {}
        self._topic_ids = TopicIds()

    def happened(self, line: Line, kind: str, text: str = "") -> None:
        """Something on a connection that is no frame."""
        self._take(self._entry(line, kind, text))

    def request(self, line: Line, frame: bytes) -> None:
        """A request; what cannot be read is for the broker to refuse. Raises MalformedMessage if it has no header."""
        header, api_key = read_header(frame), int.from_bytes(frame[:2], "big", signed=True)
        line.client_id = header.client_id or line.client_id
        entry = self._entry(line, "unread", f"{header.api} v{header.version}")
        entry = replace(entry, version=header.version, correlation_id=header.correlation_id)
        try:
            message = decode_request(frame, self._topic_ids)[1]
            entry = replace(entry, kind="request", text="", api=header.api, message=message)
        except UnservedRequest as problem:
            if header.api in API_VERSIONS and header.api != "ApiVersions":
                self._unreadable(f"the client spoke what the kit does not read: {problem}")
        except MalformedMessage as problem:
            if not isinstance(problem.__cause__, UnencodableMessage):  # else a lookup of no group, and the like
                self.happened(line, "garbage", str(problem))
        line.asked.add(header.correlation_id, (entry, api_key))
        self._take(entry)

    def answer(self, line: Line, frame: bytes) -> bytes:
        """An answer; returns what the client gets, in which each broker has the address of its proxy."""
        asked = line.asked.take(int.from_bytes(frame[:4], "big", signed=True))
        if asked is None:
            self.happened(line, "unread", NOBODYS)
            return frame
        request, api_key = asked
        try:
            told = told_otherwise(api_key, request.version, frame, self._tell)
            answer = self._decoded(request, told) if request.kind == "request" else None
        except CodecError as problem:
            self._unreadable(f"the broker answered what the kit does not read: {problem}")
            return frame
        if answer is not None:
            error = error_of(answer).name
            held_ms = throttle_time_ms(request.api, request.version, frame)
            answered = replace(request, at_us=now_us(), kind="response", message=_kept(answer), error=error)
            self._take(replace(answered, throttle_ms=held_ms))
        return told

    def _decoded(self, request: Entry, frame: bytes) -> Answer:
        _, answer = decode_response(request.api, request.version, frame, self._topic_ids)
        if isinstance(answer, MetadataResponse):
            for topic in answer.topics:
                if any(topic.topic_id):
                    self._topic_ids.learn(topic.topic, UUID(bytes=topic.topic_id))
        return answer

    def _tell(self, node: int, address: Address) -> Address:
        self._nodes[address] = node
        return self._proxy(address)

    def _entry(self, line: Line, kind: str, text: str) -> Entry:
        node = self._nodes.get(line.address, -1)
        return Entry(now_us(), "wire", kind, text, node=node, connection=line.number, client_id=line.client_id)


def _kept(answer: Answer) -> Answer:
    """Without what the records say."""
    if not isinstance(answer, FetchResponse):
        return answer
    kept = {
        where: structs.replace(each, record_bytes=_offsets_of(where, each), aborted_transactions=())
        for where, each in answer.partitions.items()
    }
    return structs.replace(answer, partitions=kept)


def _offsets_of(partition: TopicPartition, told: FetchedPartition) -> bytes:
    """A batch that has the same offsets, and records that say nothing; none where the broker's cannot be read.

    Which offsets have no record is what rules O4 and O5 need of a log that was compacted, or has transactions.
    """
    if len(told.record_bytes) < OFFSET_BYTES:
        return b""
    first = int.from_bytes(told.record_bytes[:OFFSET_BYTES], "big", signed=True)
    read = decode_records(partition, told.record_bytes, first, told.aborted_transactions, check_crcs=False)
    deltas, span = tuple(record.offset - first for record in read.records), read.next_offset - first
    if not 0 < span <= MOST_OFFSETS or any(not 0 <= delta < span for delta in deltas):
        return b""
    return encode_records([NewRecord(None)] * len(deltas), first, gaps=Gaps(deltas, span))
