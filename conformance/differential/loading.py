"""What a node answers while it reads the groups that have moved to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from groupspec.conformance.differential.drawing import PLACE
from groupspec.conformance.differential.history import History, Move, Sent, as_sent
from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, LeavingMember, OffsetAndMetadata
from groupspec.impl.network.codec import api_of, decode_response, encode_request

GROUP: Final = "loading"
_PROTOCOLS: Final = (("range", b"\1"),)
_OFFSETS: Final = {PLACE: OffsetAndMetadata(1, "m")}
_FIRST: Final = messages.JoinGroupRequest(GROUP, 10_000, 10_000, "", None, _PROTOCOLS)
_REQUESTS: Final[tuple[tuple[int, GroupRequest], ...]] = (
    (4, _FIRST),
    (0, _FIRST),
    (9, messages.JoinGroupRequest(GROUP, 10_000, 10_000, "a", "i", _PROTOCOLS)),
    (9, messages.JoinGroupRequest(GROUP, 1, 10_000, "a", None, _PROTOCOLS)),
    (0, messages.SyncGroupRequest(GROUP, 1, "a", None, "range", ())),
    (5, messages.SyncGroupRequest(GROUP, 1, "a", None, "range", ())),
    (5, messages.SyncGroupRequest(GROUP, 1, "a", None, "", ())),
    (5, messages.SyncGroupRequest(GROUP, 1, "a", None, None, ())),
    (0, messages.HeartbeatRequest(GROUP, 1, "a", None)),
    (4, messages.HeartbeatRequest(GROUP, 1, "a", None)),
    (1, messages.LeaveGroupRequest(GROUP, "a", None)),
    (5, messages.LeaveGroupRequest(GROUP, "a", None, others=(LeavingMember("b", None),))),
    (2, messages.OffsetCommitRequest(GROUP, 1, "a", None, _OFFSETS)),
    (9, messages.OffsetCommitRequest(GROUP, -1, "", None, _OFFSETS)),
    (1, messages.OffsetFetchRequest(GROUP, (PLACE,), require_stable=False)),
    (7, messages.OffsetFetchRequest(GROUP, (PLACE,), require_stable=False)),
    (4, _FIRST),
)
"""Versions and requests; the first and the last tell whether the node was reading all the time."""


def histories(ask: Callable[[Sequence[bytes]], Sequence[bytes]]) -> list[History]:
    """Ask a node that will read the groups soon, until it does or has done so.

    Returns:
        A history for each request that was made while it was reading; none if it has read too fast.
    """
    data = [encode_request(request, version, 1, "c") for version, request in _REQUESTS]
    while True:
        answers = [
            _decoded(request, version, frame) for (version, request), frame in zip(_REQUESTS, ask(data), strict=True)
        ]
        if answers[0].error is answers[-1].error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return [_history(*each, answer) for each, answer in zip(_REQUESTS, answers, strict=True)]
        if answers[-1].error not in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            return []


def _decoded(request: GroupRequest, version: int, frame: bytes) -> GroupResponse:
    answer = decode_response(api_of(request), version, frame)[1]
    assert isinstance(answer, GroupResponse)
    return answer


def _history(version: int, request: GroupRequest, answer: GroupResponse) -> History:
    caller = Caller(version, "c")
    sent = Sent(1, 1, as_sent(request, caller), caller, node=2)
    return History([sent], {1: answer}, {1: 1}, {1: 1}, [Move(0, 0, 2, is_loading=True)], 1)
