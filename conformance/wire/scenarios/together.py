"""Two members, each a process of the client: how they share a topic, and how a static one takes another's place."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.conformance.wire.case import INSTANCE_ID, Variant
from groupspec.conformance.wire.case_broker import NoOccasion
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario

LEADS, FOLLOWS = "leads", "follows"
BOTH: Final = (Variant(LEADS, point=LEADS), Variant(FOLLOWS, point=FOLLOWS))
"""Which of the two is judged: who was there first leads."""
INSTANCE: Final = ((INSTANCE_ID, "instance-1"),)
FENCEABLE_FROM: Final = 3
"""The version of Heartbeat that has a place for the instance id."""
SILENCE_MS: Final = 1_500
"""Longer than any retry: who joins again after it was fenced does it by then."""


def _share_and_take_over(context: ScenarioContext) -> None:
    other = context.other
    first, second = (context, other) if context.variant.point == LEADS else (other, context)
    first.joins()
    since = context.now()
    second.joins()
    context.expect_shares(rule="S3", since=since)
    shared = context.now()
    context.broker.append_records()
    context.expect_records_of(context.share(), rule="O1", since=shared)
    other.expect_records_of(other.share(), rule="O1", since=shared)
    context.expect_heartbeats(rule="H3", since=shared, for_ms=450)
    left = context.now()
    other.ask_to_close()
    context.expect_request("JoinGroup", rule="H4", since=left)
    context.expect_share(context.broker.partitions(), rule="S3", since=left)
    whole = context.now()
    context.broker.append_records()
    context.expect_records(rule="O1", since=whole, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=whole, for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 J1 J2 J4 J10 S2 S3 H3 H4 C1 C3 M1 M4 M7 O1 O3 O4 O5 L1 L2 L5 W1",
    source="KIP-62; ConsumerCoordinator.onLeaderElected; AbstractPartitionAssignor",
    variants=BOTH,
    timeout_ms=6_000,
    members=2,
)
def two_members(context: ScenarioContext) -> None:
    """A second process joins, and each has a part of the topic; then it is closed, and the one that stays has it all.

    The first one leads, and divides; the other one follows. What either of them has read and committed, nobody reads
    again.
    """
    _share_and_take_over(context)


@scenario(
    rules="D4 J1 J2 J4 J10 S2 S3 H3 H4 C1 M1 M4 M7 K1 K2 K3 K4 O1 O2 O3 O4 O5 L1 L2 L5 W1",
    source="KIP-429; AbstractStickyAssignor; CooperativeStickyAssignor.adjustAssignment",
    rebalance="cooperative",
    variants=(BOTH[0], replace(BOTH[1], not_judged="K2")),
    timeout_ms=6_000,
    members=2,
)
def two_members_cooperative(context: ScenarioContext) -> None:
    """The same under the cooperative protocol: what moves is given up first, and what stays is read throughout."""
    _share_and_take_over(context)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M1 M7 O1 O3 O4 L2 X1 X2 W1",
    source="KIP-345; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin; KAFKA-16169",
    needs="static",
    variants=(
        Variant("replaced", point="replaced", more=INSTANCE, not_judged="M1 M7 O1 O4"),
        Variant("replaces", point="replaces", more=INSTANCE, not_judged="X2"),
    ),
    timeout_ms=6_000,
    members=2,
)
def static_restart(context: ScenarioContext) -> None:
    """A second process comes with the instance id of the first, as after a restart that was not clean.

    It has the same partitions at once, without a rebalance, and reads on from what is committed. The first one is
    fenced: it says so, and asks nothing more of the group, above all not for its place. (Where the second one is
    judged, the first one polls no more: who polls on after that error may take its place back.)
    """
    if context.variant.point == "replaced":
        context.joins()
        _require_a_place_for_the_id(context)
        since = context.now()
        context.other.joins()
        fenced = context.expect_answer("Heartbeat", "FENCED_INSTANCE_ID", rule="X2", since=since)
        context.watch(SILENCE_MS, "what the fenced member asks of the group", since=fenced)
    else:
        context.other.joins()
        context.other.stop_polling(rule="J2")
        since = context.now()
        context.joins()
        _require_a_place_for_the_id(context)
        context.expect_records(rule="O1", since=since, partitions=context.broker.partitions())
        context.watch(SILENCE_MS, "what the fenced member does to this one", since=since)
        context.expect_heartbeats(rule="H3", since=context.now(), for_ms=450)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _require_a_place_for_the_id(context: ScenarioContext) -> None:
    """Raises NoOccasion: its heartbeats are of a version that nobody can fence (rule X1 has that)."""
    beat = context.expect_request("Heartbeat", rule="H3")
    if beat.version < FENCEABLE_FROM:
        raise NoOccasion(f"Heartbeat v{beat.version} has no instance id, so that the broker cannot fence the member")
