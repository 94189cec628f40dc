"""The join phase and the sync phase of groups of several members: rules G1 to G10 of a broker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.coordinator.tests.bench import (
    GROUP,
    JOIN,
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
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    SyncGroupRequest,
)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def pair(bench: Bench) -> tuple[Client, Client]:
    first, second = Client(bench), Client(bench)
    stable(bench, first, second)
    return first, second


# The join phase ------------------------------------------------------------------------------------------------------


def test_G1_the_join_phase_waits_for_every_member(bench: Bench) -> None:
    first, second = pair(bench)
    third = Client(bench).join()
    first.join()
    assert (first.is_joining(), third.is_joining()) == (True, True)
    second.join()
    answers = [client.joined() for client in (first, second, third)]
    assert [answer.generation for answer in answers] == [first.generation] * 3
    assert {answer.leader for answer in answers} == {first.member_id}
    assert [len(answer.members) for answer in answers] == [3, 0, 0]
    assert {member.metadata for member in answers[0].members} == {b"R"}


def test_G1_it_waits_for_an_id_that_was_handed_out(bench: Bench) -> None:
    first = Client(bench)
    stable(bench, first)
    asked = bench.ask(JOIN)
    assert asked.error is ErrorCode.MEMBER_ID_REQUIRED
    first.join()
    assert first.is_joining()
    bench.send(structs.replace(JOIN, member_id=asked.member_id))
    assert not first.is_joining()
    assert len(first.joined().members) == 2


def test_G1_a_leave_begins_the_join_phase_and_may_end_it(bench: Bench) -> None:
    first, second = pair(bench)
    third = Client(bench).join()
    first.join()
    assert second.leave() is ErrorCode.NONE
    assert [client.joined().error for client in (first, third)] == [ErrorCode.NONE] * 2
    assert third.leave() is ErrorCode.NONE
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_G2_the_generation_grows_when_the_join_phase_ends_also_with_nobody(bench: Bench) -> None:
    first, second = pair(bench)
    before = bench.group.generation
    first.leave()
    assert bench.group.generation == before
    second.leave()
    assert (bench.group.state, bench.group.generation) == ("Empty", before + 1)
    assert (bench.group.protocol_name, bench.group.leader) == (None, None)


def test_G3_an_empty_group_waits_and_waits_again_for_newcomers() -> None:
    bench = Bench(Settings(initial_rebalance_delay_ms=3_000, offsets_partitions=1))
    first = Client(bench).join()
    bench.pass_ms(2_900)
    second = Client(bench).join()
    bench.pass_ms(3_000)
    assert (first.is_joining(), second.is_joining()) == (True, True)
    bench.pass_ms(100)
    assert [client.joined().generation for client in (first, second)] == [1, 1]


def test_G3_the_delay_ends_with_the_rebalance_timeout() -> None:
    bench = Bench(Settings(initial_rebalance_delay_ms=3_000, offsets_partitions=1))
    clients = [Client(bench, request=structs.replace(JOIN, rebalance_timeout_ms=7_000)).join()]
    for _ in range(2):
        bench.pass_ms(2_999)
        clients.append(Client(bench, request=structs.replace(JOIN, rebalance_timeout_ms=7_000)).join())
    bench.pass_ms(1_001)
    assert all(client.is_joining() for client in clients)
    bench.pass_ms(1)
    assert all(client.joined().generation == 1 for client in clients)


def test_G3_whoever_leaves_does_not_end_the_delay_but_a_session_that_expires_does() -> None:
    bench = Bench(Settings(initial_rebalance_delay_ms=30_000, offsets_partitions=1))
    first, second = Client(bench).join(), Client(bench).join()
    second.leave()
    assert first.is_joining()
    bench.ask(JOIN)
    bench.pass_ms(SESSION_MS)
    assert not first.is_joining(), "ClassicGroup.hasAllMembersJoined is all that the expired pending id asks"


def test_G4_before_version_4_a_member_is_added_at_once(bench: Bench) -> None:
    old = Client(bench, version=3).join()
    assert (old.joined().error, old.generation) == (ErrorCode.NONE, 1)


def test_G4_an_id_that_is_never_used_is_forgotten_after_the_session_timeout(bench: Bench) -> None:
    first = Client(bench)
    stable(bench, first)
    asked = bench.ask(JOIN)
    first.join()
    bench.pass_ms(SESSION_MS - 1)
    assert first.is_joining()
    bench.pass_ms(1)
    assert not first.is_joining()
    assert bench.ask(structs.replace(JOIN, member_id=asked.member_id)).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_that_comes_with_an_instance_id_is_a_server_error(bench: Bench) -> None:
    asked = bench.ask(JOIN)
    answer = bench.ask(structs.replace(JOIN, member_id=asked.member_id, group_instance_id="i"))
    assert (answer.error, answer.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")


# Sessions ------------------------------------------------------------------------------------------------------------


def test_G5_a_silent_member_is_removed_and_the_others_told(bench: Bench) -> None:
    first, second = pair(bench)
    bench.pass_ms(SESSION_MS - 1)
    assert second.heartbeat() is ErrorCode.NONE
    bench.pass_ms(1)
    assert first.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_G5_a_request_that_waits_is_a_sign_of_life(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    for _ in range(4):
        bench.pass_ms(SESSION_MS // 2)
        assert second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    second.join()
    assert first.joined().error is ErrorCode.NONE


def test_G5_but_not_of_a_new_member_which_has_five_minutes(bench: Bench) -> None:
    first = Client(bench, request=structs.replace(JOIN, rebalance_timeout_ms=600_000))
    stable(bench, first)
    newcomer = Client(bench).join()
    for _ in range(60):
        bench.pass_ms(5_000 - 1)
        first.heartbeat()
    assert newcomer.is_joining()
    bench.pass_ms(60)
    assert newcomer.joined().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.joined().member_id == ""


def test_G5_a_join_of_a_known_member_is_no_sign_of_life(bench: Bench) -> None:
    first, second = pair(bench)
    bench.pass_ms(SESSION_MS - 1)
    first.heartbeat()
    second.join()  # a follower with nothing new: answered at once
    assert second.joined().error is ErrorCode.NONE
    bench.pass_ms(1)
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_G6_who_does_not_rejoin_is_dropped_after_the_longest_rebalance_timeout(bench: Bench) -> None:
    first = Client(bench, request=structs.replace(JOIN, rebalance_timeout_ms=20_000))
    second = Client(bench, request=structs.replace(JOIN, rebalance_timeout_ms=30_000))
    stable(bench, first, second)
    first.join()
    for _ in range(6):
        bench.pass_ms(4_999)
        assert second.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert first.is_joining()
    bench.pass_ms(6)
    assert len(first.joined().members) == 1
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_G6_a_leader_that_does_not_rejoin_is_replaced(bench: Bench) -> None:
    leader, other = pair(bench)
    Client(bench).join()
    other.join()
    for _ in range(12):
        bench.pass_ms(5_000)
        leader.heartbeat()
    assert other.joined().leader != leader.member_id
    assert "leader" in bench.chosen


# Answers of the states -----------------------------------------------------------------------------------------------


def test_G7_heartbeats_and_commits_in_each_phase(bench: Bench) -> None:
    first, second = pair(bench)
    assert (first.heartbeat(), first.commit()) == (ErrorCode.NONE, ErrorCode.NONE)
    third = Client(bench).join()
    assert (first.heartbeat(), first.commit()) == (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NONE)
    first.join()
    second.join()
    assert third.joined().error is first.joined().error is ErrorCode.NONE
    assert (first.heartbeat(), first.commit()) == (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


def test_G8_the_member_is_looked_at_before_the_generation_and_that_before_the_state(bench: Bench) -> None:
    first, _ = pair(bench)
    Client(bench).join()
    assert first.heartbeat(generation=77) is ErrorCode.ILLEGAL_GENERATION
    stranger = HeartbeatRequest(GROUP, 77, "stranger", None)
    assert bench.ask(stranger).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.sync().synced().error is ErrorCode.REBALANCE_IN_PROGRESS
    first.generation = 77
    assert first.sync().synced().error is ErrorCode.ILLEGAL_GENERATION


def test_G8_join_looks_at_size_then_protocols_then_the_member() -> None:
    bench = Bench(replace(SETTINGS, max_size=1))
    stable(bench, Client(bench))
    other = (("sticky", b""),)
    assert bench.ask(structs.replace(JOIN, protocols=other)).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    roomy = Bench()
    stable(roomy, Client(roomy))
    strange = structs.replace(JOIN, member_id="stranger")
    assert roomy.ask(structs.replace(strange, protocols=other)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert roomy.ask(strange).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_group_max_size_counts_who_has_joined_in_a_join_phase() -> None:
    bench = Bench(replace(SETTINGS, max_size=2))
    first, second = pair(bench)
    first.join()
    newcomer = Client(bench, version=3).join()
    assert newcomer.is_joining(), "one member has joined: there is room for one more"
    second.join()
    assert second.joined().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_G12_what_can_not_join(bench: Bench, changes: dict[str, object], error: ErrorCode) -> None:
    assert bench.ask(structs.replace(JOIN, **changes)).error is error


def test_G12_the_protocol_with_the_most_votes_among_those_that_all_have() -> None:
    bench = Bench(replace(SETTINGS, initial_rebalance_delay_ms=1))
    orders = ("a", "b", "c"), ("b", "a", "x"), ("b", "a")
    requests = [structs.replace(JOIN, protocols=tuple((name, name.encode()) for name in names)) for names in orders]
    clients = [Client(bench, request=request).join() for request in requests]
    bench.pass_ms(10)
    assert {client.joined().protocol_name for client in clients} == {"b"}
    assert {member.metadata for member in clients[0].joined().members} == {b"b"}
    assert bench.ask(structs.replace(JOIN, protocols=(("x", b""),))).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    wrong_type = structs.replace(JOIN, protocols=(("a", b""),), protocol_type="connect")
    assert bench.ask(wrong_type).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# The sync phase ------------------------------------------------------------------------------------------------------


def test_G9_a_followers_sync_waits_for_the_leaders_and_stable_answers_at_once(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    second.join()
    first.joined(), second.joined()
    second.sync()
    assert second.is_syncing()
    first.sync((second, b"all"))
    assert (first.synced().assignment, second.synced().assignment) == (b"", b"all")
    assert second.sync().synced().assignment == b"all"
    assert (second.synced().protocol_type, second.synced().protocol_name) == ("consumer", "range")


def test_G9_a_rebalance_ends_the_syncs_that_wait(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    second.join()
    first.joined(), second.joined()
    second.sync()
    Client(bench).join()
    assert second.synced().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_G9_who_never_syncs_is_removed_after_the_rebalance_timeout_even_from_stable(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    second.join()
    first.joined(), second.joined()
    first.sync()
    assert bench.group.state == "Stable"
    for _ in range(13):
        bench.pass_ms(REBALANCE_MS // 13)
        first.heartbeat(), second.heartbeat()
    bench.pass_ms(REBALANCE_MS % 13)
    assert second.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_that_waits_is_never_answered_when_its_member_leaves(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    second.join()
    first.joined(), second.joined()
    second.sync()
    assert second.leave() is ErrorCode.NONE
    bench.pass_ms(REBALANCE_MS)
    assert second.is_syncing(), "GroupMetadataManager.removeCurrentMemberFromClassicGroup answers its JoinGroup only"


def test_sync_names_its_protocol_from_version_5_on(bench: Bench) -> None:
    first, _ = pair(bench)
    sync = SyncGroupRequest(GROUP, first.generation, first.member_id, None, "roundrobin")
    assert bench.ask(sync, 5).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.ask(structs.replace(sync, protocol_name=""), 5).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.ask(structs.replace(sync, protocol_name=""), 4).error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_G9_an_assignment_that_the_log_refuses_begins_the_join_phase_again(refused: ErrorCode, said: ErrorCode) -> None:
    bench = Bench(holds_writes=True)
    client = Client(bench, version=3).join()
    bench.pass_ms(0)
    bench.write()  # the new group
    client.joined()
    client.sync((client, b"all"))
    assert client.is_syncing()
    bench.write(refused)
    assert client.synced().error is said
    assert client.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_assignment_that_is_written_too_late_is_nobodys() -> None:
    bench = Bench(holds_writes=True)
    client = Client(bench, version=3).join()
    bench.pass_ms(0)
    bench.write()
    client.joined()
    client.sync((client, b"old"))
    client.join(protocols=(("range", b"new"),))
    assert (client.synced().error, client.joined().generation) == (ErrorCode.REBALANCE_IN_PROGRESS, 2)
    bench.write()
    assert bench.group.state == "CompletingRebalance"


# A member that joins again -------------------------------------------------------------------------------------------


def test_G10_in_stable_a_leader_rebalances_and_a_follower_without_news_does_not(bench: Bench) -> None:
    first, second = pair(bench)
    answer = second.join().joined()
    assert (answer.error, answer.generation, answer.members) == (ErrorCode.NONE, first.generation, ())
    assert bench.group.state == "Stable"
    second.join(protocols=(("range", b"news"), ("roundrobin", b"RR")))
    assert (second.is_joining(), bench.group.state) == (True, "PreparingRebalance")
    first.join()
    assert first.joined().generation == answer.generation + 1
    second.joined()
    first.sync(), second.sync()
    first.join()
    assert first.is_joining(), "the leader may want another assignment"


def test_G10_in_the_sync_phase_without_news_the_generation_is_repeated(bench: Bench) -> None:
    first, second = pair(bench)
    first.join(), second.join()
    first.joined()
    again = first.join().joined()
    assert (again.generation, len(again.members)) == (second.joined().generation, 2)


def test_an_overtaken_join_is_never_answered(bench: Bench) -> None:
    first, second = pair(bench)
    first.join()
    overtaken = first._joining
    first.join()
    second.join()
    assert first.joined().error is ErrorCode.NONE
    assert overtaken not in bench.answers


# LeaveGroup ----------------------------------------------------------------------------------------------------------


def test_several_leave_with_one_request(bench: Bench) -> None:
    first, second = pair(bench)
    asked = bench.ask(JOIN)
    others = (LeavingMember(second.member_id, None), LeavingMember("x", None), LeavingMember(asked.member_id, None))
    answer = bench.ask(LeaveGroupRequest(GROUP, first.member_id, None, others=others))
    assert answer == LeaveGroupResponse(
        ErrorCode.NONE,
        (
            LeftMember(first.member_id, None, ErrorCode.NONE),
            LeftMember(second.member_id, None, ErrorCode.NONE),
            LeftMember("x", None, ErrorCode.UNKNOWN_MEMBER_ID),
            LeftMember(asked.member_id, None, ErrorCode.NONE),
        ),
    )
    assert bench.group.state == "Empty"


def test_who_leaves_while_it_joins_is_told_so(bench: Bench) -> None:
    first, second = pair(bench)
    second.join(protocols=(("range", b"news"),))
    second.leave()
    assert second.joined().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_G13_a_group_that_nobody_knows(bench: Bench) -> None:
    client = Client(bench, member_id="stranger", generation=3)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.sync().synced().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.join().joined().error is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.commit(version=8) is ErrorCode.ILLEGAL_GENERATION
    assert client.commit(version=9) is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.coordinator.group(GROUP) is None
