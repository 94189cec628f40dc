"""Groups of one client at a time, that follow what a script says: what a scenario needs besides a coordinator.

A client that comes anew takes the place of an older one at once, as if that one had left; what a script makes the
broker say becomes true; a member whose request a script holds back keeps its session; and a phantom may be a second
member. In everything else it is the reference coordinator that answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Final

from msgspec import structs

from groupspec.impl.broker.coordinators import Answers, Coordinators
from groupspec.impl.broker.phantom import CALLER, SESSION_MS, Phantom, client_of, partitions_in
from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse, Handle
from groupspec.impl.coordinator.group import Group, Member, Protocols
from groupspec.impl.coordinator.joining import MEMBER_ID_REQUIRED_FROM
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.network.answers import answer_with_error
from groupspec.impl.network.codec import Answer

ONE_CLIENT: Final = Settings(initial_rebalance_delay_ms=1, min_session_timeout_ms=1)
"""Nobody else is to be waited for, but a phantom needs its moment; and scenarios have short sessions."""


OFFSET_FETCH_REFUSED_FROM: Final = 2
"""From this version on an OffsetFetch that is refused as a whole names no partitions (OffsetFetchResponse)."""


class OneClient(Coordinators):
    """Requests that no client has sent have negative handles."""

    def __init__(self, nodes: int, partitions_of: Callable[[str], int], note: Callable[[str], object]) -> None:
        self._phantoms: dict[str, Phantom] = {}
        self._held: Counter[tuple[str, str]] = Counter()
        self._handles = count(-1, -1)
        self._note = note
        super().__init__(nodes, ONE_CLIENT, partitions_of, note)

    # What happens to it ----------------------------------------------------------------------------------------------

    def ask(self, handle: Handle, request: GroupRequest, node: int, caller: Caller, now_ms: int) -> Answers:
        """See Coordinators."""
        self._keep_held_alive(now_ms)
        answers: dict[Handle, GroupResponse] = {}
        if isinstance(request, messages.JoinGroupRequest) and node == self._node:
            answers |= self._make_room(request, caller, now_ms)
        answers |= super().ask(handle, request, node, caller, now_ms)
        return self._with_phantoms(answers, now_ms)

    def advance(self, now_ms: int) -> Answers:
        """See Coordinators."""
        self._keep_held_alive(now_ms)
        return self._with_phantoms(super().advance(now_ms), now_ms)

    @contextmanager
    def held(self, request: GroupRequest) -> Iterator[None]:
        """For as long as a script lets this request wait, no session of its member ends."""
        if isinstance(request, messages.OffsetFetchRequest):
            yield
            return
        member = (request.group_id, request.member_id)
        self._held[member] += 1
        try:
            yield
        finally:
            self._held[member] -= 1

    # What a script does ----------------------------------------------------------------------------------------------

    def refuse(self, request: GroupRequest, error: ErrorCode, caller: Caller, now_ms: int) -> tuple[Answer, Answers]:
        """Answer a request with this error, as a script wants it, and let it be true: others may be answered now."""
        if isinstance(request, messages.JoinGroupRequest) and error is ErrorCode.MEMBER_ID_REQUIRED:
            newcomer = structs.replace(request, member_id="", group_instance_id=None)
            (given,) = self._send(newcomer, replace(caller, version=MEMBER_ID_REQUIRED_FROM), now_ms).values()
            assert isinstance(given, messages.JoinGroupResponse)
            return answer_with_error(structs.replace(request, member_id=given.member_id), error), {}
        of_group = caller.version >= OFFSET_FETCH_REFUSED_FROM and error is not ErrorCode.UNSTABLE_OFFSET_COMMIT
        if isinstance(request, messages.OffsetFetchRequest) and of_group:
            return messages.OffsetFetchResponse({}, error), {}
        return answer_with_error(request, error), self._make_true(request, error, now_ms)

    def _make_true(self, request: GroupRequest, error: ErrorCode, now_ms: int) -> Answers:
        """What one request of an identity is told, all are, until another is given.

        Kafka asks the same of each request, in the same order: ClassicGroup.validateMember, then the generation.
        """
        group = self.group(request.group_id)
        if group is None or isinstance(request, messages.OffsetFetchRequest):
            return {}
        answers: Answers = {}
        member = group.members.get(request.member_id)
        if error is ErrorCode.UNKNOWN_MEMBER_ID and (member is not None or request.member_id in group.pending_joins):
            answers = self._drop(group, request.member_id, f"it was told {error.name}", now_ms)
        elif error is ErrorCode.FENCED_INSTANCE_ID and member is not None:
            answers = self._take_over(group, member, now_ms)
        elif error is ErrorCode.REBALANCE_IN_PROGRESS and member is not None:
            return self.announce_rebalance(request.group_id, now_ms)
        elif error is ErrorCode.ILLEGAL_GENERATION and getattr(request, "generation", None) == group.generation:
            outputs = self._coordinator.begin_generation(request.group_id, now_ms)
            answers = self._settle(self._coordinator, outputs, now_ms)
        return self._with_phantoms(answers, now_ms)

    def announce_rebalance(self, group_id: str, now_ms: int) -> Answers:
        """From now on heartbeats are answered REBALANCE_IN_PROGRESS, until the client has joined."""
        outputs = self._coordinator.begin_rebalance(group_id, now_ms)
        return self._with_phantoms(self._settle(self._coordinator, outputs, now_ms), now_ms)

    def add_phantom(self, phantom: Phantom) -> None:
        """A second member, which joins when the client does."""
        self._phantoms[phantom.group_id] = phantom

    def remove_phantom(self, group_id: str, now_ms: int) -> Answers:
        """The second member leaves."""
        return self._with_phantoms(self._send(self._phantoms.pop(group_id).leave(), CALLER, now_ms), now_ms)

    def assigned(self, group_id: str) -> tuple[TopicPartition, ...]:
        """What the client was assigned last; nothing if that cannot be decoded."""
        phantom, group = self._phantoms.get(group_id), self.group(group_id)
        client = None if group is None else client_of(group, phantom.member_id if phantom is not None else "")
        return () if client is None else partitions_in(client.assignment)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _send(self, request: GroupRequest, caller: Caller, now_ms: int) -> Answers:
        return super().ask(next(self._handles), request, self._node, caller, now_ms)

    def _keep_held_alive(self, now_ms: int) -> None:
        for (group_id, member_id), requests in self._held.items():
            if requests:
                self._coordinator.keep_alive(group_id, member_id, now_ms)

    def _drop(self, group: Group, member_id: str, why: str, now_ms: int) -> Answers:
        member = group.members.get(member_id)
        if member is not None:
            self._note(f"group {group.group_id}: member {member_id} is gone: {why}")
        instance = member.group_instance_id if member is not None else None
        return self._send(messages.LeaveGroupRequest(group.group_id, member_id, instance), CALLER, now_ms)

    def _take_over(self, group: Group, member: Member, now_ms: int) -> Answers:
        """Another process joins with the instance id of a static member, and sends nothing more."""
        if member.group_instance_id is None:
            raise ValueError("FENCED_INSTANCE_ID is said to a static member only: this one has no instance id")
        self._note(f"group {group.group_id}: another process joins with the instance id {member.group_instance_id}")
        newcomer = messages.JoinGroupRequest(
            group.group_id, SESSION_MS, member.rebalance_timeout_ms, "", member.group_instance_id, member.protocols
        )
        return self._send(newcomer, CALLER, now_ms)

    def _make_room(self, request: messages.JoinGroupRequest, caller: Caller, now_ms: int) -> Answers:
        """A client that joins is the only one; a new phantom joins before a client that is a member already."""
        group = self.group(request.group_id)
        if group is None or not self._is_let_in(group, request, caller):
            return {}
        answers: dict[Handle, GroupResponse] = {}
        phantom = self._phantoms.get(request.group_id)
        staying = {request.member_id, group.static_ids.get(request.group_instance_id or "")}
        staying.add(phantom.member_id if phantom is not None else None)
        for member_id in {*group.pending_joins, *group.members} - staying:
            answers |= self._drop(group, member_id, "another one came and takes its place", now_ms)
        if phantom is not None and request.member_id in group.members and phantom.member_id not in group.members:
            answers |= self._let_join(phantom, group, request.member_id, request.protocols, now_ms)
        return answers

    @staticmethod
    def _is_let_in(group: Group, request: messages.JoinGroupRequest, caller: Caller) -> bool:
        """Whether this makes a member, or is a member's."""
        if request.member_id:
            return request.member_id in group.members or request.member_id in group.pending_joins
        return request.group_instance_id is not None or caller.version < MEMBER_ID_REQUIRED_FROM

    def _with_phantoms(self, answers: Answers, now_ms: int) -> Answers:
        """The phantoms get their answers, and do what they have to; what is left are the clients' answers."""
        left = dict(answers)
        for phantom in self._phantoms.values():
            while (more := self._next_of(phantom, left, now_ms)) is not None:
                left |= more
        return {handle: answer for handle, answer in left.items() if handle > 0}

    def _next_of(self, phantom: Phantom, answers: dict[Handle, GroupResponse], now_ms: int) -> Answers | None:
        """What follows from the phantom's next request; None if there is none."""
        group = self.group(phantom.group_id)
        if group is None:
            return None
        handle = next(self._handles)
        sync = phantom.take(answers.pop(phantom.handle, None), handle)
        if sync is not None:
            return super().ask(handle, sync, self._node, CALLER, now_ms)
        if not phantom.is_missing(group):
            return None
        client = client_of(group, phantom.member_id) or group.members[phantom.member_id]
        return self._let_join(phantom, group, client.member_id, client.protocols, now_ms)

    def _let_join(self, phantom: Phantom, group: Group, client_id: str, protocols: Protocols, now_ms: int) -> Answers:
        """The phantom joins. The script decides who leads; Kafka's group would be led by who came first."""
        handle = next(self._handles)
        was_member = phantom.member_id in group.members
        request = phantom.join(handle, protocols, was_member)
        leader = phantom.member_id if phantom.leads else client_id
        if was_member:  # then its JoinGroup may end the join phase
            group.leader = leader
        answers = super().ask(handle, request, self._node, CALLER, now_ms)
        if not was_member:
            group.leader = leader
        return answers
