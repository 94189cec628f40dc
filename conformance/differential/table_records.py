"""What the table's group knows of its members: the records that its words speak of, and the answers' contents.

Written from the words' meanings in `groupspec.spec.broker_group`, and not from the reference coordinator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from groupspec.impl.coordinator.context import Handle
from groupspec.impl.core.messages import ErrorCode, JoinedMember, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse

NEW_MEMBER_MS = 300_000


@dataclass
class Row:
    """A member."""

    member_id: str
    instance: str | None
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    session_ms: int
    rebalance_ms: int
    deadline_ms: int
    join: Handle | None = None
    sync: Handle | None = None
    assignment: bytes = b""
    is_new: bool = True
    is_synced: bool = False

    @property
    def is_awaiting(self) -> bool:
        """Whether a request of it awaits its answer, and it is not new."""
        return not self.is_new and (self.join is not None or self.sync is not None)


@dataclass
class Records:
    """All members, in the order in which they came, and pending ids with their deadlines."""

    choose: Callable[[str, int, tuple[str, ...]], str]
    rows: dict[str, Row] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    leader: str | None = None
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    stored: Records | None = None

    # The log ---------------------------------------------------------------------------------------------------------

    def store(self) -> None:
        """The group's record in the log is that of now: of its protocols each member has the chosen one in it."""
        rows = {
            row.member_id: replace(
                row, protocols=self._in_the_log(row), join=None, sync=None, is_new=False, is_synced=True
            )
            for row in self.rows.values()
        }
        self.stored = replace(self, rows=rows, pending={}, stored=None)

    def _in_the_log(self, row: Row) -> tuple[tuple[str, bytes], ...]:
        return tuple(each for each in row.protocols if each[0] == self.protocol)[:1]

    def restore(self, now_ms: int) -> None:
        """What is in the log holds again, and every session begins anew."""
        found = self.stored or Records(self.choose)
        self.rows = {
            each.member_id: replace(each, deadline_ms=now_ms + each.session_ms) for each in found.rows.values()
        }
        self.pending = {}
        self.leader, self.generation = found.leader, found.generation
        self.protocol_type, self.protocol = found.protocol_type, found.protocol

    # What guards ask -------------------------------------------------------------------------------------------------

    def instance_holder(self, instance: str | None) -> str | None:
        """Whose instance id this is."""
        held = (row.member_id for row in self.rows.values() if instance is not None and row.instance == instance)
        return next(held, None)

    def requester(self, member_id: str, instance: str | None, pending_first: bool) -> str:
        """Whose id a request names; pending ids count for JoinGroup and LeaveGroup only."""
        if not member_id:
            return "none"
        if pending_first and member_id in self.pending:
            return "pending"
        holder = self.instance_holder(instance)
        if holder is not None and holder != member_id:
            return "fenced"
        return "member" if member_id in self.rows and (instance is None or holder) else "unknown"

    @property
    def waiting(self) -> list[Row]:
        """Whose JoinGroup awaits."""
        return [row for row in self.rows.values() if row.join is not None]

    @property
    def all_joined(self) -> bool:
        """Everybody has joined, and no id is pending."""
        return len(self.waiting) == len(self.rows) and not self.pending

    @property
    def members_left(self) -> bool:
        """Somebody stays when dynamic members that have not joined are dropped."""
        return any(row.join is not None or row.instance is not None for row in self.rows.values())

    @property
    def rebalance_ms(self) -> int:
        """The longest rebalance timeout."""
        return max((row.rebalance_ms for row in self.rows.values()), default=0)

    def accepts(self, request: JoinGroupRequest, is_empty: bool) -> bool:
        """Whether what it brings has a protocol that all members support."""
        names = {name for name, _ in request.protocols}
        if is_empty:
            return bool(names and request.protocol_type)
        common = [name for name in names if all(name in dict(row.protocols) for row in self.rows.values())]
        return request.protocol_type == self.protocol_type and bool(common)

    def elected(self, changed: str = "", protocols: tuple[tuple[str, bytes], ...] = ()) -> str:
        """The protocol with most votes, if the member `changed` had these protocols."""
        lists = [protocols if each == changed else row.protocols for each, row in self.rows.items()]
        common = set.intersection(*({name for name, _ in each} for each in lists))
        votes = Counter(next(name for name, _ in each if name in common) for each in lists)
        most = tuple(name for name, count in votes.items() if count == max(votes.values()))
        return most[0] if len(most) == 1 else self.choose("protocol", self.generation + 1, most)

    # What words do ---------------------------------------------------------------------------------------------------

    def add(self, request: JoinGroupRequest, member_id: str, now_ms: int) -> None:
        """The requester is a member, new until the join phase completes."""
        if not self.rows:
            self.protocol_type = request.protocol_type
        self.rows[member_id] = Row(
            member_id,
            request.group_instance_id,
            request.protocol_type,
            request.protocols,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            now_ms + NEW_MEMBER_MS,
        )
        self.leader = self.leader or member_id

    def remove(self, member_id: str) -> Row:
        """The member is gone; if it led, another leads."""
        row = self.rows.pop(member_id)
        if self.leader == member_id:
            self.leader = self.one_of(tuple(self.rows))
        return row

    def one_of(self, possible: tuple[str, ...]) -> str | None:
        """Somebody."""
        if len(possible) < 2:
            return possible[0] if possible else None
        return self.choose("leader", self.generation + 1, possible)

    def replace(self, old_id: str, new_id: str, now_ms: int) -> Row:
        """The requester takes the place of the member with its instance id."""
        row = self.rows.pop(old_id)
        self.rows[new_id] = new = Row(
            new_id, row.instance, row.protocol_type, row.protocols, row.session_ms, row.rebalance_ms,
            now_ms + row.session_ms, assignment=row.assignment, is_new=False, is_synced=row.is_synced,
        )  # fmt: skip
        if self.leader == old_id:
            self.leader = new_id
        return new

    def complete(self, now_ms: int) -> None:
        """The generation grows by one, and has a leader that has joined."""
        for row in [row for row in self.rows.values() if row.join is None and row.instance is None]:
            self.remove(row.member_id)
        joined = tuple(row.member_id for row in self.waiting)
        if self.leader not in joined:
            self.leader = self.one_of(joined)
        self.protocol = self.elected()
        self.generation += 1
        for row in self.rows.values():
            row.deadline_ms = now_ms + row.session_ms
            row.is_new = row.is_synced = False

    # Answers ---------------------------------------------------------------------------------------------------------

    def joined(self, row: Row) -> JoinGroupResponse:
        """The generation as it is."""
        described = tuple(
            JoinedMember(each.member_id, each.instance, dict(each.protocols).get(self.protocol or "", b""))
            for each in self.rows.values()
        )
        leads = self.leader == row.member_id
        return JoinGroupResponse(
            ErrorCode.NONE, self.generation, self.protocol or "", self.leader or "", row.member_id,
            described if leads else (), protocol_type=self.protocol_type,
        )  # fmt: skip

    def synced(self, row: Row) -> SyncGroupResponse:
        """The member's assignment."""
        return SyncGroupResponse(ErrorCode.NONE, row.assignment, self.protocol_type, self.protocol)
