"""Many runs: every chosen case against every chosen client, side by side, and one verdict for each rule of each.

Runs wait most of the time, so several go on at once, each with its own broker, its own process and its own log. The
order is drawn from the seed: what depends on the order or on the neighbours is a finding too.

One run that broke a rule may have met a race. A case in which a rule was broken is run again, until the rule was broken
in `CERTAIN_RUNS` runs or was kept in one of them: then it flaps, and says so.
"""

from __future__ import annotations

import gc
import random
import shlex
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from groupspec.conformance import tied
from groupspec.conformance.wire.artefacts import write_artefacts
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import Entry as DocketEntry
from groupspec.conformance.wire.docket import explanation
from groupspec.conformance.wire.incidents import symptoms
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.to_trace import places
from groupspec.conformance.wire.verdicts import BROKEN, CERTAIN_RUNS, Combined, Judgement, Verdict, combine
from groupspec.spec.rules import RULES

STDERR_LINES: Final = 12
END_LOOK_S: Final = 0.1
"""How often runs that are to end are looked at."""


@dataclass(frozen=True)
class Row:
    """The verdict on one rule of one case, over all its runs.

    Attributes:
        combined: The verdict, and how sure it is.
        folder: Where the log and the diagram of the run are that `combined` tells of; "" if none were written.
        at_ms: When it showed, since the beginning of that run.
        trace_seq: The last event of that run's trace up to then; None if none was written.
        symptom_of: The rule whose breach in that run this is a symptom of: one stall of the client breaks several.
        docket: The entry of the docket that explains it; None if there is none.
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

    @property
    def judgement(self) -> Judgement:
        """Of the run that this row describes."""
        return self.combined.judgement

    @property
    def runs(self) -> int:
        """How many there were."""
        return sum(self.combined.counts.values())


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
        clients: For each client its name, version, crashes and `rows`: case, rule, judgement, runs, replay.
        seconds: How long it took.
        seed: What drew the order of the runs.
        jobs: Runs at the same time.
        repeat: Runs of each case that were asked for.
        stopped: What is wrong with it, if the user stopped it; cases without a run are left out of the clients' rows.
    """

    clients: Sequence[ClientResult]
    seconds: float
    seed: int
    jobs: int
    repeat: int
    stopped: str = ""

    def verdicts(self) -> list[Verdict]:
        """All of them."""
        return [verdict for client in self.clients for verdict in client.verdicts()]


@dataclass(frozen=True)
class _Job:
    client: Client
    case: Case
    number: int


@dataclass(frozen=True)
class _Finished:
    """What is kept of a run, which is not its log.

    With a thousand logs in memory Python's collector of garbage stops the kit for a second or two at a time, its
    brokers too: sessions run out, and clients do what they would not have done.
    """

    client_name: str
    client_version: str
    judgements: Mapping[str, Judgement]
    seconds: float
    started_us: int
    stderr: str
    recording: Path | None
    broke_off: str
    folder: str
    trace_seqs: Mapping[int, int]

    @classmethod
    def of(cls, run: CaseResult, folder: str) -> _Finished:
        return cls(
            client_name=run.client_name,
            client_version=run.client_version,
            judgements=run.judgements,
            seconds=run.seconds,
            started_us=run.started_us,
            stderr=run.stderr,
            recording=run.recording,
            broke_off=how_it_broke_off(run),
            folder=folder,
            trace_seqs=places(run, _moments(run)) if folder else {},
        )


@dataclass
class _Runs:
    """The runs so far."""

    results: dict[tuple[Client, Case], dict[int, _Finished]] = field(default_factory=dict)

    def of(self, client: Client, case: Case) -> list[_Finished]:
        return [result for _, result in sorted(self.results.get((client, case), {}).items())]

    @property
    def count(self) -> int:
        return sum(map(len, self.results.values()))

    def add(self, job: _Job, result: CaseResult, report: Path | None) -> None:
        folder = str(write_artefacts(result, report, job.number).relative_to(report)) if report is not None else ""
        self.results.setdefault((job.client, job.case), {})[job.number] = _Finished.of(result, folder)


def run_campaign(
    clients: Sequence[Client],
    cases: Sequence[Case],
    *,
    jobs: int,
    repeat: int = 1,
    confirm: bool = False,
    seed: int = 0,
    report: Path | None = None,
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
        finished: Called after each run, on the calling thread, with how many runs it has made necessary.
    """
    begun = time.monotonic()
    work = [_Job(client, case, number) for client in clients for case in cases for number in range(repeat)]
    random.Random(seed).shuffle(work)
    runs = _Runs()
    stopped = ""
    threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case")
    with _heap_not_scanned(), StallClock() as clock, threads as pool:
        pending: dict[Future[CaseResult], _Job] = {}
        queue = deque(work)
        try:
            while pending or queue:
                while queue and len(pending) < jobs:
                    job = queue.popleft()
                    pending[pool.submit(run_case, job.client, job.case, clock)] = job
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    job = pending.pop(future)
                    result = future.result()
                    runs.add(job, result, report)
                    waiting = [*pending.values(), *queue]
                    again = _to_confirm(job, runs.of(job.client, job.case), waiting) if confirm else None
                    queue.extend(filter(None, [again]))
                    finished(result, int(again is not None))
        except KeyboardInterrupt:
            stopped = f"stopped by the user after {runs.count} of at least {len(work)} runs: what follows is a part"
        finally:
            _end(pool, pending)
    return Campaign(
        clients=[_client_result(client, cases, runs) for client in clients],
        seconds=time.monotonic() - begun,
        seed=seed,
        jobs=jobs,
        repeat=repeat,
        stopped=stopped,
    )


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


def _to_confirm(job: _Job, done: Sequence[_Finished], waiting: Sequence[_Job]) -> _Job | None:
    """One more run of the case, if a rule was broken in it and it is open whether it always is."""
    if any((other.client, other.case) == (job.client, job.case) for other in waiting):
        return None
    judged = [[run.judgements[rule].verdict for run in done] for rule in job.case.rules]
    unsure = [
        verdicts
        for verdicts in judged
        if any(verdict in BROKEN for verdict in verdicts) and Verdict.PASS not in verdicts and len(done) < CERTAIN_RUNS
    ]
    return _Job(job.client, job.case, len(done)) if unsure else None


def judged_again(results: Iterable[CaseResult], report: Path | None = None) -> Campaign:
    """The same of recorded runs: those of one client and case are repeats."""
    runs = _Runs()
    for result in results:
        job = _Job(result.client, result.case, len(runs.of(result.client, result.case)))
        runs.add(job, result, report)
    clients = dict.fromkeys(client for client, _ in runs.results)
    cases = {client: [case for each, case in runs.results if each == client] for client in clients}
    return Campaign(
        clients=[_client_result(client, cases[client], runs) for client in clients],
        seconds=0.0,
        seed=0,
        jobs=1,
        repeat=1,
    )


def _client_result(client: Client, cases: Sequence[Case], runs: _Runs) -> ClientResult:
    done = {case: results for case in cases if (results := runs.of(client, case))}
    rows = [row for case in done for row in _rows(client, case, done[case])]
    every = [run for results in done.values() for run in results]
    names = [(run.client_name, run.client_version) for run in every if run.client_name]
    name, version = (
        names[0] if names and client.name.startswith("cmd:") else (client.name, names[0][1] if names else "")
    )
    return ClientResult(client, name, version, rows, list(_crashes(done)))


def _rows(client: Client, case: Case, done: Sequence[_Finished]) -> Iterator[Row]:
    of_run = [symptoms(run.judgements) for run in done]
    for rule in case.rules:
        combined = combine([run.judgements[rule] for run in done])
        run = done[combined.place]
        yield Row(
            case=case,
            rule=rule,
            combined=combined,
            seconds=sum(run.seconds for run in done),
            replay=_replay_of(client, case, run),
            folder=run.folder,
            at_ms=_at_ms(run, combined.judgement),
            trace_seq=run.trace_seqs.get(combined.judgement.at_us) if combined.judgement.at_us is not None else None,
            symptom_of=of_run[combined.place].get(rule, ""),
            docket=explanation(client.name, run.client_version, rule, case.id, combined.judgement.verdict.value),
        )


def _crashes(runs: Mapping[Case, Sequence[_Finished]]) -> Iterator[Crash]:
    """Each reason once, the most frequent first."""
    by_reason: dict[str, list[tuple[Case, _Finished]]] = {}
    for case, run in ((case, run) for case, done in runs.items() for run in done):
        if run.broke_off:
            by_reason.setdefault(run.broke_off, []).append((case, run))
    for reason, ended in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        stderr = next((run.stderr for _, run in ended if run.stderr), "")
        tail = "\n".join(stderr.splitlines()[-STDERR_LINES:])
        yield Crash(reason, tuple(dict.fromkeys(case.id for case, _ in ended)), len(ended), tail)


def how_it_broke_off(run: CaseResult) -> str:
    """Why the process or the harness ended before the story did; "" if it did not.

    Once the kit has missed something it tells no more of the story, and ends the process itself: that is no crash.
    """
    if run.outcome.inconclusive:
        return run.outcome.inconclusive
    missed_us = run.history.milestone("missed") or run.history.ends_us
    ended = (entry.text for entry in run.entries if entry.kind == "client_ended" and entry.at_us <= missed_us)
    return next(ended, "") if run.outcome.missed_rule else ""


def _moments(run: CaseResult) -> set[int]:
    return {judgement.at_us for judgement in run.judgements.values() if judgement.at_us is not None}


def _at_ms(run: _Finished, judgement: Judgement) -> float | None:
    return None if judgement.at_us is None else round((judgement.at_us - run.started_us) / 1000, 3)


def _replay_of(client: Client, case: Case, run: _Finished) -> str:
    if run.recording is None:
        return replay(client, case)
    return f"groupspec conform --judge {shlex.quote(str(run.recording))}"


def replay(client: Client, case: Case) -> str:
    """The command that runs this case again."""
    return f"groupspec conform {shlex.quote(client.name)} --scenario {case.selector} --report out/replay"


def as_json(campaign: Campaign) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "clients": [
            {
                "name": client.client.name,
                "client": client.name,
                "version": client.version,
                "crashes": [
                    {"reason": each.reason, "cases": list(each.cases), "runs": each.runs, "stderr": each.stderr}
                    for each in client.crashes
                ],
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
    }


def _row_json(row: Row) -> dict[str, object]:
    timing = row.judgement.timing
    return {
        "scenario": row.case.scenario.id,
        "variant": row.case.variant.name,
        "poll_ms": row.case.variant.poll_ms,
        "rule": row.rule,
        "level": RULES[row.rule].level,
        "verdict": row.judgement.verdict.value,
        "reason": row.judgement.reason,
        "seconds": round(row.seconds, 3),
        "runs": row.runs,
        "counts": {
            verdict.value: row.combined.counts[verdict] for verdict in Verdict if verdict in row.combined.counts
        },
        "certain": row.combined.certain,
        "flaps": row.combined.flaps,
        "symptom_of": row.symptom_of,
        "docket": str(row.docket) if row.docket else "",
        "timing": None
        if timing is None
        else {
            "took_ms": round(timing.took_ms, 3),
            "bound_ms": round(timing.bound_ms, 3),
            "kit_stalled_ms": round(timing.kit_stalled_ms, 3),
            "client_waited_ms": round(timing.client_waited_ms, 3),
        },
        "replay": row.replay,
        "folder": row.folder,
        "at_ms": row.at_ms,
        "trace_seq": row.trace_seq,
    }
