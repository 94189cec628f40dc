"""The mutants: what each breaks, where that must show, and the change that breaks it.

Ids are those of `groupspec.spec.known_bugs` where a real bug breaks the rule; others begin with the rule's id.
`scenarios` are those that must go red: what else goes red is the matrix's affair
(`groupspec.conformance.mutation.tests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.mutation._seams import (
    Original,
    Replacement,
    after_answer,
    instead_of_answer,
    replace,
    undo,
)
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.events import CallbackKind
from groupspec.impl.core.heartbeats import Heartbeats, HeartbeatState
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.parts import Parts


@dataclass(frozen=True)
class Mutant:
    """One bug. `breaks`: rules of which at least one has to be found broken in each of `scenarios`."""

    id: str
    what: str
    breaks: tuple[str, ...]
    scenarios: tuple[str, ...]
    put_in: Callable[[], None]


MUTANTS: Final[dict[str, Mutant]] = {}


def mutant(identifier: str, *, breaks: str, scenarios: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Registers the change under an id; its docstring says what it is."""

    def register(put_in: Callable[[], None]) -> Callable[[], None]:
        what = (put_in.__doc__ or "").strip()
        MUTANTS[identifier] = Mutant(identifier, what, tuple(breaks.split()), tuple(scenarios.split()), put_in)
        return put_in

    return register


def apply(identifier: str) -> None:
    """Puts one mutant into this process.

    Raises:
        UsageProblem: there is no such mutant.
    """
    if identifier not in MUTANTS:
        raise UsageProblem(f"there is no mutant {identifier!r}", allowed=MUTANTS)
    MUTANTS[identifier].put_in()


@contextmanager
def applied(identifier: str) -> Iterator[Mutant]:
    """A mutant for the length of a block: for tests in this process.

    Raises:
        UsageProblem: there is no such mutant.
    """
    try:
        apply(identifier)
        yield MUTANTS[identifier]
    finally:
        undo()


# Coordinator discovery ------------------------------------------------------------------------------------------------


@mutant("BUG-03", breaks="D3", scenarios="coordinator-moved")
def lookups_without_backoff() -> None:
    """A failed lookup is repeated at once."""

    def make(_: Original) -> Replacement:
        def lookup_failed(self: Connection, code: object) -> None:
            self._lookup_ended(ConnectionState.INITIALIZED)

        return lookup_failed

    replace(Connection, "lookup_failed", make)


@mutant("BUG-06", breaks="D1", scenarios="rebalance-eager rebalance-cooperative member-unknown")
def every_heartbeat_error_forgets_the_coordinator() -> None:
    """REBALANCE_IN_PROGRESS and UNKNOWN_MEMBER_ID forget the coordinator too."""
    for error in ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
        after_answer("Heartbeat", error, lambda core: core.connection.forget("a heartbeat's error"))


# Join and sync --------------------------------------------------------------------------------------------------------


@mutant("BUG-19", breaks="S2", scenarios="first-join")
def the_leader_names_only_who_gets_something() -> None:
    """The leader's SyncGroup lacks the members without partitions."""

    def make(original: Original) -> Replacement:
        def divide(self: Leading, counts: object) -> object:
            shares = original(self, counts)
            assert isinstance(shares, tuple)
            fullest = max(len(share) for _, share in shares)
            return tuple((member, share) for member, share in shares if len(share) == fullest)

        return divide

    replace(Leading, "_divide", make)


@mutant("BUG-20", breaks="J7", scenarios="first-join")
def subscribe_joins() -> None:
    """subscribe() alone makes the member join."""

    def make(original: Original) -> Replacement:
        def subscribe(self: Membership, event: object) -> None:
            original(self, event)
            self.polled()

        return subscribe

    replace(Membership, "subscribe", make)


@mutant("BUG-23", breaks="J3", scenarios="first-join")
def member_id_after_a_backoff() -> None:
    """After MEMBER_ID_REQUIRED the member waits for the retry backoff."""
    after_answer(
        "JoinGroup",
        "MEMBER_ID_REQUIRED",
        lambda core: core.context.arm("join_backoff", core.config.retry_backoff_ms),
    )


@mutant("J4-identity-dropped", breaks="J4", scenarios="rebalance-eager rebalance-cooperative")
def an_announcement_drops_the_identity() -> None:
    """The JoinGroup after REBALANCE_IN_PROGRESS has no member id."""

    def make(original: Original) -> Replacement:
        def send_join(self: Joining) -> None:
            identity = self._context.identity
            if identity.is_member:
                self._context.identity = type(identity)()
            original(self)

        return send_join

    replace(Joining, "send_join", make)


# Heartbeats -----------------------------------------------------------------------------------------------------------


@mutant("BUG-25", breaks="H1", scenarios="first-join rebalance-eager rebalance-cooperative")
def heartbeats_begin_after_sync() -> None:
    """No heartbeats while SyncGroup is unanswered."""

    def after_join(original: Original) -> Replacement:
        def join_accepted(self: Joining, response: object) -> None:
            original(self, response)
            self._heartbeats.disable()

        return join_accepted

    def after_sync(original: Original) -> Replacement:
        def synced(self: Membership, assigned: object) -> None:
            self._heartbeats.enable()
            original(self, assigned)

        return synced

    replace(Joining, "join_accepted", after_join)
    replace(Membership, "synced", after_sync)


@mutant("BUG-26", breaks="H1", scenarios="rebalance-eager")
def an_announcement_stops_heartbeats() -> None:
    """After REBALANCE_IN_PROGRESS there are no heartbeats until the next round."""
    after_answer("Heartbeat", "REBALANCE_IN_PROGRESS", lambda core: core.timers.disarm("heartbeat"))


@mutant("H4-announcement-ignored", breaks="H4 J2", scenarios="rebalance-eager rebalance-cooperative")
def an_announcement_has_no_effect() -> None:
    """REBALANCE_IN_PROGRESS is taken for NONE."""
    instead_of_answer("Heartbeat", "REBALANCE_IN_PROGRESS", lambda core: core.heartbeats.accepted())


@mutant("BUG-27", breaks="H4 J2", scenarios="member-unknown")
def a_lost_identity_does_not_rejoin() -> None:
    """UNKNOWN_MEMBER_ID resets the identity, and no rejoin is asked for."""

    def forget(core: Parts) -> None:
        core.membership.rejoin_needed = False

    for error in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
        after_answer("Heartbeat", error, forget)


@mutant("BUG-29", breaks="H2 H4", scenarios="coordinator-moved")
def a_failed_heartbeat_stays_in_flight() -> None:
    """The mark "in flight" is cleared by success only."""

    def make(_: Original) -> Replacement:
        def failed(self: Heartbeats) -> None:
            self._due = False

        return failed

    replace(Heartbeats, "_failed", make)


@mutant("BUG-32", breaks="H3", scenarios="member-unknown")
def heartbeats_go_on_without_identity() -> None:
    """UNKNOWN_MEMBER_ID does not stop heartbeats."""

    def make(original: Original) -> Replacement:
        def reset_identity(self: Membership, keep_member_id: object) -> None:
            original(self, keep_member_id)
            self._heartbeats.state = HeartbeatState.IDLE
            self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)

        return reset_identity

    replace(Membership, "reset_identity", make)


@mutant("H7-two-in-flight", breaks="H7", scenarios="close-while-stable")
def heartbeats_do_not_wait_for_each_other() -> None:
    """An unanswered heartbeat is repeated, five times within its interval."""

    def make_progress(original: Original) -> Replacement:
        def progress(self: Heartbeats) -> None:
            if self._due and self.state is HeartbeatState.IN_FLIGHT:
                self.state = HeartbeatState.IDLE
            original(self)

        return progress

    def make_send(original: Original) -> Replacement:
        def send(self: Heartbeats) -> None:
            original(self)
            self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms // 5)

        return send

    replace(Heartbeats, "progress", make_progress)
    replace(Heartbeats, "_send", make_send)


# Poll interval --------------------------------------------------------------------------------------------------------


@mutant("P1-expiry-ignored", breaks="P1", scenarios="poll-interval-exceeded")
def not_polling_is_not_noticed() -> None:
    """A member that does not poll stays in the group."""

    def make(_: Original) -> Replacement:
        def poll_interval_expired(self: Heartbeats) -> None:
            self._context.timers.disarm("poll_interval")

        return poll_interval_expired

    replace(Heartbeats, "poll_interval_expired", make)


@mutant("BUG-36", breaks="P3 C1", scenarios="poll-interval-exceeded")
def expiry_is_not_told() -> None:
    """After the poll interval has run out what was owned is dropped without the lost callback."""

    def make(original: Original) -> Replacement:
        def poll_interval_expired(self: Membership) -> None:
            keep = self._subscription.keep_only
            self._way_out.send_leave_group("consumer poll timeout has expired.")
            self.awaiting_poll = True
            self.reset_identity(keep_member_id=False)
            keep(set())
            self.lose_owned()

        return poll_interval_expired

    replace(Membership, "poll_interval_expired", make)


# Callbacks ------------------------------------------------------------------------------------------------------------


@mutant("C2-revoked-for-lost", breaks="C2 P3", scenarios="member-unknown poll-interval-exceeded")
def a_loss_is_called_revocation() -> None:
    """The callback for a lost membership is revoked."""

    def make(original: Original) -> Replacement:
        def revoke(self: Membership, kind: object, partitions: object) -> None:
            original(self, CallbackKind.REVOKED, partitions)
            if kind is CallbackKind.LOST:
                self._loss_due = True

        return revoke

    replace(Membership, "revoke", make)


@mutant("BUG-38", breaks="C7 C1", scenarios="close-while-stable")
def close_forgets_the_callback() -> None:
    """close() leaves without running the callback."""

    def make(_: Original) -> Replacement:
        def release(self: Leaving) -> None:
            self._leave()

        return release

    replace(Leaving, "_release", make)


# Cooperative ----------------------------------------------------------------------------------------------------------


@mutant("K2-no-rejoin", breaks="K2", scenarios="rebalance-cooperative")
def who_gave_up_does_not_join_again() -> None:
    """After a round that took something away there is no other."""

    def make(original: Original) -> Replacement:
        def synced(self: Membership, assigned: object) -> None:
            original(self, assigned)
            self.rejoin_needed = False

        return synced

    replace(Membership, "synced", make)


@mutant("K1-claims-nothing", breaks="K1", scenarios="rebalance-cooperative")
def a_rejoin_claims_nothing() -> None:
    """JoinGroup does not say what the member owns."""

    def make(original: Original) -> Replacement:
        def metadata(self: Joining, assignor: object) -> object:
            membership = self._membership
            owned = membership.owned
            setattr(membership, "owned", tuple)  # noqa: B010  # a method, replaced on purpose
            try:
                return original(self, assignor)
            finally:
                setattr(membership, "owned", owned)  # noqa: B010

        return metadata

    replace(Joining, "_metadata", make)


# Close ----------------------------------------------------------------------------------------------------------------


@mutant("BUG-61", breaks="L1", scenarios="close-while-stable")
def no_leave_while_a_heartbeat_is_out() -> None:
    """LeaveGroup is not sent while a heartbeat is unanswered."""

    def make(original: Original) -> Replacement:
        def send_leave_group(self: Leaving, reason: object) -> object:
            if self._joining._heartbeats.state is HeartbeatState.IN_FLIGHT:
                return None
            return original(self, reason)

        return send_leave_group

    replace(Leaving, "send_leave_group", make)


@mutant("BUG-67", breaks="L5", scenarios="close-while-stable")
def close_does_not_commit() -> None:
    """close() leaves without committing."""

    def make(_: Original) -> Replacement:
        def commit_before_close(self: Commits, deadline_ms: object) -> None:
            return None

        return commit_before_close

    replace(Commits, "commit_before_close", make)
