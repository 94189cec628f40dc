"""The client leads a group whose other members claim what it has, or want what it does not know."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import beats_on

STALE: Final = 0
LATER: Final = 9
SAME: Final = 1
"""Generations, as seen from a member whose first one is 1."""


@scenario(
    rules="D4 J1 J2 J10 S2 S3 H3 H4 C1 K1 K3 O2 O3 O4 O5 W1",
    source="KAFKA-12984; KAFKA-14639; KAFKA-13406; AbstractStickyAssignor.allSubscriptionsEqual; KIP-792",
    rebalance="cooperative",
    variants=(
        Variant("claims-of-later", point="later"),
        Variant("claims-of-stale", point="stale"),
        Variant("claims-that-tie", point="tie"),
        Variant("claims-nothing", point="nothing"),
    ),
)
def leader_with_claims(context: ScenarioContext) -> None:
    """A member joins that claims partitions which the client, as leader, has: by a later generation, or by a stale one.

    The claim of the latest generation counts; claims of the same one count for nobody. What somebody owns is given to
    nobody else in that round: it has to be given up first. The group settles with both.
    """
    context.stable_member()
    point = context.variant.point
    if point == "later":
        context.broker.member_with_claims(0, 1, generation=LATER)
    elif point == "stale":
        context.broker.member_with_claims(0, 1, 2, 3, generation=STALE)
    elif point == "tie":
        context.broker.member_with_claims(0, 1, generation=SAME)
    else:
        context.broker.other_member_joins()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = context.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H3")
    joined = context.expect_request("JoinGroup", rule="H4", since=announced)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    beats_on(context, synced)


@scenario(
    rules="D4 J1 J2 J10 S2 S3 H3 C1 O3 O4 O5 W1",
    source="ConsumerCoordinator.onLeaderElected (updateGroupSubscription); KAFKA-7962 (PR 6308)",
    variants=(
        Variant("unknown-topic", point="unknown"),
        Variant("another-topic", point="one"),
        Variant("topic-that-is-not-there", point="nowhere"),
    ),
)
def leader_of_other_topics(context: ScenarioContext) -> None:
    """A member joins that subscribes to a topic which the client, as leader, does not read itself.

    The leader has to ask for that topic's partitions, and to name the member in its SyncGroup even if there are none.
    It goes on with its own topic.
    """
    other = {"one": ("one",), "unknown": ("orders", "one"), "nowhere": ("nowhere",)}[context.variant.point]
    context.broker.member_of_topics(*other)
    context.subscribe()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2")
    context.expect_assigned(rule="S3", since=synced)
    context.expect_heartbeats(rule="H3", since=synced)
    context.close()
