"""A coordinator that moves while it is asked, moves twice, or has to load the group first."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import hold, reads_on, until_asked
from groupspec.impl.broker.actions import Hold

LOADS_FOR_MS: Final = 500
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
    quick=False,
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
