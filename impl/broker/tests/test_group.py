"""The group that a scripted broker keeps: Apache Kafka's classic group, for one member."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.impl.broker.group import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, Group
from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

ORDERS = [TopicPartition("orders", number) for number in range(4)]
METADATA = encode_subscription(Subscription(("orders",)))
JOIN = JoinGroupRequest("g", 10_000, 60_000, "", None, (("range", METADATA), ("roundrobin", METADATA)))
EVERYTHING = encode_assignment(Assignment(tuple(ORDERS)))


class Client:
    """A member's side of the group."""

    def __init__(self, version: int = 9) -> None:
        self.notes: list[str] = []
        self.group = Group("g", lambda topic: 4 if topic == "orders" else 0, self.notes.append)
        self.version = version
        self.now_ms = 0
        self.member_id = ""
        self.generation = -1

    def join(self, request: JoinGroupRequest = JOIN) -> JoinGroupResponse:
        answer = self.group.join(replace(request, member_id=self.member_id), self.version, "client", self.now_ms)
        self.member_id = answer.member_id
        self.generation = answer.generation
        return answer

    def joined(self, request: JoinGroupRequest = JOIN) -> JoinGroupResponse:
        answer = self.join(request)
        if answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            answer = self.join(request)
        assert answer.error is ErrorCode.NONE
        return answer

    def sync(self, assignments: dict[str, bytes] | None = None) -> SyncGroupResponse:
        given = {self.member_id: EVERYTHING} if assignments is None else assignments
        return self.group.sync(
            SyncGroupRequest("g", self.generation, self.member_id, None, "range", tuple(given.items())), self.now_ms
        )

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest("g", self.generation, self.member_id, None)
        return self.group.heartbeat(request, self.now_ms).error

    def commit(self, offset: int = 5) -> ErrorCode:
        request = OffsetCommitRequest(
            "g", self.generation, self.member_id, None, {ORDERS[0]: OffsetAndMetadata(offset, "m", 3)}
        )
        return self.group.commit(request, self.now_ms).errors[ORDERS[0]]

    def stable(self) -> Client:
        self.joined()
        assert self.sync().error is ErrorCode.NONE
        return self


# Joining -------------------------------------------------------------------------------------------------------------


def test_G4_a_new_member_is_given_an_id_and_joins_with_it() -> None:
    client = Client()
    first = client.join()
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("client-")
    second = client.join()
    assert (second.error, second.generation, second.member_id) == (ErrorCode.NONE, 1, first.member_id)
    assert (second.leader, second.protocol_name) == (first.member_id, "range")
    assert [(m.member_id, m.metadata) for m in second.members] == [(first.member_id, METADATA)]


def test_G4_before_version_4_an_id_is_not_asked_for() -> None:
    answer = Client(version=3).join()
    assert (answer.error, answer.generation) == (ErrorCode.NONE, 1)


def test_a_static_member_is_not_asked_for_an_id_either() -> None:
    answer = Client().join(replace(JOIN, group_instance_id="i-1"))
    assert answer.error is ErrorCode.NONE
    assert answer.member_id.startswith("i-1-")


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (replace(JOIN, group_id=""), ErrorCode.INVALID_GROUP_ID),
        (replace(JOIN, session_timeout_ms=0), ErrorCode.INVALID_SESSION_TIMEOUT),
        (replace(JOIN, protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (replace(JOIN, member_id="stranger"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_G12_what_can_not_join(request_: JoinGroupRequest, error: ErrorCode) -> None:
    assert Client().group.join(request_, 9, "client", 0).error is error


def test_G2_G10_a_generation_begins_with_every_round() -> None:
    client = Client().stable()
    assert client.joined().generation == 2  # a leader that joins again always starts a round
    assert client.group.state == COMPLETING_REBALANCE
    assert client.joined().generation == 2  # unless one has just ended, and nothing is different
    assert client.joined(replace(JOIN, protocols=(("range", b"\0\0other"),))).generation == 3


def test_a_newcomer_takes_the_place_of_the_old_member() -> None:
    client = Client().stable()
    old_id = client.member_id
    client.member_id = ""
    client.joined()
    assert client.member_id != old_id
    assert f"member {old_id} is gone: another one came" in client.notes[0]
    client.member_id = old_id
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# Static members ------------------------------------------------------------------------------------------------------


def static_restart(version: int) -> tuple[Client, str, JoinGroupResponse]:
    client = Client(version)
    client.joined(replace(JOIN, group_instance_id="i-1"))
    old_id = client.member_id
    client.group.sync(SyncGroupRequest("g", 1, old_id, "i-1", "range", ((old_id, EVERYTHING),)), 0)
    client.member_id = ""
    return client, old_id, client.join(replace(JOIN, group_instance_id="i-1"))


def test_G11_a_static_member_comes_back_without_a_rebalance() -> None:
    client, old_id, answer = static_restart(9)
    assert (answer.error, answer.generation, answer.skip_assignment) == (ErrorCode.NONE, 1, True)
    assert answer.leader == answer.member_id != old_id
    assert len(answer.members) == 1
    synced = client.group.sync(SyncGroupRequest("g", 1, client.member_id, "i-1", "range"), 0)
    assert decode_assignment(synced.assignment).partitions == tuple(ORDERS)


def test_an_older_version_makes_the_returning_leader_a_follower() -> None:
    _, old_id, answer = static_restart(8)
    assert (answer.leader, answer.members, answer.skip_assignment) == (old_id, (), False)


def test_G11_the_old_id_of_an_instance_is_fenced() -> None:
    client, old_id, _ = static_restart(9)
    heartbeat = HeartbeatRequest("g", 1, old_id, "i-1")
    assert client.group.heartbeat(heartbeat, 0).error is ErrorCode.FENCED_INSTANCE_ID
    join = replace(JOIN, member_id=old_id, group_instance_id="i-1")
    assert client.group.join(join, 9, "client", 0).error is ErrorCode.FENCED_INSTANCE_ID
    unknown = replace(heartbeat, group_instance_id="i-2")
    assert client.group.heartbeat(unknown, 0).error is ErrorCode.UNKNOWN_MEMBER_ID


# What a member may do ------------------------------------------------------------------------------------------------


def test_a_stable_member_heartbeats_and_commits() -> None:
    client = Client().stable()
    assert client.group.state == STABLE
    assert client.group.assigned == tuple(ORDERS)
    assert (client.heartbeat(), client.commit(5)) == (ErrorCode.NONE, ErrorCode.NONE)
    fetched = client.group.fetch_offsets(OffsetFetchRequest("g", (ORDERS[0], ORDERS[1])))
    assert fetched.offsets == {ORDERS[0]: FetchedOffset(5, "m", 3), ORDERS[1]: FetchedOffset(-1)}
    assert list(client.group.fetch_offsets(OffsetFetchRequest("g", ())).offsets) == [ORDERS[0]]


def test_G9_a_second_sync_gets_the_same_assignment() -> None:
    client = Client().stable()
    assert client.sync({}).assignment == EVERYTHING


def test_G7_between_join_and_sync_a_heartbeat_is_fine_and_a_commit_is_not() -> None:
    client = Client()
    client.joined()
    assert (client.heartbeat(), client.commit()) == (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def test_G7_while_a_rebalance_is_announced_a_commit_is_fine_and_a_heartbeat_is_told() -> None:
    client = Client().stable()
    client.group.announce_rebalance()
    assert client.group.state == PREPARING_REBALANCE
    assert (client.heartbeat(), client.commit()) == (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE)
    assert client.sync().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert client.joined().generation == 2
    assert client.heartbeat() is ErrorCode.NONE


def test_G8_another_generation_is_illegal_and_comes_before_the_state() -> None:
    client = Client().stable()
    client.group.announce_rebalance()
    client.generation = 7
    errors = {client.heartbeat(), client.commit(), client.sync().error}
    assert errors == {ErrorCode.ILLEGAL_GENERATION}


def test_G8_a_stranger_is_unknown_before_its_generation_is_looked_at() -> None:
    client = Client().stable()
    client.member_id, client.generation = "stranger", 7
    assert {client.heartbeat(), client.commit(), client.sync().error} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_another_protocol_is_inconsistent() -> None:
    client = Client()
    client.joined()
    request = SyncGroupRequest("g", 1, client.member_id, None, "roundrobin")
    assert client.group.sync(request, 0).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_commits_without_membership() -> None:
    client = Client()
    assert client.commit() is ErrorCode.NONE  # nobody is in the group
    client.stable()
    anonymous = OffsetCommitRequest("g", -1, "", None, {ORDERS[0]: OffsetAndMetadata(1)})
    assert client.group.commit(anonymous, 0).errors[ORDERS[0]] is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_of_an_unknown_partition_fails_alone() -> None:
    client = Client().stable()
    strange = TopicPartition("payments", 0)
    positions = {ORDERS[0]: OffsetAndMetadata(1), strange: OffsetAndMetadata(1)}
    answer = client.group.commit(OffsetCommitRequest("g", 1, client.member_id, None, positions), 0)
    assert answer.errors == {ORDERS[0]: ErrorCode.NONE, strange: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


# How a membership ends -----------------------------------------------------------------------------------------------


def test_G2_a_member_that_leaves_is_unknown_and_the_generation_goes_on() -> None:
    client = Client().stable()
    assert client.group.leave(LeaveGroupRequest("g", client.member_id, None)).error is ErrorCode.NONE
    assert (client.group.state, client.group.generation) == (EMPTY, 2)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.group.leave(LeaveGroupRequest("g", client.member_id, None)).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_instance_can_be_removed_by_its_name_and_a_pending_id_forgotten() -> None:
    client, _, _ = static_restart(9)
    assert client.group.leave(LeaveGroupRequest("g", "", "i-1")).error is ErrorCode.NONE
    pending = client.group.hand_out_id("client")
    assert client.group.leave(LeaveGroupRequest("g", pending, None)).error is ErrorCode.NONE
    assert client.group.join(replace(JOIN, member_id=pending), 9, "c", 0).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_G5_a_session_ends_without_signs_of_life_but_not_while_a_request_waits() -> None:
    client = Client().stable()
    client.now_ms = 9_999
    assert client.heartbeat() is ErrorCode.NONE
    client.group.parked = 1
    client.group.expire(50_000)
    assert client.heartbeat() is ErrorCode.NONE
    client.group.parked = 0
    client.group.expire(19_998)
    assert client.heartbeat() is ErrorCode.NONE
    client.group.expire(client.now_ms + 10_000)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert "no sign of life for 10000 ms" in client.notes[-1]


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID])
def test_what_a_member_is_told_becomes_true(error: ErrorCode) -> None:
    client = Client().stable()
    client.group.said(error, "somebody else")
    assert client.heartbeat() is ErrorCode.NONE
    client.group.said(ErrorCode.REBALANCE_IN_PROGRESS, client.member_id)
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    client.group.said(error, client.member_id)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


# A phantom -----------------------------------------------------------------------------------------------------------


def test_a_phantom_is_in_the_leaders_list_with_what_it_was_given() -> None:
    client = Client().stable()
    client.group.add_phantom(Phantom())
    answer = client.joined()
    phantom = answer.members[1]
    assert decode_subscription(phantom.metadata) == Subscription(("orders",))
    half = encode_assignment(Assignment(tuple(ORDERS[2:])))
    client.sync({client.member_id: encode_assignment(Assignment(tuple(ORDERS[:2]))), phantom.member_id: half})
    assert client.group.assigned == tuple(ORDERS[:2])
    again = decode_subscription(client.joined().members[1].metadata)
    assert (again.owned, again.generation) == (tuple(ORDERS[2:]), 2)


def test_a_phantom_that_leads_takes_its_partitions_away() -> None:
    client = Client().stable()
    client.group.add_phantom(Phantom(leads=True, takes=frozenset(ORDERS[3:])))
    answer = client.joined()
    assert (answer.generation, answer.members) == (2, ())
    assert answer.leader != client.member_id
    assert decode_assignment(client.sync({}).assignment).partitions == tuple(ORDERS[:3])
    assert client.joined().generation == 2  # a follower that brings nothing new starts no round
    client.group.remove_phantom()
    assert client.joined().members[0].member_id == client.member_id
