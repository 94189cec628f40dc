"""Breakers of the chapter C: what the application is told, when, and on which thread."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead, nothing
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


@breaker("C1-assigned-again", "C1")
def what_is_kept_is_assigned_again() -> None:
    """The assigned callback names all partitions, those that were kept too."""

    def make(original: Method) -> Method:
        def emit_assigned(self: Membership, assigned: object) -> None:
            original(self, assigned)
            outputs = self._context._outputs
            at = next(i for i, o in enumerate(outputs) if isinstance(o, AssignPartitions))
            outputs[at] = AssignPartitions(self.owned())

        return emit_assigned

    around(Membership, "_assign", make)


@breaker("BUG-41", "C1")
def who_leaves_revokes_what_is_being_revoked() -> None:
    """close() and unsubscribe() call the revoked callback for everything, also while it runs already."""

    def release(self: Leaving) -> None:
        membership = self._membership
        owned = membership.owned()
        if not owned:
            self._leave()
        else:
            membership.revoke(CallbackKind.REVOKED, owned)

    instead(Leaving, "_release", release)


@breaker("C2-commit-for-lost", "C2")
def what_is_lost_is_committed() -> None:
    """After the identity is lost the commit before the rebalance goes out all the same."""
    instead(Commits, "membership_lost", nothing)

    def make(original: Method) -> Method:
        def refusal(self: Commits, offsets: object) -> object:
            return None if not self._context.identity.is_member else original(self, offsets)

        return refusal

    around(Commits, "_refusal", make)


@breaker("BUG-43", "C3")
def records_come_before_the_assigned_callback() -> None:
    """New partitions are fetched although their assigned callback has not run."""

    def make(original: Method) -> Method:
        def assign_from_group(self: SubscriptionState, partitions: object) -> None:
            original(self, partitions)
            self.assigned_callback_done()

        return assign_from_group

    around(SubscriptionState, "assign_from_group", make)


@breaker("C3-gone-before", "C3")
def what_is_revoked_is_gone_before_the_callback() -> None:
    """Partitions do not count as owned any more when their revocation callback runs."""

    def make(original: Method) -> Method:
        def callback_started(self: Membership) -> None:
            original(self)
            callback = self._subscription.pending_callback()
            if callback is not None:
                self._subscription.keep_only(set(self.owned()) - set(callback.partitions))

        return callback_started

    around(Membership, "callback_started", make)


@breaker("BUG-39", "C4 S3")
def an_exception_of_the_listener_stops_the_rebalance() -> None:
    """What the listener raises leaves at once, and the core never hears that the callback has returned."""

    def assign(self: Callbacks, event: AssignPartitions) -> None:
        before = len(self._errors)
        self._run(self.listener.on_partitions_assigned, event.partitions)
        if len(self._errors) == before:
            self._driver.submit(PartitionsAssigned())

    def revoke(self: Callbacks) -> None:
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

    instead(Callbacks, "_assign", assign)
    instead(Callbacks, "_revoke", revoke)


@breaker("C4-swallowed", "C4")
def what_the_listener_raises_is_lost() -> None:
    """An exception of the listener is dropped."""

    def make(original: Method) -> Method:
        def run(self: Callbacks, call: Method, partitions: object) -> None:
            count = len(self._errors)
            original(self, call, partitions)
            while len(self._errors) > count:
                self._errors.pop()

        return run

    around(Callbacks, "_run", make)


@breaker("BUG-40", "C5 T1")
def callbacks_run_inside_a_lock() -> None:
    """The listener is called while the consumer's own lock is held."""

    def make(original: Method) -> Method:
        def run(self: Callbacks, call: Method, partitions: object) -> None:
            with self._subscription._lock:
                original(self, call, partitions)

        return run

    around(Callbacks, "_run", make)


@breaker("BUG-42", "C6")
def the_identity_lags_behind_the_callback() -> None:
    """A commit in the revoked callback carries the generation before the round that revoked."""

    def make(original: Method) -> Method:
        def identity(self: Commits) -> Identity:
            present: Identity = original(self)
            if present is NOBODY or self._membership.state is not RebalanceState.REVOKING_PARTITION:
                return present
            return Identity(present.member_id, self._membership.owned_generation, present.protocol_name)

        return identity

    around(Commits, "_identity", make)


@breaker("BUG-68", "C7 L2")
def the_callback_comes_after_the_end() -> None:
    """unsubscribe() and close() clear everything first: the callback is about nothing."""

    def make(original: Method) -> Method:
        def release(self: Leaving) -> None:
            self._membership._subscription.keep_only(())
            original(self)

        return release

    around(Leaving, "_release", make)


@breaker("C7-good-bye-first", "C7")
def good_bye_is_said_before_the_callback() -> None:
    """LeaveGroup goes out before the revocation callback has run."""

    def make(original: Method) -> Method:
        def unsubscribe(self: Leaving, event: Unsubscribe) -> None:
            self.send_leave_group("in a hurry")
            original(self, event)

        return unsubscribe

    around(Leaving, "unsubscribe", make)


@breaker("Q2-on-the-background-thread", "Q2 C5")
def the_background_thread_runs_the_listener() -> None:
    """The assigned callback runs on the background thread, as soon as the assignment is there."""
    known: list[Callbacks] = []

    def making(original: Method) -> Method:
        def init(self: Callbacks, *arguments: object) -> None:
            original(self, *arguments)
            known.append(self)

        return init

    def doing(original: Method) -> Method:
        def do(self: BackgroundDriver, output: object) -> None:
            if isinstance(output, AssignPartitions):
                known[-1].listener.on_partitions_assigned(list(output.partitions))
            else:
                original(self, output)

        return do

    around(Callbacks, "__init__", making)
    around(BackgroundDriver, "_do", doing)
