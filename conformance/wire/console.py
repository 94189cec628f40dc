"""The verdicts of a campaign for a terminal: a matrix, then what went wrong, by client and rule, the worst first.

A rule that a client breaks in twenty cases is told once, with the cases; what one stall of the client broke besides is
told below its worst consequence; a harness that crashes is told once, with the end of its stderr.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN, JUDGED, WORST_FIRST, Verdict
from groupspec.conformance.errors import EXIT_INCONCLUSIVE
from groupspec.conformance.history.harness_protocol import FEATURES, OF_THE_HARNESS
from groupspec.conformance.terminal import Part, Styled, Table, Terminal
from groupspec.conformance.wire.docket import name_of, versions_of
from groupspec.conformance.wire.reproduction import FOLDER as REPRODUCTION
from groupspec.conformance.wire.results import Campaign, ClientResult, Row
from groupspec.spec.rules import RULES

STYLES: Final = {
    Verdict.PASS: "green",
    Verdict.DEVIATION: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.UNSUPPORTED: "dim",
    Verdict.UNTESTABLE: "dim",
}
MOST_REASONS: Final = 5
FLAPS: Final = (
    "n of m: in n of the m judged cases; "
    "~ flaps: some runs of a case broke the rule, others kept it (`in:` tells how many)"
)
"""What the marks in the matrix say."""
TOLD: Final = (*BROKEN, Verdict.INCONCLUSIVE)


@dataclass(frozen=True)
class Group:
    """One rule, and the cases in which a client got one verdict on it; the first is shown in full.

    `judged`: in how many cases the rule was judged, or could not be for want of a quiet machine.
    """

    rule: str
    verdict: Verdict
    rows: Sequence[Row]
    judged: int
    symptoms: Counter[str]


def show(terminal: Terminal, campaign: Campaign, report: Path | None) -> None:
    """Prints it all."""
    terminal.table(_matrix(campaign))
    if any(row.combined.flaps for client in campaign.clients for row in client.rows):
        terminal.line(FLAPS)
    for client in campaign.clients:
        for crash in client.crashes:
            runs = "1 run" if crash.runs == 1 else f"{crash.runs} runs"
            terminal.line(Styled("BROKE OFF", STYLES[Verdict.INCONCLUSIVE]), f" {client.name}: {runs}")
            terminal.lines(f"  {crash.reason}", f"  in:     {_listed(crash.cases)}")
            terminal.lines(*(f"  stderr: {line}" for line in crash.stderr.splitlines()))
            if crash.reason.startswith("the harness") and client.client.command:
                check = f"groupspec harness check {shlex.quote(client.client.name)}"
                terminal.line(f"  next:   {check}, which judges the harness alone")
        for group in groups(client):
            _tell(terminal, campaign, client, group, report)
        terminal.lines(*_nobody_read(client))
    rows = [row for client in campaign.clients for row in client.rows]
    by_verdict = ([row for row in rows if row.judgement.verdict is verdict] for verdict in Verdict)
    counts = ", ".join(_count(campaign, of_it) for of_it in by_verdict if of_it)
    flapping = sum(row.combined.flaps for row in rows)
    flaps = f", {flapping} of them flap" if flapping else ""
    terminal.line(f"{counts}{flaps}; {campaign.seconds:.1f} s, seed {campaign.seed}")
    reasons = [row.judgement.reason for row in rows if row.judgement.verdict is Verdict.UNSUPPORTED]
    parts = [reason.partition(OF_THE_HARNESS) for reason in reasons]
    for why, told in (
        ("for want of", [part[0] for part in parts]),
        ("since the harness does not drive what the client offers", [part[2] for part in parts]),
    ):
        wanted = Counter(name for name in FEATURES for reason in told if re.search(rf"\b{name}\b", reason))
        if wanted:
            listed = ", ".join(f"{name} ({n})" for name, n in wanted.most_common())
            terminal.line(f"UNSUPPORTED {why}: {listed}")
    code = campaign.exit_code()
    for client in campaign.clients:
        terminal.lines(*_nothing_judged(client, code))
    if campaign.stopped:
        terminal.line(Styled(campaign.stopped, STYLES[Verdict.INCONCLUSIVE]))


def _count(campaign: Campaign, rows: Sequence[Row]) -> str:
    """How many have this verdict, and how many of them somebody has explained, or the user allows."""
    known = sum(row.docket is not None for row in rows)
    before = sum(campaign.allows(row) and row.no_worse for row in rows)
    allowed = sum(campaign.allows(row) and not row.no_worse for row in rows)
    told = (known, "known"), (allowed, "allowed"), (before, "no worse than the baseline")
    beside = ", ".join(f"{n} {what}" for n, what in told if n)
    return f"{len(rows)} {rows[0].judgement.verdict.value}{beside and f' ({beside})'}"


def _nothing_judged(client: ClientResult, code: int) -> Iterator[str]:
    """Why a client was not judged at all, which is no success."""
    if any(verdict in JUDGED for verdict in client.verdicts()):
        return
    ends = "; so the exit code is 4 (inconclusive)" if code == EXIT_INCONCLUSIVE else ""
    yield f"{client.name}: nothing was judged, which is no success{ends}"
    crashed = {crash.reason for crash in client.crashes}
    judgements = [row.judgement for row in client.rows if row.judgement.reason not in crashed]
    reasons = Counter((judgement.verdict.value, judgement.reason) for judgement in judgements)
    yield from (f"  {verdict}, {n} times: {reason}" for (verdict, reason), n in reasons.most_common(MOST_REASONS))


def _nobody_read(client: ClientResult) -> Iterator[str]:
    """Where somebody has read the verdicts of other versions of this client, which these are."""
    name = name_of(client.name)
    known = versions_of(name)
    if not known or client.version in known:
        return
    if any(row.judgement.verdict in BROKEN and row.docket is None for row in client.rows):
        others = " and ".join(version.split()[0] for version in known)
        yield f"of {name} the docket knows {others}, and not {client.version}: nobody has read these verdicts"
        yield f"  next:   groupspec conform {name}@VERSION judges any of them by the kit's own harness"


def groups(client: ClientResult) -> list[Group]:
    """What there is to tell of one client, the worst first: not what a crash explains, nor symptoms."""
    crashed = {crash.reason for crash in client.crashes}
    found = []
    for rule in RULES:
        rows = [row for row in client.rows if row.rule == rule]
        for verdict in TOLD:
            told = [row for row in rows if row.judgement.verdict is verdict and not row.symptom_of]
            told = [row for row in told if row.judgement.reason not in crashed]
            cases = {row.case for row in told}
            of_it = Counter(row.rule for row in client.rows if row.symptom_of == rule and row.case in cases)
            if told:
                told.sort(key=_least_known)
                found.append(Group(rule, verdict, told, _judged(row.judgement.verdict for row in rows), of_it))
    return sorted(found, key=lambda group: (TOLD.index(group.verdict), -len(group.rows)))


def _least_known(row: Row) -> tuple[bool, ...]:
    """For sorting: what nobody has seen before comes first, then what is surest."""
    return row.no_worse, row.docket is not None, not row.combined.certain, row.combined.flaps


def _tell(terminal: Terminal, campaign: Campaign, client: ClientResult, group: Group, report: Path | None) -> None:
    told = f" {client.name}: {RULES[group.rule].title} in {_of_cases(len(group.rows), group.judged)}"
    terminal.line(Styled(group.verdict.value, STYLES[group.verdict]), told)
    for line in _lines(group, report, [row for row in group.rows if campaign.allows(row)]):
        terminal.line(f"  {line}")


def _lines(group: Group, report: Path | None, allowed: Sequence[Row]) -> Iterator[str]:
    first = group.rows[0]
    yield first.judgement.reason
    if before := sum(row.no_worse for row in allowed):
        yield f"no worse than the baseline in {_of_cases(before, len(group.rows))}: the exit code does not count it"
    elif allowed:
        yield "allowed by --allow: the exit code does not count it"
    yield f"in:     {_listed(f'{row.case.id} ({row.combined.how_sure})' for row in group.rows)}"
    if group.symptoms:
        yield f"shows:  as {', '.join(f'{rule} ({n})' for rule, n in group.symptoms.items())} too"
    read = [row.docket for row in group.rows if row.docket]
    if read:
        yield f"known deviation (docket): {_of_cases(len(read), len(group.rows))}; {read[0].told}"
    rule = RULES[group.rule]
    if group.verdict is not Verdict.INCONCLUSIVE:
        yield f"rule:   {rule.statement}"
        yield f"source: {first.case.sources(rule)}"
    if report is not None and first.folder:
        yield f"log:    {report / first.folder / 'wire.txt'}"
        yield f"see:    {report / first.folder / 'sequence.svg'}"
        if (report / first.folder / REPRODUCTION).is_dir():
            yield f"repro:  {report / first.folder / REPRODUCTION} (runs without the kit)"
    yield f"replay: {first.replay}"


def _judged(verdicts: Iterable[Verdict]) -> int:
    """Of how many cases there is something to say, if only that it is not known."""
    return sum(verdict in (*JUDGED, Verdict.INCONCLUSIVE) for verdict in verdicts)


def _of_cases(count: int, every: int) -> str:
    return f"{count} of {every} {'case' if every == 1 else 'cases'}"


def _listed(words: Iterable[str], most: int = 8) -> str:
    every = list(words)
    more = f", and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def _matrix(campaign: Campaign) -> Table:
    judged = {row.rule for client in campaign.clients for row in client.rows}
    table = Table(["rule", *(f"{client.name} {client.version}".strip() for client in campaign.clients)])
    for rule in (each for each in RULES if each in judged):
        cells = (_cell([row for row in client.rows if row.rule == rule]) for client in campaign.clients)
        table.add(RULES[rule].title, *cells)
    return table


def _cell(rows: Sequence[Row]) -> Part:
    """The verdicts of one rule over all scenarios: the worst, and in how many; `~` where one of them flaps."""
    verdicts = [row.judgement.verdict for row in rows]
    for verdict in WORST_FIRST:
        if verdict in verdicts:
            count = f" {verdicts.count(verdict)} of {_judged(verdicts)}" if verdict in TOLD else ""
            flaps = " ~" if any(row.combined.flaps for row in rows) else ""
            return Styled(f"{verdict.value}{count}{flaps}", STYLES[verdict])
    return ""
