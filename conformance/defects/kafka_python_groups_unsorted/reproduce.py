"""kafka-python as the leader of static and dynamic members gives some of them nothing, and others too much.

    python reproduce.py HOST:PORT        an Apache Kafka broker; needs kafka-python, nothing else

Three members with a group_instance_id and three without, of one group, and a topic with six partitions: each is to get
one. The leader divides the members into static and dynamic ones with itertools.groupby, over a list in the order of
JoinGroup's answer. That order is the broker's (a hash table by member id, which is drawn), so that now and then it is
sorted already: then the group is tried again under another name, ten times at most.

Exit code 1: a member has nothing though there is a partition for each; 0: each has one, in each of ten groups; 4: the
groups did not become stable.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer
from kafka.admin import NewTopic

LIMIT_S = 30
ATTEMPTS = 10
TOPIC = f"groups-unsorted-{uuid.uuid4().hex[:8]}"
MEMBERS = ("static-1", "static-2", "static-3", "dynamic-1", "dynamic-2", "dynamic-3")


def live(bootstrap: str, group: str, name: str, is_over: threading.Event) -> None:
    """One member: it polls until the group is over."""
    member = KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        client_id=name,
        group_id=group,
        group_instance_id=f"{group}-{name}" if name.startswith("static") else None,
        heartbeat_interval_ms=200,
    )
    while not is_over.is_set():
        member.poll(1_000)
    member.close()


def shares(admin: Any, group: str) -> dict[str, int] | None:
    """How many partitions each of the six has, as the coordinator tells; None if no round divides all in time."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        told = admin.describe_groups([group])[group]
        if told["group_state"] == "Stable":
            found = {one["client_id"]: share(one["member_assignment"]) for one in told["members"]}
            if len(found) == sum(found.values()) == len(MEMBERS):
                return found
        time.sleep(0.1)
    return None


def share(assignment: Any) -> int:
    """How many partitions it has."""
    return sum(len(topic["partitions"]) for topic in assignment["assigned_partitions"])


def try_once(bootstrap: str, admin: Any, group: str) -> dict[str, int] | None:
    """Let a group live until the coordinator has told what each member has."""
    is_over = threading.Event()
    threads = [threading.Thread(target=live, args=(bootstrap, group, name, is_over), daemon=True) for name in MEMBERS]
    for thread in threads:
        thread.start()
    found = shares(admin, group)
    is_over.set()
    for thread in threads:
        thread.join()
    return found


def main(bootstrap: str) -> int:
    """Try groups until one shows it; the exit code."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, len(MEMBERS), 1)])
    for attempt in range(1, ATTEMPTS + 1):
        found = try_once(bootstrap, admin, f"{TOPIC}-{attempt}")
        if found is None:
            print("the group did not become stable with all partitions assigned")
            return 4
        print(f"group {attempt}: " + ", ".join(f"{name} has {found[name]}" for name in MEMBERS))
        if 0 in found.values():
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
