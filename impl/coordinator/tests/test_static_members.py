"""Members with an instance id (KIP-345, rule G11): replaced, fenced, waited for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from groupspec.impl.coordinator.context import GroupRequest
from groupspec.impl.coordinator.tests.bench import (
    GROUP,
    JOIN,
    PLACE,
    REBALANCE_MS,
    SESSION_MS,
    SETTINGS,
    Bench,
    Client,
    stable,
)
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    SyncGroupRequest,
)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def static_pair(bench: Bench) -> tuple[Client, Client]:
    one, two = Client(bench, instance="one"), Client(bench, instance="two")
    stable(bench, one, two)
    return one, two


def test_G11_a_static_member_is_added_without_being_asked_for_an_id(bench: Bench) -> None:
    one = Client(bench, instance="one").join()
    bench.pass_ms(0)
    assert one.joined().error is ErrorCode.NONE
    assert one.member_id.startswith("one-")


@pytest.mark.parametrize("version", [5, 8, 9])
def test_G11_the_leader_returns_in_stable_without_a_rebalance(bench: Bench, version: int) -> None:
    one, two = static_pair(bench)
    old_id = one.member_id
    back = Client(bench, version, "one").join()
    answer = back.joined()
    assert (answer.error, answer.generation) == (ErrorCode.NONE, two.generation)
    assert back.member_id != old_id
    assert bench.group.leader == back.member_id
    if version >= 9:
        assert (answer.leader, answer.skip_assignment, len(answer.members)) == (back.member_id, True, 2)
    else:
        assert (answer.leader, answer.skip_assignment, answer.members) == (old_id, False, ())
    assert back.sync().synced().assignment == b"assignment-0"
    assert two.heartbeat() is ErrorCode.NONE


def test_G11_a_follower_returns_in_stable_as_a_follower(bench: Bench) -> None:
    one, _ = static_pair(bench)
    answer = Client(bench, instance="two").join().joined()
    assert (answer.leader, answer.skip_assignment, answer.members) == (one.member_id, False, ())


def test_G11_the_old_id_is_fenced_by_every_request(bench: Bench) -> None:
    one, _ = static_pair(bench)
    old = one.member_id
    Client(bench, instance="one").join()
    offsets = {PLACE: OffsetAndMetadata(1)}
    requests: list[GroupRequest] = [
        replace(JOIN, member_id=old, group_instance_id="one"),
        SyncGroupRequest(GROUP, one.generation, old, "one", "range"),
        HeartbeatRequest(GROUP, one.generation, old, "one"),
        LeaveGroupRequest(GROUP, old, "one"),
        OffsetCommitRequest(GROUP, one.generation, old, "one", offsets),
    ]
    for request in requests:
        answer = bench.ask(request, 9 if isinstance(request, JoinGroupRequest | OffsetCommitRequest) else 5)
        assert answer.error is ErrorCode.FENCED_INSTANCE_ID, request
    unknown = HeartbeatRequest(GROUP, one.generation, old, "three")
    assert bench.ask(unknown).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_G11_requests_of_the_old_id_that_wait_are_fenced(bench: Bench) -> None:
    one, two = static_pair(bench)
    two.join(protocols=(("range", b"news"),))
    Client(bench, instance="two").join()
    assert two.joined().error is ErrorCode.FENCED_INSTANCE_ID
    one.join()
    one.joined()
    new = Client(bench, member_id=bench.group.static_ids["two"], instance="two", generation=one.generation).sync()
    Client(bench, instance="two").join()
    assert new.synced().error is ErrorCode.FENCED_INSTANCE_ID


def test_G11_a_return_in_the_sync_phase_begins_the_join_phase(bench: Bench) -> None:
    one, two = static_pair(bench)
    one.join(), two.join(protocols=(("range", b"news"),))
    one.join()
    one.joined(), two.joined()
    back = Client(bench, instance="two").join()
    assert (back.is_joining(), one.heartbeat()) == (True, ErrorCode.REBALANCE_IN_PROGRESS)


def test_G11_a_return_that_changes_the_protocol_begins_the_join_phase(bench: Bench) -> None:
    one, _ = static_pair(bench)
    back = Client(bench, instance="two", request=replace(JOIN, protocols=(("roundrobin", b"RR"),))).join()
    assert back.is_joining()
    one.join()
    assert back.joined().protocol_name == "roundrobin"


def test_G11_a_static_member_survives_the_join_phase_and_is_removed_for_not_syncing(bench: Bench) -> None:
    one, two = static_pair(bench)
    long = replace(JOIN, session_timeout_ms=20 * REBALANCE_MS)
    gone = Client(bench, instance="three", request=long).join()
    one.join(), two.join()
    assert gone.joined().error is ErrorCode.NONE
    two.join(protocols=(("range", b"news"),))
    one.join()
    assert one.is_joining(), "the third one has not joined again"
    bench.pass_ms(REBALANCE_MS)
    assert len(one.joined().members) == 3
    two.joined()
    one.sync(), two.sync()
    for _ in range(12):
        bench.pass_ms(SESSION_MS // 2)
        one.heartbeat(), two.heartbeat()
    assert gone.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_if_only_static_members_are_left_the_join_phase_goes_on(bench: Bench) -> None:
    request = replace(JOIN, session_timeout_ms=10 * REBALANCE_MS)
    one = Client(bench, instance="one", request=request)
    dynamic = Client(bench, request=request)
    stable(bench, one, dynamic)
    dynamic.leave()
    before = bench.group.generation
    bench.pass_ms(3 * REBALANCE_MS)
    assert (bench.group.state, bench.group.generation) == ("PreparingRebalance", before)
    assert one.join().joined().generation == before + 1


def test_an_administrator_removes_a_static_member_by_its_instance_id(bench: Bench) -> None:
    one, two = static_pair(bench)
    assert bench.ask(LeaveGroupRequest(GROUP, "", "two"), 5).error is ErrorCode.NONE
    assert bench.ask(LeaveGroupRequest(GROUP, "", "two"), 5).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert two.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_has_not_synced_when_it_returns_is_waited_for_by_its_old_id(bench: Bench) -> None:
    """ClassicGroup.replaceStaticMember leaves the old id among the pending syncs: a rebalance that removes nobody."""
    one, two = static_pair(bench)
    one.join(), two.join(protocols=(("range", b"news"),))
    one.joined(), two.joined()
    one.sync()
    assert bench.group.state == "Stable"
    back = Client(bench, instance="two", request=replace(JOIN, protocols=(("range", b"news"),))).join()
    assert back.joined().error is ErrorCode.NONE
    assert back.sync().synced().error is ErrorCode.NONE
    for _ in range(12):
        bench.pass_ms(SESSION_MS // 2)
        assert one.heartbeat() in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
        back.heartbeat()
    assert one.heartbeat() is back.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_new_id_that_the_log_refuses_is_taken_back() -> None:
    bench = Bench(SETTINGS, holds_writes=True)
    one = Client(bench, version=5, instance="one").join()
    bench.pass_ms(0)
    bench.write()
    one.joined()
    one.sync((one, b"all"))
    bench.write()
    back = Client(bench, instance="one").join()
    assert back.is_joining()
    bench.write(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (back.joined().error, back.joined().member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert one.heartbeat() is ErrorCode.NONE
