"""Breakers of the chapter M: offset commits."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead, nothing, on_answer
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.core.commits import Commits, Operation, Purpose
from groupspec.impl.core.context import Identity
from groupspec.impl.core.events import CallbackKind, Commit, CompleteFuture
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import OffsetCommitRequest
from groupspec.impl.core.subscription import SubscriptionState


@breaker("BUG-49", "M1")
def a_commit_has_the_identity_of_yesterday() -> None:
    """A commit carries the present member id, and the generation that was read when the first commit was made."""

    def make(original: Method) -> Method:
        def identity(self: Commits) -> Identity:
            present: Identity = original(self)
            generation = self.__dict__.setdefault("_read", present.generation)
            return Identity(present.member_id, generation, present.protocol_name)

        return identity

    around(Commits, "_identity", make)


@breaker("BUG-76", "M1 X1")
def a_commit_without_membership_carries_the_instance_id() -> None:
    """With manual assignment a commit carries the configured instance id."""

    def make(original: Method) -> Method:
        def send(self: Commits, operation: object, offsets: object) -> None:
            original(self, operation, offsets)
            for output in self._context._outputs:
                request = getattr(output, "request", None)
                if isinstance(request, OffsetCommitRequest):
                    object.__setattr__(request, "group_instance_id", self._context.config.group_instance_id)

        return send

    around(Commits, "_send", make)


@breaker("BUG-44", "M2")
def a_rebalance_costs_the_committer_its_identity() -> None:
    """REBALANCE_IN_PROGRESS in answer to a commit is taken for UNKNOWN_MEMBER_ID."""
    on_answer("OffsetCommit", "REBALANCE_IN_PROGRESS", as_error="UNKNOWN_MEMBER_ID")


@breaker("BUG-55", "M2")
def a_refused_commit_stays_without_consequence() -> None:
    """UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION only fail the commit; the member believes in its identity."""
    for error in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
        on_answer("OffsetCommit", error, as_error="GROUP_AUTHORIZATION_FAILED")


@breaker("BUG-81", "J9")
def a_refused_commit_loses_the_assignment_in_a_round() -> None:
    """ILLEGAL_GENERATION for a commit takes effect although a JoinGroup is in flight."""
    instead(Commits, "_is_judged_by_membership", lambda self: not self._is_standalone())


@breaker("BUG-54", "M3")
def a_refused_commit_stops_the_rebalance() -> None:
    """When the commit before the rebalance fails, the rebalance does not go on."""

    def make(original: Method) -> Method:
        def finish(self: Commits, operation: Operation, error: object = None) -> None:
            if error is not None and operation.purpose is Purpose.REBALANCE:
                operation.purpose = Purpose.TIMED
            original(self, operation, error)

        return finish

    around(Commits, "_finish", make)


@breaker("BUG-45", "M3")
def every_poll_commits_again() -> None:
    """The commit before the rebalance is repeated at each poll."""

    def make(original: Method) -> Method:
        def polled(self: Membership) -> None:
            original(self)
            for operation in self._commits._queue:
                if operation.purpose is Purpose.REBALANCE:
                    operation.sent = None
                    self._context.timers.disarm("commit_backoff")

        return polled

    around(Membership, "polled", make)


@breaker("M3-endless", "M3")
def the_rebalance_waits_for_ever() -> None:
    """The commit before the rebalance has no time limit."""
    instead(Commits, "deadline_over", lambda self: self._context.timers.disarm("commit_deadline"))


@breaker("BUG-47", "M4")
def records_in_hand_are_committed() -> None:
    """An automatic commit covers the records that poll() returned last, though nobody has processed them."""

    def make(original: Method) -> Method:
        def to_commit(self: SubscriptionState) -> object:
            for partition in self._shared.partitions.values():
                partition.safe_position = partition.position
            return original(self)

        return to_commit

    around(SubscriptionState, "to_commit", make)


@breaker("BUG-48", "M5")
def the_interval_begins_with_the_answer() -> None:
    """The interval between automatic commits begins with the answer: until then one follows the other."""
    instead(Commits, "_has_automatic", lambda self: False)

    def next_(self: Commits) -> Operation | None:
        return next((o for o in self._queue if o.sent is None and not self._awaits_poll(o)), None)

    def make(original: Method) -> Method:
        def interval_over(self: Commits) -> None:
            original(self)
            self._context.arm("auto_commit", 1)

        return interval_over

    instead(Commits, "_next", next_)
    around(Commits, "interval_over", make)


@breaker("M5-mark-stays", "M5")
def an_ended_commit_still_counts_as_under_way() -> None:
    """After the first automatic commit there is no second one."""

    def make(_: Method) -> Method:
        def has_automatic(self: Commits) -> bool:
            return bool(self.__dict__.get("_ever"))

        return has_automatic

    def appending(original: Method) -> Method:
        def append(self: Commits, operation: Operation) -> None:
            if operation.purpose is Purpose.TIMED:
                self.__dict__["_ever"] = True
            original(self, operation)

        return append

    around(Commits, "_has_automatic", make)
    around(Commits, "_append", appending)


@breaker("BUG-51", "M6")
def commits_go_out_side_by_side() -> None:
    """A commit is sent although an earlier one is unanswered."""

    def next_(self: Commits) -> Operation | None:
        return next((o for o in reversed(self._queue) if o.sent is None and not self._awaits_poll(o)), None)

    instead(Commits, "_next", next_)


@breaker("M6-newest-first", "M6")
def the_newest_commit_goes_first() -> None:
    """Of the commits that wait the one that was made last is sent first."""

    def next_(self: Commits) -> Operation | None:
        if any(operation.sent is not None for operation in self._queue):
            return None
        return next((o for o in reversed(self._queue) if not self._awaits_poll(o)), None)

    instead(Commits, "_next", next_)


@breaker("BUG-50", "M6")
def an_empty_commit_overtakes() -> None:
    """A commit of nothing is done at once, before the asynchronous ones that were made earlier."""

    def make(original: Method) -> Method:
        def commit(self: Commits, event: Commit) -> None:
            if event.offsets:
                original(self, event)
            else:
                self._context.emit(CompleteFuture(event.future_id, {}))

        return commit

    around(Commits, "commit", make)


@breaker("M6-callbacks-later", "M6")
def commit_callbacks_wait_for_the_next_poll() -> None:
    """A commit that waits returns before the callbacks of earlier asynchronous ones have run."""
    from groupspec.impl.consumer import Consumer

    def make(original: Method) -> Method:
        def await_(self: Consumer, *arguments: object) -> object:
            run = Callbacks.run_commit_callbacks
            setattr(Callbacks, "run_commit_callbacks", nothing)  # noqa: B010  # for the time of this call
            try:
                return original(self, *arguments)
            finally:
                setattr(Callbacks, "run_commit_callbacks", run)  # noqa: B010

        return await_

    around(Consumer, "_await", make)


@breaker("BUG-52", "M7")
def what_was_stored_survives_the_revocation() -> None:
    """An automatic commit covers what was consumed of partitions that have gone since."""

    def make(original: Method) -> Method:
        def to_commit(self: SubscriptionState) -> dict[object, object]:
            stored = self.__dict__.setdefault("_stored", {})
            stored.update(original(self))
            return dict(stored)

        return to_commit

    around(SubscriptionState, "to_commit", make)


@breaker("BUG-53", "M7")
def the_interval_commits_in_a_round() -> None:
    """Automatic commits go on between JoinGroup and SyncGroup."""
    instead(Commits, "_may_commit_automatically", lambda self: True)
    instead(Commits, "_refusal", lambda self, offsets: None)


@breaker("M8-committed-once", "M8")
def a_cooperative_member_revokes_without_a_commit() -> None:
    """After SyncGroup what is taken away goes without another commit, as in Kafka's classic consumer."""

    def make(original: Method) -> Method:
        def prepare(self: Membership, partitions: object) -> None:
            if self._next_assignment is None:
                original(self, partitions)
            else:
                self.revoke(CallbackKind.REVOKED, partitions)  # type: ignore[arg-type]

        return prepare

    around(Membership, "_prepare_revocation", make)


@breaker("M2-raised-by-poll", "M2")
def a_refused_commit_is_raised_by_the_poll() -> None:
    """An error of the commit before a rebalance comes out of the next poll."""

    def make(original: Method) -> Method:
        def fail(self: Commits, sent: object, error: Exception) -> None:
            original(self, sent, error)
            self._context.report(error)

        return fail

    around(Commits, "_fail", make)


@breaker("M1-commit-as-nobody", "M1")
def a_member_commits_as_nobody() -> None:
    """A member's commit carries neither member id nor generation."""
    instead(Commits, "_is_standalone", lambda self: True)


@breaker("M4-buffered", "M4 O5")
def positions_move_when_records_arrive() -> None:
    """The position moves over records as soon as they are buffered."""

    def make(original: Method) -> Method:
        def buffer(self: SubscriptionState, buffered: object) -> bool:
            taken = bool(original(self, buffered))
            partition = self._shared.partitions.get(getattr(buffered, "partition", None))  # type: ignore[arg-type]
            if taken and partition is not None and partition.position is not None:
                partition.position = partition.safe_position = partition.position + 1
            return taken

        return buffer

    around(SubscriptionState, "buffer", make)
