"""The verdicts on one run, just ended or recorded: from its history and from how its story ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.wire.history import History
from groupspec.conformance.wire.rules import judge
from groupspec.conformance.wire.verdicts import BREACH, BROKEN, Judgement, Verdict
from groupspec.spec.rules import RULES

DISTURBED_MS: Final = 200
"""A stall of this length may have changed what happened: late answers were later, sessions ran out."""
CLEARLY: Final = 1.5
UNSEEN: Final = 4
"""A client that waited for a processor may have waited so many times as long as was seen: one thread of it for the
other."""
CLEARLY_IN_VAIN: Final = 4
"""What has not come in so many times the longest stall does not come."""


@dataclass(frozen=True)
class Outcome:
    """How the story of a run ended; all empty when it came to its end.

    Attributes:
        missed_rule: The rule that demanded an event which did not come.
        missed: Which event, and for how long it was waited for.
        inconclusive: What the harness, the kit or the machine did wrong.
        unsupported: What the client does not offer.
    """

    missed_rule: str = ""
    missed: str = ""
    missed_since_us: int | None = None
    inconclusive: str = ""
    unsupported: str = ""


def judge_run(rules: Sequence[str], history: History, outcome: Outcome) -> dict[str, Judgement]:
    """A verdict for each of these rules.

    An event that did not come breaks the rule that demanded it. Where that rule's own checker found out why, its reason
    comes first: it has read the whole log, and whoever waited only knows that it waited in vain.
    """
    if outcome.unsupported:
        return dict.fromkeys(rules, Judgement(Verdict.UNSUPPORTED, outcome.unsupported))
    if outcome.inconclusive:
        return dict.fromkeys(rules, Judgement(Verdict.INCONCLUSIVE, outcome.inconclusive))
    judgements = {rule: judge(rule, history) for rule in rules}
    if outcome.missed_rule:
        _tell_what_was_missed(judgements, history, outcome)
    stall_ms = history.longest_stall_ms()
    if stall_ms < DISTURBED_MS:
        return judgements
    waited_ms = (history.ends_us - (outcome.missed_since_us or history.ends_us)) / 1000
    in_vain = waited_ms > CLEARLY_IN_VAIN * stall_ms and not history.session_ran_out()
    certain = outcome.missed_rule if in_vain else ""
    return {
        rule: judgement if rule == certain else _disturbed(judgement, stall_ms)
        for rule, judgement in judgements.items()
    }


def _disturbed(judgement: Judgement, stall_ms: float) -> Judgement:
    """Nothing is proved by what a stall could have made, but by what took far longer by the client's own fault."""
    timing = judgement.timing
    clearly = timing is not None and timing.took_ms - UNSEEN * timing.excused_ms > CLEARLY * timing.bound_ms
    if judgement.verdict not in BROKEN or not judgement.timed or clearly:
        return judgement
    reason = f"{judgement.reason}; the machine stood still for {stall_ms:.0f} ms during the run"
    return replace(judgement, verdict=Verdict.INCONCLUSIVE, reason=reason)


def _tell_what_was_missed(judgements: dict[str, Judgement], history: History, outcome: Outcome) -> None:
    for rule, judgement in judgements.items():
        if judgement.verdict is Verdict.UNTESTABLE:
            reason = f"the run ended before it could be judged: {outcome.missed}"
            judgements[rule] = Judgement(Verdict.UNTESTABLE, reason)
    judgements[outcome.missed_rule] = _missed(judgements.get(outcome.missed_rule), history, outcome)


def _missed(found: Judgement | None, history: History, outcome: Outcome) -> Judgement:
    if found is not None and found.verdict in BROKEN:
        return replace(found, reason=f"{found.reason}; {outcome.missed}")
    return Judgement(
        BREACH[RULES[outcome.missed_rule].level],
        outcome.missed,
        history.ends_us,
        since_us=outcome.missed_since_us,
        timed=True,
    )
