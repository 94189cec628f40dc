"""A row, played: the client is brought to the point, the answer is given, and what must follow is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupspec.conformance.history.entry import Entry, Test, is_event, is_request
from groupspec.conformance.wire.answers.rows import UNANSWERED, Row
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.impl.broker.actions import (
    Action,
    CloseConnection,
    Hold,
    Match,
    NeverReply,
    Reply,
    ReplyAfter,
)

LATE_MS: Final = 700
"""Later than the retry backoff, sooner than the request timeout."""
CALLBACK_MS: Final = 700
"""While a callback is running some heartbeats are due."""
REACHED_WITHIN_S: Final = 6.0
HEARTBEATS_FOR_MS: Final = 450
POSITIONS: Final = ("OffsetFetch", "ListOffsets")
"""Requests that a member sends as soon as it is assigned something."""


def play(context: ScenarioContext, row: Row) -> None:
    """The row against a client. Raises NoOccasion, and what the context raises."""
    told = _given(context, row)
    if row.point == "closing":
        _closes(context, row, told)
    else:
        _recovers(context, row, told)
        context.close()


# The answer is given --------------------------------------------------------------------------------------------------


def _given(context: ScenarioContext, row: Row) -> Entry:
    """The answer in question, or the note that says that there is none."""
    return _on_the_way(context, row) if row.request in POSITIONS else _GIVEN[row.point](context, row)


def _on_the_way(context: ScenarioContext, row: Row) -> Entry:
    """The request comes by itself once the client polls, or as soon as it is made."""
    since = _script(context, row)
    context.subscribe()
    context.poll()
    return _comes(context, row, since)


def _of_member(context: ScenarioContext, row: Row) -> Entry:
    """A stable member sends it by itself: a commit when there is something to commit."""
    context.stable_member()
    since = _script(context, row)
    context.broker.append_records()
    return _comes(context, row, since)


def _of_searching_member(context: ScenarioContext, row: Row) -> Entry:
    context.stable_member()
    since = _script(context, row)
    context.broker.answer_next("Heartbeat", "NOT_COORDINATOR")
    return _comes(context, row, since)


def _of_rejoining_member(context: ScenarioContext, row: Row) -> Entry:
    context.stable_member()
    since = _script(context, row)
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    return _comes(context, row, since)


def _in_callback(context: ScenarioContext, row: Row) -> Entry:
    """A heartbeat while the revoked callback is running; the commit before it comes as that of a rejoining member."""
    if row.request != "Heartbeat":
        return _of_rejoining_member(context, row)
    context.stable_member()
    if row.rebalance == "cooperative":
        context.broker.take_one_partition()
    before = context.now()
    context.broker.answer_next("Heartbeat", "REBALANCE_IN_PROGRESS")
    context.reached(is_event("partitions_revoked"), "partitions_revoked", REACHED_WITHIN_S, since=before)
    since = _script(context, row)
    context.reached(is_request("Heartbeat"), "Heartbeat in the callback", CALLBACK_MS / 1000, since=since)
    return _comes(context, row, since)


def _at_close(context: ScenarioContext, row: Row) -> Entry:
    """A heartbeat is out when the client is closed, and LeaveGroup follows it; other requests are sent then."""
    context.stable_member()
    if row.request != "Heartbeat":
        since = _script(context, row)
        context.ask_to_close()
        return _comes(context, row, since)
    held = Hold(_action(row))
    since = _script(context, row, held)
    context.reached(is_request("Heartbeat"), "Heartbeat", REACHED_WITHIN_S, since=since)
    asked = context.ask_to_close()
    context.reached(is_request("LeaveGroup"), "LeaveGroup", REACHED_WITHIN_S, since=asked)
    held.release()
    return _comes(context, row, since)


_GIVEN: Final[Mapping[str, Callable[[ScenarioContext, Row], Entry]]] = {
    "joining": _on_the_way,
    "syncing": _on_the_way,
    "stable": _of_member,
    "searching": _of_searching_member,
    "rejoining": _of_rejoining_member,
    "resyncing": _of_rejoining_member,
    "revoking": _in_callback,
    "closing": _at_close,
}


def _script(context: ScenarioContext, row: Row, action: Action | None = None) -> Entry:
    """Have the broker do it with the next such request."""
    since = context.now()
    context.broker.do_next(row.request, action or _action(row), row.answer, _match(row))
    return since


def _action(row: Row) -> Action:
    actions: Mapping[str, Action] = {
        "late": ReplyAfter(LATE_MS),
        "never": NeverReply(),
        "cut-before": CloseConnection(reset=True),
        "cut-after": CloseConnection(),
        "answered-twice": CloseConnection(applied=True),
    }
    return actions[row.answer] if row.answer in UNANSWERED else Reply(row.answer)


def _match(row: Row) -> Match | None:
    """Which of the requests of that API is meant.

    The first JoinGroup has no member id, and is answered as usual (MEMBER_ID_REQUIRED). Who does not ask for stable
    offsets is not told that they are unstable. A Fetch may ask for nothing, and a client asks for the nodes before it
    asks for its topic.
    """
    if row.request == "JoinGroup" and row.point == "joining":
        return lambda event: bool(getattr(event.message, "member_id", ""))
    if row.answer == "UNSTABLE_OFFSET_COMMIT":
        return lambda event: bool(getattr(event.message, "require_stable", False))
    if row.request == "Fetch":
        return lambda event: bool(getattr(event.message, "offsets", ()))
    if row.request == "Metadata":
        return lambda event: bool(getattr(event.message, "topics", ()))
    return None


def _comes(context: ScenarioContext, row: Row, since: Entry) -> Entry:
    return context.reached(
        _is_given(row), f"{row.request}, to be answered {row.answer},", REACHED_WITHIN_S, since=since
    )


def _is_given(row: Row) -> Test:
    if row.answer == "late":
        return lambda e: e.kind == "response" and e.api == row.request  # the next one: nothing overtakes it
    if row.answer in UNANSWERED:
        return lambda e: e.source == "wire" and e.kind == "note" and e.api == row.request
    return lambda e: e.kind == "response" and (e.api, e.error) == (row.request, row.answer)


# What must follow -----------------------------------------------------------------------------------------------------


def _recovers(context: ScenarioContext, row: Row, told: Entry) -> None:
    """The requests of the course in their order, and its callbacks; at the end heartbeats, and new records."""
    since = told
    for word in row.demands:
        rule = row.demanded_by(word)
        if word == "lost":
            if context.offers("lost_callback"):
                context.expect_event("partitions_lost", rule=rule, since=told)
        elif word == "assigned":
            context.expect_assigned(rule=rule, since=since)
        elif word == "FindCoordinator":  # whether it comes before the next JoinGroup is for rule D4 to judge
            context.expect_answer(word, "NONE", rule=rule, since=told)
        else:
            since = context.expect_answer(word, "NONE", rule=rule, since=since)
    context.expect_heartbeats(rule="H3", since=since, for_ms=HEARTBEATS_FOR_MS)
    since = context.now()
    context.broker.append_records()
    taken_away = row.point == "revoking" and row.rebalance == "cooperative"
    partitions = context.broker.assigned() if taken_away else context.broker.partitions()
    context.expect_records_of(partitions, rule="O1", since=since)


def _closes(context: ScenarioContext, row: Row, told: Entry) -> None:
    """close() ends, and the member has left if it must."""
    if "LeaveGroup" in row.demands:
        context.expect_request("LeaveGroup", rule="L1", since=told)
    context.expect_event("shutdown_complete", rule="L2", since=told)
