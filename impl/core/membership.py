"""The member's part in rebalances: joining, synchronising, revoking, assigning, and losing it all.

States are the proposal's (Apache Kafka wiki, "Consumer threading refactor design", section Rebalance States); the order
of things is that of deployed clients (KIP-429, ConsumerCoordinator.onJoinPrepare and onJoinComplete): automatic commit,
then the revocation callback, then JoinGroup; cooperative members revoke after SyncGroup, and only what moves, and
commit once more before they do (librdkafka, rd_kafka_assignment_serve_removals): they have read on while the others
joined.

    eager        STABLE - PREPARE_REVOCATION - REVOKING_PARTITION - PARTITION_REVOKED - PREPARING_REBALANCE
                 - COMPLETING_REBALANCE - ASSIGNING_PARTITIONS - STABLE
    cooperative  STABLE [- PREPARE_REVOCATION - REVOKING_PARTITION - PARTITION_REVOKED, if topics were unsubscribed]
                 - PREPARING_REBALANCE - COMPLETING_REBALANCE
                 [- PREPARE_REVOCATION - REVOKING_PARTITION - PARTITION_REVOKED] - ASSIGNING_PARTITIONS - STABLE
    lost         REVOKING_PARTITION (kind lost, no commit) - UNJOINED - PREPARING_REBALANCE

Three files belong together: this one decides what comes next, `joining` speaks with the coordinator, `leading` divides
the partitions. A callback runs when the polling thread takes its event; this side only waits for the answer. If the
membership is lost meanwhile, a revocation callback that has not started becomes a "lost" one, and an assigned callback
that has not started does not run; one that runs ends as what it is, and what is owned then is lost afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from groupspec.impl.core.commits import Commits
from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import NOBODY, Context, Identity
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.events import AssignPartitions, CallbackKind, RevokePartitions, Subscribe
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.rebalance import IN_A_ROUND, Partitions, Rebalance, RebalanceState
from groupspec.impl.core.requests import Sent


class WayOut(Protocol):
    """What leaves the group (`leaving`)."""

    def released(self) -> None:
        """A callback has returned: there may be more to give up."""

    def send_leave_group(self, reason: str) -> Sent | None:
        """Send LeaveGroup, if there is a membership to end."""


class Membership(Rebalance):
    """One member of one group."""

    def __init__(self, context: Context, connection: Connection) -> None:
        super().__init__(context)
        self._connection = connection
        self._wants_in = False  # from the first poll of a member that is subscribed until it has left
        self._fencing: KafkaError | None = None  # another process has the instance id: final, until this one has left
        self._loss_due = False  # the identity went while a callback ran: what is owned is lost when it ends
        self._added: Partitions = ()  # what the assigned callback is about
        self._revoked_in = NOBODY.generation  # the generation whose assignment took something away
        self._next_assignment: Partitions | None = None  # takes effect when the revocation callback has returned

    def attach(
        self, heartbeats: Heartbeats, leading: Leading, joining: Joining, commits: Commits, leaving: WayOut
    ) -> None:
        """The parts that do what is decided here, and say what came of it."""
        self._heartbeats = heartbeats
        self._leading = leading
        self._joining = joining
        self._commits = commits
        self._way_out = leaving

    def is_fenced(self) -> bool:
        """Whether another process has the instance id, and the application has not left since (rule X2)."""
        return self._fencing is not None

    def needs_coordinator(self) -> bool:
        """Whoever wants to be in the group does, for as long as it wants to: whatever comes next, it comes sooner."""
        return self._wants_in

    # What the application does ----------------------------------------------------------------------------------------

    def subscribe(self, event: Subscribe) -> None:
        """Other topics. Outside the group this alone does nothing (rule J7); in it the group must rebalance."""
        before, was_subscribed = self._subscription.topics(), self.is_subscribed()
        self._subscription.subscribe(event.topics if event.pattern is None else before, event.pattern)
        if event.pattern is None:
            self._context.note("subscribed", topics=list(self._subscription.topics()))
        if self.state is RebalanceState.UNJOINED:
            self.rejoin_needed = self.is_subscribed()
            if not was_subscribed:
                self.awaiting_poll = True
        elif before != self._subscription.topics():
            self.require_rejoin("the subscription has changed")

    def topics_listed(self, names: Iterable[str]) -> None:
        """The topics that there are: a subscription by pattern is to those that match, be it none.

        As Java's ConsumerCoordinator.updatePatternSubscription.
        """
        before, first = self._subscription.topics(), not self._subscription.is_resolved()
        self._subscription.list_topics(names)
        if first or before != self._subscription.topics():
            self._context.note("subscribed", topics=list(self._subscription.topics()))
        if self.state is not RebalanceState.UNJOINED and before != self._subscription.topics():
            self.require_rejoin("other topics match the subscription's pattern")

    def polled(self) -> None:
        """What waited for the application goes on."""
        if self._fencing is not None:
            self._context.report(self._fencing)
            return
        self.awaiting_poll = False
        self._wants_in = self._wants_in or self.is_subscribed()

    def enforce_rebalance(self, reason: str) -> None:
        """The application wants a rebalance although nothing has changed (KIP-568)."""
        if self.is_subscribed():
            self.require_rejoin(reason)

    # Rebalancing -----------------------------------------------------------------------------------------------------

    def rebalance_announced(self, reason: str) -> None:
        """The coordinator says that the group rebalances. In a round that is no news, unless the round stands still."""
        if self.state not in IN_A_ROUND:
            self.require_rejoin(reason)
        elif self._leading.awaits_metadata:
            self._joining.start_over()

    def require_rejoin(self, reason: str) -> None:
        """From here on until a SyncGroup has succeeded, another JoinGroup is due (rule J2)."""
        if self.leaving:
            return
        if self.state in IN_A_ROUND:
            self.rejoin_again = True
        self.rejoin_needed = True
        self.rejoin_reason = self.rejoin_reason or reason
        if self.state is RebalanceState.STABLE:
            self._begin_rebalance()

    def _begin_rebalance(self) -> None:
        """Commit. What goes before JoinGroup is paused first: everything, or (cooperative) what is no longer wanted.

        Pause, commit, callback, JoinGroup follow each other in this order (rule Q4).
        A second announcement meanwhile changes nothing, unless it comes of other topics.
        """
        goes = self._unwanted() if self._context.config.cooperative else self.owned()
        if self.preparing:
            if goes:
                self._pause(goes)
                self._commits.commit_what_goes_now()
            return
        self.preparing = True
        if goes or not self._context.config.cooperative:
            self._prepare_revocation(goes)
        else:
            self._commits.commit_before_rebalance()

    def _unwanted(self) -> Partitions:
        """What is owned of topics that are not subscribed to any more."""
        topics = self._subscription.topics()
        return tuple(partition for partition in self.owned() if partition.topic not in topics)

    def _prepare_revocation(self, partitions: Partitions) -> None:
        """Nothing is read of them from here on; then what has been read is committed (rules Q5, M8), then they go."""
        self._pause(partitions)
        self._commits.commit_before_rebalance()

    def _pause(self, partitions: Partitions) -> None:
        self.enter(RebalanceState.PREPARE_REVOCATION)
        self.to_revoke = partitions
        self._subscription.pause_for_revocation(partitions)

    def commit_settled(self) -> None:
        """The commit before the rebalance succeeded, failed for good, or took too long: go on (rule M3)."""
        if self.to_revoke is not None and not self.leaving:
            self.revoke(CallbackKind.REVOKED, self.to_revoke)

    def progress(self) -> None:
        """Join when everything that must come before has happened."""
        if self._may_join():
            self._joining.send_join()

    def _may_join(self) -> bool:
        return (
            self.rejoin_needed
            and not self.leaving
            and not self.awaiting_poll
            and self._is_prepared()
            and self._joining.is_idle()
            and not self._context.timers.is_armed("join_backoff")
            and self._connection.is_known
            and self._subscription.is_resolved()
        )

    def _is_prepared(self) -> bool:
        if self.state is RebalanceState.STABLE:  # cooperative: what is wanted is kept until the new assignment is known
            return self.preparing and self._context.config.cooperative and not self._commits.holds_rebalance()
        return self.state in (
            RebalanceState.UNJOINED,
            RebalanceState.PARTITION_REVOKED,
            RebalanceState.PREPARING_REBALANCE,
        )

    # Assignments -----------------------------------------------------------------------------------------------------

    def synced(self, assigned: Partitions) -> None:
        """SyncGroup has succeeded: the member has its part, and is stable when the callbacks are done (rule S1).

        What was asked for meanwhile needs another round, and so does what has to be revoked now (rule K2), or has been:
        a static member that lost its membership over the revocation comes back to the same generation (KIP-345).
        """
        self.rejoin_needed = self.rejoin_again
        self.rejoin_again = False
        self.rejoin_reason = (
            "the subscription or the metadata changed during the rebalance" if self.rejoin_needed else ""
        )
        taken = self._taken(assigned)
        generation = self._context.identity.generation
        if taken or generation == self._revoked_in:
            self.rejoin_needed = True
            self.rejoin_reason = "partitions were revoked and can be assigned to others now"
        self._revoked_in = generation if taken else NOBODY.generation
        if taken:
            self._next_assignment = assigned
            self._prepare_revocation(taken)
        else:
            self._assign(assigned)

    def dropped(self) -> None:
        """The assignment does not fit the subscription: what was owned is kept, and another round is due (rule J1).

        A static member that came back to a stable group is given the same again (KIP-345) as long as its JoinGroup says
        the same. So who owns nothing names the generation that it has seen, as Java does.
        """
        self.rejoin_again = False
        if not self.owned():
            self.owned_generation = self._context.identity.generation
        self.enter(RebalanceState.STABLE)
        self.require_rejoin("received assignment does not match the current subscription")

    def _taken(self, assigned: Partitions) -> Partitions:
        """What a cooperative member has to let go of; an eager one has done so before."""
        if not self._context.config.cooperative:
            return ()
        return tuple(sorted(set(self.owned()) - set(assigned)))

    def _assign(self, assigned: Partitions) -> None:
        """The assignment takes effect; the new partitions wait for the callback (rule C3).

        This happens once, and the callback waits in its queue: a poll that is interrupted leaves nothing half done
        (rule S3).
        """
        self._added = tuple(sorted(set(assigned) - set(self.owned())))
        self._next_assignment = None
        self.owned_generation = self._context.identity.generation
        self.enter(RebalanceState.ASSIGNING_PARTITIONS)
        self._subscription.assign_from_group(assigned)
        self._commits.assignment_changed()
        self._context.note("assigned_started", partitions=self._added)
        self._context.emit(AssignPartitions(self._added))

    def partitions_assigned(self) -> None:
        """The assigned callback has returned."""
        if self.state is not RebalanceState.ASSIGNING_PARTITIONS:
            return
        self._subscription.assigned_callback_done()
        self._context.note("assigned", partitions=self._added)
        if self._loss_due:
            self.lose_owned()
            return
        self.enter(RebalanceState.STABLE)
        if self.rejoin_needed:
            self._begin_rebalance()

    # Revocations -----------------------------------------------------------------------------------------------------

    def revoke(self, kind: CallbackKind, partitions: Partitions) -> None:
        """Have the listener called; until it has returned the partitions count as owned, and stand still."""
        self.enter(RebalanceState.REVOKING_PARTITION)
        self.to_revoke = None
        self._subscription.pause_for_revocation(partitions)
        self._subscription.announce_callback(kind, partitions)
        self._context.emit(RevokePartitions(partitions))

    def callback_started(self) -> None:
        """The polling thread runs the callback: its kind is settled."""
        callback = self._subscription.start_callback()
        if callback is not None:
            self._context.note(f"{callback.kind.value}_started", partitions=callback.partitions)

    def partitions_revoked(self) -> None:
        """The revocation callback has returned: the partitions are gone."""
        if self.state is not RebalanceState.REVOKING_PARTITION:
            return
        due = self._subscription.pending_callback()
        if due is not None and not due.started:
            self.callback_started()
        callback = self._subscription.finish_callback()
        assert callback is not None, "who is in REVOKING_PARTITION has announced a callback, and nobody else ends it"
        self._context.note(callback.kind.value, partitions=callback.partitions)
        self._subscription.keep_only(set(self.owned()) - set(callback.partitions))
        self.enter(RebalanceState.PARTITION_REVOKED)
        if callback.kind is CallbackKind.LOST or self._loss_due:
            self.lose_owned()  # unless something else is owned, it may join again, if the application has polled
        elif self.leaving:
            self._way_out.released()
        elif self._next_assignment is not None:
            self._assign(self._next_assignment)

    # Losing the membership -------------------------------------------------------------------------------------------

    def lose_identity(self, keep_member_id: bool) -> None:
        """The coordinator does not accept this identity any more (rule J4): what is owned is lost (rule C2).

        If a callback must end first, no more records of it are returned until then (rule O3).
        """
        self.reset_identity(keep_member_id)
        if self.state is RebalanceState.REVOKING_PARTITION:
            self._loss_due = not self._subscription.turn_callback_into_lost()
        elif self.state is RebalanceState.ASSIGNING_PARTITIONS:
            self._loss_due = True
        else:
            self.lose_owned()
        if self._loss_due:
            self._subscription.pause_for_revocation(self.owned())

    def reset_identity(self, keep_member_id: bool) -> None:
        """Drop the identity, or keep the member id alone; a rejoin is due as long as there is a subscription (J2)."""
        self.rejoin_again = self.preparing = False
        self.to_revoke = None
        self._heartbeats.disable()
        self._joining.give_up()
        self._commits.membership_lost()
        self._subscription.void_assigned_callback()
        self._context.identity = Identity(member_id=self._context.identity.member_id) if keep_member_id else NOBODY
        self.owned_generation = -1
        self.rejoin_needed = self.is_subscribed() and not self.leaving and self._fencing is None
        self._next_assignment = None

    def lose_owned(self) -> None:
        """Nothing is this member's any more: tell the listener if there was something, and begin from the beginning."""
        self._loss_due = False
        owned = self.owned()
        if owned:
            self.revoke(CallbackKind.LOST, owned)
            return
        self.enter(RebalanceState.UNJOINED)
        if self.leaving:
            self._way_out.released()

    def fenced(self, error: KafkaError) -> None:
        """Another process took over the instance id. To join would take it back, so each poll raises this (rule X2)."""
        self._fencing = error
        self.awaiting_poll, self._wants_in = True, False
        self.lose_identity(keep_member_id=False)

    def poll_interval_expired(self) -> None:
        """The application has not polled for too long (KIP-62): leave, and wait for it. Ignored outside the group (P1).

        A member whose round has failed, and which waits to join again, is still in the group, and may be as stuck as
        any. What it owns is lost, also in the middle of a rebalance (rule P3).
        """
        if self.leaving or self.state is RebalanceState.UNJOINED:
            return
        self._context.note("poll_expired")
        self._way_out.send_leave_group("consumer poll timeout has expired.")
        self.awaiting_poll = True
        self.lose_identity(keep_member_id=False)

    def left(self) -> None:
        """The member has left by itself: nothing is wanted, nothing is owned."""
        self._heartbeats.disable()
        self._joining.give_up()
        self._subscription.unsubscribe()
        self._context.identity = NOBODY
        self.owned_generation = -1
        self.rejoin_needed = self.rejoin_again = self.preparing = self._loss_due = self._wants_in = False
        self.rejoin_reason = ""
        self._next_assignment = self.to_revoke = self._fencing = None
        self.awaiting_poll = True
        self._context.timers.disarm("join_backoff", "auto_commit")
        self.enter(RebalanceState.UNJOINED)
