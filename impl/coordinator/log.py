"""What a coordinator writes to its part of the log, and reads when a group moves to it (topic `__consumer_offsets`).

A group has one record of its last finished generation. It is written when the group is made, becomes empty, gets its
leader's assignment, or has a static member replaced in Stable. So a rebalance under way is in no record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """One member. `metadata` is what it has for the chosen protocol only."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group at the end of a rebalance; without members it is Empty."""

    group_id: str
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberRecord, ...]


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    """The group's tombstone; its offsets are gone too."""

    group_id: str


@dataclass(frozen=True, slots=True)
class OffsetsRecord:
    """Committed positions of a group."""

    group_id: str
    offsets: Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(frozen=True, slots=True)
class OffsetsDeleted:
    """The tombstones of committed positions of a group."""

    group_id: str
    partitions: Collection[TopicPartition]


Record = GroupRecord | GroupDeleted | OffsetsRecord | OffsetsDeleted


class Log:
    """The topic, in memory. It outlives the coordinators that write to it."""

    def __init__(self, partitions: int) -> None:
        self._records: list[list[Record]] = [[] for _ in range(partitions)]

    def append(self, record: Record) -> None:
        """Write a record to the partition that its group lies in."""
        self._records[partition_of(record.group_id, len(self._records))].append(record)

    def read(self, partition: int) -> Sequence[Record]:
        """All records of a partition, the oldest first."""
        return tuple(self._records[partition])


@lru_cache(maxsize=1_000)
def partition_of(group_id: str, partitions: int) -> int:
    """The partition that a group lies in: Java's hash of its id, without the sign (Kafka's `Utils.abs`)."""
    code = java_hash(group_id)
    signed = code - (1 << 32) if code & 0x80000000 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, as a number without a sign."""
    code = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code
