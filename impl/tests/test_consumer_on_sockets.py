"""The whole consumer, with ordinary threads, over sockets: against the scripted broker."""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from groupspec.impl.broker.actions import CloseConnection, NeverReply, Reply
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.consumer import Consumer, ConsumerRecord, TopicPartition, WakeupError
from groupspec.impl.core.config import Settings
from groupspec.impl.core.errors import (
    CommitFailedError,
    ConfigError,
    IllegalStateError,
    KafkaTimeoutError,
    LogTruncationError,
    ProtocolError,
    UnreadableRecordsError,
)
from groupspec.impl.core.messages import FetchedPartition, FetchResponse, OffsetAndMetadata
from groupspec.impl.network.answers import error_code
from groupspec.impl.network.records import NewRecord, encode_records
from groupspec.impl.network.transport import SocketTransport
from groupspec.impl.partition_calls import OffsetAndTimestamp
from groupspec.impl.runtime import ThreadingRuntime
from groupspec.impl.testing import Callback
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.designs import DESIGNS, Design
from groupspec.impl.threads.heartbeat import HeartbeatDriver
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

    def __init__(self, broker: ScriptedBroker, rebalance: str, design: Design) -> None:
        self.rebalance = rebalance
        self.design = design
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
        self.consumer = Consumer(bootstrap_servers=broker.bootstrap, trace=self.trace.append, driver=design, **settings)
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


@pytest.fixture(params=list(DESIGNS))
def design(request: pytest.FixtureRequest) -> Design:
    chosen: Design = request.param
    return chosen


@pytest.fixture(params=list(STRATEGIES))
def member(request: pytest.FixtureRequest, broker: ScriptedBroker, design: Design) -> Iterator[Member]:
    member = Member(broker, request.param, design)
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
    heard = [event for event in member.heard() if "heartbeat" not in event]  # one may be answered late
    assert heard[-4:] == ["revoked", "leave_sent", "leave_answered", "closed"]
    assert broker.log.failure is None


def test_a_second_consumer_begins_where_the_first_one_ended(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    member.consumer.close()  # L5: auto-commit is on
    broker.append(TOPIC, 0, [b"one more"])
    second = Member(broker, "eager", member.design)
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


def test_L1_close_without_any_time_says_good_bye_all_the_same(broker: ScriptedBroker, member: Member) -> None:
    """As Java's AbstractCoordinator.maybeLeaveGroup, which moves bytes once, without waiting."""
    member.poll_until(member.is_told("assigned", *range(len(PARTITIONS))))
    member.consumer.close(0)
    broker.log.wait_for(lambda event: (event.kind, event.api) == ("request", "LeaveGroup"), 2.0, "LeaveGroup")


def test_close_with_nobody_there(design: Design) -> None:
    with ScriptedBroker(topics={TOPIC: 1}, lifetime_s=60) as broker:
        bootstrap = broker.bootstrap
    consumer = Consumer(TOPIC, bootstrap_servers=bootstrap, group_id=GROUP, driver=design)
    assert consumer.poll(50) == []
    consumer.close(500)


# What is left behind
# ------------------------------------------------------------------------------------------------------


def test_a_consumer_that_nobody_closed_ends_when_it_is_forgotten(broker: ScriptedBroker, design: Design) -> None:
    consumer = Consumer(TOPIC, bootstrap_servers=broker.bootstrap, group_id=GROUP, driver=design)
    driver = consumer._driver
    assert isinstance(driver, BackgroundDriver | HeartbeatDriver)
    end_ms = ThreadingRuntime().now_ms() + BOUND_MS
    while driver._thread is None and ThreadingRuntime().now_ms() < end_ms:
        consumer.poll(50)  # the heartbeat thread starts with the first JoinGroup
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        del consumer
        gc.collect()
    assert "<Consumer client_id='groupspec' group_id='billing'> was never closed" in [str(one.message) for one in said]
    assert driver._thread is not None
    assert driver._thread.join(BOUND_MS)
    assert cast("SocketTransport", driver._transport)._closed


def test_a_consumer_that_was_closed_is_forgotten_in_silence(broker: ScriptedBroker, design: Design) -> None:
    consumer = Consumer(bootstrap_servers=broker.bootstrap, driver=design)
    consumer.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        del consumer
        gc.collect()


def test_a_consumer_that_can_not_be_made_leaves_no_thread(broker: ScriptedBroker, design: Design) -> None:
    with pytest.raises(ConfigError, match="needs a group_id"):
        Consumer(TOPIC, bootstrap_servers=broker.bootstrap, driver=design)
    assert not [thread for thread in threading.enumerate() if thread.name in DESIGNS]


def test_a_child_process_is_refused_and_the_parent_does_not_notice(member: Member) -> None:
    member.poll_until(lambda: len(member.read) > 0)
    calls: list[Callable[[], object]] = [
        lambda: member.consumer.poll(0),
        lambda: member.consumer.commit(),
        lambda: member.consumer.wakeup(),
        lambda: member.consumer.close(),
    ]
    told = [in_a_child(call) for call in calls]
    assert all("ForkedConsumerError" in text and "Make a consumer after the fork" in text for text in told), told
    assert in_a_child(lambda: member.consumer.__exit__(None, None, None)) == "returned"
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    member.consumer.commit()


def in_a_child(call: Callable[[], object]) -> str:
    """What the call raises in a process that was forked from this one; bounded, and nothing else happens there."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(10)
        try:
            call()
            os.write(writing, b"returned")
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told


# What is said
# -------------------------------------------------------------------------------------------------------------


def test_the_log_tells_the_story_of_a_member(
    broker: ScriptedBroker, design: Design, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "groupspec.impl")
    runtime = ThreadingRuntime()
    end_ms = runtime.now_ms() + BOUND_MS
    with Consumer(
        TOPIC, "nowhere", bootstrap_servers=broker.bootstrap, group_id=GROUP, client_id="one", driver=design
    ) as consumer:
        while not consumer.assignment() and runtime.now_ms() < end_ms:
            consumer.poll(50)
    said = [record.getMessage() for record in caplog.records]
    assert all(text.startswith("[one, group billing] ") for text in said)
    story = "\n".join(said)
    assert re.search(r"Assigned orders-0, .*, orders-3 \(member \S+, generation 1, ASSIGNING_PARTITIONS\)", story)
    assert story.count("Topic nowhere does not exist (yet); asking again") == 1
    assert "Leaving the group: the consumer is being closed" in story


REFUSED: dict[str, tuple[str, str | int, str]] = {
    "JoinGroup, session timeout": ("JoinGroup", "INVALID_SESSION_TIMEOUT", r"session_timeout_ms=5000 .*group\.max\."),
    "JoinGroup, group": ("JoinGroup", "GROUP_AUTHORIZATION_FAILED", "'billing' refused: .*; grant READ on the group"),
    "Fetch, topic": ("Fetch", "TOPIC_AUTHORIZATION_FAILED", "Fetch of orders-.* refused: .*; grant READ on the topic"),
    "Metadata, topic": ("Metadata", "TOPIC_AUTHORIZATION_FAILED", "Metadata of .* refused: .*; grant READ"),
    "Metadata, number": ("Metadata", 777, "Metadata of .* refused: CODE_777; this client does not know"),
    "JoinGroup, number": ("JoinGroup", 777, "JoinGroup of member 'member' .* refused: CODE_777"),
    "SyncGroup, number": ("SyncGroup", 777, "SyncGroup .* refused: CODE_777"),
    "FindCoordinator, number": ("FindCoordinator", 777, "Finding the coordinator of group 'billing' .* CODE_777"),
    "OffsetFetch, number": ("OffsetFetch", 777, "Committed offset of orders-0, .* refused: CODE_777"),
    "ListOffsets, number": ("ListOffsets", 777, "Offsets of orders-.* refused: CODE_777"),
    "Fetch, corrupt": ("Fetch", 2, "Fetch of orders-.* refused: CORRUPT_MESSAGE; .* seek"),
}
"""What a broker answers to the first request, and what poll() raises."""


@pytest.mark.parametrize("refused", REFUSED)
def test_what_a_broker_refuses_is_raised_with_what_to_do_and_the_next_poll_tries_again(
    broker: ScriptedBroker, design: Design, refused: str
) -> None:
    api, error, message = REFUSED[refused]
    broker.on_next(api, Reply(error))
    member = Member(broker, "eager", design)
    try:
        with pytest.raises(ProtocolError, match=message) as raised:
            member.poll_until(lambda: False)
        assert raised.value.code == error_code(error)
        member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    finally:
        member.consumer.close()


def test_a_corrupt_batch_is_raised_again_and_again_until_the_application_moves_on(
    broker: ScriptedBroker, reader: Consumer
) -> None:
    spoilt = bytearray(encode_records([NewRecord(b"spoilt")], 1))
    spoilt[-3] ^= 1
    batches = encode_records([NewRecord(b"good")], 0) + bytes(spoilt)
    broker.on_next("Fetch", Reply(response=FetchResponse({PARTITIONS[0]: FetchedPartition(batches, RECORDS)})))
    assert [record.value for record in reader.poll(BOUND_MS)] == [b"good"]
    for _ in range(2):
        with pytest.raises(
            UnreadableRecordsError, match=r"orders-0 at offset 1: .*checksum.*seek\(orders-0, 2\)"
        ) as bad:
            reader.poll(BOUND_MS)
        assert reader.position(PARTITIONS[0]) == 1
    reader.seek(PARTITIONS[0], bad.value.next_offset)
    assert next(reader).offset == 2


UNCLOSED = """
import atexit, sys, threading
atexit.register(lambda: print([thread.name for thread in threading.enumerate()]))
from groupspec.impl.consumer import Consumer
consumer = Consumer("orders", bootstrap_servers=sys.argv[1], group_id="billing", driver=sys.argv[2])
while not consumer.assignment():
    consumer.poll(100)
"""


def test_a_program_that_ends_without_close_ends_at_once(broker: ScriptedBroker, design: Design) -> None:
    command = [sys.executable, "-W", "always", "-c", UNCLOSED, broker.bootstrap, design]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_MS / 1_000, check=True)
    assert ended.stdout == "['MainThread']\n", "a thread that is stopped in an import keeps its lock for ever"
    assert "was never closed" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_commit_without_a_broker_blames_nobody_else(design: Design) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nowhere = f"127.0.0.1:{probe.getsockname()[1]}"
    with Consumer(TOPIC, bootstrap_servers=nowhere, group_id=GROUP, retry_backoff_ms=20, driver=design) as consumer:
        consumer.poll(300)
        with pytest.raises(
            CommitFailedError, match=r"has not joined group 'billing' yet.*DISCONNECTED.*bootstrap_servers"
        ):
            consumer.commit({PARTITIONS[0]: 5})
        consumer.unsubscribe()
        consumer.assign(PARTITIONS)
        with pytest.raises(KafkaTimeoutError, match="not answered in time; the group's coordinator is unknown"):
            consumer.commit({PARTITIONS[0]: 5}, timeout_ms=100)
        consumer.close(100)


# What there is to read, and the ways to read it ----------------------------------------------------------------------


@pytest.fixture
def reader(broker: ScriptedBroker, design: Design) -> Iterator[Consumer]:
    """A consumer without a group, which has partition 0."""
    with Consumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", retry_backoff_ms=20, driver=design
    ) as consumer:
        consumer.assign(PARTITIONS[:1])
        yield consumer


def test_beginnings_ends_and_times(broker: ScriptedBroker, reader: Consumer) -> None:
    broker.append(TOPIC, 1, [NewRecord(b"later", timestamp_ms=1_000), NewRecord(b"last", timestamp_ms=2_000)])
    first, second = PARTITIONS[:2]
    assert reader.beginning_offsets([first, second]) == {first: 0, second: 0}
    assert reader.end_offsets([first, second]) == {first: RECORDS, second: RECORDS + 2}
    found = reader.offsets_for_times({first: 1, second: 1_500})
    assert found == {first: None, second: OffsetAndTimestamp(RECORDS + 1, 2_000, -1)}
    assert reader.end_offsets([]) == {}
    with pytest.raises(KafkaTimeoutError, match="no-such-topic-0"):
        reader.end_offsets([TopicPartition("no-such-topic", 0)], timeout_ms=300)


def test_topics_and_their_partitions(reader: Consumer) -> None:
    assert reader.topics() == {TOPIC}
    assert reader.partitions_for_topic(TOPIC) == {0, 1, 2, 3}
    assert reader.partitions_for_topic("no-such-topic") is None


def test_seeking_to_the_end_and_the_beginning(broker: ScriptedBroker, reader: Consumer) -> None:
    reader.seek_to_end()
    assert reader.position(PARTITIONS[0]) == RECORDS
    reader.seek_to_beginning(PARTITIONS[0])
    assert reader.highwater(PARTITIONS[0]) is None
    assert next(reader).offset == 0
    assert reader.highwater(PARTITIONS[0]) == RECORDS
    assert reader.current_lag(PARTITIONS[0]) == RECORDS - 1
    with pytest.raises(IllegalStateError, match="orders-1 is not assigned"):
        reader.seek_to_end(PARTITIONS[1])
    assert len(reader.poll(1_000, max_records=3)) == 3


def read_to_the_end_of_epoch_1(broker: ScriptedBroker, reader: Consumer) -> None:
    """Partition 0 has had two leaders, of which the second wrote three records; all of it is read."""
    broker.elect(TOPIC, 0, 1)
    broker.elect(TOPIC, 0, 2)
    broker.append(TOPIC, 0, [b"lost"] * 3)
    reader.seek(PARTITIONS[0], RECORDS)
    assert [next(reader).leader_epoch for _ in range(3)] == [1, 1, 1]


def test_what_a_new_leader_lacks_is_not_jumped_over(broker: ScriptedBroker, reader: Consumer) -> None:
    read_to_the_end_of_epoch_1(broker, reader)
    broker.elect(TOPIC, 0, 1, end=RECORDS)
    broker.append(TOPIC, 0, [b"new"] * 5)
    read = [next(reader) for _ in range(5)]
    assert [(record.offset, record.value) for record in read] == [(RECORDS + n, b"new") for n in range(5)]


def test_without_a_reset_policy_a_truncated_log_is_an_error_that_says_where(broker: ScriptedBroker) -> None:
    with Consumer(bootstrap_servers=broker.bootstrap, auto_offset_reset="none", retry_backoff_ms=20) as consumer:
        consumer.assign(PARTITIONS[:1])
        read_to_the_end_of_epoch_1(broker, consumer)
        broker.elect(TOPIC, 0, 1, end=RECORDS)
        broker.append(TOPIC, 0, [b"new"] * 5)
        for _ in range(2):  # until it has chosen
            with pytest.raises(LogTruncationError, match=f"{TOPIC}-0 .from offset {RECORDS} on.") as raised:
                next(consumer)
        place = raised.value.divergent_offsets[PARTITIONS[0]]
        assert place == OffsetAndMetadata(RECORDS, "", 1)
        consumer.seek(PARTITIONS[0], place)
        assert next(consumer).value == b"new"


def test_an_iteration_ends_when_nothing_more_comes(broker: ScriptedBroker) -> None:
    settings = Settings(auto_offset_reset="earliest", consumer_timeout_ms=300)
    with Consumer(bootstrap_servers=broker.bootstrap, value_deserializer=bytes.decode, **settings) as consumer:
        consumer.assign(PARTITIONS[:1])
        assert [(record.offset, record.value) for record in consumer] == [(n, f"value {n}") for n in range(RECORDS)]


def test_M4_what_an_iteration_has_not_handed_out_is_not_committed(broker: ScriptedBroker, member: Member) -> None:
    read = [next(member.consumer) for _ in range(3)]
    last = read[-1]
    assert [record.offset for record in read] == [0, 1, 2]
    member.consumer.commit()
    place = TopicPartition(last.topic, last.partition)
    assert member.consumer.committed([place]) == {place: OffsetAndMetadata(3)}


def test_who_a_member_is_and_a_rebalance_that_it_wants(broker: ScriptedBroker, member: Member) -> None:
    member.poll_until(member.is_told("assigned", 0, 1, 2, 3))
    before = member.consumer.group_metadata()
    assert (before.group_id, before.group_instance_id) == (GROUP, None)
    assert before.member_id
    assert before.generation_id >= 1
    member.consumer.enforce_rebalance("another disk")
    member.poll_until(lambda: member.consumer.group_metadata().generation_id > before.generation_id)
    reasons = [getattr(event.message, "reason", "") for event in broker.log.events if event.api == "JoinGroup"]
    assert "another disk" in reasons


def test_calls_about_a_group_need_one(reader: Consumer) -> None:
    with pytest.raises(ConfigError, match="needs a group_id"):
        reader.group_metadata()
    with pytest.raises(IllegalStateError, match="without topics"):
        reader.enforce_rebalance()


def test_designs_that_do_not_exist_are_named(broker: ScriptedBroker) -> None:
    with pytest.raises(ConfigError, match="driver='foreground': must be one of 'background', 'heartbeat'"):
        Consumer(bootstrap_servers=broker.bootstrap, driver="foreground")  # type: ignore[arg-type]


def test_a_subscription_by_pattern_finds_topics_that_come_later(broker: ScriptedBroker, design: Design) -> None:
    settings = Settings(group_id=GROUP, auto_offset_reset="earliest", metadata_max_age_ms=100, retry_backoff_ms=20)
    with Consumer(bootstrap_servers=broker.bootstrap, driver=design, **settings) as consumer:
        consumer.subscribe(pattern="^ord")
        assert next(consumer).topic == TOPIC
        assert consumer.subscription() == {TOPIC}
        broker.set_partitions("ordinary", 1)
        broker.append("ordinary", 0, [b"new"])
        assert next(record for record in consumer if record.topic == "ordinary").value == b"new"
        assert consumer.subscription() == {TOPIC, "ordinary"}


def test_metrics_have_kafkas_names(member: Member) -> None:
    member.poll_until(lambda: len(member.read) == RECORDS * len(PARTITIONS))
    found = member.consumer.metrics()
    assert found["consumer-coordinator-metrics"]["assigned-partitions"] == len(PARTITIONS)
    assert found["consumer-coordinator-metrics"]["rebalance-total"] == 1
    assert found["consumer-fetch-manager-metrics"]["records-consumed-total"] == RECORDS * len(PARTITIONS)
    assert found["consumer-fetch-manager-metrics"]["records-lag-max"] == 0
