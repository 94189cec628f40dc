"""A coordinator to which no connection can be made, for a while or for good."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import beats_on, hold, until_asked

NODE: Final = 2
"""The one that cannot be connected to; it only coordinates, so that all partitions can be read meanwhile."""
LED_THERE: Final = (1, 3)
"""The partitions that it leads at first."""
REFUSES_FOR_MS: Final = 700
"""Some backoffs before a connection is tried again, and less than a session."""


def _only_coordinates(context: ScenarioContext) -> None:
    context.broker.move_coordinator(NODE)
    for partition in LED_THERE:
        context.broker.elect(partition)


def _refuses(context: ScenarioContext, *, joins: bool) -> None:
    """No connection to the coordinator can be made from now on; the client that joins is told then where it is.

    (It is made before that: some look at a broker as they are made, and it might be that one.)
    """
    since = context.now()
    if joins:
        held = hold(context, "FindCoordinator")
        context.subscribe()
        context.poll()
        until_asked(context, "FindCoordinator", since)
    context.broker.refuse_connections(NODE)
    if joins:
        held.release()


@scenario(
    rules="D1 D4 D6 J1 J2 S3 H3 C1 M7 O1 O3 O4 O5 W1",
    source="ConsumerNetworkClient.checkDisconnects; AbstractCoordinator.checkAndGetCoordinator (isUnavailable)",
    variants=(
        Variant("joining", point="joining", not_judged="D1 D6"),
        Variant("joining-elsewhere", point="joining-elsewhere", not_judged="D6"),
        Variant("heartbeating", point="heartbeating", not_judged="D1"),
        Variant("heartbeating-elsewhere", point="heartbeating-elsewhere", not_judged="D6"),
        Variant("committing", point="committing", auto_commit_interval_ms=300, not_judged="D1"),
    ),
    timeout_ms=6_000,
)
def coordinator_refuses_connections(context: ScenarioContext) -> None:
    """The coordinator's node is named, and no connection to it can be made: for a while, or until another coordinates.

    A request that waits for the connection is not forgotten: the client tries the node again, or looks for its
    coordinator anew, which it has to where another one coordinates by then. It joins, or goes on as the member that it
    is.
    """
    point = context.variant.point
    joins = point.startswith("joining")
    _only_coordinates(context)
    if not joins:
        context.stable_member()
    _refuses(context, joins=joins)
    if point == "committing":
        context.broker.append_records()
    context.watch(REFUSES_FOR_MS, "what is done when no connection can be made", since=context.now())
    back, rule = context.now(), "J2" if joins else "D6"
    if point.endswith("elsewhere"):
        rule = "D1"
        context.broker.move_coordinator(1)
    else:
        context.broker.accept_connections(NODE)
    if joins:
        again = context.expect_answer("SyncGroup", "NONE", rule=rule, since=back)
        context.expect_assigned(rule="S3", since=back)
    else:
        again = context.expect_answer("Heartbeat", "NONE", rule=rule, since=back)
    context.broker.append_records()
    context.expect_records(rule="O4", since=again, partitions=context.broker.partitions())
    if point == "committing" and context.offers("auto_commit"):
        context.expect_answer("OffsetCommit", "NONE", rule="D6", since=again)
    beats_on(context, again)


@scenario(
    rules="D4 J1 S3 H3 C1 M7 O1 O3 L2 W1",
    source="ConsumerCoordinator.close; AbstractCoordinator.close (Timer); KIP-102",
    variants=(
        Variant("joining", point="joining", not_judged="D4 J1 S3 H3 C1 M7 O1 O3"),
        Variant("stable", point="stable", not_judged="M7"),
    ),
    timeout_ms=3_000,
)
def close_without_coordinator(context: ScenarioContext) -> None:
    """close() while no connection to the coordinator can be made: it gives up what it cannot say, within its time."""
    _only_coordinates(context)
    if context.variant.point == "stable":
        context.stable_member()
    _refuses(context, joins=context.variant.point == "joining")
    context.watch(REFUSES_FOR_MS, "what is done when no connection can be made", since=context.now())
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)
