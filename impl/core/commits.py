"""Offset commits: asked for, automatic, before a rebalance, and at the close.

One queue, one commit in flight: commits reach the coordinator in the order of the calls and are answered in that order,
so none of them can rewind another, and callbacks of earlier ones run first (rule M6). Identity and state are read
together at the moment of sending (rule M1): in a rebalance a commit fails without a request, out of the group as well.
So does one that has waited for longer than the membership lasted that it was asked for in: as nobody, or in the next
membership, it could take back what others have committed since.

Automatic commits cover what the application has shown to have processed by polling again, never more (rule M4). The one
before a rebalance therefore waits for that poll if records are still with the application; an eager member's callback
waits for the same poll anyway. Commits of the application that are asked for meanwhile pass it, and it goes out behind
them.

What an automatic commit covers is taken when it is sent; but when the application asks for a commit behind it, at the
latest. Otherwise it could carry more than that one, which would then rewind it (rule M6). The application goes on while
what it has asked for is on its way to this thread: so `positions` keeps what was processed then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import NOBODY, Context, Identity
from groupspec.impl.core.errors import (
    CommitFailedError,
    ConsumerClosedError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    error_for,
)
from groupspec.impl.core.events import COORDINATOR, Commit, CompleteFuture
from groupspec.impl.core.messages import (
    ErrorCode,
    OffsetAndMetadata,
    OffsetCommitRequest,
    TopicPartition,
)
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.partition_state import CommitAsked
from groupspec.impl.core.rebalance import IN_A_ROUND, Rebalance, RebalanceState
from groupspec.impl.core.requests import Requests, Sent

Standing = tuple[bool, int]
"""What the consumer is to the group: whether it takes no part in it, and how often it has begun or ended one."""


class Purpose(Enum):
    """What the commit is for."""

    SYNC = "sync"  # the application, and it waits: tried until its deadline
    ASYNC = "async"  # the application: tried once
    TIMED = "timed"  # the auto-commit interval: tried again after the backoff
    REBALANCE = "rebalance"  # a rebalance that has begun: tried until its time limit
    CLOSE = "close"  # the last one: tried until the close has to end


PERSISTENT = (Purpose.SYNC, Purpose.REBALANCE, Purpose.CLOSE)


@dataclass(slots=True, eq=False)
class Operation:
    """One commit on its way. Automatic ones take their offsets when they are sent, unless they are `fixed` before.

    `outdated`: it had been sent when the application gave a topic up, of which it has read on maybe. `recreations`: how
    many topics had been made anew when its offsets were chosen; of one that was later they say nothing (rule O7).
    """

    purpose: Purpose
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    future_id: int | None = None
    deadline_ms: int | None = None
    asked_in: Standing | None = None
    sent: Sent | None = None
    fixed: bool = False
    outdated: bool = False
    failures: int = 0
    recreations: int = 0

    @property
    def is_automatic(self) -> bool:
        """Whether nobody has asked for it."""
        return self.purpose not in (Purpose.SYNC, Purpose.ASYNC)


class Commits:
    """The queue."""

    def __init__(
        self, context: Context, requests: Requests, connection: Connection, metadata: Metadata, membership: Rebalance
    ) -> None:
        self._context = context
        self._metadata = metadata
        self._subscription = context.subscription
        self._positions = context.positions
        self._requests = requests
        self._connection = connection
        self._membership = membership
        self._queue: deque[Operation] = deque()

    # What is so ------------------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to commit."""
        return not self._queue

    def holds_rebalance(self) -> bool:
        """Whether the commit before the rebalance is still under way."""
        return any(operation.purpose is Purpose.REBALANCE for operation in self._queue)

    def needs_coordinator(self) -> bool:
        """Whether a commit waits for a coordinator (rule D1: automatic ones too)."""
        return any(operation.sent is None and not self._awaits_poll(operation) for operation in self._queue)

    # Who wants one ----------------------------------------------------------------------------------------------------

    def commit(self, event: Commit) -> None:
        """The application wants one: with a deadline it waits for the outcome, without one it is tried once."""
        self._connection.asked()
        asked = self._positions.take_commit_asked()
        self._fix_what_goes_before(asked)
        purpose = Purpose.ASYNC if event.deadline_ms is None else Purpose.SYNC
        self._append(Operation(purpose, dict(event.offsets), event.future_id, event.deadline_ms), asked.recreations)

    def commit_before_rebalance(self) -> None:
        """Commit what was processed, then let the rebalance go on; at once if there is nothing to commit (rule M3).

        A poll() that begins meanwhile makes what is unprocessed something to commit: so that is looked for last.
        """
        if self._context.config.auto_commit and (
            self._positions.has_unprocessed(self._membership.to_revoke) or self._positions.to_commit()
        ):
            self._positions.commit_awaits_poll(True)
            limit_ms = self._context.now_ms + self._context.config.max_poll_interval_ms
            self._append(Operation(Purpose.REBALANCE, {}, deadline_ms=limit_ms))
        else:
            self._membership.commit_settled()

    def commit_what_goes_now(self) -> None:
        """In the midst of a rebalance topics were given up: what has been read of them is committed, too (rule M8)."""
        for operation in (each for each in self._queue if each.purpose is Purpose.REBALANCE):
            operation.outdated = operation.sent is not None
        if not self.holds_rebalance():
            self.commit_before_rebalance()

    def commit_before_close(self, deadline_ms: int) -> None:
        """Commit what the application has processed: all that it was given, unless it says otherwise (rules L5, M4).

        Nobody polls any more: so a lookup that was refused is tried once more.
        """
        member = self._context.identity.is_member and self._membership.state not in IN_A_ROUND
        if self._context.config.auto_commit and (member or self._subscription.is_manual()):
            if self._positions.to_commit():
                self._connection.asked()
            self._append(Operation(Purpose.CLOSE, {}, deadline_ms=deadline_ms))

    def interval_over(self) -> None:
        """Time for an automatic commit: at most one at a time (M5), and none between JoinGroup and SyncGroup (M7)."""
        self._context.timers.disarm("auto_commit")
        if not self._context.config.auto_commit or self._membership.leaving:
            return
        self._restart_interval()
        if self._may_commit_automatically() and not self._has_automatic() and self._positions.to_commit():
            self._append(Operation(Purpose.TIMED, {}))

    def assignment_changed(self) -> None:
        """A new assignment: the interval starts anew."""
        if self._context.config.auto_commit:
            self._restart_interval()

    def _restart_interval(self) -> None:
        self._context.arm("auto_commit", self._context.config.auto_commit_interval_ms)

    def _may_commit_automatically(self) -> bool:
        return self._subscription.is_manual() or self._membership.state is RebalanceState.STABLE

    def _has_automatic(self) -> bool:
        return any(operation.is_automatic for operation in self._queue)

    def _append(self, operation: Operation, recreations: int | None = None) -> None:
        """Behind the others; but before one that awaits a poll, which lets all pass (rule M4), and comes later (M6)."""
        operation.asked_in = self._standing()
        operation.recreations = self._positions.recreations() if recreations is None else recreations
        passed = [other for other in self._queue if other.sent is None and self._awaits_poll(other)]
        for other in passed:  # it may have stood before others when it did not await one yet
            self._queue.remove(other)
            other.fixed, other.recreations = False, self._positions.recreations()
        self._queue.extend((operation, *passed))
        self._watch_deadlines()

    def _fix_what_goes_before(self, asked: CommitAsked) -> None:
        """From now on the commits under way cover no more than this: they must not rewind the next one (rule M6)."""
        for operation in self._queue:
            if operation.is_automatic and not operation.fixed and not self._awaits_poll(operation):
                operation.offsets = asked.processed if operation.sent is None else operation.offsets
                operation.recreations = min(operation.recreations, asked.recreations)
                operation.fixed = True

    # Sending ---------------------------------------------------------------------------------------------------------

    def progress(self) -> None:
        """Send the first of the queue, if nothing is out and nothing has to be waited for."""
        while (operation := self._next()) is not None:
            offsets = self._offsets_of(operation)
            if operation.is_automatic and not operation.fixed and self._positions.is_commit_asked():
                return  # on its way here: maybe these go further
            refusal = self._refusal(operation, offsets)
            if refusal is not None or not offsets:
                self._finish(operation, refusal)
            elif self._may_send():
                self._send(operation, offsets)
            else:
                return

    def _next(self) -> Operation | None:
        """The next to be sent. One that awaits a poll lets the others pass: their callers cannot poll meanwhile."""
        if not self._queue or any(operation.sent is not None for operation in self._queue):
            return None
        return next((operation for operation in self._queue if not self._awaits_poll(operation)), None)

    def _may_send(self) -> bool:
        """Only to a coordinator that is known (rule D4), and not before the backoff is over (rule D3)."""
        return self._connection.is_known and not self._context.timers.is_armed("commit_backoff")

    def _is_standalone(self) -> bool:
        """Whether the consumer takes no part in the group: it commits without an identity then, as anybody may."""
        return self._subscription.is_manual() or not self._membership.is_subscribed()

    def _standing(self) -> Standing:
        return self._is_standalone(), self._context.standings

    def _awaits_poll(self, operation: Operation) -> bool:
        """Records are with the application: only its next poll says that they are processed (rule M4)."""
        return operation.purpose is Purpose.REBALANCE and self._positions.has_unprocessed(self._membership.to_revoke)

    def _offsets_of(self, operation: Operation) -> Mapping[TopicPartition, OffsetAndMetadata]:
        if not operation.is_automatic:
            return operation.offsets
        left = self._positions.to_commit()
        if not operation.fixed:
            return left
        fixed = self._of_present_topics(operation)
        return {tp: fixed[tp] for tp in left if tp in fixed}

    def _of_present_topics(self, operation: Operation) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Its offsets but those of topics that were made anew since they were chosen (rule O7)."""
        if not (recreated := self._positions.recreated_since(operation.recreations)):
            return operation.offsets
        return {tp: offset for tp, offset in operation.offsets.items() if tp.topic not in recreated}

    def _refusal(self, operation: Operation, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> KafkaError | None:
        """Why this commit must not be sent now; None if it may."""
        if self._context.config.group_id is None:
            return error_for(ErrorCode.INVALID_GROUP_ID, "Commit without a group")
        negative = sorted(partition for partition, committed in offsets.items() if committed.offset < 0)
        if negative:
            return KafkaError(
                f"Commit of a negative offset for {', '.join(map(str, negative))}: an offset is 0 or more"
            )
        if not offsets:
            return None
        if not operation.is_automatic and (
            of_old := sorted(offsets.keys() - self._of_present_topics(operation).keys())
        ):
            return CommitFailedError(
                f"Commit for {', '.join(map(str, of_old))}: the topic was deleted and made anew since; these offsets "
                "are of the old one. poll() reads the new one, then commit again",
                ErrorCode.UNKNOWN_TOPIC_ID,
            )
        refusal = None if self._is_standalone() else self._refusal_of_subscriber()
        if refusal is None and operation.asked_in != self._standing():
            return CommitFailedError(
                "Commit of a membership that is over: while it waited to be sent the consumer has left the group, or "
                "joined it anew. commit() before unsubscribe() waits until it is done",
                ErrorCode.UNKNOWN_MEMBER_ID,
            )
        return refusal

    def _refusal_of_subscriber(self) -> KafkaError | None:
        """The same of who takes part in the group: only a member that is in no round may."""
        if self._membership.state in IN_A_ROUND:
            return RebalanceInProgressError(
                "Commit during a rebalance: poll() until it is over, then commit what is still assigned",
                ErrorCode.REBALANCE_IN_PROGRESS,
            )
        if not self._context.was_member:
            return CommitFailedError(
                f"Commit without membership: this consumer has not joined group {self._context.config.group_id!r} yet"
                f"{self._connection.why_unknown()}. poll() until partitions are assigned",
                ErrorCode.UNKNOWN_MEMBER_ID,
            )
        if not self._context.identity.is_member:
            return CommitFailedError(
                "Commit without membership: the group may have given the partitions to others. poll() to join it "
                "again; if processing takes longer than max_poll_interval_ms between polls, raise that or lower "
                "max_poll_records",
                ErrorCode.UNKNOWN_MEMBER_ID,
            )
        return None

    def _identity(self) -> Identity:
        """The identity to commit with: that of the latest round (rule C6); outside the group none (rules M1, X1)."""
        return NOBODY if self._is_standalone() else self._context.identity

    def _send(self, operation: Operation, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """With the ids of the topics that were read: what has got such a name meanwhile is another one (rule O7)."""
        config, identity = self._context.config, self._identity()
        instance_id = config.group_instance_id if identity.is_member else None
        who = (config.group_id or "", identity.generation, identity.member_id, instance_id)
        operation.offsets, operation.outdated = offsets, False
        operation.sent = self._requests.send(
            OffsetCommitRequest(*who, offsets, self._metadata.topic_ids(offsets)),
            COORDINATOR,
            config.request_timeout_ms,
        )
        self._context.note(
            "commit_sent", partitions=sorted(offsets), identity=identity, purpose=operation.purpose.value
        )

    # Answers ---------------------------------------------------------------------------------------------------------

    def accepted(self, sent: Sent) -> None:
        """The coordinator has it."""
        operation = self._asked(sent)
        self._positions.set_committed(self._of_present_topics(operation))
        self._follow(operation)
        self._finish(operation)

    def retriable(self, sent: Sent, code: ErrorCode) -> None:
        """A passing failure: commits with a waiting caller are tried again, the others fail (rule D3)."""
        self._try_again_or_fail(self._asked(sent), code)

    def topic_missing(self, sent: Sent, code: ErrorCode, partitions: tuple[TopicPartition, ...]) -> None:
        """A topic that is not there yet (rule D3), or no more: no rebalance waits for that to pass (rule M3).

        If it was made anew Metadata says so, and no commit of the old one is sent any more (rule O7). A topic that is
        known to be missing is asked for once in a while anyway, and not after each commit.
        """
        if self._metadata.exist(partition.topic for partition in partitions):
            self._metadata.refresh()
        if self._asked(sent).purpose is Purpose.REBALANCE:
            self.refused(sent, code, partitions)
        else:
            self.retriable(sent, code)

    def coordinator_gone(self, sent: Sent, code: ErrorCode) -> None:
        """The same, after finding the coordinator anew."""
        self.retriable(sent, code)
        self._connection.forget(f"OffsetCommit: {code.name}")

    def rebalance_in_progress(self, sent: Sent, code: ErrorCode) -> None:
        """The commit fails, the member rejoins, and keeps its identity and what it has (rule M2)."""
        self._fail(sent, error_for(code, "Commit refused: the group rebalances"))
        if not self._is_standalone():
            self._membership.rebalance_announced("a commit was refused because the group rebalances")

    def generation_gone(self, sent: Sent, code: ErrorCode) -> None:
        """The group went on without this member (rules M2, J4)."""
        self._lose_identity(keep_member_id=True)
        self._fail(sent, _commit_failed(code))

    def member_unknown(self, sent: Sent, code: ErrorCode) -> None:
        """The coordinator has removed this member."""
        self._lose_identity(keep_member_id=False)
        self._fail(sent, _commit_failed(code))

    def fenced(self, sent: Sent, code: ErrorCode) -> None:
        """Another process has this instance id: the waiting caller, or the next poll, gets the error (rule X2)."""
        error = error_for(code, f"Commit of instance {self._context.config.group_instance_id!r}")
        operation = self._operation(sent)
        if operation is None or operation.purpose is not Purpose.SYNC:
            self._context.report(error)
        if self._is_judged_by_membership():
            self._membership.fenced(error)
        self._fail(sent, error)

    def refused(self, sent: Sent, code: ErrorCode, partitions: tuple[TopicPartition, ...]) -> None:
        """For good."""
        self._follow(self._operation(sent))
        self._fail(sent, error_for(code, f"Commit for {', '.join(map(str, partitions)) or 'the group'} refused"))

    def late(self, sent: Sent, code: ErrorCode) -> None:
        """An error about an identity of the past: the caller gets it, and nothing else happens (rule J9)."""
        if code is ErrorCode.REBALANCE_IN_PROGRESS or self._membership.state in IN_A_ROUND:
            self._fail(sent, error_for(ErrorCode.REBALANCE_IN_PROGRESS, f"Commit refused ({code.name}); rejoining"))
        else:
            self._fail(sent, _commit_failed(code))

    def _is_judged_by_membership(self) -> bool:
        """While a JoinGroup or SyncGroup is out its own answer decides about the identity."""
        return not self._is_standalone() and self._membership.state not in IN_A_ROUND

    def _lose_identity(self, keep_member_id: bool) -> None:
        if self._is_judged_by_membership():
            self._membership.lose_identity(keep_member_id)

    # Ends ------------------------------------------------------------------------------------------------------------

    def deadline_over(self) -> None:
        """The earliest time limit has passed: commits with that limit fail (rule M3)."""
        for operation in self._context.overdue(self._queue):
            why = self._connection.why_unknown()
            self._finish(operation, KafkaTimeoutError(f"The commit was not answered in time{why}"))
        self._watch_deadlines()

    def lookup_failed(self, code: ErrorCode) -> None:
        """No coordinator yet: a commit that is tried once fails."""
        for operation in [o for o in self._queue if o.purpose is Purpose.ASYNC and o.sent is None]:
            self._try_again_or_fail(operation, code)

    def lookup_refused(self, error: KafkaError) -> None:
        """No coordinator until the next poll, which a commit before a rebalance has time to wait for (rule M3)."""
        for operation in [o for o in self._queue if o.sent is None and o.purpose is not Purpose.REBALANCE]:
            self._finish(operation, error)

    def membership_lost(self) -> None:
        """No commit for what is lost (rule C2): automatic ones end, those of the application are judged when sent."""
        for operation in list(self._queue):
            if operation.is_automatic:
                self._finish(operation, CommitFailedError("The membership is lost"))

    def rebalance_abandoned(self) -> None:
        """The rebalance that a commit was to precede will not take place."""
        for operation in list(self._queue):
            if operation.purpose is Purpose.REBALANCE:
                self._finish(operation, CommitFailedError("The rebalance was abandoned"))

    def give_up_all(self, error: KafkaError) -> None:
        """No more time: every caller gets an answer (rule L2)."""
        for operation in list(self._queue):
            self._finish(operation, error)

    def stop(self) -> None:
        """The end."""
        self.give_up_all(ConsumerClosedError("The consumer was closed before the commit was answered"))
        self._context.timers.disarm("auto_commit", "commit_backoff", "commit_deadline")

    def _asked(self, sent: Sent) -> Operation:
        """The commit that this was sent for: it waits for the answer, or the answer would be late."""
        return next(operation for operation in self._queue if operation.sent is sent)

    def _operation(self, sent: Sent) -> Operation | None:
        return next((operation for operation in self._queue if operation.sent is sent), None)

    def _try_again_or_fail(self, operation: Operation, code: ErrorCode) -> None:
        operation.sent = None
        if operation.purpose in PERSISTENT:
            self._context.arm("commit_backoff", self._context.config.growing_backoff_ms(operation.failures))
            operation.failures += 1
            return
        if operation.purpose is Purpose.TIMED:
            self._context.arm("auto_commit", self._context.config.retry_backoff_ms)
        self._finish(operation, RetriableCommitFailedError(f"Commit not done ({code.name}): commit again later", code))

    def _fail(self, sent: Sent, error: KafkaError) -> None:
        operation = self._operation(sent)
        if operation is not None:
            self._finish(operation, error)

    def _follow(self, operation: Operation | None) -> None:
        """Another one commits what was read since of the topics that were given up (rule M8)."""
        if operation is not None and operation.outdated:
            self._append(Operation(Purpose.REBALANCE, {}, deadline_ms=operation.deadline_ms))

    def _finish(self, operation: Operation, error: KafkaError | None = None) -> None:
        """Every operation ends here, exactly once; what waited for it goes on (rules T3, M5)."""
        self._queue.remove(operation)
        self._requests.give_up(operation.sent)
        self._watch_deadlines()
        if not self._queue:
            self._context.timers.disarm("commit_backoff")
        if error is not None and operation.is_automatic:  # nobody else is told
            text = f"Automatic commit ({operation.purpose.value}) not done: {error}"
            self._context.journal.seldom(__name__, text, self._context.now_ms)
        if operation.future_id is not None:
            result = None if error else operation.offsets
            self._context.emit(CompleteFuture(operation.future_id, result, error))
        if operation.purpose is Purpose.REBALANCE and not self.holds_rebalance():
            # What was asked for meanwhile may go back, or have kept it from covering what was chosen since.
            if error is None and (self._queue or operation.fixed):
                self._append(Operation(Purpose.REBALANCE, {}, deadline_ms=operation.deadline_ms))
                return
            self._positions.commit_awaits_poll(False)
            self._membership.commit_settled()

    def _watch_deadlines(self) -> None:
        self._context.arm_earliest("commit_deadline", self._queue)


def _commit_failed(code: ErrorCode) -> CommitFailedError:
    return CommitFailedError(
        f"Commit refused ({code.name}): the group has rebalanced without this member, and the partitions may belong to "
        "others. poll() joins again; raise max_poll_interval_ms or lower max_poll_records if processing takes long",
        code,
    )
