"""kafka-python as leader forgets a round that new partitions began: it is put out of the group, and never joins again.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs kafka-python, nothing else

One member, which leads, and whose application calls poll(1): a call ends before a round of JoinGroup and SyncGroup
does. Its topic gets two more partitions, again and again (twelve times at most), until the coordinator says that the
group is empty: the member sends no heartbeats any more, and its session (6 s) has expired. The application goes on
polling for twice the session's time, and a record is written to each partition.

Exit code 1: the member is not back in the group; 0: it stayed in it, or it is back; 4: it never joined.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewPartitions, NewTopic

SESSION_S = 6
LIMIT_S = 30
GROWTHS = 12
NAME = f"forgets-its-round-{uuid.uuid4().hex[:8]}"


class Group:
    """The group as its coordinator tells it, asked at most every 200 ms."""

    def __init__(self, admin: Any) -> None:
        self._admin, self._asked_s, self._count = admin, 0.0, 0

    def members(self) -> int:
        """How many it has."""
        if time.monotonic() - self._asked_s > 0.2:
            self._count = len(self._admin.describe_groups([NAME])[NAME]["members"])
            self._asked_s = time.monotonic()
        return self._count


def poll_until(
    consumer: Any, condition: Callable[[], object], limit_s: float = LIMIT_S, timeout_ms: int = 1
) -> tuple[int, bool]:
    """Poll until it is so, or the time is up: how much was read, and whether it is so."""
    count, until = 0, time.monotonic() + limit_s
    while not condition() and time.monotonic() < until:
        count += sum(map(len, consumer.poll(timeout_ms).values()))
    return count, bool(condition())


def grow(admin: Any, consumer: Any, group: Group) -> int | None:
    """Add partitions until the member is out of the group: how many it has now; None if it stays."""
    for count in range(4, 4 + 2 * GROWTHS, 2):
        admin.create_partitions({NAME: NewPartitions(count)})
        poll_until(consumer, lambda wanted=count: len(consumer.assignment()) == wanted or not group.members())  # type: ignore[misc]
        if not group.members():
            return count
        print(f"{count} partitions: all are assigned")
    return None


def main(bootstrap: str) -> int:
    """Tell the story; the exit code."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(NAME, 2, 1)])
    consumer = KafkaConsumer(
        NAME,
        bootstrap_servers=bootstrap,
        group_id=NAME,
        auto_offset_reset="earliest",
        session_timeout_ms=1_000 * SESSION_S,
        heartbeat_interval_ms=500,
        metadata_max_age_ms=500,
    )
    group = Group(admin)
    if not poll_until(consumer, lambda: len(consumer.assignment()) == 2, timeout_ms=1_000)[1]:
        print("the member did not join")
        return 4
    print("2 partitions: both are assigned")
    count = grow(admin, consumer, group)
    if count is None:
        return 0
    print(f"{count} partitions: {len(consumer.assignment())} are assigned, and the coordinator says: no members")
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for partition in range(count):
        producer.send(NAME, b"something to read", partition=partition)
    producer.flush()
    read, is_back = poll_until(consumer, group.members, limit_s=2 * SESSION_S)
    print(f"after {2 * SESSION_S} s of poll(1): {group.members()} members, {read} of {count} records read")
    consumer.close(autocommit=False)
    return 0 if is_back else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
