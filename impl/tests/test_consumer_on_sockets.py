"""The whole consumer, with ordinary threads, over sockets: against the scripted broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from groupspec.impl.broker.actions import CloseConnection, NeverReply, Reply
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.consumer import Consumer, ConsumerRecord, Settings, TopicPartition, WakeupError
from groupspec.impl.core.messages import OffsetAndMetadata
from groupspec.impl.runtime import ThreadingRuntime
from groupspec.impl.threads.testing import Callback
from groupspec.impl.trace import TraceEvent

pytestmark = pytest.mark.realtime

TOPIC = "orders"
GROUP = "billing"
RECORDS = 25
BOUND_MS = 10_000
PARTITIONS = tuple(TopicPartition(TOPIC, number) for number in range(4))
STRATEGIES = {"eager": ("range",), "cooperative": ("cooperative-sticky",)}


class Member:
    """A consumer, what its listener was told, and what it has read."""

    def __init__(self, broker: ScriptedBroker, rebalance: str) -> None:
        self.rebalance = rebalance
        self.told: list[Callback] = []
        self.read: list[ConsumerRecord] = []
        self.trace: list[TraceEvent] = []
        settings = Settings(
            group_id=GROUP,
            client_id="member",
            auto_offset_reset="earliest",
            heartbeat_interval_ms=50,
            session_timeout_ms=5_000,
            retry_backoff_ms=20,
            partition_assignment_strategy=STRATEGIES[rebalance],
        )
        self.consumer = Consumer(bootstrap_servers=broker.bootstrap, trace=self.trace.append, **settings)
        self.consumer.subscribe([TOPIC], self)

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        self.told.append(Callback("revoked", tuple(partitions)))

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        self.told.append(Callback("assigned", tuple(partitions)))

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        self.told.append(Callback("lost", tuple(partitions)))

    def poll_until(self, happened: Callable[[], bool]) -> None:
        """Poll, as an application does, until it has happened."""
        runtime = ThreadingRuntime()
        deadline_ms = runtime.now_ms() + BOUND_MS
        while not happened():
            assert runtime.now_ms() < deadline_ms, f"not within {BOUND_MS} ms; told {self.told}, read {len(self.read)}"
            self.read += self.consumer.poll(50)

    def is_told(self, kind: str, *numbers: int) -> Callable[[], bool]:
        """Whether the latest callback was this one."""
        expected = Callback(kind, tuple(PARTITIONS[number] for number in numbers))
        return lambda: bool(self.told) and self.told[-1] == expected

    def heard(self) -> list[str]:
        """The names of the trace's events."""
        return [event.event for event in self.trace]


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(nodes=2, topics={TOPIC: len(PARTITIONS)}, lifetime_s=60) as broker:
        for partition in PARTITIONS:
            broker.append(TOPIC, partition.partition, [b"value %d" % number for number in range(RECORDS)])
        yield broker


@pytest.fixture(params=list(STRATEGIES))
def member(request: pytest.FixtureRequest, broker: ScriptedBroker) -> Iterator[Member]:
    member = Member(broker, request.param)
    yield member
    member.consumer.close()


def test_join_consume_commit_close(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    for partition in PARTITIONS:
        offsets = [record.offset for record in member.read if record.partition == partition.partition]
        assert offsets == list(range(RECORDS))
        assert member.consumer.position(partition) == RECORDS
    assert {record.value for record in member.read} == {b"value %d" % number for number in range(RECORDS)}
    member.consumer.commit()
    committed = dict.fromkeys(PARTITIONS, OffsetAndMetadata(RECORDS))
    assert member.consumer.committed(PARTITIONS) == committed
    member.consumer.close()
    assert member.told == [Callback("assigned", PARTITIONS), Callback("revoked", PARTITIONS)]
    assert member.heard()[-4:] == ["revoked", "leave_sent", "leave_answered", "closed"]
    assert broker.log.failure is None


def test_a_second_consumer_begins_where_the_first_one_ended(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    member.consumer.close()  # L5: auto-commit is on
    broker.append(TOPIC, 0, [b"one more"])
    second = Member(broker, "eager")
    try:
        second.poll_until(lambda: bool(second.read))
        assert [(record.partition, record.offset, record.value) for record in second.read] == [
            (0, RECORDS, b"one more")
        ]
    finally:
        second.consumer.close()


def test_a_rebalance_that_takes_a_partition_away(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(member.is_told("assigned", 0, 1, 2, 3))
    broker.add_phantom(GROUP, leads=True, takes=[PARTITIONS[3]])
    broker.announce_rebalance(GROUP)
    member.poll_until(
        lambda: member.consumer.assignment() == set(PARTITIONS[:3]) and member.told[-1].kind == "assigned"
    )
    if member.rebalance == "eager":
        assert member.told[1:] == [Callback("revoked", PARTITIONS), Callback("assigned", PARTITIONS[:3])]
    else:
        assert member.told[1:3] == [Callback("revoked", PARTITIONS[3:]), Callback("assigned", ())]


def test_a_member_that_the_group_has_forgotten_loses_all_and_joins_again(
    broker: ScriptedBroker, member: Member
) -> None:
    member.poll_until(member.is_told("assigned", 0, 1, 2, 3))
    broker.on_next("Heartbeat", Reply("UNKNOWN_MEMBER_ID"))
    member.poll_until(lambda: len(member.told) == 3)
    assert member.told[1:] == [Callback("lost", PARTITIONS), Callback("assigned", PARTITIONS)]


def test_a_coordinator_that_moves_is_found_again(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(member.is_told("assigned", 0, 1, 2, 3))
    moved = broker.note("the coordinator moves")
    broker.coordinator = 2
    member.poll_until(lambda: member.heard().count("lookup_answered") >= 2)
    broker.wait_for(
        lambda event: event.api == "Heartbeat" and event.kind == "request" and event.node == 2, 10, "a heartbeat", moved
    )
    assert member.told == [Callback("assigned", PARTITIONS)]


def test_connections_that_break_are_made_anew(broker: ScriptedBroker, member: Member) -> None:
    broker.on_next("JoinGroup", CloseConnection())
    broker.on_next("Fetch", CloseConnection(), times=2)
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))


def test_wakeup_comes_out_of_a_poll_in_another_thread(member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    runtime = ThreadingRuntime()
    waker = runtime.thread(member.consumer.wakeup, "waker")
    waker.start()
    with pytest.raises(WakeupError):
        member.consumer.poll(BOUND_MS)
    assert waker.join(BOUND_MS)
    assert member.consumer.poll(0) == []


def test_L2_close_ends_in_time_though_the_coordinator_is_silent(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    broker.always("OffsetCommit", NeverReply())
    broker.always("LeaveGroup", NeverReply())
    runtime = ThreadingRuntime()
    before_ms = runtime.now_ms()
    member.consumer.close(300)
    assert runtime.now_ms() - before_ms < BOUND_MS
    assert member.told[-1] == Callback("revoked", PARTITIONS)


def test_close_with_nobody_there() -> None:
    with ScriptedBroker(topics={TOPIC: 1}, lifetime_s=60) as broker:
        bootstrap = broker.bootstrap
    consumer = Consumer(TOPIC, bootstrap_servers=bootstrap, group_id=GROUP)
    assert consumer.poll(50) == []
    consumer.close(500)
