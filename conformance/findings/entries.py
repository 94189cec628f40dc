"""The findings: what exploration says about the proposal, sentence by sentence.

Every property that a model of the published profile breaks stands in exactly one of them, with each model in which it
does; a test counts. There are nine such properties and four causes, one finding each: a path that is drawn wrong, an
order that the test plan has otherwise, what a draft leaves out, and a gate that Kafka has given up. Then what is no
violation: a dead end that is none, sentences that say two things, what no client can avoid, and time. `findings.toml`
has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from groupspec import diagrams
from groupspec.conformance.findings.runs import ModelRun, committed, run_svg_text
from groupspec.spec.datafile import Record, read_entries


class Finding(Record, frozen=True):
    """What exploration says about one sentence.

    Attributes:
        id: Lower case with hyphens.
        kind: *violation*: a property fails, because of what the sentence says. *omission*: because of what it leaves
            out. *dead end*: a run that cannot go on. *ambiguity*: the sentence allows two readings. *reachable*: what
            nobody wants and no client can avoid. *time*: what a theorem says.
        title: One line.
        sentence: What the source says, in its words.
        source: Which source, and where.
        shows: What exploration shows of it, and why.
        instead: What deployed systems do.
        difference: The entry of `spec.differences` that it belongs to; empty where the sources agree.
        test: Which test shows it, from the top of the repository.
        runs: The shortest runs; the first is drawn on the page.
        theorem: For time: which theorem.
    """

    id: str
    kind: Literal["violation", "omission", "dead end", "ambiguity", "reachable", "time"]
    title: str
    sentence: str
    source: str
    shows: str
    instead: str
    test: str
    difference: str = ""
    runs: tuple[ModelRun, ...] = ()
    theorem: str = ""

    @property
    def model(self) -> str:
        """The model of the first run; empty if there is none."""
        return self.runs[0].model if self.runs else ""

    @property
    def property_id(self) -> str:
        """What breaks in the first run, or is reached; empty if there is none."""
        return self.runs[0].property_id if self.runs else ""


FINDINGS: Final[Mapping[str, Finding]] = read_entries(Path(__file__).with_name("findings.toml"), Finding)
"""Every finding by its id."""


# As pages of the book need them ---------------------------------------------------------------------------------------


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
    steps = tuple(committed(first)["steps"])
    return Counterexample(finding, steps, run_svg_text(first), tuple(map(_also, others)))


def _also(run: ModelRun) -> Also:
    return Also(run.model, len(committed(run)["actions"]), run_svg_text(run))


def _boundary(theorem: str) -> str:
    """The picture of a theorem's boundary case."""
    assert diagrams.__file__ is not None
    return (Path(diagrams.__file__).resolve().parent / "generated" / "time" / f"{theorem}.svg").read_text("utf-8")
