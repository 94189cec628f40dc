"""kafka-python reads a partition that it gets back from where it had stopped, not from the group's committed offset.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs kafka-python, nothing else

Two members, `slow` and `quick`, and one partition:

1. `slow` reads records 0 to 99.
2. `quick` joins. `slow` commits 100 and calls its listener, which flushes for longer than the group waits for a member
   (max.poll.interval.ms, here 2 s): the coordinator puts `slow` out, and `quick` gets the partition.
3. `quick` reads 100 to 999, commits 1000 and leaves.
4. The listener of `slow` returns. Its JoinGroup is answered UNKNOWN_MEMBER_ID; it joins as a new member, and is
   assigned the partition. Record 1000 is written, so that there is something to read.

The committed offset is 1000, so that the next record of `slow` is to be 1000. Exit code 1: it is another; 0: it is
1000; 4: the story did not come so far.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.consumer.subscription_state import ConsumerRebalanceListener

LIMIT_S = 30
NAME = f"keeps-positions-{uuid.uuid4().hex[:8]}"
PARTITION = TopicPartition(NAME, 0)


class SlowListener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Flushes, when something is taken for the first time, until the other member has done its work."""

    def __init__(self) -> None:
        self.is_flushing = threading.Event()
        self.may_return = threading.Event()
        self.is_back = False

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Flush, the first time that there is something."""
        if revoked and not self.is_flushing.is_set():
            print("slow:  on_partitions_revoked; begins to flush")
            self.is_flushing.set()
            self.may_return.wait(LIMIT_S)
            print("slow:  has flushed")

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Note whether it has come back."""
        if assigned:
            print("slow:  on_partitions_assigned")
            self.is_back = self.is_flushing.is_set()


def consumer(bootstrap: str, name: str, listener: SlowListener | None = None) -> Any:
    """A member of the group, with the assignor that kafka-python has by default: an eager one."""
    made = KafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id=name,
        group_id=NAME,
        auto_offset_reset="earliest",
        max_poll_interval_ms=2_000,
        heartbeat_interval_ms=300,
    )
    made.subscribe([NAME], listener=listener)
    return made


def write(producer: Any, first: int, last: int) -> None:
    """Records whose offsets are `first` to `last`."""
    for number in range(first, last + 1):
        producer.send(NAME, str(number).encode(), partition=0)
    producer.flush()


def write_when(event: threading.Event, producer: Any, first: int, last: int) -> None:
    """The same when that has happened; nothing if it does not."""
    if event.wait(LIMIT_S):
        write(producer, first, last)


def read(member: Any, enough: Callable[[list[int]], bool]) -> list[int]:
    """Poll until what was read is enough, or the time is up: the offsets."""
    offsets: list[int] = []
    until = time.monotonic() + LIMIT_S
    while not enough(offsets) and time.monotonic() < until:
        offsets += [record.offset for record in member.poll(1_000).get(PARTITION, [])]
    return offsets


def main(bootstrap: str) -> int:
    """Tell the story; the exit code."""
    KafkaAdminClient(bootstrap_servers=bootstrap).create_topics([NewTopic(NAME, 1, 1)])
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    listener = SlowListener()
    slow, quick = consumer(bootstrap, "slow", listener), consumer(bootstrap, "quick")

    write(producer, 0, 99)
    before = read(slow, lambda offsets: 99 in offsets)
    print(f"slow:  read {before[0]} to {before[-1]}")
    after: list[int] = []
    polling = threading.Thread(target=lambda: after.extend(read(slow, bool)))
    polling.start()

    writing = threading.Thread(target=write_when, args=(listener.is_flushing, producer, 100, 999))
    writing.start()
    taken = read(quick, lambda offsets: 999 in offsets)
    quick.commit()
    committed = quick.committed(PARTITION)
    quick.close()
    print(f"quick: read {taken[:1]} to {taken[-1:]}, committed {committed}, left")

    write(producer, 1_000, 1_000)
    listener.may_return.set()
    polling.join()
    if not (after and listener.is_back and committed == 1_000):
        print("the story did not come so far")
        return 4
    print(f"slow:  read {after[0]} to {after[-1]}, where {committed} was committed")
    slow.close()
    return 0 if after[0] == committed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
