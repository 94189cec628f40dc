"""The pages of the vectors: for every row that fires in one, the shortest run that brings it about, and the way home.

The files have every reachable state with every event; a page of them would help nobody. What a reader of a table wants
is one run to try: what happens, what must be sent on it, and how it goes on to normal operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groupspec.conformance import vectors
from groupspec.conformance.book.page import Page, page
from groupspec.conformance.book.text import prose
from groupspec.conformance.book.variants import Variant, variants
from groupspec.conformance.vectors import Pair, VectorFile, VectorStep, read_vectors, vector_files
from groupspec.conformance.vectors.subjects import PROFILE, SUBJECTS


@dataclass(frozen=True)
class VectorRun:
    """One row, and how it is brought about.

    Attributes:
        machine: Whose row.
        row: Its id.
        table: The address of the row in its table.
        steps: From before the first event up to the row.
        back: From there to normal operation; empty where nothing leads back.
        pairs: How many pairs of rows it is in.
    """

    machine: str
    row: str
    table: str
    steps: tuple[VectorStep, ...]
    back: tuple[VectorStep, ...]
    pairs: int


@cache
def files() -> tuple[tuple[str, VectorFile], ...]:
    """The files that ship with groupspec: name and content."""
    return tuple((file.name, read_vectors(file, any_spec=True)) for file in vector_files())


def page_of(file: VectorFile, machine: str) -> str:
    """The page of a file for the rows of one machine."""
    return f"vectors-{file.subject}-{file.rebalance}-{machine}.html"


@cache
def _runs(place: int) -> Mapping[tuple[str, str], VectorRun]:
    file = files()[place][1]
    shortest: dict[tuple[str, str], Pair] = {}
    count: dict[tuple[str, str], int] = {}
    for pair in file.pairs:
        for row in dict.fromkeys(pair.rows):
            count[pair.machine, row] = count.get((pair.machine, row), 0) + 1
        key = pair.machine, pair.rows[1]
        if key not in shortest or len(pair.run) < len(shortest[key].run):
            shortest[key] = pair
    found = {}
    for (machine, row), pair in shortest.items():
        if variant := _table_of(file, machine, row):
            steps = (*file.way_to(pair.start), *pair.run)
            found[machine, row] = VectorRun(machine, row, variant.row(row), steps, pair.back or (), count[machine, row])
    return found


def _table_of(file: VectorFile, machine: str, row: str) -> Variant | None:
    for variant in variants().get(machine, ()):
        covered = any(
            profile == PROFILE and file.rebalance in ("any", rebalance) for rebalance, profile in variant.covers
        )
        if covered and row in variant.table.by_id:
            return variant
    return None


def vectors_of(variant: Variant) -> Mapping[str, tuple[str, int]]:
    """Row of a table to the address of its run, and the number of pairs that it is in."""
    found = {}
    for place, (_, file) in enumerate(files()):
        for (machine, row), run in _runs(place).items():
            if machine == variant.table.name and _table_of(file, machine, row) == variant:
                found[row] = (f"{page_of(file, machine)}#{run.row}", run.pairs)
    return found


def _readme(start: str, end: str = "") -> str:
    """A part of the vectors' own text for readers: from where `start` first stands to before `end`, or to the end."""
    assert vectors.__file__ is not None
    text = (Path(vectors.__file__).parent / "README.md").read_text(encoding="utf-8")
    found = text[text.index(start) :]
    return found[: found.index(end)] if end else found


def pages() -> Iterator[Page]:
    """The list of files, and a page for each machine of each."""
    subjects = {subject.name: subject for subject in SUBJECTS}
    listed = []
    for place, (name, file) in enumerate(files()):
        by_machine = _by_machine(place)
        read_here = [(machine, page_of(file, machine)) for machine in by_machine]
        listed.append((name, file, read_here, subjects[file.subject]))
        for machine, runs in by_machine.items():
            order = list(variants()[machine][0].table.by_id)
            runs.sort(key=lambda run: (order.index(run.row) if run.row in order else len(order), run.row))
            protocol = file.rebalance if file.rebalance != "any" else "both protocols"
            title = f"{machine}: {file.subject}, {protocol}"
            yield page("runs", title, page_of(file, machine), name=name, runs=runs)
    yield page(
        "vectors",
        "Test data",
        intro=prose(_readme("# ", "|").partition("\n")[2]),
        format=prose(_readme("## The format"), top=1),
        files=listed,
    )


def _by_machine(place: int) -> dict[str, list[VectorRun]]:
    """The runs of a file by the machine whose row they bring about."""
    machines: dict[str, list[VectorRun]] = {}
    for run in _runs(place).values():
        machines.setdefault(run.machine, []).append(run)
    return machines
