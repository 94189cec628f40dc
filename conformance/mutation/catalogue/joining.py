"""Breakers of the chapters J, S and K: rounds, assignments, ownership."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from groupspec.conformance.mutation.mutant import Method, around, breaker, function, instead, nothing, on_answer
from groupspec.impl.core.assignors import Member, sticky
from groupspec.impl.core.config import INT32_MAX, JOIN_GROUP_EXTRA_MS, Config, RebalanceProtocol
from groupspec.impl.core.context import Context, Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse, TopicPartition
from groupspec.impl.core.protocol import Subscription, encode_subscription
from groupspec.impl.core.rebalance import IN_A_ROUND, RebalanceState
from groupspec.impl.core.subscription import SubscriptionState

# Rounds
# ------------------------------------------------------------------------------------------------------------------


@breaker("BUG-17", "J1")
def a_changed_subscription_joins_beside_the_join() -> None:
    """A subscription that changes while JoinGroup or SyncGroup is out sends a second JoinGroup at once."""

    def make(original: Method) -> Method:
        def require_rejoin(self: Membership, reason: str) -> None:
            original(self, reason)
            if self.state in IN_A_ROUND:
                self._joining.send_join()

        return require_rejoin

    around(Membership, "require_rejoin", make)


@breaker("BUG-15", "J1")
def a_change_during_the_round_is_forgotten() -> None:
    """When the round ends nobody compares its subscription with the present one."""
    instead(Joining, "_has_changed_meanwhile", lambda self: False)
    _rejoin_never_again()


def _rejoin_never_again() -> None:
    def make(original: Method) -> Method:
        def synced(self: Membership, assigned: object) -> None:
            self.rejoin_again = False
            original(self, assigned)

        return synced

    around(Membership, "synced", make)


@breaker("BUG-16", "J1")
def an_assignment_that_does_not_fit_is_applied() -> None:
    """Partitions of topics that are no longer subscribed to are taken over all the same."""
    instead(Joining, "_fits", lambda self, assigned: True)


@breaker("Q4-keeps-unwanted", "Q4")
def what_is_no_longer_wanted_is_kept() -> None:
    """A cooperative member joins with partitions of topics that it does not subscribe to any more."""
    instead(Membership, "_unwanted", lambda self: ())


@breaker("BUG-09", "J2")
def the_rejoin_is_forgotten_at_the_join() -> None:
    """rejoin-needed is cleared when JoinGroup is answered, not when SyncGroup has succeeded."""

    def make(original: Method) -> Method:
        def join_accepted(self: Joining, response: object) -> None:
            original(self, response)
            self._membership.rejoin_needed = False

        return join_accepted

    around(Joining, "join_accepted", make)


@breaker("BUG-10", "J2")
def a_rejoin_is_needed_only_if_something_differs() -> None:
    """Whether to join again is derived from the subscription.

    If it is the one that was joined with, nothing is to be done.
    """

    def make(original: Method) -> Method:
        def may_join(self: Membership) -> bool:
            joined_with = self._joining._joined_topics
            differs = self._subscription.topics() != joined_with or not self._context.identity.member_id
            return bool(original(self)) and differs

        return may_join

    around(Membership, "_may_join", make)


@breaker("BUG-24", "J2 J4")
def a_rebalance_during_the_join_is_fatal() -> None:
    """REBALANCE_IN_PROGRESS in answer to JoinGroup is an error for the application, and the identity goes."""

    def make(_: Method) -> Method:
        def join_again(self: Joining) -> None:
            self._in_flight = None
            self._membership.awaiting_poll = True
            self._lose_identity(keep_member_id=False)

        return join_again

    around(Joining, "join_again", make)


@breaker("BUG-11", "J4")
def a_moved_coordinator_costs_the_identity() -> None:
    """JoinGroup after NOT_COORDINATOR, or a broken connection, has no member id."""

    def make(original: Method) -> Method:
        def join_coordinator_gone(self: Joining, code: object) -> None:
            self._context.identity = Identity()
            original(self, code)

        return join_coordinator_gone

    around(Joining, "join_coordinator_gone", make)


@breaker("J4-illegal-generation-clears-all", "J4")
def an_illegal_generation_costs_the_member_id() -> None:
    """ILLEGAL_GENERATION is taken for UNKNOWN_MEMBER_ID."""
    for api in ("Heartbeat", "SyncGroup", "OffsetCommit"):
        on_answer(api, "ILLEGAL_GENERATION", as_error="UNKNOWN_MEMBER_ID")


@breaker("J4-unknown-keeps-id", "J4")
def an_unknown_member_keeps_its_id() -> None:
    """UNKNOWN_MEMBER_ID is taken for ILLEGAL_GENERATION: the member joins with the id that nobody knows."""
    for api in ("Heartbeat", "SyncGroup", "OffsetCommit"):
        on_answer(api, "UNKNOWN_MEMBER_ID", as_error="ILLEGAL_GENERATION")


@breaker("BUG-18", "J5")
def the_smaller_timeout_counts_for_the_join() -> None:
    """JoinGroup's time limit is the smaller of the rebalance timeout and the ordinary one."""
    instead(Config, "join_group_timeout_ms", lambda self: min(self.request_timeout_ms, self.max_poll_interval_ms))


@breaker("J5-overflow", "J5")
def the_join_timeout_overflows() -> None:
    """The rebalance timeout and what is added to it are summed in 32 bits."""

    def join_group_timeout_ms(self: Config) -> int:
        total = (self.max_poll_interval_ms + JOIN_GROUP_EXTRA_MS) & 0xFFFFFFFF
        return max(self.request_timeout_ms, total if total <= INT32_MAX else total - 2**32)

    instead(Config, "join_group_timeout_ms", join_group_timeout_ms)


@breaker("BUG-21", "J6")
def the_subscription_is_written_in_any_order() -> None:
    """Two JoinGroups of the same member write what it owns in different orders."""
    turn = itertools.count()

    def metadata(self: Joining, assignor: str) -> bytes:
        membership = self._membership
        owned = membership.owned()
        return encode_subscription(
            Subscription(self._joined_topics, bytes([next(turn) % 2]), owned, membership.owned_generation)
        )

    instead(Joining, "_metadata", metadata)


@breaker("J6-order", "J6")
def assignors_are_listed_in_alphabetical_order() -> None:
    """The protocols of JoinGroup are not in the configured order."""

    def make(original: Method) -> Method:
        def send_join(self: Joining) -> None:
            original(self)
            outputs = self._context._outputs
            sent = outputs[-1]
            request = getattr(sent, "request", None)
            if isinstance(request, JoinGroupRequest):
                object.__setattr__(request, "protocols", tuple(sorted(request.protocols)))

        return send_join

    around(Joining, "send_join", make)


@breaker("J7-joins-before-callback", "J7 C3 Q4")
def the_join_does_not_wait_for_the_callback() -> None:
    """An eager member sends JoinGroup while its revocation callback is still due."""

    def make(original: Method) -> Method:
        def is_prepared(self: Membership) -> bool:
            return bool(original(self)) or (self.state is RebalanceState.REVOKING_PARTITION and self.preparing)

        return is_prepared

    around(Membership, "_is_prepared", make)


@breaker("J8-no-comparison", "J8")
def the_leader_never_compares() -> None:
    """The leader does not notice that the partitions of its topics have changed."""
    instead(Leading, "is_outdated", lambda self: False)


@breaker("J8-only-later", "J8")
def what_changes_during_the_round_is_missed() -> None:
    """The leader takes the metadata that it has when the round ends for what it divided."""

    def make(original: Method) -> Method:
        def sync_accepted(self: Joining, response: object) -> None:
            leading = self._leading
            if leading._snapshot is not None:
                leading._snapshot = leading._counts()
                self._membership.rejoin_again = False
            original(self, response)

        return sync_accepted

    around(Joining, "sync_accepted", make)


# Synchronising
# -----------------------------------------------------------------------------------------------------------


@breaker("S1-stable-after-join", "S1")
def the_member_is_stable_when_it_has_joined() -> None:
    """A member whose JoinGroup was answered counts as stable."""

    def make(original: Method) -> Method:
        def join_accepted(self: Joining, response: JoinGroupResponse) -> None:
            original(self, response)
            self._membership.enter(RebalanceState.STABLE)

        return join_accepted

    around(Joining, "join_accepted", make)


@breaker("S1-keeps-reading", "S1 Q5 O3")
def an_eager_member_reads_on() -> None:
    """What an eager member gives up is fetched and returned until the new assignment is there."""
    instead(SubscriptionState, "pause_for_revocation", nothing)

    def make(original: Method) -> Method:
        def keep_only(self: SubscriptionState, partitions: object) -> None:
            if partitions:
                original(self, partitions)

        return keep_only

    around(SubscriptionState, "keep_only", make)


@breaker("S2-empty-leaves", "S2")
def who_gets_nothing_leaves() -> None:
    """A member with an empty assignment stops its heartbeats."""

    def make(original: Method) -> Method:
        def synced(self: Membership, assigned: tuple[TopicPartition, ...]) -> None:
            original(self, assigned)
            if not assigned:
                self._heartbeats.disable()

        return synced

    around(Membership, "synced", make)


# Ownership
# ---------------------------------------------------------------------------------------------------------------


@breaker("BUG-78", "K1 C2")
def a_lost_identity_is_no_loss() -> None:
    """When the identity is gone what is owned stays, and is claimed in the next JoinGroup."""

    def make(_: Method) -> Method:
        def lose_identity(self: Membership, keep_member_id: bool) -> None:
            generation = self.owned_generation
            self.reset_identity(keep_member_id)
            self.owned_generation = generation
            self.enter(RebalanceState.UNJOINED)

        return lose_identity

    around(Membership, "lose_identity", make)


@breaker("BUG-79", "K3")
def the_last_claim_counts() -> None:
    """Of several claims the assignor takes the last, whatever its generation."""

    def valid_owners(members: Sequence[Member]) -> dict[TopicPartition, str]:
        return {partition: member.member_id for member in members for partition in member.owned}

    function(sticky, "valid_owners", lambda _: valid_owners)


@breaker("K3-ties-count", "K3")
def a_tie_goes_to_the_first() -> None:
    """Of two claims of the same generation the first one counts."""

    def valid_owners(members: Sequence[Member]) -> dict[TopicPartition, str]:
        owners: dict[TopicPartition, Member] = {}
        for member in members:
            for partition in member.owned:
                if partition not in owners or member.generation > owners[partition].generation:
                    owners[partition] = member
        return {partition: member.member_id for partition, member in owners.items()}

    function(sticky, "valid_owners", lambda _: valid_owners)


@breaker("K2-endless", "K2")
def every_round_asks_for_another() -> None:
    """A cooperative member rejoins after every round, whether or not it gave anything up."""

    def make(original: Method) -> Method:
        def synced(self: Membership, assigned: object) -> None:
            self.rejoin_again = True
            original(self, assigned)

        return synced

    around(Membership, "synced", make)


@breaker("K2-keeps-what-moves", "K2")
def partitions_change_hands_in_one_round() -> None:
    """The cooperative assignor gives a partition away that its owner has not let go of."""
    instead(sticky.CooperativeStickyAssignor, "withhold", lambda self, shares, owners: shares)


@breaker("BUG-82", "K4")
def the_first_assignor_decides() -> None:
    """Eager or cooperative.

    The first configured assignor says so for the callbacks, the negotiated one for the rest.
    """

    def cooperative(self: Config) -> bool:
        return self.partition_assignment_strategy[0].startswith("cooperative")

    instead(Config, "cooperative", cooperative)


@breaker("K4-eager-keeps-claim", "K4")
def an_eager_member_remembers_what_it_gave_up() -> None:
    """After an eager revocation JoinGroup still claims what was owned before."""

    def make(original: Method) -> Method:
        def metadata(self: Joining, assignor: str) -> bytes:
            membership = self._membership
            if membership.owned() or self._context.config.rebalance_protocol is RebalanceProtocol.COOPERATIVE:
                return bytes(original(self, assignor))
            return encode_subscription(
                Subscription(self._joined_topics, None, self._last_assignment, membership.owned_generation)
            )

        return metadata

    around(Joining, "_metadata", make)


# Order
# -------------------------------------------------------------------------------------------------------------------


@breaker("Q4-callback-before-commit", "Q4 M3")
def the_callback_does_not_wait_for_the_commit() -> None:
    """An eager member's callback is called while the commit before the rebalance is under way."""

    def make(original: Method) -> Method:
        def begin_rebalance(self: Membership) -> None:
            original(self)
            self.commit_settled()

        return begin_rebalance

    around(Membership, "_begin_rebalance", make)


@breaker("Q4-cooperative-pauses", "Q4")
def a_cooperative_member_stands_still() -> None:
    """A cooperative member pauses everything when a rebalance is announced."""

    def make(original: Method) -> Method:
        def begin_rebalance(self: Membership) -> None:
            self._subscription.pause_for_revocation(self.owned())
            original(self)

        return begin_rebalance

    around(Membership, "_begin_rebalance", make)


@breaker("Q4-no-commit", "Q4")
def no_commit_before_the_rebalance() -> None:
    """The rebalance begins without the automatic commit."""

    def begin_rebalance(self: Membership) -> None:
        self.preparing = True
        if not self._context.config.cooperative:
            self.enter(RebalanceState.PREPARE_REVOCATION)
            self._subscription.pause_for_revocation(self.owned())
        self.commit_settled()

    instead(Membership, "_begin_rebalance", begin_rebalance)


@breaker("X2-fenced-goes-on", "X2")
def a_fenced_member_joins_again_by_itself() -> None:
    """FENCED_INSTANCE_ID is told once, and after the next poll the member joins again as somebody new."""

    def make(original: Method) -> Method:
        def fenced(self: Membership, error: Exception) -> None:
            original(self, error)
            self._fencing, self.rejoin_needed = None, True

        return fenced

    around(Membership, "fenced", make)


class _Fenced(Exception):
    """Stands for the error that the application is told."""


@breaker("X2-fenced-in-silence", "X2")
def a_fenced_member_is_not_told() -> None:
    """FENCED_INSTANCE_ID ends the membership, and the application never hears of it."""

    def make(original: Method) -> Method:
        def report(self: Context, error: Exception) -> None:
            if "Fenced" not in type(error).__name__:
                original(self, error)

        return report

    around(Context, "report", make)


@breaker("BUG-77", "X2")
def only_commits_tell_of_the_fencing() -> None:
    """FENCED_INSTANCE_ID in answer to a heartbeat silences the member, and nobody is told."""
    instead(Heartbeats, "fenced", lambda self, code: (self._ended(), self._membership.fenced(_Fenced())))


@breaker("X1-heartbeat-anonymous", "X1")
def heartbeats_lack_the_instance_id() -> None:
    """A static member's heartbeats, joins and syncs do not carry its instance id."""

    def make(original: Method) -> Method:
        def handle(self: Core, event: object, now_ms: int) -> list[object]:
            outputs: list[object] = original(self, event, now_ms)
            for output in outputs:
                request = getattr(output, "request", None)
                if type(request).__name__ in ("HeartbeatRequest", "SyncGroupRequest", "JoinGroupRequest"):
                    object.__setattr__(request, "group_instance_id", None)
            return outputs

        return handle

    around(Core, "handle", make)
