"""Steps that stories of several families have in common."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.history.entry import Entry, is_event, is_request
from groupspec.conformance.wire.scenario_context import ScenarioContext, of_member
from groupspec.impl.broker.actions import Hold
from groupspec.impl.broker.log import WireEvent

REACHED_WITHIN_S: Final = 6.0
SHORT_POLL_MS: Final = 5
"""Shorter than a round on loopback, on a busy machine."""
IN_HAND_MS: Final = 150
"""What has been answered has reached the client by then."""


def hold(context: ScenarioContext, api: str) -> Hold:
    """The next request of this API waits until it is released; a JoinGroup only if it names a member id."""
    held = Hold()
    context.broker.do_next(api, held, "it is answered later", lambda event: _is_meant(api, event))
    return held


def until_asked(context: ScenarioContext, api: str, since: Entry) -> None:
    """The client has sent the request that is held. Raises NoOccasion."""
    context.reached(lambda e: is_request(api)(e) and _is_meant(api, e), api, REACHED_WITHIN_S, since=since)


def _is_meant(api: str, request: Entry | WireEvent) -> bool:
    return api != "JoinGroup" or of_member(request)


def polls_once(context: ScenarioContext, since: Entry) -> None:
    """A whole poll: who reads its answers there alone has read what had come. Raises NoOccasion."""
    begun = context.reached(is_event("poll_started"), "a poll", REACHED_WITHIN_S, since=since)
    context.reached(is_event("poll_returned"), "its end", REACHED_WITHIN_S, since=begun)


def announced_round(context: ScenarioContext) -> Entry:
    """A heartbeat says that the group rebalances; the member joins again, and has its assignment. When it had it."""
    since = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    announced = context.expect_answer("Heartbeat", "REBALANCE_IN_PROGRESS", rule="H3", since=since)
    joined = context.expect_request("JoinGroup", rule=context.judged("H4", "J2"), since=announced)
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)
    context.expect_assigned(rule="S3", since=joined)
    return synced


def held_round(context: ScenarioContext, api: str) -> Hold:
    """A heartbeat says that the group rebalances; the member has sent this request, whose answer is held back."""
    since = context.now()
    held = hold(context, api)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    until_asked(context, api, since)
    return held


def held_with_short_polls(context: ScenarioContext) -> Hold | None:
    """Where polls are short, and the client's application polls: the next SyncGroup waits, for `ends_between_polls`."""
    short = context.variant.poll_ms <= SHORT_POLL_MS and context.offers("pull")
    return hold(context, "SyncGroup") if short else None


def ends_between_polls(context: ScenarioContext, held: Hold | None, since: Entry) -> None:
    """The answer to SyncGroup comes when one poll has given the round up for now, and the next has not begun.

    That is so by chance wherever polls are shorter than a round, and the application is busy in between.
    """
    if held is None:
        return
    context.expect_request("SyncGroup", rule="J2", since=since)
    context.stop_polling(rule="H3")
    held.release()
    context.watch(IN_HAND_MS, "the assignment is there when the next poll begins", since=context.now())
    context.poll()


def comes_back(context: ScenarioContext, joined: Entry, since: Entry, *, lost: str, synced: str) -> None:
    """Who lost its membership at `since` says so, by the rule `lost`, and is a member again, by the rule `synced`."""
    if context.offers("lost_callback"):
        context.expect_event("partitions_lost", rule=lost, since=since)
    again = context.expect_answer("SyncGroup", "NONE", rule=synced, since=joined)
    context.expect_assigned(rule="S3", since=joined)
    context.expect_heartbeats(rule="H3", since=again)
    context.close()


def becomes_stable(context: ScenarioContext, since: Entry | None = None) -> None:
    """The round ends, the member reads from every partition, and heartbeats run; then it is closed."""
    synced = context.expect_answer("SyncGroup", "NONE", rule="J2", since=since)
    context.expect_assigned(rule="S3", since=synced)
    context.expect_records(rule="O1", since=synced, partitions=context.broker.partitions())
    beats_on(context, synced)


def reads_on(context: ScenarioContext, since: Entry) -> None:
    """Records that come now are read from every partition, and heartbeats run; then it is closed."""
    context.broker.append_records()
    context.expect_records(rule="O1", since=since, partitions=context.broker.partitions())
    beats_on(context, since)


def beats_on(context: ScenarioContext, since: Entry) -> None:
    """Heartbeats run; then it is closed."""
    context.expect_heartbeats(rule="H3", since=since, for_ms=450)
    context.close()
