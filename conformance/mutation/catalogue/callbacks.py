"""Mutants of the chapters C and L: callbacks, close() and unsubscribe().

`scenarios` are those of the wire kit that must find one of the rules broken.
"""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import (
    Method,
    Seam,
    after,
    before,
    instead,
    left_out,
    mutant,
    nothing,
)
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core import core as core_module
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.context import NOBODY, Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import (
    AssignPartitions,
    CallbackKind,
    CallbackStarted,
    Close,
    PartitionsAssigned,
    PartitionsRevoked,
    Unsubscribe,
)
from groupspec.impl.core.heartbeats import HeartbeatState
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import JoinGroupResponse
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.futures import Futures

# fmt: off
instead("BUG-64", "L1", Leaving.send_leave_group,
    lambda original, self, reason: None if self._context.config.cooperative else original(self, reason),
    "A cooperative member closes without LeaveGroup.", scenarios="closed-between-polls-cooperative")
instead("L1-pending-id", "L1", Leaving.send_leave_group,
    lambda original, self, reason: original(self, reason) if self._context.identity.is_member else None,
    "A member that has an id, and no generation yet, leaves without LeaveGroup.", scenarios="close-on-the-way")
instead("BUG-38", "C7 C1", Leaving._release, lambda _, self: self._leave(),
    "close() leaves without running the callback.", scenarios="close-while-stable")
instead("C1-told-too-late", "C1", SubscriptionState.void_assigned_callback, nothing,
    "The assigned callback runs although the membership has ended while it waited.")
# fmt: on


@after("C1-assigned-again", "C1", Membership._assign, scenarios="topic-grows-cooperative")
def what_is_kept_is_assigned_again(self: Membership, assigned: object) -> None:
    """The assigned callback names all partitions, those that were kept too."""
    outputs = self._context.outputs
    at = next(i for i, o in enumerate(outputs) if isinstance(o, AssignPartitions))
    outputs[at] = AssignPartitions(self.owned())


@mutant("BUG-41", "C1", Leaving._release, scenarios="revoked-between-polls")
def who_leaves_revokes_what_is_being_revoked(_: Method, self: Leaving) -> None:
    """close() and unsubscribe() call the revoked callback for everything, also while it runs already."""
    membership = self._membership
    owned = membership.owned()
    if not owned:
        self._leave()
    else:
        membership.revoke(CallbackKind.REVOKED, owned)


@mutant("C2-commit-for-lost", "C2")
def what_is_lost_is_committed(seam: Seam) -> None:
    """After the identity is lost the commit before the rebalance goes out all the same."""
    seam.replace(Commits.membership_lost, nothing)
    seam.replace(
        Commits._refusal,
        lambda original, self, *of: original(self, *of) if self._context.identity.is_member else None,
    )


@after("BUG-43", "C3", SubscriptionState.assign_from_group)
def records_come_before_the_assigned_callback(self: SubscriptionState, partitions: object) -> None:
    """New partitions are fetched although their assigned callback has not run."""
    self.assigned_callback_done()


@after("C3-gone-before", "C3", Membership.callback_started)
def what_is_revoked_is_gone_before_the_callback(self: Membership) -> None:
    """Partitions do not count as owned any more when their revocation callback runs."""
    callback = self._subscription.pending_callback()
    if callback is not None:
        self._subscription.keep_only(set(self.owned()) - set(callback.partitions))


@mutant("BUG-39", "C4 S3")
def an_exception_of_the_listener_stops_the_rebalance(seam: Seam) -> None:
    """An exception of the listener is raised at once, and the core is not informed that the callback has returned."""

    @seam.replacing(Callbacks._assign)
    def assign(_: Method, self: Callbacks, event: AssignPartitions) -> None:
        before = len(self._errors)
        self._run(self.listener.on_partitions_assigned, event.partitions)
        if len(self._errors) == before:
            self._driver.submit(PartitionsAssigned())

    @seam.replacing(Callbacks._revoke)
    def revoke(_: Method, self: Callbacks) -> None:
        callback = self._subscription.start_callback()
        if callback is None:
            return
        before = len(self._errors)
        lost = callback.kind is CallbackKind.LOST
        self._driver.submit(CallbackStarted())
        self._run(
            self.listener.on_partitions_lost if lost else self.listener.on_partitions_revoked, callback.partitions
        )
        if len(self._errors) == before:
            self._driver.submit(PartitionsRevoked())


@mutant("C4-swallowed", "C4", Callbacks._run, scenarios="callback-raises callback-raises-cooperative")
def what_the_listener_raises_is_lost(original: Method, self: Callbacks, call: Method, partitions: object) -> None:
    """An exception of the listener is dropped."""
    count = len(self._errors)
    original(self, call, partitions)
    while len(self._errors) > count:
        self._errors.pop()


@mutant("BUG-40", "C5 T1", Callbacks._run)
def callbacks_run_inside_a_lock(original: Method, self: Callbacks, call: Method, partitions: object) -> None:
    """The listener is called while the consumer's own lock is held."""
    with self._subscription._lock:
        original(self, call, partitions)


@mutant("BUG-42", "C6 M1", Commits._identity, scenarios="commit-in-a-callback-cooperative")
def the_identity_lags_behind_the_callback(original: Method, self: Commits) -> Identity:
    """A commit in the revoked callback carries the generation before the round that revoked."""
    present: Identity = original(self)
    if present is NOBODY or self._membership.state is not RebalanceState.REVOKING_PARTITION:
        return present
    return Identity(present.member_id, self._membership.owned_generation, present.protocol_name)


@before("BUG-68", "C7 L2", Leaving._release, scenarios="unsubscribe-on-the-way")
def the_callback_comes_after_the_end(self: Leaving) -> None:
    """unsubscribe() and close() clear everything first: the callback is about nothing."""
    self._membership._subscription.keep_only(())


@before("C7-good-bye-first", "C7", Leaving.unsubscribe, scenarios="unsubscribe-on-the-way")
def good_bye_is_said_before_the_callback(self: Leaving, event: Unsubscribe) -> None:
    """LeaveGroup goes out before the revocation callback has run."""
    self.send_leave_group("in a hurry")


@mutant("Q2-on-the-background-thread", "Q2 C5")
def the_background_thread_runs_the_listener(seam: Seam) -> None:
    """The assigned callback runs on the background thread, as soon as the assignment is there."""
    known: list[Callbacks] = []

    @seam.replacing(Callbacks.__init__)
    def init(original: Method, self: Callbacks, *arguments: object) -> None:
        original(self, *arguments)
        known.append(self)

    @seam.replacing(BackgroundDriver._do)
    def do(original: Method, self: BackgroundDriver, output: object) -> None:
        if isinstance(output, AssignPartitions):
            known[-1].listener.on_partitions_assigned(list(output.partitions))
        else:
            original(self, output)


@mutant("L1-kept-id", "L1", Leaving.send_leave_group)
def a_kept_id_is_given_back(original: Method, self: Leaving, reason: str) -> object:
    """A member that has lost its generation, and kept its id, leaves with that id, although it has not joined since."""
    membership = self._membership
    if not membership.owned() and membership.state is RebalanceState.UNJOINED:
        membership.enter(RebalanceState.PREPARING_REBALANCE)
    return original(self, reason)


@after("L1-no-time", "L1", Leaving.close, scenarios="closed-at-once closed-at-once-eager")
def a_short_close_says_nothing(self: Leaving, event: Close) -> None:
    """A close without time ends before LeaveGroup is sent."""
    if event.deadline_ms <= self._context.now_ms:
        self._end()


@mutant("BUG-65", "L2", scenarios="close-without-coordinator")
def a_close_waits_for_its_commit_for_ever(seam: Seam) -> None:
    """close() does not end while a commit is unanswered."""
    seam.replace(Leaving.deadline_over, lambda _, self: self._context.timers.disarm("close_deadline"))

    @seam.replacing(Commits.deadline_over)
    def commit_deadline_over(original: Method, self: Commits) -> None:
        if not self._membership.leaving:
            original(self)
        self._context.timers.disarm("commit_deadline")


@mutant("L2-asked-after-the-end", "L2")
def who_asks_after_the_end_waits_for_ever(seam: Seam) -> None:
    """A future that is asked for when the consumer has been closed is never completed, and unsubscribe() waits on."""

    @seam.replacing(Futures.new)
    def new(original: Method, self: Futures) -> object:
        self._end = None
        return original(self)

    @seam.replacing(Consumer.unsubscribe)
    def unsubscribe(_: Method, self: Consumer) -> None:
        with self._call_guard.use("unsubscribe()"):
            self._call_guard.refuse_in_callback("unsubscribe()")
            self._need_background()
            future = self._driver.call(Unsubscribe)
            while not future.done:
                self._callbacks.serve()
                self._driver.wait_until(lambda: future.done or self._driver.has_consumer_events(), None)
            self._chosen = ""
            self._topics = frozenset()
            self._callbacks.raise_first()
            future.outcome()


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


@after(
    "BUG-62",
    "L3",
    (core_module, "dispatch_late"),
    scenarios="unsubscribe-on-the-way unsubscribe-on-the-way-cooperative",
)
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
    with left_out(Positions.poll_started):
        original(self, event)


@before("BUG-73", "T4 L5", Consumer._leave_group, scenarios="wakeup-of-a-member")
def a_wakeup_interrupts_close(self: Consumer, deadline_ms: int, alone: bool, processed: bool) -> None:
    """A wakeup before close() takes its last commit away."""
    self._call_guard.check_interrupted()


@mutant("C2-revoked-for-lost", "C2 P3", Membership.revoke, scenarios="member-unknown poll-interval-exceeded")
def a_loss_is_called_revocation(original: Method, self: Membership, kind: object, partitions: object) -> None:
    """The callback for a lost membership is revoked."""
    original(self, CallbackKind.REVOKED, partitions)
    if kind is CallbackKind.LOST:
        self._loss_due = True


@mutant("BUG-61", "L1", Leaving.send_leave_group, scenarios="close-while-stable")
def no_leave_while_a_heartbeat_is_out(original: Method, self: Leaving, reason: object) -> object:
    """LeaveGroup is not sent while a heartbeat is unanswered."""
    if self._joining._heartbeats.state is HeartbeatState.IN_FLIGHT:
        return None
    return original(self, reason)


@mutant("BUG-67", "L5", Commits.commit_before_close, scenarios="close-while-stable")
def close_does_not_commit(_: Method, self: Commits, deadline_ms: object) -> None:
    """close() leaves without committing."""
    return
