"""The two phases of a rebalance: how they begin, how they end, and who is removed on the way.

The *join phase* (PreparingRebalance) holds back every JoinGroup until all members have sent one, or the rebalance
timeout is over. The *sync phase* (CompletingRebalance) holds back every SyncGroup until the leader's assignment is
written. A member has one session timer; a group has at most one timer of the join phase and one of the sync phase.
"""

from __future__ import annotations

from functools import partial

from groupspec.impl.coordinator.context import Context, Handle, nothing
from groupspec.impl.coordinator.group import Group, GroupState, Member
from groupspec.impl.core.messages import ErrorCode, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse

NO_SIGN_OF_LIFE = "no sign of life"
"""Why a member is removed whose session is over, as a note says it."""
DID_NOT_JOIN = "it did not join the next round"
"""And why one that a rebalance does not wait for any longer."""
CAN_REBALANCE = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)


class Rebalancing:
    """Of all groups of one coordinator."""

    def __init__(self, context: Context) -> None:
        self._context = context

    # Members come ----------------------------------------------------------------------------------------------------

    def add(self, group: Group, member: Member, handle: Handle) -> None:
        """A new member, whose JoinGroup waits; its session timer is that of new members until the join phase ends."""
        member.is_new, member.join = True, handle
        if group.state is GroupState.PREPARING_REBALANCE and group.first_round:
            group.newcomer_seen = True
        group.add(member)
        self.start_session(group, member.member_id, self._context.settings.new_member_timeout_ms)
        self.rebalance_or_complete(group)

    @staticmethod
    def update(member: Member, request: JoinGroupRequest, handle: Handle) -> None:
        """A member joins again: an older JoinGroup of it stays unanswered. Its session timer goes on (rule G5)."""
        member.protocols = request.protocols
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        member.join = handle

    def start_session(self, group: Group, member_id: str, timeout_ms: int) -> None:
        """The session of a member or of a pending id begins anew."""
        deadline_ms = self._context.now_ms + timeout_ms
        expire = partial(self._session_expired, group, member_id)
        self._context.timers.start(("session", group.group_id, member_id), deadline_ms, expire)

    def keep_alive(self, group: Group, member: Member) -> None:
        """A sign of life."""
        self.start_session(group, member.member_id, member.session_timeout_ms)

    # The join phase begins -------------------------------------------------------------------------------------------

    def rebalance_or_complete(self, group: Group) -> None:
        """Something has changed: begin the join phase, or see whether the one under way is complete (rule G1)."""
        if group.state in CAN_REBALANCE:
            self.prepare(group)
        else:
            self.complete_if_all_joined(group)

    def prepare(self, group: Group) -> None:
        """Begin the join phase; out of Empty with the initial delay (rule G3)."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        self._stop(group, "sync")
        group.first_round = group.state is GroupState.EMPTY
        group.state = GroupState.PREPARING_REBALANCE
        if group.first_round:
            delay_ms = self._context.settings.initial_rebalance_delay_ms
            self._start_initial_delay(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.all_joined:
            self.complete(group)
        else:
            self._start_rebalance_timer(group)

    def _start_initial_delay(self, group: Group, delay_ms: int, left_ms: int) -> None:
        elapsed = partial(self._initial_delay_elapsed, group, delay_ms, left_ms)
        self._context.timers.start(("join", group.group_id), self._context.now_ms + delay_ms, elapsed)

    def _initial_delay_elapsed(self, group: Group, delay_ms: int, left_ms: int) -> None:
        """Wait once more if somebody came meanwhile, by the rebalance timeout at most in all (rule G3)."""
        if group.newcomer_seen and left_ms:
            group.newcomer_seen = False
            again_ms = min(self._context.settings.initial_rebalance_delay_ms, left_ms)
            self._start_initial_delay(group, again_ms, max(left_ms - delay_ms, 0))
        else:
            self.complete(group)

    def _start_rebalance_timer(self, group: Group) -> None:
        deadline_ms = self._context.now_ms + group.rebalance_timeout_ms
        self._context.timers.start(("join", group.group_id), deadline_ms, partial(self.complete, group))

    # The join phase ends ---------------------------------------------------------------------------------------------

    def complete_if_all_joined(self, group: Group) -> None:
        """End the join phase if all have joined. The first round of a group always waits for its initial delay."""
        if group.state is GroupState.PREPARING_REBALANCE and not group.first_round and group.all_joined:
            self.complete(group)

    def complete(self, group: Group) -> None:
        """End the join phase: dynamic members that have not joined are removed, and a new generation begins (G2)."""
        self._stop(group, "join")
        for member in list(group.members.values()):
            if member.join is None and not member.is_static:
                late = f"{DID_NOT_JOIN} within {group.rebalance_timeout_ms} ms"
                self._context.note(f"group {group.group_id}: member {member.member_id} is gone: {late}")
                self.forget(group, member.member_id)
        if not group.elect_joined_leader() and group.members:
            self._start_rebalance_timer(group)
            return
        group.protocol_name = group.elected_protocol() if group.members else None
        group.generation += 1
        group.pending_syncs.clear()
        if group.members:
            self._begin_sync_phase(group)
        else:
            group.state = GroupState.EMPTY
            self._context.write(group.record({}), nothing)

    def _begin_sync_phase(self, group: Group) -> None:
        group.state = GroupState.COMPLETING_REBALANCE
        for member in group.members.values():
            self.answer_join(member, self.joined(group, member))
            member.is_new = False
            self.keep_alive(group, member)
            group.pending_syncs.add(member.member_id)
        deadline_ms = self._context.now_ms + group.rebalance_timeout_ms
        self._context.timers.start(("sync", group.group_id), deadline_ms, partial(self._sync_expired, group))

    @staticmethod
    def joined(group: Group, member: Member) -> JoinGroupResponse:
        """The generation as it is: the leader gets all members."""
        return JoinGroupResponse(
            ErrorCode.NONE,
            group.generation,
            group.protocol_name or "",
            group.leader or "",
            member.member_id,
            group.described_members() if group.leader == member.member_id else (),
            protocol_type=group.protocol_type,
        )

    # The sync phase ends ---------------------------------------------------------------------------------------------

    def assign(self, group: Group, assignments: dict[str, bytes]) -> None:
        """The leader's assignment is everyone's from now on."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            self._answer_sync(group, member, self.synced(group, member))
        group.state = GroupState.STABLE

    @staticmethod
    def synced(group: Group, member: Member) -> SyncGroupResponse:
        """The member's assignment."""
        return SyncGroupResponse(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)

    def fail_syncs(self, group: Group, error: ErrorCode) -> None:
        """Assignments are wiped; every SyncGroup that waits gets this error."""
        for member in group.members.values():
            member.assignment = b""
            self._answer_sync(group, member, SyncGroupResponse(error))

    def received_sync(self, group: Group, member: Member) -> None:
        """A member has sent its SyncGroup; with the last one the timer of the sync phase stops."""
        group.pending_syncs.discard(member.member_id)
        if not group.pending_syncs:
            self._stop(group, "sync")

    def _sync_expired(self, group: Group) -> None:
        """Who has not sent SyncGroup in time is removed, out of Stable too (rule G9)."""
        for member_id in sorted(group.pending_syncs):
            self.forget(group, member_id)
        self.prepare(group)

    # Members go ------------------------------------------------------------------------------------------------------

    def _session_expired(self, group: Group, member_id: str) -> None:
        """No sign of life (rule G5), or an id that was handed out and never used (rule G4)."""
        member = group.members.get(member_id)
        if member_id in group.pending_joins:
            group.remove(member_id)
        elif member is None or member.is_awaiting:
            return
        else:
            silent = f"{NO_SIGN_OF_LIFE} for {member.session_timeout_ms} ms"
            self._context.note(f"group {group.group_id}: member {member_id} is gone: {silent}")
            self.remove(group, member_id)
            if group.state is not GroupState.PREPARING_REBALANCE:
                self.prepare(group)
                return
        # Kafka 4 does not ask here whether the initial delay is still on; in 3.9 InitialDelayedJoin waits in any case.
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            self.complete(group)

    def remove(self, group: Group, member_id: str) -> None:
        """A member is gone. Its JoinGroup that waits is answered; its SyncGroup that waits never is, as in Kafka."""
        member = group.members[member_id]
        self.answer_join(member, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID, protocol_type=None))
        self.forget(group, member_id)

    def fence(self, group: Group, old_id: str, new_id: str) -> Member:
        """A static member gets a new id; requests of the old one that wait are fenced (rule G11)."""
        old = group.members[old_id]
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.answer_join(old, JoinGroupResponse(fenced, member_id=old_id, protocol_type=None))
        if old.sync is not None:
            self._context.answer(old.sync, SyncGroupResponse(fenced))
            old.sync = None
        self._context.timers.stop(("session", group.group_id, old_id))
        member = group.replace(old_id, new_id)
        self.keep_alive(group, member)
        return member

    def forget(self, group: Group, member_id: str) -> None:
        """A member or a pending id is gone; nobody is told."""
        self._context.timers.stop(("session", group.group_id, member_id))
        group.remove(member_id)

    # Answers ---------------------------------------------------------------------------------------------------------

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        """Answer the JoinGroup of this member that waits, if one does."""
        if member.join is not None:
            self._context.answer(member.join, response)
            member.join = None

    def _answer_sync(self, group: Group, member: Member, response: SyncGroupResponse) -> None:
        if member.sync is not None:
            self._context.answer(member.sync, response)
            member.sync = None
            self.keep_alive(group, member)

    def _stop(self, group: Group, phase: str) -> None:
        self._context.timers.stop((phase, group.group_id))
