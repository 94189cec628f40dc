"""The harness of aiokafka.

aiokafka joins, rebalances and calls listeners in its event loop, which runs in a thread of its own here, so that the
group is served while the application does not poll. Its listener has no callback for lost partitions, close() does not
call it, and there is no cooperative protocol.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import TypeVar

import aiokafka
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.harnesses._base import CallbackName, Harness, Unsupported, main
from groupspec.conformance.wire.protocol import Partition

Result = TypeVar("Result")


class AioKafka(Harness):
    """AIOKafkaConsumer."""

    client = "aiokafka"
    features = ("eager", "listener", "pull", "poll_interval", "auto_commit")

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="aiokafka").start()

    def version(self) -> str:
        """Of the installed package."""
        return str(aiokafka.__version__)

    def configure(self, settings: protocol.Configure) -> None:
        """Make the consumer."""
        if settings.rebalance == "cooperative":
            raise Unsupported("aiokafka has no cooperative rebalance protocol")
        self._await(self._start(settings))

    async def _start(self, settings: protocol.Configure) -> None:
        self.consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group_id,
            client_id=settings.client_id,
            partition_assignment_strategy=(RangePartitionAssignor,),
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,  # in aiokafka a setting of its own
            request_timeout_ms=settings.request_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
            enable_auto_commit=settings.auto_commit,
            auto_commit_interval_ms=settings.auto_commit_interval_ms,
            auto_offset_reset=settings.auto_offset_reset,
            fetch_max_wait_ms=settings.fetch_max_wait_ms,
        )
        await self.consumer.start()

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe, with a listener."""

        async def in_loop() -> None:
            self.consumer.subscribe(list(topics), listener=_Listener(self))

        self._await(in_loop())

    def poll(self, poll_ms: int) -> Mapping[Partition, Sequence[int]]:
        """One poll."""
        records = self._await(self.consumer.getmany(timeout_ms=poll_ms))
        return {Partition(tp.topic, tp.partition): [r.offset for r in batch] for tp, batch in records.items()}

    def commit(self) -> Mapping[Partition, int]:
        """Commit the positions, and wait."""

        async def in_loop() -> dict[Partition, int]:
            positions = {tp: await self.consumer.position(tp) for tp in self.consumer.assignment()}
            await self.consumer.commit()
            return {Partition(tp.topic, tp.partition): offset for tp, offset in positions.items()}

        return self._await(in_loop())

    def unsubscribe(self) -> None:
        """Give up the subscription."""

        async def in_loop() -> None:
            self.consumer.unsubscribe()

        self._await(in_loop())

    def close(self) -> None:
        """Close the consumer."""
        self._await(self.consumer.stop())

    def _await(self, work: Coroutine[object, object, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types for mypy to follow
    def __init__(self, harness: AioKafka) -> None:
        self._harness = harness

    async def on_partitions_assigned(self, assigned: Iterable[aiokafka.TopicPartition]) -> None:
        await self._callback("partitions_assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[aiokafka.TopicPartition]) -> None:
        await self._callback("partitions_revoked", revoked)

    async def _callback(self, name: CallbackName, partitions: Iterable[aiokafka.TopicPartition]) -> None:
        self._harness.callback_begins(name, [Partition(tp.topic, tp.partition) for tp in partitions])
        await asyncio.sleep(self._harness.callback_s)
        self._harness.callback_ends(name)


if __name__ == "__main__":
    main(AioKafka)
