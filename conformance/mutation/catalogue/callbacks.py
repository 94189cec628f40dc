"""Mutants of the chapter C: what the application is told, when, and on which thread."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, after, before, mutant, nothing
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.context import NOBODY, Identity
from groupspec.impl.core.events import (
    AssignPartitions,
    CallbackKind,
    CallbackStarted,
    PartitionsAssigned,
    PartitionsRevoked,
    Unsubscribe,
)
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.threads.background import BackgroundDriver


@after("C1-assigned-again", "C1", Membership._assign)
def what_is_kept_is_assigned_again(self: Membership, assigned: object) -> None:
    """The assigned callback names all partitions, those that were kept too."""
    outputs = self._context._outputs
    at = next(i for i, o in enumerate(outputs) if isinstance(o, AssignPartitions))
    outputs[at] = AssignPartitions(self.owned())


@mutant("BUG-41", "C1", Leaving._release)
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
        lambda original, self, offsets: original(self, offsets) if self._context.identity.is_member else None,
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


@mutant("C4-swallowed", "C4", Callbacks._run)
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


@mutant("BUG-42", "C6", Commits._identity)
def the_identity_lags_behind_the_callback(original: Method, self: Commits) -> Identity:
    """A commit in the revoked callback carries the generation before the round that revoked."""
    present: Identity = original(self)
    if present is NOBODY or self._membership.state is not RebalanceState.REVOKING_PARTITION:
        return present
    return Identity(present.member_id, self._membership.owned_generation, present.protocol_name)


@before("BUG-68", "C7 L2", Leaving._release)
def the_callback_comes_after_the_end(self: Leaving) -> None:
    """unsubscribe() and close() clear everything first: the callback is about nothing."""
    self._membership._subscription.keep_only(())


@before("C7-good-bye-first", "C7", Leaving.unsubscribe)
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
