"""Whether the log that a leader has is the one that was read: positions are compared with it before it is fetched from.

A new leader may lack what the one before it had, if it was not in sync (unclean.leader.election.enable), or was set up
anew. What stands at those offsets meanwhile is something else. So a position has the leader epoch of the record before
it; and before the first fetch from a leader, and the first one of a committed position, that leader is asked where its
log of that epoch ends (KIP-320; as Java's SubscriptionState.maybeCompleteValidation). Before the position: the log was
truncated. Reading goes on where the two logs part, or where the reset policy says if nobody knows; without a policy
the application gets a LogTruncationError, and has to choose.

A position whose epoch is not known, or a leader that has none, is not compared; nor by a broker before Kafka 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import LogTruncationError, error_for
from groupspec.impl.core.messages import (
    EpochEnd,
    ErrorCode,
    OffsetAndMetadata,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    Response,
    TopicPartition,
)
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.partition_state import LeaderAndEpoch, Position
from groupspec.impl.core.requests import Requests, Sent

Partitions = tuple[TopicPartition, ...]


class Validation:
    """Which positions are being compared."""

    def __init__(self, context: Context, requests: Requests, metadata: Metadata, offsets: Offsets) -> None:
        self._context = context
        self._positions = context.positions
        self._requests = requests
        self._metadata = metadata
        self._offsets = offsets
        self._under_way: dict[int, dict[TopicPartition, Position]] = {}  # by request id
        self._refused = False  # until the application asks for records again

    def demanded(self) -> None:
        """The application wants records: if it was told that it can't have some, it is told again."""
        self._refused = False

    def right(self, leader: int, wanted: Mapping[TopicPartition, Position]) -> dict[TopicPartition, Position]:
        """Those of these positions that this leader may be asked for, as far as is known; it is asked about others."""
        unsure = {partition: position for partition, position in wanted.items() if self._is_unsure(partition, position)}
        if not unsure:
            return dict(wanted)
        self._compare(leader, unsure)
        return {partition: position for partition, position in wanted.items() if partition not in unsure}

    def _is_unsure(self, partition: TopicPartition, position: Position) -> bool:
        if position.leader_epoch < 0:
            return False
        present = self._metadata.leader_and_epoch(partition)
        return present.epoch >= 0 and position.read_from != present

    def _compare(self, leader: int, unsure: Mapping[TopicPartition, Position]) -> None:
        asked = {partition: known for each in self._under_way.values() for partition, known in each.items()}
        news = {partition: position for partition, position in unsure.items() if asked.get(partition) != position}
        if not news or self._refused:
            return
        sent = self._requests.send(
            OffsetForLeaderEpochRequest(
                {partition: position.leader_epoch for partition, position in news.items()},
                {partition: self._metadata.leader_epoch(partition) for partition in news},
            ),
            leader,
            self._context.config.request_timeout_ms,
        )
        self._under_way[sent.request_id] = news

    # Answers ---------------------------------------------------------------------------------------------------------

    def answered(self, sent: Sent, response: OffsetForLeaderEpochResponse, partitions: Partitions) -> None:
        """Where the epochs end: behind the positions, or else the log was truncated."""
        truncated: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for partition, position in self._asked(sent, partitions).items():
            end = response.ends[partition]
            is_known = end.end_offset >= 0 and end.leader_epoch >= 0
            if is_known and end.end_offset >= position.offset:
                self._positions.position_is_right(partition, position, self._leader(sent, partition))
            elif self._context.config.auto_offset_reset == "none":
                if self._positions.is_current(partition, position.epoch):
                    truncated[partition] = OffsetAndMetadata(end.end_offset, "", end.leader_epoch) if is_known else None
            else:
                self._go_back(sent, partition, position, end if is_known else None)
        if truncated:
            self._refused = True
            self._context.report(LogTruncationError(truncated))

    def _go_back(self, sent: Sent, partition: TopicPartition, position: Position, end: EpochEnd | None) -> None:
        text = f"The log of {partition} was truncated: it has not the records before {position.offset} that were read"
        if end is not None:
            at = Position(position.epoch, end.end_offset, end.leader_epoch, self._leader(sent, partition))
            if self._positions.truncate(partition, position, at):
                self._log(f"{text}; going on at {end.end_offset}, where the logs part")
            return
        epoch = self._positions.drop_position(partition, position.epoch, position.offset)
        if epoch is not None:
            self._offsets.reset(partition, epoch)
            self._log(f"{text}; going on where auto_offset_reset says")

    def _log(self, text: str) -> None:
        self._context.journal.seldom(__name__, text, self._context.now_ms)

    def unsupported(self, sent: Sent, partitions: Partitions) -> None:
        """A broker before Kafka 2.3 has no answer for consumers: the positions are taken to be right."""
        for partition, position in self._asked(sent, partitions or self._all(sent)).items():
            self._positions.position_is_right(partition, position, self._leader(sent, partition))

    def leader_moved(self) -> None:
        """Not this node, or not now, or another epoch: look the leader up again, and ask it."""
        self._metadata.refresh()
        self._context.arm("fetch_backoff", self._context.config.retry_backoff_ms)

    def refused(self, sent: Sent, code: ErrorCode, partitions: Partitions) -> None:
        """The application gets an error; its next demand tries again."""
        self._refused = True
        what = ", ".join(map(str, partitions or self._all(sent)))
        self._context.report(error_for(code, f"Comparison of {what} with the log of its leader refused"))

    def ended(self, sent: Sent, response: Response) -> None:
        """All of this request has been dealt with. What the answer leaves out is asked about again, but not at once."""
        asked = self._under_way.pop(sent.request_id, {})
        if isinstance(response, OffsetForLeaderEpochResponse) and asked.keys() - response.ends.keys():
            self.leader_moved()

    def _all(self, sent: Sent) -> Partitions:
        return tuple(self._under_way.get(sent.request_id, ()))

    def _asked(self, sent: Sent, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position]:
        asked = self._under_way.get(sent.request_id, {})
        return {partition: asked[partition] for partition in partitions if partition in asked}

    @staticmethod
    def _leader(sent: Sent, partition: TopicPartition) -> LeaderAndEpoch:
        """Whose log it was compared with."""
        assert isinstance(sent.request, OffsetForLeaderEpochRequest)
        assert isinstance(sent.node, int)
        return LeaderAndEpoch(sent.node, sent.request.leader_epochs[partition])
