"""The runs of a campaign so far: what is kept of each, by client and case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from groupspec.conformance.history.history import History
from groupspec.conformance.wire.artefacts import write_artefacts
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import own_error
from groupspec.conformance.wire.to_trace import places


@dataclass(frozen=True)
class Job:
    """One run: of which client and case it is the `number`th, from 0 on."""

    client: Client
    case: Case
    number: int


@dataclass(frozen=True)
class Finished:
    """What is kept of a run, which is not its log.

    With a thousand logs in memory Python's collector of garbage stops the kit for a second or two at a time, its
    brokers too: sessions run out, and clients do what they would not have done.
    """

    run: CaseResult
    """Its history is empty."""
    broke_off: str
    folder: str
    trace_seqs: Mapping[int, int]


class Runs:
    """The runs so far."""

    def __init__(self, report: Path | None) -> None:
        self.report = report
        self._found: defaultdict[tuple[Client, Case], dict[int, Finished]] = defaultdict(dict)
        self.count = 0

    def of(self, client: Client, case: Case) -> list[Finished]:
        """Those of one case, in the order of their numbers."""
        return [run for _, run in sorted(self._found[client, case].items())]

    def add(self, job: Job, result: CaseResult) -> Finished:
        """Writes a run's artefacts if there is a report, and keeps it without its log."""
        folder, seqs = "", {}
        if self.report is not None:
            folder = str(write_artefacts(result, self.report, job.number).relative_to(self.report))
            moments = {judgement.at_us for judgement in result.judgements.values() if judgement.at_us is not None}
            seqs = places(result, moments)
        run = replace(result, history=History((), result.history.settings))
        finished = Finished(run, _how_it_broke_off(result), folder, seqs)
        self.put(job, finished)
        return finished

    def put(self, job: Job, finished: Finished) -> None:
        """Keeps a run that somebody else has kept until now."""
        self._found[job.client, job.case][job.number] = finished
        self.count += 1

    def has(self, job: Job) -> bool:
        """Whether it has been made."""
        return job.number in self._found[job.client, job.case]

    def often(self, client: Client, times: int) -> list[list[Finished]]:
        """Those of each case that the client has run so often."""
        cases = (case for (who, case), made in self._found.items() if who == client and len(made) >= times)
        return [self.of(client, case) for case in cases]

    def every(self) -> list[Finished]:
        """All of them."""
        return [run for of_case in self._found.values() for run in of_case.values()]

    def cases(self) -> dict[Client, list[Case]]:
        """Each client's cases, in the order of their first runs."""
        found: dict[Client, list[Case]] = {}
        for client, case in (place for place, made in self._found.items() if made):
            found.setdefault(client, []).append(case)
        return found


def _how_it_broke_off(run: CaseResult) -> str:
    """Why the process or the harness ended before the story did; "" if it did not.

    Once the kit has missed something it tells no more of the story, and ends the process itself: that is no crash.
    """
    if run.outcome.inconclusive:
        return run.outcome.inconclusive
    if (own := own_error(run.history)) is not None and any(each.reason == own[1] for each in run.judgements.values()):
        return own[1]
    missed_us = run.history.milestone("missed") or run.history.ends_us
    ended = (entry.text for entry in run.entries if entry.kind == "client_ended" and entry.at_us <= missed_us)
    return next(ended, "") if run.outcome.missed_rule else ""
