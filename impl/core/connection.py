"""The connection to the coordinator: found when it is needed, forgotten when it is doubtful.

The proposal's four states: DOWN before the start and after the end; INITIALIZED while nothing needs a coordinator, and
between two lookups; COORDINATOR_DISCOVERY while a FindCoordinator is out; STABLE when the coordinator is known.
Discovery is on demand (rule D7): the first thing that needs a coordinator starts it, a failed lookup is repeated after
the retry backoff for as long as something needs it.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import KafkaError, error_for
from groupspec.impl.core.events import ANY_NODE, ConnectCoordinator, DisconnectCoordinator
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    NoAnswer,
    Response,
)
from groupspec.impl.core.requests import Requests, Sent


class ConnectionState(Enum):
    """See the proposal, section "Background thread and its lifecycle"."""

    DOWN = "DOWN"
    INITIALIZED = "INITIALIZED"
    COORDINATOR_DISCOVERY = "COORDINATOR_DISCOVERY"
    STABLE = "STABLE"


class Users(Protocol):
    """The parts that need the coordinator: the rest of the core."""

    def needs_coordinator(self) -> bool:
        """Whether anything waits for a coordinator (rule D7)."""

    def coordinator_found(self) -> None:
        """It is known."""

    def lookup_failed(self, code: ErrorCode) -> None:
        """A lookup failed, and will be repeated."""

    def lookup_refused(self, error: KafkaError) -> None:
        """A lookup failed for good."""

    def answer(self, sent: Sent, response: Response) -> None:
        """This request has failed."""


class Connection:
    """The coordinator of the group, as far as this member knows."""

    def __init__(self, context: Context, requests: Requests) -> None:
        self._context = context
        self._requests = requests
        self.state = ConnectionState.DOWN
        self._lookup: Sent | None = None
        self._refused = False  # the last lookup failed for good: wait until the application asks again
        self._last_failure = "none was answered"  # of the lookups since the coordinator was known
        self._failures = 0  # so many of them

    def attach(self, users: Users) -> None:
        """The parts above this one."""
        self._users = users

    @property
    def is_known(self) -> bool:
        """Whether group requests may be sent (rule D4)."""
        return self.state is ConnectionState.STABLE

    def why_unknown(self) -> str:
        """To be added to an error: empty if the coordinator is known, and so not to blame."""
        if self.is_known:
            return ""
        return (
            f"; the group's coordinator is unknown (lookups: {self._last_failure}; can bootstrap_servers be reached?)"
        )

    def start(self) -> None:
        """The background thread runs."""
        self.state = ConnectionState.INITIALIZED

    def stop(self) -> None:
        """The end: nothing is looked up any more."""
        self._requests.give_up(self._lookup)
        self._lookup = None
        self._context.timers.disarm("lookup_backoff")
        self.state = ConnectionState.DOWN

    def asked(self) -> None:
        """The application asks for something: a lookup that was refused may be tried again."""
        self._refused = False

    def progress(self) -> None:
        """Start a lookup if one is needed: one at a time, spaced by the backoff (rules D2, D3)."""
        if self.state is ConnectionState.INITIALIZED and self._may_look_up() and self._users.needs_coordinator():
            self._look_up()

    def _may_look_up(self) -> bool:
        return (
            self._lookup is None
            and not self._refused
            and self._context.config.group_id is not None
            and not self._context.timers.is_armed("lookup_backoff")
        )

    def _look_up(self) -> None:
        config = self._context.config
        self.state = ConnectionState.COORDINATOR_DISCOVERY
        self._lookup = self._requests.send(
            FindCoordinatorRequest(config.group_id or ""), ANY_NODE, config.request_timeout_ms
        )
        self._context.note("lookup_sent")

    # Answers ---------------------------------------------------------------------------------------------------------

    def found(self, response: FindCoordinatorResponse) -> None:
        """The coordinator is known; whatever waited for it goes on."""
        self._lookup_ended(ConnectionState.STABLE)
        self._last_failure, self._failures = "none was answered", 0
        self._context.emit(ConnectCoordinator(response.node_id, response.host, response.port))
        self._users.coordinator_found()

    def lookup_failed(self, code: ErrorCode) -> None:
        """A passing failure: again after the backoff, as long as something needs a coordinator."""
        self._lookup_ended(ConnectionState.INITIALIZED)
        self._last_failure = code.name
        self._context.arm("lookup_backoff", self._context.config.growing_backoff_ms(self._failures))
        self._failures += 1
        self._users.lookup_failed(code)

    def lookup_refused(self, code: ErrorCode) -> None:
        """A failure for good: the application gets an error, and decides whether to try again."""
        self._lookup_ended(ConnectionState.INITIALIZED)
        self._refused = True
        error = error_for(code, f"Finding the coordinator of group {self._context.config.group_id!r} was refused")
        self._context.report(error)
        self._users.lookup_refused(error)

    def _lookup_ended(self, state: ConnectionState) -> None:
        """However it ended, the marker goes first, so that a later need can look up again (rule D2)."""
        self._lookup = None
        self.state = state

    # Forgetting ------------------------------------------------------------------------------------------------------

    def forget(self, cause: str) -> None:
        """The coordinator is not, or may not be, this node any more."""
        if self.state is not ConnectionState.STABLE:
            return
        self._become_unknown(cause)
        self._fail_requests()

    def _become_unknown(self, cause: str) -> None:
        """Unknown first, so that those whose requests fail now see it and don't forget it again (rule D5)."""
        self.state = ConnectionState.INITIALIZED
        self._context.emit(DisconnectCoordinator(cause))
        self._context.note("coordinator_lost", cause=cause)

    def _fail_requests(self) -> None:
        for sent in self._requests.to_coordinator():
            self._users.answer(sent, NoAnswer(ErrorCode.DISCONNECTED))
