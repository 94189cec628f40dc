"""What a campaign found out, as data: a verdict for each rule of each case and client, and how processes ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from groupspec.conformance.checks.verdicts import Combined, Judgement, Verdict, exit_code
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import Entry as DocketEntry
from groupspec.conformance.wire.rule_choice import EVERY_RULE


@dataclass(frozen=True)
class Row:
    """The verdict on one rule of one case, over all its runs.

    Attributes:
        folder: Where the log and the diagram of the run are that `combined` tells of; "" if none were written.
        at_ms: When it showed, since the beginning of that run.
        trace_seq: The last event of that run's trace up to then; None if none was written.
        symptom_of: The rule whose breach in that run this is a symptom of: one stall of the client breaks several.
        docket: The entry of the docket that explains it; None if there is none.
        no_worse: A baseline has the same case no better.
    """

    case: Case
    rule: str
    combined: Combined
    seconds: float
    replay: str
    folder: str = ""
    at_ms: float | None = None
    trace_seq: int | None = None
    symptom_of: str = ""
    docket: DocketEntry | None = None
    no_worse: bool = False

    @property
    def judgement(self) -> Judgement:
        """Of the run that this row describes."""
        return self.combined.judgement


@dataclass(frozen=True)
class Crash:
    """One way in which a client's process or its harness ended, told once, however many runs it ended."""

    reason: str
    cases: tuple[str, ...]
    runs: int
    stderr: str


@dataclass(frozen=True)
class ClientResult:
    """One client's rows, and how its process broke off."""

    client: Client
    name: str
    version: str
    rows: Sequence[Row]
    crashes: Sequence[Crash] = ()

    def verdicts(self) -> list[Verdict]:
        """Of its rows."""
        return [row.judgement.verdict for row in self.rows]


@dataclass(frozen=True)
class Campaign:
    """Everything that one `groupspec conform` found out.

    Attributes:
        seconds: How long it took.
        seed: What drew the order of the runs.
        jobs: Runs at the same time.
        repeat: Runs of each case that were asked for.
        stopped: What is wrong with it, if the user stopped it; cases without a run are left out of the clients' rows.
        allowed: Rules whose FAIL is told, and does not count for the exit code.
        rules: Those that verdicts were asked for.
    """

    clients: Sequence[ClientResult]
    seconds: float = 0.0
    seed: int = 0
    jobs: int = 1
    repeat: int = 1
    stopped: str = ""
    allowed: frozenset[str] = frozenset()
    rules: frozenset[str] = field(default_factory=lambda: EVERY_RULE)

    def verdicts(self) -> list[Verdict]:
        """All of them."""
        return [verdict for client in self.clients for verdict in client.verdicts()]

    def allows(self, row: Row) -> bool:
        """Whether it is a FAIL that does not count: of a rule that may be broken, or no worse than a baseline."""
        return (row.no_worse or row.rule in self.allowed) and row.judgement.verdict is Verdict.FAIL

    def exit_code(self) -> int:
        """What `groupspec conform` ends with: a FAIL that does not count, counts as a DEVIATION does."""
        return exit_code(
            [
                Verdict.DEVIATION if self.allows(row) else row.judgement.verdict
                for row in client.rows
                if not (row.no_worse and row.judgement.verdict is Verdict.INCONCLUSIVE)
            ]
            for client in self.clients
        )

    def against(self, known: Collection[tuple[str, str, str]]) -> Campaign:
        """The same, where a baseline has these no better: names of a client and a case, and a rule."""
        return replace(self, clients=[_against(client, known) for client in self.clients])


def _against(client: ClientResult, known: Collection[tuple[str, str, str]]) -> ClientResult:
    rows = [replace(row, no_worse=(client.client.name, row.case.id, row.rule) in known) for row in client.rows]
    return replace(client, rows=rows)
