"""A group that moves to another coordinator: NOT_COORDINATOR, loading, and what the log remembers (rule G13)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from groupspec.impl.coordinator.context import Answered, Caller, GroupRequest
from groupspec.impl.coordinator.coordinator import Coordinator
from groupspec.impl.coordinator.log import Log, partition_of
from groupspec.impl.coordinator.settings import Settings
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
    FetchedOffset,
    HeartbeatRequest,
    LeaveGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

OFFSETS = {PLACE: OffsetAndMetadata(7, "note", 3)}
REQUESTS: list[GroupRequest] = [
    JOIN,
    SyncGroupRequest(GROUP, 1, "m", None, "range"),
    HeartbeatRequest(GROUP, 1, "m", None),
    LeaveGroupRequest(GROUP, "m", None),
    OffsetCommitRequest(GROUP, 1, "m", None, OFFSETS),
    OffsetFetchRequest(GROUP, (PLACE,)),
]


def moved(bench: Bench, settings: Settings = SETTINGS) -> Bench:
    """The group's partition moves to another coordinator, at once."""
    bench.take(bench.coordinator.unload(0, bench.now_ms))
    return Bench(settings, bench.log)


def test_G13_without_the_partition_every_request_is_refused() -> None:
    bench = Bench()
    moved(bench)
    for request in REQUESTS:
        assert bench.ask(request).error is ErrorCode.NOT_COORDINATOR, request


def test_G13_while_it_loads_all_but_heartbeats_are_told_so() -> None:
    coordinator = Coordinator(SETTINGS)
    coordinator.load(0)
    for request in REQUESTS:
        [answer] = coordinator.handle(1, request, Caller(5, "client"), 0)
        assert isinstance(answer, Answered)
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert answer.response.error is (ErrorCode.NONE if isinstance(request, HeartbeatRequest) else loading)
    [wrong] = coordinator.handle(1, structs.replace(JOIN, session_timeout_ms=1), Caller(5, "client"), 0)
    assert isinstance(wrong, Answered)
    assert wrong.response.error is ErrorCode.INVALID_SESSION_TIMEOUT


def test_G13_a_stable_group_is_stable_again_and_sessions_begin_anew() -> None:
    bench = Bench()
    one, two = Client(bench), Client(bench, instance="two")
    stable(bench, one, two)
    one.commit(11)
    one.bench = two.bench = after = moved(bench)
    after.now_ms = bench.now_ms
    assert [client.heartbeat() for client in (one, two)] == [ErrorCode.NONE] * 2
    assert two.sync().synced().assignment == b"assignment-1"
    fetched = after.ask(OffsetFetchRequest(GROUP, (PLACE,)))
    assert fetched.offsets[PLACE].offset == 11
    after.pass_ms(SESSION_MS)
    assert one.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_G13_a_rebalance_under_way_is_forgotten() -> None:
    bench = Bench()
    one, two = Client(bench), Client(bench)
    stable(bench, one, two)
    generation = one.generation
    third = Client(bench).join()
    one.join(), two.join()
    one.joined(), two.joined()
    assert third.joined().generation == generation + 1
    two.sync()
    after = moved(bench)
    assert two.synced().error is ErrorCode.NOT_COORDINATOR
    one.bench = third.bench = after
    assert one.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    assert third.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    one.generation = generation
    assert one.heartbeat() is ErrorCode.NONE


def test_joins_and_commits_that_wait_are_told_that_it_moved() -> None:
    bench = Bench(holds_writes=True)
    one = Client(bench, version=3).join()
    bench.pass_ms(0)
    bench.write()
    one.joined()
    committing = bench.send(OffsetCommitRequest("other", -1, "", None, OFFSETS))
    newcomer = Client(bench, version=3).join()
    bench.take(bench.coordinator.unload(0, 0))
    assert newcomer.joined().error is ErrorCode.NOT_COORDINATOR
    assert bench.answers[committing].errors == {PLACE: ErrorCode.NOT_COORDINATOR}
    bench.pass_ms(10 * REBALANCE_MS)
    assert bench.coordinator.next_deadline_ms() is None


def test_an_empty_group_is_remembered_and_a_deleted_one_is_not() -> None:
    bench = Bench()
    one = Client(bench)
    stable(bench, one)
    with pytest.raises(ValueError, match="only an Empty one"):
        bench.coordinator.delete(GROUP)
    one.leave()
    after = moved(bench)
    assert (after.group.state, after.group.generation) == ("Empty", 2)
    after.take(after.coordinator.delete(GROUP))
    assert moved(after).coordinator.group(GROUP) is None


def test_a_group_that_is_too_large_for_the_new_coordinator_rebalances() -> None:
    bench = Bench()
    stable(bench, Client(bench), Client(bench))
    assert moved(bench, replace(SETTINGS, max_size=1)).group.state == "PreparingRebalance"


def test_offsets_of_manual_assignment() -> None:
    bench = Bench()
    assert bench.ask(OffsetFetchRequest(GROUP, (PLACE,))).offsets == {PLACE: FetchedOffset(-1)}
    manual = OffsetCommitRequest(GROUP, -1, "", None, OFFSETS)
    assert bench.ask(manual).errors == {PLACE: ErrorCode.NONE}
    assert moved(bench).ask(OffsetFetchRequest(GROUP, ())).offsets == {PLACE: FetchedOffset(7, "note", 3)}
    busy = Bench()
    stable(busy, Client(busy))
    assert busy.ask(manual).errors == {PLACE: ErrorCode.UNKNOWN_MEMBER_ID}
    long = {PLACE: OffsetAndMetadata(7, "n" * 4_097)}
    refused = Bench().ask(structs.replace(manual, offsets=long))
    assert refused.errors == {PLACE: ErrorCode.OFFSET_METADATA_TOO_LARGE}


@pytest.mark.parametrize(("group_id", "partition"), [("", 0), ("a", 47), ("groupspec", 4), ("polygenelubricants", 0)])
def test_a_group_lies_where_java_puts_it(group_id: str, partition: int) -> None:
    assert partition_of(group_id, 50) == partition
    assert len(Log(50).read(partition)) == 0
