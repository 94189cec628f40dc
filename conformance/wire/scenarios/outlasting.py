"""What a member does takes longer than its timeouts: the session, the poll interval, the time of a request.

In most of the other families they are long, so that no verdict depends on the machine. Here one of them is over in each
state of a member's way, and in each callback. The groups are cooperative; the other families' mostly are eager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Test, is_event, is_request
from groupspec.conformance.wire.case import SMALL_TIMEOUT_MS, Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.conformance.wire.scenarios.between_polls import POINTS
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import REACHED_WITHIN_S, becomes_stable, reads_on
from groupspec.impl.broker.actions import NeverReply
from groupspec.impl.core.messages import TopicPartition

OUTLASTS_MS: Final = 1_400
"""The session timeout, and the poll interval where it is as short: 1 s."""
SHORT_MS: Final = 300
"""The commit interval, and the age of metadata."""
LONG_POLL_INTERVAL_MS: Final = 6_000
LOOKS_OFTEN: Final = (("metadata.max.age.ms", str(SHORT_MS)),)
WITHIN_S: Final = 0.5
"""What a client has sent that has ended arrives sooner."""
MORE_THAN_A_REQUEST_MS: Final = 2_500
"""The session: what gives up sooner does so because the request has taken too long."""
GIVES_UP_MS: Final = 12_000
"""JoinGroup may take 5 s longer than a rebalance."""
MOMENT_MS: Final = 100
"""A callback that can be met, and is over soon."""
GROWN: Final = 6
NEW: Final = frozenset({"orders-4", "orders-5"})
LONG_SESSION_MS: Final = 6_000
LONG_REQUEST_MS: Final = 4_000
NOTICED_WITHIN_MS: Final = 3_000
"""Who counts the poll interval of 1 s has left, on a busy machine, too; what is unanswered is not given up yet."""
AT_ONCE_MS: Final = 1_000
"""What ends at once takes less, on a busy machine, too."""
ONE: Final = TopicPartition("orders", 0)
OF_COORDINATOR: Final = ("SyncGroup", "OffsetFetch")
"""Whose requests have the time limit that rule D6 looks at."""
ON_THE_WAY: Final = ("joining", "syncing", "reading-positions")
OF_MEMBER: Final = ("syncing", "reading-positions")
"""Where on the way there are a coordinator and a generation."""
NEVER: Final = ("JoinGroup", "SyncGroup", "OffsetFetch", "ListOffsets")


@scenario(
    rules="D4 J1 J2 S3 H3 P1 P2 P3 C1 C2 M1 M7 O1 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatThread.run (pollTimeoutExpired); KAFKA-8104; librdkafka #5604",
    rebalance="cooperative",
    needs="poll_interval pull lost_callback listener",
    variants=(
        *(Variant(each, point=each, not_judged="P1 P3") for each in ("moved", "lost", "joining")),
        *(Variant(each, point=each) for each in OF_MEMBER),
    ),
)
def expires_on_the_way(context: ScenarioContext) -> None:
    """The poll interval is over while the member looks for its coordinator, joins, syncs, or reads positions.

    Who has a coordinator, and a generation, leaves. Whether or not, the next poll makes it a member again.
    """
    context.stable_member()
    release = POINTS[context.variant.point](context)
    stopped = context.now()
    context.watch(OUTLASTS_MS, "the poll interval runs out", since=stopped)
    release()
    since = context.now()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    reads_on(context, synced)


@scenario(
    rules="D4 J1 J2 S3 H3 P1 P2 P3 C1 M1 M7 O1 W1",
    source="KIP-62; AbstractCoordinator.JoinGroupResponseHandler (heartbeatThread.enable), HeartbeatThread.run",
    rebalance="cooperative",
    needs="poll_interval pull",
    variants=tuple(Variant(each, point=each) for each in OF_MEMBER),
    timeout_ms=LONG_SESSION_MS,
    poll_interval_ms=SMALL_TIMEOUT_MS,
    request_timeout_ms=LONG_REQUEST_MS,
)
def stuck_on_the_way(context: ScenarioContext) -> None:
    """SyncGroup, or OffsetFetch, stays unanswered, and the application polls no more: the poll interval counts.

    It does from the answer to JoinGroup on. The coordinator is known all the time: the heartbeats that wait behind the
    request, as at a broker, are not missed in so long a session. So the member leaves; the next poll brings it back.
    """
    context.stable_member()
    release = POINTS[context.variant.point](context)
    stopped = context.milestone("stopped polling")
    left = context.wait_for_request("LeaveGroup", within_ms=NOTICED_WITHIN_MS, since=stopped)
    context.milestone("waited for expiry")
    if left is not None:
        context.watch_for_request("Heartbeat", ms=SHORT_MS)
    release()
    context.watch(SHORT_MS, "who looks at the interval only now leaves before the next poll", since=context.now())
    since = context.now()
    context.poll()
    if left is not None:
        joined = context.expect_request("JoinGroup", rule="J2", since=since)
        since = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    reads_on(context, since)


@scenario(
    rules="D2 D4 H3 H5 J1 J2 J3 J7 J8 S3 C1 M1 M5 M7 O1 O3 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatThread.run (sessionTimeoutExpired); ConsumerCoordinator.poll",
    rebalance="cooperative",
    needs="pull",
    variants=tuple(
        Variant(each, point=each, auto_commit_interval_ms=SHORT_MS, more=LOOKS_OFTEN, not_judged=unseen)
        for each, unseen in {"moved": "H5 J8", "joining": "H5", "syncing": "", "reading-positions": "J8"}.items()
    ),
    poll_interval_ms=LONG_POLL_INTERVAL_MS,
)
def outlasts_the_session(context: ScenarioContext) -> None:
    """A lookup, a round, or the reading of positions takes longer than the session: the application polls on.

    No heartbeat was answered meanwhile, or none was due. The member goes on by what the coordinator says then. In the
    round the topic has grown, which the leader's next metadata say.
    """
    context.stable_member()
    release = POINTS[context.variant.point](context)
    context.poll()
    since = context.now()
    if "J8" in context.case.rules:
        context.broker.add_partitions(GROWN)
    context.watch(OUTLASTS_MS, "the session is over", since=since)
    release()
    if "J8" in context.case.rules:
        context.expect_records_of(NEW, rule="J8", since=since)
    reads_on(context, context.now())


CALLBACKS: Final[Mapping[str, str]] = {"revoked": "REBALANCE_IN_PROGRESS", "lost": "UNKNOWN_MEMBER_ID"}


@scenario(
    rules="D4 J1 J2 J8 S3 H1 H3 C1 C2 C3 M7 O1 O3 W1",
    source="KIP-62; KafkaConsumer (heartbeats go on in callbacks); ConsumerCoordinator.onJoinComplete",
    rebalance="cooperative",
    needs="listener pull",
    variants=tuple(
        Variant(
            each,
            point=each,
            callback_ms=OUTLASTS_MS,
            auto_commit_interval_ms=SHORT_MS,
            more=LOOKS_OFTEN,
            not_judged=unseen,
        )
        for each, unseen in {"revoked": "C2", "lost": ""}.items()
    ),
    poll_interval_ms=LONG_POLL_INTERVAL_MS,
)
def callbacks_outlast_the_session(context: ScenarioContext) -> None:
    """Each callback takes longer than the session, the commit interval, and the age of metadata: heartbeats go on."""
    context.subscribe()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2")
    context.expect_assigned(rule="S3", since=synced)
    context.expect_records_of(context.broker.partitions(), rule="O1", since=synced)
    since = context.now()
    if context.variant.point == "revoked":
        context.broker.take_one_partition()
    context.broker.answer_next("Heartbeat", CALLBACKS[context.variant.point])
    name = f"partitions_{context.variant.point}" if context.offers("lost_callback") else "partitions_revoked"
    begun = context.reached(is_event(name), name, REACHED_WITHIN_S, since=since)
    context.broker.add_partitions(GROWN)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=begun)
    if context.variant.point == "lost":
        context.expect_records_of(NEW, rule="J8", since=begun)
    context.broker.append_records()
    context.expect_records_of(context.broker.assigned(), rule="O1", since=synced)
    context.expect_heartbeats(rule="H3", since=synced, for_ms=SHORT_MS)
    context.close()


@scenario(
    rules="D4 J1 H3 P1 C1 C2 L2 W1",
    source="KIP-62; AbstractCoordinator.HeartbeatThread.run (pollTimeoutExpired); librdkafka #5604",
    rebalance="cooperative",
    needs="poll_interval listener pull",
    variants=(Variant(callback_ms=OUTLASTS_MS),),
)
def callback_outlasts_the_poll_interval(context: ScenarioContext) -> None:
    """The callback of the first assignment takes longer than the poll interval: the member leaves, once.

    Or it goes on, if to its client a callback is a part of the poll.
    """
    since = context.now()
    context.subscribe()
    context.poll()
    begun = context.reached(is_event("partitions_assigned"), "a callback", REACHED_WITHIN_S, since=since)
    context.reached(is_event("callback_returned"), "its end", REACHED_WITHIN_S, since=begun)
    context.watch(SHORT_MS, "what comes of it", since=context.now())
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


@scenario(
    rules="D4 D6 J1 J2 S3 H3 C1 C3 M7 O1 O3 L2 W1",
    source="NetworkClient.handleTimedOutRequests; AbstractCoordinator.sendJoinGroupRequest; KAFKA-13126; KAFKA-16639",
    rebalance="cooperative",
    variants=(
        *(Variant(each, point=each, not_judged="L2" if each in OF_COORDINATOR else "D6 L2") for each in NEVER),
        Variant("LeaveGroup", point="LeaveGroup", not_judged="D6"),
    ),
    timeout_ms=MORE_THAN_A_REQUEST_MS,
)
def never_answered(context: ScenarioContext) -> None:
    """One request on the way is never answered: it is given up when its time is over, and the way begun again.

    JoinGroup has the time that a rebalance may take, and some. A LeaveGroup that nobody answers does not keep close().
    """
    point = context.variant.point
    match = of_member if point == "JoinGroup" else None
    context.broker.do_next(point, NeverReply(), "it is never answered", match)
    if point != "LeaveGroup":
        since = context.now()
        context.subscribe()
        context.poll()
        first = context.reached(_of_way(point), point, REACHED_WITHIN_S, since=since)
        again = context.wait_for_request(point, within_ms=GIVES_UP_MS, since=first)
        if again is None:
            context.miss("J2", f"{point} was never answered, and not sent again within {GIVES_UP_MS} ms")
        becomes_stable(context, since if point in ("OffsetFetch", "ListOffsets") else again)
        return
    context.stable_member()
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _of_way(api: str) -> Test:
    return lambda e: is_request(api)(e) and (api != "JoinGroup" or of_member(e))


CALLED: Final = (
    ("commit", "reading-positions"),
    ("commit", "committing"),
    ("seek", "committing"),
    ("pause", "joining"),
    ("pause", "syncing"),
    ("pause", "reading-positions"),
    ("pause", "committing"),
)
"""What the other families leave out."""


@scenario(
    rules="D4 J1 J2 S3 H3 C1 M1 M7 O1 O2 O3 O4 O5 W1",
    source="KafkaConsumer; KIP-429; KAFKA-9431; SubscriptionState.assignFromSubscribed; librdkafka #3064",
    rebalance="cooperative",
    needs="pull seek pause auto_commit",
    variants=tuple(
        Variant(
            f"{call}-{point}",
            point=f"{call} {point}",
            auto_commit_interval_ms=SHORT_MS,
            not_judged="O2" if point == "committing" else "",
        )
        for call, point in CALLED
    ),
    timeout_ms=6_000,
)
def calls_on_the_way(context: ScenarioContext) -> None:
    """The application calls something in the midst of a round, or while an automatic commit is unanswered."""
    call, point = context.variant.point.split()
    context.stable_member()
    release = POINTS[point](context)
    called = context.now()
    if call == "commit":
        context.commit()
    elif call == "seek":
        context.seek(ONE, 1, rule="J2")
    else:
        context.pause([ONE], rule="J2")
    context.watch(SHORT_MS, "what is sent meanwhile", since=called)
    release()
    context.poll()
    context.watch(SHORT_MS, "what comes of it", since=context.now())
    if call == "pause":
        context.resume([ONE], rule="J2")
    reads_on(context, called)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C7 M1 O1 O3 L1 L2 W1",
    source="KafkaConsumer.close(Duration.ZERO); KAFKA-16639; AbstractCoordinator.maybeLeaveGroup; KIP-266",
    rebalance="cooperative",
    needs="pull close_timeout",
    variants=tuple(
        Variant(
            each,
            point=each,
            close_within_ms=AT_ONCE_MS,
            auto_commit_interval_ms=SHORT_MS,
            not_judged="L1" if each == "moved" else "",
        )
        for each in POINTS
    ),
    timeout_ms=6_000,
)
def closed_at_once(context: ScenarioContext) -> None:
    """close() without any time, in each state of a member: LeaveGroup is sent all the same, and nothing waited for."""
    context.stable_member()
    release = POINTS[context.variant.point](context)
    context.watch(SHORT_MS, "what has happened has reached the member", since=context.now())
    asked = context.ask_to_close(0)
    context.expect_event("shutdown_complete", rule="L2", since=asked)
    release()
    context.broker.has_received("LeaveGroup", WITHIN_S)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C5 O5 L2 W1",
    source="ConsumerRebalanceListener (javadoc: seek in onPartitionsAssigned); KafkaConsumer.pause",
    rebalance="cooperative",
    needs="pull listener callback_seek pause",
    variants=tuple(
        Variant(each, point=each, in_callback=(("partitions_assigned", each),)) for each in ("seek", "pause")
    ),
    timeout_ms=6_000,
)
def positions_in_a_callback(context: ScenarioContext) -> None:
    """The assigned callback sets the positions, or pauses what is new: the records come from there, or none do."""
    since = context.now()
    context.subscribe()
    context.poll()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    context.expect_assigned(rule="S3", since=synced)
    if context.variant.point == "pause":
        context.watch(2 * SHORT_MS, "records of what is paused", since=synced)
        if any(is_event("records_consumed")(entry) for entry in context.log.as_it_came()):
            context.miss("O5", "records came although the callback had paused every partition")
        context.resume([TopicPartition("orders", number) for number in range(4)], rule="C5")
    context.expect_records_of(context.broker.partitions(), rule="C5", since=synced)
    if context.variant.point == "seek" and _begins(context) != 1:
        context.miss("C5", "the callback had set the position to 1, and records came from another one on")
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _begins(context: ScenarioContext) -> int:
    """Where a partition is read first that has a committed offset."""
    told = (e.event for e in context.log.as_it_came() if isinstance(e.event, protocol.RecordsConsumed))
    return next(part.min_offset for event in told for part in event.partitions if part.partition == ONE.partition)


@scenario(
    rules="D4 J1 J2 S3 H3 C1 C5 T4 L2 W1",
    source="KafkaConsumer.wakeup; ConsumerCoordinator.commitOffsetsSync (invokePendingAsyncCommits); KAFKA-4569",
    rebalance="cooperative",
    needs="pull wakeup listener callback_commit lost_callback",
    variants=(
        Variant("assigned", point="assigned", callback_ms=MOMENT_MS, in_callback=(("partitions_assigned", "commit"),)),
        Variant("revoked", point="revoked", callback_ms=MOMENT_MS, in_callback=(("partitions_revoked", "commit"),)),
        Variant("lost", point="lost", callback_ms=MOMENT_MS),
    ),
    timeout_ms=6_000,
)
def wakeup_in_a_callback(context: ScenarioContext) -> None:
    """The poll is woken while a callback runs: the callback ends, its commit succeeds, and one poll is woken."""
    point = context.variant.point
    since = context.now()
    if point == "assigned":
        context.subscribe()
        context.poll()
    else:
        context.stable_member()
        if point == "revoked":
            context.broker.take_one_partition()
        since = context.now()
        context.broker.answer_next("Heartbeat", CALLBACKS[point])
    begun = context.reached(
        _callback_with_partitions(f"partitions_{point}"), "a callback", REACHED_WITHIN_S, since=since
    )
    asked = context.wakeup(rule="T4")
    context.expect_woken(rule="T4", since=asked)
    context.expect_answer("SyncGroup", "NONE", rule="J2", since=since if point == "assigned" else begun)
    context.expect_heartbeats(rule="H3", since=asked, for_ms=2 * SHORT_MS)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _callback_with_partitions(name: str) -> Test:
    return lambda e: isinstance(e.event, protocol.CALLBACKS[name]) and bool(e.event.partitions)
