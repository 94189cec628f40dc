"""The coordinator and the brokers of a scenario, with a thread for each connection.

Answers race with each other, with timers, and with what the application does: only those of one connection keep their
order. What must hold of a request's contents is checked here, when it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupspec.conformance.schedules.scenario import CUT, NEVER, Scenario
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    NoAnswer,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    TopicPartition,
)
from groupspec.impl.runtime import EventCount, Runtime
from groupspec.impl.scripted import ScriptedCoordinator, api_of
from groupspec.impl.threads.memory_transport import MemoryTransport, Waiting

TOPIC: Final = "orders"
FIRST_COMMITTED: Final = 10
RECORDS_OF_A_FETCH: Final = 2


class RacingTransport(MemoryTransport):
    """A network in memory whose answers come from other threads, one for each connection."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._arrived = EventCount(runtime, "requests at the brokers")
        self._served: set[str | int] = set()
        self.serve: Callable[[SendRequest], Response | None] = lambda _: None

    def send(self, request: SendRequest, now_ms: int) -> None:
        """See Transport."""
        with self._news:
            self.sent.append(request)
            self._waiting[request.request_id] = Waiting(request, now_ms + request.timeout_ms)
        if request.node not in self._served:
            self._served.add(request.node)
            self._runtime.thread(lambda: self._serve(request.node), f"connection to {request.node}").start()
        self._arrived.advance()

    def close(self, timeout_ms: int) -> None:
        """See Transport. The connections end."""
        super().close(timeout_ms)
        self._arrived.advance()

    def _serve(self, node: str | int) -> None:
        taken: set[int] = set()
        while True:
            seen = self._arrived.value()
            if self.closed:
                return
            new = [sent for sent in self.unanswered() if sent.node == node and sent.request_id not in taken]
            if not new:
                self._arrived.wait(seen, None)
                continue
            taken.add(new[0].request_id)
            if (response := self.serve(new[0])) is not None:
                self.answer(new[0].request_id, response)


class RacingGroup:
    """The group's and the partitions' state, as brokers keep it.

    Attributes:
        committed: Partition -> the offset that is committed.
        starts: Partition -> the offsets that OffsetFetch has answered since the partition was assigned.
        left: How many LeaveGroup requests came.
        requests: How many came in all.
    """

    def __init__(self, scenario: Scenario, transport: RacingTransport) -> None:
        self._coordinator = ScriptedCoordinator({TOPIC: 4}, leader="somebody-else")
        self._answers = {api: list(errors) for api, errors in scenario.answers.items()}
        self._shares = list(scenario.shares)
        self._transport = transport
        self._issued: set[tuple[str, int]] = {("", -1)}
        self._member_ids = {""}
        self._assigned_after: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, set[int]] = {}
        self.may_commit: Callable[[TopicPartition, int], bool] = lambda _, __: True
        self.left = 0
        self.requests = 0
        transport.serve = self.serve

    def serve(self, sent: SendRequest) -> Response | None:
        """The answer to a request; None: there will be none."""
        self.requests += 1
        self._check_identity(sent.request)
        errors = self._answers.get(api_of(sent.request), [])
        error = errors.pop(0) if errors else ""
        if isinstance(sent.request, LeaveGroupRequest):
            self.left += 1
        if error == NEVER:
            return None
        if error:
            return self._coordinator.answer(sent.request, ErrorCode.DISCONNECTED if error == CUT else ErrorCode[error])
        return self._granted(sent)

    def _granted(self, sent: SendRequest) -> Response:
        match sent.request:
            case JoinGroupRequest() as request:
                return self._joined(request)
            case SyncGroupRequest() as request:
                return self._synced(request)
            case FetchRequest(offsets=offsets):
                return FetchResponse({partition: self._records(at) for partition, at in offsets.items()})
            case OffsetFetchRequest(partitions=partitions):
                return self._committed(sent.request_id, partitions)
            case OffsetCommitRequest(offsets=offsets):
                self._commit(offsets)
        return self._coordinator.answer(sent.request)

    def _joined(self, request: JoinGroupRequest) -> Response:
        answer = self._coordinator.answer(request)
        assert not isinstance(answer, NoAnswer)
        member_id, generation = getattr(answer, "member_id", ""), self._coordinator.generation
        self._member_ids.add(member_id)
        self._issued.add((member_id, generation))
        return answer

    def _synced(self, request: SyncGroupRequest) -> Response:
        share = self._shares.pop(0) if len(self._shares) > 1 else self._shares[0]
        assigned = [TopicPartition(TOPIC, number) for number in share]
        last_sent = self._transport.sent[-1].request_id
        for partition in assigned:
            self._assigned_after[partition] = last_sent
            self.starts[partition] = set()
        return self._coordinator.answer(request, assigned=assigned)

    def _records(self, at: int) -> FetchedPartition:
        lines = b"".join(b"%d:record\n" % offset for offset in range(at, at + RECORDS_OF_A_FETCH))
        return FetchedPartition(lines, at + 10)

    def _committed(self, request_id: int, partitions: tuple[TopicPartition, ...]) -> Response:
        found = {partition: self.committed.get(partition, FIRST_COMMITTED) for partition in partitions}
        for partition, offset in found.items():
            if request_id > self._assigned_after.get(partition, 0):
                self.starts.setdefault(partition, set()).add(offset)
        return OffsetFetchResponse({partition: FetchedOffset(offset) for partition, offset in found.items()})

    def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for partition, wanted in offsets.items():
            assert self.may_commit(partition, wanted.offset), (
                f"{partition} is committed at {wanted.offset}, which the application has never reached (rule M4)"
            )
            self.committed[partition] = wanted.offset

    def _check_identity(self, request: Request) -> None:
        """A member names itself as it was named, and a generation that it was given (rules J4, M1)."""
        match request:
            case JoinGroupRequest(member_id=member_id) | LeaveGroupRequest(member_id=member_id):
                assert member_id in self._member_ids, f"{api_of(request)} by {member_id!r}, whom nobody has named so"
            case (
                SyncGroupRequest(member_id=member_id, generation=generation)
                | HeartbeatRequest(member_id=member_id, generation=generation)
                | OffsetCommitRequest(member_id=member_id, generation=generation)
            ):
                assert (member_id, generation) in self._issued, (
                    f"{api_of(request)} by {member_id!r} of generation {generation}, which it was never in"
                )
