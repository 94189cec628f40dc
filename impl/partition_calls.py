"""Where to read, partition by partition; and what there is to read: topics, partitions, beginnings, ends and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from groupspec.impl import arguments
from groupspec.impl.calls import Calls
from groupspec.impl.core import events
from groupspec.impl.core.errors import IllegalStateError, KafkaTimeoutError
from groupspec.impl.core.messages import ListedOffset, OffsetAndMetadata, TopicMetadata, TopicPartition
from groupspec.impl.core.offsets import TIMESTAMPS

Found = Mapping[TopicPartition, ListedOffset | None]


class OffsetAndTimestamp(NamedTuple):
    """The first record that is not older than a time: where it is, when it was written, by the how-manieth leader."""

    offset: int
    timestamp_ms: int
    leader_epoch: int

    @property
    def timestamp(self) -> int:
        """The same as `timestamp_ms`, by kafka-python's name."""
        return self.timestamp_ms


class PartitionCalls(Calls):
    """The calls of the consumer's API that are about single partitions."""

    # Where to read ---------------------------------------------------------------------------------------------------

    def position(self, partition: TopicPartition, timeout_ms: int | None = None) -> int:
        """The offset of the next record that poll() would return. Looks it up if need be.

        Raises: IllegalStateError if it is not assigned; KafkaTimeoutError; WakeupError; what the lookup was refused
        for.
        """
        partition = arguments.partition(partition, "position()")
        limit_ms = self._limit_ms(timeout_ms, "position()")
        with self._call_guard.use("position()"):
            self._need_background()
            deadline_ms = self._runtime.now_ms() + limit_ms
            if (position := self._positions.position(partition)) is None:
                self._positions.want_position(partition)
                self._driver.submit(events.Fetch())
            while position is None:
                self._call_guard.check_interrupted()
                if not self._driver.wait_until(lambda: self._has_position(partition), deadline_ms):
                    raise KafkaTimeoutError(
                        f"position({partition}): not known after {limit_ms} ms: neither its committed offset nor the "
                        "reset policy's has been answered; can bootstrap_servers be reached?"
                    )
                self._report_failure()
                self._callbacks.raise_error()
                position = self._positions.position(partition)
            return position

    def _has_position(self, partition: TopicPartition) -> bool:
        return (
            self._call_guard.is_interrupted()
            or self._callbacks.has_error()
            or self._positions.position(partition) is not None
        )

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read on from here. IllegalStateError if it is not assigned, ValueError if the offset is below 0.

        With a leader epoch, as committed() has it, the leader's log is first compared with the one that was read then.
        """
        partition = arguments.partition(partition, "seek()")
        place = arguments.place(offset, "seek()", partition)
        with self._call_guard.use("seek()"):
            self._positions.seek(partition, place.offset, place.leader_epoch)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read these from their first record on; without arguments all that are assigned. IllegalStateError.

        Where that is, is asked for by the next poll() or position().
        """
        self._seek_by_time(partitions, "earliest", "seek_to_beginning()")

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read of these what is written from now on; otherwise as seek_to_beginning()."""
        self._seek_by_time(partitions, "latest", "seek_to_end()")

    def _seek_by_time(self, partitions: tuple[TopicPartition, ...], where: str, call: str) -> None:
        chosen = arguments.partitions(partitions, call)
        with self._call_guard.use(call):
            assigned = self._subscription.assignment()
            if not (chosen or assigned):
                raise IllegalStateError(f"{call}: no partitions are assigned")
            self._positions.seek_by_time(chosen or assigned, TIMESTAMPS[where])

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these until resume(). IllegalStateError if one is not assigned."""
        chosen = arguments.partitions(partitions, "pause()")
        with self._call_guard.use("pause()"):
            self._positions.pause(chosen)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these again. IllegalStateError if one is not assigned."""
        chosen = arguments.partitions(partitions, "resume()")
        with self._call_guard.use("resume()"):
            self._positions.resume(chosen)

    def paused(self) -> set[TopicPartition]:
        """What pause() has stopped."""
        with self._call_guard.use("paused()"):
            return set(self._positions.paused())

    # What there is to read -------------------------------------------------------------------------------------------

    def highwater(self, partition: TopicPartition) -> int | None:
        """Where the partition ended when it was last fetched: the next record's offset. None before the first fetch.

        Raises: IllegalStateError if it is not assigned.
        """
        partition = arguments.partition(partition, "highwater()")
        with self._call_guard.use("highwater()"):
            return self._positions.high_watermark(partition)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """How far the position is from that end, or with read_committed from the first open transaction.

        None if one of the two is not known; nobody is asked. IllegalStateError if it is not assigned.
        """
        partition = arguments.partition(partition, "current_lag()")
        with self._call_guard.use("current_lag()"):
            return self._positions.lag(partition)

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each of these, assigned or not. Raises: KafkaTimeoutError; why a broker refused."""
        return self._limits(partitions, "earliest", timeout_ms, "beginning_offsets()")

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The offset that the next record of each will have; with read_committed where the first transaction is open.

        Raises: KafkaTimeoutError; why a broker refused.
        """
        return self._limits(partitions, "latest", timeout_ms, "end_offsets()")

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Of each partition the first record not older than its time (ms since 1970); None where there is none.

        Raises: KafkaTimeoutError; why a broker refused.
        """
        wanted = arguments.times(timestamps, "offsets_for_times()")
        found = self._list_offsets(wanted, timeout_ms, "offsets_for_times()")
        return {
            partition: OffsetAndTimestamp(listed.offset, listed.timestamp_ms, listed.leader_epoch) if listed else None
            for partition, listed in found.items()
        }

    def _limits(
        self, partitions: Iterable[TopicPartition], where: str, timeout_ms: int | None, call: str
    ) -> dict[TopicPartition, int]:
        wanted = dict.fromkeys(arguments.partitions(partitions, call), TIMESTAMPS[where])
        found = self._list_offsets(wanted, timeout_ms, call)
        return {partition: listed.offset for partition, listed in found.items() if listed is not None}

    def _list_offsets(self, wanted: Mapping[TopicPartition, int], timeout_ms: int | None, call: str) -> Found:
        limit_ms = self._limit_ms(timeout_ms, call)
        with self._call_guard.use(call):
            deadline_ms = self._runtime.now_ms() + limit_ms
            asked = self._await(call, lambda number: events.ListOffsets(wanted, number, deadline_ms), deadline_ms)
            found = cast("Found", asked)
            return {partition: found[partition] for partition in wanted}

    def partitions_for_topic(self, topic: str, timeout_ms: int | None = None) -> set[int] | None:
        """The numbers of a topic's partitions; None if there is no such topic.

        Raises: KafkaTimeoutError; TopicAuthorizationError.
        """
        names = arguments.topic_names([topic], "partitions_for_topic()")
        found = self._list_topics(names, timeout_ms, "partitions_for_topic()")
        return {each.partition for each in found[0].partitions} if found else None

    def topics(self, timeout_ms: int | None = None) -> set[str]:
        """All topics that this client may know of; without Kafka's own, unless exclude_internal_topics is False.

        Raises: KafkaTimeoutError.
        """
        found = self._list_topics(None, timeout_ms, "topics()")
        return {each.topic for each in found if not (each.is_internal and self._config.exclude_internal_topics)}

    def _list_topics(
        self, names: tuple[str, ...] | None, timeout_ms: int | None, call: str
    ) -> tuple[TopicMetadata, ...]:
        limit_ms = self._limit_ms(timeout_ms, call)
        with self._call_guard.use(call):
            deadline_ms = self._runtime.now_ms() + limit_ms
            asked = self._await(call, lambda number: events.ListTopics(names, number, deadline_ms), deadline_ms)
            return cast("tuple[TopicMetadata, ...]", asked)
