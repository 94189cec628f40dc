"""From Arrow tables to the integers that the kernel reads, and from its findings back to words.

Within one file a partition keeps its number from the first batch to the last; everything else is looked up batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from groupspec.conformance.traces import kernel, ownership
from groupspec.conformance.traces.plain import says_late
from groupspec.conformance.traces.projection import Projection
from groupspec.conformance.traces.registers import UNKNOWN
from groupspec.conformance.traces.schema import ERROR_CODES, EVENT_CODES, EVENTS, SOURCE_CODES, Settings
from groupspec.conformance.traces.trace_rules import RULES, Violation, detail

_SETTINGS: Final = msgspec.json.Decoder(Settings)
_KEY: Final = ("run", "group", "member", "process")

Key = tuple[str, str, str, str]
Ints = npt.NDArray[np.int64]


class MemberCount(msgspec.Struct):
    """How much was judged."""

    events: int = 0
    members: int = 0
    unjudged_members: int = 0  # without a config event: settings and state unknown


class TableChecker:
    """Runs the kernel over tables that come in the layout's order, and keeps what it found.

    One checker reads one file, or anything else in that order that holds whole groups. `finish` adds what can only be
    said about a group as a whole.
    """

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.carry = kernel.Carry()
        self.partition_codes: dict[str, int] = {}
        self.partitions: list[str] = []
        self.last_key: Key | None = None
        self.violations: list[Violation] = []
        self.claims: list[Ints] = []
        self.members: list[Key] = []
        self.groups = 0
        self.count = MemberCount()

    def check(self, table: pa.Table) -> None:
        """Judges the next rows."""
        if table.num_rows == 0:
            return
        table = table.unify_dictionaries().combine_chunks()
        begins, group_of_row = self._begins(table)
        member_of_row = len(self.members) - 1 + np.cumsum(begins)
        self.members += [_key(table, int(row)) for row in np.flatnonzero(begins)]
        self._run(table, begins, group_of_row, member_of_row)
        self.count.events += table.num_rows
        self.count.members = len(self.members)
        self.last_key = _key(table, table.num_rows - 1)

    def finish(self) -> list[Violation]:
        """All violations, sorted, those of whole groups among them."""
        for conflict in ownership.find(self.claims):
            run, group, member, _ = self.members[conflict.member]
            self.violations.append(
                Violation(
                    run, group, member, conflict.seq, ownership.RULE, self._state(conflict.state),
                    EVENTS[conflict.event], conflict.at_us,
                    ownership.text(conflict.generation, self.partitions[conflict.partition], self.members[conflict.other][2]),
                )
            )  # fmt: skip
        self.claims = []
        return sorted(self.violations)

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

    def _run(self, table: pa.Table, begins: npt.NDArray[np.bool_], group_of_row: Ints, member_of_row: Ints) -> None:
        starts, parts = self._partitions(table)
        events = table["event_code"].to_numpy().astype(np.int64)
        seq, at_us = table["seq"].to_numpy(), table["at_us"].to_numpy()
        batch = (
            begins, seq, at_us, _lookup(table, "source", SOURCE_CODES, 0), events,
            _lookup(table, "error", ERROR_CODES, ERROR_CODES["OTHER"]),
            table["generation"].to_numpy().astype(np.int64), _late(table), starts, parts, *_settings(table, events),
        )  # fmt: skip
        findings, claims = self._judge(batch, table.num_rows)
        self._keep(table, findings)
        rows = claims[:, 0]
        columns = (
            group_of_row[rows], claims[:, 1], claims[:, 2], member_of_row[rows],
            seq[rows], at_us[rows], events[rows], claims[:, 3],
        )  # fmt: skip
        self.claims.append(np.stack(columns, axis=1))

    def _judge(self, batch: tuple[npt.NDArray[np.generic], ...], rows: int) -> tuple[Ints, Ints]:
        """Runs the kernel, again with more room if it found more than there was room for."""
        carry, projection = self.carry, self.projection
        carry.make_room(len(self.partitions))
        before = carry.copy()
        room = [1024, 2 * rows]
        run: Callable[..., tuple[int, int]] = kernel.judge
        while True:
            findings = np.empty((room[0], kernel.FINDING_COLUMNS), np.int64)
            claims = np.empty((room[1], kernel.CLAIM_COLUMNS), np.int64)
            found, claimed = run(
                *batch, carry.registers, carry.owned_by, carry.owned, carry.place,
                projection.symbols, projection.next_state, projection.start, projection.unknown,
                findings, claims,
            )  # fmt: skip
            if found <= room[0] and claimed <= room[1]:
                return findings[:found], claims[:claimed]
            room = [max(found, room[0]), max(claimed, room[1])]
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
        rows = table.select(["run", "group", "member", "seq", "event", "at_us"]).take(pa.array(findings[:, 0]))
        for finding, row in zip(findings.tolist(), rows.to_pylist(), strict=True):
            _, rule, a, b, partition, state = finding
            text = detail(rule, a, b, self.partitions[partition] if partition >= 0 else "")
            place = (row["run"], row["group"], row["member"], row["seq"])
            self.violations.append(
                Violation(*place, RULES[rule].id, self._state(state), row["event"], row["at_us"], text)
            )


# Single columns ----------------------------------------------------------------------------------------------------------


def _key(table: pa.Table, row: int) -> Key:
    run, group, member, process = (str(table[name][row].as_py()) for name in _KEY)
    return run, group, member, process


def _indices(table: pa.Table, name: str) -> Ints:
    codes: Ints = table[name].chunk(0).indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _changes(table: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    codes = _indices(table, name)
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
    answers = [says_late(msgspec.Raw(text)) for text in details.dictionary.to_pylist()]
    said = np.array([*(UNKNOWN if answer is None else int(answer) for answer in answers), UNKNOWN], np.int64)
    late: Ints = said[details.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return late


def _settings(table: pa.Table, events: Ints) -> tuple[Ints, Ints]:
    """For each config row its place in the list of settings, and the list."""
    rows = np.flatnonzero(events == EVENT_CODES["config"])
    place = np.full(len(events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    settings = np.zeros((len(rows), kernel.SETTING_COLUMNS), np.int64)
    for index, text in enumerate(table["detail"].take(pa.array(rows)).to_pylist()):
        one = _SETTINGS.decode(text)
        session_us, poll_us = one.session_timeout_ms * 1000, one.max_poll_interval_ms * 1000
        settings[index] = (one.rebalance == "eager", session_us, poll_us, one.static)
    return place, settings
