"""Mutants of the chapter D: who coordinates the group."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, after, answered_like, instead, mutant
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits, Purpose
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.context import Identity
from groupspec.impl.core.events import COORDINATOR, Assign, SendRequest
from groupspec.impl.core.messages import JoinGroupResponse
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.requests import Requests, Sent

# fmt: off
instead("BUG-04", "D1", Commits.needs_coordinator,
    lambda _, self: any(o.sent is None and o.purpose in (Purpose.SYNC, Purpose.ASYNC) for o in self._queue),
    "A timed commit does not start a lookup when the coordinator is unknown.")
answered_like("D1-join-keeps-coordinator", "D1", "JoinGroup",
    "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR in answer to JoinGroup is only waited out: the coordinator is not looked up anew.")
answered_like("D1-commit-keeps-coordinator", "D1", "OffsetCommit",
    "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE REQUEST_TIMED_OUT DISCONNECTED TIMED_OUT",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR, or a broken connection, in answer to a commit does not start a lookup.")
answered_like("BUG-22", "D3", "JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", "GROUP_AUTHORIZATION_FAILED",
    "COORDINATOR_LOAD_IN_PROGRESS in answer to JoinGroup is raised to the application.")
instead("BUG-07", "D4", Commits._may_send, lambda _, self: not self._context.timers.is_armed("commit_backoff"),
    "A commit is sent although the coordinator is unknown.")
answered_like("D6-silent-coordinator-kept", "D6 D1", "Heartbeat",
    "DISCONNECTED TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS",
    "A heartbeat that times out, or breaks with its connection, is repeated to the same node without end.")
instead("D7-eager-discovery", "D7", Parts.needs_coordinator, lambda _, self: True,
    "Discovery begins at once, whether or not anything needs a coordinator.")
# fmt: on


@mutant("BUG-02", "D2", Connection._lookup_ended)
def a_failed_lookup_stays_pending(_: Method, self: Connection, state: ConnectionState) -> None:
    """A lookup that failed is still taken to be under way, and no other one begins."""
    if state is ConnectionState.STABLE:
        self._lookup = None
    self.state = state


@after("BUG-01", "D2", Connection.asked)
def every_poll_looks_the_coordinator_up(self: Connection) -> None:
    """A poll starts a lookup although one is under way."""
    if self.state is ConnectionState.COORDINATOR_DISCOVERY:
        self._look_up()


@after("D3-commit-spins", "D3", Commits._try_again_or_fail)
def a_commit_is_repeated_at_once(self: Commits, operation: object, code: object) -> None:
    """A commit that the loading coordinator refuses is sent again without a backoff."""
    self._context.timers.disarm("commit_backoff")


@mutant("BUG-05", "D5", Connection.forget)
def requests_fail_before_the_coordinator_is_unknown(_: Method, self: Connection, cause: str) -> None:
    """A forgotten coordinator's requests are failed first, and only then it counts as unknown."""
    if self.state is ConnectionState.STABLE:
        self._fail_requests()
        self._become_unknown(cause)


@mutant("BUG-08", "D6", Requests.send)
def requests_to_the_coordinator_never_time_out(
    original: Method, self: Requests, request: object, node: object, timeout_ms: int
) -> Sent:
    """A request to the coordinator has no time limit."""
    sent: Sent = original(self, request, node, timeout_ms)
    if node == COORDINATOR:
        last = self._context._outputs[-1]
        assert isinstance(last, SendRequest)
        self._context._outputs[-1] = SendRequest(last.request_id, last.node, last.request, 2**62)
    return sent


@after("D8-manual-joins", "D8", Parts.assign)
def manual_assignment_joins_the_group(self: Parts, event: Assign) -> None:
    """A consumer with manual assignment joins the group too."""
    self.membership.rejoin_needed = True
    self.membership.awaiting_poll = False


@mutant("BUG-28", "J9", (core_module, "is_late"))
def no_answer_is_late(_: Method, core: Parts, sent: Sent, error: object) -> bool:
    """An answer counts although the identity that it was sent with is gone."""
    return not core.requests.is_pending(sent)


@after("BUG-13", "J9", Commits.late)
def late_commit_errors_reset_the_identity(self: Commits, sent: Sent, code: object) -> None:
    """ILLEGAL_GENERATION for a commit of an earlier generation resets the present identity."""
    self._membership.lose_identity(keep_member_id=True)


@after("BUG-12", "J9", (core_module, "dispatch_late"))
def an_answer_revives_an_abandoned_join(core: Parts, late: object) -> None:
    """The answer to a JoinGroup that was given up is adopted, member id and generation, by a newer round."""
    response = getattr(late, "response", None)
    if isinstance(response, JoinGroupResponse):
        core.context.identity = Identity(response.member_id, response.generation, response.protocol_name)
