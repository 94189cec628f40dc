"""A member's path, walked on its machines: where it sends which request, and what must follow from an answer.

The machines are those of `spec.member`, the deployed table. The walk is one of a dynamic member with auto-commit, from
its first poll to close(). After the answer in question a broker answers everything as it should, the application polls
on, and timers fall due, until nothing is left to happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from groupspec.spec.compiler.member import IllegalEvent, Member, Move, Offer
from groupspec.spec.request_handling import HANDLINGS, Handling
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import REQUESTS, RESPONSES

POINTS: Final[Mapping[str, str]] = {
    "joining": "from the first poll to the first JoinGroup's answer",
    "syncing": "the first SyncGroup is out",
    "stable": "assigned, with positions, heartbeating",
    "searching": "a member that was told that its coordinator has moved",
    "revoking": "a rebalance takes partitions away: the commit before it, and the revoked callback",
    "rejoining": "a member that joins again, because a rebalance was announced",
    "resyncing": "its SyncGroup is out",
    "closing": "from close() to the answer to LeaveGroup",
}
"""Where on its path the member is."""

_START: Final = ("started", "subscribed_to_topics", "application_polled")
_JOIN: Final = ("discovery_succeeded", "join_member_id_required")
_ASSIGNED: Final = (Offer("sync_accepted", (("adds_any", True),)), "partitions_assigned")
_LESS_ASSIGNED: Final = Offer("sync_accepted", (("revokes_any", True), ("retains_any", True)))
_STABLE: Final = (*_START, *_JOIN, "join_accepted", *_ASSIGNED)
_BEATING: Final = (*_STABLE, "heartbeat_due")
_ANNOUNCED: Final = ("heartbeat_rebalance_in_progress", "commit_settled")
_SYNCING: Final = ("join_accepted", "heartbeat_due")

Leg = tuple[str | Offer, ...]

_EITHER: Final[dict[str, tuple[Leg, Leg]]] = {
    "joining": ((), (*_START, *_JOIN)),
    "syncing": ((*_START, *_JOIN), _SYNCING),
    "stable": (_STABLE, ("heartbeat_due",)),
    "searching": (_BEATING, ("heartbeat_coordinator_gone",)),
    "closing": (_STABLE, ("heartbeat_due", "leave_requested", "callback_started", "partitions_revoked")),
}
_EAGER: Final[dict[str, tuple[Leg, Leg]]] = {
    "revoking": (_BEATING, (*_ANNOUNCED, "callback_started", "heartbeat_due")),
    "rejoining": ((*_BEATING, *_ANNOUNCED, "callback_started"), ("partitions_revoked",)),
    "resyncing": ((*_BEATING, *_ANNOUNCED, "callback_started", "partitions_revoked"), _SYNCING),
}
_COOPERATIVE: Final[dict[str, tuple[Leg, Leg]]] = {
    "rejoining": (_BEATING, _ANNOUNCED),
    "resyncing": ((*_BEATING, *_ANNOUNCED), _SYNCING),
    "revoking": (
        (*_BEATING, *_ANNOUNCED, "join_accepted", _LESS_ASSIGNED, "commit_settled"),
        ("callback_started", "heartbeat_due"),
    ),
}
"""The second commit of a cooperative member (rule M8) is no part of any point: Java does not send it."""
LEGS: Final = {"eager": _EITHER | _EAGER, "cooperative": _EITHER | _COOPERATIVE}
"""The events that lead to a point, and those of the point itself."""

COMMITS: Final = {"stable": "auto_commit_due", "closing": "close_commit_due"}
"""Where the commits are sent that have a machine of their own beside the member's, with its event."""
SITUATIONS: Final = {
    ("Metadata", "joining"): "new_topic",
    ("Metadata", "stable"): "refreshing",
    ("OffsetFetch", "stable"): "position_sought",
    ("ListOffsets", "stable"): "position_sought",
    ("Fetch", "stable"): "fetching",
    ("LeaveGroup", "closing"): "closing",
}
"""Where the requests are sent that have no state in any machine: the precondition in `spec.request_handling`."""

_ANSWER_TO: Final = {event: request for (request, _), event in RESPONSES.items()}
_SUCCESS: Final = {request: event for (request, error), event in RESPONSES.items() if error == "NONE"}
_OF_COORDINATOR: Final = tuple(request for request in REQUESTS if request not in ("FindCoordinator", "Fetch"))
_MOST_EVENTS: Final = 100


@dataclass(frozen=True)
class Course:
    """What follows from an answer, until the member is at rest.

    Attributes:
        words: Requests, callbacks (assigned, revoked, lost; none about nothing) and errors for the application (ERROR),
            in order.
        rules: Those of the rows that fired, or of the handling.
        outcome: The postcondition of the handling; "" where the machines decide.
    """

    words: tuple[str, ...]
    rules: frozenset[str]
    outcome: str = ""


class CannotBe(Exception):
    """There is no such answer to such a request at that point; why."""


def course(rebalance: str, request: str, point: str, error: str) -> Course:
    """What follows when a request that is sent at that point is answered with this error.

    `error`: NONE for the ordinary answer, TIMED_OUT, DISCONNECTED.

    Raises:
        CannotBe: the request is not sent there, or cannot be answered so.
    """
    if (request, point) in SITUATIONS:
        handling = _handling(request, SITUATIONS[request, point], error)
        return Course((), frozenset(handling.rules.split()), handling.then)
    if any(request == each for each, _ in SITUATIONS):
        raise CannotBe(f"no {request} is sent while {point}")
    event = RESPONSES.get((request, error)) or RESPONSES[request, "other"]
    walk = _walk_to(rebalance, request, point)
    begun = len(walk.words)
    try:
        walk.answer(request, event)
    except IllegalEvent as illegal:
        raise CannotBe(f"{illegal}") from illegal
    walk.to_rest(leaving=point == "closing")
    return Course(tuple(walk.words[begun:]), frozenset(walk.rules), "")


def _handling(request: str, when: str, error: str) -> Handling:
    rows = {each.error: each for each in HANDLINGS if (each.request, each.when) == (request, when)}
    if error not in rows and "other" not in rows:
        raise CannotBe(f"spec/request_handling.py has no answer {error} to {request} ({when})")
    return rows.get(error) or rows["other"]


def _walk_to(rebalance: str, request: str, point: str) -> _Walk:
    """The walk to the last place of a point at which the request is out."""
    before, leg = LEGS[rebalance][point]
    if request == "OffsetCommit" and point in COMMITS:
        walk = _Walk(rebalance, (*before, *(leg if point == "stable" else ())))
        walk.send("OffsetCommit")
        return walk
    places = [place for place in range(1, len(leg) + 1) if request in _Walk(rebalance, (*before, *leg[:place])).out]
    if not places:
        raise CannotBe(f"no {request} is sent while {point}")
    walk = _Walk(rebalance, (*before, *leg[: places[-1]]))
    earlier = [each for each in walk.out[: walk.out.index(request)] if each in _OF_COORDINATOR]
    if earlier and request in _OF_COORDINATOR:
        raise CannotBe(f"the answer to {request} waits behind that to {earlier[0]}, on the same connection")
    return walk


class _Walk:
    """The member's machines, and what of them is out.

    Attributes:
        out: Requests that await their answers, in order.
        words: What the member has sent and had done so far.
        rules: Of the rows that fired since the answer in question.
    """

    def __init__(self, rebalance: str, events: Leg) -> None:
        self._member = _member(rebalance)
        self._state = self._member.initial(auto_commit=True, static=False)
        self.out: list[str] = []
        self.words: list[str] = []
        self.rules: set[str] = set()
        self._identities = 0  # how often it has changed
        self._sent_as: dict[str, int] = {}
        self._due: list[str] = []
        self._adds = False
        for event in events:
            offer = event if isinstance(event, Offer) else Offer(event)
            self._take(offer.event, **dict(offer.inputs))

    def send(self, request: str) -> None:
        """A machine beside the member's sends this."""
        self.out.append(request)
        self._sent_as[request] = self._identities

    def answer(self, request: str, event: str) -> None:
        """The answer in question; rules count from here on. Raises IllegalEvent."""
        self.rules.clear()
        self._take(event, current=self._is_awaited(request))

    def to_rest(self, *, leaving: bool) -> None:
        """Go on as a well-behaved broker and an application that polls would have it."""
        for _ in range(_MOST_EVENTS):
            event, inputs = next(self._next(leaving), ("", {}))
            if not event:
                return
            self._take(event, **inputs)
        raise AssertionError(f"the member comes to no rest: {' '.join(self.words)}")

    def _next(self, leaving: bool) -> Iterator[tuple[str, dict[str, Value]]]:
        """What could happen next, the first of it first: who closes waits for nothing but a coordinator."""
        if leaving and self._value("subscribed") and not self._value("leaving") and "FindCoordinator" not in self.out:
            yield "leave_requested", {}
        for due, event in (("REVOKE_PARTITIONS", "callback_started"), ("ASSIGN_PARTITIONS", "partitions_assigned")):
            if due in self._due:
                yield event, {}
        if self._value("callback_running"):
            yield "partitions_revoked", {}
        if self._due == ["ERROR"]:
            yield "application_polled", {}
        for request in self.out:
            if request == "JoinGroup" and self._value("identity") == "none":
                yield "join_member_id_required", {}
            elif request == "SyncGroup":
                owned = self._value("owned")
                yield "sync_accepted", {"adds_any": not owned, "retains_any": owned}
            else:
                yield _SUCCESS[request], {"current": self._is_awaited(request)}
        yield from self._timers()

    def _timers(self) -> Iterator[tuple[str, dict[str, Value]]]:
        if self._value("discovery_wait") == "backoff":
            yield "discovery_backoff_elapsed", {}
        if self._value("commit_step") == "backoff":
            yield "commit_backoff_elapsed", {}
        if self._value("join_backoff"):
            yield "join_backoff_elapsed", {}
        if self._value("subscribed") and (not self._value("polled") or self._value("discovery_wait") == "poll"):
            yield "application_polled", {}

    def _is_awaited(self, request: str) -> bool:
        """Whether it was sent with the present identity, and still waited for: no heartbeat is across a JoinGroup."""
        beating = self._member.state_of(self._state, "timeouts") == "IN_FLIGHT"
        return self._sent_as[request] == self._identities and (request != "Heartbeat" or beating)

    def _take(self, event: str, **inputs: Value) -> None:
        reaction = self._member.react(self._state, event, {"current": True, "fits_subscription": True} | inputs)
        before, self._state = self._value("identity"), reaction.state
        self._identities += before != self._value("identity")
        self.rules.update(rule for move in reaction.moves if _happened(move) for rule in move.row.rules)
        if (request := _ANSWER_TO.get(event)) in self.out and request is not None:
            self.out.remove(request)
        if not self._value("coordinator_known"):
            self.out = [each for each in self.out if each not in _OF_COORDINATOR]
        if event == "application_polled":
            self._due = [due for due in self._due if due != "ERROR"]
        elif event == "sync_accepted":
            self._adds = inputs.get("adds_any") is True
        elif event == "callback_started":
            self._due.remove("REVOKE_PARTITIONS")
            self.words.append("lost" if self._value("lost") else "revoked")
        elif event == "partitions_assigned":
            self._due.remove("ASSIGN_PARTITIONS")
            self.words += ["assigned"] if self._adds else []
        for word in reaction.emitted:
            if word in REQUESTS:
                self.words.append(word)
                if word != "LeaveGroup":  # no machine waits for its answer
                    self.send(word)
            else:
                self._due.append(word)
                self.words += ["ERROR"] if word == "ERROR" else []

    def _value(self, variable: str) -> Value:
        return self._member.value_of(self._state, variable)


def _happened(move: Move) -> bool:
    return move.row.kind == "transition"


@cache
def _member(rebalance: str) -> Member:
    return Member(rebalance, "deployed")
