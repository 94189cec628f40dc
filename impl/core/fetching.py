"""Fetching: record batches from the leaders of the partitions, handed over to the polling thread undecoded.

A Fetch event is a demand: it stands until records have been handed over, and nothing is left to fetch that is known to
have some. A partition is fetched only with a valid position, not paused, with nothing of it buffered and no fetch of it
under way (rule O5), and if its leader's log is the one that was read (`validation`); one fetch at a time goes to each
leader. What comes back for an earlier assignment or position is dropped (rule O3).

While records of one partition wait to be returned, the others of its leader are fetched if one of them is known to have
more: so the next records come while the application works on these (as Java's AbstractFetch.prepareFetchRequests). If
none is, their fetch would wait for fetch.max.wait.ms, and the one that is used up meanwhile with it; so that leader is
left alone, and the next fetch has all its partitions.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import KafkaError, OffsetOutOfRangeError, error_for
from groupspec.impl.core.messages import ErrorCode, FetchRequest, FetchResponse, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.partition_state import Buffered, Position
from groupspec.impl.core.rebalance import Rebalance
from groupspec.impl.core.requests import Requests, Sent
from groupspec.impl.core.validation import Validation

Partitions = tuple[TopicPartition, ...]


class _Asked(Struct, frozen=True):
    leader: int
    positions: dict[TopicPartition, Position]


class Fetching:
    """The demand for records, and the fetches that serve it."""

    def __init__(
        self,
        context: Context,
        requests: Requests,
        metadata: Metadata,
        offsets: Offsets,
        validation: Validation,
        membership: Rebalance,
    ) -> None:
        self._context = context
        self._positions = context.positions
        self._requests = requests
        self._metadata = metadata
        self._offsets = offsets
        self._validation = validation
        self._membership = membership
        self._demand = False
        self._under_way: dict[int, _Asked] = {}  # by request id

    def demand(self) -> None:
        """The application wants records."""
        self._demand = True

    def progress(self) -> None:
        """Send what serves the demand."""
        if not self._demand or self._membership.leaving or self._context.timers.is_armed("fetch_backoff"):
            return
        if not (fetchable := self._positions.fetchable()):
            return
        metadata = self._metadata
        busy = {asked.leader for asked in self._under_way.values()}
        by_leader: dict[int, dict[TopicPartition, Position]] = {}
        for partition, position in fetchable.items():
            leader = metadata.leader(partition)
            if leader is not None and leader not in busy:
                by_leader.setdefault(leader, {})[partition] = position
        if not by_leader:
            return
        waiting = {metadata.leader(partition) for partition in self._positions.returnable()}
        for leader, wanted in by_leader.items():
            right = self._validation.right(leader, wanted)
            if right and (leader not in waiting or self._have_more(right)):
                self._send(leader, right)

    def _have_more(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether one of them is known not to be at its end."""
        lags = self._positions.lags()
        return any(lags.get(partition) for partition in partitions)

    def _send(self, leader: int, wanted: dict[TopicPartition, Position]) -> None:
        config = self._context.config
        leaders = {partition: self._metadata.leader_and_epoch(partition) for partition in wanted}
        wanted = self._positions.begin_fetch(wanted, leaders)
        if not wanted:  # the application has just set other positions: its next demand is for those
            return
        sent = self._requests.send(
            FetchRequest(
                {partition: position.offset for partition, position in wanted.items()},
                config.fetch_max_wait_ms,
                config.fetch_min_bytes,
                config.fetch_max_bytes,
                config.max_partition_fetch_bytes,
                config.read_committed,
                self._metadata.leader_epochs(wanted),
                self._metadata.topic_ids(wanted),
            ),
            leader,
            config.request_timeout_ms,
        )
        self._under_way[sent.request_id] = _Asked(leader, wanted)

    # Answers, a group of partitions with the same error at a time -----------------------------------------------------

    def received(self, sent: Sent, response: FetchResponse, partitions: Partitions) -> None:
        """Records, or none yet. What is known to have more, and was not asked, is asked without another demand."""
        buffered = False
        for partition, (epoch, offset, *_) in self._asked(sent, partitions).items():
            fetched = response.partitions[partition]
            held_back = self._context.config.read_committed and fetched.last_stable_offset >= 0
            end = fetched.last_stable_offset if held_back else fetched.high_watermark
            self._positions.fetch_answered(partition, epoch, end, fetched.high_watermark)
            if not fetched.record_bytes:
                continue
            records = Buffered(
                partition,
                epoch,
                offset,
                fetched.record_bytes,
                fetched.high_watermark,
                fetched.aborted_transactions,
            )
            buffered = self._positions.buffer(records) or buffered
        if buffered:
            self._demand = self._have_more(self._positions.fetchable())

    def out_of_range(self, sent: Sent, partitions: Partitions) -> None:
        """These positions do not exist (any more): the reset policy applies, or the application gets an error."""
        for partition, (epoch, offset, *_) in self._asked(sent, partitions).items():
            if self._context.config.auto_offset_reset != "none":
                new_epoch = self._positions.drop_position(partition, epoch, offset)
                if new_epoch is not None:
                    self._offsets.reset(partition, new_epoch)
            elif self._positions.is_current(partition, epoch):
                self._refuse(
                    OffsetOutOfRangeError(
                        f"{partition} has no offset {offset}, and auto_offset_reset is 'none': seek() to one "
                        "from beginning_offsets() to end_offsets()"
                    )
                )

    def leader_moved(self) -> None:
        """Not this node, or not now, no answer at all, or another topic of the name: look topic and leader up again."""
        self._metadata.refresh()
        self._back_off()

    def failed(self, code: ErrorCode, partitions: Partitions) -> None:
        """The broker does not know why, or this client not what it says: again after the backoff."""
        text = f"{_fetch_of(partitions)} failed ({code.name}); asking again"
        self._context.journal.seldom(__name__, text, self._context.now_ms)
        self._back_off()

    def refused(self, code: ErrorCode, partitions: Partitions) -> None:
        """The application gets an error; its next demand tries again."""
        self._refuse(error_for(code, f"{_fetch_of(partitions)} refused"))

    def _refuse(self, error: KafkaError) -> None:
        self._context.report(error)
        self._demand = False
        self._back_off()

    def ended(self, sent: Sent) -> None:
        """All of this fetch has been dealt with, also partitions that the answer left out."""
        asked = self._under_way.pop(sent.request_id, None)
        if asked is not None:
            for partition, position in asked.positions.items():
                self._positions.fetch_ended(partition, position.epoch)

    def stop(self) -> None:
        """The end."""
        self._demand = False
        self._context.timers.disarm("fetch_backoff")

    def _asked(self, sent: Sent, partitions: Partitions) -> dict[TopicPartition, Position]:
        """Those of these partitions that were asked for, and from where."""
        asked = self._under_way[sent.request_id].positions
        return {partition: asked[partition] for partition in partitions if partition in asked}

    def _back_off(self) -> None:
        self._context.arm("fetch_backoff", self._context.config.retry_backoff_ms)


def _fetch_of(partitions: Partitions) -> str:
    """None are named where the request failed as a whole."""
    return f"Fetch of {', '.join(map(str, partitions)) or 'all partitions of one leader'}"
