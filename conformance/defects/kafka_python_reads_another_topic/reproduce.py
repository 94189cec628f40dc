"""kafka-python goes on at its old offset in a topic that was deleted and made anew under its name.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs kafka-python, nothing else

One member, and one topic of one partition:

1. It reads records 0 to 9, and commits 10.
2. Between two polls the topic is deleted and made anew: it has another id. 15 records are written to it.
3. The member polls on. Its metadata name the new id, and it logs that the topic was likely recreated.

Nothing of the new topic has been read, and its group has committed nothing of it, so that the first record is to be 0.
Exit code 1: it is another, and what is before it is never returned; 0: it is 0; 4: the story did not come so far.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

LIMIT_S = 30
OLD, NEW = 10, 15
NAME = f"another-topic-{uuid.uuid4().hex[:8]}"
PARTITION = TopicPartition(NAME, 0)


def create(admin: Any) -> None:
    """The topic, as soon as the one before it is gone."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        try:
            admin.create_topics([NewTopic(NAME, 1, 1)])
            return
        except TopicAlreadyExistsError:
            time.sleep(0.05)


def write(bootstrap: str, records: int) -> None:
    """So many, by a producer that knows the topic that there is now."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(records):
        producer.send(NAME, str(number).encode(), partition=0)
    producer.flush()
    producer.close()


def read(member: Any, enough: Callable[[list[int]], bool]) -> list[int]:
    """Poll until what was read is enough, or the time is up: the offsets."""
    offsets: list[int] = []
    until = time.monotonic() + LIMIT_S
    while not enough(offsets) and time.monotonic() < until:
        offsets += [record.offset for record in member.poll(500).get(PARTITION, [])]
    return offsets


def main(bootstrap: str) -> int:
    """Tell the story; the exit code."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    create(admin)
    write(bootstrap, OLD)
    member = KafkaConsumer(NAME, bootstrap_servers=bootstrap, group_id=NAME, auto_offset_reset="earliest")
    before = read(member, lambda offsets: OLD - 1 in offsets)
    member.commit()
    print(f"read {before[:1]} to {before[-1:]} of the topic, committed {member.committed(PARTITION)}")

    admin.delete_topics([NAME])
    create(admin)
    write(bootstrap, NEW)
    print(f"the topic is another one now, with records 0 to {NEW - 1}")
    after = read(member, lambda offsets: NEW - 1 in offsets)
    if OLD - 1 not in before or not after:
        print("the story did not come so far")
        return 4
    member.commit()
    print(f"read {after[0]} to {after[-1]} of it, committed {member.committed(PARTITION)}")
    member.close()
    return 0 if after[0] == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
