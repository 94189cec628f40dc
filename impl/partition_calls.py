"""Where to read, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable

from groupspec.impl import arguments
from groupspec.impl.calls import Calls
from groupspec.impl.core import events
from groupspec.impl.core.errors import KafkaTimeoutError
from groupspec.impl.core.messages import TopicPartition


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
            if (position := self._subscription.position(partition)) is None:
                self._subscription.want_position(partition)
                self._driver.submit(events.Fetch())
            while position is None:
                self._call_guard.check_interrupted()
                if not self._driver.wait_until(lambda: self._has_position(partition), deadline_ms):
                    raise KafkaTimeoutError(f"position({partition}): not known after {limit_ms} ms")
                self._report_failure()
                self._callbacks.raise_error()
                position = self._subscription.position(partition)
            return position

    def _has_position(self, partition: TopicPartition) -> bool:
        return (
            self._call_guard.is_interrupted()
            or self._callbacks.has_error()
            or self._subscription.position(partition) is not None
        )

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from here. IllegalStateError if it is not assigned, ValueError if the offset is below 0."""
        partition = arguments.partition(partition, "seek()")
        offset = arguments.offset(offset, "seek()", partition)
        with self._call_guard.use("seek()"):
            self._subscription.seek(partition, offset)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these until resume(). IllegalStateError if one is not assigned."""
        chosen = arguments.partitions(partitions, "pause()")
        with self._call_guard.use("pause()"):
            self._subscription.pause(chosen)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these again. IllegalStateError if one is not assigned."""
        chosen = arguments.partitions(partitions, "resume()")
        with self._call_guard.use("resume()"):
            self._subscription.resume(chosen)

    def paused(self) -> set[TopicPartition]:
        """What pause() has stopped."""
        with self._call_guard.use("paused()"):
            return set(self._subscription.paused())
