"""One case, run once: broker up, harness up, the story, then the rules over the log.

Whatever happens, the run ends with one judgement for each rule of the scenario. What the client does wrong is a
verdict; what the harness, the kit or the machine does wrong makes the run INCONCLUSIVE; what the client never offered
is UNSUPPORTED.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from groupspec.conformance.endings import is_out_of_memory
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_broker import CaseBroker
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.history import History, Settings
from groupspec.conformance.wire.judging import Outcome, judge_run
from groupspec.conformance.wire.log import Entry, Log
from groupspec.conformance.wire.protocol import EXIT_UNSUPPORTED, FEATURES, misspelt_features
from groupspec.conformance.wire.scenario_context import (
    AUTO_COMMIT_INTERVAL_MS,
    CLOSE_WITHIN_MS,
    Missed,
    NotStarted,
    ScenarioContext,
)
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
    """Runs the case; again if a rule was broken by time alone while the machine stalled: that proves nothing.

    Never raises for anything that the client or its harness does. Raises what too little memory raised: see `endings`.
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
    context: ScenarioContext | None = None
    try:
        with CaseBroker(log, case) as broker:
            with HarnessProcess(client.command, log) as process, WaitClock(process.pid) as waits:
                context = ScenarioContext(case, broker, process, log)
                _tell(context, process, run)
            run.waits_us = waits.waits_us()
            run.stalls_us = broker.stalls_us()
            run.stderr = process.stderr_tail()
            if problem := broker.problem():
                run.outcome = replace(run.outcome, inconclusive=run.outcome.inconclusive or problem)
    except OSError as problem:
        if is_out_of_memory(problem):
            raise
        run.outcome = replace(run.outcome, inconclusive=f"the kit could not start: {problem}")
    stalls_us = together(clock.stalls_us(started_us), run.stalls_us)
    history = History(log.in_order(), _settings(case, context), stalls_us, run.waits_us)
    return CaseResult(
        client=client,
        case=case,
        client_name=context.identity[0] if context else "",
        client_version=context.identity[1] if context else "",
        history=history,
        outcome=run.outcome,
        judgements=judge_run(case.rules, history, run.outcome),
        seconds=time.monotonic() - begun,
        started_us=started_us,
        stderr="\n".join(filter(None, (run.stderr, run.trace))),
    )


def _tell(context: ScenarioContext, process: HarnessProcess, run: _Run) -> None:
    """The story, and every way in which it can end."""
    try:
        context.started()
        if problem := _misspelt(context.features):
            run.outcome = Outcome(inconclusive=problem)
            return
        lacking = sorted(context.case.scenario.needs - context.features)
        if lacking:
            offered = "; ".join(f"{name}: {FEATURES[name]}" for name in lacking)
            run.outcome = Outcome(unsupported=f"the client does not offer the feature {offered}")
            return
        context.case.scenario.story(context)
    except Missed as missed:
        run.outcome = Outcome(missed_rule=missed.rule, missed=missed.reason, missed_since_us=missed.since_us)
        context.milestone("missed")
    except NotStarted as reason:
        run.outcome = Outcome(inconclusive=f"the harness was not ready: {reason}")
    except Exception as problem:
        if is_out_of_memory(problem):
            raise
        run.outcome = Outcome(inconclusive=f"the kit failed: {type(problem).__name__}: {problem}")
        run.trace = traceback.format_exc()
    _how_the_process_ended(context, process, run)


def _misspelt(features: frozenset[str]) -> str:
    """What is wrong with the features that a harness names; "" if nothing is."""
    problems = misspelt_features(features)
    return f"the harness is wrong: {'; '.join(problems)}; there are {', '.join(FEATURES)}" if problems else ""


def _how_the_process_ended(context: ScenarioContext, process: HarnessProcess, run: _Run) -> None:
    ending = process.ending
    if ending is None:
        return
    if ending.exit_code == EXIT_UNSUPPORTED and not context.identity[0]:
        reason = f"the harness was not ready: {ending.describe()}, as a shell's that cannot find a command"
        run.outcome = Outcome(inconclusive=reason)
    elif ending.exit_code == EXIT_UNSUPPORTED:
        said = process.stderr_tail().rpartition("unsupported: ")[2]
        run.outcome = Outcome(unsupported=said or "the harness ended with exit code 127")
    elif ending.broken:
        run.outcome = Outcome(inconclusive=ending.describe())


def _settings(case: Case, context: ScenarioContext | None) -> Settings:
    return Settings(
        rebalance=case.scenario.rebalance,
        poll_ms=case.variant.poll_ms,
        sync_late=case.variant.sync_late,
        retry_backoff_ms=case.scenario.retry_backoff_ms,
        close_within_ms=CLOSE_WITHIN_MS,
        auto_commit=case.variant.auto_commit,
        auto_commit_interval_ms=AUTO_COMMIT_INTERVAL_MS,
        features=context.features if context else frozenset(),
        **case.scenario.timeouts,
    )
