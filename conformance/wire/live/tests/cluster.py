"""The reference's own broker as a cluster that nobody scripts: two nodes, a topic with records, groups of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from groupspec.impl.broker.log import BrokerFailure
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.network.addresses import Address

TOPIC = "orders"
PARTITIONS = 4
RECORDS = 6
SETTINGS = Settings(initial_rebalance_delay_ms=0, min_session_timeout_ms=500)


@contextmanager
def cluster(nodes: int = 2) -> Iterator[ScriptedBroker]:
    broker = ScriptedBroker(nodes, {TOPIC: PARTITIONS}, lifetime_s=120, groups=SETTINGS)
    broker.start()
    try:
        for partition in range(PARTITIONS):
            broker.append(TOPIC, partition, [b"of somebody"] * RECORDS)
        yield broker
    finally:
        with suppress(BrokerFailure):
            broker.close()


def addresses(broker: ScriptedBroker) -> list[Address]:
    """Of its first node: the tap finds the others."""
    host, _, port = broker.bootstrap.partition(",")[0].rpartition(":")
    return [(host, int(port))]
