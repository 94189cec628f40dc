"""A campaign in a file, run by run, so that one that was stopped goes on where it was.

NDJSON: the first line says what was to be run (`Plan`), each other line is a run that has ended, without its log
(`SavedRun`). A line is written when its run has ended, and in one piece; a last line that a crash cut off is dropped,
and its run is run again. A campaign goes on only as it began: verdicts of two versions of a client, or by other rules,
are no verdict on anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.checks.verdicts import Judgement
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history.history import History
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.outputs import cannot_write, require_writable
from groupspec.conformance.outside import decoded, lines_of, require_regular
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.runs import Finished, Job

_NEXT: Final = "repeat the command as it was, or name a file that does not exist yet"


class Plan(msgspec.Struct, frozen=True):
    """What was to be run; a campaign goes on with the same one only."""

    groupspec: str
    clients: tuple[str, ...]
    cases: tuple[str, ...]
    rules: tuple[str, ...]
    repeat: int
    confirm: bool
    seed: int
    report: str


class SavedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run: `Job` and `Finished` as data."""

    client: str
    case: str
    number: int
    settings: Settings
    judgements: dict[str, Judgement]
    seconds: float
    client_name: str = ""
    client_version: str = ""
    started_us: int = 0
    outcome: Outcome = Outcome()
    stderr: str = ""
    broke_off: str = ""
    folder: str = ""
    trace_seqs: dict[int, int] = {}


_PLAN: Final = msgspec.json.Decoder(Plan)
_RUN: Final = msgspec.json.Decoder(SavedRun)


@dataclass
class SavedRuns:
    """The file. Attributes: `versions`: of the clients, as the runs so far have it."""

    file: Path
    plan: Plan
    versions: dict[str, str]

    def add(self, job: Job, finished: Finished) -> None:
        """Writes a run that has ended.

        Raises:
            UsageProblem: its client is of another version than before, or the file cannot be written.
        """
        run = finished.run
        known = self.versions.setdefault(job.client.name, run.client_version) or run.client_version
        if run.client_version and run.client_version != known:
            raise UsageProblem(
                f"{job.client.name} is {run.client_version} now, and was {known} when this campaign began",
                where=str(self.file),
                next_step="install that version again, or name a new file with --resume",
            )
        self.versions[job.client.name] = known
        _append(self.file, _as_saved(job, finished))


def open_runs(
    file: Path, plan: Plan, clients: Sequence[Client], cases: Sequence[Case]
) -> tuple[SavedRuns, list[tuple[Job, Finished]]]:
    """The file of a campaign, new or to go on with, and the runs that it has.

    Raises:
        UsageProblem: it is something else, or of another plan, or cannot be written.
    """
    require_writable(file)
    saved = SavedRuns(file, plan, {})
    if not file.exists() or not file.stat().st_size:
        _append(file, plan)
        return saved, []
    by_name = {client.name: client for client in clients}
    by_id = {case.id: case for case in cases}
    found = []
    for run in _read(file, plan):
        saved.versions[run.client] = saved.versions.get(run.client) or run.client_version
        found.append(_as_kept(run, by_name[run.client], by_id[run.case]))
    return saved, found


def _read(file: Path, plan: Plan) -> Iterator[SavedRun]:
    """Its runs; what is cut off at its end is cut off for good."""
    require_regular(file)
    try:
        with file.open("rb") as opened:
            whole = [line for line in lines_of(opened) if line.endswith(b"\n")]
        there = decoded(_PLAN.decode, whole[0] if whole else b"")
        runs = [decoded(_RUN.decode, line) for line in whole[1:]]
    except (OSError, ValueError) as problem:
        raise _is_none(file, str(problem)) from problem
    if differing := list(_differences(there, plan)):
        raise UsageProblem(
            f"the campaign in this file is another one: {'; '.join(differing)}", where=str(file), next_step=_NEXT
        )
    if any(run.client not in plan.clients or run.case not in plan.cases for run in runs):
        raise _is_none(file, "it has a run of a client or in a case that its first line does not name")
    if (size := sum(map(len, whole))) < file.stat().st_size:
        with file.open("r+b") as cut:
            cut.truncate(size)
    yield from runs


def _is_none(file: Path, why: str) -> UsageProblem:
    return UsageProblem(
        f"this is no campaign to go on with: {why}",
        where=str(file),
        allowed="the file of an earlier `groupspec conform --resume`, or one that does not exist yet",
    )


def _differences(there: Plan, here: Plan) -> Iterator[str]:
    for name in Plan.__struct_fields__:
        was, now = getattr(there, name), getattr(here, name)
        if was != now:
            few = all(len(str(each)) < 100 for each in (was, now))
            yield f"{name}: {_told(was)} there, {_told(now)} here" if few else f"other {name}"


def _told(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value) or "none"


def _append(file: Path, line: msgspec.Struct) -> None:
    try:
        with file.open("ab") as through:
            through.write(msgspec.json.encode(line) + b"\n")
    except OSError as problem:
        raise cannot_write(file, problem) from problem


def _as_saved(job: Job, finished: Finished) -> SavedRun:
    run = finished.run
    return SavedRun(
        client=job.client.name,
        case=job.case.id,
        number=job.number,
        settings=run.history.settings,
        judgements=dict(run.judgements),
        seconds=run.seconds,
        client_name=run.client_name,
        client_version=run.client_version,
        started_us=run.started_us,
        outcome=run.outcome,
        stderr=run.stderr,
        broke_off=finished.broke_off,
        folder=finished.folder,
        trace_seqs=dict(finished.trace_seqs),
    )


def _as_kept(saved: SavedRun, client: Client, case: Case) -> tuple[Job, Finished]:
    judgements: Mapping[str, Judgement] = saved.judgements
    run = CaseResult(
        client=client,
        case=case,
        client_name=saved.client_name,
        client_version=saved.client_version,
        history=History((), saved.settings),
        outcome=saved.outcome,
        judgements=judgements,
        seconds=saved.seconds,
        started_us=saved.started_us,
        stderr=saved.stderr,
    )
    return Job(client, case, saved.number), Finished(run, saved.broke_off, saved.folder, saved.trace_seqs)
