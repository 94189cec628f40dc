"""Mutants that show on the wire: `scenarios` are those of the wire kit that must find one of the rules broken."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, after, answer, before, instead, mutant
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.events import CallbackKind
from groupspec.impl.core.heartbeats import Heartbeats, HeartbeatState
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.parts import Parts

# fmt: off
instead("BUG-03", "D3", Connection.lookup_failed,
    lambda _, self, code: self._lookup_ended(ConnectionState.INITIALIZED),
    "A failed lookup is repeated at once.", scenarios="coordinator-moved")
instead("P1-expiry-ignored", "P1", Heartbeats.poll_interval_expired,
    lambda _, self: self._context.timers.disarm("poll_interval"),
    "A member that does not poll stays in the group.", scenarios="poll-interval-exceeded")
instead("BUG-38", "C7 C1", Leaving._release, lambda _, self: self._leave(),
    "close() leaves without running the callback.", scenarios="close-while-stable")
# fmt: on


# Coordinator discovery -----------------------------------------------------------------------------------------------


@after(
    "BUG-06",
    "D1",
    *(answer("Heartbeat", error) for error in ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")),
    scenarios="rebalance-eager rebalance-cooperative member-unknown",
)
def every_heartbeat_error_forgets_the_coordinator(core: Parts, happening: object) -> None:
    """REBALANCE_IN_PROGRESS and UNKNOWN_MEMBER_ID forget the coordinator too."""
    core.connection.forget("a heartbeat's error")


# Join and sync -------------------------------------------------------------------------------------------------------


@mutant("BUG-19", "S2", Leading._divide, scenarios="first-join")
def the_leader_names_only_who_gets_something(original: Method, self: Leading, counts: object) -> object:
    """The leader's SyncGroup lacks the members without partitions."""
    shares = original(self, counts)
    assert isinstance(shares, tuple)
    fullest = max(len(share) for _, share in shares)
    return tuple((member, share) for member, share in shares if len(share) == fullest)


@after("BUG-20", "J7", Membership.subscribe, scenarios="first-join")
def subscribe_joins(self: Membership, event: object) -> None:
    """subscribe() alone makes the member join."""
    self.polled()


@after("BUG-23", "J3", answer("JoinGroup", "MEMBER_ID_REQUIRED"), scenarios="first-join")
def member_id_after_a_backoff(core: Parts, happening: object) -> None:
    """After MEMBER_ID_REQUIRED the member waits for the retry backoff."""
    core.context.arm("join_backoff", core.config.retry_backoff_ms)


@before("J4-identity-dropped", "J4", Joining.send_join, scenarios="rebalance-eager rebalance-cooperative")
def an_announcement_drops_the_identity(self: Joining) -> None:
    """The JoinGroup after REBALANCE_IN_PROGRESS has no member id."""
    identity = self._context.identity
    if identity.is_member:
        self._context.identity = type(identity)()


# Heartbeats ----------------------------------------------------------------------------------------------------------


@mutant("BUG-25", "H1", scenarios="first-join rebalance-eager rebalance-cooperative")
def heartbeats_begin_after_sync(seam: Seam) -> None:
    """No heartbeats while SyncGroup is unanswered."""

    @seam.replacing(Joining.join_accepted)
    def join_accepted(original: Method, self: Joining, response: object) -> None:
        original(self, response)
        self._heartbeats.disable()

    @seam.replacing(Membership.synced)
    def synced(original: Method, self: Membership, assigned: object) -> None:
        self._heartbeats.enable()
        original(self, assigned)


@after("BUG-26", "H1", answer("Heartbeat", "REBALANCE_IN_PROGRESS"), scenarios="rebalance-eager")
def an_announcement_stops_heartbeats(core: Parts, happening: object) -> None:
    """After REBALANCE_IN_PROGRESS there are no heartbeats until the next round."""
    core.timers.disarm("heartbeat")


@mutant(
    "H4-announcement-ignored",
    "H4 J2",
    answer("Heartbeat", "REBALANCE_IN_PROGRESS"),
    scenarios="rebalance-eager rebalance-cooperative",
)
def an_announcement_has_no_effect(_: Method, core: Parts, happening: object) -> None:
    """REBALANCE_IN_PROGRESS is taken for NONE."""
    core.heartbeats.accepted()


@after(
    "BUG-27",
    "H4 J2",
    answer("Heartbeat", "UNKNOWN_MEMBER_ID"),
    answer("Heartbeat", "ILLEGAL_GENERATION"),
    scenarios="member-unknown",
)
def a_lost_identity_does_not_rejoin(core: Parts, happening: object) -> None:
    """UNKNOWN_MEMBER_ID resets the identity, and no rejoin is asked for."""
    core.membership.rejoin_needed = False


@mutant("BUG-29", "H2 H4", Heartbeats._failed, scenarios="coordinator-moved")
def a_failed_heartbeat_stays_in_flight(_: Method, self: Heartbeats) -> None:
    """The mark "in flight" is cleared by success only."""
    self._due = False


@after("BUG-32", "H3", Membership.reset_identity, scenarios="member-unknown")
def heartbeats_go_on_without_identity(self: Membership, keep_member_id: object) -> None:
    """UNKNOWN_MEMBER_ID does not stop heartbeats."""
    self._heartbeats.state = HeartbeatState.IDLE
    self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)


@mutant("H7-two-in-flight", "H7", scenarios="close-while-stable")
def heartbeats_do_not_wait_for_each_other(seam: Seam) -> None:
    """An unanswered heartbeat is repeated, five times within its interval."""

    @seam.replacing(Heartbeats.progress)
    def progress(original: Method, self: Heartbeats) -> None:
        if self._due and self.state is HeartbeatState.IN_FLIGHT:
            self.state = HeartbeatState.IDLE
        original(self)

    @seam.replacing(Heartbeats._send)
    def send(original: Method, self: Heartbeats) -> None:
        original(self)
        self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms // 5)


# Poll interval -------------------------------------------------------------------------------------------------------


@mutant("BUG-36", "P3 C1", Membership.poll_interval_expired, scenarios="poll-interval-exceeded")
def expiry_is_not_told(original: Method, self: Membership) -> None:
    """After the poll interval has run out what was owned is dropped without the lost callback."""
    keep = self._subscription.keep_only
    self._way_out.send_leave_group("consumer poll timeout has expired.")
    self.awaiting_poll = True
    self.reset_identity(keep_member_id=False)
    keep(set())
    self.lose_owned()


# Callbacks -----------------------------------------------------------------------------------------------------------


@mutant("C2-revoked-for-lost", "C2 P3", Membership.revoke, scenarios="member-unknown poll-interval-exceeded")
def a_loss_is_called_revocation(original: Method, self: Membership, kind: object, partitions: object) -> None:
    """The callback for a lost membership is revoked."""
    original(self, CallbackKind.REVOKED, partitions)
    if kind is CallbackKind.LOST:
        self._loss_due = True


# Cooperative ---------------------------------------------------------------------------------------------------------


@after("K2-no-rejoin", "K2", Membership.synced, scenarios="rebalance-cooperative")
def who_gave_up_does_not_join_again(self: Membership, assigned: object) -> None:
    """After a round that took something away there is no other."""
    self.rejoin_needed = False


@mutant("K1-claims-nothing", "K1", Joining._metadata, scenarios="rebalance-cooperative")
def a_rejoin_claims_nothing(original: Method, self: Joining, assignor: object) -> object:
    """JoinGroup does not say what the member owns."""
    with Seam() as seam:
        seam.replace(Membership.owned, lambda *_: ())
        return original(self, assignor)


# Close ---------------------------------------------------------------------------------------------------------------


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
