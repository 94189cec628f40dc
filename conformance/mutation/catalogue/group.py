"""Breakers of the chapter G: the broker's side, as the broker of the wire kit keeps a group."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead
from groupspec.impl.broker.group import PREPARING_REBALANCE, STABLE, Group, Member, _refused
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)


@breaker("G2-kept", "G2")
def a_round_keeps_the_generation() -> None:
    """A join phase completes without a new generation."""

    def make(original: Method) -> Method:
        def complete_join(self: Group, version: int) -> JoinGroupResponse:
            self.generation -= 1 if self.generation > 0 else 0
            answer: JoinGroupResponse = original(self, version)
            return answer

        return complete_join

    around(Group, "_complete_join", make)


@breaker("G2-empty", "G2")
def an_empty_group_keeps_its_generation() -> None:
    """When the last member goes the generation stays."""

    def make(original: Method) -> Method:
        def remove_member(self: Group) -> None:
            before = self.generation
            original(self)
            self.generation = before

        return remove_member

    around(Group, "_remove_member", make)


@breaker("G4-no-id-asked", "G4")
def a_newcomer_joins_without_an_id() -> None:
    """A dynamic member that comes without an id is admitted at once, in every version."""

    def join_without_id(
        self: Group, request: JoinGroupRequest, version: int, client_id: str, now_ms: int
    ) -> JoinGroupResponse:
        self._admit(self._new_id(client_id), request, now_ms)
        return self._complete_join(version)

    instead(Group, "_join_without_id", join_without_id)


@breaker("G4-all-versions", "G4")
def every_version_is_asked_for_an_id() -> None:
    """MEMBER_ID_REQUIRED is said to clients that are too old to know it, and to static members."""

    def join_without_id(
        self: Group, request: JoinGroupRequest, version: int, client_id: str, now_ms: int
    ) -> JoinGroupResponse:
        return _refused(request, ErrorCode.MEMBER_ID_REQUIRED, self.hand_out_id(client_id))

    instead(Group, "_join_without_id", join_without_id)


@breaker("G5-immortal", "G5")
def a_silent_member_stays() -> None:
    """A member whose session timeout has passed is not removed."""
    instead(Group, "expire", lambda self, now_ms: None)


@breaker("G5-parked-expires", "G5")
def a_parked_request_is_no_sign_of_life() -> None:
    """A member is removed although a request of it waits for its answer."""

    def expire(self: Group, now_ms: int) -> None:
        member = self.member
        if member is not None and now_ms - member.last_seen_ms >= member.session_timeout_ms:
            self.drop_member("no sign of life")

    instead(Group, "expire", expire)


@breaker("G7-heartbeat-silent", "G7")
def a_heartbeat_is_always_fine() -> None:
    """A heartbeat in PreparingRebalance is answered NONE."""

    def heartbeat(self: Group, request: HeartbeatRequest, now_ms: int) -> HeartbeatResponse:
        return HeartbeatResponse(self._member_error(request.member_id, request.group_instance_id, request.generation))

    instead(Group, "heartbeat", heartbeat)


@breaker("G7-commit-accepted", "G7")
def a_commit_between_join_and_sync_is_accepted() -> None:
    """A commit in CompletingRebalance is accepted."""

    def make(original: Method) -> Method:
        def commit_error(self: Group, request: OffsetCommitRequest) -> ErrorCode:
            error: ErrorCode = original(self, request)
            return ErrorCode.NONE if error is ErrorCode.REBALANCE_IN_PROGRESS else error

        return commit_error

    around(Group, "_commit_error", make)


@breaker("G8-state-first", "G8")
def the_state_is_checked_first() -> None:
    """In PreparingRebalance the answer is REBALANCE_IN_PROGRESS, whoever asks with whatever generation."""

    def make(original: Method) -> Method:
        def member_error(self: Group, member_id: str, instance: str | None, generation: int) -> ErrorCode:
            error: ErrorCode = original(self, member_id, instance, generation)
            return ErrorCode.REBALANCE_IN_PROGRESS if error and self.state == PREPARING_REBALANCE else error

        return member_error

    around(Group, "_member_error", make)


@breaker("G8-generation-first", "G8")
def the_generation_is_checked_before_the_member() -> None:
    """A stranger with another generation gets ILLEGAL_GENERATION."""

    def member_error(self: Group, member_id: str, instance: str | None, generation: int) -> ErrorCode:
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return self._identity_error(member_id, instance)

    instead(Group, "_member_error", member_error)


@breaker("G9-sync-refused", "G9")
def a_second_sync_is_refused() -> None:
    """SyncGroup in Stable gets REBALANCE_IN_PROGRESS."""

    def make(original: Method) -> Method:
        def sync_error(self: Group, request: SyncGroupRequest) -> ErrorCode:
            error: ErrorCode = original(self, request)
            return ErrorCode.REBALANCE_IN_PROGRESS if self.state == STABLE else error

        return sync_error

    around(Group, "_sync_error", make)


@breaker("G10-leader-ignored", "G10")
def a_rejoin_of_the_leader_is_answered_at_once() -> None:
    """In Stable nobody's rejoin starts a rebalance."""

    def join(self: Group, request: JoinGroupRequest, version: int, client_id: str, now_ms: int) -> JoinGroupResponse:
        error = self._join_error(request)
        if error is not ErrorCode.NONE:
            return _refused(request, error)
        if not request.member_id:
            return self._join_without_id(request, version, client_id, now_ms)
        if request.member_id in self._pending_ids:
            self._admit(request.member_id, request, now_ms)
            return self._complete_join(version)
        return self._joined(self.leader == request.member_id)

    instead(Group, "join", join)


@breaker("G11-rebalance", "G11")
def a_static_member_that_returns_starts_a_rebalance() -> None:
    """A static member that comes back with a new id starts a round."""

    def static_member_returns(
        self: Group, member: Member, request: JoinGroupRequest, version: int, now_ms: int
    ) -> JoinGroupResponse:
        member.member_id = self._new_id(request.group_instance_id or "")
        self._update(member, request, now_ms)
        return self._complete_join(version)

    instead(Group, "_static_member_returns", static_member_returns)


@breaker("G11-not-fenced", "G11")
def the_old_id_is_only_unknown() -> None:
    """The old id of a static member gets UNKNOWN_MEMBER_ID instead of FENCED_INSTANCE_ID."""

    def make(original: Method) -> Method:
        def identity_error(self: Group, member_id: str, instance: str | None) -> ErrorCode:
            error: ErrorCode = original(self, member_id, instance)
            return ErrorCode.UNKNOWN_MEMBER_ID if error is ErrorCode.FENCED_INSTANCE_ID else error

        return identity_error

    around(Group, "_identity_error", make)


@breaker("G12-anything-joins", "G12")
def any_session_timeout_will_do() -> None:
    """A session timeout outside the range, and a protocol that nobody shares, are accepted."""

    def join_error(self: Group, request: JoinGroupRequest) -> ErrorCode:
        if not request.member_id or request.member_id in self._pending_ids:
            return ErrorCode.NONE
        return self._identity_error(request.member_id, request.group_instance_id)

    instead(Group, "_join_error", join_error)
