"""Mutants of the chapter G: the broker's side, as the reference coordinator keeps a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupspec.conformance.mutation.mutant import Method, after, before, instead, mutant
from groupspec.impl.coordinator import coordinator as coordinator_module
from groupspec.impl.coordinator.context import Caller, Handle
from groupspec.impl.coordinator.coordinator import Coordinator
from groupspec.impl.coordinator.group import Group, GroupState, Member
from groupspec.impl.coordinator.joining import Joining
from groupspec.impl.coordinator.offsets import Offsets
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.coordinator.syncing import Syncing
from groupspec.impl.core.messages import ErrorCode, JoinGroupRequest

# fmt: off
instead("G1-counts-members-only", "G1", Group.all_joined,
    lambda _, self: len(self.awaiting_join) == len(self.members),
    "The join phase does not wait for an id that was handed out.")
instead("G1-first-come", "G1", Group.all_joined, lambda _, self: True,
    "The join phase ends with the first JoinGroup.")
instead("G1-nothing-begins", "G1 G11", Rebalancing.rebalance_or_complete, lambda _, self, group: None,
    "Whoever comes, comes back or leaves begins no join phase, and ends none.")
instead("G3-no-second-delay", "G3", Rebalancing._initial_delay_elapsed,
    lambda _, self, group, delay_ms, left_ms: self.complete(group),
    "The initial delay is not prolonged for newcomers.")
instead("G3-all-there", "G3", Rebalancing.complete_if_all_joined,
    lambda _, self, group: self.complete(group) if group.all_joined else None,
    "The initial delay ends when all have joined.")
instead("G4-all-versions", "G4 G11", Joining._without_id,
    lambda _, self, group, request, caller, handle:
        self._hand_out_id(group, request, handle, self._context.new_id(caller.client_id, handle)),
    "MEMBER_ID_REQUIRED is said to clients that are too old to know it, and to static members.")
instead("G5-immortal", "G5", Rebalancing._session_expired, lambda _, self, group, member_id: None,
    "A member whose session timeout has passed is not removed.")
instead("G5-awaiting-expires", "G5", Member.is_awaiting, lambda _, self: False,
    "A member is removed although a request of it awaits its answer.")
instead("G6-shortest", "G6", Group.rebalance_timeout_ms,
    lambda _, self: min((member.rebalance_timeout_ms for member in self.members.values()), default=0),
    "The shortest rebalance timeout of the members counts.")
instead("G6-leaderless", "G6", Group._one_of, lambda _, self, members: None,
    "Nobody takes the place of a leader that has not joined again.")
instead("G7-commit-accepted", "G7", Offsets._error,
    lambda original, *arguments:
        ErrorCode.NONE if (error := original(*arguments)) is ErrorCode.REBALANCE_IN_PROGRESS else error,
    "A commit in CompletingRebalance is accepted.")
instead("G8-any-size", "G8", Group.has_room_for, lambda _, self, member_id, max_size: True,
    "A group grows beyond its largest size.")
instead("G9-sync-refused", "G9", Syncing._error,
    lambda original, group, *arguments:
        original(group, *arguments) or (ErrorCode.REBALANCE_IN_PROGRESS if group.state == "Stable" else ErrorCode.NONE),
    "SyncGroup in Stable gets REBALANCE_IN_PROGRESS.")
instead("G9-never-synced", "G9", Rebalancing._sync_expired, lambda _, self, group: None,
    "Who does not send SyncGroup in time stays a member.")
instead("G9-syncs-wait-on", "G9", Rebalancing.fail_syncs, lambda _, self, group, error: None,
    "A rebalance does not answer the SyncGroups that wait.")
instead("G9-log-refuses", "G9", Syncing._stored,
    lambda original, self, group, generation, assignments, error:
        original(self, group, generation, assignments, ErrorCode.NONE),
    "An assignment that the log has refused is handed out.")
instead("G10-always-anew", "G10", Joining._needs_no_rebalance, lambda _, group, member, request: False,
    "Every JoinGroup of a member begins the join phase.")
instead("G11-removed", "G11", Member.is_static, lambda _, self: False,
    "A static member that has not joined in time is removed.")
instead("G12-any-session", "G12", Joining.settings_error, lambda _, self, request: ErrorCode.NONE,
    "A session timeout outside the range is accepted.")
instead("G12-any-protocol", "G12", Group.supports, lambda _, self, protocol_type, protocols: True,
    "A protocol that no other member has is accepted.")
instead("G12-first-come", "G12", Group.elected_protocol,
    lambda _, self: next(iter(self.members.values())).protocols[0][0],
    "The first member's favourite is elected.")
instead("G13-loads-unseen", "G13", Coordinator._partition_error,
    lambda _, partition: ErrorCode.NOT_COORDINATOR if partition is None else ErrorCode.NONE,
    "A coordinator answers for groups that it is still loading.")
instead("G13-not-its-own", "G13", Coordinator._partition_error,
    lambda _, partition:
        ErrorCode.UNKNOWN_MEMBER_ID if partition is None
        else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if partition.is_loading else ErrorCode.NONE,
    "A broker says UNKNOWN_MEMBER_ID for groups that are another's.")
# fmt: on


@after("G2-kept", "G2", Rebalancing._begin_sync_phase)
def a_round_keeps_the_generation(self: Rebalancing, group: Group) -> None:
    """A join phase completes, and the next one has the same generation."""
    group.generation -= 1


@mutant("G2-empty", "G2", Rebalancing.complete)
def an_empty_group_keeps_its_generation(original: Method, self: Rebalancing, group: Group) -> None:
    """When the last member goes the generation stays."""
    before = group.generation
    original(self, group)
    group.generation = group.generation if group.members else before


@mutant("G4-no-id-asked", "G4", Joining._hand_out_id)
def a_newcomer_joins_without_an_id(
    _: Method, self: Joining, group: Group, request: JoinGroupRequest, handle: Handle, new_id: str
) -> None:
    """A dynamic member that comes without an id is admitted at once, in every version."""
    self._admit(group, request, Caller(0, "client"), handle, new_id)


@mutant("G7-heartbeat-silent", "G7", (coordinator_module, "heartbeat"))
def a_heartbeat_is_not_told_of_the_rebalance(original: Callable[..., ErrorCode], *arguments: object) -> ErrorCode:
    """A heartbeat in PreparingRebalance is answered NONE."""
    error = original(*arguments)
    return ErrorCode.NONE if error is ErrorCode.REBALANCE_IN_PROGRESS else error


@mutant("G8-state-first", "G8", (coordinator_module, "heartbeat"))
def the_state_is_checked_first(original: Callable[..., ErrorCode], group: Group, *others: object) -> ErrorCode:
    """In PreparingRebalance the answer is REBALANCE_IN_PROGRESS, whoever asks with whatever generation."""
    error = original(group, *others)
    return ErrorCode.REBALANCE_IN_PROGRESS if error and group.state is GroupState.PREPARING_REBALANCE else error


@mutant("G8-generation-first", "G8", (coordinator_module, "heartbeat"))
def the_generation_is_checked_before_the_member(
    original: Callable[..., ErrorCode], group: Group, request: object, rebalancing: object
) -> ErrorCode:
    """An unknown member with another generation gets ILLEGAL_GENERATION."""
    if getattr(request, "generation", -1) != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return original(group, request, rebalancing)


@mutant("G10-leader-ignored", "G10", Joining._needs_no_rebalance)
def a_rejoin_of_the_leader_is_answered_at_once(
    original: Callable[..., bool], group: Group, member: Member, request: JoinGroupRequest
) -> bool:
    """In Stable no rejoin starts a rebalance."""
    return group.state is GroupState.STABLE or original(group, member, request)


@before("G11-rebalance", "G11", Joining._static_member_returns)
def a_static_member_that_returns_starts_a_rebalance(self: Joining, group: Group, *_: object) -> None:
    """A static member that comes back with a new id starts a round."""
    self._rebalancing.prepare(group)


@mutant("G11-not-fenced", "G11", Group.identity_error)
def the_old_id_is_only_unknown(
    original: Callable[..., ErrorCode], self: Group, member_id: str, instance: str | None
) -> ErrorCode:
    """The old id of a static member gets UNKNOWN_MEMBER_ID instead of FENCED_INSTANCE_ID."""
    error = original(self, member_id, instance)
    return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.FENCED_INSTANCE_ID else error


@after("G13-restored-preparing", "G13", Coordinator._replay)
def a_group_that_has_moved_waits_for_everybody(self: Coordinator, partition: Any, record: object) -> None:
    """A group that has moved is in PreparingRebalance at its new coordinator."""
    for group in partition.groups.values():
        group.state = GroupState.PREPARING_REBALANCE


@mutant("G13-unknown-group-answers", "G13", (coordinator_module, "_error_without_group"))
def whoever_asks_makes_the_group(original: Callable[..., ErrorCode], *arguments: object) -> ErrorCode:
    """A request for a group that does not exist makes it."""
    return ErrorCode.NONE
