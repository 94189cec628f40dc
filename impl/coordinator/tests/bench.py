"""One group, its coordinators and their log, in virtual time: what the tests of this folder work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from groupspec.impl.coordinator.context import Answered, Caller, GroupRequest, Handle, Output, Write
from groupspec.impl.coordinator.coordinator import Coordinator, settle
from groupspec.impl.coordinator.group import Group
from groupspec.impl.coordinator.log import Log
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)

GROUP = "readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
JOIN = JoinGroupRequest(GROUP, SESSION_MS, REBALANCE_MS, "", None, (("range", b"R"), ("roundrobin", b"RR")))
PLACE = TopicPartition("orders", 0)
SETTINGS = Settings(initial_rebalance_delay_ms=0, offsets_partitions=1)


class Bench:
    """A coordinator with everything loaded. `holds_writes`: the log answers only when `write` is called."""

    def __init__(self, settings: Settings = SETTINGS, log: Log | None = None, holds_writes: bool = False) -> None:
        self.now_ms = 0
        self.log = log or Log(settings.offsets_partitions)
        self.answers: dict[Handle, Any] = {}
        self.held: list[Write] = []
        self.coordinator = Coordinator(settings, lambda prefix, handle: f"{prefix}-{handle}", self.choose)
        self.chosen: list[str] = []
        self._holds_writes = holds_writes
        self._handles = 0
        self.coordinator.load(0)
        self.take(self.coordinator.loaded(0, self.log.read(0), self.now_ms))

    def choose(self, what: str, generation: int, possible: tuple[str, ...]) -> str:
        """What chance decides is the last one, and is noted."""
        self.chosen.append(what)
        return possible[-1]

    def take(self, outputs: list[Output]) -> None:
        """Note answers, and write what is to be written."""
        if self._holds_writes:
            self.held += [output for output in outputs if isinstance(output, Write)]
            outputs = [output for output in outputs if isinstance(output, Answered)]
        for output in settle(self.coordinator, outputs, self.log, self.now_ms):
            assert isinstance(output, Answered)
            assert output.handle not in self.answers, "answered twice"
            self.answers[output.handle] = output.response

    def write(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The log has done what it was asked first."""
        write = self.held.pop(0)
        if error is ErrorCode.NONE:
            self.log.append(write.record)
        self.take(self.coordinator.written(write.number, self.now_ms, error))

    def send(self, request: GroupRequest, version: int = 9, client_id: str = "client") -> Handle:
        """A request; what it is answered, now or later, is in `answers`."""
        self._handles += 1
        self.take(self.coordinator.handle(self._handles, request, Caller(version, client_id), self.now_ms))
        return self._handles

    def ask(self, request: GroupRequest, version: int = 9) -> Any:
        """A request that is answered at once."""
        return self.answers[self.send(request, version)]

    def pass_ms(self, duration_ms: int) -> None:
        """Time passes; timers run when they are due."""
        end_ms = self.now_ms + duration_ms
        while (deadline_ms := self.coordinator.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.take(self.coordinator.advance(self.now_ms))
        self.now_ms = end_ms

    @property
    def group(self) -> Group:
        """The group, which exists."""
        group = self.coordinator.group(GROUP)
        assert group is not None
        return group


@dataclass
class Client:
    """A member's side."""

    bench: Bench
    version: int = 9
    instance: str | None = None
    request: JoinGroupRequest = JOIN
    member_id: str = ""
    generation: int = -1
    _joining: Handle = field(default=0)
    _syncing: Handle = field(default=0)

    def join(self, **changes: object) -> Client:
        """Send JoinGroup; one that is told its id sends it again."""
        fields: dict[str, Any] = {"member_id": self.member_id, "group_instance_id": self.instance, **changes}
        self._joining = self.bench.send(replace(self.request, **fields), self.version)
        answer = self.bench.answers.get(self._joining)
        if answer is not None and answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return self.join(**changes)
        return self

    def is_joining(self) -> bool:
        """Whether JoinGroup waits."""
        return self._joining not in self.bench.answers

    def joined(self) -> JoinGroupResponse:
        """The answer to JoinGroup; the client takes what it says."""
        answer = self.bench.answers[self._joining]
        assert isinstance(answer, JoinGroupResponse)
        if answer.error is ErrorCode.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation
        return answer

    def sync(self, *assigned: tuple[Client, bytes]) -> Client:
        """Send SyncGroup, as a leader with these assignments."""
        assignments = tuple((client.member_id, data) for client, data in assigned)
        request = SyncGroupRequest(GROUP, self.generation, self.member_id, self.instance, "range", assignments)
        self._syncing = self.bench.send(request, 5)
        return self

    def is_syncing(self) -> bool:
        """Whether SyncGroup waits."""
        return self._syncing not in self.bench.answers

    def synced(self) -> SyncGroupResponse:
        """The answer to SyncGroup."""
        answer = self.bench.answers[self._syncing]
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def heartbeat(self, generation: int | None = None) -> ErrorCode:
        """A heartbeat's answer."""
        named = self.generation if generation is None else generation
        error = self.bench.ask(HeartbeatRequest(GROUP, named, self.member_id, self.instance), 4).error
        assert isinstance(error, ErrorCode)
        return error

    def commit(self, offset: int = 5, version: int = 9) -> ErrorCode:
        """A commit's answer."""
        request = OffsetCommitRequest(
            GROUP, self.generation, self.member_id, self.instance, {PLACE: OffsetAndMetadata(offset)}
        )
        answer = self.bench.ask(request, version)
        assert isinstance(answer, OffsetCommitResponse)
        return answer.errors[PLACE]

    def leave(self) -> ErrorCode:
        """The answer to LeaveGroup."""
        error = self.bench.ask(LeaveGroupRequest(GROUP, self.member_id, self.instance), 5).error
        assert isinstance(error, ErrorCode)
        return error


def stable(bench: Bench, *clients: Client) -> None:
    """All of them in a Stable group; the first one leads, and `assignment-N` is the N-th's."""
    for number, client in enumerate(clients):
        client.join()
        bench.pass_ms(0)
        for earlier in clients[:number]:
            earlier.join()
        for each in clients[: number + 1]:
            each.joined()
    leader, *others = clients
    for client in others:
        client.sync()
    leader.sync(*((client, f"assignment-{number}".encode()) for number, client in enumerate(clients)))
    assert bench.group.state == "Stable"
