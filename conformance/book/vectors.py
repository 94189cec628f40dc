"""The pages of the vectors: for every row that fires in one, the shortest run that brings it about, and the way home.

The files have every reachable state with every event; a page of them would help nobody. What a reader of a table wants
is one run to try: what happens, what must be sent on it, and how it goes on to normal operation.
"""

from __future__ import annotations

from collections import Counter
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
from groupspec.spec.compiler import REBALANCES


@dataclass(frozen=True)
class VectorRun:
    """One row, and how it is brought about.

    Attributes:
        row: Its id.
        variant: The table that has it.
        steps: From before the first event up to the row.
        back: From there to normal operation; empty where nothing leads back.
        pairs: How many pairs of rows it is in.
    """

    row: str
    variant: Variant
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
def _runs(place: int) -> Mapping[str, list[VectorRun]]:
    """The runs of a file by the machine whose row they bring about: for each row the shortest."""
    file = files()[place][1]
    shortest: dict[tuple[str, str], Pair] = {}
    count: Counter[tuple[str, str]] = Counter()
    for pair in file.pairs:
        count.update((pair.machine, row) for row in set(pair.rows))
        key = pair.machine, pair.rows[1]
        if key not in shortest or len(pair.run) < len(shortest[key].run):
            shortest[key] = pair
    found: dict[str, list[VectorRun]] = {}
    for (machine, row), pair in shortest.items():
        if variant := _table_of(file, machine, row):
            steps = (*file.way_to(pair.start), *pair.run)
            run = VectorRun(row, variant, steps, pair.back or (), count[machine, row])
            found.setdefault(machine, []).append(run)
    return found


def _table_of(file: VectorFile, machine: str, row: str) -> Variant | None:
    """The table, followed by what the file is about, that has a row."""
    covered = [(r, PROFILE) for r in (REBALANCES if file.rebalance == "any" else (file.rebalance,))]
    found = (
        each for each in variants().get(machine, ()) if row in each.table.by_id and set(each.covers) & set(covered)
    )
    return next(found, None)


def vectors_of(variant: Variant) -> Mapping[str, tuple[str, int]]:
    """Row of a table to the address of its run, and the number of pairs that it is in."""
    machine = variant.table.name
    return {
        run.row: (f"{page_of(file, machine)}#{run.row}", run.pairs)
        for place, (_, file) in enumerate(files())
        for run in _runs(place).get(machine, ())
        if run.variant is variant
    }


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
        read_here = [(machine, page_of(file, machine)) for machine in _runs(place)]
        listed.append((name, file, read_here, subjects[file.subject]))
        for machine, runs in _runs(place).items():
            order = list(variants()[machine][0].table.by_id)
            ordered = sorted(runs, key=lambda run: (order.index(run.row) if run.row in order else len(order), run.row))
            protocol = file.rebalance if file.rebalance != "any" else "both protocols"
            title = f"{machine}: {file.subject}, {protocol}"
            yield page("runs", title, page_of(file, machine), name=name, runs=ordered)
    yield page(
        "vectors",
        "Test data",
        intro=prose(_readme("# ", "|").partition("\n")[2]),
        format=prose(_readme("## The format"), top=1),
        files=listed,
    )
