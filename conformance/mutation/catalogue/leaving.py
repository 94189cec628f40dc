"""Breakers of the chapter L: close() and unsubscribe()."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, function, instead, nothing
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.context import Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import Close
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.messages import JoinGroupResponse
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.futures import Futures


@breaker("BUG-64", "L1")
def cooperative_members_do_not_say_good_bye() -> None:
    """A cooperative member closes without LeaveGroup."""

    def make(original: Method) -> Method:
        def send_leave_group(self: Leaving, reason: str) -> object:
            return None if self._context.config.cooperative else original(self, reason)

        return send_leave_group

    around(Leaving, "send_leave_group", make)


@breaker("L1-pending-id", "L1")
def a_pending_id_is_not_given_back() -> None:
    """A member that only has an id, and no generation, leaves without a word."""

    def make(original: Method) -> Method:
        def send_leave_group(self: Leaving, reason: str) -> object:
            return original(self, reason) if self._context.identity.is_member else None

        return send_leave_group

    around(Leaving, "send_leave_group", make)


@breaker("L1-kept-id", "L1")
def a_kept_id_is_given_back() -> None:
    """A member that has lost its generation, and kept its id, leaves with that id, although it has not joined since."""

    def make(original: Method) -> Method:
        def send_leave_group(self: Leaving, reason: str) -> object:
            membership = self._membership
            if not membership.owned() and membership.state is RebalanceState.UNJOINED:
                membership.enter(RebalanceState.PREPARING_REBALANCE)
            return original(self, reason)

        return send_leave_group

    around(Leaving, "send_leave_group", make)


@breaker("L1-no-time", "L1")
def a_short_close_says_nothing() -> None:
    """A close without time ends before LeaveGroup is sent."""

    def make(original: Method) -> Method:
        def close(self: Leaving, event: Close) -> None:
            original(self, event)
            if event.deadline_ms <= self._context.now_ms:
                self._end()

        return close

    around(Leaving, "close", make)


@breaker("BUG-65", "L2")
def a_close_waits_for_its_commit_for_ever() -> None:
    """close() does not end while a commit is unanswered."""
    instead(Leaving, "deadline_over", lambda self: self._context.timers.disarm("close_deadline"))

    def make(original: Method) -> Method:
        def deadline_over(self: Commits) -> None:
            if not self._membership.leaving:
                original(self)
            self._context.timers.disarm("commit_deadline")

        return deadline_over

    around(Commits, "deadline_over", make)


@breaker("L2-asked-after-the-end", "L2")
def who_asks_after_the_end_waits_for_ever() -> None:
    """A future that is asked for when the consumer has been closed is never completed."""

    def make(original: Method) -> Method:
        def new(self: Futures) -> object:
            self._end = None
            return original(self)

        return new

    around(Futures, "new", make)


@breaker("M4-raising-block", "M4")
def a_block_that_raises_commits_everything() -> None:
    """`with Consumer(...)` commits what was returned, although its block has raised in the middle of it."""

    def make(original: Method) -> Method:
        def leave(self: Consumer, *_: object) -> object:
            return original(self, None, None, None)

        return leave

    around(Consumer, "__exit__", make)


@breaker("L2-futures-left", "L2 Q1")
def who_waits_at_the_end_waits_for_ever() -> None:
    """Commits and questions that are open when the consumer is closed are never answered."""

    def stop(self: Commits) -> None:
        self._queue.clear()
        self._context.timers.disarm("auto_commit", "commit_backoff", "commit_deadline")

    instead(Commits, "stop", stop)
    instead(Commits, "give_up_all", nothing)

    def cancel_left_over(self: BackgroundDriver) -> None:
        self._ended = True
        self._event_count.advance()

    instead(BackgroundDriver, "_cancel_left_over", cancel_left_over)


@breaker("BUG-62", "L3")
def the_round_goes_on_while_leaving() -> None:
    """The answer to a JoinGroup that was out when the member left makes it a member again."""

    def make(original: Method) -> Method:
        def dispatch_late(core: Core, late: object) -> None:
            original(core, late)
            response = getattr(late, "response", None)
            if isinstance(response, JoinGroupResponse) and core.membership.state is RebalanceState.UNJOINED:
                core.context.identity = Identity(response.member_id, response.generation, response.protocol_name)

        return dispatch_late

    function(core_module, "dispatch_late", make)


@breaker("BUG-63", "L4")
def the_network_goes_before_the_thread() -> None:
    """close() tears the network down while the background thread still uses it."""

    def make(original: Method) -> Method:
        def shut_down(self: BackgroundDriver, deadline_ms: int) -> None:
            self._transport.close(0)
            original(self, deadline_ms)

        return shut_down

    around(BackgroundDriver, "shut_down", make)


@breaker("BUG-66", "L4")
def two_threads_close() -> None:
    """Whether the consumer is closed is tested and set in two steps: a second close closes again."""

    def begin_close(self: CallGuard) -> bool:
        self._closer = self._runtime.thread_id()
        return True

    instead(CallGuard, "begin_close", begin_close)


@breaker("L4-second-close", "L4")
def a_second_close_is_not_answered() -> None:
    """Whoever closes a second time while the first close is under way is not told when it is over."""

    def make(original: Method) -> Method:
        def close(self: Leaving, event: Close) -> None:
            if not self._closing:
                original(self, event)

        return close

    around(Leaving, "close", make)


@breaker("L5-old-positions", "L5")
def close_commits_what_was_processed_before() -> None:
    """The commit of close() does not cover what the last poll returned."""
    from groupspec.impl.core.subscription import SubscriptionState

    def make(original: Method) -> Method:
        def close(self: Leaving, event: Close) -> None:
            poll_started = SubscriptionState.poll_started
            setattr(SubscriptionState, "poll_started", nothing)  # noqa: B010  # for the time of this call
            try:
                original(self, event)
            finally:
                setattr(SubscriptionState, "poll_started", poll_started)  # noqa: B010

        return close

    around(Leaving, "close", make)


@breaker("BUG-73", "T4 L5")
def a_wakeup_interrupts_close() -> None:
    """A wakeup before close() takes its last commit away."""

    def make(original: Method) -> Method:
        def leave_group(self: Consumer, deadline_ms: int, alone: bool, processed: bool) -> None:
            self._call_guard.check_interrupted()
            original(self, deadline_ms, alone, processed)

        return leave_group

    around(Consumer, "_leave_group", make)
