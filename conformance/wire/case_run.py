"""One case, run once: broker up, harness up, the story, then the rules over the log.

Whatever happens, the run ends with one judgement for each rule of the scenario. What the client does wrong is a verdict; what
the harness, the kit or the machine does wrong makes the run INCONCLUSIVE; what the client never offered is UNSUPPORTED.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.history import History, Settings
from groupspec.conformance.wire.judging import Outcome, judge_run
from groupspec.conformance.wire.kit import AUTO_COMMIT_INTERVAL_MS, CLOSE_WITHIN_MS, Kit, Missed, NotStarted
from groupspec.conformance.wire.log import Entry, Log
from groupspec.conformance.wire.protocol import EXIT_UNSUPPORTED, FEATURES, misspelt_features
from groupspec.conformance.wire.scenario import Case
from groupspec.conformance.wire.stage import Stage
from groupspec.conformance.wire.stalls import StallClock, Wait, WaitClock, together
from groupspec.conformance.wire.verdicts import Judgement, Verdict

TRIES: Final = 3


@dataclass(frozen=True)
class CaseResult:
    """What one run said, and everything that it is based on.

    `recording`: the file that it was read from; None for a run that has just ended.
    """

    client: Client
    case: Case
    client_name: str
    client_version: str
    history: History
    outcome: Outcome
    judgements: Mapping[str, Judgement]
    seconds: float
    started_us: int = 0
    stderr: str = ""
    recording: Path | None = None

    @property
    def entries(self) -> Sequence[Entry]:
        """The log."""
        return self.history.entries


@dataclass
class _Run:
    """What a run leaves behind, however it ends."""

    outcome: Outcome = field(default_factory=Outcome)
    stderr: str = ""
    trace: str = ""
    waits_us: Sequence[Wait] = ()
    stalls_us: Sequence[tuple[int, int]] = ()


def run_case(client: Client, case: Case, clock: StallClock) -> CaseResult:
    """Runs it; again if what it found wrong rests on time and nobody could go on meanwhile, since that proves nothing.

    Never raises for anything that the client or its harness does.
    """
    for _ in range(TRIES):
        result = _run_once(client, case, clock)
        if not any(each.verdict is Verdict.INCONCLUSIVE and each.timed for each in result.judgements.values()):
            break
    return result


def _run_once(client: Client, case: Case, clock: StallClock) -> CaseResult:
    begun = time.monotonic()
    log = Log()
    started_us = log.note("note", f"{case.id} against {client.name}").at_us
    run = _Run()
    kit: Kit | None = None
    try:
        with Stage(log, case) as stage:
            with HarnessProcess(client.command, log) as process, WaitClock(process.pid) as waits:
                kit = Kit(case, stage, process, log)
                _tell(kit, process, run)
            run.waits_us = waits.waits_us()
            run.stalls_us = stage.stalls_us()
            run.stderr = process.stderr_tail()
            if problem := stage.problem():
                run.outcome = replace(run.outcome, inconclusive=run.outcome.inconclusive or problem)
    except OSError as problem:
        run.outcome = replace(run.outcome, inconclusive=f"the kit could not start: {problem}")
    stalls_us = together(clock.stalls_us(started_us), run.stalls_us)
    history = History(log.in_order(), _settings(case, kit), stalls_us, run.waits_us)
    return CaseResult(
        client=client,
        case=case,
        client_name=kit.identity[0] if kit else "",
        client_version=kit.identity[1] if kit else "",
        history=history,
        outcome=run.outcome,
        judgements=judge_run(case.rules, history, run.outcome),
        seconds=time.monotonic() - begun,
        started_us=started_us,
        stderr="\n".join(filter(None, (run.stderr, run.trace))),
    )


def _tell(kit: Kit, process: HarnessProcess, run: _Run) -> None:
    """The story, and every way in which it can end."""
    try:
        kit.started()
        if problem := _misspelt(kit.features):
            run.outcome = Outcome(inconclusive=problem)
            return
        lacking = sorted(kit.case.scenario.needs - kit.features)
        if lacking:
            offered = ", ".join(FEATURES[name] for name in lacking)
            run.outcome = Outcome(unsupported=f"the client does not offer: {offered}")
            return
        kit.case.scenario.story(kit)
    except Missed as missed:
        run.outcome = Outcome(missed_rule=missed.rule, missed=missed.reason, missed_since_us=missed.since_us)
        kit.milestone("missed")
    except NotStarted as reason:
        run.outcome = Outcome(inconclusive=f"the harness was not ready: {reason}")
    except Exception as problem:
        run.outcome = Outcome(inconclusive=f"the kit failed: {type(problem).__name__}: {problem}")
        run.trace = traceback.format_exc()
    _how_the_process_ended(kit, process, run)


def _misspelt(features: frozenset[str]) -> str:
    """What is wrong with the features that a harness names; "" if nothing is."""
    problems = misspelt_features(features)
    return f"the harness is wrong: {'; '.join(problems)}; there are {', '.join(FEATURES)}" if problems else ""


def _how_the_process_ended(kit: Kit, process: HarnessProcess, run: _Run) -> None:
    ending = process.ending
    if ending is None:
        return
    if ending.exit_code == EXIT_UNSUPPORTED and not kit.identity[0]:
        reason = f"the harness was not ready: {ending.describe()}, as a shell's that cannot find a command"
        run.outcome = Outcome(inconclusive=reason)
    elif ending.exit_code == EXIT_UNSUPPORTED:
        said = process.stderr_tail().rpartition("unsupported: ")[2]
        run.outcome = Outcome(unsupported=said or "the harness ended with exit code 127")
    elif ending.broken:
        run.outcome = Outcome(inconclusive=ending.describe())


def _settings(case: Case, kit: Kit | None) -> Settings:
    return Settings(
        rebalance=case.scenario.rebalance,
        poll_ms=case.variant.poll_ms,
        sync_late=case.variant.sync_late,
        retry_backoff_ms=case.scenario.retry_backoff_ms,
        close_within_ms=CLOSE_WITHIN_MS,
        auto_commit=case.variant.auto_commit,
        auto_commit_interval_ms=AUTO_COMMIT_INTERVAL_MS,
        features=kit.features if kit else frozenset(),
        **case.scenario.timeouts,
    )
