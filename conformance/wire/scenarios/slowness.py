"""Rounds, answers and polls that take longer than the intervals beside them, several silent at once, many in a row.

In the other families one answer is late, or one fails, and the rest is as quick as loopback.
"""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import is_request
from groupspec.conformance.wire.case import Variant
from groupspec.conformance.wire.case_broker import RECORDS
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.conformance.wire.scenarios.registry import scenario
from groupspec.conformance.wire.scenarios.steps import (
    REACHED_WITHIN_S,
    becomes_stable,
    held_round,
    reads_on,
)
from groupspec.impl.broker.actions import NeverReply, Reply, ReplyAfter
from groupspec.impl.broker.log import WireEvent

INTERVAL_MS: Final = 300
INTERVALS: Final = 4
"""So many commit intervals pass while something takes long."""
SLOWER_MS: Final = 350
"""Than a heartbeat interval, a retry backoff and a commit interval; sooner than a request timeout."""
LONG_POLL_MS: Final = 3_000
NEVER_EMPTY_MS: Final = 60
"""From records to records: sooner than an empty poll returns."""
IN_A_ROW: Final = 4
"""More than the retries that clients allow themselves: three (librdkafka), two."""
COORDINATOR: Final = 2
"""Where metadata is silent: clients ask the first node that they know for it."""
SLOW: Final = {
    "heartbeats": ("Heartbeat",),
    "commits": ("OffsetCommit",),
    "fetches": ("Fetch",),
    "metadata": ("Metadata",),
    "coordinator": ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "LeaveGroup"),
}
WAITED_FOR: Final = {"Heartbeat", "OffsetCommit"}
"""A client may wait for the answers to both after each record, if they are slower than their intervals: kafkajs does.

Where both are, it reads a record in 700 ms (Runner.processEachMessage): few come, so that all can be read in time.
"""
REFRESHES: Final = (("metadata.max.age.ms", str(INTERVAL_MS)),)
"""So a stable member asks for metadata, too."""
SILENT_TOGETHER: Final = (
    ("Heartbeat", "Fetch"),
    ("Heartbeat", "Metadata"),
    ("Heartbeat", "FindCoordinator"),
    ("OffsetCommit", "Fetch"),
    ("Fetch", "Metadata"),
    ("OffsetCommit", "FindCoordinator"),
    ("Metadata", "FindCoordinator"),
    ("Metadata",),
)
FAILING: Final = {
    "looking-up": ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    "joining": ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    "syncing": ("SyncGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    "reading-positions": ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    "reading-beginning": ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"),
    "fetching": ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
}
LONG_ROUNDS: Final = (
    Variant("joining", point="JoinGroup", auto_commit_interval_ms=INTERVAL_MS),
    Variant("syncing", point="SyncGroup", auto_commit_interval_ms=INTERVAL_MS),
)
NO_IDENTITY: Final = {"looking-up": "J4"}
"""No member could be refused yet."""


@scenario(
    rules="D4 J1 J2 J4 S1 S3 H3 H4 C1 M1 M6 M7 O1 O3 W1",
    source="platformatic/kafka #370; ConsumerCoordinator.maybeAutoCommitOffsetsAsync; generationIfStable",
    variants=LONG_ROUNDS,
    needs="auto_commit",
    timeout_ms=6_000,
)
def commits_in_a_long_round(context: ScenarioContext) -> None:
    """The others take several commit intervals to join: nothing is committed meanwhile, and the round is begun once."""
    _passes_a_long_round(context)


@scenario(
    rules="D4 J1 J2 J4 S3 H3 H4 C1 K1 K4 M1 M6 M7 O1 O2 O3 O4 W1",
    source="platformatic/kafka #370; KIP-429; librdkafka 1.7.0 note (timed auto commit)",
    rebalance="cooperative",
    variants=LONG_ROUNDS,
    needs="auto_commit",
    timeout_ms=6_000,
)
def commits_in_a_long_round_cooperative(context: ScenarioContext) -> None:
    """The same of a member that reads on in the round, and so has something to commit."""
    _passes_a_long_round(context)


def _passes_a_long_round(context: ScenarioContext) -> None:
    context.stable_member()
    since = context.now()
    held = held_round(context, context.variant.point)
    for _ in range(INTERVALS):
        context.broker.append_records()
        context.watch(INTERVAL_MS, "what is sent in the round", since=context.now())
    held.release()
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    if context.case.scenario.rebalance == "eager":
        context.expect_assigned(rule="S3", since=since)
    reads_on(context, synced)


@scenario(
    rules="D4 J1 J2 J4 S3 H3 H4 H7 C1 M1 M5 M6 M7 O1 O3 O4 L1 L2 L3 C7 W1",
    source="KIP-62; NetworkClient.poll; ConsumerCoordinator.maybeAutoCommitOffsetsAsync; librdkafka #3064",
    variants=tuple(
        Variant(
            name,
            point=name,
            auto_commit_interval_ms=INTERVAL_MS,
            more=REFRESHES if name == "metadata" else (),
            not_judged="" if name in ("heartbeats", "coordinator") else "H7",
        )
        for name in SLOW
    ),
    timeout_ms=6_000,
)
def slow_answers(context: ScenarioContext) -> None:
    """Every answer to some requests comes later than the next one of its kind would be due: a far, or a busy broker.

    The member reads and commits all the same, follows a rebalance, and leaves.
    """
    context.stable_member()
    slow = SLOW[context.variant.point]
    for api in slow:
        context.broker.do_always(api, ReplyAfter(SLOWER_MS), f"it is answered {SLOWER_MS} ms late")
    few = WAITED_FOR.issubset(slow)
    records = 1 if few else RECORDS
    for _ in range(INTERVALS):
        context.broker.append_records(records, only_first=few)
        context.watch(INTERVAL_MS, "reading and committing", since=context.now())
    since = context.now()
    late_ms = SLOWER_MS if "Heartbeat" in slow else 0
    announced = ReplyAfter(late_ms, Reply("REBALANCE_IN_PROGRESS"))
    context.broker.do_next("Heartbeat", announced, "the group rebalances")
    joined = context.expect_request("JoinGroup", rule="H4", since=since)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.broker.append_records(records)
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    context.expect_heartbeats(rule="H3", since=synced, for_ms=2 * SLOWER_MS)
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)


def _on_another_connection(event: WireEvent) -> bool:
    """Whether no heartbeat waits behind it: it has gone to the node that does not coordinate."""
    return event.node != COORDINATOR


def _names(apis: tuple[str, ...]) -> str:
    return "-and-".join(api.lower() for api in apis)


@scenario(
    rules="D4 D6 J1 J2 S3 H2 H3 C1 M1 M6 M7 O3 O4 L2 W1",
    source="NetworkClient.handleTimedOutRequests; KAFKA-19357; kafka-python #583; librdkafka #1002",
    variants=tuple(
        Variant(
            f"{_names(apis)}{end}",
            point=" ".join((*apis, end)),
            auto_commit_interval_ms=INTERVAL_MS,
            more=REFRESHES,
            not_judged="" if apis == ("Metadata",) and not end else "H2",
        )
        for end in ("", "-closing")
        for apis in SILENT_TOGETHER
    ),
    timeout_ms=6_000,
)
def several_silent(context: ScenarioContext) -> None:
    """Two requests are never answered, on connections of their own or on one: neither waits for the other.

    (Or metadata alone, on a connection on which no heartbeat waits behind it.)

    After the request timeout they are sent again, and the member reads on; or it is closed meanwhile, which ends.
    """
    *apis, end = context.variant.point.split(" ")
    if apis == ["Metadata"]:
        context.broker.move_coordinator(COORDINATOR)
    context.stable_member()
    since = context.now()
    context.broker.append_records()
    for api in apis:
        if api == "FindCoordinator":
            if apis[0] != "Heartbeat":  # who looks for its coordinator asks it for nothing
                context.reached(is_request(apis[0]), apis[0], REACHED_WITHIN_S, since=since)
            context.broker.answer_next("Heartbeat", "NOT_COORDINATOR")
        match = _on_another_connection if apis == ["Metadata"] else None
        context.broker.do_next(api, NeverReply(), "it is never answered", match)
    for api in apis:
        context.reached(is_request(api), api, REACHED_WITHIN_S, since=since)
    if end:
        asked = context.ask_to_close()
        context.expect_event("shutdown_complete", rule="L2", since=asked)
        return
    context.expect_heartbeats(rule="D6", since=context.now(), for_ms=1_200 if apis == ["Metadata"] else 450)
    again = context.now()
    context.broker.append_records()
    context.expect_records(rule="O4", since=again, partitions=context.broker.partitions())
    context.close()


@scenario(
    rules="D3 D4 J1 J2 J4 S3 H3 C1 C3 M7 O1 O3 O6 W1",
    source="librdkafka #3455; kafka-python #2629; OffsetFetcher; AbstractCoordinator.JoinGroupResponseHandler",
    variants=tuple(Variant(name, point=name, not_judged=NO_IDENTITY.get(name, "")) for name in FAILING),
    timeout_ms=6_000,
)
def fails_many_times(context: ScenarioContext) -> None:
    """A request fails in passing, four times in a row: it is tried until it succeeds, and nothing else comes of it.

    Above all no position that the reset policy says: that there is no committed offset, nobody has answered.
    """
    api, error = FAILING[context.variant.point]
    since = context.now()
    match = of_member if api == "JoinGroup" else None
    for _ in range(IN_A_ROW):
        context.broker.do_next(api, Reply(error), f"it is answered {error}", match)
    context.subscribe()
    context.poll()
    becomes_stable(context, since)


@scenario(
    rules="D4 J1 S3 H2 H3 P4 C1 M1 M4 M5 M6 M7 O1 O3 O4 O5 L1 L2 L5 W1",
    source="KAFKA-3627; KAFKA-2942; ConsumerCoordinator.poll (maybeAutoCommitOffsetsAsync)",
    needs="auto_commit pull",
    variants=(
        Variant("long-poll", point="long", poll_ms=LONG_POLL_MS, auto_commit_interval_ms=INTERVAL_MS, not_judged="L5"),
        Variant("never-empty", point="never-empty", auto_commit_interval_ms=INTERVAL_MS),
    ),
    timeout_ms=6_000,
)
def commits_while_polling(context: ScenarioContext) -> None:
    """The commit interval is over again and again while a poll waits, or while no poll has to wait.

    Commits go out all the while, and none of them says more than was returned by an earlier poll.
    """
    context.stable_member()
    pause_ms = INTERVAL_MS if context.variant.point == "long" else NEVER_EMPTY_MS
    for _ in range(2):
        since = context.now()
        for _ in range(INTERVALS * INTERVAL_MS // pause_ms):
            context.broker.append_records()
            context.watch(pause_ms, "commits", since=context.now())
        over = context.now()
        if context.expect_request("OffsetCommit", rule="M5", since=since).at_us > over.at_us:
            context.miss("M5", f"no OffsetCommit in {INTERVALS} commit intervals, only when no more records came")
    asked = context.ask_to_close()
    context.expect_event("shutdown_complete", rule="L2", since=asked)
