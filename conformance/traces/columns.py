"""From Arrow tables to the integers that the columnar checker reads, and from its findings back to words.

Within one file a partition keeps its number from the first batch to the last; everything else is looked up batch by
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from groupspec.conformance.bounds import heartbeat_bound_ms
from groupspec.conformance.traces import columnar, group_checks
from groupspec.conformance.traces.projection import Projection
from groupspec.conformance.traces.registers import UNKNOWN
from groupspec.conformance.traces.schema import (
    ERROR_CODES,
    EVENT_CODES,
    EVENTS,
    SOURCE_CODES,
    SOURCES,
    AnswerDetail,
    Settings,
)
from groupspec.conformance.traces.trace_rules import CODES, RULES, Violation, detail

_SETTINGS: Final = msgspec.json.Decoder(Settings)
_ANSWERS: Final = msgspec.json.Decoder(AnswerDetail)
_KEY: Final = ("run", "group", "member", "process")

Key = tuple[str, str, str, str]
Ints = npt.NDArray[np.int64]


class MemberCount(msgspec.Struct):
    """How much was judged."""

    events: int = 0
    members: int = 0
    unjudged_members: int = 0  # without a config event: settings and state unknown


class Place(NamedTuple):
    """Where a finding about a group stands: the member's number, and its event."""

    member: int
    seq: int
    at_us: int
    event: str
    state: str


class TableChecker:
    """Runs the columnar checker over tables that come in the layout's order, and keeps what it found.

    One checker reads one file, or anything else in that order that holds whole groups. `finish` adds what can only be
    said about a group as a whole.
    """

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.carry = columnar.Carry()
        self.partition_codes: dict[str, int] = {}
        self.partitions: list[str] = []
        self.last_key: Key | None = None
        self.violations: list[Violation] = []
        self.claims: list[Ints] = []
        self.terms: list[Ints] = []
        self.first_of: dict[tuple[str, str, str], int] = {}
        self.last_row: pa.Table | None = None
        self.members: list[Key] = []
        self.groups = 0
        self.sources: set[str] = set()
        self.count = MemberCount()

    def check(self, table: pa.Table) -> None:
        """Judges the next rows."""
        if table.num_rows == 0:
            return
        table = table.unify_dictionaries().combine_chunks()
        begins, group_of_row = self._begins(table)
        member_of_row = len(self.members) - 1 + np.cumsum(begins)
        self.members += _keys(table, np.flatnonzero(begins))
        self._run(table, begins, group_of_row, member_of_row)
        self.count.events += table.num_rows
        self.count.members = len(self.members)
        self.last_key = _key(table, table.num_rows - 1)
        self.last_row = table.slice(table.num_rows - 1)

    def finish(self) -> list[Violation]:
        """All violations, sorted, those of whole groups among them."""
        for conflict in group_checks.conflicts(self.claims):
            other = self.members[conflict.other][2]
            text = group_checks.text_of_conflict(conflict.generation, self.partitions[conflict.partition], other)
            place = Place(
                conflict.member, conflict.seq, conflict.at_us, EVENTS[conflict.event], self._state(conflict.state)
            )
            self._report(place, group_checks.TWO_OWNERS, text)
        if (last := columnar.last_term(self.carry.registers)) is not None:
            self.terms.append(np.array([[len(self.members) - 1, *last]], np.int64))
        for found in group_checks.findings(self.terms, self._groups()):
            other = self.members[found.other][2] if found.other >= 0 else ""
            place = Place(found.member, found.seq, found.at_us, found.event, "")
            self._report(place, found.rule, detail(CODES[found.rule], found.a, found.b, other=other))
        self.claims, self.terms = [], []
        return sorted(self.violations)

    def _groups(self) -> Ints:
        """The number of each member's group."""
        numbers: dict[tuple[str, str], int] = {}
        return np.array([numbers.setdefault(key[:2], len(numbers)) for key in self.members], np.int64)

    def _report(self, place: Place, rule: str, text: str) -> None:
        run, group, member, process = self.members[place.member]
        self.violations.append(
            Violation(run, group, member, place.seq, rule, place.state, place.event, place.at_us, text, process)
        )

    def _begins(self, table: pa.Table) -> tuple[npt.NDArray[np.bool_], Ints]:
        """Which rows begin a member, and the number of each row's group."""
        new_group = np.zeros(table.num_rows, np.bool_)
        for name in ("run", "group"):
            new_group[1:] |= _changes(table, name)
        new_group[0] = self.last_key is None or _key(table, 0)[:2] != self.last_key[:2]
        begins = new_group.copy()
        begins[1:] |= _changes(table, "member") | _changes(table, "process")
        begins[0] = _key(table, 0) != self.last_key
        first = np.flatnonzero(begins)
        configured = table["event_code"].to_numpy()[first] == EVENT_CODES["config"]
        self.count.unjudged_members += int(np.count_nonzero(~configured))
        group_of_row = self.groups - 1 + np.cumsum(new_group)
        self.groups += int(np.count_nonzero(new_group))
        return begins, group_of_row

    def _repeats(self, table: pa.Table, begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which rows say the same as the row before: lines that were delivered twice."""
        repeats = np.zeros(table.num_rows, np.bool_)
        seq = table["seq"].to_numpy()
        rows = np.flatnonzero((seq[1:] == seq[:-1]) & ~begins[1:]) + 1
        if len(rows):
            repeats[rows] = _same_rows(table.take(pa.array(rows)), table.take(pa.array(rows - 1)))
        if not begins[0] and self.last_row is not None and seq[0] == self.last_row["seq"][0].as_py():
            repeats[0] = self.last_row.to_pylist() == table.slice(0, 1).to_pylist()
        return repeats

    def _run(self, table: pa.Table, begins: npt.NDArray[np.bool_], group_of_row: Ints, member_of_row: Ints) -> None:
        starts, parts = self._partitions(table)
        events = table["event_code"].to_numpy().astype(np.int64)
        seq, at_us = table["seq"].to_numpy(), table["at_us"].to_numpy()
        sources = _lookup(table, "source", SOURCE_CODES, 0)
        self.sources.update(SOURCES[code] for code in np.flatnonzero(np.bincount(sources)))
        batch = (
            begins, self._repeats(table, begins), seq, at_us, sources, events,
            _lookup(table, "error", ERROR_CODES, ERROR_CODES["OTHER"]),
            table["generation"].to_numpy().astype(np.int64), _numbers(table, begins), _late(table),
            starts, parts, *_settings(table, events),
        )  # fmt: skip
        findings, claims, ended = self._judge(batch, table.num_rows)
        self._keep(table, findings)
        members = member_of_row[ended[:, 0]] - ended[:, 1]
        self.terms.append(np.column_stack([members, ended[:, 2:]]))
        rows = claims[:, 0]
        columns = (
            group_of_row[rows], claims[:, 1], claims[:, 2], member_of_row[rows],
            seq[rows], at_us[rows], events[rows], claims[:, 3], self._owners(member_of_row[rows], claims[:, 4]),
        )  # fmt: skip
        self.claims.append(np.stack(columns, axis=1))

    def _owners(self, members: Ints, static: Ints) -> Ints:
        """Who owns: the member.

        Of a static one all processes together, since one takes the other's place (rule G11).
        """
        owners = members.copy()
        for row in np.flatnonzero(static):
            member = int(members[row])
            owners[row] = self.first_of.setdefault(self.members[member][:3], member)
        return owners

    def _judge(self, batch: tuple[npt.NDArray[np.generic], ...], rows: int) -> tuple[Ints, Ints, Ints]:
        """Runs the columnar checker, again with more room if it found more than there was room for."""
        carry, projection = self.carry, self.projection
        carry.make_room(len(self.partitions))
        before = carry.copy()
        room = [1024, 2 * rows, rows + 1]
        widths = (columnar.FINDING_COLUMNS, columnar.CLAIM_COLUMNS, columnar.TERM_COLUMNS)
        run: Callable[..., tuple[int, int, int]] = columnar.judge
        while True:
            made = [np.empty((size, width), np.int64) for size, width in zip(room, widths, strict=True)]
            counts = run(
                *batch, carry.registers, carry.owned_by, carry.owned, carry.place,
                projection.symbols, projection.next_state, projection.start, projection.unknown, *made,
            )  # fmt: skip
            if all(count <= size for count, size in zip(counts, room, strict=True)):
                findings, claims, ended = (one[:count] for one, count in zip(made, counts, strict=True))
                return findings, claims, ended
            room = [max(count, size) for count, size in zip(counts, room, strict=True)]
            carry = self.carry = before.copy()

    def _partitions(self, table: pa.Table) -> tuple[Ints, Ints]:
        """Where each row's partitions begin, and their numbers."""
        column = table["partitions"].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0)
        offsets = column.offsets.to_numpy().astype(np.int64)
        names = column.flatten().dictionary_encode()
        codes = np.array([self._partition_code(name) for name in names.dictionary.to_pylist()], np.int64)
        indices = names.indices.to_numpy(zero_copy_only=False)
        return offsets - offsets[0], codes[indices] if len(indices) else np.zeros(0, np.int64)

    def _partition_code(self, name: str) -> int:
        code = self.partition_codes.setdefault(name, len(self.partition_codes))
        if code == len(self.partitions):
            self.partitions.append(name)
        return code

    def _state(self, state: int) -> str:
        return self.projection.names[state] if state >= 0 else ""

    def _keep(self, table: pa.Table, findings: Ints) -> None:
        """The findings as words."""
        names = ["run", "group", "member", "seq", "event", "at_us", "process"]
        rows = table.select(names).take(pa.array(findings[:, 0]))
        for finding, row in zip(findings.tolist(), rows.to_pylist(), strict=True):
            _, rule, a, b, partition, state = finding
            text = detail(rule, a, b, self.partitions[partition] if partition >= 0 else "")
            place = (row["run"], row["group"], row["member"], row["seq"])
            self.violations.append(
                Violation(*place, RULES[rule].id, self._state(state), row["event"], row["at_us"], text, row["process"])
            )


# Single columns
# ----------------------------------------------------------------------------------------------------------


def _key(table: pa.Table, row: int) -> Key:
    return _keys(table, np.array([row]))[0]


def _keys(table: pa.Table, rows: Ints) -> list[Key]:
    """Whose these rows are."""
    places = pa.array(rows)
    run, group, member, process = (table[name].chunk(0).take(places).to_pylist() for name in _KEY)
    return list(zip(run, group, member, process, strict=True))


def _same_rows(some: pa.Table, others: pa.Table) -> npt.NDArray[np.bool_]:
    """Which of these pairs of rows agree in every column."""
    same = np.ones(some.num_rows, np.bool_)
    for field in some.schema:
        one, two = (table[field.name].combine_chunks() for table in (some, others))
        if pa.types.is_list(field.type):
            same &= np.array([a == b for a, b in zip(one.to_pylist(), two.to_pylist(), strict=True)], np.bool_)
            continue
        equal = pc.fill_null(pc.equal(one, two), False).to_numpy(zero_copy_only=False)
        neither = pc.and_(pc.is_null(one), pc.is_null(two)).to_numpy(zero_copy_only=False)
        same &= equal | neither
    return same


def _numbers(table: pa.Table, begins: npt.NDArray[np.bool_]) -> Ints:
    """A number for each row's member id; 0: none. Ids change seldom: only where they do is one looked up."""
    codes = table["member_id"].chunk(0).indices.to_numpy(zero_copy_only=False)
    changes = begins.copy()
    changes[0] = True
    changes[1:] |= codes[1:] != codes[:-1]
    rows = np.flatnonzero(changes)
    names = table["member_id"].chunk(0).take(pa.array(rows)).to_pylist()
    lengths = np.diff(np.append(rows, len(codes)))
    return np.repeat(np.array([_number(name) for name in names], np.int64), lengths)


def _number(name: str) -> int:
    """The same in every process and batch; 0 for no name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big") + 1 if name else 0


def _indices(table: pa.Table, name: str) -> Ints:
    codes: Ints = table[name].chunk(0).indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _changes(table: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    codes = table[name].chunk(0).indices.to_numpy(zero_copy_only=False)  # these columns have no nulls
    changes: npt.NDArray[np.bool_] = codes[1:] != codes[:-1]
    return changes


def _lookup(table: pa.Table, name: str, codes: Mapping[str, int], otherwise: int) -> Ints:
    """The number of each row's word; no word is number 0."""
    words = table[name].chunk(0).dictionary.to_pylist()
    numbers = np.array([*(codes.get(word, otherwise) for word in words), 0], np.int64)
    return numbers[_indices(table, name)]


def _late(table: pa.Table) -> Ints:
    """What the rows say of being late: NO, YES, or UNKNOWN. Details repeat: each distinct one is decoded once."""
    details = table["detail"].combine_chunks().dictionary_encode()
    if isinstance(details, pa.ChunkedArray):
        details = details.chunk(0)
    answers = [_ANSWERS.decode(text).late for text in details.dictionary.to_pylist()]
    said = np.array([*(int(late) if isinstance(late, bool) else UNKNOWN for late in answers), UNKNOWN], np.int64)
    late: Ints = said[details.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return late


def _settings(table: pa.Table, events: Ints) -> tuple[Ints, Ints]:
    """For each config row its place in the list of settings, and the list."""
    rows = np.flatnonzero(events == EVENT_CODES["config"])
    place = np.full(len(events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    settings = np.zeros((len(rows), columnar.SETTING_COLUMNS), np.int64)
    for index, text in enumerate(table["detail"].take(pa.array(rows)).to_pylist()):
        one = _SETTINGS.decode(text)
        session_us, poll_us = one.session_timeout_ms * 1000, one.max_poll_interval_ms * 1000
        bound_us = heartbeat_bound_ms(one.heartbeat_interval_ms) * 1000 if one.heartbeat_interval_ms else 0
        said = (one.lost_callback, one.listener)
        settings[index] = (one.rebalance == "eager", session_us, poll_us, one.static, bound_us, *said)
    return place, settings
