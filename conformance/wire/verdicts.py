"""Verdicts: of one rule in one run, and of many runs together.

Six words, and no others. FAIL and DEVIATION say that the client broke a rule (a *must*, a *should*). UNSUPPORTED: the client
never offered what the rule is about. UNTESTABLE: the run gave no occasion to judge it, and the reason says why. INCONCLUSIVE:
the kit, the machine or the harness failed, so that nothing can be said about the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK


class Verdict(Enum):
    """What is said about one rule."""

    PASS = "PASS"
    DEVIATION = "DEVIATION"
    FAIL = "FAIL"
    UNSUPPORTED = "UNSUPPORTED"
    UNTESTABLE = "UNTESTABLE"
    INCONCLUSIVE = "INCONCLUSIVE"


WORST_FIRST: Final = (
    Verdict.FAIL,
    Verdict.DEVIATION,
    Verdict.INCONCLUSIVE,
    Verdict.UNTESTABLE,
    Verdict.UNSUPPORTED,
    Verdict.PASS,
)


@dataclass(frozen=True)
class Judgement:
    """A verdict, why, and when in the run (microseconds of the log's clock) it shows."""

    verdict: Verdict
    reason: str
    at_us: int | None = None


def combine(judgements: Sequence[Judgement]) -> Judgement:
    """One verdict over repeated runs: FAIL if any run failed, and how many did.

    Args:
        judgements: The same rule, scenario and client, at least one run.
    """
    worst = min((judgement.verdict for judgement in judgements), key=WORST_FIRST.index)
    of_worst = [judgement for judgement in judgements if judgement.verdict is worst]
    first = of_worst[0]
    if len(judgements) == 1:
        return first
    return Judgement(worst, f"{len(of_worst)} of {len(judgements)} runs: {first.reason}", first.at_us)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """What a command ends with after these verdicts: failures weigh more than what could not be judged."""
    seen = set(verdicts)
    if Verdict.FAIL in seen:
        return EXIT_CONFORMANCE_FAILURE
    return EXIT_INCONCLUSIVE if Verdict.INCONCLUSIVE in seen else EXIT_OK
