"""What the report is made from: the JSON that the other commands write, typed, and nothing else.

The report never runs anything. Whatever it shows was written by `groupspec conform --report`, `test`, `trace check` and
`trace why`, so that a report can be made again, elsewhere and later, from a folder of results. Fields that the report
does not show are not read; a later version of a file may have more of them.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from groupspec.conformance.errors import EXIT_INTERNAL, UsageProblem
from groupspec.conformance.outside import contents, decoded

Read = TypeVar("Read")


class VerdictRow(msgspec.Struct, frozen=True):
    """One rule in one case, of one client."""

    scenario: str
    rule: str
    level: str
    verdict: str
    reason: str
    replay: str
    variant: str = ""
    poll_ms: int = 0
    seconds: float = 0.0
    runs: int = 1
    folder: str = ""
    at_ms: float | None = None
    trace_seq: int | None = None
    counts: dict[str, int] = {}
    certain: bool = False
    flaps: bool = False
    symptom_of: str = ""
    docket: str = ""

    @property
    def how_sure(self) -> str:
        """In a few words: `3 of 5 runs, flaps`."""
        shown = f"{self.counts.get(self.verdict, self.runs)} of {self.runs} run{'s' if self.runs > 1 else ''}"
        return f"{shown}, flaps" if self.flaps else shown

    @property
    def case(self) -> str:
        """The scenario and, after a slash, its variant."""
        return f"{self.scenario}/{self.variant}" if self.variant else self.scenario


class Crash(msgspec.Struct, frozen=True):
    """One way in which a client's process or its harness broke off."""

    reason: str
    cases: tuple[str, ...]
    runs: int
    stderr: str


class ClientVerdicts(msgspec.Struct, frozen=True):
    """One client, and everything that was said about it."""

    name: str
    version: str
    results: tuple[VerdictRow, ...]
    crashes: tuple[Crash, ...] = ()
    client: str = ""


class Conform(msgspec.Struct, frozen=True):
    """`conform.json`."""

    clients: tuple[ClientVerdicts, ...]
    seconds: float
    seed: int = 0
    stopped: str = ""
    rules: tuple[str, ...] = ()
    groupspec: str = ""


class Count(msgspec.Struct, frozen=True):
    """So many of so many."""

    covered: int
    total: int = 0
    feasible: int = 0

    @property
    def of(self) -> int:
        """What it is counted against."""
        return self.total or self.feasible

    @property
    def percent(self) -> float:
        """0 to 100."""
        return 100.0 * self.covered / self.of if self.of else 0.0


class Generated(msgspec.Struct, frozen=True):
    """`groupspec test --json`: one run of the generated suite. `coverage` is table label -> row id -> hits.

    `infeasible` are transitions that a table has for completeness and that no run of the composed member reaches.
    """

    driver: str
    transitions: Count
    pairs: Count
    steps: int
    seconds: float
    failures: tuple[str, ...] = ()
    coverage: dict[str, dict[str, int]] = {}
    infeasible: dict[str, tuple[str, ...]] = {}


class TraceViolation(msgspec.Struct, frozen=True):
    """One broken rule in a recorded trace."""

    rule: str
    run: str
    group: str
    member: str
    seq: int
    state: str
    event: str
    detail: str = ""
    process: str = ""


class TraceCheck(msgspec.Struct, frozen=True):
    """`groupspec trace check --json`."""

    engine: str
    events: int
    members: int
    groups: int
    quarantined: dict[str, int]
    violations: tuple[TraceViolation, ...]
    seconds: float
    recording: tuple[TraceViolation, ...] = ()
    notices: tuple[TraceViolation, ...] = ()


class Pictures(msgspec.Struct, frozen=True):
    """`groupspec render --json`."""

    files: tuple[str, ...]


class Line(msgspec.Struct, frozen=True):
    """A line of a log, quoted."""

    file: str
    line: int
    text: str


class Rebalance(msgspec.Struct, frozen=True):
    """One rebalance, explained."""

    generation: int
    at_ms: int
    cause: str
    member: str
    outcome: str
    members: int
    duration_ms: int
    follow_up: bool
    alternatives: tuple[str, ...]
    evidence: tuple[Line, ...]
    advice: str


class Why(msgspec.Struct, frozen=True):
    """`groupspec trace why --json`."""

    group: str
    rebalances: tuple[Rebalance, ...]
    seconds: float


class Step(msgspec.Struct, frozen=True):
    """One part of the run that the report is about: what was done, how it ended, and how to do it again.

    `said` is why there is no result.
    """

    id: str
    name: str
    status: Literal["ok", "failed", "left out"]
    exit_code: int = EXIT_INTERNAL
    seconds: float = 0.0
    command: str = ""
    said: str = ""


def read(file: Path, kind: type[Read]) -> Read:
    """The contents of a result.

    Raises:
        UsageProblem: it is not there, or is something else.
    """
    try:
        return decoded(msgspec.json.Decoder(kind).decode, contents(file))
    except (OSError, ValueError, zlib.error) as problem:
        raise UsageProblem(
            f"this is no result of groupspec: {problem}",
            where=str(file),
            allowed=f"what `--json` of the command for {kind.__name__} writes",
            next_step="run that command again with --json",
        ) from problem
