"""What was sent to one group, when, and what it was answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse, Handle
from groupspec.impl.network.codec import api_of, decode_request, decode_response, encode_request, encode_response


@dataclass(frozen=True, slots=True)
class Sent:
    """One request, as its version can say it, and the node that it went to."""

    at_ms: int
    handle: Handle
    request: GroupRequest
    caller: Caller
    node: int = 1


@dataclass(frozen=True, slots=True)
class Move:
    """From request number `before` (the first is 0) on, this node has the group. `is_loading`: it only reads it yet."""

    before: int
    at_ms: int
    node: int
    is_loading: bool = False


@dataclass
class History:
    """One group.

    Attributes:
        answers: By handle, in the order in which they came.
        answered_at_ms: When each came.
        handled_by_ms: When each request had been handled at the latest, where that can be known.
        moves: Of the group from node to node; it begins at node 1.
    """

    sent: list[Sent] = field(default_factory=list)
    answers: dict[Handle, GroupResponse] = field(default_factory=dict)
    answered_at_ms: dict[Handle, int] = field(default_factory=dict)
    handled_by_ms: dict[Handle, int] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    ends_at_ms: int = 0

    def answer(self, handle: Handle, response: GroupResponse, at_ms: int) -> None:
        """Note an answer. Raises ValueError for a second one."""
        if handle in self.answers:
            raise ValueError(f"request {handle} was answered twice: {self.answers[handle]}, then {response}")
        self.answers[handle] = response
        self.answered_at_ms[handle] = at_ms


def as_sent(request: GroupRequest, caller: Caller) -> GroupRequest:
    """The request as it arrives: without what its version has no field for."""
    sent = decode_request(encode_request(request, caller.version, 1, caller.client_id))[1]
    assert isinstance(sent, type(request))
    return sent


def as_received(request: GroupRequest, response: GroupResponse, caller: Caller) -> GroupResponse:
    """The answer as it arrives: without what its version has no field for."""
    data = encode_response(response, caller.version, 1, api=api_of(request), request=request)
    received = decode_response(api_of(request), caller.version, data)[1]
    assert isinstance(received, type(response))
    return received
