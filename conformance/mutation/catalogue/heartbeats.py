"""Mutants of the chapters H and P: signs of life, and the poll interval."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, after, answered_like, before, instead, left_out, mutant
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import COORDINATOR, Commit
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import LeaveGroupRequest
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.requests import Sent

# fmt: off
instead("H4-swallowed", "H4", Heartbeats.refused, lambda _, self, code: self._failed(),
    "A heartbeat error without a handler of its own is dropped.")
instead("H5-session-ignored", "H5", Heartbeats.session_expired,
    lambda _, self: self._context.timers.disarm("session"),
    "When no heartbeat is answered within the session timeout, nothing changes.")
instead("H5-sending-is-living", "H5", Heartbeats._sign_of_life, lambda *_: None,
    "An answered heartbeat does not restart the session timeout.")
instead("P4-deaf", "P4", Consumer._has_news,
    lambda _, self: self._call_guard.is_interrupted() or self._subscription.next_buffered() is not None,
    "A poll that waits for records does not notice that a callback is due.")
answered_like("H4-late-errors", "H4 J2", "Heartbeat",
    "REBALANCE_IN_PROGRESS ILLEGAL_GENERATION UNKNOWN_MEMBER_ID", "COORDINATOR_LOAD_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION and REBALANCE_IN_PROGRESS only schedule the next heartbeat.")
# fmt: on


@after("H2-from-the-answer", "H2", Heartbeats.accepted)
def the_interval_is_measured_from_the_answer(self: Heartbeats) -> None:
    """The heartbeat interval starts anew when a heartbeat is answered."""
    self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)


@mutant("H3-not-fenced-off", "H3", Joining.send_join)
def heartbeats_go_on_while_joining(original: Method, self: Joining) -> None:
    """Heartbeats are not stopped before a JoinGroup is sent."""
    with left_out(Heartbeats.disable):
        original(self)


@mutant("BUG-31", "H3", Heartbeats.enable)
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


@before("P1-twice", "P1", Membership.poll_interval_expired)
def good_bye_is_said_twice(self: Membership) -> None:
    """A member whose poll interval has run out sends LeaveGroup twice."""
    if self.state is not RebalanceState.UNJOINED:
        self._way_out.send_leave_group("once")


@mutant("P1-static-leaves", "P1 L1", Leaving.send_leave_group)
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


@mutant("BUG-33", "P2", Heartbeats.polled)
def a_poll_without_coordinator_does_not_count(original: Method, self: Heartbeats) -> None:
    """The poll interval starts anew only if the coordinator is known."""
    if self._connection.is_known:
        original(self)


@mutant("BUG-34", "P2", Consumer._wait_for_news)
def a_poll_that_waits_does_not_count(_: Method, self: Consumer, deadline_ms: int) -> None:
    """Only the beginning of a poll puts the poll interval off."""
    self._driver.wait_until(self._has_news, deadline_ms)
    self._report_failure()


@mutant("BUG-35", "P2", Core.handle)
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
    seam.replace(Consumer._poll_until, lambda original, self, deadline_ms: original(self, deadline_ms + 86_400_000))

    @seam.replacing(Consumer._wait_for_news)
    def wait_for_news(_: Method, self: Consumer, deadline_ms: int) -> None:
        self._driver.wait_until(self._has_news, None)
        self._report_failure()
