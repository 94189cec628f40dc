"""From Arrow tables to the integers that the columnar checker reads, and from its findings back to words.

Within one file a partition keeps its number from the first batch to the last; everything else is looked up batch by
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from groupspec.conformance.bounds import heartbeat_bound_ms
from groupspec.conformance.traces import columnar, group_checks
from groupspec.conformance.traces.projection import Projection
from groupspec.conformance.traces.registers import TERM_COLUMNS, UNKNOWN, Carry
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
Bools = npt.NDArray[np.bool_]


class TableChecker:
    """Runs the columnar checker over tables that come in the layout's order, and keeps what it found.

    One checker reads one file, or anything else in that order that holds whole groups. `finish` adds what can only be
    said about a group as a whole.
    """

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.carry = Carry()
        self.partitions: dict[str, int] = {}  # the number of each
        self.member_ids = {"": 0}  # and of each member id
        self.violations: list[Violation] = []
        self.claims: list[Ints] = []
        self.terms: list[Ints] = []
        self.first_of: dict[tuple[str, str, str], int] = {}
        self.last_row: pa.Table | None = None
        self.members: list[Key] = []
        self.groups = 0
        self.sources: set[str] = set()
        self.events = 0
        self.unjudged_members = 0  # without a config event: settings and state unknown

    def check(self, table: pa.Table) -> None:
        """Judges the next rows."""
        if table.num_rows == 0:
            return
        table = table.unify_dictionaries().combine_chunks()
        begins, group_of_row = self._begins(table)
        member_of_row = len(self.members) - 1 + np.cumsum(begins)
        self.members += _keys(table, np.flatnonzero(begins))
        self._run(table, begins, group_of_row, member_of_row)
        self.events += table.num_rows
        self.last_row = table.slice(table.num_rows - 1)

    def finish(self) -> list[Violation]:
        """All violations, sorted, those of whole groups among them."""
        names = list(self.partitions)
        for one in group_checks.conflicts(self.claims):
            text = group_checks.text_of_conflict(one.generation, names[one.partition], self.members[one.other][2])
            place = (one.seq, group_checks.TWO_OWNERS, self._state(one.state), EVENTS[one.event], one.at_us)
            self._report(self.members[one.member], place, text)
        if (last := self.carry.last_term()) is not None:
            self.terms.append(np.array([[len(self.members) - 1, *last]], np.int64))
        for found in group_checks.findings(self.terms, self._groups()):
            other = self.members[found.other][2] if found.other >= 0 else ""
            text = detail(CODES[found.rule], found.a, found.b, other=other)
            self._report(self.members[found.member], (found.seq, found.rule, "", found.event, found.at_us), text)
        self.claims, self.terms = [], []
        return sorted(self.violations)

    def _groups(self) -> Ints:
        """The number of each member's group."""
        numbers: dict[tuple[str, str], int] = {}
        return np.array([numbers.setdefault(key[:2], len(numbers)) for key in self.members], np.int64)

    def _report(self, whose: Key, place: tuple[int, str, str, str, int], text: str) -> None:
        """`place`: the event's number, the rule, the state before it, the event, and when."""
        run, group, member, process = whose
        self.violations.append(Violation(run, group, member, *place, text, process))

    def _begins(self, table: pa.Table) -> tuple[Bools, Ints]:
        """Which rows begin a member, and the number of each row's group."""
        new_group = np.zeros(table.num_rows, np.bool_)
        new_group[1:] = _changes(table, "run") | _changes(table, "group")
        [first] = _keys(table, np.array([0]))
        last = self.members[-1] if self.members else None
        new_group[0] = last is None or first[:2] != last[:2]
        begins = new_group.copy()
        begins[1:] |= _changes(table, "member") | _changes(table, "process")
        begins[0] = first != last
        configured = table["event_code"].to_numpy()[begins] == EVENT_CODES["config"]
        self.unjudged_members += int(np.count_nonzero(~configured))
        group_of_row = self.groups - 1 + np.cumsum(new_group)
        self.groups += int(np.count_nonzero(new_group))
        return begins, group_of_row

    def _repeats(self, table: pa.Table, begins: Bools) -> Bools:
        """Which rows say the same as the row before: lines that were delivered twice."""
        repeats = np.zeros(table.num_rows, np.bool_)
        seq = table["seq"].to_numpy()
        rows = np.flatnonzero((seq[1:] == seq[:-1]) & ~begins[1:]) + 1
        these, before = (table.take(pa.array(places)).to_pylist() for places in (rows, rows - 1))
        repeats[rows] = [this == other for this, other in zip(these, before, strict=True)]
        if not begins[0] and self.last_row is not None and seq[0] == self.last_row["seq"][0].as_py():
            repeats[0] = self.last_row.to_pylist() == table.slice(0, 1).to_pylist()
        return repeats

    def _run(self, table: pa.Table, begins: Bools, group_of_row: Ints, member_of_row: Ints) -> None:
        starts, parts = self._partitions(table)
        events = table["event_code"].to_numpy().astype(np.int64)
        seq, at_us = table["seq"].to_numpy(), table["at_us"].to_numpy()
        sources = _lookup(table, "source", SOURCE_CODES, 0)
        self.sources.update(SOURCES[code] for code in np.flatnonzero(np.bincount(sources)))
        self.carry.make_room(len(self.partitions))
        run: Callable[..., tuple[int, int, int, int]] = columnar.judge
        batch = (
            begins, self._repeats(table, begins), seq, at_us, sources, events,
            _lookup(table, "error", ERROR_CODES, ERROR_CODES["OTHER"]),
            table["generation"].to_numpy().astype(np.int64), self._ids(table), _late(table), _throttles(table),
            starts, parts, *_settings(table, events), self.carry.registers, self.carry.owned, *self.projection[:4],
        )  # fmt: skip
        rooms = (
            (columnar.MOST_FINDINGS * 64 + len(parts), columnar.FINDING_COLUMNS),
            (table.num_rows + len(parts) + len(self.partitions), columnar.CLAIM_COLUMNS),
            (table.num_rows + 1, TERM_COLUMNS),
        )
        done = 0
        while done < table.num_rows:
            made = [np.empty(room, np.int64) for room in rooms]
            done, *counts = run(done, *batch, *made)
            findings, claims, ended = (one[:count] for one, count in zip(made, counts, strict=True))
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

    def _partitions(self, table: pa.Table) -> tuple[Ints, Ints]:
        """Where each row's partitions begin, and their numbers."""
        column = table["partitions"].chunk(0)
        offsets = column.offsets.to_numpy().astype(np.int64)
        names = column.flatten().dictionary_encode()
        numbers = [self.partitions.setdefault(name, len(self.partitions)) for name in names.dictionary.to_pylist()]
        indices = names.indices.to_numpy(zero_copy_only=False)
        return offsets - offsets[0], np.array(numbers, np.int64)[indices]

    def _ids(self, table: pa.Table) -> Ints:
        """A number for each row's member id; 0: none. Ids change seldom: only where they do is one looked up."""
        column = table["member_id"].chunk(0)
        first = np.flatnonzero(np.append(True, _changes(table, "member_id")))
        names = column.take(pa.array(first)).to_pylist()
        numbers = np.array([self.member_ids.setdefault(name, len(self.member_ids)) for name in names], np.int64)
        return np.repeat(numbers, np.diff(np.append(first, len(column))))

    def _state(self, state: int) -> str:
        return self.projection.names[state] if state >= 0 else ""

    def _keep(self, table: pa.Table, findings: Ints) -> None:
        """The findings as words."""
        names = list(self.partitions)
        rows = findings[:, 0]
        places = (table[name].take(pa.array(rows)).to_pylist() for name in ("seq", "event", "at_us"))
        for (_, rule, a, b, partition, state), whose, seq, event, at_us in zip(
            findings.tolist(), _keys(table, rows), *places, strict=True
        ):
            text = detail(rule, a, b, names[partition] if partition >= 0 else "")
            self._report(whose, (seq, RULES[rule].id, self._state(state), event, at_us), text)


# Single columns


def _keys(table: pa.Table, rows: Ints) -> list[Key]:
    """Whose these rows are."""
    places = pa.array(rows)
    run, group, member, process = (table[name].chunk(0).take(places).to_pylist() for name in _KEY)
    return list(zip(run, group, member, process, strict=True))


def _indices(table: pa.Table, name: str) -> Ints:
    codes: Ints = table[name].chunk(0).indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _changes(table: pa.Table, name: str) -> Bools:
    codes = table[name].chunk(0).indices.to_numpy(zero_copy_only=False)  # these columns have no nulls
    changes: Bools = codes[1:] != codes[:-1]
    return changes


def _lookup(table: pa.Table, name: str, codes: Mapping[str, int], otherwise: int) -> Ints:
    """The number of each row's word; no word is number 0."""
    words = table[name].chunk(0).dictionary.to_pylist()
    numbers = np.array([*(codes.get(word, otherwise) for word in words), 0], np.int64)
    return numbers[_indices(table, name)]


def _late(table: pa.Table) -> Ints:
    """What the rows say of being late: NO, YES, or UNKNOWN. Details repeat: each distinct one is decoded once."""
    details = table["detail"].chunk(0).dictionary_encode()
    answers = [_ANSWERS.decode(text).late for text in details.dictionary.to_pylist()]
    said = np.array([*(int(late) if isinstance(late, bool) else UNKNOWN for late in answers), UNKNOWN], np.int64)
    late: Ints = said[details.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return late


def _throttles(table: pa.Table) -> Ints:
    """What the rows say of a throttle, in us; nothing, where the column is missing."""
    if "throttle_time_ms" not in table.column_names:
        return np.zeros(table.num_rows, np.int64)
    throttles: Ints = table["throttle_time_ms"].to_numpy().astype(np.int64) * 1000
    return throttles


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
