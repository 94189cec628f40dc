"""When one member must show signs of life, give up, and try again: judged by what it sends, and by the clock.

Nothing is said while timers race with threads: then no member can keep a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.conformance.schedules.finding import LIVES
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    NoAnswer,
    Request,
    Response,
    SyncGroupRequest,
)
from groupspec.impl.scripted import api_of

SETTINGS: Final[dict[str, int]] = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 1_000,
    "max_poll_interval_ms": 20_000,
    "request_timeout_ms": 11_000,
    "metadata_max_age_ms": 3_000,
}
"""What every scenario's consumer is told; the last one only leaders."""

LOOK_MS: Final = 100
"""Within which the heartbeat design has given the core each answer: the retry backoff, for which its thread sleeps."""

BACKOFF_MS: Final = 100
_NOT_READY: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
}
_UNANSWERED: Final = {ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT}
AGAIN_LATER: Final = {
    "FindCoordinator": _NOT_READY | _UNANSWERED,
    "JoinGroup": _NOT_READY,
    "Metadata": _UNANSWERED,
    "OffsetCommit": _NOT_READY | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    "OffsetFetch": _NOT_READY,
}
"""Requests, and errors after which the same one goes out again, but not at once (rule D3)."""

MISSED_HEARTBEATS: Final = 3
LATE_MS: Final = 200
"""How late a Heartbeat, or the end of the poll interval, may be seen: two looks of the heartbeat thread."""


class Times:
    """What one member has done when.

    Attributes:
        is_polling: Whether the application is inside poll().
        polls_ms: When its last poll() began, and when it ended.
        repeats: Whether a commit goes out again only because it has failed: no other one may be made meanwhile.
    """

    def __init__(self, settings: Mapping[str, int]) -> None:
        self._heartbeat_interval_ms = settings["heartbeat_interval_ms"]
        self._max_poll_interval_ms = settings["max_poll_interval_ms"]
        self._session_timeout_ms = settings["session_timeout_ms"]
        self._not_before_ms: dict[tuple[str, object], int] = {}
        self._joined_ms = self._known_ms = 0  # when JoinGroup was answered; when the member has certainly taken that
        self._is_known = True
        self._is_broken = self._may_mend = False
        self._heard_ms: int | None = None  # the last sign of life of a coordinator that owes them
        self._alive_ms: int | None = None  # the last sign of life of a member that owes them
        self._beat_ms = 0  # when it has sent the last Heartbeat
        self._beat_due_ms: int | None = None  # when the next one is due, since that was answered
        self._beat_failed = False
        self._beat_generation = -1  # of that Heartbeat
        self._beats_at_once = False  # after one that has failed, or at another coordinator
        self.is_polling = False
        self.polls_ms = self._polls_before_ms = (0, 0)
        self.repeats = False

    def answered(self, request: Request, response: Response, errors: set[ErrorCode], now_ms: int) -> None:
        """The member takes this answer."""
        api = api_of(request)
        if errors & AGAIN_LATER.get(api, set()) and (api != "OffsetCommit" or self.repeats):
            self._not_before_ms[_what(request)] = now_ms + BACKOFF_MS
        if isinstance(response, JoinGroupResponse) and not response.error:
            self._joined_ms, self._heard_ms, self._is_known = now_ms, None, False
        self._beats_at_once |= isinstance(request, FindCoordinatorRequest)
        if isinstance(request, HeartbeatRequest):
            self._beats_at_once |= bool(errors - {ErrorCode.NONE})
            if not isinstance(response, NoAnswer) and self._heard_ms is not None:
                self._heard_ms = now_ms
            self._beat_answered(errors, now_ms)

    def _beat_answered(self, errors: set[ErrorCode], now_ms: int) -> None:
        """The next one is due an interval after this one, or, if this one has failed, after the backoff.

        Of several in vain each comes later than the one before; nothing is said of them.
        """
        self._beat_due_ms = None
        if self._alive_ms is not None:  # an answer may take long, and until it comes no other one goes out (rule H7)
            self._alive_ms = max(self._alive_ms, now_ms - self._heartbeat_interval_ms)
        if errors <= LIVES:
            self._beat_due_ms = max(now_ms, self._beat_ms + self._heartbeat_interval_ms)
        elif errors & _NOT_READY and not self._beat_failed:
            self._beat_due_ms = now_ms + BACKOFF_MS
        self._beat_failed = not errors <= LIVES

    def disconnected(self) -> None:
        """The coordinator is gone; at another one a Heartbeat comes at once."""
        self._beats_at_once = True
        self.excused()

    def broken(self) -> None:
        """A thread has ended: until another one runs nothing comes in its time."""
        self._beat_due_ms, self._is_broken = None, True

    def mended(self) -> None:
        """A poll() has raised nothing: if it began after that, a thread runs again."""
        self._is_broken &= not self._may_mend

    def excused(self) -> None:
        """Nobody owes a sign of life: it is no member, joins, or does not know its coordinator."""
        self._alive_ms = self._heard_ms = self._beat_due_ms = None

    def left_round(self) -> None:
        """A round is given up: the next JoinGroup is the first of another one, and waits for no backoff."""
        self._not_before_ms.pop(("JoinGroup", None), None)

    def looks(self, now_ms: int) -> None:
        """It looks for answers."""
        if not self.is_polling and now_ms - self.polls_ms[0] >= self._max_poll_interval_ms:
            self.excused()
        if self._heard_ms is not None:
            silent_ms = now_ms - self._heard_ms - self._session_timeout_ms
            assert silent_ms <= LATE_MS, f"no answer for the session timeout and {silent_ms} ms: nothing done (rule H5)"

    def turned(self, now_ms: int) -> None:
        """It could send something now."""
        if self._alive_ms is not None:
            silent_ms = now_ms - self._alive_ms
            most_ms = MISSED_HEARTBEATS * self._heartbeat_interval_ms
            assert silent_ms <= most_ms, f"a member has sent no Heartbeat for {silent_ms} ms (rules H2, H3)"

    def sent(self, request: Request, now_ms: int, leaves: bool) -> None:
        """A request is on its way. `leaves`: of a member that is about to leave, and need not poll any more."""
        if not self._is_known:  # where nobody polls the answer may have lain about: its poll interval begins now
            self._known_ms, self._is_known = now_ms, True
        early_ms = self._not_before_ms.pop(_what(request), 0) - now_ms
        assert early_ms <= 0, f"{api_of(request)} again, {early_ms} ms before the backoff is over (rule D3)"
        if isinstance(request, HeartbeatRequest) and not (self.is_polling or leaves):
            idle_ms = now_ms - max(self.polls_ms[1], self._known_ms) - self._max_poll_interval_ms
            assert idle_ms <= LATE_MS, f"Heartbeat {idle_ms} ms after the poll interval is over (rule P1)"
        if isinstance(request, HeartbeatRequest):
            self._beats(request, now_ms)
        # That it is a member now. JoinGroup's answer may have lain about: Kafka's JoinGroupResponseHandler.handle
        # resets the timeouts (HeartbeatThread.enable) and sends SyncGroup under one lock.
        known = isinstance(request, SyncGroupRequest)
        self._heard_ms = now_ms if known else self._heard_ms
        if known or (isinstance(request, HeartbeatRequest) and self._alive_ms is not None):
            self._alive_ms = now_ms
        if isinstance(request, FindCoordinatorRequest | LeaveGroupRequest):
            self.excused()

    def _beats(self, request: HeartbeatRequest, now_ms: int) -> None:
        late_ms = 0 if self._beat_due_ms is None else now_ms - self._beat_due_ms
        assert late_ms <= LATE_MS, f"Heartbeat {late_ms} ms late (rules H2, H7)"
        early_ms = self._beat_ms + self._heartbeat_interval_ms - now_ms
        again = self._beat_generation == request.generation and not self._beats_at_once
        assert not again or early_ms <= 0, f"Heartbeat {early_ms} ms early (rule H2)"
        self._beat_ms, self._beat_generation = now_ms, request.generation
        self._beat_due_ms, self._beats_at_once = None, False

    def gives_up(self, now_ms: int, is_calm: bool) -> None:
        """It leaves because the application does not poll; with faults later than it wants to."""
        at_once = self.polls_ms[0] == now_ms  # so it may not know of it yet
        polls_ms = self._polls_before_ms if at_once else self.polls_ms
        began_ms, ended_ms = max(polls_ms[0], self._joined_ms), max(polls_ms[1], self._known_ms)
        early_ms = self._max_poll_interval_ms - (now_ms - began_ms)
        late_ms = now_ms - ended_ms - self._max_poll_interval_ms
        assert at_once or not self.is_polling, "out for not polling, inside poll() (rule P2)"
        assert early_ms <= 0, f"out for not polling, {early_ms} ms before the poll interval is over (rules P1, P2)"
        assert late_ms <= LATE_MS or not is_calm, (
            f"out for not polling, {late_ms} ms after the poll interval is over (rules P1, P2)"
        )

    def is_in_poll(self, now_ms: int) -> bool:
        """Whether the application is inside poll(), or has just left it: the heartbeat thread sends what is left."""
        return self.is_polling or now_ms - self.polls_ms[1] < LATE_MS

    def poll_begins(self, now_ms: int) -> None:
        """The application is inside poll(). If a thread had ended, another one finds now how late it is."""
        self._may_mend = self._is_broken
        if self._is_broken and self._heard_ms is not None:
            self._heard_ms = max(self._heard_ms, now_ms - self._session_timeout_ms)
        if self._is_broken and self._alive_ms is not None:
            self._alive_ms = max(self._alive_ms, now_ms - MISSED_HEARTBEATS * self._heartbeat_interval_ms)
        if now_ms > self.polls_ms[0]:
            self._polls_before_ms = self.polls_ms
        self.is_polling, self.polls_ms = True, (now_ms, now_ms)

    def poll_ends(self, now_ms: int) -> None:
        """It is not any more."""
        self.is_polling, self.polls_ms = False, (self.polls_ms[0], now_ms)


def _what(request: Request) -> tuple[str, object]:
    """Its API, and of which topics it asks."""
    return api_of(request), getattr(request, "topics", None)
