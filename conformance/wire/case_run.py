"""One case, run once: broker up, harness up, the story, then the rules over the log.

Whatever happens, the run ends with one judgement for each rule of the scenario. What the client does wrong is a verdict; what
the harness, the kit or the machine does wrong makes the run INCONCLUSIVE; what the client never offered is UNSUPPORTED.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.history import History, Settings
from groupspec.conformance.wire.kit import CLOSE_WITHIN_MS, Kit, Missed, NotStarted
from groupspec.conformance.wire.log import Entry, Log
from groupspec.conformance.wire.protocol import EXIT_UNSUPPORTED, FEATURES
from groupspec.conformance.wire.rules import judge
from groupspec.conformance.wire.scenario import Case
from groupspec.conformance.wire.stage import Stage
from groupspec.conformance.wire.stalls import StallClock
from groupspec.conformance.wire.verdicts import Judgement, Verdict
from groupspec.spec.rules import RULES

TRIES: Final = 3
DISTURBED_MS: Final = 200
"""A stall of this length may have changed what happened: late answers were later, sessions ran out."""
BROKEN: Final = (Verdict.FAIL, Verdict.DEVIATION)


@dataclass(frozen=True)
class CaseResult:
    """What one run said, and everything that it is based on."""

    client: Client
    case: Case
    client_name: str
    client_version: str
    judgements: Mapping[str, Judgement]
    seconds: float
    entries: Sequence[Entry] = ()
    started_us: int = 0
    stderr: str = ""
    ended_early: str = field(default="")


@dataclass
class _Outcome:
    """How the story ended."""

    missed: Missed | None = None
    inconclusive: str = ""
    unsupported: str = ""
    trace: str = ""


def run_case(client: Client, case: Case, clock: StallClock) -> CaseResult:
    """Runs it; again if it went wrong on a machine that stood still meanwhile, since that proves nothing about the client.

    Never raises for anything that the client or its harness does.
    """
    for _ in range(TRIES):
        result = _run_once(client, case, clock)
        stall_ms = clock.longest_ms(result.started_us)
        if stall_ms < DISTURBED_MS or not _is_broken(result):
            return result
    judgements = {
        rule: Judgement(
            Verdict.INCONCLUSIVE,
            f"the machine stood still for {stall_ms:.0f} ms during the run: {judgement.reason}",
            judgement.at_us,
        )
        if judgement.verdict in BROKEN
        else judgement
        for rule, judgement in result.judgements.items()
    }
    return replace(result, judgements=judgements)


def _is_broken(result: CaseResult) -> bool:
    return any(judgement.verdict in BROKEN for judgement in result.judgements.values())


def _run_once(client: Client, case: Case, clock: StallClock) -> CaseResult:
    begun = time.monotonic()
    log = Log()
    started_us = log.note("note", f"{case.id} against {client.name}").at_us
    outcome = _Outcome()
    kit: Kit | None = None
    stderr = ""
    try:
        with Stage(log, case) as stage:
            with HarnessProcess(client.command, log) as process:
                kit = Kit(case, stage, process, log)
                _tell(kit, process, outcome)
            stderr = process.stderr_tail()
            outcome.inconclusive = outcome.inconclusive or stage.problem()
    except OSError as problem:
        outcome.inconclusive = f"the kit could not start: {problem}"
    settings = _settings(case, kit)
    history = History(log.in_order(), settings, clock.stalls_us())
    return CaseResult(
        client=client,
        case=case,
        client_name=kit.identity[0] if kit else "",
        client_version=kit.identity[1] if kit else "",
        judgements=_judge(case, history, outcome),
        seconds=time.monotonic() - begun,
        entries=history.entries,
        started_us=started_us,
        stderr="\n".join(filter(None, (stderr, outcome.trace))),
        ended_early=outcome.missed.reason if outcome.missed else outcome.inconclusive,
    )


def _tell(kit: Kit, process: HarnessProcess, outcome: _Outcome) -> None:
    """The story, and every way in which it can end."""
    try:
        kit.started()
        lacking = sorted(kit.case.scenario.needs - kit.features)
        if lacking:
            outcome.unsupported = f"the client does not offer: {', '.join(FEATURES[name] for name in lacking)}"
            return
        kit.case.scenario.story(kit)
    except Missed as missed:
        outcome.missed = missed
        kit.milestone("missed")
    except NotStarted as reason:
        outcome.inconclusive = f"the harness was not ready: {reason}"
    except Exception as problem:
        outcome.inconclusive = f"the kit failed: {type(problem).__name__}: {problem}"
        outcome.trace = traceback.format_exc()
    _how_the_process_ended(process, outcome)


def _how_the_process_ended(process: HarnessProcess, outcome: _Outcome) -> None:
    ending = process.ending
    if ending is None:
        return
    if ending.exit_code == EXIT_UNSUPPORTED:
        outcome.unsupported = (
            process.stderr_tail().rpartition("unsupported: ")[2] or "the harness ended with exit code 127"
        )
    elif ending.broken:
        outcome.inconclusive = ending.describe()


def _settings(case: Case, kit: Kit | None) -> Settings:
    return Settings(
        rebalance=case.scenario.rebalance,
        poll_ms=case.variant.poll_ms,
        sync_late=case.variant.sync_late,
        retry_backoff_ms=case.scenario.retry_backoff_ms,
        close_within_ms=CLOSE_WITHIN_MS,
        auto_commit=case.variant.auto_commit,
        features=kit.features if kit else frozenset(),
        **case.scenario.timeouts,
    )


def _judge(case: Case, history: History, outcome: _Outcome) -> dict[str, Judgement]:
    rules = case.rules
    if outcome.unsupported:
        return dict.fromkeys(rules, Judgement(Verdict.UNSUPPORTED, outcome.unsupported))
    if outcome.inconclusive:
        return dict.fromkeys(rules, Judgement(Verdict.INCONCLUSIVE, outcome.inconclusive))
    judgements = {rule: judge(rule, history) for rule in rules}
    if outcome.missed is not None:
        missed = outcome.missed
        for rule, judgement in judgements.items():
            if judgement.verdict is Verdict.UNTESTABLE:
                judgements[rule] = Judgement(
                    Verdict.UNTESTABLE, f"the run ended before it could be judged: {missed.reason}"
                )
        verdict = Verdict.FAIL if RULES[missed.rule].level == "must" else Verdict.DEVIATION
        judgements[missed.rule] = Judgement(verdict, missed.reason, history.ends_us)
    return judgements
