"""A coordinator whose log is slow, refuses records, and moves; whose groups are deleted. The log is the oracle.

Whatever was acknowledged is in the log, and a group that is settled is the one that whoever reads the log would have.
Drawn from a seed, as in `drawing`; no real broker takes part, since none can be made to refuse at a given moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Final

from msgspec import structs

from groupspec.conformance.differential.drawing import PLACE, Drawer, Pace
from groupspec.conformance.differential.reference import smallest
from groupspec.impl.coordinator.context import Answered, Caller, GroupRequest, Output, Write
from groupspec.impl.coordinator.coordinator import Coordinator
from groupspec.impl.coordinator.group import Group, GroupState
from groupspec.impl.coordinator.log import GroupDeleted, GroupRecord, Log, OffsetsRecord, Record
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import ErrorCode, OffsetAndMetadata, OffsetCommitRequest, OffsetCommitResponse

GROUP: Final = "billing"
SETTINGS: Final = Settings(initial_rebalance_delay_ms=50, offsets_partitions=1, offset_metadata_max_bytes=1)
PACE: Final = Pace(sessions_ms=(6_000, 9_000), rebalances_ms=(3_000, 9_000), apart_ms=100)
REFUSALS: Final = (
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)


class FailingLog:
    """One group, its coordinator, and the records that are being written.

    Attributes:
        done: How often each thing has happened.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(f"log {seed}")
        self._drawer = Drawer(GROUP, seed, PACE)
        self._coordinator = self._new_coordinator()
        self._log = Log(SETTINGS.offsets_partitions)
        self._now_ms = 0
        self._writes: list[Write] = []
        self._asked: dict[int, GroupRequest] = {}
        self._knows_more = False  # the group has become Empty, and the log does not have it
        self._is_undeleted = False  # the log has refused to forget the group, and has offsets of it still
        self._written_twice = -1  # a generation with two records under way, of which the group took the first
        self.done: Counter[str] = Counter()
        self._move()

    @staticmethod
    def _new_coordinator(settings: Settings = SETTINGS) -> Coordinator:
        return Coordinator(settings, lambda prefix, handle: f"{prefix}-{handle}", smallest)

    def step(self) -> None:
        """Something happens; then the group is compared with the log, unless a record is under way."""
        steps: tuple[tuple[float, Callable[[], None]], ...] = (
            (0.6, self._ask),
            (0.3, self._write),
            (0.05, self._pass_time),
            (0.02, self._move),
            (0.02, self._delete),
            (0.03, self._script),
        )
        (chosen,) = self._random.choices([act for _, act in steps], [weight for weight, _ in steps])
        chosen()
        if not (self._writes or self._knows_more or self._is_undeleted):
            self._compare()

    # What happens ----------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        handle, request, caller = self._drawer.draw()
        drawn = self._random.random()
        if drawn < 0.01:
            request = structs.replace(request, group_id="")
        elif isinstance(request, OffsetCommitRequest) and drawn < 0.1:
            request = structs.replace(request, offsets={PLACE: OffsetAndMetadata(7, "too long")})
        self._asked[handle] = request
        self._now_ms += 10
        self._take(self._coordinator.handle(handle, request, Caller(caller.version, caller.client_id), self._now_ms))

    def _write(self) -> None:
        """The oldest record is in the log, or refused."""
        if not self._writes:
            return
        write = self._writes.pop(0)
        error = self._random.choice(REFUSALS) if self._random.random() < 0.2 else ErrorCode.NONE
        if error is ErrorCode.NONE:
            self._log.append(write.record)
        self._note(write.record, error)
        self._take(self._coordinator.written(write.number, self._now_ms, error))

    def _note(self, record: Record, error: ErrorCode) -> None:
        self.done[f"{type(record).__name__} {'written' if error is ErrorCode.NONE else 'refused'}"] += 1
        is_refused = error is not ErrorCode.NONE
        if isinstance(record, GroupDeleted):
            self._is_undeleted = is_refused
        elif isinstance(record, GroupRecord):
            self._knows_more = is_refused and (not record.members or self._knows_more)

    def _pass_time(self) -> None:
        self._now_ms += self._random.choice((100, 3_000, 10_000))
        self._take(self._coordinator.advance(self._now_ms))

    def _move(self) -> None:
        """The group goes to another coordinator; of what was being written the log has the first few."""
        if self._coordinator.has(0):
            self._take(self._coordinator.unload(0, self._now_ms))
            for write in self._writes[: self._random.randint(0, len(self._writes))]:
                self._log.append(write.record)
            self._writes.clear()
        self.done["moved"] += 1
        self._coordinator = self._new_coordinator(replace(SETTINGS, max_size=self._random.choice((2, 100))))
        self._ask()
        self._coordinator.load(0)
        self._ask()
        self._take(self._coordinator.loaded(0, self._log.read(0), self._now_ms))
        self._knows_more = self._is_undeleted = False

    def _delete(self) -> None:
        """DeleteGroups: refused as long as there are members."""
        group = self._coordinator.group(GROUP)
        if group is None or group.state is GroupState.EMPTY:
            self._take(self._coordinator.delete(GROUP))
            self.done["deleted"] += group is not None
            return
        with suppress(ValueError):
            self._coordinator.delete(GROUP)
            raise AssertionError(f"a group that is {group.state} was deleted")

    def _script(self) -> None:
        """What the scripted broker does without a request of a member's."""
        if self._random.random() < 0.5:
            self._take(self._coordinator.begin_rebalance(GROUP, self._now_ms))
        else:
            group = self._coordinator.group(GROUP)
            names = ["nobody", *(group.members if group is not None else ())]
            self._coordinator.keep_alive(GROUP, self._random.choice(names), self._now_ms)

    # What must hold --------------------------------------------------------------------------------------------------

    def _take(self, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Write):
                self._begin_write(output)
            else:
                self._answered(output)

    def _begin_write(self, write: Write) -> None:
        """A leader may send its assignment again before the log has the first: then the log has the second one, too.

        As in Kafka, whose GroupCoordinator takes the first that is written (doSyncGroup, and its putCacheCallback).
        """
        others = (other.record for other in self._writes)
        new = write.record
        if isinstance(new, GroupRecord) and any(
            isinstance(other, GroupRecord) and other.generation == new.generation for other in others
        ):
            self._written_twice = new.generation
        self._writes.append(write)

    def _answered(self, answer: Answered) -> None:
        request = self._asked.pop(answer.handle, None)
        assert request is not None, f"request {answer.handle} is answered twice"
        self.done[type(answer.response).__name__] += 1
        if isinstance(request, OffsetCommitRequest) and isinstance(answer.response, OffsetCommitResponse):
            self._expect_written(request, answer.response)
        self._drawer.learn(answer.handle, answer.response)

    def _expect_written(self, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
        records = [record for record in self._log.read(0) if isinstance(record, OffsetsRecord)]
        for partition, error in response.errors.items():
            wanted = {partition: request.offsets[partition]}
            is_written = any(record.offsets == wanted for record in records)
            assert error is not ErrorCode.NONE or is_written, f"{wanted} is acknowledged, and not in the log"

    def _compare(self) -> None:
        """A settled group is the one that is in the log."""
        group = self._coordinator.group(GROUP)
        if group is not None and (
            group.state not in (GroupState.EMPTY, GroupState.STABLE) or group.generation == self._written_twice
        ):
            return
        self.done["compared"] += 1
        other = self._new_coordinator()
        other.load(0)
        other.loaded(0, self._log.read(0), self._now_ms)
        assert _settled(group) == _settled(other.group(GROUP))


def _settled(group: Group | None) -> object:
    """What the log keeps of a group."""
    if group is None:
        return None
    assignments = {member.member_id: member.assignment for member in group.members.values()}
    record = group.record(assignments)
    members = sorted(record.members, key=lambda member: member.member_id)  # their order is nothing to rely on
    return group.state, replace(record, members=tuple(members)), group.offsets, group.static_ids
