"""Many runs: every chosen case against every chosen client, side by side, and one verdict for each rule of each.

Runs wait most of the time, so several go on at once, each with its own broker, process and log. The order is drawn from
the seed: what depends on the order or on the neighbours is a finding too.

One run that broke a rule may have met a race. A case in which a rule was broken is run again, until the rule was broken
in `CERTAIN_RUNS` runs or was kept in one of them: then it flaps, and says so.
"""

from __future__ import annotations

import gc
import random
import shlex
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import Entry as DocketEntry
from groupspec.conformance.wire.docket import explanation
from groupspec.conformance.wire.judging import symptoms
from groupspec.conformance.wire.rule_choice import EVERY_RULE
from groupspec.conformance.wire.runs import Finished, Job, Runs
from groupspec.conformance.wire.saved_runs import Plan, open_runs
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.verdicts import BROKEN, CERTAIN_RUNS, Combined, Judgement, Verdict, combine, exit_code
from groupspec.spec.rules import RULES

STDERR_LINES: Final = 12
END_LOOK_S: Final = 0.1
"""How often runs that are to end are looked at."""


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


def run_campaign(
    clients: Sequence[Client],
    cases: Sequence[Case],
    *,
    jobs: int,
    repeat: int = 1,
    confirm: bool = False,
    seed: int = 0,
    report: Path | None = None,
    rules: frozenset[str] = EVERY_RULE,
    resume: Path | None = None,
    resumed: Callable[[Sequence[CaseResult], int], None] = lambda *_: None,
    finished: Callable[[CaseResult, int], None] = lambda *_: None,
) -> Campaign:
    """Runs every case against every client, `repeat` times each.

    Args:
        clients: Whom to judge.
        cases: By what.
        jobs: How many runs at the same time.
        repeat: How often each.
        confirm: Run a case again in which a rule was broken, until that is certain or flaps.
        seed: Draws the order of the runs.
        report: A writable folder for logs and diagrams; None: none are written.
        rules: Those that verdicts are asked for.
        resume: A file to keep each run in, or to go on with.
        resumed: Called once, with the runs that the file has, and how many are left.
        finished: Called after each run, on the calling thread, with how many runs it has made necessary.
    """
    begun = time.monotonic()
    runs, stopped = Runs(report), ""
    wanted = [Job(*one) for one in product(clients, cases, range(repeat))]
    saved = None
    if resume is not None:
        plan = _plan(clients, cases, rules, repeat, confirm, seed, report)
        saved, before = open_runs(resume, plan, clients, cases)
        for job, kept in before:
            runs.put(job, kept)
    queue = deque(_left(wanted, runs, repeat, rules if confirm else frozenset()))
    random.Random(seed).shuffle(queue)
    resumed([each.run for each in runs.every()], len(queue))
    threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case")
    with _heap_not_scanned(), StallClock() as clock, threads as pool:
        pending: dict[Future[CaseResult], Job] = {}
        try:
            while pending or queue:
                while queue and len(pending) < jobs:
                    job = queue.popleft()
                    pending[pool.submit(run_case, job.client, job.case, clock)] = job
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    job, result = pending.pop(future), future.result()
                    kept = runs.add(job, result)
                    if saved is not None:
                        saved.add(job, kept)
                    done = runs.of(job.client, job.case)
                    waiting = ((each.client, each.case) for each in (*pending.values(), *queue))
                    again = confirm and (job.client, job.case) not in waiting and _is_unsure(done, rules)
                    if again:
                        queue.append(Job(job.client, job.case, len(done)))
                    finished(result, int(again))
        except KeyboardInterrupt:
            stopped = f"stopped by the user after {runs.count} of at least {len(wanted)} runs: what follows is a part"
            stopped += f"; the same command goes on from {resume}" if resume is not None else ""
        finally:
            _end(pool, pending)
    results = [_client_result(client, cases, runs, rules) for client in clients]
    return Campaign(results, time.monotonic() - begun, seed, jobs, repeat, stopped, rules=rules)


def _plan(
    clients: Sequence[Client],
    cases: Sequence[Case],
    rules: frozenset[str],
    repeat: int,
    confirm: bool,
    seed: int,
    report: Path | None,
) -> Plan:
    """What a campaign that is resumed must have been before."""
    return Plan(
        groupspec=version("groupspec"),
        clients=tuple(client.name for client in clients),
        cases=tuple(case.id for case in cases),
        rules=tuple(rule for rule in RULES if rule in rules),
        repeat=repeat,
        confirm=confirm,
        seed=seed,
        report=str(report.absolute()) if report is not None else "",
    )


def _left(wanted: Sequence[Job], runs: Runs, repeat: int, confirmed: frozenset[str]) -> Iterator[Job]:
    """The runs that are still to be made; `confirmed`: rules that are to be broken for certain, or to flap."""
    yield from (job for job in wanted if not runs.has(job))
    for client, cases in runs.cases().items():
        for case in cases:
            done = runs.of(client, case)
            if len(done) >= repeat and _is_unsure(done, confirmed):
                yield Job(client, case, len(done))


@contextmanager
def _heap_not_scanned() -> Iterator[None]:
    """Python's collector leaves alone what is in memory by now.

    The process may be a pytest run of a client's author with millions of objects: each full collection of them would
    stop the kit for a second or two, and what happens within that time cannot be judged. What the caller froze stays
    frozen.
    """
    frozen_by_caller = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not frozen_by_caller:
            gc.unfreeze()


def _end(pool: ThreadPoolExecutor, pending: Iterable[Future[CaseResult]]) -> None:
    """Ends the runs that still go on, which have no result then: without their programs they end at once."""
    running = [future for future in pending if not future.cancel()]
    while wait(running, END_LOOK_S).not_done:
        tied.end_all()
    pool.shutdown()


def _is_unsure(done: Sequence[Finished], rules: frozenset[str]) -> bool:
    """Whether one of these was broken in every run that judged it, and there were too few to make that certain."""
    asked = rules.intersection(done[0].run.case.rules)
    judged = ({each.run.judgements[rule].verdict for each in done} for rule in asked)
    return len(done) < CERTAIN_RUNS and any(seen & {*BROKEN} and Verdict.PASS not in seen for seen in judged)


def judged_again(
    results: Iterable[CaseResult], report: Path | None = None, rules: frozenset[str] = EVERY_RULE
) -> Campaign:
    """The same of runs that have been recorded: those of one client and case are repeats."""
    runs = Runs(report)
    for result in results:
        runs.add(Job(result.client, result.case, len(runs.of(result.client, result.case))), result)
    found = [_client_result(client, cases, runs, rules) for client, cases in runs.cases().items()]
    return Campaign(found, rules=rules)


def _client_result(client: Client, cases: Sequence[Case], runs: Runs, rules: frozenset[str]) -> ClientResult:
    by_case = {case: done for case in cases if (done := runs.of(client, case))}
    rows = [row for case, done in by_case.items() for row in _rows(client, case, done, rules, runs.report)]
    every = [each for done in by_case.values() for each in done]
    named = next((each.run for each in every if each.run.client_name), None)
    version = named.client_version if named is not None else ""
    name = named.client_name if named is not None and client.name.startswith("cmd:") else client.name
    return ClientResult(client, name, version, rows, list(_crashes(every)))


def _against(client: ClientResult, known: Collection[tuple[str, str, str]]) -> ClientResult:
    rows = [replace(row, no_worse=(client.client.name, row.case.id, row.rule) in known) for row in client.rows]
    return replace(client, rows=rows)


def _rows(
    client: Client, case: Case, done: Sequence[Finished], rules: frozenset[str], report: Path | None
) -> Iterator[Row]:
    for rule in (each for each in case.rules if each in rules):
        combined = combine([each.run.judgements[rule] for each in done])
        verdict, at_us = combined.judgement.verdict.value, combined.judgement.at_us
        shown = done[combined.place]
        yield Row(
            case=case,
            rule=rule,
            combined=combined,
            seconds=sum(each.run.seconds for each in done),
            replay=_replay(shown.run, report),
            folder=shown.folder,
            at_ms=None if at_us is None else round((at_us - shown.run.started_us) / 1000, 3),
            trace_seq=None if at_us is None else shown.trace_seqs.get(at_us),
            symptom_of=cause if (cause := symptoms(shown.run.judgements).get(rule, "")) in rules else "",
            docket=explanation(client.name, shown.run.client_version, rule, case.id, verdict),
        )


def _crashes(runs: Sequence[Finished]) -> Iterator[Crash]:
    """Each reason once, the most frequent first."""
    by_reason: defaultdict[str, list[Finished]] = defaultdict(list)
    for each in runs:
        if each.broke_off:
            by_reason[each.broke_off].append(each)
    for reason, ended in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        stderr = next((each.run.stderr for each in ended if each.run.stderr), "")
        tail = "\n".join(stderr.splitlines()[-STDERR_LINES:])
        yield Crash(reason, tuple(dict.fromkeys(each.run.case.id for each in ended)), len(ended), tail)


def _replay(run: CaseResult, report: Path | None) -> str:
    """The command that runs this case again, beside the report if there is one, or judges the recording again."""
    if run.recording is not None:
        return f"groupspec conform --judge {shlex.quote(str(run.recording))}"
    if run.again:
        return run.again
    folder = shlex.quote(str((report or Path("out")) / "replay"))
    return f"groupspec conform {shlex.quote(run.client.name)} --scenario {run.case.selector} --report {folder}"


def as_json(campaign: Campaign) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "clients": [
            {
                "name": client.client.name,
                "client": client.name,
                "version": client.version,
                "crashes": [asdict(each) | {"cases": list(each.cases)} for each in client.crashes],
                "results": [_row_json(row) for row in client.rows],
            }
            for client in campaign.clients
        ],
        "verdicts": {verdict.value: campaign.verdicts().count(verdict) for verdict in Verdict},
        "seconds": round(campaign.seconds, 3),
        "seed": campaign.seed,
        "jobs": campaign.jobs,
        "repeat": campaign.repeat,
        "stopped": campaign.stopped,
        "allowed": sorted(campaign.allowed),
        "rules": [rule for rule in RULES if rule in campaign.rules],
        "groupspec": version("groupspec"),
    }


def _row_json(row: Row) -> dict[str, object]:
    timing, counts = row.judgement.timing, row.combined.counts
    return {
        "scenario": row.case.scenario.id,
        "variant": row.case.variant.name,
        "poll_ms": row.case.variant.poll_ms,
        "rule": row.rule,
        "level": RULES[row.rule].level,
        "verdict": row.judgement.verdict.value,
        "reason": row.judgement.reason,
        "seconds": round(row.seconds, 3),
        "runs": row.combined.runs,
        "counts": {verdict.value: counts[verdict] for verdict in Verdict if verdict in counts},
        "certain": row.combined.certain,
        "flaps": row.combined.flaps,
        "symptom_of": row.symptom_of,
        "docket": str(row.docket) if row.docket else "",
        "timing": None if timing is None else {name: round(ms, 3) for name, ms in asdict(timing).items()},
        "replay": row.replay,
        "folder": row.folder,
        "at_ms": row.at_ms,
        "trace_seq": row.trace_seq,
    }
