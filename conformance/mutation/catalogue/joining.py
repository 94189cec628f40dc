"""Mutants of the chapters J, S, K and X: rounds, assignments, ownership.

`scenarios` are those of the wire kit that must find one of the rules broken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import cast

from msgspec.structs import force_setattr

from groupspec.conformance.mutation.mutant import (
    Method,
    Seam,
    after,
    answer,
    answered_like,
    before,
    instead,
    mutant,
    nothing,
)
from groupspec.impl.core import protocol
from groupspec.impl.core.assignors import Subscriber, sticky
from groupspec.impl.core.assignors.equal import Shares
from groupspec.impl.core.config import INT32_MAX, JOIN_GROUP_EXTRA_MS, Config, RebalanceProtocol
from groupspec.impl.core.context import Context, Identity
from groupspec.impl.core.core import Core
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    TopicPartition,
)
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.protocol import Subscription, encode_subscription
from groupspec.impl.core.rebalance import IN_A_ROUND, RebalanceState
from groupspec.impl.core.subscription import SubscriptionState

# fmt: off
instead("BUG-16", "J1", Joining._fits, lambda _, self, assigned: True,
    "Partitions of topics that are no longer subscribed to are taken over all the same.",
    scenarios="subscription-changes")
instead("Q4-keeps-unwanted", "Q4", Membership._unwanted, lambda _, self: (),
    "A cooperative member joins with partitions of topics that it does not subscribe to any more.")
answered_like("J4-illegal-generation-clears-all", "J4", "Heartbeat SyncGroup OffsetCommit",
    "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION is taken for UNKNOWN_MEMBER_ID.")
answered_like("J4-unknown-keeps-id", "J4", "Heartbeat SyncGroup OffsetCommit",
    "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID is taken for ILLEGAL_GENERATION: the member joins with the unknown id.")
instead("J7-joins-before-callback", "J7 C3 Q4", Membership._is_prepared,
    lambda original, self: bool(original(self)) or (self.state is RebalanceState.REVOKING_PARTITION and self.preparing),
    "An eager member sends JoinGroup while its revocation callback is still due.")
instead("J8-no-comparison", "J8", Leading.is_outdated, lambda _, self: False,
    "The leader does not notice that the partitions of its topics have changed.",
    scenarios="topic-grows topic-grows-cooperative")
instead("K2-keeps-what-moves", "K2", sticky.withhold, lambda _, shares, owners: shares,
    "The cooperative assignor gives a partition away that its owner has not let go of.")
# fmt: on


# Rounds --------------------------------------------------------------------------------------------------------------


@after("BUG-17", "J1", Membership.require_rejoin, scenarios="subscription-changes")
def a_changed_subscription_joins_beside_the_join(self: Membership, reason: str) -> None:
    """A subscription that changes while JoinGroup or SyncGroup is out sends a second JoinGroup at once."""
    if self.state in IN_A_ROUND:
        self._joining.send_join()


@mutant("BUG-15", "J1", scenarios="subscription-grows")
def a_change_during_the_round_is_forgotten(seam: Seam) -> None:
    """When the round ends its subscription is not compared with the present one."""
    seam.replace(Joining._has_changed_meanwhile, lambda *_: False)

    @seam.replacing(Membership.synced)
    def synced(original: Method, self: Membership, assigned: object) -> None:
        self.rejoin_again = False
        original(self, assigned)


@after("BUG-09", "J2", Joining.join_accepted)
def the_rejoin_is_forgotten_at_the_join(self: Joining, response: object) -> None:
    """rejoin-needed is cleared when JoinGroup is answered, not when SyncGroup has succeeded."""
    self._membership.rejoin_needed = False


@mutant("BUG-10", "J2", Membership._may_join, scenarios="topic-is-not-there")
def a_rejoin_is_needed_only_if_something_differs(original: Method, self: Membership) -> bool:
    """A member does not join again if its subscription is the one that it has joined with."""
    joined_with = self._joining._joined_topics
    differs = self._subscription.topics() != joined_with or not self._context.identity.member_id
    return bool(original(self)) and differs


@mutant("BUG-24", "J2 J4", Joining.join_again, scenarios="join-refused-in-passing")
def a_rebalance_during_the_join_is_fatal(_: Method, self: Joining) -> None:
    """REBALANCE_IN_PROGRESS in answer to JoinGroup is an error for the application, and the identity goes."""
    self._in_flight = None
    self._membership.awaiting_poll = True
    self._membership.lose_identity(keep_member_id=False)


@before("BUG-11", "J4", Joining.join_coordinator_gone, scenarios="coordinator-moves-twice")
def a_moved_coordinator_costs_the_identity(self: Joining, code: object) -> None:
    """JoinGroup after NOT_COORDINATOR, or a broken connection, has no member id."""
    self._context.identity = Identity()


@mutant("BUG-18", "J5", Config.join_group_timeout_ms, scenarios="join-takes-long join-takes-long-cooperative")
def the_smaller_timeout_counts_for_the_join(_: Method, self: Config) -> object:
    """JoinGroup's time limit is the smaller of the rebalance timeout and the ordinary one."""
    return min(self.request_timeout_ms, self.max_poll_interval_ms)


@mutant("J5-overflow", "J5", Config.join_group_timeout_ms)
def the_join_timeout_overflows(_: Method, self: Config) -> int:
    """The rebalance timeout and what is added to it are summed in 32 bits."""
    total = (self.max_poll_interval_ms + JOIN_GROUP_EXTRA_MS) & 0xFFFFFFFF
    return max(self.request_timeout_ms, total if total <= INT32_MAX else total - 2**32)


@mutant("BUG-21", "J6", scenarios="join-refused-in-passing")
def the_subscription_is_written_in_any_order(seam: Seam) -> None:
    """Two JoinGroups of the same member write what it owns in different orders."""
    turn = itertools.count()

    @seam.replacing((protocol, "_topic_partitions"))
    def in_any_order(original: Method, partitions: Iterable[TopicPartition]) -> bytes:
        if next(turn) % 2:
            return cast("bytes", original(partitions))
        by_topic = groupby(sorted(partitions, reverse=True), key=lambda p: p.topic)
        return protocol._array(
            protocol._string(topic) + protocol._array(protocol._int32(p.partition) for p in group)
            for topic, group in by_topic
        )


@after("J6-order", "J6", Joining.send_join)
def assignors_are_listed_in_alphabetical_order(self: Joining) -> None:
    """The protocols of JoinGroup are not in the configured order."""
    outputs = self._context.outputs
    sent = outputs[-1]
    request = getattr(sent, "request", None)
    if isinstance(request, JoinGroupRequest):
        force_setattr(request, "protocols", tuple(sorted(request.protocols)))


@before("J8-only-later", "J8", Joining.sync_accepted)
def what_changes_during_the_round_is_missed(self: Joining, response: object) -> None:
    """The leader takes the metadata that it has when the round ends for what it divided."""
    leading = self._leading
    if leading._snapshot is not None:
        leading._snapshot = leading._counts()
        self._membership.rejoin_again = False


@mutant("J8-listed-once", "J8", SubscriptionState.list_topics, scenarios="topic-matches")
def a_topic_that_comes_later_is_not_found(original: Method, self: SubscriptionState, names: object) -> None:
    """Which topics match a pattern is found out once, when the application subscribes."""
    if not self._shared.listed:
        original(self, names)


# Synchronising -------------------------------------------------------------------------------------------------------


@after("S1-stable-after-join", "S1", Joining.join_accepted)
def the_member_is_stable_when_it_has_joined(self: Joining, response: JoinGroupResponse) -> None:
    """A member whose JoinGroup was answered counts as stable."""
    self._membership.enter(RebalanceState.STABLE)


@mutant("S1-keeps-reading", "S1 Q5 O3", scenarios="rebalance-eager commits-in-a-long-round")
def an_eager_member_reads_on(seam: Seam) -> None:
    """What an eager member gives up is fetched and returned until the new assignment is there."""
    seam.replace(SubscriptionState.pause_for_revocation, nothing)

    @seam.replacing(SubscriptionState.keep_only)
    def keep_only(original: Method, self: SubscriptionState, partitions: object) -> None:
        if partitions:
            original(self, partitions)


@after("S2-empty-leaves", "S2", Membership.synced)
def who_gets_nothing_leaves(self: Membership, assigned: tuple[TopicPartition, ...]) -> None:
    """A member with an empty assignment stops its heartbeats."""
    if not assigned:
        self._heartbeats.disable()


# Ownership -----------------------------------------------------------------------------------------------------------


@mutant("BUG-78", "K1 C2", Membership.lose_identity)
def a_lost_identity_is_no_loss(_: Method, self: Membership, keep_member_id: bool) -> None:
    """When the identity is gone what is owned stays, and is claimed in the next JoinGroup."""
    generation = self.owned_generation
    self.reset_identity(keep_member_id)
    self.owned_generation = generation
    self.enter(RebalanceState.UNJOINED)


@mutant("BUG-79", "K3", (sticky, "valid_owners"), scenarios="leader-with-claims")
def the_last_claim_counts(_: Method, members: Sequence[Subscriber]) -> dict[TopicPartition, str]:
    """Of several claims the assignor takes the last, whatever its generation."""
    return {partition: member.member_id for member in members for partition in member.owned}


@mutant("K3-ties-count", "K3", (sticky, "valid_owners"))
def a_tie_goes_to_the_first(_: Method, members: Sequence[Subscriber]) -> dict[TopicPartition, str]:
    """Of two claims of the same generation the first one counts."""
    owners: dict[TopicPartition, Subscriber] = {}
    for member in members:
        for partition in member.owned:
            if partition not in owners or member.generation > owners[partition].generation:
                owners[partition] = member
    return {partition: member.member_id for partition, member in owners.items()}


@mutant("K3-tie-given-out", "K3", (sticky, "withhold"))
def what_two_claim_is_given_out_at_once(method: Method, shares: Shares, owners: Mapping[TopicPartition, str]) -> Shares:
    """What two members claim in the same generation goes to one of them while the other believes that it has it."""
    given: Shares = method(shares, {partition: owner for partition, owner in owners.items() if owner != sticky.NOBODY})
    return given


@mutant("K3-unknown-taken-away", "K3", (sticky, "_kept"))
def what_the_leader_does_not_know_of_is_taken_away(
    method: Callable[..., Shares], topics: object, owners: Mapping[TopicPartition, str], counts: Mapping[str, int]
) -> Shares:
    """Who claims a partition that the leader's metadata do not have yet loses it."""
    known = {
        partition: owner for partition, owner in owners.items() if partition.partition < counts.get(partition.topic, 0)
    }
    return method(topics, known, counts)


@before("K2-forgets-what-it-gave-up", "K2", Membership.reset_identity)
def what_was_given_up_is_forgotten(self: Membership, keep_member_id: bool) -> None:
    """A static member that is put out over a revocation comes back and lets what it gave up lie."""
    self._revoked_in = -1


@before("K2-endless", "K2", Membership.synced)
def every_round_asks_for_another(self: Membership, assigned: object) -> None:
    """A cooperative member rejoins after every round, whether or not it gave anything up."""
    self.rejoin_again = True


@mutant("BUG-82", "K4", Config.cooperative)
def the_first_assignor_decides(_: Method, self: Config) -> bool:
    """The first configured assignor decides between eager and cooperative, instead of the negotiated one."""
    return self.partition_assignment_strategy[0].startswith("cooperative")


@mutant("K4-eager-keeps-claim", "K4", Joining._metadata)
def an_eager_member_remembers_what_it_gave_up(original: Method, self: Joining, assignor: str) -> bytes:
    """After an eager revocation JoinGroup still claims what was owned before."""
    membership = self._membership
    if membership.owned() or self._context.config.rebalance_protocol is RebalanceProtocol.COOPERATIVE:
        return bytes(original(self, assignor))
    return encode_subscription(
        Subscription(self._joined_topics, None, self._last_assignment, membership.owned_generation)
    )


# Order ---------------------------------------------------------------------------------------------------------------


@after("Q4-callback-before-commit", "Q4 M3", Membership._begin_rebalance)
def the_callback_does_not_wait_for_the_commit(self: Membership) -> None:
    """An eager member's callback is called while the commit before the rebalance is under way."""
    self.commit_settled()


@before("Q4-cooperative-pauses", "Q4", Membership._begin_rebalance)
def a_cooperative_member_stands_still(self: Membership) -> None:
    """A cooperative member pauses everything when a rebalance is announced."""
    self._subscription.pause_for_revocation(self.owned())


@mutant("Q4-no-commit", "Q4", Membership._begin_rebalance)
def no_commit_before_the_rebalance(_: Method, self: Membership) -> None:
    """The rebalance begins without the automatic commit."""
    self.preparing = True
    if not self._context.config.cooperative:
        self.enter(RebalanceState.PREPARE_REVOCATION)
        self._subscription.pause_for_revocation(self.owned())
    self.commit_settled()


@after("X2-fenced-goes-on", "X2", Membership.fenced, scenarios="static-fenced static-fenced-cooperative")
def a_fenced_member_joins_again_by_itself(self: Membership, error: Exception) -> None:
    """FENCED_INSTANCE_ID is raised once, and after the next poll the member joins again as a new member."""
    self._fencing, self.rejoin_needed = None, True


class _Fenced(Exception):
    """Stands for the error that the application is told."""


@mutant("X2-fenced-in-silence", "X2", Context.report, scenarios="static-fenced static-restart")
def a_fenced_member_is_not_told(original: Method, self: Context, error: Exception) -> None:
    """FENCED_INSTANCE_ID ends the membership, and is not raised to the application."""
    if "Fenced" not in type(error).__name__:
        original(self, error)


@mutant("BUG-77", "X2")
def only_commits_tell_of_the_fencing(seam: Seam) -> None:
    """FENCED_INSTANCE_ID in answer to a heartbeat ends the membership, and is not raised to the application."""

    @seam.replacing(Heartbeats.fenced)
    def fenced(_: Method, self: Heartbeats, code: object) -> None:
        self._ended()
        self._membership.fenced(_Fenced())  # type: ignore[arg-type]

    @seam.replacing(Context.report)
    def report(original: Method, self: Context, error: Exception) -> None:
        if not isinstance(error, _Fenced):
            original(self, error)


@mutant("X1-heartbeat-anonymous", "X1", Core.handle, scenarios="static-member")
def heartbeats_lack_the_instance_id(original: Method, self: Core, event: object, now_ms: int) -> list[object]:
    """A static member's heartbeats, joins and syncs do not carry its instance id."""
    outputs: list[object] = original(self, event, now_ms)
    for output in outputs:
        request = getattr(output, "request", None)
        if isinstance(request, HeartbeatRequest | SyncGroupRequest | JoinGroupRequest):
            force_setattr(request, "group_instance_id", None)
    return outputs


@mutant("BUG-19", "S2", Leading._divide, scenarios="first-join leader-of-other-topics")
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


@after("J7-joins-without-a-poll", "J7", Parts.progress)
def whoever_drives_the_core_joins(self: Parts) -> None:
    """The heartbeat thread, and any call of the application, sends the JoinGroup that waits for a poll."""
    self.membership.progress()


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


@after("K2-no-rejoin", "K2", Membership.synced, scenarios="rebalance-cooperative")
def who_gave_up_does_not_join_again(self: Membership, assigned: object) -> None:
    """After a round that took something away there is no other."""
    self.rejoin_needed = False


@mutant("K1-claims-nothing", "K1", Joining._metadata, scenarios="rebalance-cooperative two-members-cooperative")
def a_rejoin_claims_nothing(original: Method, self: Joining, assignor: object) -> object:
    """JoinGroup does not say what the member owns."""
    with Seam() as seam:
        seam.replace(Membership.owned, lambda *_: ())
        return original(self, assignor)
