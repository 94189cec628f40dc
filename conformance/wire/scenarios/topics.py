"""What a member reads changes: its topic grows, is away for a while, is made anew, or it subscribes to another."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import ErrorRaised, RecordsConsumed
from groupspec.conformance.wire.case import RESET, Variant, reset_of
from groupspec.conformance.wire.case_broker import RECORDS_ANEW
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import beats_on, hold, reads_on, until_asked

LOOKS_OFTEN: Final = (("metadata.max.age.ms", "300"),)
GROWN: Final = 6
PATTERN: Final = "^orders.*"
REACHED_WITHIN_S: Final = 6.0
LATE_ANSWER_MS: Final = 300
LEARNS_WITHIN_MS: Final = 700
"""Two refreshes of the metadata, and an answer."""
GOES_ON_WITHIN_S: Final = 3.0


def _grows(context: ScenarioContext) -> None:
    if context.variant.point:
        since = _grows_in_the_round(context)
    else:
        context.stable_member()
        since = context.now()
        context.broker.add_partitions(GROWN)
    joined = context.expect_request("JoinGroup", rule="J8", since=since)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_records(rule="O1", since=joined, partitions=frozenset({"orders-4", "orders-5"}))
    beats_on(context, joined)


def _grows_in_the_round(context: ScenarioContext) -> Entry:
    """The leader has divided fewer partitions than Metadata tell of before its SyncGroup is answered. Before they came.

    Any JoinGroup from then on begins a round that can divide them all: who gives its SyncGroup up, or has it answered
    with an error, has joined again before this round would have ended, and need not do so once more.
    """
    since, held = context.now(), hold(context, "SyncGroup")
    context.subscribe()
    context.poll()
    until_asked(context, "SyncGroup", since)
    grown = context.now()
    context.broker.add_partitions(GROWN)
    context.reached(
        lambda e: e.kind == "response" and e.api == "Metadata",
        "Metadata while SyncGroup is unanswered",
        REACHED_WITHIN_S,
        since=grown,
    )
    released = context.now()
    held.release()
    context.expect_answer("SyncGroup", "NONE", rule="J2", since=released)
    return grown


@scenario(
    rules="D4 J1 J2 J8 S2 S3 H3 C1 C3 M1 M7 O1 O3 O4 O5 O6 P4 W1",
    source="ConsumerCoordinator.rejoinNeededOrPending (assignmentSnapshot, of onLeaderElected)",
    variants=(Variant(more=LOOKS_OFTEN), Variant("syncing", point="SyncGroup", more=LOOKS_OFTEN)),
    timeout_ms=3_000,
)
def topic_grows(context: ScenarioContext) -> None:
    """The topic gets two more partitions: the leader notices with its next Metadata, joins again, and reads them.

    In the second run it learns of them between its SyncGroup, which divides what was there before, and the answer.
    """
    _grows(context)


@scenario(
    rules="D4 J1 J2 J8 S2 S3 H3 C1 C3 K1 K4 M1 M7 O1 O2 O3 O4 O5 O6 P4 W1",
    source="ConsumerCoordinator.rejoinNeededOrPending (assignmentSnapshot)",
    rebalance="cooperative",
    variants=(Variant(more=LOOKS_OFTEN),),
    timeout_ms=3_000,
)
def topic_grows_cooperative(context: ScenarioContext) -> None:
    """The same under the cooperative protocol: what the member has it keeps, and reads on meanwhile."""
    _grows(context)


@scenario(
    rules="D4 J1 J2 J8 J10 S2 S3 H3 C1 C3 M1 M7 O1 O3 O4 O5 O6 W1",
    source="ConsumerCoordinator.updatePatternSubscription; KafkaConsumer.subscribe (pattern)",
    needs="pattern",
    variants=(Variant(more=LOOKS_OFTEN, pattern=PATTERN),),
    timeout_ms=3_000,
)
def topic_matches(context: ScenarioContext) -> None:
    """The client subscribes by a pattern, and a topic comes that matches it: it is noticed, assigned, and read.

    It joins again by itself, with the longer subscription, and goes on with the topic that it had.
    """
    context.stable_member()
    since = context.now()
    context.broker.add_topic("orders-more")
    joined = context.expect_request("JoinGroup", rule="J8", since=since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_records_of(["orders-more-0"], rule="O1", since=joined)
    reads_on(context, synced)


@scenario(
    rules="D4 J1 J2 S3 H2 H3 C1 M7 O1 O3 P4 W1",
    source="Metadata (topic errors); librdkafka 1.5.0 note (topic.metadata.propagation.max.ms)",
    variants=(
        Variant("flaps", point="2", more=LOOKS_OFTEN),
        Variant("gone-for-long", point="6", more=LOOKS_OFTEN),
    ),
    timeout_ms=3_000,
)
def topic_is_not_there(context: ScenarioContext) -> None:
    """Metadata says UNKNOWN_TOPIC_OR_PARTITION for a while, as a broker does that has only just started.

    The client stays a member, or becomes one again; when the topic is back it reads every partition of it.
    """
    context.stable_member()
    times = int(context.variant.point)
    before = context.now()
    context.broker.answer_next("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", times=times)
    context.reached(
        lambda e: e.kind == "response" and e.api == "Metadata" and e.error == "UNKNOWN_TOPIC_OR_PARTITION",
        "Metadata answered UNKNOWN_TOPIC_OR_PARTITION",
        REACHED_WITHIN_S,
        since=before,
    )
    back = context.expect_answer("Metadata", "NONE", rule="O1", since=before)
    context.broker.append_records()
    context.expect_heartbeats(rule="H3", since=back, for_ms=900)
    context.expect_records(rule="O1", since=back, partitions=context.broker.partitions())
    context.close()


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M7 O3 O7 W1",
    source="KIP-516; KAFKA-12257 (PR 10952); GroupCoordinator.onPartitionsDeleted",
    variants=(
        Variant("between-polls", topic="one", more=LOOKS_OFTEN),
        Variant("batch-in-hand", point="in-hand", topic="one", more=LOOKS_OFTEN),
        Variant("latest", topic="one", more=(*LOOKS_OFTEN, (RESET, "latest"))),
        Variant("told-by-fetch", topic="one"),
        Variant("led-by-others", point="elected", topic="one", more=LOOKS_OFTEN),
    ),
    timeout_ms=3_000,
)
def topic_recreated(context: ScenarioContext) -> None:
    """The topic is deleted and made anew: another one of that name, with another id, and records before the position.

    The client learns of it by a Fetch, or by its next metadata, and reads the new topic from where auto.offset.reset
    says, or says that it will not. In the second run a batch of the old topic has arrived that no poll has returned
    yet. In the fourth no metadata are due: an answer to a Fetch that names the topic by its id is all that tells. In
    the last one the old topic had more leaders than the new one: a later leader epoch does not make it the later topic.
    """
    latest, elected = reset_of(context.variant) == "latest", context.variant.point == "elected"
    if latest:
        context.broker.have_committed(0)
    if elected:
        for again in (False, True):
            context.broker.elect(0, again=again)
    context.stable_member()
    if context.variant.point == "in-hand":
        stopped = context.stop_polling(rule="H3")
        context.broker.append_records()
        context.watch(LATE_ANSWER_MS, "a batch arrives", since=stopped)
    made_anew = context.now()
    context.broker.make_topic_anew()
    if elected:
        context.broker.elect(0)
    context.watch(LEARNS_WITHIN_MS, "metadata come", since=made_anew)
    if context.variant.point == "in-hand":
        context.poll()
    context.broker.append_records()
    context.log.wait(_goes_on, GOES_ON_WITHIN_S, made_anew.at_us)
    if latest:  # who asked late for the end begins behind these
        context.broker.append_records()
        context.log.wait(_goes_on, GOES_ON_WITHIN_S, made_anew.at_us)
    beats_on(context, made_anew)


def _goes_on(entry: Entry) -> bool:
    """It reads from the beginning or the end, or an error comes out: what rule O7 leaves to a client."""
    event, begins = entry.event, False
    if isinstance(event, RecordsConsumed):
        begins = any(each.min_offset == 0 or each.min_offset >= RECORDS_ANEW for each in event.partitions)
    return begins or (isinstance(event, ErrorRaised) and event.call == "poll")


@scenario(
    rules="D4 J1 J2 S2 S3 H3 C1 C3 O3 W1",
    source="KAFKA-3949; aiokafka #88; KAFKA-7961; ConsumerCoordinator.onJoinComplete",
    variants=(
        Variant("stable", point="stable"),
        Variant("joining", point="JoinGroup"),
        Variant("syncing", point="SyncGroup"),
        Variant("reading-positions", point="OffsetFetch"),
    ),
    timeout_ms=6_000,
)
def subscription_changes(context: ScenarioContext) -> None:
    """The application subscribes to another topic, while the answer to a request of the old round is still to come.

    No second JoinGroup meanwhile; the assignment of the old topic is dropped; then another round, with the new one.
    """
    point = context.variant.point
    before = context.now()
    if point == "stable":
        context.stable_member()
    else:
        held = hold(context, point)
        context.subscribe()
        context.poll()
        until_asked(context, point, before)
    changed = context.now()
    context.send_subscribe("one")
    if point != "stable":
        context.watch_for_request("JoinGroup", ms=300)
        held.release()
    context.expect_records(rule="S3", since=changed, partitions=frozenset({"one-0"}))
    beats_on(context, context.now())


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C3 O3 W1",
    source="KAFKA-3949; ConsumerCoordinator.onJoinComplete (the subscription may have changed in mid-round)",
    variants=(Variant("joining", point="JoinGroup"), Variant("syncing", point="SyncGroup")),
    timeout_ms=6_000,
)
def subscription_grows(context: ScenarioContext) -> None:
    """The application subscribes to one topic more in mid-round: what that round assigns still fits, and is not all."""
    held = hold(context, context.variant.point)
    before = context.now()
    context.subscribe()
    context.poll()
    until_asked(context, context.variant.point, before)
    changed = context.now()
    context.send_subscribe(context.variant.topic, "one")
    context.watch(LATE_ANSWER_MS, "JoinGroup in mid-round", since=changed)
    held.release()
    context.expect_records(rule="J1", since=changed, partitions=context.broker.partitions() | {"one-0"})
    beats_on(context, context.now())
