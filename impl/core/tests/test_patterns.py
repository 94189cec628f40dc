"""Subscriptions by pattern: to the topics that match, as the cluster names them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from groupspec.impl.core.events import Start, Subscribe, Unsubscribe
from groupspec.impl.core.messages import (
    JoinedMember,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    SyncGroupRequest,
    TopicMetadata,
)
from groupspec.impl.core.protocol import Subscription, decode_assignment, decode_subscription, encode_subscription
from groupspec.impl.core.tests.scene import MEMBER, Scene, partitions

ORDERS = re.compile("orders")


def listed(scene: Scene, *names: str) -> None:
    """The answer to Metadata: these topics, with one partition each, and an internal one."""
    topics = [TopicMetadata(name, (PartitionMetadata(0, 1),)) for name in names]
    own = TopicMetadata("__orders", (PartitionMetadata(0, 1),), is_internal=True)
    scene.respond("Metadata", MetadataResponse((), (*topics, own)))


def matching(pattern: re.Pattern[str] = ORDERS, **config: Any) -> Scene:
    """A member that has polled, with its coordinator known."""
    scene = Scene(**config)
    scene.coordinator.topics = {}  # metadata is answered by hand
    scene.do(Start())
    scene.do(Subscribe((), pattern))
    assert scene.sent(MetadataRequest) == []  # not before the application polls (rule J7)
    scene.poll()
    scene.coordinator_found()
    return scene


def stable(*topics: str) -> Scene:
    """The same, with a partition of the topic orders."""
    scene = matching()
    listed(scene, *topics)
    scene.join_accepted()
    scene.sync_accepted(*partitions(0))
    scene.assigned()
    scene.committed_are(10)
    return scene


def joined_with(scene: Scene) -> tuple[str, ...]:
    """The topics of the latest JoinGroup."""
    return decode_subscription(scene.last_join().protocols[0][1]).topics


def test_all_topics_are_asked_for_and_those_that_match_are_joined_with() -> None:
    scene = matching()
    assert [request.topics for request in scene.sent(MetadataRequest)] == [None]
    assert not scene.is_waiting("JoinGroup")  # with what?
    listed(scene, "payments", "orders-eu", "orders")
    assert joined_with(scene) == ("orders", "orders-eu")


def test_J8_a_topic_that_comes_later_brings_about_a_rebalance_and_another_one_does_not() -> None:
    scene = stable("orders")
    scene.pass_ms(scene.config.retry_backoff_ms)
    scene.expire("metadata")
    listed(scene, "orders", "payments")
    assert not scene.describe().rejoin_needed
    scene.pass_ms(scene.config.retry_backoff_ms)
    scene.expire("metadata")
    listed(scene, "orders", "orders-eu")
    scene.revoked()
    assert joined_with(scene) == ("orders", "orders-eu")


def test_who_matches_nothing_is_a_member_all_the_same() -> None:
    scene = matching()
    listed(scene, "payments")
    assert joined_with(scene) == ()


@pytest.mark.parametrize("excluded", [True, False])
def test_kafkas_own_topics_match_only_if_they_are_wanted(excluded: bool) -> None:
    scene = matching(re.compile(".*"), exclude_internal_topics=excluded)
    listed(scene, "orders")
    assert joined_with(scene) == (("orders",) if excluded else ("__orders", "orders"))


def test_another_pattern_keeps_what_is_there_until_it_is_known_what_matches() -> None:
    scene = stable("orders", "payments")
    scene.do(Subscribe((), re.compile("pay")))
    assert not scene.describe().rejoin_needed
    scene.pass_ms(scene.config.retry_backoff_ms)
    listed(scene, "orders", "payments")
    assert scene.describe().rejoin_needed
    assert scene.subscription.topics() == ("payments",)


def test_names_instead_of_a_pattern_and_nothing_at_all() -> None:
    scene = matching()
    listed(scene, "orders", "orders-eu")
    scene.do(Subscribe(("orders",)))
    assert (scene.subscription.has_pattern(), scene.subscription.topics()) == (False, ("orders",))
    scene.do(Subscribe((), ORDERS))
    scene.do(Unsubscribe(1))
    assert not scene.describe().subscribed


def test_a_topic_that_is_listed_no_more_is_not_divided_although_nobody_wanted_it_before() -> None:
    """The group of a leader comes to want a topic that was there when it first looked, and is gone by now."""
    scene = stable("orders", "payments")
    scene.pass_ms(scene.config.retry_backoff_ms)
    scene.expire("metadata")
    listed(scene, "orders")
    scene.heartbeat("REBALANCE_IN_PROGRESS")
    scene.revoked()
    another = JoinedMember("another", None, encode_subscription(Subscription(("payments",), None)))
    itself = JoinedMember(MEMBER, None, scene.last_join().protocols[0][1])
    scene.join_accepted(2, MEMBER, (itself, another))
    assert not scene.is_waiting("SyncGroup")  # it asks what has become of it
    scene.pass_ms(scene.config.retry_backoff_ms)
    listed(scene, "orders")
    shares = dict(scene.sent(SyncGroupRequest)[-1].assignments)
    assert decode_assignment(shares["another"]).partitions == ()


def test_who_has_asked_for_all_topics_in_vain_waits_although_others_are_wanted_by_name_now() -> None:
    scene = matching()
    listed(scene, "orders")
    scene.pass_ms(scene.config.retry_backoff_ms)
    scene.do(Subscribe((), re.compile("pay")))
    assert scene.is_waiting("Metadata")
    scene.poll()  # until it is known what matches, "orders" is wanted
    scene.answer("Metadata", "DISCONNECTED")
    assert not scene.is_waiting("Metadata")
    scene.pass_ms(2 * scene.config.retry_backoff_ms)
    assert scene.is_waiting("Metadata")


def test_an_assignment_that_does_not_match_another_pattern_is_dropped_although_nobody_knows_yet_what_does() -> None:
    scene = matching()
    listed(scene, "orders", "payments")
    scene.join_accepted()
    scene.do(Subscribe((), re.compile("pay")))
    scene.sync_accepted(*partitions(0))
    assert scene.subscription.assignment() == ()
    scene.pass_ms(scene.config.retry_backoff_ms)
    listed(scene, "orders", "payments")
    scene.revoked()
    assert joined_with(scene) == ("payments",)
