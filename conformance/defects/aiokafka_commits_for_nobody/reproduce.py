"""aiokafka, put out of its group, commits its old position as if it were in no group, and puts the group's offset back.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs aiokafka, nothing else

Two members, `stuck` and `quick`, and one partition with 1,000 records:

1. `stuck` reads records 0 to 99. Then its application blocks its event loop, for longer than its session (6 s) lasts.
2. `quick` joins, gets the partition, reads to the end, commits 1000 and leaves. The group is empty.
3. The event loop of `stuck` goes on. A heartbeat is answered UNKNOWN_MEMBER_ID: it is no member any more.

The committed offset is watched from the moment `stuck` goes on until `stuck` is assigned the partition again. Exit code
1: it went back from 1000; 0: it did not; 4: the story did not come so far.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import uuid
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

LIMIT_S = 30
COUNT = 1_000
NAME = f"commits-for-nobody-{uuid.uuid4().hex[:8]}"
PARTITION = TopicPartition(NAME, 0)


class Stuck(ConsumerRebalanceListener):  # type: ignore[misc]
    """What is known of the member that gets stuck."""

    def __init__(self) -> None:
        self.has_read = threading.Event()
        self.may_go_on = threading.Event()
        self.is_back = threading.Event()

    async def on_partitions_revoked(self, revoked: Any) -> None:
        """Called when the old assignment has been committed, and before JoinGroup."""

    async def on_partitions_assigned(self, assigned: Any) -> None:
        """Note that it has come back."""
        if assigned and self.may_go_on.is_set():
            self.is_back.set()

    def live(self, bootstrap: str) -> None:
        """Read 100 records, block, and read on; a thread of its own, with an event loop of its own."""
        asyncio.run(self._live(bootstrap))

    async def _live(self, bootstrap: str) -> None:
        member = consumer(bootstrap, "stuck")
        member.subscribe([NAME], listener=self)
        await member.start()
        records = (await member.getmany(timeout_ms=10_000, max_records=100))[PARTITION]
        print(f"stuck: read {records[0].offset} to {records[-1].offset}; blocks its event loop")
        self.has_read.set()
        self.may_go_on.wait(LIMIT_S)
        print("stuck: goes on")
        while not self.is_back.is_set():
            await asyncio.sleep(0.05)
        await member.stop()


def consumer(bootstrap: str, name: str) -> Any:
    """A member of the group; automatic commits are the default."""
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id=name,
        group_id=NAME,
        auto_offset_reset="earliest",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=300,
    )


async def prepare(bootstrap: str) -> None:
    """The topic and its records."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(NAME, 1, 1)])
    await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for number in range(COUNT):
        await producer.send(NAME, str(number).encode(), partition=0)
    await producer.stop()


async def take_over(bootstrap: str) -> None:
    """What `quick` does."""
    quick = consumer(bootstrap, "quick")
    quick.subscribe([NAME])
    await quick.start()
    offsets: list[int] = []
    while COUNT - 1 not in offsets:
        offsets += [record.offset for record in (await quick.getmany(timeout_ms=1_000)).get(PARTITION, [])]
    await quick.commit()
    await quick.stop()
    print(f"quick: read {offsets[0]} to {offsets[-1]}, committed {COUNT}, left")


async def watch(bootstrap: str, stuck: Stuck) -> list[int]:
    """The committed offsets, each once, until the stuck member is back."""
    asking = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=NAME, enable_auto_commit=False)
    await asking.start()
    seen = [await asking.committed(PARTITION)]
    stuck.may_go_on.set()
    is_last = False
    while not is_last:
        is_last = stuck.is_back.is_set()
        now = await asking.committed(PARTITION)
        if now != seen[-1]:
            seen.append(now)
    await asking.stop()
    return seen


async def story(bootstrap: str) -> int:
    """Tell it; the exit code."""
    await prepare(bootstrap)
    stuck = Stuck()
    threading.Thread(target=stuck.live, args=(bootstrap,), daemon=True).start()
    try:
        async with asyncio.timeout(2 * LIMIT_S):
            await asyncio.to_thread(stuck.has_read.wait, LIMIT_S)
            await take_over(bootstrap)
            seen = await watch(bootstrap, stuck)
    except TimeoutError:
        print("the story did not come so far")
        return 4
    print("the committed offset: " + ", then ".join(map(str, seen)))
    return 1 if any(offset < COUNT for offset in seen) else 0


def main(bootstrap: str) -> int:
    """The exit code."""
    return asyncio.run(story(bootstrap))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
