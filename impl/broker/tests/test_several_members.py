"""Groups of several members behind the TCP broker: whole consumers that share one group, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from groupspec.impl.broker.actions import Reply
from groupspec.impl.broker.log import WireEvent
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.broker.tests.test_server import Client
from groupspec.impl.consumer import Consumer, TopicPartition
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.errors import FencedInstanceIdError
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from groupspec.impl.core.protocol import Subscription, encode_subscription
from groupspec.impl.runtime import ThreadingRuntime

pytestmark = pytest.mark.realtime

TOPIC, GROUP = "orders", "billing"
PARTITIONS = frozenset(TopicPartition(TOPIC, number) for number in range(4))
BOUND_MS = 10_000
SUBSCRIPTION = encode_subscription(Subscription((TOPIC,)))
SETTINGS = Settings(initial_rebalance_delay_ms=0, min_session_timeout_ms=500)


class Members:
    """Consumers of one group, polled in turn by one thread."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self.broker = broker
        self.all: list[Consumer] = []
        self._runtime = ThreadingRuntime()

    def new(self, instance: str | None = None, session_timeout_ms: int = 5_000) -> Consumer:
        """One more member."""
        consumer = Consumer(
            TOPIC,
            bootstrap_servers=self.broker.bootstrap,
            group_id=GROUP,
            group_instance_id=instance,
            heartbeat_interval_ms=50,
            session_timeout_ms=session_timeout_ms,
            retry_backoff_ms=20,
            partition_assignment_strategy=("range",),
        )
        self.all.append(consumer)
        return consumer

    def poll_until(self, happened: Callable[[], bool]) -> None:
        """All of them poll, as applications do, until it has happened."""
        deadline_ms = self._runtime.now_ms() + BOUND_MS
        while not happened():
            owned = [sorted(map(str, member.assignment())) for member in self.all]
            assert self._runtime.now_ms() < deadline_ms, f"not within {BOUND_MS} ms; they own {owned}"
            for member in self.all:
                member.poll(20)

    def share(self) -> None:
        """Until everybody owns something, and all partitions are owned once."""
        self.poll_until(self._shared)

    def _shared(self) -> bool:
        owned = [partition for member in self.all for partition in member.assignment()]
        return len(owned) == len(PARTITIONS) == len(set(owned)) and all(member.assignment() for member in self.all)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(nodes=2, topics={TOPIC: len(PARTITIONS)}, lifetime_s=60, groups=SETTINGS) as broker:
        yield broker


@pytest.fixture
def members(broker: ScriptedBroker) -> Iterator[Members]:
    members = Members(broker)
    yield members
    for member in members.all:
        member.close()


def joins(broker: ScriptedBroker) -> list[WireEvent]:
    return [event for event in broker.events if event.api == "JoinGroup" and event.kind == "request"]


def answers(broker: ScriptedBroker, api: str) -> list[WireEvent]:
    return [event for event in broker.events if event.api == api and event.kind == "response"]


def test_two_consumers_share_a_group_and_the_one_that_stays_gets_all(members: Members) -> None:
    first = members.new()
    members.share()
    assert first.assignment() == PARTITIONS
    second = members.new()
    members.share()
    assert len(second.assignment()) == 2
    members.all.remove(first)
    first.close()
    members.share()
    assert second.assignment() == PARTITIONS
    assert members.broker.log.failure is None


def test_G11_a_static_member_restarts_without_a_rebalance(members: Members) -> None:
    members.new("one")
    two = members.new("two")
    members.share()
    before = two.assignment()
    members.all.remove(two)
    two.close()  # a static member does not leave
    asked = len(joins(members.broker))
    restarted = members.new("two")
    members.share()
    assert restarted.assignment() == before
    assert len(joins(members.broker)) == asked + 1


def test_G11_of_two_consumers_with_one_instance_id_the_older_is_fenced(members: Members) -> None:
    older = members.new("one")
    members.share()
    newer = members.new("one")
    with pytest.raises(FencedInstanceIdError):
        members.poll_until(lambda: False)
    members.all.remove(older)
    older.close()
    members.share()
    assert newer.assignment() == PARTITIONS


def test_G5_a_member_that_vanishes_is_removed_when_its_session_is_over(
    members: Members, broker: ScriptedBroker
) -> None:
    survivor = members.new()
    members.share()
    ghost = Client(broker)
    ghost.send(JoinGroupRequest(GROUP, 500, 5_000, "", None, (("range", SUBSCRIPTION),)), version=3)
    members.poll_until(
        lambda: any(e.api == "JoinGroup" and e.version == 3 and e.kind == "response" for e in broker.events)
    )
    ghost.socket.close()
    members.poll_until(lambda: survivor.assignment() != PARTITIONS)
    members.share()
    assert survivor.assignment() == PARTITIONS


def test_G13_a_group_moves_with_its_members(members: Members, broker: ScriptedBroker) -> None:
    members.new(), members.new()
    members.share()
    before = [member.assignment() for member in members.all]
    asked = len(joins(broker))
    began = broker.note("the groups begin to move")
    broker.begin_move(2)
    broker.wait_for(lambda event: event.error == "NOT_COORDINATOR", 10, "an answer of the old node", began)
    broker.wait_for(lambda event: event.api == "Heartbeat" and event.node == 2, 10, "a heartbeat to the new one", began)
    broker.end_move()
    ended = broker.note("the groups have moved")
    for _ in members.all:
        ended = broker.wait_for(
            lambda event: event.api == "Heartbeat" and event.node == 2 and event.kind == "response",
            10,
            "answers",
            ended,
        )
        assert ended.error == "NONE"
    assert [member.assignment() for member in members.all] == before
    assert len(joins(broker)) == asked, "the group was stable, and is"


def test_several_leave_at_once_and_commits_to_unknown_topics_are_refused(broker: ScriptedBroker) -> None:
    client = Client(broker)
    known, unknown = TopicPartition(TOPIC, 0), TopicPartition("no such topic", 0)
    offsets = {place: OffsetAndMetadata(5) for place in (known, unknown)}
    committed = client.ask(OffsetCommitRequest(GROUP, -1, "", None, offsets), 9)
    refused = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert committed == OffsetCommitResponse({known: ErrorCode.NONE, unknown: refused})
    only = client.ask(OffsetCommitRequest(GROUP, -1, "", None, {unknown: OffsetAndMetadata(5)}), 9)
    assert only == OffsetCommitResponse({unknown: refused})
    fetched = client.ask(OffsetFetchRequest(GROUP, (known,)), 8)
    assert isinstance(fetched, OffsetFetchResponse)
    assert fetched.offsets[known].offset == 5
    left = client.ask(LeaveGroupRequest(GROUP, "a", None, others=(LeavingMember("b", None),)), 5)
    assert isinstance(left, LeaveGroupResponse)
    assert [member.error for member in left.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    client.socket.close()


def test_a_script_still_comes_first_and_the_group_is_nobodys_to_change(broker: ScriptedBroker) -> None:
    client = Client(broker)
    broker.on_next("Heartbeat", Reply("REBALANCE_IN_PROGRESS"))
    heartbeat = HeartbeatRequest(GROUP, 1, "stranger", None)
    assert client.ask(heartbeat, 4) == HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)
    assert client.ask(heartbeat, 4) == HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    with pytest.raises(ValueError, match="several members"):
        broker.announce_rebalance(GROUP)
    client.socket.close()
