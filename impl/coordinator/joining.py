"""JoinGroup: the checks in Kafka's order (rule G8), then what each kind of member brings about."""

from __future__ import annotations

from functools import partial
from typing import Final

from groupspec.impl.coordinator.context import Caller, Context, Handle
from groupspec.impl.coordinator.group import Group, GroupState, Member
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.core.messages import ErrorCode, JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_FROM: Final = 4
SKIP_ASSIGNMENT_FROM: Final = 9


def refused(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """JoinGroup's answer with an error."""
    return JoinGroupResponse(error, member_id=member_id, protocol_type=None)


class Joining:
    """JoinGroup, of all groups of one coordinator."""

    def __init__(self, context: Context, rebalancing: Rebalancing) -> None:
        self._context = context
        self._rebalancing = rebalancing

    def settings_error(self, request: JoinGroupRequest) -> ErrorCode:
        """What is wrong before anybody looks for the group (rule G12)."""
        settings = self._context.settings
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def join(self, group: Group, request: JoinGroupRequest, caller: Caller, handle: Handle) -> None:
        """Take part in the next generation: answered at once, or when the join phase ends.

        Whoever is refused for the size is removed. Only Kafka 3.9 asks then whether the join phase may end.
        """
        if not group.has_room_for(request.member_id, self._context.settings.max_size):
            self._rebalancing.forget(group, request.member_id)
            self._context.answer(handle, refused(ErrorCode.GROUP_MAX_SIZE_REACHED))
        elif not group.supports(request.protocol_type, request.protocols):
            self._context.answer(handle, refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        elif not request.member_id:
            self._without_id(group, request, caller, handle)
        elif request.member_id in group.pending_joins:
            self._with_pending_id(group, request, caller, handle)
        else:
            self._with_id(group, request, handle)

    # Without an id ---------------------------------------------------------------------------------------------------

    def _without_id(self, group: Group, request: JoinGroupRequest, caller: Caller, handle: Handle) -> None:
        instance = request.group_instance_id
        new_id = self._context.new_id(caller.client_id if instance is None else instance, handle)
        if instance is not None and instance in group.static_ids:
            self._static_member_returns(group, request, caller, handle, new_id)
        elif instance is None and caller.version >= MEMBER_ID_REQUIRED_FROM:
            self._hand_out_id(group, request, handle, new_id)
        else:
            self._admit(group, request, caller, handle, new_id)

    def _hand_out_id(self, group: Group, request: JoinGroupRequest, handle: Handle, new_id: str) -> None:
        """An id to join with (KIP-394, rule G4); it is forgotten after the session timeout of this request."""
        group.pending_joins.add(new_id)
        self._rebalancing.start_session(group, new_id, request.session_timeout_ms)
        self._context.answer(handle, refused(ErrorCode.MEMBER_ID_REQUIRED, new_id))

    def _with_pending_id(self, group: Group, request: JoinGroupRequest, caller: Caller, handle: Handle) -> None:
        if request.group_instance_id is not None:  # an IllegalStateException in Kafka
            self._context.answer(handle, refused(ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            self._admit(group, request, caller, handle, request.member_id)

    def _admit(self, group: Group, request: JoinGroupRequest, caller: Caller, handle: Handle, member_id: str) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            caller.client_id,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            request.protocol_type,
            request.protocols,
        )
        self._rebalancing.add(group, member, handle)

    # A static member, back under a new id ----------------------------------------------------------------------------

    def _static_member_returns(
        self, group: Group, request: JoinGroupRequest, caller: Caller, handle: Handle, new_id: str
    ) -> None:
        """It keeps its assignment without a rebalance if the group is Stable and its protocol stays (rule G11)."""
        led_before = group.leader or ""
        old = group.members[group.static_ids[str(request.group_instance_id)]]
        member = self._rebalancing.fence(group, old.member_id, new_id)
        self._rebalancing.update(member, request, handle)
        if group.state is GroupState.STABLE and group.elected_protocol() == group.protocol_name:
            assignments = {each.member_id: each.assignment for each in group.members.values()}
            then = partial(self._static_member_stored, group, old, member, led_before, caller)
            self._context.write(group.record(assignments), then)
        else:
            self._rebalancing.rebalance_or_complete(group)

    def _static_member_stored(
        self, group: Group, old: Member, member: Member, led_before: str, caller: Caller, error: ErrorCode
    ) -> None:
        """Answer it. Before version 9 a leader that returns is told the old leader's id: it must not assign anew."""
        if member.join is None:
            return
        if error is not ErrorCode.NONE:
            self._revert(group, old, member)
            answer = JoinGroupResponse(
                error, group.generation, group.protocol_name or "", led_before, protocol_type=group.protocol_type
            )
            self._context.answer(member.join, answer)
            return
        leads = group.leader == member.member_id
        new = caller.version >= SKIP_ASSIGNMENT_FROM
        answer = JoinGroupResponse(
            ErrorCode.NONE,
            group.generation,
            group.protocol_name or "",
            (group.leader or "") if new else led_before,
            member.member_id,
            group.described_members() if new and leads else (),
            skip_assignment=new and leads,
            protocol_type=group.protocol_type,
        )
        self._rebalancing.answer_join(member, answer)

    def _revert(self, group: Group, old: Member, member: Member) -> None:
        """The log refused the new id: the old one is the member's again."""
        again = group.replace(member.member_id, old.member_id)
        again.protocols = old.protocols
        again.rebalance_timeout_ms, again.session_timeout_ms = old.rebalance_timeout_ms, old.session_timeout_ms
        self._rebalancing.keep_alive(group, again)

    # With a member's id ----------------------------------------------------------------------------------------------

    def _with_id(self, group: Group, request: JoinGroupRequest, handle: Handle) -> None:
        error = group.identity_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            self._context.answer(handle, refused(error, request.member_id))
            return
        member = group.members[request.member_id]
        if self._needs_no_rebalance(group, member, request):
            self._context.answer(handle, self._rebalancing.joined(group, member))
        else:
            self._rebalancing.update(member, request, handle)
            self._rebalancing.rebalance_or_complete(group)

    @staticmethod
    def _needs_no_rebalance(group: Group, member: Member, request: JoinGroupRequest) -> bool:
        """Nothing is new: the current generation is the answer (rule G10). In Stable a leader may always ask anew."""
        settled = group.state is GroupState.COMPLETING_REBALANCE or (
            group.state is GroupState.STABLE and group.leader != member.member_id
        )
        return settled and member.protocols == request.protocols
