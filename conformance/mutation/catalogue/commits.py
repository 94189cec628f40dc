"""Mutants of the chapter M: offset commits."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import (
    Method,
    Seam,
    after,
    answered_like,
    before,
    instead,
    left_out,
    mutant,
    nothing,
)
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.commits import Commits, Operation, Purpose
from groupspec.impl.core.context import Identity
from groupspec.impl.core.events import CallbackKind, Commit, CompleteFuture
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import OffsetCommitRequest
from groupspec.impl.core.subscription import SubscriptionState

# fmt: off
answered_like("BUG-44", "M2", "OffsetCommit", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS in answer to a commit is taken for UNKNOWN_MEMBER_ID.")
answered_like("BUG-55", "M2", "OffsetCommit", "UNKNOWN_MEMBER_ID ILLEGAL_GENERATION", "GROUP_AUTHORIZATION_FAILED",
    "UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION only fail the commit; the member keeps its identity.")
instead("BUG-81", "J9", Commits._is_judged_by_membership, lambda _, self: not self._is_standalone(),
    "ILLEGAL_GENERATION for a commit takes effect although a JoinGroup is in flight.")
instead("M3-endless", "M3", Commits.deadline_over, lambda _, self: self._context.timers.disarm("commit_deadline"),
    "The commit before the rebalance has no time limit.")
instead("BUG-51", "M6", Commits._next,
    lambda _, self: next((o for o in reversed(self._queue) if o.sent is None and not self._awaits_poll(o)), None),
    "A commit is sent although an earlier one is unanswered.")
instead("M1-commit-as-nobody", "M1", Commits._is_standalone, lambda _, self: True,
    "A member's commit carries neither member id nor generation.")
# fmt: on


@mutant("BUG-49", "M1", Commits._identity)
def a_commit_has_the_identity_of_yesterday(original: Method, self: Commits) -> Identity:
    """A commit carries the present member id, and the generation that was read when the first commit was made."""
    present: Identity = original(self)
    generation = self.__dict__.setdefault("_read", present.generation)
    return Identity(present.member_id, generation, present.protocol_name)


@after("BUG-76", "M1 X1", Commits._send)
def a_commit_without_membership_carries_the_instance_id(self: Commits, operation: object, offsets: object) -> None:
    """With manual assignment a commit carries the configured instance id."""
    for output in self._context._outputs:
        request = getattr(output, "request", None)
        if isinstance(request, OffsetCommitRequest):
            object.__setattr__(request, "group_instance_id", self._context.config.group_instance_id)


@before("BUG-54", "M3", Commits._finish)
def a_refused_commit_stops_the_rebalance(self: Commits, operation: Operation, error: object = None) -> None:
    """When the commit before the rebalance fails, the rebalance does not go on."""
    if error is not None and operation.purpose is Purpose.REBALANCE:
        operation.purpose = Purpose.TIMED


@after("BUG-45", "M3", Membership.polled)
def every_poll_commits_again(self: Membership) -> None:
    """The commit before the rebalance is repeated at each poll."""
    for operation in self._commits._queue:
        if operation.purpose is Purpose.REBALANCE:
            operation.sent = None
            self._context.timers.disarm("commit_backoff")


@mutant("BUG-47", "M4", SubscriptionState.to_commit)
def records_in_hand_are_committed(original: Method, self: SubscriptionState) -> object:
    """An automatic commit covers the records that poll() returned last and that are still being processed."""
    for partition in self._shared.partitions.values():
        partition.safe_position = partition.position
    return original(self)


@mutant("BUG-48", "M5")
def the_interval_begins_with_the_answer(seam: Seam) -> None:
    """The interval between automatic commits begins with the answer: until then one follows the other."""
    seam.replace(Commits._has_automatic, lambda *_: False)
    seam.replace(
        Commits._next,
        lambda _, self: next((o for o in self._queue if o.sent is None and not self._awaits_poll(o)), None),
    )

    @seam.replacing(Commits.interval_over)
    def interval_over(original: Method, self: Commits) -> None:
        original(self)
        self._context.arm("auto_commit", 1)


@mutant("M5-mark-stays", "M5")
def an_ended_commit_still_counts_as_under_way(seam: Seam) -> None:
    """After the first automatic commit there is no second one."""
    seam.replace(Commits._has_automatic, lambda _, self: bool(self.__dict__.get("_ever")))

    @seam.replacing(Commits._append)
    def append(original: Method, self: Commits, operation: Operation) -> None:
        if operation.purpose is Purpose.TIMED:
            self.__dict__["_ever"] = True
        original(self, operation)


@mutant("M6-newest-first", "M6", Commits._next)
def the_newest_commit_goes_first(_: Method, self: Commits) -> Operation | None:
    """Of the commits that wait the one that was made last is sent first."""
    if any(operation.sent is not None for operation in self._queue):
        return None
    return next((o for o in reversed(self._queue) if not self._awaits_poll(o)), None)


@mutant("BUG-50", "M6", Commits.commit)
def an_empty_commit_overtakes(original: Method, self: Commits, event: Commit) -> None:
    """A commit of nothing is done at once, before the asynchronous ones that were made earlier."""
    if event.offsets:
        original(self, event)
    else:
        self._context.emit(CompleteFuture(event.future_id, {}))


@mutant("M6-callbacks-later", "M6", Consumer._await)
def commit_callbacks_wait_for_the_next_poll(original: Method, self: Consumer, *arguments: object) -> object:
    """A commit that waits returns before the callbacks of earlier asynchronous ones have run."""
    with left_out(Callbacks.run_commit_callbacks):
        return original(self, *arguments)


@mutant("BUG-52", "M7", SubscriptionState.to_commit)
def what_was_stored_survives_the_revocation(original: Method, self: SubscriptionState) -> dict[object, object]:
    """An automatic commit covers what was consumed of partitions that have gone since."""
    stored = self.__dict__.setdefault("_stored", {})
    stored.update(original(self))
    return dict(stored)


@mutant("BUG-53", "M7")
def the_interval_commits_in_a_round(seam: Seam) -> None:
    """Automatic commits go on between JoinGroup and SyncGroup."""
    seam.replace(Commits._may_commit_automatically, lambda *_: True)
    seam.replace(Commits._refusal, nothing)


@mutant("M8-committed-once", "M8", Membership._prepare_revocation)
def a_cooperative_member_revokes_without_a_commit(original: Method, self: Membership, partitions: object) -> None:
    """After SyncGroup what is taken away goes without another commit, as in Kafka's classic consumer."""
    if self._next_assignment is None:
        original(self, partitions)
    else:
        self.revoke(CallbackKind.REVOKED, partitions)  # type: ignore[arg-type]


@after("M2-raised-by-poll", "M2", Commits._fail)
def a_refused_commit_is_raised_by_the_poll(self: Commits, sent: object, error: Exception) -> None:
    """An error of the commit before a rebalance comes out of the next poll."""
    self._context.report(error)


@mutant("M4-buffered", "M4 O5", SubscriptionState.buffer)
def positions_move_when_records_arrive(original: Method, self: SubscriptionState, buffered: object) -> bool:
    """The position moves over records as soon as they are buffered."""
    taken = bool(original(self, buffered))
    partition = self._shared.partitions.get(getattr(buffered, "partition", None))  # type: ignore[arg-type]
    if taken and partition is not None and partition.position is not None:
        partition.position = partition.safe_position = partition.position + 1
    return taken
