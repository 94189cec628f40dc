"""What Fetches ask for, and which offsets of a log have a record, as their answers show.

Not all offsets have one: a log that was compacted lacks some, and the marks of transactions are no records of the
application's. So who reads a partition goes on behind the last offset of a batch, whatever the batch has, and skips
what is not there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from groupspec.conformance.history.entry import Entry
from groupspec.impl.core.messages import FetchRequest, FetchResponse, TopicPartition
from groupspec.impl.network.records import decode_records


class Fetched:
    """What all answers together have of one partition.

    Args:
        answers: Of each the offset that was asked for, where the next Fetch goes on, and the offsets of its records.
    """

    def __init__(self, answers: Iterable[tuple[int, int, Iterable[int]]]) -> None:
        self._firsts: list[int] = []  # of the stretches that answers cover without a break
        self._ends: list[int] = []
        found: set[int] = set()
        for first, end, offsets in sorted(answers, key=lambda each: each[:2]):
            found.update(offsets)
            if self._ends and first <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._firsts.append(first)
                self._ends.append(end)
        self._offsets = sorted(found)

    def next_record(self, offset: int) -> int:
        """The first offset from there on that has a record, as far as answers tell; the offset itself if none does."""
        stretch = bisect_right(self._firsts, offset) - 1
        if stretch < 0 or offset >= self._ends[stretch]:
            return offset
        place = bisect_left(self._offsets, offset)
        return min([*self._offsets[place : place + 1], self._ends[stretch]])


NOTHING = Fetched(())


def asked_for(exchanges: Iterable[tuple[Entry, Entry | None]]) -> Iterator[Mapping[TopicPartition, int]]:
    """Of each Fetch the offsets that it asks for; its request, and its answer if one came.

    In a fetch session (KIP-227) a request names only what has changed, and the broker goes on as it was told last
    (FetchSession.CachedPartition.maybeUpdateRequestParams): what an answer brings besides was asked for at the offset
    that was last named on that connection.
    """
    last: dict[tuple[int, int], dict[TopicPartition, int]] = {}
    for request, answer in exchanges:
        assert isinstance(request.message, FetchRequest)
        known = last.setdefault((request.node, request.connection), {})
        brought = answer.message.partitions if answer is not None and isinstance(answer.message, FetchResponse) else {}
        again = {where: known[where] for where in brought if where in known}
        yield {**again, **request.message.offsets}
        known |= request.message.offsets


def fetched(fetches: Iterable[tuple[Mapping[TopicPartition, int], FetchResponse]]) -> Mapping[str, Fetched]:
    """What Fetches were answered with, by partition; of each the offsets that it asked for, and the answer."""
    found: dict[str, list[tuple[int, int, list[int]]]] = {}
    for asked, answer in fetches:
        for where, told in answer.partitions.items():
            first = asked.get(where)
            if first is not None and told.record_bytes:
                read = decode_records(where, told.record_bytes, first, told.aborted_transactions, check_crcs=False)
                offsets = [record.offset for record in read.records]
                found.setdefault(str(where), []).append((first, read.next_offset, offsets))
    return {partition: Fetched(answers) for partition, answers in found.items()}
