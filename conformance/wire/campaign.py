"""Many runs: every chosen case against every chosen client, side by side, and one verdict for each rule of each.

Runs wait most of the time, so several go on at once, each with its own broker, its own process and its own log. The order is
drawn from the seed: what depends on the order or on the neighbours is a finding too.
"""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from groupspec.conformance.wire.artefacts import write_artefacts
from groupspec.conformance.wire.case_run import CaseResult, run_case
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.scenario import Case
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.verdicts import Judgement, Verdict, combine
from groupspec.spec.rules import RULES


@dataclass(frozen=True)
class Row:
    """The verdict on one rule of one case, over all its runs."""

    case: Case
    rule: str
    judgement: Judgement
    runs: int
    seconds: float
    replay: str
    folder: str = ""
    at_ms: float | None = None
    """When it showed, since the beginning of the run that `folder` holds."""


@dataclass(frozen=True)
class ClientResult:
    """One client's rows."""

    client: Client
    name: str
    version: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Campaign:
    """Everything that one `groupspec conform` found out."""

    clients: Sequence[ClientResult]
    seconds: float
    seed: int
    jobs: int
    repeat: int

    def verdicts(self) -> list[Verdict]:
        """All of them."""
        return [row.judgement.verdict for client in self.clients for row in client.rows]


def run_campaign(
    clients: Sequence[Client],
    cases: Sequence[Case],
    *,
    jobs: int,
    repeat: int = 1,
    seed: int = 0,
    report: Path | None = None,
    finished: Callable[[CaseResult], None] = lambda _: None,
) -> Campaign:
    """Runs every case against every client, `repeat` times each.

    Args:
        clients: Whom to judge.
        cases: By what.
        jobs: How many runs at the same time.
        repeat: How often each.
        seed: Draws the order of the runs.
        report: A writable folder for logs and diagrams; None: none are written.
        finished: Called after each run, on the calling thread.
    """
    begun = time.monotonic()
    work = [(client, case, number) for client in clients for case in cases for number in range(repeat)]
    random.Random(seed).shuffle(work)
    results: dict[tuple[Client, Case], dict[int, CaseResult]] = {}
    folders: dict[tuple[Client, Case, int], str] = {}
    with StallClock() as clock, ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="case") as pool:
        pending = {pool.submit(run_case, client, case, clock): (client, case, number) for client, case, number in work}
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    client, case, number = pending.pop(future)
                    result = future.result()
                    if report is not None:
                        folder = write_artefacts(result, report, number)
                        folders[client, case, number] = str(folder.relative_to(report))
                    results.setdefault((client, case), {})[number] = result
                    finished(result)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return Campaign(
        clients=[_client_result(client, cases, results, folders) for client in clients],
        seconds=time.monotonic() - begun,
        seed=seed,
        jobs=jobs,
        repeat=repeat,
    )


def _client_result(
    client: Client,
    cases: Sequence[Case],
    results: Mapping[tuple[Client, Case], Mapping[int, CaseResult]],
    folders: Mapping[tuple[Client, Case, int], str],
) -> ClientResult:
    rows = []
    names = []
    for case in cases:
        runs = [result for _, result in sorted(results[client, case].items())]
        names += [(run.client_name, run.client_version) for run in runs if run.client_name]
        for rule in case.rules:
            judgements = [run.judgements[rule] for run in runs]
            judgement = combine(judgements)
            worst = next(i for i, each in enumerate(judgements) if each.verdict is judgement.verdict)
            rows.append(
                Row(
                    case=case,
                    rule=rule,
                    judgement=judgement,
                    runs=len(runs),
                    seconds=sum(run.seconds for run in runs),
                    replay=replay(client, case),
                    folder=folders.get((client, case, worst), ""),
                    at_ms=_at_ms(runs[worst], judgements[worst]),
                )
            )
    name, version = names[0] if names else (client.name, "")
    return ClientResult(client, name if client.name.startswith("cmd:") else client.name, version, rows)


def _at_ms(run: CaseResult, judgement: Judgement) -> float | None:
    return None if judgement.at_us is None else round((judgement.at_us - run.started_us) / 1000, 3)


def replay(client: Client, case: Case) -> str:
    """The command that runs this case again."""
    return f"groupspec conform {shlex.quote(client.name)} --scenario {case.id} --report out/replay"


def as_json(campaign: Campaign) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "clients": [
            {
                "name": client.client.name,
                "client": client.name,
                "version": client.version,
                "results": [_row_json(row) for row in client.rows],
            }
            for client in campaign.clients
        ],
        "verdicts": {verdict.value: campaign.verdicts().count(verdict) for verdict in Verdict},
        "seconds": round(campaign.seconds, 3),
        "seed": campaign.seed,
        "jobs": campaign.jobs,
        "repeat": campaign.repeat,
    }


def _row_json(row: Row) -> dict[str, object]:
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
        "replay": row.replay,
        "folder": row.folder,
        "at_ms": row.at_ms,
    }
