"""The verdicts on one run, from its history and from how its story ended: of a run that has just ended, or of a recorded one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.wire.history import History
from groupspec.conformance.wire.rules import judge
from groupspec.conformance.wire.verdicts import BROKEN, Judgement, Verdict
from groupspec.spec.rules import RULES

LEVEL_VERDICT: Final = {"must": Verdict.FAIL, "should": Verdict.DEVIATION}


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

    An event that did not come breaks the rule that demanded it. Where that rule's own checker found out why, its reason comes
    first: it has read the whole log, and whoever waited only knows that it waited in vain.
    """
    if outcome.unsupported:
        return dict.fromkeys(rules, Judgement(Verdict.UNSUPPORTED, outcome.unsupported))
    if outcome.inconclusive:
        return dict.fromkeys(rules, Judgement(Verdict.INCONCLUSIVE, outcome.inconclusive))
    judgements = {rule: judge(rule, history) for rule in rules}
    if not outcome.missed_rule:
        return judgements
    for rule, judgement in judgements.items():
        if judgement.verdict is Verdict.UNTESTABLE:
            reason = f"the run ended before it could be judged: {outcome.missed}"
            judgements[rule] = Judgement(Verdict.UNTESTABLE, reason)
    judgements[outcome.missed_rule] = _missed(judgements.get(outcome.missed_rule), history, outcome)
    return judgements


def _missed(found: Judgement | None, history: History, outcome: Outcome) -> Judgement:
    if found is not None and found.verdict in BROKEN:
        return replace(found, reason=f"{found.reason}; {outcome.missed}")
    return Judgement(
        LEVEL_VERDICT[RULES[outcome.missed_rule].level],
        outcome.missed,
        history.ends_us,
        since_us=outcome.missed_since_us,
        timed=True,
    )
