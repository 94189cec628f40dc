"""Mutants of the chapters D, H and P: the coordinator, signs of life, the poll interval.

`scenarios` are those of the wire kit that must find one of the rules broken.
"""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import (
    Method,
    Seam,
    after,
    answer,
    answered_like,
    before,
    instead,
    left_out,
    mutant,
)
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits, Purpose
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.context import Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import COORDINATOR, Assign, Commit, SendRequest
from groupspec.impl.core.heartbeats import Heartbeats, HeartbeatState
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import JoinGroupResponse, LeaveGroupRequest
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.requests import Requests, Sent
from groupspec.impl.network import connection as network

# fmt: off
instead("BUG-04", "D1", Commits.needs_coordinator,
    lambda _, self: any(o.sent is None and o.purpose in (Purpose.SYNC, Purpose.ASYNC) for o in self._queue),
    "A timed commit does not start a lookup when the coordinator is unknown.")
answered_like("D1-join-keeps-coordinator", "D1", "JoinGroup",
    "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR in answer to JoinGroup is only waited out: the coordinator is not looked up anew.",
    scenarios="coordinator-moves-twice")
answered_like("D1-commit-keeps-coordinator", "D1", "OffsetCommit",
    "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE REQUEST_TIMED_OUT DISCONNECTED TIMED_OUT",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR, or a broken connection, in answer to a commit does not start a lookup.")
answered_like("BUG-22", "D3", "JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", "GROUP_AUTHORIZATION_FAILED",
    "COORDINATOR_LOAD_IN_PROGRESS in answer to JoinGroup is raised to the application.",
    scenarios="join-refused-in-passing")
instead("BUG-07", "D4", Commits._may_send, lambda _, self: not self._context.timers.is_armed("commit_backoff"),
    "A commit is sent although the coordinator is unknown.")
answered_like("D6-silent-coordinator-kept", "D6 D1", "Heartbeat",
    "DISCONNECTED TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS",
    "A heartbeat that times out, or breaks with its connection, is repeated to the same node without end.")
instead("D7-eager-discovery", "D7", Parts.needs_coordinator, lambda _, self: True,
    "Discovery begins at once, whether or not anything needs a coordinator.")
instead("H4-swallowed", "H4", Heartbeats.refused, lambda _, self, code: self._failed(),
    "A heartbeat error without a handler of its own is dropped.")
instead("H5-session-ignored", "H5", Heartbeats.session_expired,
    lambda _, self: self._context.timers.disarm("session"),
    "When no heartbeat is answered within the session timeout, nothing changes.", scenarios="session-runs-out")
instead("H5-sending-is-living", "H5", Heartbeats._sign_of_life, lambda *_: None,
    "An answered heartbeat does not restart the session timeout.")
instead("P4-deaf", "P4", Consumer._has_news,
    lambda _, self: self._call_guard.is_interrupted() or self._positions.next_buffered() is not None,
    "A poll that waits for records does not notice that a callback is due.", scenarios="long-poll")
answered_like("H4-late-errors", "H4 J2", "Heartbeat",
    "REBALANCE_IN_PROGRESS ILLEGAL_GENERATION UNKNOWN_MEMBER_ID", "COORDINATOR_LOAD_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION and REBALANCE_IN_PROGRESS only schedule the next heartbeat.")
instead("BUG-03", "D3", Connection.lookup_failed,
    lambda _, self, code: self._lookup_ended(ConnectionState.INITIALIZED),
    "A failed lookup is repeated at once.", scenarios="coordinator-moved")
instead("P1-expiry-ignored", "P1", Heartbeats.poll_interval_expired,
    lambda _, self: self._context.timers.disarm("poll_interval"),
    "A member that does not poll stays in the group.", scenarios="poll-interval-exceeded")
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


@mutant("BUG-08", "D6", Requests.send, scenarios="coordinator-silent coordinator-silent-cooperative")
def requests_to_the_coordinator_never_time_out(
    original: Method, self: Requests, request: object, node: object, timeout_ms: int
) -> Sent:
    """A request to the coordinator has no time limit."""
    sent: Sent = original(self, request, node, timeout_ms)
    if node == COORDINATOR:
        last = self._context.outputs[-1]
        assert isinstance(last, SendRequest)
        self._context.outputs[-1] = SendRequest(last.request_id, last.node, last.request, 2**62)
    return sent


@mutant(
    "D6-waits-for-no-connection",
    "D6 J2",
    network.Connection.take_unanswered,
    scenarios="coordinator-refuses-connections",
)
def what_waits_for_a_connection_is_forgotten(original: Method, self: network.Connection) -> list[SendRequest]:
    """A connection that can't be made takes with it, without a word, the requests that wait for it."""
    self.take_unsent()
    unanswered: list[SendRequest] = original(self)
    return unanswered


@after("D8-manual-joins", "D8", Parts.assign, scenarios="closed-without-a-group")
def manual_assignment_joins_the_group(self: Parts, event: Assign) -> None:
    """A consumer with manual assignment joins the group too."""
    self.membership.rejoin_needed = True
    self.membership.awaiting_poll = False


@mutant("BUG-28", "J9", (core_module, "is_late"))
def no_answer_is_late(_: Method, core: Parts, sent: Sent, error: object) -> bool:
    """An answer counts although the identity that it was sent with is gone."""
    return not core.requests.is_pending(sent)


@after("BUG-13", "J9", Commits.late, scenarios="refused-too-late refused-too-late-cooperative")
def late_commit_errors_reset_the_identity(self: Commits, sent: Sent, code: object) -> None:
    """ILLEGAL_GENERATION for a commit of an earlier generation resets the present identity."""
    self._membership.lose_identity(keep_member_id=True)


@after("BUG-12", "J9", (core_module, "dispatch_late"), scenarios="unsubscribe-on-the-way")
def an_answer_revives_an_abandoned_join(core: Parts, late: object) -> None:
    """The answer to a JoinGroup that was given up is adopted, member id and generation, by a newer round."""
    response = getattr(late, "response", None)
    if isinstance(response, JoinGroupResponse):
        core.context.identity = Identity(response.member_id, response.generation, response.protocol_name)


@after("H2-from-the-answer", "H2", Heartbeats.accepted)
def the_interval_is_measured_from_the_answer(self: Heartbeats) -> None:
    """The heartbeat interval starts anew when a heartbeat is answered."""
    self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)


@mutant("H3-not-fenced-off", "H3", Joining.send_join)
def heartbeats_go_on_while_joining(original: Method, self: Joining) -> None:
    """Heartbeats are not stopped before a JoinGroup is sent."""
    with left_out(Heartbeats.disable):
        original(self)


@mutant(
    "BUG-31",
    "H3",
    Heartbeats.enable,
    scenarios="topic-is-not-there coordinator-loads outlasts-the-session never-answered",
)
def only_the_first_round_starts_heartbeats(original: Method, self: Heartbeats) -> None:
    """After a rejoin heartbeats stay off."""
    if not getattr(self, "_was_enabled", False):
        self.__dict__["_was_enabled"] = True
        original(self)


@mutant("H7-after-the-interval", "H7", Heartbeats._failed)
def a_failed_heartbeat_waits_for_the_interval(_: Method, self: Heartbeats) -> None:
    """A heartbeat that failed is not repeated before the next one is due."""
    self._ended()
    self._due = False


@before("P1-twice", "P1", Membership.poll_interval_expired, scenarios="callback-outlasts-the-poll-interval")
def good_bye_is_said_twice(self: Membership) -> None:
    """A member whose poll interval has run out sends LeaveGroup twice."""
    if self.state is not RebalanceState.UNJOINED:
        self._way_out.send_leave_group("once")


@mutant("P1-static-leaves", "P1 L1", Leaving.send_leave_group, scenarios="static-member")
def a_static_member_says_good_bye(_: Method, self: Leaving, reason: str) -> Sent | None:
    """LeaveGroup is sent by static members too."""
    config, member_id = self._context.config, self._context.identity.member_id
    if not member_id or not self._connection.is_known:
        return None
    request = LeaveGroupRequest(config.group_id or "", member_id, config.group_instance_id, reason)
    return self._requests.send(request, COORDINATOR, config.request_timeout_ms)


@mutant("P1-heartbeats-go-on", "P1", Membership.poll_interval_expired)
def who_left_goes_on_with_heartbeats(_: Method, self: Membership) -> None:
    """A member whose poll interval has expired sends LeaveGroup and continues to send heartbeats."""
    if not self.leaving and self.state is not RebalanceState.UNJOINED:
        self._way_out.send_leave_group("consumer poll timeout has expired.")


@mutant(
    "P1-not-while-syncing", "P1", Heartbeats.poll_interval_expired, scenarios="stuck-on-the-way stuck-on-the-way-eager"
)
def the_poll_interval_starts_anew_while_syncing(original: Method, self: Heartbeats) -> None:
    """While SyncGroup is unanswered the poll interval does not count: when it is over it begins anew."""
    if self._membership.state is RebalanceState.COMPLETING_REBALANCE:
        self.heartbeat.poll()
    else:
        original(self)


@mutant(
    "P1-not-while-reading-positions",
    "P1",
    Heartbeats.poll_interval_expired,
    scenarios="stuck-on-the-way stuck-on-the-way-eager",
)
def the_poll_interval_starts_anew_without_positions(original: Method, self: Heartbeats) -> None:
    """While positions are read, as OffsetFetch is unanswered, the poll interval does not count."""
    if self._context.subscription.positions.without_position():
        self.heartbeat.poll()
    else:
        original(self)


@mutant("P1-first-join", "P1")
def the_poll_interval_runs_before_there_is_a_membership(seam: Seam) -> None:
    """The poll interval runs from the first poll on, and its expiry ends the first join."""

    @seam.replacing(Heartbeats.polled)
    def polled(_: Method, self: Heartbeats) -> None:
        self._poll_overdue = False
        self._context.arm("poll_interval", self._context.config.max_poll_interval_ms)

    @seam.replacing(Heartbeats.poll_interval_expired)
    def poll_interval_expired(_: Method, self: Heartbeats) -> None:
        self._context.timers.disarm("poll_interval")
        self._membership.poll_interval_expired()

    @seam.replacing(Heartbeats.disable)
    def disable(original: Method, self: Heartbeats) -> None:
        deadline_ms = self._context.timers.deadline_ms("poll_interval")
        original(self)
        if deadline_ms is not None:
            self._context.timers.arm("poll_interval", deadline_ms)


@mutant("BUG-33", "P2", Heartbeats.polled, scenarios="coordinator-long-unknown")
def a_poll_without_coordinator_does_not_count(original: Method, self: Heartbeats) -> None:
    """The poll interval starts anew only if the coordinator is known."""
    if self._connection.is_known:
        original(self)


@mutant("BUG-34", "P2", Consumer._wait_for_news)
def a_poll_that_waits_does_not_count(_: Method, self: Consumer, deadline_ms: int) -> None:
    """Only the beginning of a poll puts the poll interval off."""
    self._driver.wait_until(self._has_news, deadline_ms)
    self._report_failure()


@mutant("BUG-35", "P2", Core.handle, scenarios="commits-but-does-not-poll")
def a_commit_counts_as_a_poll(original: Method, self: Core, event: object, now_ms: int) -> object:
    """Every commit of the application puts the poll interval off."""
    outputs = original(self, event, now_ms)
    if isinstance(event, Commit):
        self.heartbeats.polled()
    return outputs


@mutant("P2-raising-poll", "P2", Parts.polled)
def a_poll_that_raises_does_not_count(original: Method, self: Parts, raises: bool) -> None:
    """A poll that only raises a waiting error does not put the poll interval off."""
    if not raises:
        original(self, raises)


@mutant("BUG-37", "P4")
def a_poll_waits_for_the_round(seam: Seam) -> None:
    """poll() does not return before there are records, however short its time."""
    seam.replace(
        Consumer._poll_until, lambda original, self, deadline_ms, n: original(self, deadline_ms + 86_400_000, n)
    )

    @seam.replacing(Consumer._wait_for_news)
    def wait_for_news(_: Method, self: Consumer, deadline_ms: int) -> None:
        self._driver.wait_until(self._has_news, None)
        self._report_failure()


@after(
    "BUG-06",
    "D1",
    *(answer("Heartbeat", error) for error in ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")),
    scenarios="rebalance-without-lookups",
)
def every_heartbeat_error_forgets_the_coordinator(core: Parts, happening: object) -> None:
    """REBALANCE_IN_PROGRESS and UNKNOWN_MEMBER_ID forget the coordinator too."""
    core.connection.forget("a heartbeat's error")


@mutant("BUG-25", "H1", scenarios="first-join rebalance-eager rebalance-cooperative")
def heartbeats_begin_after_sync(seam: Seam) -> None:
    """No heartbeats while SyncGroup is unanswered."""

    @seam.replacing(Joining.join_accepted)
    def join_accepted(original: Method, self: Joining, response: object) -> None:
        original(self, response)
        self._heartbeats.disable()

    @seam.replacing(Membership.synced)
    def synced(original: Method, self: Membership, assigned: object) -> None:
        self._heartbeats.enable()
        original(self, assigned)


@after("BUG-26", "H1", answer("Heartbeat", "REBALANCE_IN_PROGRESS"), scenarios="rebalance-eager")
def an_announcement_stops_heartbeats(core: Parts, happening: object) -> None:
    """After REBALANCE_IN_PROGRESS there are no heartbeats until the next round."""
    core.timers.disarm("heartbeat")


@mutant(
    "H4-announcement-ignored",
    "H4 J2",
    answer("Heartbeat", "REBALANCE_IN_PROGRESS"),
    scenarios="rebalance-eager rebalance-cooperative",
)
def an_announcement_has_no_effect(_: Method, core: Parts, happening: object) -> None:
    """REBALANCE_IN_PROGRESS is taken for NONE."""
    core.heartbeats.accepted()


@after(
    "BUG-27",
    "H4 J2",
    answer("Heartbeat", "UNKNOWN_MEMBER_ID"),
    answer("Heartbeat", "ILLEGAL_GENERATION"),
    scenarios="member-unknown",
)
def a_lost_identity_does_not_rejoin(core: Parts, happening: object) -> None:
    """UNKNOWN_MEMBER_ID resets the identity, and no rejoin is asked for."""
    core.membership.rejoin_needed = False


@mutant("BUG-29", "H2 H4", Heartbeats._failed, scenarios="coordinator-moved")
def a_failed_heartbeat_stays_in_flight(_: Method, self: Heartbeats) -> None:
    """The mark "in flight" is cleared by success only."""
    self._due = False


@after("BUG-32", "H3", Membership.reset_identity, scenarios="member-unknown callbacks-outlast-the-session")
def heartbeats_go_on_without_identity(self: Membership, keep_member_id: object) -> None:
    """UNKNOWN_MEMBER_ID does not stop heartbeats."""
    self._heartbeats.state = HeartbeatState.IDLE
    self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)


@mutant("H7-two-in-flight", "H7", scenarios="close-while-stable slow-answers")
def heartbeats_do_not_wait_for_each_other(seam: Seam) -> None:
    """An unanswered heartbeat is repeated, five times within its interval."""

    @seam.replacing(Heartbeats.progress)
    def progress(original: Method, self: Heartbeats) -> None:
        if self._due and self.state is HeartbeatState.IN_FLIGHT:
            self.state = HeartbeatState.IDLE
        original(self)

    @seam.replacing(Heartbeats._send)
    def send(original: Method, self: Heartbeats) -> None:
        original(self)
        self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms // 5)


@mutant("BUG-36", "P3 C1", Membership.poll_interval_expired, scenarios="poll-interval-exceeded expires-on-the-way")
def expiry_is_not_told(original: Method, self: Membership) -> None:
    """After the poll interval has run out what was owned is dropped without the lost callback."""
    keep = self._subscription.keep_only
    self._way_out.send_leave_group("consumer poll timeout has expired.")
    self.awaiting_poll = True
    self.reset_identity(keep_member_id=False)
    keep(set())
    self.lose_owned()
