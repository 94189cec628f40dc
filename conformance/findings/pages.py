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
    """A finding as its page shows it.

    Attributes:
        finding: Which.
        steps: The shortest run in words, one line a step; none where there is no run.
        picture: The same as SVG, or the boundary case of a theorem; empty if there is neither.
        also: The other runs.
    """

    finding: Finding
    steps: tuple[str, ...] = ()
    picture: str = ""
    also: tuple[Also, ...] = ()


def counterexamples() -> tuple[Counterexample, ...]:
    """Every finding, with the runs that are committed.

    Raises:
        UsageProblem: a committed run is missing or cannot be read.
    """
    return tuple(_shown(finding) for finding in FINDINGS.values())


def _shown(finding: Finding) -> Counterexample:
    if not finding.runs:
        return Counterexample(finding, picture=_boundary(finding.theorem) if finding.theorem else "")
    first, *others = finding.runs
    steps = tuple(runs.committed(first)["steps"])
    return Counterexample(finding, steps, runs.run_svg_text(first), tuple(map(_also, others)))


def _also(run: runs.ModelRun) -> Also:
    return Also(run.model, len(runs.committed(run)["actions"]), runs.run_svg_text(run))


def _boundary(theorem: str) -> str:
    """The picture of a theorem's boundary case."""
    assert diagrams.__file__ is not None
    return (Path(diagrams.__file__).resolve().parent / "generated" / "time" / f"{theorem}.svg").read_text("utf-8")
