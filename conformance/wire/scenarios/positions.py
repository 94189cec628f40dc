"""The application moves its positions, or pauses partitions, while the group rebalances."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.harness_protocol import BEGINNING
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import (
    REACHED_WITHIN_S,
    announced_round,
    beats_on,
    held_round,
    until_asked,
)
from groupspec.impl.broker.actions import DEFAULT, Hold, Reply
from groupspec.impl.core.messages import FetchRequest, ListOffsetsRequest, TopicPartition

EVERY: Final = tuple(TopicPartition("orders", number) for number in range(4))
COMMITTED, UNCOMMITTED = EVERY[0], EVERY[1]
"""Of the first the committed offset is 3; of the second there is none (`CaseBroker`)."""
PAUSED_MS: Final = 400
"""Some Fetches long: who goes on fetching what is paused is seen to."""


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M7 O2 O3 O4 O5 K1 K4 W1",
    source="KafkaConsumer.seek; KIP-429; SubscriptionState.assignFromSubscribed; KAFKA-8421",
    rebalance="cooperative",
    needs="seek pull",
    variants=(Variant("joining", point="JoinGroup"), Variant("syncing", point="SyncGroup")),
    timeout_ms=6_000,
)
def seek_while_rebalancing(context: ScenarioContext) -> None:
    """A cooperative member seeks backwards while the answer to a request of the round is still to come.

    It has its partitions throughout, so it reads from there, in order, and the round that ends moves nothing.
    """
    context.stable_member()
    held = held_round(context, context.variant.point)
    sought = context.seek(COMMITTED, 1, rule="O5")
    held.release()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=sought)
    context.expect_records_of([str(COMMITTED)], rule="O2", since=sought)
    context.broker.append_records()
    context.expect_records(rule="O4", since=synced, partitions=context.broker.partitions())
    beats_on(context, synced)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M7 O1 O3 O4 O5 O6 W1",
    source="KafkaConsumer.seek; ConsumerCoordinator.initWithCommittedOffsetsIfNeeded; OffsetFetcher",
    needs="seek pull",
    variants=(Variant("reading-committed", point="OffsetFetch"), Variant("reading-beginning", point="ListOffsets")),
    timeout_ms=6_000,
)
def seek_before_a_position(context: ScenarioContext) -> None:
    """A new member seeks while its position is still being looked up: the late answer must not take that back.

    The other partitions begin where they are committed, or at the beginning, as ever.
    """
    point, held, since = context.variant.point, Hold(), context.now()
    where = COMMITTED if point == "OffsetFetch" else UNCOMMITTED

    def is_meant(message: object) -> bool:
        return not isinstance(message, ListOffsetsRequest) or UNCOMMITTED in message.timestamps

    context.broker.do_next(point, held, "it is answered later", lambda event: is_meant(event.message))
    context.subscribe()
    context.poll()
    until_asked(context, point, since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    context.expect_assigned(rule="S3", since=synced)
    context.stop_polling(rule="O3")  # or the first Fetch from there is out before the answer comes
    sought = context.seek(where, 2, rule="O5")
    held.release()
    context.expect_answer(point, "NONE", rule="O1", since=sought)
    context.poll()
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    beats_on(context, sought)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M7 O3 O4 O5 W1",
    source="KafkaConsumer.seek; Fetcher (a fetched record is returned if its position is still the same); "
    "FetchCollector.handleInitializeErrors (a stale answer is discarded, OFFSET_OUT_OF_RANGE as well)",
    needs="seek pull",
    variants=(Variant(), Variant("out-of-range", point="OFFSET_OUT_OF_RANGE")),
    timeout_ms=6_000,
)
def seek_while_fetching(context: ScenarioContext) -> None:
    """A member seeks backwards while a Fetch from where it was is unanswered: what that answer says is dropped.

    Be it records, or that the log does not go so far: nobody asks about that offset any more.
    """
    context.stable_member()
    held = Hold(Reply(context.variant.point) if context.variant.point else DEFAULT)

    def is_meant(message: object) -> bool:
        return isinstance(message, FetchRequest) and COMMITTED in message.offsets

    context.broker.do_next("Fetch", held, "it is answered later", lambda event: is_meant(event.message))
    since = context.now()
    context.reached(lambda e: e.kind == "request" and is_meant(e.message), "Fetch", REACHED_WITHIN_S, since=since)
    sought = context.seek(COMMITTED, 1, rule="O5")
    context.broker.append_records()
    held.release()
    context.expect_records(rule="O3", since=sought, partitions=context.broker.partitions())
    beats_on(context, sought)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M7 O1 O3 O4 O5 W1",
    source="KafkaConsumer.seekToBeginning; SubscriptionState.requestOffsetReset; OffsetFetcher.resetPositionsIfNeeded",
    needs="seek_to_beginning pull",
    timeout_ms=6_000,
)
def seek_to_the_beginning(context: ScenarioContext) -> None:
    """A member seeks to the beginning of a partition: it reads from there, whatever its group has committed."""
    context.stable_member()
    context.stop_polling(rule="O3")
    sought = context.seek(COMMITTED, BEGINNING, rule="O5")
    context.poll()
    context.expect_records_of([str(COMMITTED)], rule="O3", since=sought)
    since = context.now()
    context.broker.append_records()
    context.expect_records(rule="O4", since=since, partitions=context.broker.partitions())
    beats_on(context, sought)


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 C3 M7 O1 O3 O4 O5 Q5 W1",
    source="KafkaConsumer.pause; SubscriptionState.isFetchable",
    needs="pause pull listener",
    timeout_ms=6_000,
)
def pause_over_a_rebalance(context: ScenarioContext) -> None:
    """Partitions are paused, an eager rebalance takes them and gives them back, and they are resumed.

    While they are paused nothing is fetched of them. Resumed, they are read from the committed offset: no record is
    left out. (Java forgets over the rebalance that they were paused, franz-go does not; both say so.)
    """
    context.stable_member()
    context.pause(EVERY[:2], rule="O5")
    since = context.now()
    context.broker.append_records()
    context.expect_records_of(map(str, EVERY[2:]), rule="O4", since=since)
    context.watch(PAUSED_MS, "what is paused", since=since)
    synced = announced_round(context)
    context.resume(EVERY[:2], rule="O5")
    context.broker.append_records()
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    beats_on(context, synced)


@scenario(
    rules="D4 J1 J2 S3 H3 H4 C1 M7 K1 K2 K4 O1 O2 O3 O4 O5 Q5 W1",
    source="KafkaConsumer.pause; KIP-429; SubscriptionState.assignFromSubscribed; franz-go #98",
    rebalance="cooperative",
    needs="pause pull listener",
    timeout_ms=6_000,
)
def pause_over_a_rebalance_cooperative(context: ScenarioContext) -> None:
    """Everything is paused, a round takes one partition away, and the next one gives it back.

    What the member keeps stays paused over both. When everything is resumed all is read: what it kept where it was, the
    other one from its committed offset.
    """
    context.stable_member()
    context.pause(EVERY, rule="O5")
    context.broker.append_records()
    context.watch(PAUSED_MS, "what is paused", since=context.now())
    taken = context.broker.take_one_partition()
    since = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    joined = context.expect_request("JoinGroup", rule="H4", since=since)
    first = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_event("partitions_revoked", rule="K2", since=joined, partition=taken)
    again = context.expect_request("JoinGroup", rule="K2", since=first)
    context.expect_answer("SyncGroup", "NONE", rule="J2", since=again)
    context.watch(PAUSED_MS, "what is retained, and paused", since=context.now())
    since = context.now()
    context.broker.other_member_leaves()
    context.expect_event("partitions_assigned", rule="S3", since=since, partition=taken)
    resumed = context.resume(EVERY, rule="O5")
    context.expect_records(rule="O2", since=since, partitions=context.broker.partitions())
    beats_on(context, resumed)
