"""From the runs of each case to one verdict for each of its rules, and the crashes told once."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import combine
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.docket import explanation
from groupspec.conformance.wire.judging import symptoms
from groupspec.conformance.wire.results import Campaign, ClientResult, Crash, Row
from groupspec.conformance.wire.rule_choice import EVERY_RULE
from groupspec.conformance.wire.runs import Finished, Job, Runs

STDERR_LINES: Final = 12


def judged_again(
    results: Iterable[CaseResult], report: Path | None = None, rules: frozenset[str] = EVERY_RULE
) -> Campaign:
    """The same of runs that have been recorded: those of one client and case are repeats."""
    runs = Runs(report)
    for result in results:
        runs.add(Job(result.client, result.case, len(runs.of(result.client, result.case))), result)
    found = [client_result(client, cases, runs, rules) for client, cases in runs.cases().items()]
    return Campaign(found, rules=rules)


def client_result(client: Client, cases: Sequence[Case], runs: Runs, rules: frozenset[str]) -> ClientResult:
    """What the runs so far say of one client; cases without a run are left out."""
    by_case = {case: done for case in cases if (done := runs.of(client, case))}
    rows = [row for case, done in by_case.items() for row in _rows(client, case, done, rules, runs.report)]
    every = [each for done in by_case.values() for each in done]
    named = next((each.run for each in every if each.run.client_name), None)
    version = named.client_version if named is not None else ""
    name = named.known_as if named is not None else client.name
    return ClientResult(client, name, version, rows, list(_crashes(every)))


def _rows(
    client: Client, case: Case, done: Sequence[Finished], rules: frozenset[str], report: Path | None
) -> Iterator[Row]:
    for rule in (each for each in case.rules if each in rules):
        combined = combine([each.run.judgements[rule] for each in done])
        verdict, at_us = combined.judgement.verdict.value, combined.judgement.at_us
        shown = done[combined.place]
        entry = explanation(shown.run.known_as, shown.run.client_version, rule, case.id, verdict)
        yield Row(
            case=case,
            rule=rule,
            combined=replace(combined, kept_before=entry is not None and entry.flaps),
            seconds=sum(each.run.seconds for each in done),
            replay=_replay(shown.run, report),
            folder=shown.folder,
            at_ms=None if at_us is None else round((at_us - shown.run.started_us) / 1000, 3),
            trace_seq=None if at_us is None else shown.trace_seqs.get(at_us),
            symptom_of=cause if (cause := symptoms(shown.run.judgements).get(rule, "")) in rules else "",
            docket=entry,
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
