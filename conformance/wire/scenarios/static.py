"""Static members (KIP-345): an instance id in each request, no LeaveGroup, and the end when another one has the id."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.case import INSTANCE_ID, Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import announced_round
from groupspec.impl.broker.actions import Reply
from groupspec.impl.broker.log import WireEvent

INSTANCE: Final = ((INSTANCE_ID, "instance-1"),)
REACHED_WITHIN_S: Final = 6.0
SILENCE_MS: Final = 1_500
"""Longer than any retry: who joins again after he was fenced does it by then."""


@scenario(
    rules="D4 J1 J2 J4 S3 H3 H4 C1 C3 M1 M7 O1 O3 L1 L2 X1 W1",
    source="KIP-345; AbstractCoordinator.shouldSendLeaveGroupRequest",
    needs="static",
    variants=(Variant(more=INSTANCE),),
)
def static_member(context: ScenarioContext) -> None:
    """A static member joins, rejoins when a rebalance is announced, and is closed: it stays in the group.

    Its instance id is in every request, from the first JoinGroup on, which needs no member id (no MEMBER_ID_REQUIRED).
    """
    context.stable_member()
    synced = announced_round(context)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 S3 H3 H4 C1 M7 O3 L2 X1 X2 W1",
    source="KIP-345; KAFKA-16169; GroupMetadataManager.classicGroupJoinNewStaticMember",
    needs="static",
    variants=(
        Variant("heartbeat", point="Heartbeat", more=INSTANCE, not_judged="M7"),
        Variant("commit", point="OffsetCommit", more=INSTANCE, auto_commit_interval_ms=300, not_judged="H4"),
        Variant("join", point="JoinGroup", more=INSTANCE),
        Variant("sync", point="SyncGroup", more=INSTANCE),
    ),
    timeout_ms=6_000,
)
def static_fenced(context: ScenarioContext) -> None:
    """A request is answered FENCED_INSTANCE_ID: another process has the instance id now, and this one has lost.

    It says so to the application, and asks nothing more of the group. A JoinGroup with the instance id and without a
    member id would take the id back, and the two would fence each other for ever.
    """
    context.stable_member()
    point = context.variant.point
    since = context.now()
    context.broker.do_next(point, Reply("FENCED_INSTANCE_ID"), "FENCED_INSTANCE_ID", _of_static_member)
    if point == "OffsetCommit":
        context.broker.append_records()
    elif point != "Heartbeat":
        context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    told = f"{point} with the instance id, to be answered FENCED_INSTANCE_ID,"
    fenced = context.reached(_is_fenced, told, REACHED_WITHIN_S, since=since)
    context.watch(SILENCE_MS, "what is asked of the group", since=fenced)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _is_fenced(entry: Entry) -> bool:
    """The answer that says so."""
    return entry.kind == "response" and entry.error == "FENCED_INSTANCE_ID"


def _of_static_member(request: WireEvent) -> bool:
    """Only who names its instance id can be told that another has it."""
    return of_member(request) and bool(getattr(request.message, "group_instance_id", None))
