"""From fetched bytes to the records that poll() returns.

The polling thread decodes, since it has the time: the background thread hands over what came from the wire. A decoded
buffer is kept until its last record is returned; positions move when records are returned (rule O5), and in the same
step as it is checked that they still may be (rules O3, O4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.subscription import Buffered, SubscriptionState


class ConsumerRecord(Protocol):
    """One record, undecoded: keys and values are the bytes that were produced, or None."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The partition's number."""

    @property
    def offset(self) -> int:
        """The place in the partition."""

    @property
    def timestamp_ms(self) -> int:
        """Milliseconds since 1970; -1 where there is none."""

    @property
    def key(self) -> bytes | None:
        """The key."""

    @property
    def value(self) -> bytes | None:
        """The value."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Names and values."""


class RecordDecoder(Protocol):
    """What reads record batches; `groupspec.impl.wiring` has the real one."""

    def decode(self, partition: TopicPartition, data: bytes, from_offset: int) -> Sequence[ConsumerRecord]:
        """The records from this offset on. Raises what says that the bytes are corrupt."""

    def next_offset(self, data: bytes, from_offset: int) -> int:
        """The offset after the last batch: `from_offset` if there is no complete one."""


class Records:
    """What was decoded and not returned yet; the polling thread's own."""

    def __init__(self, subscription: SubscriptionState, decoder: RecordDecoder) -> None:
        self._subscription = subscription
        self._decoder = decoder
        self._buffered: Buffered | None = None
        self._records: Sequence[ConsumerRecord] = ()
        self._returned = 0
        self._position = 0
        self._end = 0

    def take(self, at_most: int) -> list[ConsumerRecord]:
        """Records that are the application's from now on, of several partitions if there are enough.

        Raises what the decoder raises; but never while others have been taken, whose positions have moved (rule O4): then
        the next call raises it.
        """
        taken: list[ConsumerRecord] = []
        while len(taken) < at_most and (buffered := self._subscription.next_buffered()) is not None:
            if buffered is not self._buffered:
                try:
                    self._open(buffered)
                except Exception:
                    if taken:
                        break
                    raise
            taken += self._take_from(buffered, at_most - len(taken))
        return taken

    def _open(self, buffered: Buffered) -> None:
        """Decode; bytes without one whole batch would be fetched again and again, so they are an error."""
        records = self._decoder.decode(buffered.partition, buffered.record_bytes, buffered.offset)
        end = self._decoder.next_offset(buffered.record_bytes, buffered.offset)
        if end == buffered.offset:
            raise KafkaError(
                f"{buffered.partition} at offset {buffered.offset}: the broker sent no complete batch of records; "
                "raise max_partition_fetch_bytes, or seek() past it"
            )
        self._buffered, self._records, self._returned = buffered, records, 0
        self._position, self._end = buffered.offset, end

    def _take_from(self, buffered: Buffered, at_most: int) -> Sequence[ConsumerRecord]:
        """The next of the opened ones; none if they were revoked, or the position was moved, since they arrived."""
        batch = self._records[self._returned : self._returned + at_most]
        exhausted = self._returned + len(batch) == len(self._records)
        end = self._end if exhausted else batch[-1].offset + 1
        if not self._subscription.advance(buffered, self._position, end, exhausted):
            return ()
        self._returned += len(batch)
        self._position = end
        return batch
