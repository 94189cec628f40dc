"""Where the requests come from: drawn from a seed in versions that the broker has, or a sequence sent once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from groupspec.conformance.differential.drawing import Drawer, Pace
from groupspec.conformance.differential.history import History, Sent
from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse, Handle
from groupspec.impl.core import messages
from groupspec.impl.core.messages import JoinGroupResponse, LeavingMember, TopicPartition
from groupspec.impl.network.codec import api_of
from groupspec.impl.network.versions import VersionRange


class ServedDrawer(Drawer):
    """Draws the requests of one group, all but OffsetFetch, which the table does not have."""

    def __init__(
        self, group_id: str, seed: int, pace: Pace, place: TopicPartition, served: Mapping[str, VersionRange]
    ) -> None:
        super().__init__(group_id, seed, pace, place=place)
        self._served = served

    def draw(self) -> tuple[Handle, GroupRequest, Caller]:
        """The next request; its handle is new."""
        while True:
            handle, request, caller = super().draw()
            if not isinstance(request, messages.OffsetFetchRequest):
                served = self._served[api_of(request)]
                return handle, request, replace(caller, version=min(max(caller.version, served.lowest), served.highest))


class Again:
    """Some requests of a history, sent to another group: each id is the one that the same JoinGroup brings now."""

    def __init__(self, group_id: str, history: History, kept: Sequence[int]) -> None:
        self._group_id = group_id
        self._left = [history.sent[place] for place in kept]
        self._brought: dict[str, Handle] = {}
        for sent in history.sent:
            answer = history.answers.get(sent.handle)
            if isinstance(answer, JoinGroupResponse) and answer.member_id:
                self._brought.setdefault(answer.member_id, sent.handle)
        self._now: dict[Handle, str] = {}

    @property
    def left(self) -> int:
        """How many requests are still to be sent."""
        return len(self._left)

    def draw(self) -> tuple[Handle, GroupRequest, Caller]:
        """The next request, under the handle that it had."""
        sent = self._left.pop(0)
        return sent.handle, self._renamed(sent), sent.caller

    def goes_astray(self) -> bool:
        """Never."""
        return False

    def learn(self, handle: Handle, response: GroupResponse) -> None:
        """An id is what the answer says."""
        if isinstance(response, JoinGroupResponse) and response.member_id:
            self._now.setdefault(handle, response.member_id)

    def _renamed(self, sent: Sent) -> GroupRequest:
        request: Any = structs.replace(sent.request, group_id=self._group_id)
        if hasattr(request, "member_id"):
            request = structs.replace(request, member_id=self._id(request.member_id))
        if isinstance(request, messages.SyncGroupRequest):
            return structs.replace(
                request, assignments=tuple((self._id(each), data) for each, data in request.assignments)
            )
        if isinstance(request, messages.LeaveGroupRequest):
            others = (LeavingMember(self._id(each.member_id), each.group_instance_id) for each in request.others)
            return structs.replace(request, others=tuple(others))
        assert isinstance(request, GroupRequest)
        return request

    def _id(self, old: str) -> str:
        handle = self._brought.get(old)
        return old if handle is None else self._now.get(handle, f"never-told-{handle}")
