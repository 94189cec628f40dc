"""A consumer that reads partitions by hand, and brokers whose logs grow, are cut, and lose their lists of epochs.

The application reacts as its errors say: where it is to choose a position, it does. What it was given is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack, unpack
from typing import Any, Final

from msgspec.structs import replace

from groupspec.impl.core import messages
from groupspec.impl.core.errors import (
    LogTruncationError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RecordDeserializationError,
    UnreadableRecordsError,
)
from groupspec.impl.core.events import Assign, CompleteFuture, Error, Fetch, InputEvent, Output, ResponseReceived, Start
from groupspec.impl.core.messages import EpochEnd, ErrorCode, FetchedPartition, Request, Response, TopicPartition
from groupspec.impl.core.tests.scene import TOPIC, Scene, partitions
from groupspec.impl.records import ConsumerRecord, Decoded, Records
from groupspec.impl.scripted import api_of

ALL: Final = partitions(0, 1)
CORRUPT, UNDECIPHERABLE = 3, 5
"""At these offsets a batch was written badly, and a value that can't be deserialised: both are left out."""

OF_THE_WHOLE: Final = ("UNSUPPORTED_VERSION", "UNKNOWN_SERVER_ERROR")
UNASKED: Final = "UNASKED"
"""No error, but an answer about partitions that nobody asked for."""


class Log:
    """One partition: the leader epoch of each record, and of the leader."""

    def __init__(self) -> None:
        self.records = [0] * 6
        self.epoch = 0
        self.leader = 1
        self.forgotten = 0  # of the epochs below this one the leader knows nothing

    def elect(self, lost: int, forgets: bool) -> None:
        """A leader that lacks the last records, and maybe its list of epochs."""
        del self.records[max(0, len(self.records) - lost) :]
        self.epoch += 1
        self.leader = 1
        self.forgotten = self.epoch if forgets else self.forgotten

    def wrong(self, believed: int) -> ErrorCode:
        """What is answered to who believes in this leader epoch; -1: in none."""
        if believed in (-1, self.epoch):
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if believed < self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    def end_of(self, epoch: int, believed: int) -> EpochEnd:
        """Kafka's LeaderEpochFileCache.endOffsetFor."""
        if (error := self.wrong(believed)) or epoch < self.forgotten or epoch > self.epoch:
            return EpochEnd(-1, -1, error)
        end = sum(1 for known in self.records if known <= epoch)
        return EpochEnd(max((known for known in self.records if known <= epoch), default=epoch), end)

    def fetched(self, offset: int, believed: int) -> FetchedPartition:
        """A batch of one epoch."""
        if not self.wrong(believed) and offset > len(self.records):
            return FetchedPartition(b"", -1, ErrorCode.OFFSET_OUT_OF_RANGE)
        if (error := self.wrong(believed)) or offset == len(self.records):
            return FetchedPartition(b"", len(self.records), error)
        epoch = self.records[offset]
        end = offset
        while end < len(self.records) and self.records[end] == epoch and end != CORRUPT:
            end += 1
        return FetchedPartition(pack(">qqq", offset, max(end, offset + 1), epoch), len(self.records))


class BatchDecoder:
    """Reads three numbers, unless the batch is the corrupt one. `meanwhile`: what happens while it does."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    def decode(
        self, partition: TopicPartition, data: bytes, from_offset: int, aborted: Sequence[tuple[int, int]] = ()
    ) -> Decoded:
        """See RecordDecoder."""
        self._meanwhile()
        first, end, epoch = unpack(">qqq", data)
        if first == CORRUPT:
            return Decoded([], first, UnreadableRecordsError(partition, first, first + 1, "its checksum is wrong"))
        records = [
            ConsumerRecord(partition.topic, partition.partition, offset, -1, None, b"%d" % offset, leader_epoch=epoch)
            for offset in range(max(first, from_offset), end)
        ]
        return Decoded(records, end, leader_epoch=epoch)


def about_all(request: Request) -> Request:
    """The same request, of every partition."""
    match request:
        case messages.FetchRequest(offsets=offsets):
            return replace(request, offsets={**dict.fromkeys(ALL, 0), **offsets})
        case messages.ListOffsetsRequest(timestamps=timestamps):
            return replace(request, timestamps={**dict.fromkeys(ALL, -2), **timestamps})
        case _:
            return request


def deserialize(value: bytes) -> int:
    """The number that was written."""
    if int(value) == UNDECIPHERABLE:
        raise ValueError("this one is no number")
    return int(value)


class Reader(Scene):
    """The application and the brokers.

    Attributes:
        logs: What the partitions have.
        read: Of each partition, offset -> the leader epoch of the record that was returned last for it.
        since: From where on each has to be read, as the application has chosen.
        seeks_while_decoding: What is done, once, between the look at a batch and the return of its records.
        futures: How many calls were made; `ended`: which of them have an outcome.
    """

    def __init__(self, **config: Any) -> None:
        super().__init__({TOPIC: len(ALL)}, **config)
        self.positions = self.subscription.positions
        self.records = Records(self.positions, BatchDecoder(self._meanwhile), None, deserialize)
        self.seeks_while_decoding: list[tuple[TopicPartition, int]] = []
        self.logs = {partition: Log() for partition in ALL}
        self.read: dict[TopicPartition, dict[int, int]] = {partition: {} for partition in ALL}
        self.since = dict.fromkeys(ALL, 0)
        self.futures = 0
        self.ended: list[int] = []
        self.do(Start())
        self.do(Assign(ALL))

    def reactions(self, output: Output) -> list[InputEvent]:
        """Nothing is answered at once."""
        return []

    def heard(self, output: Output) -> None:
        """Keep outcomes, and do what an error asks for."""
        super().heard(output)
        if isinstance(output, CompleteFuture):
            self.ended.append(output.future_id)
        elif isinstance(output, Error):
            self._choose(output.error)

    def next_future(self) -> int:
        """The number of a call."""
        self.futures += 1
        return self.futures

    # The application -------------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Read on there; with its epoch it may turn out that the log ends before it."""
        self.since[partition] = offset
        self.positions.seek(partition, offset, leader_epoch)

    def begin_anew(self, *chosen: TopicPartition) -> None:
        """Read from the first record on."""
        self.since |= dict.fromkeys(chosen, 0)
        self.positions.seek_by_time(chosen, -2)

    def _meanwhile(self) -> None:
        while self.seeks_while_decoding:
            self.seek(*self.seeks_while_decoding.pop())

    def _choose(self, error: Exception) -> None:
        if isinstance(error, LogTruncationError):
            for partition, place in error.divergent_offsets.items():
                if place is None:
                    self.begin_anew(partition)
                else:
                    self.positions.seek(partition, place.offset, place.leader_epoch)
        elif isinstance(error, OffsetOutOfRangeError | NoOffsetForPartitionError):
            self.begin_anew(*(partition for partition in ALL if str(partition) in str(error)))

    def take(self) -> None:
        """poll(): what comes is in order, and of what is not paused."""
        self.poll()
        self.do(Fetch())
        before = {partition: self.positions.position(partition) for partition in ALL}
        try:
            records = self.records.take(4)
        except UnreadableRecordsError as problem:
            self.seek(problem.partition, problem.next_offset)
            return
        except RecordDeserializationError as problem:
            self.seek(problem.partition, problem.offset + 1)
            return
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            assert partition not in self.positions.paused(), f"{partition} is paused (rule O5)"
            assert record.offset == before[partition], f"{partition}: {record.offset} instead of {before[partition]}"
            before[partition] = record.offset + 1
            self.read[partition][record.offset] = record.leader_epoch

    # The brokers -----------------------------------------------------------------------------------------------------

    def answer_one(self, api: str, error: str, is_behind: bool = False) -> None:
        """The newest request of this API is answered; `is_behind`: by a broker that knows an earlier leader."""
        if (sent := self.newest(api)) is not None:
            self.unanswered.remove(sent)
            request, name = (about_all(sent.request), "NONE") if error == UNASKED else (sent.request, error)
            code = ErrorCode(int(name)) if name.isdigit() else ErrorCode[name]
            self.do(ResponseReceived(sent.request_id, self._response(request, code, is_behind)))

    def _response(self, request: Request, error: ErrorCode, is_behind: bool) -> Response:
        if error.name in OF_THE_WHOLE and isinstance(request, messages.FetchRequest):
            return messages.FetchResponse({}, error)
        if error.name in OF_THE_WHOLE and isinstance(request, messages.OffsetForLeaderEpochRequest):
            return messages.OffsetForLeaderEpochResponse({}, error)
        if error.name in OF_THE_WHOLE and isinstance(request, messages.MetadataRequest):
            return messages.MetadataResponse((), (), error=error)
        if error:
            return self.coordinator.answer(request, error)
        match request:
            case messages.MetadataRequest():
                leaders = (
                    messages.PartitionMetadata(p.partition, log.leader, leader_epoch=max(0, log.epoch - is_behind))
                    for p, log in self.logs.items()
                )
                return messages.MetadataResponse((), (messages.TopicMetadata(TOPIC, tuple(leaders)),))
            case messages.FetchRequest(offsets=offsets, leader_epochs=epochs):
                fetched = {p: self.logs[p].fetched(at, epochs.get(p, -1)) for p, at in offsets.items()}
                return messages.FetchResponse(fetched)
            case messages.ListOffsetsRequest(timestamps=timestamps):
                ends = {p: {-2: 0, -1: len(self.logs[p].records)}.get(at, -1) for p, at in timestamps.items()}
                return messages.ListOffsetsResponse(
                    {p: messages.ListedOffset(end, leader_epoch=self.logs[p].epoch) for p, end in ends.items()}
                )
            case messages.OffsetForLeaderEpochRequest(epochs=epochs, leader_epochs=believed):
                found = {p: self.logs[p].end_of(epoch, believed.get(p, -1)) for p, epoch in epochs.items()}
                return messages.OffsetForLeaderEpochResponse(found)
            case _:
                return self.coordinator.answer(request)

    def settle(self) -> None:
        """Nothing goes wrong any more: read to the end."""
        self.positions.resume(ALL)
        for log in self.logs.values():
            log.leader = 1
        for _ in range(30):
            self.go_on()

    def go_on(self) -> None:
        """What waits is answered, and the application polls."""
        for sent in list(self.unanswered):
            self.answer_one(api_of(sent.request), "NONE")
        self.take()
        self.pass_ms(500)
