"""From fetched bytes to the records that poll() returns.

The polling thread decodes, since it has the time: the background thread hands over what came from the wire. A decoded
buffer is kept until its last record is returned; positions move when records are returned (rule O5), and in the same
step as it is checked that they still may be (rules O3, O4).

A batch that can't be read stops its partition, and no other one: what stands before it is returned first, then poll()
raises what is wrong with it, each time until the application has moved the position past it (as Java's CompletedFetch).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.subscription import Buffered, SubscriptionState


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """One record, undecoded: keys, values and header values are the bytes that were produced, or None.

    `timestamp_ms` counts from 1970; it is -1 where there is none.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Decoded:
    """What stands in some bytes: records, the offset after the last batch, and why that batch is the last one.

    `next_offset` is the offset asked for if there is no complete batch. `problem`: the batch there can't be read.
    """

    records: Sequence[ConsumerRecord]
    next_offset: int
    problem: KafkaError | None = None


class RecordDecoder(Protocol):
    """What reads record batches; `groupspec.impl.wiring` has the real one."""

    def decode(self, partition: TopicPartition, data: bytes, from_offset: int) -> Decoded:
        """The records from this offset on. Raises nothing because of the bytes."""


class _Opened:
    """A decoded buffer, and how much of it has been returned."""

    def __init__(self, buffered: Buffered, decoder: RecordDecoder) -> None:
        decoded = decoder.decode(buffered.partition, buffered.record_bytes, buffered.offset)
        self.buffered = buffered
        self.position = buffered.offset
        self.problem = decoded.problem
        if decoded.next_offset == buffered.offset and decoded.problem is None:
            self.problem = KafkaError(
                f"{buffered.partition} at offset {buffered.offset}: the broker sent no complete batch of records; "
                "raise max_partition_fetch_bytes, or seek() past it"
            )
        self._records = decoded.records
        self._end = decoded.next_offset
        self._returned = 0

    def has_more(self) -> bool:
        """Whether anything stands before the end, or before the problem."""
        return self.position < self._end

    def next(self, at_most: int) -> tuple[Sequence[ConsumerRecord], int, bool]:
        """The next records, the position behind them, and whether they are the last."""
        batch = self._records[self._returned : self._returned + at_most]
        last = self._returned + len(batch) == len(self._records)
        return batch, self._end if last else batch[-1].offset + 1, last

    def returned(self, records: Sequence[ConsumerRecord], position: int) -> None:
        """These are the application's now."""
        self._returned += len(records)
        self.position = position


class Records:
    """What was decoded and not returned yet; the polling thread's own."""

    def __init__(self, subscription: SubscriptionState, decoder: RecordDecoder) -> None:
        self._subscription = subscription
        self._decoder = decoder
        self._opened: dict[TopicPartition, _Opened] = {}

    def take(self, at_most: int) -> list[ConsumerRecord]:
        """Records that are the application's from now on, of several partitions if there are enough.

        Raises what is wrong with a batch; but never while others have been taken, whose positions have moved (rule O4):
        then the next call raises it.
        """
        taken: list[ConsumerRecord] = []
        while len(taken) < at_most and (buffered := self._subscription.next_buffered()) is not None:
            opened = self._open(buffered)
            if opened.problem is not None and not opened.has_more():
                if taken:
                    break
                self._subscription.stop_at(buffered)
                raise opened.problem.with_traceback(None)  # the same one as the last time, without its way
            taken += self._take_from(opened, at_most - len(taken))
        return taken

    def _open(self, buffered: Buffered) -> _Opened:
        opened = self._opened.get(buffered.partition)
        if opened is None or opened.buffered is not buffered:
            self._opened = {tp: o for tp, o in self._opened.items() if self._subscription.is_buffered(o.buffered)}
            opened = self._opened[buffered.partition] = _Opened(buffered, self._decoder)
        return opened

    def _take_from(self, opened: _Opened, at_most: int) -> Sequence[ConsumerRecord]:
        """The next of the opened ones; none if they were revoked, or the position was moved, since they arrived."""
        records, end, last = opened.next(at_most)
        exhausted = last and opened.problem is None
        if not self._subscription.advance(opened.buffered, opened.position, end, exhausted):
            return ()
        opened.returned(records, end)
        return records
