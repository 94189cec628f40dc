"""The reference and a real log that lost its end (KIP-320): the broker was down, and comes back with less.

The end is cut off the file while the broker is stopped, and the mark of a clean shutdown with it: Kafka then recovers
what is there, as it does after a crash before a flush, and leads with the next epoch.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from groupspec.conformance.real_broker import instance
from groupspec.impl import Consumer, LogTruncationError, OffsetAndMetadata, TopicPartition

pytestmark = pytest.mark.real_broker

PLACE = TopicPartition("short", 0)
READ, LEFT, NEW = 10, 6, 8
BOUND_S = 30.0


@contextmanager
def broker(folder: Path, port: int | None = None) -> Iterator[instance.Started]:
    """One on these data, for the length of a block, or the first."""
    started = instance.start(folder, lifetime_s=200, port=port, owned=True, goes_on=port is not None)
    try:
        yield started
    finally:
        instance.stop(folder)
        if started.keeper.stdin is not None:
            started.keeper.stdin.close()
        started.keeper.wait(BOUND_S)


def write(bootstrap: str, values: list[bytes]) -> None:
    """A batch for each."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(PLACE.topic, value=value, partition=PLACE.partition)
        assert producer.flush(BOUND_S) == 0


def read(consumer: Consumer, count: int) -> list[tuple[int, bytes, int]]:
    """Offsets, values and leader epochs."""
    found: list[tuple[int, bytes, int]] = []
    end = time.monotonic() + BOUND_S
    while len(found) < count and time.monotonic() < end:
        found += [(record.offset, record.value, record.leader_epoch) for record in consumer.poll(500)]
    return found


def cut_off(folder: Path, end: int) -> None:
    """The log has nothing from this offset on."""
    (log,) = folder.rglob(f"{PLACE}/*.log")
    data, at = log.read_bytes(), 0
    while at < len(data):
        base_offset, length = struct.unpack_from(">qi", data, at)
        if base_offset >= end:
            break
        at += 12 + length
    assert 0 < at < len(data)
    log.write_bytes(data[:at])
    for derived in (*log.parent.glob("*.index"), *log.parent.glob("*.timeindex"), *log.parent.glob("*.snapshot")):
        derived.unlink()
    for mark in folder.rglob(".kafka_cleanshutdown"):
        mark.unlink()


def reader(bootstrap: str, policy: str) -> Consumer:
    """Of the topic from its beginning on."""
    consumer = Consumer(bootstrap_servers=bootstrap, auto_offset_reset=policy)
    consumer.assign([PLACE])
    consumer.seek(PLACE, 0)
    return consumer


def test_what_was_written_anew_at_offsets_that_were_read_before_is_read(tmp_path: Path) -> None:
    with broker(tmp_path) as first:
        bootstrap = first.running.bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for made in admin.create_topics([NewTopic(PLACE.topic, 1, 1)]).values():
            made.result(BOUND_S)
        write(bootstrap, [b"old"] * READ)
        lenient, strict = (reader(bootstrap, policy) for policy in ("earliest", "none"))
        for consumer in (lenient, strict):
            assert read(consumer, READ) == [(offset, b"old", 0) for offset in range(READ)]
    cut_off(tmp_path, LEFT)
    with broker(tmp_path, port=int(bootstrap.rpartition(":")[2])), lenient, strict:
        write(bootstrap, [b"new"] * NEW)
        anew = read(lenient, NEW)
        assert [(offset, value) for offset, value, _ in anew] == [(LEFT + n, b"new") for n in range(NEW)]
        assert {epoch > 0 for _, _, epoch in anew} == {True}
        with pytest.raises(LogTruncationError) as raised:
            read(strict, NEW)
        assert raised.value.divergent_offsets == {PLACE: OffsetAndMetadata(LEFT, "", 0)}
