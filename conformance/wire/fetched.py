"""Which offsets of a log have a record, as answers to Fetch show.

Not all have: a log that was compacted lacks some, and the marks of transactions are no records of the application's. So
who reads a partition goes on behind the last offset of a batch, whatever the batch has, and skips what is not there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from groupspec.conformance.wire.log import Entry
from groupspec.impl.core.messages import FetchRequest, FetchResponse
from groupspec.impl.network.records import decode_records


@dataclass(frozen=True)
class Stretch:
    """What one answer has of a partition: from the offset that was asked for, until where the next Fetch goes on."""

    first: int
    end: int
    offsets: Sequence[int]

    def next_record(self, offset: int) -> int:
        """The first offset from there on that has a record, or the end."""
        place = bisect_left(self.offsets, offset)
        return self.offsets[place] if place < len(self.offsets) else self.end


def stretches(answered: Iterable[tuple[Entry, Entry]]) -> Mapping[str, list[Stretch]]:
    """What Fetches were answered with, by partition; of each the request and the answer."""
    found: dict[str, list[Stretch]] = {}
    for request, answer in answered:
        if not isinstance(request.message, FetchRequest) or not isinstance(answer.message, FetchResponse):
            continue
        for where, told in answer.message.partitions.items():
            first = request.message.offsets.get(where)
            if first is not None and told.record_bytes:
                read = decode_records(where, told.record_bytes, first, told.aborted_transactions, check_crcs=False)
                offsets = [record.offset for record in read.records]
                found.setdefault(str(where), []).append(Stretch(first, read.next_offset, offsets))
    return found


def next_record(known: Sequence[Stretch], offset: int) -> int:
    """The first offset from there on that has a record, as far as answers tell; the offset itself if none does."""
    while True:
        about = [each.next_record(offset) for each in known if each.first <= offset < each.end]
        if not about or (nearest := min(about)) == offset:
            return offset
        offset = nearest
