"""A coordinator that answers late, not at all, or hangs up; and a JoinGroup that takes as long as it may."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.impl.broker.actions import NeverReply, ReplyAfter

JOIN_TAKES_MS: Final = 2_700
"""Longer than a request may take, shorter than a rebalance."""
AGAIN_FOR_MS: Final = 450
SESSION_AND_MORE_MS: Final = 1_500


@scenario(
    rules="D4 J1 J2 J5 S3 H3 C1 P4 O1 W1",
    source="AbstractCoordinator.sendJoinGroupRequest (JOIN_GROUP_TIMEOUT_LAPSE); KAFKA-13126",
    timeout_ms=6_000,
)
def join_takes_long(context: ScenarioContext) -> None:
    """The other members take longer to join than a request may take: the member waits, on the same connection.

    JoinGroup is answered 2.7 s late, request.timeout.ms is 2 s, and the rebalance timeout 6 s. Who gives it up joins
    again and again, and no round ever ends.
    """
    context.broker.do_next("JoinGroup", ReplyAfter(JOIN_TAKES_MS), f"{JOIN_TAKES_MS} ms late", of_member)
    context.subscribe()
    context.poll()
    joined = context.expect_answer("JoinGroup", "NONE", rule="J5")
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_records(rule="O1", since=joined)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=AGAIN_FOR_MS)
    context.close()


@scenario(
    rules="D4 D6 J1 J2 S3 H3 C1 O3 W1",
    source="kafka-go #509; KIP-62; NetworkClient.handleTimedOutRequests",
    variants=(
        Variant("silent", point="never"),
        Variant("hangs-up", point="cut"),
    ),
    timeout_ms=6_000,
)
def coordinator_silent(context: ScenarioContext) -> None:
    """A heartbeat is never answered, or the broker closes every connection: the member turns to its coordinator again.

    After the request timeout, on another connection or after another lookup; it keeps its membership, and heartbeats
    run again.
    """
    context.stable_member()
    before = context.now()
    if context.variant.point == "never":
        context.broker.do_next("Heartbeat", NeverReply(), "it is never answered")
        lost = context.expect_request("Heartbeat", rule="H3", since=before)
    else:
        context.broker.cut_connections()
        lost = context.reached(lambda e: e.kind == "disconnect", "the end of a connection", 2.0, since=before)
    context.expect_heartbeats(rule="D6", since=lost, for_ms=AGAIN_FOR_MS)
    context.close()


@scenario(
    rules="D4 D6 H3 H5 J1 S3 C1 O3 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatThread.run (sessionTimeoutExpired, markCoordinatorUnknown)",
)
def session_runs_out(context: ScenarioContext) -> None:
    """No heartbeat is answered for a session timeout, which is shorter than the request timeout.

    For all the member knows it has been expelled by then: it looks for its coordinator, or doubts what it owns, without
    waiting for the answer any longer. The broker has kept it, and it goes on.
    """
    context.stable_member()
    before = context.now()
    context.broker.do_next("Heartbeat", NeverReply(), "it is never answered")
    lost = context.expect_request("Heartbeat", rule="H5", since=before)
    context.expect_heartbeats(rule="H5", since=lost, for_ms=SESSION_AND_MORE_MS)
    context.close()
