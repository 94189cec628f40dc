"""What a scenario needs besides a coordinator: one client at a time, a phantom, and words that become true."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from groupspec.impl.broker.coordinators import Answers
from groupspec.impl.broker.one_client import OneClient
from groupspec.impl.broker.phantom import Phantom
from groupspec.impl.coordinator.context import Caller, GroupRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
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

GROUP = "g"
ORDERS = [TopicPartition("orders", number) for number in range(4)]
METADATA = encode_subscription(Subscription(("orders",)))
JOIN = JoinGroupRequest(GROUP, 10_000, 60_000, "", None, (("range", METADATA),))
EVERYTHING = encode_assignment(Assignment(tuple(ORDERS)))


def partitions_of(topic: str) -> int:
    return 4 if topic == "orders" else 0


@dataclass
class Client:
    """A member's side of the group, in virtual time."""

    version: int = 9
    instance: str | None = None
    notes: list[str] = field(default_factory=list)
    now_ms: int = 0
    member_id: str = ""
    generation: int = -1

    def __post_init__(self) -> None:
        self.groups = OneClient(2, partitions_of, self.notes.append)
        self._handles = count(1)
        self._answers: dict[int, Any] = {}

    def take(self, answers: Answers) -> None:
        assert all(handle > 0 for handle in answers), "a phantom's answer is nobody's"
        self._answers |= answers

    def send(self, request: GroupRequest, node: int = 1) -> int:
        handle = next(self._handles)
        self.take(self.groups.ask(handle, request, node, Caller(self.version, "client"), self.now_ms))
        return handle

    def ask(self, request: GroupRequest) -> Any:
        handle = self.send(request)
        self.pass_ms(10)
        return self._answers[handle]

    def pass_ms(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while (deadline_ms := self.groups.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.take(self.groups.advance(self.now_ms))
        self.now_ms = end_ms

    def joined(self, request: JoinGroupRequest = JOIN) -> JoinGroupResponse:
        instance = self.instance or request.group_instance_id
        answer: JoinGroupResponse = self.ask(replace(request, member_id=self.member_id, group_instance_id=instance))
        self.member_id, self.generation = answer.member_id, answer.generation
        return self.joined(request) if answer.error is ErrorCode.MEMBER_ID_REQUIRED else answer

    def synced(self, **assignments: bytes) -> SyncGroupResponse:
        given = tuple(assignments.items()) or ((self.member_id, EVERYTHING),)
        answer: SyncGroupResponse = self.ask(
            SyncGroupRequest(GROUP, self.generation, self.member_id, self.instance, "range", given)
        )
        return answer

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance)

    def heartbeat(self) -> ErrorCode:
        error: ErrorCode = self.ask(self.heartbeat_request()).error
        return error

    def requests(self) -> dict[str, GroupRequest]:
        """Each request that names member and generation."""
        identity = GROUP, self.generation, self.member_id, self.instance
        commit = OffsetCommitRequest(*identity, {ORDERS[0]: OffsetAndMetadata(1)})
        sync = SyncGroupRequest(*identity, "range", ((self.member_id, EVERYTHING),))
        return {"heartbeat": HeartbeatRequest(*identity), "commit": commit, "sync": sync}

    def errors(self) -> set[ErrorCode]:
        """What each of them is answered."""
        return {self.ask(request).error for request in self.requests().values()}

    def is_told(self, error: ErrorCode, request: GroupRequest) -> Any:
        answer, others = self.groups.refuse(request, error, Caller(self.version, "client"), self.now_ms)
        self.take(others)
        return answer

    def stable(self) -> Client:
        self.joined()
        assert self.synced().error is ErrorCode.NONE
        return self


# One client at a time ------------------------------------------------------------------------------------------------


def test_a_newcomer_takes_the_place_of_the_old_member() -> None:
    client = Client().stable()
    old_id, client.member_id = client.member_id, ""
    assert client.joined().generation == 3, "a group that has become Empty meanwhile has had a generation of its own"
    assert client.member_id != old_id
    assert f"member {old_id} is gone: another one came" in client.notes[0]
    client.member_id = old_id
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_nobody_waits_for_an_id_that_was_handed_out_and_never_used() -> None:
    client = Client().stable()
    assert client.ask(JOIN).error is ErrorCode.MEMBER_ID_REQUIRED
    assert client.joined().generation == 2


def test_a_static_member_that_returns_keeps_its_place() -> None:
    client = Client()
    static = replace(JOIN, group_instance_id="i-1")
    client.joined(static)
    old_id, client.member_id = client.member_id, ""
    client.ask(SyncGroupRequest(GROUP, 1, old_id, "i-1", "range", ((old_id, EVERYTHING),)))
    assert client.joined(static).generation == 1
    assert client.notes == []


def test_a_session_ends_without_signs_of_life_but_not_while_a_script_holds_a_request_back() -> None:
    client = Client().stable()
    with client.groups.held(client.heartbeat_request()):
        client.pass_ms(50_000)
    assert client.heartbeat() is ErrorCode.NONE
    client.pass_ms(9_000)
    assert client.heartbeat() is ErrorCode.NONE
    client.pass_ms(10_000)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.notes == [f"group g: member {client.member_id} is gone: no sign of life for 10000 ms"]


# What a script says --------------------------------------------------------------------------------------------------


IDENTITY = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)
"""What no Kafka says to one request of an identity, and not to the next: ClassicGroup.validateMember, generationId."""


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance", "CompletingRebalance"])
@pytest.mark.parametrize("told_by", ["heartbeat", "commit", "sync"])
@pytest.mark.parametrize("error", IDENTITY)
def test_an_identity_is_refused_for_all_of_its_requests_or_for_none(error: ErrorCode, told_by: str, state: str) -> None:
    client = Client(instance="i" if error is ErrorCode.FENCED_INSTANCE_ID else None)
    client.joined()
    if state != "CompletingRebalance":
        assert client.synced().error is ErrorCode.NONE
    if state == "PreparingRebalance":
        client.is_told(ErrorCode.REBALANCE_IN_PROGRESS, client.heartbeat_request())
    group = client.groups.group(GROUP)
    assert group is not None
    assert group.state == state
    stranger = replace(client.heartbeat_request(), member_id="somebody else", generation=99)
    assert client.is_told(error, stranger).error is error
    assert client.heartbeat() not in IDENTITY
    assert client.is_told(error, client.requests()[told_by]).error is error
    assert client.errors() == {error}
    client.member_id = client.member_id if error is ErrorCode.ILLEGAL_GENERATION else ""
    assert client.joined().error is ErrorCode.NONE
    assert client.synced().error is ErrorCode.NONE
    assert client.errors() == {ErrorCode.NONE}


def test_an_illegal_generation_is_one_wherever_the_group_moves() -> None:
    client = Client().stable()
    client.is_told(ErrorCode.ILLEGAL_GENERATION, client.heartbeat_request())
    client.take(client.groups.begin_move(2, client.now_ms))
    client.take(client.groups.end_move(client.now_ms))
    assert client._answers[client.send(client.heartbeat_request(), node=2)].error is ErrorCode.ILLEGAL_GENERATION


def test_what_is_said_of_an_identity_of_before_leaves_the_present_one_alone() -> None:
    client = Client().stable()
    before = client.heartbeat_request()
    client.joined()
    client.synced()
    client.is_told(ErrorCode.ILLEGAL_GENERATION, before)
    assert client.errors() == {ErrorCode.NONE}


def test_who_has_no_instance_id_is_not_told_that_another_has_it() -> None:
    client = Client().stable()
    with pytest.raises(ValueError, match="no instance id"):
        client.is_told(ErrorCode.FENCED_INSTANCE_ID, client.heartbeat_request())


def test_an_id_that_was_handed_out_is_unknown_once_that_was_said() -> None:
    client = Client()
    request = replace(JOIN, member_id=client.ask(JOIN).member_id)
    assert client.is_told(ErrorCode.UNKNOWN_MEMBER_ID, request).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.ask(request).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_a_script_hands_out_can_be_joined_with() -> None:
    client = Client(version=3)
    client.member_id = client.is_told(ErrorCode.MEMBER_ID_REQUIRED, JOIN).member_id
    assert client.member_id.startswith("client-")
    assert client.joined().error is ErrorCode.NONE


def test_who_waits_for_its_assignment_hears_of_the_rebalance_that_a_script_announces() -> None:
    client = Client()
    client.joined()
    group = client.groups.group(GROUP)
    assert group is not None
    assert group.state == "CompletingRebalance"
    client.take(client.groups.announce_rebalance(GROUP, client.now_ms))
    assert client.synced().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert client.joined().generation == 2


# A phantom -----------------------------------------------------------------------------------------------------------


def test_a_phantom_is_in_the_leaders_list_with_what_it_was_given() -> None:
    client = Client()
    client.groups.add_phantom(Phantom(GROUP, partitions_of))
    first = client.joined()
    assert first.leader == client.member_id
    phantom = next(member for member in first.members if member.member_id != client.member_id)
    assert decode_subscription(phantom.metadata) == Subscription(("orders",))
    halves = [encode_assignment(Assignment(tuple(ORDERS[start : start + 2]))) for start in (0, 2)]
    client.synced(**dict(zip((client.member_id, phantom.member_id), halves, strict=True)))
    assert client.groups.assigned(GROUP) == tuple(ORDERS[:2])
    again = next(member for member in client.joined().members if member.member_id == phantom.member_id)
    subscription = decode_subscription(again.metadata)
    assert (subscription.owned, subscription.generation) == (tuple(ORDERS[2:]), 1)


def test_a_phantom_that_leads_takes_its_partitions_away() -> None:
    client = Client().stable()
    client.groups.add_phantom(Phantom(GROUP, partitions_of, leads=True, takes=frozenset(ORDERS[3:])))
    answer = client.joined()
    assert (answer.generation, answer.members) == (2, ())
    assert answer.leader != client.member_id
    assert decode_assignment(client.synced().assignment).partitions == tuple(ORDERS[:3])
    assert client.joined().generation == 2, "a follower that brings nothing new starts no round"
    client.take(client.groups.remove_phantom(GROUP, client.now_ms))
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert [member.member_id for member in client.joined().members] == [client.member_id]


def test_a_phantom_goes_on_alone_and_takes_a_newcomer_in() -> None:
    client = Client().stable()
    client.groups.add_phantom(Phantom(GROUP, partitions_of))
    client.joined()
    client.synced()
    client.is_told(ErrorCode.UNKNOWN_MEMBER_ID, client.heartbeat_request())
    group = client.groups.group(GROUP)
    assert group is not None
    assert (group.state, len(group.members)) == ("Stable", 1)
    client.member_id = ""
    joined = client.joined()
    assert (joined.leader, len(joined.members)) == (client.member_id, 2)


def test_the_group_moves_with_its_phantom() -> None:
    client = Client().stable()
    client.groups.add_phantom(Phantom(GROUP, partitions_of))
    client.joined()
    client.synced()
    client.take(client.groups.begin_move(2, client.now_ms))
    client.take(client.groups.end_move(client.now_ms))
    assert client.ask(client.heartbeat_request()).error is ErrorCode.NOT_COORDINATOR
    handle = client.send(client.heartbeat_request(), node=2)
    assert client._answers[handle].error is ErrorCode.NONE


def test_the_positions_that_a_group_begins_with() -> None:
    client = Client()
    offsets = {ORDERS[0]: OffsetAndMetadata(3)}
    client.groups.commit(OffsetCommitRequest(GROUP, -1, "", None, offsets), client.now_ms)
    group = client.groups.group(GROUP)
    assert group is not None
    assert group.offsets == offsets
    assert client.groups.assigned(GROUP) == ()
