"""A request with its answer, and what the two say of the member: its identity, its subscription, its assignment."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import Partition
from groupspec.impl.core.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import MalformedProtocolData, Subscription, decode_assignment, decode_subscription

GROUP_APIS: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch")
"""Requests that only the group's coordinator answers."""
REBALANCE: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
"""Errors after which a member joins again."""
COORDINATOR_GONE: Final = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
"""Errors after which a client looks for its coordinator again."""
NO_MEMBER: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
"""Errors that end a membership, whoever keeps its id."""

DECODED: Final = 512
"""Of the latest subscriptions and assignments what they say is kept: rules ask for them again and again."""

Message = TypeVar("Message")


@dataclass(frozen=True)
class Exchange:
    """A request and what came back; `answer` None when nothing did."""

    request: Entry
    answer: Entry | None

    @property
    def api(self) -> str:
        """Which request it was."""
        return self.request.api

    @property
    def error(self) -> str:
        """The answer's error name; NONE for success, "" without an answer."""
        return self.answer.error if self.answer is not None else ""

    @property
    def sent_us(self) -> int:
        """When the request reached the broker."""
        return self.request.at_us

    @property
    def told_us(self) -> int:
        """When the broker wrote the answer; 0 without one."""
        return self.answer.at_us if self.answer is not None else 0

    def ended_before(self, at_us: int) -> bool:
        """Whether the answer was written before that time."""
        return self.answer is not None and self.answer.at_us <= at_us

    def asked(self, kind: type[Message]) -> Message:
        """The request's content."""
        assert isinstance(self.request.message, kind)
        return self.request.message

    def answered(self, kind: type[Message]) -> Message | None:
        """The answer's content; None without an answer of that kind."""
        message = self.answer.message if self.answer is not None else None
        return message if isinstance(message, kind) else None


@dataclass(frozen=True)
class Identity:
    """The member's identity: member id and generation of the last JoinGroup that succeeded."""

    member_id: str
    generation: int
    from_us: int


def subscription_of(join: JoinGroupRequest) -> Subscription | None:
    """What the first protocol's metadata says; None when it cannot be decoded."""
    return _subscription(join.protocols[0][1]) if join.protocols else None


def is_readable(sync: Exchange) -> bool:
    """Whether the assignment in a SyncGroup's answer can be decoded; an empty one can."""
    answer = sync.answered(SyncGroupResponse)
    with suppress(MalformedProtocolData):
        if answer is not None and answer.assignment:
            decode_assignment(answer.assignment)
        return True
    return False


def assigned_by(sync: Exchange) -> frozenset[str]:
    """The partitions in a SyncGroup's answer."""
    answer = sync.answered(SyncGroupResponse)
    return _assigned(answer.assignment) if answer is not None and answer.assignment else frozenset()


@lru_cache(DECODED)
def _subscription(metadata: bytes) -> Subscription | None:
    try:
        return decode_subscription(metadata)
    except MalformedProtocolData:
        return None


@lru_cache(DECODED)
def _assigned(assignment: bytes) -> frozenset[str]:
    try:
        return names(decode_assignment(assignment).partitions)
    except MalformedProtocolData:
        return frozenset()  # the client itself wrote it as the leader: rule J10


def is_of_nobody(exchange: Exchange) -> bool:
    """Whether it has no member id (rules H3 and M1): its answer says nothing of any identity."""
    message = exchange.request.message
    return isinstance(message, HeartbeatRequest | OffsetCommitRequest) and not message.member_id


def names(partitions: Iterable[TopicPartition | Partition]) -> frozenset[str]:
    """Partitions as the log writes them."""
    return frozenset(map(str, partitions))
