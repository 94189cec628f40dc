"""The rows: every request, answer, point and protocol, with what must follow, and why others are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from typing import Final

from groupspec.conformance.checks import CHECKERS
from groupspec.conformance.wire.answers.path import LEGS, POINTS, CannotBe, Course, course
from groupspec.conformance.wire.answers.refusals import errors
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import RESPONSES

REQUESTS: Final = (
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ListOffsets",
    "Fetch",
    "Metadata",
)
WITH_EFFECT: Final = ("JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit")
"""Requests that change the group: it makes a difference whether they have been carried out."""
UNANSWERED: Final = {
    "late": "NONE",
    "never": "TIMED_OUT",
    "cut-before": "DISCONNECTED",
    "cut-after": "DISCONNECTED",
    "answered-twice": "DISCONNECTED",
}
"""What becomes of a request besides an error, and what the client gets of it: the ordinary answer, or none."""
DEMANDED_BY: Final = {
    "FindCoordinator": "D1",
    "JoinGroup": "J2",
    "SyncGroup": "J2",
    "lost": "C2",
    "assigned": "S3",
    "LeaveGroup": "L1",
}
"""The rule that demands each word of a course; others are not demanded."""
COMMIT_OF_REBALANCE: Final = (("OffsetCommit", "revoking"), ("OffsetCommit", "rejoining"))
"""Whether the callback after its answer is lost or revoked is left open, and so rule C2 is not judged.

Java reads generation and member id before it waits for that commit (ConsumerCoordinator.onJoinPrepare).
"""
SYNC_AGAIN: Final = ("sync_coordinator_gone", "sync_fatal")
"""Answers to SyncGroup after which it may be sent again instead of JoinGroup: the generation is what it was."""
WORDS_OF_OUTCOME: Final = {"coordinator_forgotten": ("FindCoordinator",)}
"""What of an outcome of `spec.request_handling` is demanded besides that records come at the end."""
EVERYWHERE: Final = "W1 D4 J1 J2 S3 H3 P4 C1 C3 M1 M7 O1 O3"
"""Rules that every row is judged by: on the way to its point, and at its end, they have their occasions."""
AT_CLOSE: Final = ("C7", "L2", "L3")


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        answer: An error, or a key of UNANSWERED.
        course: What must follow.
        source: Where it stands that a broker gives this answer; "" for what any network does.
    """

    request: str
    answer: str
    point: str
    rebalance: str
    course: Course
    source: str

    @property
    def name(self) -> str:
        """The name of the variant."""
        return f"{self.point}-{self.answer.lower().replace('_', '-')}"

    @property
    def demands(self) -> tuple[str, ...]:
        """What of its course the client must show, in order; a request that is sent again and again, once.

        Who closes may leave the group without a word when it has lost its coordinator.
        """
        if self.point == "closing":
            return ("LeaveGroup",) * ("LeaveGroup" in self.course.words and "FindCoordinator" not in self.course.words)
        words = (*self.course.words, *WORDS_OF_OUTCOME.get(self.course.outcome, ()))
        demanded = (word for word in words if word in DEMANDED_BY and not self._leaves_open(word))
        return tuple(word for word, _ in groupby(demanded))

    def _leaves_open(self, word: str) -> bool:
        """Whether correct clients differ here.

        One that has lost its connection may make another to the same coordinator instead of looking for it (rule D6).
        """
        if word == "FindCoordinator":
            return self.answer in UNANSWERED and self.request != "FindCoordinator"
        if word == "JoinGroup":
            event = RESPONSES.get((self.request, UNANSWERED.get(self.answer, self.answer)))
            return self.request == "SyncGroup" and (event or "sync_fatal") in SYNC_AGAIN
        return word == "lost" and (self.request, self.point) in COMMIT_OF_REBALANCE

    def demanded_by(self, word: str) -> str:
        """The rule that demands a word of the course."""
        return "D2" if word == self.request == "FindCoordinator" else DEMANDED_BY[word]

    @property
    def rules(self) -> tuple[str, ...]:
        """What the run is judged by: rules with a checker."""
        wanted = {*EVERYWHERE.split(), *self.course.rules, *(self.demanded_by(word) for word in self.demands)}
        if self.point == "closing":
            wanted |= set(AT_CLOSE)
        if (self.request, self.point) in COMMIT_OF_REBALANCE:
            wanted -= {"C2"}
        return tuple(rule for rule in RULES if rule in wanted and rule in CHECKERS)


def rows() -> tuple[Row, ...]:
    """All that can be."""
    return tuple(each for each in _every() if isinstance(each, Row))


def left_out() -> tuple[tuple[str, str], ...]:
    """What cannot be, `request point answer protocol`, and why."""
    return tuple(each for each in _every() if not isinstance(each, Row))


@cache
def _every() -> tuple[Row | tuple[str, str], ...]:
    return tuple(_computed())


def _computed() -> Iterator[Row | tuple[str, str]]:
    for request, rebalance, point in product(REQUESTS, LEGS, POINTS):
        requester = "pending" if point == "joining" else "member"
        refusals = errors(request, requester)
        for answer in (*refusals, *UNANSWERED):
            try:
                follows = _course(request, answer, point, rebalance)
                yield Row(request, answer, point, rebalance, follows, refusals.get(answer, ""))
            except CannotBe as why:
                yield f"{request} {point} {answer} {rebalance}", str(why)


def _course(request: str, answer: str, point: str, rebalance: str) -> Course:
    if answer == "answered-twice" and request not in WITH_EFFECT:
        raise CannotBe(f"{request} has no effect that could come twice")
    return course(rebalance, request, point, UNANSWERED.get(answer, answer))
