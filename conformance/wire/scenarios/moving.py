"""A coordinator that moves while it is asked, moves twice, or has to load the group first."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import beats_on, hold, reads_on, until_asked
from groupspec.impl.broker.actions import Hold, Reply

LOADS_FOR_MS: Final = 500
UNKNOWN_FOR_MS: Final = 1_600
NO_LOOKUP_FOR_MS: Final = 3_000
"""More than rule D1 grants for what a client does by itself."""
GIVEN_UP: Final = ("partitions_lost", "partitions_revoked")
REACHED_WITHIN_S: Final = 6.0
POINTS: Final = (
    Variant("joining", point="JoinGroup"),
    Variant("syncing", point="SyncGroup"),
    Variant("rejoining", point="rejoining"),
    Variant("committing", point="OffsetCommit", auto_commit_interval_ms=300, not_judged="J4"),
)
RULES: Final = "D1 D4 J1 J2 J4 S3 H3 C1 M7 O1 O3 O4 O5 W1"


def _until_it_asks(context: ScenarioContext) -> Hold:
    """The client waits for the answer to the request of this point; what is returned lets it have it."""
    point = context.variant.point
    api = "JoinGroup" if point == "rejoining" else point
    if point in ("rejoining", "OffsetCommit"):
        context.stable_member()
    before = context.now()
    held = hold(context, api)
    if point == "OffsetCommit":
        context.broker.append_records()
    elif point == "rejoining":
        context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    else:
        context.subscribe()
        context.poll()
    until_asked(context, api, before)
    return held


@scenario(rules=RULES, source="KIP-62; CoordinatorRuntime.contextOrThrow", variants=POINTS, timeout_ms=6_000)
def coordinator_moves_twice(context: ScenarioContext) -> None:
    """The coordinator moves while a request waits, and back again as soon as the new one has been found.

    Each node that is asked in vain says NOT_COORDINATOR. The member ends at the right one, and reads on.
    """
    held = _until_it_asks(context)
    context.broker.move_coordinator(2)
    moved = context.now()
    held.release()
    context.expect_answer("FindCoordinator", "NONE", rule="D1", since=moved)
    context.broker.move_coordinator(1)
    reads_on(context, context.now())


@scenario(
    rules=f"{RULES} D3",
    source="CoordinatorRuntime.withActiveContextOrThrow",
    variants=POINTS,
    timeout_ms=6_000,
)
def coordinator_loads(context: ScenarioContext) -> None:
    """The coordinator moves while a request waits, and the new one has to load the group: not at once, but it will.

    COORDINATOR_LOAD_IN_PROGRESS for half a second in answer to all but heartbeats. It says nothing about the member.
    """
    held = _until_it_asks(context)
    context.broker.begin_to_move()
    moved = context.now()
    held.release()
    found = context.expect_answer("FindCoordinator", "NONE", rule="D1", since=moved)
    context.watch(LOADS_FOR_MS, "what is asked of a coordinator that is loading", since=found)
    context.broker.end_move()
    reads_on(context, context.now())


@scenario(
    rules="D3 D4 J1 J2 J4 J6 S3 H3 C1 K1 K4 M7 O2 O3 O4 W1",
    source="KAFKA-10870 (PR 9792); AbstractCoordinator.JoinGroupResponseHandler; KAFKA-12898 (PR 10878)",
    rebalance="cooperative",
    variants=(
        Variant("rebalancing", point="REBALANCE_IN_PROGRESS"),
        Variant("loading", point="COORDINATOR_LOAD_IN_PROGRESS"),
    ),
    timeout_ms=6_000,
)
def join_refused_in_passing(context: ScenarioContext) -> None:
    """A JoinGroup in mid-life is refused as the broker could not write the group down, or is loading it.

    It is no error for the application, and no loss: the member keeps what it has, says the same again, and reads on.
    """
    context.stable_member()
    since = context.now()
    context.broker.answer_next("JoinGroup", context.variant.point)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    refused = context.expect_answer("JoinGroup", context.variant.point, rule="J2", since=since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=refused)
    context.broker.append_records()
    context.expect_records(rule="O4", since=synced, partitions=context.broker.partitions())
    beats_on(context, synced)


@scenario(
    rules="D1 D3 D4 J1 P2 S3 H3 C1 O3 W1",
    source="MINOR #5308 (KafkaConsumer.poll without a coordinator); KIP-62",
    needs="poll_interval pull",
    variants=(Variant(auto_commit=False),),
    timeout_ms=6_000,
    poll_interval_ms=1_000,
)
def coordinator_long_unknown(context: ScenarioContext) -> None:
    """Nobody coordinates for longer than max.poll.interval.ms, while the application polls all the time.

    The session is longer, so the member is still one, and goes on as it is when the coordinator is back.
    """
    context.stable_member()
    context.broker.move_coordinator()
    back: list[Entry] = []
    is_out = "nobody coordinates"
    context.broker.do_always("FindCoordinator", Reply("COORDINATOR_NOT_AVAILABLE"), is_out, lambda _: not back)
    moved = context.expect_answer("Heartbeat", "NOT_COORDINATOR", rule="D1")
    if context.log.wait(lambda e: e.kind in GIVEN_UP, UNKNOWN_FOR_MS / 1000, moved.at_us) is not None:
        context.miss("P2", "it gave its membership up, although the application polled all the time")
    back.append(context.now())
    found = context.expect_answer("FindCoordinator", "NONE", rule="D3", since=back[0])
    beats_on(context, found)


@scenario(
    rules="D1 D4 J1 J2 J4 S3 H3 H4 C1 M7 O1 O3 W1",
    source="KAFKA-6362 (PR 4326); KafkaApis.getCoordinator (COORDINATOR_NOT_AVAILABLE: its metadata lacks a leader)",
    variants=(Variant("rebalancing", point="REBALANCE_IN_PROGRESS"), Variant("unknown", point="UNKNOWN_MEMBER_ID")),
    timeout_ms=6_000,
)
def rebalance_without_lookups(context: ScenarioContext) -> None:
    """No broker knows who coordinates, and the coordinator serves its group all the same: the group rebalances.

    Who has kept its coordinator joins again; who has forgotten it, for an error that says nothing about it, cannot.
    """
    context.stable_member()
    back: list[Entry] = []
    unknown = "COORDINATOR_NOT_AVAILABLE"
    context.broker.do_always("FindCoordinator", Reply(unknown), unknown, lambda _: not back)
    since = context.now()
    context.broker.answer_next("Heartbeat", context.variant.point)
    told = context.expect_answer("Heartbeat", context.variant.point, rule="H3", since=since)
    context.wait_for_request("JoinGroup", within_ms=NO_LOOKUP_FOR_MS, since=told)
    back.append(context.now())
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=told)
    context.expect_assigned(rule="S3", since=told)
    reads_on(context, synced)
