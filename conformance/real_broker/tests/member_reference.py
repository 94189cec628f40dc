"""A member that is the reference implementation.

Its trace is written line by line, so that a kill loses at most one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from groupspec.conformance.real_broker.tests.member_protocol import MemberSettings, Read, say_partitions
from groupspec.conformance.traces.recorder import FileRecorder
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.messages import TopicPartition

CLOSE_MS: Final = 20_000


class ReferenceMember:
    """Subscribes when it is made."""

    def __init__(self, settings: MemberSettings) -> None:
        self._topic = settings.topic
        self._files = ExitStack()
        recorder = FileRecorder(Path(settings.trace), settings.group, "reference") if settings.trace else None
        self._consumer = Consumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group,
            client_id=settings.client_id,
            group_instance_id=settings.instance_id or None,
            partition_assignment_strategy=(settings.assignor,),
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            auto_commit_interval_ms=settings.auto_commit_interval_ms,
            auto_offset_reset="earliest",
            trace=self._files.enter_context(recorder).record if recorder is not None else None,
        )
        self._consumer.subscribe([settings.topic], listener=_Teller())

    def poll(self, timeout_ms: int) -> list[Read]:
        """Up to 500 records."""
        return [Read(one.partition, one.offset, one.value or b"") for one in self._consumer.poll(timeout_ms)]

    def positions(self) -> dict[int, int]:
        """Where each partition stands."""
        return {one.partition: self._consumer.position(one) for one in self._consumer.assignment()}

    def close(self) -> None:
        """Commits and leaves."""
        self._consumer.close(CLOSE_MS)
        self._files.close()


class _Teller:
    """Says every callback."""

    def on_partitions_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        say_partitions("partitions_assigned", [one.partition for one in partitions])

    def on_partitions_revoked(self, partitions: Iterable[TopicPartition]) -> None:
        say_partitions("partitions_revoked", [one.partition for one in partitions])

    def on_partitions_lost(self, partitions: Iterable[TopicPartition]) -> None:
        say_partitions("partitions_lost", [one.partition for one in partitions])
