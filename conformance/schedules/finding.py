"""When the coordinator may be asked, looked for and given up: judged by what one member sends and is answered.

D2   One lookup at a time; D7: and none before the application has asked for anything.
D4   Nothing is sent to a coordinator that is unknown; D5: or known to be gone.
D6   Every request has a time limit.
H5   A coordinator that shows signs of life, and says that it is the right one, is not given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupspec.impl.core.events import COORDINATOR, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitResponse,
    Response,
)
from groupspec.impl.scripted import api_of

COORDINATOR_IS_GONE: Final = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.DISCONNECTED,
    ErrorCode.TIMED_OUT,
}
OF_A_COMMIT: Final = COORDINATOR_IS_GONE | {ErrorCode.REQUEST_TIMED_OUT}
"""After these the coordinator is looked for before the next commit goes out (OffsetCommitResponseHandler.handle)."""

LIVES: Final = {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
"""Answers of a coordinator that takes this member for one."""

MORE_FOR_JOIN_MS: Final = 5_000
"""How much longer than the rebalance timeout a JoinGroup waits (KAFKA-5540)."""


class Finding:
    """What one member knows of its coordinator.

    Attributes:
        knows: Whether it knows the coordinator, as far as it was told.
        is_needed: Whether the application has asked for anything that needs a coordinator.
    """

    def __init__(self, session_timeout_ms: int, most_ms: int, excused: bool) -> None:
        """`excused`: threads are held up, or a request cannot be sent: then nobody can tell what it knows when."""
        self._session_timeout_ms = session_timeout_ms
        self._most_ms = most_ms + MORE_FOR_JOIN_MS
        self._excused = excused
        self.knows = self._knew = False  # the latter: before the latest answers
        self._doubts = False  # since it knows it, something has said that it is another one
        self._lived_ms: int | None = None
        self.is_needed = False

    def hears(self) -> None:
        """Answers are about to be taken, one after the other; the effect of earlier ones is there."""
        self._knew = self.knows

    def answered(self, response: Response, errors: set[ErrorCode], now_ms: int) -> None:
        """It takes this answer."""
        self._doubts |= bool(errors & COORDINATOR_IS_GONE)
        self._doubts |= isinstance(response, OffsetCommitResponse) and ErrorCode.REQUEST_TIMED_OUT in errors
        if isinstance(response, FindCoordinatorResponse) and not response.error:
            self.knows, self._doubts = True, False
        if isinstance(response, JoinGroupResponse | HeartbeatResponse) and errors <= LIVES:
            self._lived_ms = now_ms

    def gone(self) -> None:
        """The coordinator has said that it is none, or does not answer."""
        self.knows = False

    def disconnected(self, now_ms: int) -> None:
        """The member gives it up. Raises AssertionError if it had no reason."""
        self.knows = False
        silent = self._lived_ms is None or now_ms - self._lived_ms >= self._session_timeout_ms
        assert silent or self._doubts or self._excused, "a coordinator that answers is given up (rule H5)"

    def sent(self, sent: SendRequest, unanswered: Iterable[SendRequest]) -> None:
        """A request is on its way. Raises AssertionError for what no rule allows."""
        api = api_of(sent.request)
        assert 0 < sent.timeout_ms <= self._most_ms, f"{api} waits {sent.timeout_ms} ms for its answer (rule D6)"
        if isinstance(sent.request, FindCoordinatorRequest):
            assert self.is_needed, "FindCoordinator, and nothing has needed a coordinator yet (rule D7)"
            twice = any(isinstance(other.request, FindCoordinatorRequest) for other in unanswered)
            assert not twice, "FindCoordinator while another one is unanswered (rule D2)"
        blind = sent.node == COORDINATOR and not (self.knows or self._knew)
        assert not blind or self._excused, f"{api} to a coordinator that is unknown, or known to be gone (rules D4, D5)"
