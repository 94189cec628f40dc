"""Mutants of the chapter L: close() and unsubscribe()."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, after, before, instead, left_out, mutant, nothing
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.context import Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import Close
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.messages import JoinGroupResponse
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.futures import Futures

# fmt: off
instead("BUG-64", "L1", Leaving.send_leave_group,
    lambda original, self, reason: None if self._context.config.cooperative else original(self, reason),
    "A cooperative member closes without LeaveGroup.")
instead("L1-pending-id", "L1", Leaving.send_leave_group,
    lambda original, self, reason: original(self, reason) if self._context.identity.is_member else None,
    "A member that has an id, and no generation yet, leaves without LeaveGroup.")
# fmt: on


@mutant("L1-kept-id", "L1", Leaving.send_leave_group)
def a_kept_id_is_given_back(original: Method, self: Leaving, reason: str) -> object:
    """A member that has lost its generation, and kept its id, leaves with that id, although it has not joined since."""
    membership = self._membership
    if not membership.owned() and membership.state is RebalanceState.UNJOINED:
        membership.enter(RebalanceState.PREPARING_REBALANCE)
    return original(self, reason)


@after("L1-no-time", "L1", Leaving.close)
def a_short_close_says_nothing(self: Leaving, event: Close) -> None:
    """A close without time ends before LeaveGroup is sent."""
    if event.deadline_ms <= self._context.now_ms:
        self._end()


@mutant("BUG-65", "L2")
def a_close_waits_for_its_commit_for_ever(seam: Seam) -> None:
    """close() does not end while a commit is unanswered."""
    seam.replace(Leaving.deadline_over, lambda _, self: self._context.timers.disarm("close_deadline"))

    @seam.replacing(Commits.deadline_over)
    def commit_deadline_over(original: Method, self: Commits) -> None:
        if not self._membership.leaving:
            original(self)
        self._context.timers.disarm("commit_deadline")


@mutant("L2-asked-after-the-end", "L2", Futures.new)
def who_asks_after_the_end_waits_for_ever(original: Method, self: Futures) -> object:
    """A future that is asked for when the consumer has been closed is never completed."""
    self._end = None
    return original(self)


@mutant("M4-raising-block", "M4", Consumer.__exit__)
def a_block_that_raises_commits_everything(original: Method, self: Consumer, *_: object) -> object:
    """`with Consumer(...)` commits what was returned, although its block has raised in the middle of it."""
    return original(self, None, None, None)


@mutant("L2-futures-left", "L2 Q1")
def who_waits_at_the_end_waits_for_ever(seam: Seam) -> None:
    """Commits and questions that are open when the consumer is closed are never answered."""

    @seam.replacing(Commits.stop)
    def stop(_: Method, self: Commits) -> None:
        self._queue.clear()
        self._context.timers.disarm("auto_commit", "commit_backoff", "commit_deadline")

    seam.replace(Commits.give_up_all, nothing)

    @seam.replacing(BackgroundDriver._cancel_left_over)
    def cancel_left_over(_: Method, self: BackgroundDriver) -> None:
        self._ended = True
        self._event_count.advance()


@after("BUG-62", "L3", (core_module, "dispatch_late"))
def the_round_goes_on_while_leaving(core: Core, late: object) -> None:
    """The answer to a JoinGroup that was out when the member left makes it a member again."""
    response = getattr(late, "response", None)
    if isinstance(response, JoinGroupResponse) and core.membership.state is RebalanceState.UNJOINED:
        core.context.identity = Identity(response.member_id, response.generation, response.protocol_name)


@before("BUG-63", "L4", BackgroundDriver.shut_down)
def the_network_goes_before_the_thread(self: BackgroundDriver, deadline_ms: int) -> None:
    """close() tears the network down while the background thread still uses it."""
    self._transport.close(0)


@mutant("BUG-66", "L4", CallGuard.begin_close)
def two_threads_close(_: Method, self: CallGuard) -> bool:
    """Whether the consumer is closed is tested and set in two steps: a second close closes again."""
    self._closer = self._runtime.thread_id()
    return True


@mutant("L4-second-close", "L4", Leaving.close)
def a_second_close_is_not_answered(original: Method, self: Leaving, event: Close) -> None:
    """A second close while the first is under way never completes."""
    if not self._closing:
        original(self, event)


@mutant("L5-old-positions", "L5", Leaving.close)
def close_commits_what_was_processed_before(original: Method, self: Leaving, event: Close) -> None:
    """The commit of close() does not cover what the last poll returned."""
    with left_out(SubscriptionState.poll_started):
        original(self, event)


@before("BUG-73", "T4 L5", Consumer._leave_group)
def a_wakeup_interrupts_close(self: Consumer, deadline_ms: int, alone: bool, processed: bool) -> None:
    """A wakeup before close() takes its last commit away."""
    self._call_guard.check_interrupted()
