"""What a group has really committed: the records of `__consumer_offsets`, read when the run is over.

A coordinator appends a record for each partition of a commit that it accepts, and none for one that it refuses; so this
is the order in which commits took effect, whatever clients say of them. Reading the topic joins no group and writes
nothing. `OffsetCommitKey` and `OffsetCommitValue` are Kafka's (group-coordinator/src/main/resources/common/message):
what is needed of a value, the offset, is its first field in each version from 0 to 4.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from groupspec.conformance.errors import InternalProblem

TOPIC: Final = "__consumer_offsets"
KEY_VERSIONS: Final = (0, 1)
"""CoordinatorRecordType.LEGACY_OFFSET_COMMIT and OFFSET_COMMIT; other records of the topic are about groups."""

READ_LIMIT_S: Final = 30.0
POLL_S: Final = 0.5
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_VALUE: Final = struct.Struct(">hq")


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """One commit of a partition.

    `offset`: -1: it was deleted. `at_ms`: when, by the coordinator's wall clock.
    """

    at_ms: int
    group: str
    topic: str
    partition: int
    offset: int


def read_commits(bootstrap: str) -> list[OffsetRecord]:
    """All commits of all groups in the topic's only partition, in the order in which they took effect.

    Raises:
        InternalProblem: the topic cannot be read to its end in time.
    """
    connection: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "log_level": 0}
    reading = {"group.id": "reads-commits", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer(connection | reading)
    try:
        return [commit for message in _messages(consumer) if (commit := _commit(message))]
    finally:
        consumer.close()


def _commit(message: Message) -> OffsetRecord | None:
    key, value = message.key(), message.value()
    assert isinstance(key, bytes)
    assert value is None or isinstance(value, bytes)
    return decoded(key, value, message.timestamp()[1])


def decoded(key: bytes, value: bytes | None, at_ms: int) -> OffsetRecord | None:
    """A commit; None: a record of another kind."""
    if _SHORT.unpack_from(key)[0] not in KEY_VERSIONS:
        return None
    group, at = _string(key, _SHORT.size)
    topic, at = _string(key, at)
    [partition] = _INT.unpack_from(key, at)
    offset = -1 if value is None else _VALUE.unpack_from(value)[1]
    return OffsetRecord(at_ms, group, topic, partition, offset)


def _string(data: bytes, at: int) -> tuple[str, int]:
    """A string with its length before it, and where it ends."""
    begin = at + _SHORT.size
    end = begin + int(_SHORT.unpack_from(data, at)[0])
    return data[begin:end].decode(), end


def _messages(consumer: Consumer) -> Iterator[Message]:
    """Each record up to the end."""
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    until, problem = time.monotonic() + READ_LIMIT_S, ""
    while time.monotonic() < until:
        message = consumer.poll(POLL_S)
        error = None if message is None else message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            return
        if error is not None:
            problem = str(error)  # a broker that has started a moment ago
        elif message is not None:
            yield message
    raise InternalProblem(
        f"what the group has committed cannot be read in {READ_LIMIT_S:g} s: {problem}",
        where=TOPIC,
        next_step="run it again: without its commits nothing can be put down to anybody",
    )
