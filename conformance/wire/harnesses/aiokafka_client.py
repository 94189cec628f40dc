"""The harness of aiokafka.

aiokafka joins, rebalances and calls listeners in its event loop, which runs in a thread of its own here, so that the
group is served while the application does not poll. Its listener has no callback for lost partitions, close() does not
call it, and there is no cooperative protocol.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TypeVar

import aiokafka
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.structs import TopicPartition

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import CallbackName, Partition
from groupspec.conformance.wire.harnesses.base import AnyPartition, Harness, Unsupported, kafka_settings, main

Result = TypeVar("Result")


class AioKafka(Harness):
    """AIOKafkaConsumer."""

    client = "aiokafka"
    features = (
        "eager",
        "listener",
        "pull",
        "poll_interval",
        "auto_commit",
        "static",
        "seek",
        "pause",
        "callback_commit",
        "raising_listener",
        "pattern",
        "max_poll_records",
        "seek_to_beginning",
        "assign",
    )
    not_driven = ("callback_seek",)

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="aiokafka").start()

    def configure(self, command: protocol.Configure) -> None:
        """Make the consumer."""
        if command.rebalance == "cooperative":
            raise Unsupported("aiokafka has no cooperative rebalance protocol")

        async def in_loop() -> None:
            self.consumer = aiokafka.AIOKafkaConsumer(
                partition_assignment_strategy=(RangePartitionAssignor,),
                rebalance_timeout_ms=command.max_poll_interval_ms,  # in aiokafka a setting of its own
                **kafka_settings(command),
            )
            await self.consumer.start()

        self._await(in_loop())

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self._in_loop(lambda: self.consumer.subscribe(topics, listener=_Listener(self)))

    def subscribe_to_pattern(self, pattern: str) -> None:
        """The same to all topics that match."""
        self._in_loop(lambda: self.consumer.subscribe(pattern=pattern, listener=_Listener(self)))

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Read these, without a subscription."""
        self._in_loop(lambda: self.consumer.assign([*map(_named, partitions)]))

    def poll(self, poll_ms: int) -> Mapping[AnyPartition, Sequence[int]]:
        """One poll."""
        batches = self._await(self.consumer.getmany(timeout_ms=poll_ms))
        return {partition: [record.offset for record in batch] for partition, batch in batches.items()}

    def commit(self) -> Mapping[AnyPartition, int]:
        """Commit the positions, and wait."""
        return self._await(self._commit_in_loop())

    async def _commit_in_loop(self) -> Mapping[AnyPartition, int]:
        positions = {partition: await self.consumer.position(partition) for partition in self.consumer.assignment()}
        await self.consumer.commit()
        return positions

    def seek(self, partition: Partition, offset: int) -> None:
        """Read a partition from this offset on."""
        if offset == protocol.BEGINNING:
            self._await(self.consumer.seek_to_beginning(_named(partition)))
        else:
            self._in_loop(lambda: self.consumer.seek(_named(partition), offset))

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Return no records of these."""
        self._in_loop(lambda: self.consumer.pause(*map(_named, partitions)))

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Return records of these again."""
        self._in_loop(lambda: self.consumer.resume(*map(_named, partitions)))

    def assignment(self) -> None:
        """The consumer belongs to the event loop's thread."""

    def unsubscribe(self) -> None:
        """Give up the subscription."""
        self._in_loop(self.consumer.unsubscribe)

    def close(self) -> None:
        """Close the consumer."""
        self._await(self.consumer.stop())

    async def tell_commit_in_loop(self) -> None:
        """Commit the positions in a callback, and tell the outcome."""
        try:
            self.committed(await self._commit_in_loop())
        except Exception as problem:
            self.commit_failed(problem)

    def _in_loop(self, call: Callable[[], None]) -> None:
        async def work() -> None:
            call()

        self._await(work())

    def _await(self, work: Coroutine[object, object, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _named(partition: Partition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types for mypy to follow
    def __init__(self, harness: AioKafka) -> None:
        self._harness = harness

    async def on_partitions_assigned(self, assigned: Iterable[AnyPartition]) -> None:
        await self._callback("partitions_assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[AnyPartition]) -> None:
        await self._callback("partitions_revoked", revoked)

    async def _callback(self, name: CallbackName, partitions: Iterable[AnyPartition]) -> None:
        self._harness.callback_begins(name, partitions)
        await asyncio.sleep(self._harness.callback_s)
        if self._harness.does_in(name, partitions, "commit"):
            await self._harness.tell_commit_in_loop()
        self._harness.callback_ends(name, raises=self._harness.does_in(name, partitions, "raise"))


if __name__ == "__main__":
    main(AioKafka)
