"""Findings as pages of the book need them: words and pictures, from the committed runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from groupspec import diagrams
from groupspec.conformance.findings import runs
from groupspec.conformance.findings.entries import FINDINGS, Finding


@dataclass(frozen=True)
class Also:
    """The same in another model: its name, how many steps it takes, and the picture."""

    model: str
    length: int
    picture: str


@dataclass(frozen=True)
class Counterexample:
    """One finding as its page shows it; see `conformance/book/counterexamples.py` for what the attributes mean.

    Attributes:
        kind: As in `Finding`.
        shows: What exploration shows, and why.
        difference: The entry of the book of differences; may be empty.
        also: The same property in other models.
        theorem: Which theorem; may be empty.
    """

    id: str
    title: str
    kind: str
    sentence: str
    source: str
    property_id: str
    model: str
    shows: str
    steps: tuple[str, ...]
    picture: str
    instead: str
    test: str
    difference: str
    also: tuple[Also, ...]
    theorem: str


def counterexamples() -> tuple[Counterexample, ...]:
    """Every finding, with the runs that are committed.

    Raises:
        UsageProblem: a committed run is missing or cannot be read.
    """
    return tuple(_shown(finding) for finding in FINDINGS.values())


def _shown(finding: Finding) -> Counterexample:
    first = finding.runs[0] if finding.runs else None
    picture = _boundary(finding.theorem) if finding.theorem else ""
    return Counterexample(
        finding.id,
        finding.title,
        finding.kind,
        finding.sentence,
        finding.source,
        first.property_id if first else "",
        first.model if first else "",
        finding.shows,
        tuple(runs.committed(first)["steps"]) if first else (),
        runs.run_svg_text(first) if first else picture,
        finding.instead,
        finding.test,
        finding.difference,
        tuple(_also(run) for run in finding.runs[1:]),
        finding.theorem,
    )


def _also(run: runs.Run) -> Also:
    return Also(run.model, len(runs.committed(run)["actions"]), runs.run_svg_text(run))


def _boundary(theorem: str) -> str:
    """The picture of a theorem's boundary case."""
    assert diagrams.__file__ is not None
    return (Path(diagrams.__file__).resolve().parent / "generated" / "time" / f"{theorem}.svg").read_text("utf-8")
