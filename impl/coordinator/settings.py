"""The broker's settings that a group depends on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Kafka's names and defaults (GroupCoordinatorConfig), in milliseconds where they are times.

    min_session_timeout_ms      group.min.session.timeout.ms
    max_session_timeout_ms      group.max.session.timeout.ms
    initial_rebalance_delay_ms  group.initial.rebalance.delay.ms
    max_size                    group.max.size
    offset_metadata_max_bytes   offset.metadata.max.bytes
    offsets_partitions          offsets.topic.num.partitions
    new_member_timeout_ms       how long a new member may wait for its first join phase to end; no setting in Kafka
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4_096
    offsets_partitions: int = 50
    new_member_timeout_ms: int = 300_000
