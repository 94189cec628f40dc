"""Mutants of the chapter G: the broker's side, as the broker of the wire kit keeps a group."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, instead, mutant
from groupspec.impl.broker.group import PREPARING_REBALANCE, STABLE, Group, GroupMember, _refused
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)

# fmt: off
instead("G4-all-versions", "G4", Group._join_without_id,
    lambda _, self, request, version, client_id, now_ms:
        _refused(request, ErrorCode.MEMBER_ID_REQUIRED, self.hand_out_id(client_id)),
    "MEMBER_ID_REQUIRED is said to clients that are too old to know it, and to static members.")
instead("G5-immortal", "G5", Group.expire, lambda _, self, now_ms: None,
    "A member whose session timeout has passed is not removed.")
instead("G7-heartbeat-silent", "G7", Group.heartbeat,
    lambda _, self, request, now_ms:
        HeartbeatResponse(self._member_error(request.member_id, request.group_instance_id, request.generation)),
    "A heartbeat in PreparingRebalance is answered NONE.")
# fmt: on


@mutant("G2-kept", "G2", Group._complete_join)
def a_round_keeps_the_generation(original: Method, self: Group, version: int) -> JoinGroupResponse:
    """A join phase completes without a new generation."""
    self.generation -= 1 if self.generation > 0 else 0
    answer: JoinGroupResponse = original(self, version)
    return answer


@mutant("G2-empty", "G2", Group._remove_member)
def an_empty_group_keeps_its_generation(original: Method, self: Group) -> None:
    """When the last member goes the generation stays."""
    before = self.generation
    original(self)
    self.generation = before


@mutant("G4-no-id-asked", "G4", Group._join_without_id)
def a_newcomer_joins_without_an_id(
    _: Method, self: Group, request: JoinGroupRequest, version: int, client_id: str, now_ms: int
) -> JoinGroupResponse:
    """A dynamic member that comes without an id is admitted at once, in every version."""
    self._admit(self._new_id(client_id), request, now_ms)
    return self._complete_join(version)


@mutant("G5-parked-expires", "G5", Group.expire)
def a_parked_request_is_no_sign_of_life(_: Method, self: Group, now_ms: int) -> None:
    """A member is removed although a request of it waits for its answer."""
    member = self.member
    if member is not None and now_ms - member.last_seen_ms >= member.session_timeout_ms:
        self.drop_member("no sign of life")


@mutant("G7-commit-accepted", "G7", Group._commit_error)
def a_commit_between_join_and_sync_is_accepted(
    original: Method, self: Group, request: OffsetCommitRequest
) -> ErrorCode:
    """A commit in CompletingRebalance is accepted."""
    error: ErrorCode = original(self, request)
    return ErrorCode.NONE if error is ErrorCode.REBALANCE_IN_PROGRESS else error


@mutant("G8-state-first", "G8", Group._member_error)
def the_state_is_checked_first(
    original: Method, self: Group, member_id: str, instance: str | None, generation: int
) -> ErrorCode:
    """In PreparingRebalance the answer is REBALANCE_IN_PROGRESS, whoever asks with whatever generation."""
    error: ErrorCode = original(self, member_id, instance, generation)
    return ErrorCode.REBALANCE_IN_PROGRESS if error and self.state == PREPARING_REBALANCE else error


@mutant("G8-generation-first", "G8", Group._member_error)
def the_generation_is_checked_before_the_member(
    _: Method, self: Group, member_id: str, instance: str | None, generation: int
) -> ErrorCode:
    """An unknown member with another generation gets ILLEGAL_GENERATION."""
    if generation != self.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return self._identity_error(member_id, instance)


@mutant("G9-sync-refused", "G9", Group._sync_error)
def a_second_sync_is_refused(original: Method, self: Group, request: SyncGroupRequest) -> ErrorCode:
    """SyncGroup in Stable gets REBALANCE_IN_PROGRESS."""
    error: ErrorCode = original(self, request)
    return ErrorCode.REBALANCE_IN_PROGRESS if self.state == STABLE else error


@mutant("G10-leader-ignored", "G10", Group.join)
def a_rejoin_of_the_leader_is_answered_at_once(
    _: Method, self: Group, request: JoinGroupRequest, version: int, client_id: str, now_ms: int
) -> JoinGroupResponse:
    """In Stable no rejoin starts a rebalance."""
    error = self._join_error(request)
    if error is not ErrorCode.NONE:
        return _refused(request, error)
    if not request.member_id:
        return self._join_without_id(request, version, client_id, now_ms)
    if request.member_id in self._pending_ids:
        self._admit(request.member_id, request, now_ms)
        return self._complete_join(version)
    return self._joined(self.leader == request.member_id)


@mutant("G11-rebalance", "G11", Group._static_member_returns)
def a_static_member_that_returns_starts_a_rebalance(
    _: Method, self: Group, member: GroupMember, request: JoinGroupRequest, version: int, now_ms: int
) -> JoinGroupResponse:
    """A static member that comes back with a new id starts a round."""
    member.member_id = self._new_id(request.group_instance_id or "")
    self._update(member, request, now_ms)
    return self._complete_join(version)


@mutant("G11-not-fenced", "G11", Group._identity_error)
def the_old_id_is_only_unknown(original: Method, self: Group, member_id: str, instance: str | None) -> ErrorCode:
    """The old id of a static member gets UNKNOWN_MEMBER_ID instead of FENCED_INSTANCE_ID."""
    error: ErrorCode = original(self, member_id, instance)
    return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.FENCED_INSTANCE_ID else error


@mutant("G12-anything-joins", "G12", Group._join_error)
def any_session_timeout_will_do(_: Method, self: Group, request: JoinGroupRequest) -> ErrorCode:
    """A session timeout outside the range, and a protocol that no other member has, are accepted."""
    if not request.member_id or request.member_id in self._pending_ids:
        return ErrorCode.NONE
    return self._identity_error(request.member_id, request.group_instance_id)
