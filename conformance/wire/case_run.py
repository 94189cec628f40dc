"""One case, run once: broker up, harness up, the story, then the rules over the log.

Whatever happens, the run ends with one judgement for each rule of the scenario. What the client does wrong is a
verdict; what the harness, the kit or the machine does wrong makes the run INCONCLUSIVE; what the client never offered
is UNSUPPORTED.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from groupspec.conformance.checks.verdicts import Judgement, Verdict
from groupspec.conformance.endings import is_out_of_memory
from groupspec.conformance.history.entry import Entry, raised, raised_by_harness, why_it_never_began
from groupspec.conformance.history.harness_protocol import (
    EXIT_UNSUPPORTED,
    FEATURES,
    OF_A_CLASSIC_GROUP,
    ONLY_CONSUMER_PROTOCOL,
    fixed_otherwise,
    joins_no_classic_group,
    misdeclared_settings,
    misspelt_features,
    wanting,
)
from groupspec.conformance.history.history import History
from groupspec.conformance.history.settings import Settings
from groupspec.conformance.history.timing import Wait, together
from groupspec.conformance.wire.case import INSTANCE_ID, Case, reset_of
from groupspec.conformance.wire.case_broker import CaseBroker, NoOccasion
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.judging import Outcome, judge_case
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.scenario_context import (
    ClientContext,
    Missed,
    NotStarted,
    ScenarioContext,
    Surroundings,
)
from groupspec.conformance.wire.stalls import StallClock, WaitClock

TRIES: Final = 3
BESIDE: Final = "beside"
"""The client id of the member that is not judged."""


class Clock(Protocol):
    """Says when the kit stood still; see `StallClock`."""

    def stalls_us(self, since_us: int = 0, /) -> Sequence[tuple[int, int]]:
        """Start and end of each stall so far that ended at or after that time."""


@dataclass(frozen=True)
class CaseResult:
    """What one run said, and everything that it is based on.

    `recording`: the file that it was read from; None for a run that has just ended. `again`: the command that runs it
    again, where that is not its scenario's.
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
    again: str = ""

    @property
    def known_as(self) -> str:
        """The client's name: of one that the kit brings, the kit's; of another, what its harness says."""
        return self.client_name if self.client.name.startswith("cmd:") and self.client_name else self.client.name

    @property
    def entries(self) -> Sequence[Entry]:
        """The log."""
        return self.history.entries


def run_case(client: Client, case: Case, clock: StallClock) -> CaseResult:
    """Runs the case; again if a rule was broken by time alone while the machine stalled: that proves nothing.

    Never raises for anything that the client or its harness does. Raises what too little memory raised: see `endings`.
    """
    for _ in range(TRIES):
        result = run_once(client, case, clock)
        if not any(each.verdict is Verdict.INCONCLUSIVE and each.timed for each in result.judgements.values()):
            break
    return result


def run_once(client: Client, case: Case, clock: Clock) -> CaseResult:
    """Runs the case once; raises what `run_case` does."""
    begun = time.monotonic()
    log = Log()
    started_us = log.note("note", f"{case.id} against {client.name}").at_us
    context: ClientContext | None = None
    outcome, stderr, trace = Outcome(), "", ""
    waits_us: Sequence[Wait] = ()
    stalls_us: Sequence[tuple[int, int]] = ()
    try:
        beside = {BESIDE: Log()} if case.scenario.members > 1 else {}
        variant = case.variant
        with CaseBroker(log, variant.topic, dict(variant.version_caps), beside, variant.race) as broker:
            with (
                HarnessProcess(client.command, log) as process,
                WaitClock(process.pid) as waits,
                _beside(client, case, broker, beside) as other,
            ):
                context = ScenarioContext(case, broker, process, log, other)
                outcome, trace = tell(context, process)
            waits_us, stalls_us, stderr = waits.waits_us(), broker.stalls_us(), process.stderr_tail()
            outcome = replace(outcome, inconclusive=outcome.inconclusive or broker.problem())
    except OSError as problem:
        if is_out_of_memory(problem):
            raise
        outcome = replace(outcome, inconclusive=f"the kit could not start: {problem}")
    stalls_us = together(clock.stalls_us(started_us), stalls_us)
    history = History(log.in_order(), settings_of(case, context), stalls_us, waits_us)
    seconds = time.monotonic() - begun
    return judged(client, case, context, history, outcome, seconds, started_us, stderr, trace)


def judged(
    client: Client,
    case: Case,
    context: ClientContext | None,
    history: History,
    outcome: Outcome,
    seconds: float,
    started_us: int,
    *said: str,
    again: str = "",
) -> CaseResult:
    """The result of a run: `said` on stderr by the harness, and by the kit if it failed."""
    name, version = ("", "") if context is None else context.identity
    return CaseResult(
        client=client,
        case=case,
        client_name=name,
        client_version=version,
        history=history,
        outcome=outcome,
        judgements=judge_case(case, history, outcome),
        seconds=seconds,
        started_us=started_us,
        stderr="\n".join(filter(None, said)),
        again=again,
    )


@contextmanager
def _beside(client: Client, case: Case, broker: CaseBroker, logs: Mapping[str, Log]) -> Iterator[ClientContext | None]:
    """The other member of a case that has two, in a process of its own; None of the others."""
    if not logs:
        yield None
        return
    with HarnessProcess(client.command, logs[BESIDE]) as process:
        around = Surroundings(broker.bootstrap, case.variant.topic, client_id=BESIDE)
        yield ClientContext(case, around, process, logs[BESIDE])


def tell(context: ClientContext, process: HarnessProcess) -> tuple[Outcome, str]:
    """The story, and every way in which it can end; with the traceback if the kit failed."""
    outcome, trace = Outcome(), ""
    try:
        context.started()
        if problems := misspelt_features({*context.features, *context.not_driven}):
            features = f"{'; '.join(problems)}; there are {', '.join(FEATURES)}"
            return Outcome(inconclusive=f"the harness is wrong: {features}"), ""
        if problems := misdeclared_settings(context.features, context.fixed):
            return Outcome(inconclusive=f"the harness is wrong: {'; '.join(problems)}"), ""
        if reason := _what_it_lacks(context):
            return Outcome(unsupported=reason), ""
        context.case.scenario.story(context)
    except Missed as missed:
        if reason := why_it_never_began(context.log.as_it_came()):
            return Outcome(inconclusive=f"the harness was not ready: {reason}"), ""
        told = missed.reason + _what_polls_raised(context.log, missed.since_us or 0)
        outcome = Outcome(missed_rule=missed.rule, missed=told, missed_since_us=missed.since_us)
        context.milestone("missed")
    except NoOccasion as reason:
        outcome = Outcome(no_occasion=str(reason))
    except NotStarted as reason:
        outcome = Outcome(inconclusive=f"the harness was not ready: {reason}")
    except Exception as problem:
        if is_out_of_memory(problem):
            raise
        outcome = Outcome(inconclusive=f"the kit failed: {type(problem).__name__}: {problem}")
        trace = traceback.format_exc()
    if own := raised_by_harness(context.log.as_it_came()):
        return Outcome(inconclusive=f"the harness is wrong: {own}"), trace
    return _how_the_process_ended(context, process) or outcome, trace


def _what_it_lacks(context: ClientContext) -> str:
    """What the scenario needs and the client does not offer; "" if it offers everything."""
    lacking = context.case.scenario.needs - context.features
    if OF_A_CLASSIC_GROUP.intersection(lacking) and joins_no_classic_group(context.features):
        return f"{ONLY_CONSUMER_PROTOCOL}; this scenario plays a classic group ({context.case.scenario.rebalance})"
    return wanting(lacking, context.not_driven) or fixed_otherwise(context.fixed, context.configuration)


def _what_polls_raised(log: Log, since_us: int) -> str:
    """While the kit waited in vain: the reader looks there first; "" if nothing."""
    errors = raised([entry for entry in log.as_it_came() if entry.at_us >= since_us], "poll")
    return f"; meanwhile {errors[0]} (one of {len(errors)} such errors)" if errors else ""


def _how_the_process_ended(context: ClientContext, process: HarnessProcess) -> Outcome | None:
    """What an end of the process that is no client's doing says of the run; None if there is nothing to say."""
    ending = process.ending
    if ending is None:
        return None
    if ending.exit_code == EXIT_UNSUPPORTED and not context.identity[0]:
        reason = f"the harness was not ready: {ending.describe()}, as a shell's that cannot find a command"
        return Outcome(inconclusive=reason)
    if ending.exit_code == EXIT_UNSUPPORTED:
        said = process.stderr_tail().rpartition("unsupported: ")[2]
        return Outcome(unsupported=said or "the harness ended with exit code 127")
    return Outcome(inconclusive=ending.describe()) if ending.broken else None


def settings_of(case: Case, context: ClientContext | None) -> Settings:
    """What a run was made with."""
    return Settings(
        rebalance=case.scenario.rebalance,
        retry_backoff_ms=case.scenario.retry_backoff_ms,
        close_within_ms=case.variant.close_within_ms,
        auto_commit=context.configuration.auto_commit if context else case.variant.auto_commit,
        auto_commit_interval_ms=case.variant.auto_commit_interval_ms,
        request_timeout_ms=context.around.request_timeout_ms if context else case.scenario.request_timeout_ms,
        instance_id=dict(case.variant.more).get(INSTANCE_ID, ""),
        auto_offset_reset=reset_of(case.variant),
        features=context.features if context else frozenset(),
        not_driven=context.not_driven if context else frozenset(),
        **case.scenario.timeouts,
    )
