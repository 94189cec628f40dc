"""Breakers of the chapters H and P: signs of life, and the poll interval."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead, nothing, on_answer
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


@breaker("H2-from-the-answer", "H2")
def the_interval_is_measured_from_the_answer() -> None:
    """The heartbeat interval starts anew when a heartbeat is answered."""

    def make(original: Method) -> Method:
        def accepted(self: Heartbeats) -> None:
            original(self)
            self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)

        return accepted

    around(Heartbeats, "accepted", make)


@breaker("H3-not-fenced-off", "H3")
def heartbeats_go_on_while_joining() -> None:
    """Heartbeats are not stopped before a JoinGroup is sent."""

    def make(original: Method) -> Method:
        def send_join(self: Joining) -> None:
            disable = Heartbeats.disable
            setattr(Heartbeats, "disable", nothing)  # noqa: B010  # for the time of this call
            try:
                original(self)
            finally:
                setattr(Heartbeats, "disable", disable)  # noqa: B010

        return send_join

    around(Joining, "send_join", make)


@breaker("BUG-31", "H3")
def only_the_first_round_starts_heartbeats() -> None:
    """After a rejoin heartbeats stay off."""

    def make(original: Method) -> Method:
        def enable(self: Heartbeats) -> None:
            if not getattr(self, "_was_enabled", False):
                self.__dict__["_was_enabled"] = True
                original(self)

        return enable

    around(Heartbeats, "enable", make)


@breaker("H4-swallowed", "H4")
def other_errors_are_swallowed() -> None:
    """A heartbeat error without a handler of its own is dropped."""
    instead(Heartbeats, "refused", lambda self, code: self._failed())


@breaker("H5-session-ignored", "H5")
def an_expired_session_means_nothing() -> None:
    """No answer to any heartbeat for the whole session timeout changes nothing."""
    instead(Heartbeats, "session_expired", lambda self: self._context.timers.disarm("session"))


@breaker("H5-sending-is-living", "H5")
def nothing_puts_the_session_off() -> None:
    """An answered heartbeat does not count as a sign of life of the coordinator's."""
    instead(Heartbeats, "_sign_of_life", nothing)


@breaker("H7-after-the-interval", "H7")
def a_failed_heartbeat_waits_for_the_interval() -> None:
    """A heartbeat that failed is not repeated before the next one is due."""

    def failed(self: Heartbeats) -> None:
        self._ended()
        self._due = False

    instead(Heartbeats, "_failed", failed)


@breaker("P1-twice", "P1")
def good_bye_is_said_twice() -> None:
    """A member whose poll interval has run out sends LeaveGroup twice."""

    def make(original: Method) -> Method:
        def poll_interval_expired(self: Membership) -> None:
            if self.state is not RebalanceState.UNJOINED:
                self._way_out.send_leave_group("once")
            original(self)

        return poll_interval_expired

    around(Membership, "poll_interval_expired", make)


@breaker("P1-static-leaves", "P1 L1")
def a_static_member_says_good_bye() -> None:
    """LeaveGroup is sent by static members too."""

    def send_leave_group(self: Leaving, reason: str) -> Sent | None:
        config, member_id = self._context.config, self._context.identity.member_id
        if not member_id or not self._connection.is_known:
            return None
        request = LeaveGroupRequest(config.group_id or "", member_id, config.group_instance_id, reason)
        return self._requests.send(request, COORDINATOR, config.request_timeout_ms)

    instead(Leaving, "send_leave_group", send_leave_group)


@breaker("P1-heartbeats-go-on", "P1")
def who_left_goes_on_with_heartbeats() -> None:
    """A member whose poll interval has run out says good-bye and goes on with its heartbeats."""

    def poll_interval_expired(self: Membership) -> None:
        if not self.leaving and self.state is not RebalanceState.UNJOINED:
            self._way_out.send_leave_group("consumer poll timeout has expired.")

    instead(Membership, "poll_interval_expired", poll_interval_expired)


@breaker("P1-first-join", "P1")
def the_poll_interval_runs_before_there_is_a_membership() -> None:
    """The poll interval runs from the first poll on, and its expiry ends the first join."""

    def polled(self: Heartbeats) -> None:
        self._poll_overdue = False
        self._context.arm("poll_interval", self._context.config.max_poll_interval_ms)

    def poll_interval_expired(self: Heartbeats) -> None:
        self._context.timers.disarm("poll_interval")
        self._membership.poll_interval_expired()

    def make(original: Method) -> Method:
        def disable(self: Heartbeats) -> None:
            deadline_ms = self._context.timers.deadline_ms("poll_interval")
            original(self)
            if deadline_ms is not None:
                self._context.timers.arm("poll_interval", deadline_ms)

        return disable

    instead(Heartbeats, "polled", polled)
    instead(Heartbeats, "poll_interval_expired", poll_interval_expired)
    around(Heartbeats, "disable", make)


@breaker("BUG-33", "P2")
def a_poll_without_coordinator_does_not_count() -> None:
    """The poll interval starts anew only if the coordinator is known."""

    def make(original: Method) -> Method:
        def polled(self: Heartbeats) -> None:
            if self._connection.is_known:
                original(self)

        return polled

    around(Heartbeats, "polled", make)


@breaker("BUG-34", "P2")
def a_poll_that_waits_does_not_count() -> None:
    """Only the beginning of a poll puts the poll interval off."""

    def wait_for_news(self: Consumer, deadline_ms: int) -> None:
        self._driver.wait_until(self._has_news, deadline_ms)
        self._report_failure()

    instead(Consumer, "_wait_for_news", wait_for_news)


@breaker("BUG-35", "P2")
def a_commit_counts_as_a_poll() -> None:
    """Every commit of the application puts the poll interval off."""

    def make(original: Method) -> Method:
        def handle(self: Core, event: object, now_ms: int) -> object:
            outputs = original(self, event, now_ms)
            if isinstance(event, Commit):
                self.heartbeats.polled()
            return outputs

        return handle

    around(Core, "handle", make)


@breaker("P2-raising-poll", "P2")
def a_poll_that_raises_does_not_count() -> None:
    """A poll that only raises a waiting error does not put the poll interval off."""

    def make(original: Method) -> Method:
        def polled(self: Parts, raises: bool) -> None:
            if not raises:
                original(self, raises)

        return polled

    around(Parts, "polled", make)


@breaker("BUG-37", "P4")
def a_poll_waits_for_the_round() -> None:
    """poll() does not return before there are records, however short its time."""

    def wait_for_news(self: Consumer, deadline_ms: int) -> None:
        self._driver.wait_until(self._has_news, None)
        self._report_failure()

    def make(original: Method) -> Method:
        def poll_until(self: Consumer, deadline_ms: int) -> object:
            return original(self, deadline_ms + 86_400_000)

        return poll_until

    around(Consumer, "_poll_until", make)
    instead(Consumer, "_wait_for_news", wait_for_news)


@breaker("P4-deaf", "P4")
def a_poll_that_waits_hears_nothing() -> None:
    """A poll that waits for records does not notice that a callback is due."""

    def has_news(self: Consumer) -> bool:
        return self._call_guard.is_interrupted() or self._subscription.next_buffered() is not None

    instead(Consumer, "_has_news", has_news)


@breaker("H4-late-errors", "H4 J2")
def every_heartbeat_error_is_waited_out() -> None:
    """UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION and REBALANCE_IN_PROGRESS only schedule the next heartbeat."""
    for error in ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"):
        on_answer("Heartbeat", error, as_error="COORDINATOR_LOAD_IN_PROGRESS")
