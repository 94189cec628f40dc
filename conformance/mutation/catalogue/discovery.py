"""Breakers of the chapter D: who coordinates the group."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, function, instead, on_answer
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits, Purpose
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.context import Identity
from groupspec.impl.core.events import COORDINATOR, Assign, SendRequest
from groupspec.impl.core.messages import JoinGroupResponse
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.requests import Requests, Sent


@breaker("BUG-04", "D1")
def automatic_commits_look_nobody_up() -> None:
    """A timed commit does not start a lookup when the coordinator is unknown."""

    def needs_coordinator(self: Commits) -> bool:
        return any(o.sent is None and o.purpose in (Purpose.SYNC, Purpose.ASYNC) for o in self._queue)

    instead(Commits, "needs_coordinator", needs_coordinator)


@breaker("D1-join-keeps-coordinator", "D1")
def a_join_without_its_coordinator_keeps_it() -> None:
    """NOT_COORDINATOR in answer to JoinGroup is only waited out: the coordinator is not looked up anew."""
    for error in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT"):
        on_answer("JoinGroup", error, as_error="COORDINATOR_LOAD_IN_PROGRESS")


@breaker("D1-commit-keeps-coordinator", "D1")
def a_commit_without_its_coordinator_keeps_it() -> None:
    """NOT_COORDINATOR, or a broken connection, in answer to a commit does not start a lookup."""
    for error in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT", "DISCONNECTED", "TIMED_OUT"):
        on_answer("OffsetCommit", error, as_error="COORDINATOR_LOAD_IN_PROGRESS")


@breaker("BUG-02", "D2")
def a_failed_lookup_stays_pending() -> None:
    """A lookup that failed is still taken to be under way, and no other one begins."""

    def lookup_ended(self: Connection, state: ConnectionState) -> None:
        if state is ConnectionState.STABLE:
            self._lookup = None
        self.state = state

    instead(Connection, "_lookup_ended", lookup_ended)


@breaker("BUG-01", "D2")
def every_poll_looks_the_coordinator_up() -> None:
    """A poll starts a lookup although one is under way."""

    def make(original: Method) -> Method:
        def asked(self: Connection) -> None:
            original(self)
            if self.state is ConnectionState.COORDINATOR_DISCOVERY:
                self._look_up()

        return asked

    around(Connection, "asked", make)


@breaker("BUG-22", "D3")
def a_loading_coordinator_is_fatal() -> None:
    """COORDINATOR_LOAD_IN_PROGRESS in answer to JoinGroup is raised to the application."""
    on_answer("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", as_error="GROUP_AUTHORIZATION_FAILED")


@breaker("D3-commit-spins", "D3")
def a_commit_is_repeated_at_once() -> None:
    """A commit that the loading coordinator refuses is sent again without a backoff."""

    def make(original: Method) -> Method:
        def try_again_or_fail(self: Commits, operation: object, code: object) -> None:
            original(self, operation, code)
            self._context.timers.disarm("commit_backoff")

        return try_again_or_fail

    around(Commits, "_try_again_or_fail", make)


@breaker("BUG-07", "D4")
def commits_do_not_wait_for_the_coordinator() -> None:
    """A commit is sent although the coordinator is unknown."""
    instead(Commits, "_may_send", lambda self: not self._context.timers.is_armed("commit_backoff"))


@breaker("BUG-05", "D5")
def requests_fail_before_the_coordinator_is_unknown() -> None:
    """A forgotten coordinator's requests are failed first, and only then it counts as unknown."""

    def forget(self: Connection, cause: str) -> None:
        if self.state is ConnectionState.STABLE:
            self._fail_requests()
            self._become_unknown(cause)

    instead(Connection, "forget", forget)


@breaker("BUG-08", "D6")
def requests_to_the_coordinator_never_time_out() -> None:
    """A request to the coordinator has no time limit."""

    def make(original: Method) -> Method:
        def send(self: Requests, request: object, node: object, timeout_ms: int) -> Sent:
            sent: Sent = original(self, request, node, timeout_ms)
            if node == COORDINATOR:
                last = self._context._outputs[-1]
                assert isinstance(last, SendRequest)
                self._context._outputs[-1] = SendRequest(last.request_id, last.node, last.request, 2**62)
            return sent

        return send

    around(Requests, "send", make)


@breaker("D6-silent-coordinator-kept", "D6 D1")
def a_coordinator_that_does_not_answer_is_kept() -> None:
    """A heartbeat that times out, or breaks with its connection, is repeated to the same node for ever."""
    for error in ("DISCONNECTED", "TIMED_OUT"):
        on_answer("Heartbeat", error, as_error="COORDINATOR_LOAD_IN_PROGRESS")


@breaker("D7-eager-discovery", "D7")
def the_coordinator_is_looked_up_at_the_start() -> None:
    """Discovery begins at once, whether or not anything needs a coordinator."""
    instead(Parts, "needs_coordinator", lambda self: True)


@breaker("D8-manual-joins", "D8")
def manual_assignment_joins_the_group() -> None:
    """A consumer with manual assignment joins the group too."""

    def make(original: Method) -> Method:
        def assign(self: Parts, event: Assign) -> None:
            original(self, event)
            self.membership.rejoin_needed = True
            self.membership.awaiting_poll = False

        return assign

    around(Parts, "assign", make)


@breaker("BUG-28", "J9")
def no_answer_is_late() -> None:
    """An answer counts although the identity that it was sent with is gone."""
    function(core_module, "is_late", lambda _: lambda core, sent, error: not core.requests.is_pending(sent))


@breaker("BUG-13", "J9")
def late_commit_errors_reset_the_identity() -> None:
    """ILLEGAL_GENERATION for a commit of an earlier generation resets the present identity."""

    def make(original: Method) -> Method:
        def late(self: Commits, sent: Sent, code: object) -> None:
            original(self, sent, code)
            self._membership.lose_identity(keep_member_id=True)

        return late

    around(Commits, "late", make)


@breaker("BUG-12", "J9")
def an_answer_revives_an_abandoned_join() -> None:
    """The answer to a JoinGroup that was given up is adopted, member id and generation, by a newer round."""

    def make(original: Method) -> Method:
        def dispatch_late(core: Parts, late: object) -> None:
            original(core, late)
            response = getattr(late, "response", None)
            if isinstance(response, JoinGroupResponse):
                core.context.identity = Identity(response.member_id, response.generation, response.protocol_name)

        return dispatch_late

    function(core_module, "dispatch_late", make)
