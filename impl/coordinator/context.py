"""What every part of a coordinator works with: the time, the timers, the settings, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from groupspec.impl.coordinator.log import Record
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.coordinator.timers import Timers
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode

Handle = int
"""A request's number, chosen by whoever hands it in; the answer carries it."""

GroupRequest = (
    messages.JoinGroupRequest
    | messages.SyncGroupRequest
    | messages.HeartbeatRequest
    | messages.LeaveGroupRequest
    | messages.OffsetCommitRequest
    | messages.OffsetFetchRequest
)
GroupResponse = (
    messages.JoinGroupResponse
    | messages.SyncGroupResponse
    | messages.HeartbeatResponse
    | messages.LeaveGroupResponse
    | messages.OffsetCommitResponse
    | messages.OffsetFetchResponse
)

_OF_A_FAILED_WRITE: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
}
"""GroupMetadataManager.appendGroupMetadataErrorToResponseError, for the errors that have a name here."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the version of the request, and the client id of its header."""

    version: int
    client_id: str


class Answered(Struct, frozen=True):
    """The answer to the request with this handle."""

    handle: Handle
    response: GroupResponse


@dataclass(frozen=True, slots=True)
class Write:
    """Append this record to the log, and tell the outcome with `Coordinator.written`."""

    number: int
    record: Record


Output = Answered | Write
Choose = Callable[[str, int, tuple[str, ...]], str]
"""Which of several, where Kafka takes whatever its hash map has first: called with "leader" or "protocol", the group's
next generation, and the possible ones."""


def new_uuid(prefix: str, handle: Handle) -> str:
    """A member id as Kafka's look: client id or instance id, and a UUID. Kafka's is random, this one the request's."""
    return f"{prefix}-{uuid5(NAMESPACE_OID, f'{prefix}/{handle}')}"


def nothing(*_: object) -> None:
    """What is done about notes that nobody wants, and after writes that nobody waits for."""


def first(what: str, generation: int, possible: tuple[str, ...]) -> str:
    """The choice of whoever does not care."""
    del what, generation
    return possible[0]


@dataclass
class Context:
    """One for each coordinator.

    `now_ms` is the time of what is being handled; `note` is told what no request brings about.
    """

    settings: Settings
    new_id: Callable[[str, Handle], str] = new_uuid
    choose: Choose = first
    note: Callable[[str], object] = nothing
    now_ms: int = 0
    timers: Timers = field(default_factory=Timers)
    outputs: list[Output] = field(default_factory=list)
    waiting_writes: dict[int, tuple[Record, Callable[[ErrorCode], None]]] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    def answer(self, handle: Handle, response: GroupResponse) -> None:
        """The answer to a request."""
        self.outputs.append(Answered(handle, response))

    def write(self, record: Record, then: Callable[[ErrorCode], None]) -> None:
        """Have a record written; `then` gets what a member is told when that fails, or NONE."""
        number = next(self._numbers)
        self.waiting_writes[number] = (record, then)
        self.outputs.append(Write(number, record))

    def written(self, number: int, error: ErrorCode) -> None:
        """The outcome of a write. One that was given up meanwhile is of no interest."""
        _, then = self.waiting_writes.pop(number, (None, nothing))
        then(_OF_A_FAILED_WRITE.get(error, error))

    def take_outputs(self) -> list[Output]:
        """What is to be done, in order; nothing is left."""
        outputs, self.outputs = self.outputs, []
        return outputs
