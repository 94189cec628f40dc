"""The embedded consumer protocol: what the members of a group tell each other, and the broker passes on unread.

JoinGroup carries one Subscription per member, SyncGroup one Assignment per member, both as opaque bytes. Each begins
with an int16 version; the rest is in Kafka's classic (never the "flexible") encoding, big-endian: int32 array counts,
int16 string lengths, int32 byte lengths with -1 for null (ConsumerProtocolSubscription.json and
ConsumerProtocolAssignment.json; KIP-429 added the owned partitions, KIP-792 the generation, KIP-881 the rack).

A reader takes any version: of a newer one it reads the fields that it knows and ignores what follows; fields that an
older one lacks have their defaults. What is shorter than its own counts claim raises MalformedProtocolData (rule J10).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from groupspec.impl.core.messages import TopicPartition

HIGHEST_VERSION = 3
"""The newest version of both blobs (an Assignment's version only follows the Subscription's)."""

Item = TypeVar("Item")


class MalformedProtocolData(ValueError):
    """Bytes that are no Subscription, or no Assignment. The message says which field, and where it stands."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one member wants, and what it has.

    `topics` are written and read in order. `generation` is the one in which `owned` was assigned, -1 for none or
    unknown; `owned` exists from version 1 on, `generation` from 2, `rack` from 3. `user_data` belongs to the assignor.
    """

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one member gets."""

    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = HIGHEST_VERSION) -> bytes:
    """A Subscription as bytes; fields that the version lacks are left out."""
    parts = [
        _int16(_checked_version(version)),
        _array(_string(topic) for topic in sorted(subscription.topics)),
        _nullable_bytes(subscription.user_data),
    ]
    if version >= 1:
        parts.append(_topic_partitions(subscription.owned))
    if version >= 2:
        parts.append(_int32(subscription.generation))
    if version >= 3:
        parts.append(_nullable_string(subscription.rack))
    return b"".join(parts)


def decode_subscription(data: bytes) -> Subscription:
    """The Subscription that stands in these bytes. Raises MalformedProtocolData."""
    reader = _Reader(data, "Subscription")
    version = reader.version()
    topics = tuple(sorted(reader.array("topics", lambda: reader.string("topic"))))
    user_data = reader.nullable_bytes("user data")
    return Subscription(
        topics=topics,
        user_data=user_data,
        owned=reader.topic_partitions("owned partitions") if version >= 1 else (),
        generation=reader.int32("generation") if version >= 2 else -1,
        rack=reader.nullable_string("rack") if version >= 3 else None,
    )


def encode_assignment(assignment: Assignment, version: int = HIGHEST_VERSION) -> bytes:
    """An Assignment as bytes."""
    return b"".join(
        (
            _int16(_checked_version(version)),
            _topic_partitions(assignment.partitions),
            _nullable_bytes(assignment.user_data),
        )
    )


def decode_assignment(data: bytes) -> Assignment:
    """The Assignment that stands in these bytes; no bytes at all are an empty one. Raises MalformedProtocolData.

    A broker gives no bytes to a member that the leader left out.
    """
    if not data:
        return Assignment(())
    reader = _Reader(data, "Assignment")
    reader.version()
    partitions = reader.topic_partitions("assigned partitions")
    return Assignment(partitions, reader.nullable_bytes("user data"))


def encode_sticky_user_data(previous: tuple[TopicPartition, ...], generation: int) -> bytes:
    """The user data of the eager sticky assignor: the member's previous assignment, and its generation.

    Version 1 of StickyAssignor's user data. An eager member owns nothing when it joins, so this is the only way for
    the leader to know what it had.
    """
    return _topic_partitions(previous) + _int32(generation)


def decode_sticky_user_data(data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """Previous assignment and generation; nothing and -1 if there is none. Raises MalformedProtocolData."""
    if data is None:
        return (), -1
    reader = _Reader(data, "sticky user data")
    previous = reader.topic_partitions("previous assignment")
    return previous, -1 if reader.is_at_end() else reader.int32("generation")  # version 0 has no generation


# Writing -------------------------------------------------------------------------------------------------------------


def _checked_version(version: int) -> int:
    if not 0 <= version <= HIGHEST_VERSION:
        raise ValueError(f"version {version}: this writer knows 0 to {HIGHEST_VERSION}")
    return version


def _int16(value: int) -> bytes:
    return struct.pack(">h", value)


def _int32(value: int) -> bytes:
    return struct.pack(">i", value)


def _string(text: str) -> bytes:
    data = text.encode()
    return _int16(len(data)) + data


def _nullable_string(text: str | None) -> bytes:
    return _int16(-1) if text is None else _string(text)


def _nullable_bytes(data: bytes | None) -> bytes:
    return _int32(-1) if data is None else _int32(len(data)) + data


def _array(items: Iterable[bytes]) -> bytes:
    encoded = tuple(items)
    return _int32(len(encoded)) + b"".join(encoded)


def _topic_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic = groupby(sorted(partitions), key=lambda p: p.topic)
    return _array(_string(topic) + _array(_int32(p.partition) for p in group) for topic, group in by_topic)


# Reading -------------------------------------------------------------------------------------------------------------


class _Reader:
    """Walks through the bytes of one blob; every step says which field it was after when they run out."""

    def __init__(self, data: bytes, blob: str) -> None:
        self._data = data
        self._blob = blob
        self._at = 0

    def version(self) -> int:
        version = self._int16("version")
        if version < 0:
            raise MalformedProtocolData(f"{self._blob}: version {version} is negative")
        return version

    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def int32(self, field: str) -> int:
        return int.from_bytes(self._take(4, field), "big", signed=True)

    def string(self, field: str) -> str:
        text = self.nullable_string(field)
        if text is None:
            raise self._malformed(field, "is null, which it must not be")
        return text

    def nullable_string(self, field: str) -> str | None:
        length = self._int16(field)
        if length == -1:
            return None
        try:
            return self._take(length, field).decode()
        except UnicodeDecodeError as problem:
            raise self._malformed(field, f"is not UTF-8: {problem.reason}") from problem

    def nullable_bytes(self, field: str) -> bytes | None:
        length = self.int32(field)
        return None if length == -1 else self._take(length, field)

    def array(self, field: str, item: Callable[[], Item]) -> list[Item]:
        count = self.int32(field)
        # Every item takes at least two bytes, so a count beyond that is a lie: never loop, or allocate, because of one.
        if not 0 <= count <= (len(self._data) - self._at) // 2:
            raise self._malformed(field, f"claims {count} items, with {len(self._data) - self._at} bytes left")
        return [item() for _ in range(count)]

    def topic_partitions(self, field: str) -> tuple[TopicPartition, ...]:
        def topic() -> list[TopicPartition]:
            name = self.string("topic")
            return [TopicPartition(name, number) for number in self.array(field, lambda: self.int32("partition"))]

        return tuple(sorted(partition for group in self.array(field, topic) for partition in group))

    def _int16(self, field: str) -> int:
        return int.from_bytes(self._take(2, field), "big", signed=True)

    def _take(self, length: int, field: str) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise self._malformed(field, f"needs {length} bytes, and {len(self._data) - self._at} are left")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _malformed(self, field: str, why: str) -> MalformedProtocolData:
        return MalformedProtocolData(f"{self._blob}, {field} at byte {self._at} of {len(self._data)}: {why}")
