"""Verdicts: of one rule in one run, of many runs together, and how sure they are.

Only what is wrong can be certain: a rule that was broken in every one of several runs, and by far where it rests on
time. A PASS says that no run broke the rule, in so many runs; that none ever will, no number of runs can say. A rule
that was broken in one run and kept in another flaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from groupspec.conformance.errors import (
    EXIT_CONFORMANCE_FAILURE,
    EXIT_INCONCLUSIVE,
    EXIT_OK,
    UsageProblem,
    did_you_mean,
)
from groupspec.conformance.history.timing import Timing
from groupspec.spec.rules import RULES


class Verdict(Enum):
    """What is said about one rule."""

    PASS = "PASS"
    DEVIATION = "DEVIATION"
    FAIL = "FAIL"
    UNSUPPORTED = "UNSUPPORTED"
    UNTESTABLE = "UNTESTABLE"
    INCONCLUSIVE = "INCONCLUSIVE"


VERDICTS: Final[Mapping[str, str]] = {
    "PASS": "no run of the client broke the rule",
    "DEVIATION": "the client broke a rule that a client should keep (level should)",
    "FAIL": "the client broke a rule that every client must keep (level must)",
    "UNSUPPORTED": "the client does not offer what the rule is about, or its harness does not drive it",
    "UNTESTABLE": "the run gave no occasion to judge the rule; the reason beside it says why",
    "INCONCLUSIVE": "the kit, the machine or the harness failed, so that nothing can be said about the client",
}
"""What each verdict says."""
WORST_FIRST: Final = (
    Verdict.FAIL,
    Verdict.DEVIATION,
    Verdict.INCONCLUSIVE,
    Verdict.PASS,
    Verdict.UNTESTABLE,
    Verdict.UNSUPPORTED,
)
"""Which verdict stands for many runs. A rule that was kept wherever it could be judged is a PASS."""
BREACH: Final = {"must": Verdict.FAIL, "should": Verdict.DEVIATION}
"""What is said of a broken rule of each level."""
BROKEN: Final = (Verdict.FAIL, Verdict.DEVIATION)
JUDGED: Final = (*BROKEN, Verdict.PASS)
"""Verdicts that say something about the client."""
CERTAIN_RUNS: Final = 5
"""So many runs, each of which broke the rule, make it certain."""


@dataclass(frozen=True)
class Judgement:
    """A verdict, and why.

    Attributes:
        at_us: When in the run it shows, on the log's clock; None when it has no one moment.
        since_us: Where what was awaited in vain is a stretch of time: its beginning, and `at_us` is its end.
        timed: Whether it rests on time, so that a machine that stood still could have made it.
        timing: The figures, where it rests on a bound.
    """

    verdict: Verdict
    reason: str
    at_us: int | None = None
    since_us: int | None = None
    timed: bool = False
    timing: Timing | None = None


@dataclass(frozen=True)
class Combined:
    """One verdict over all runs of a case.

    Attributes:
        judgement: That of the first run that has the worst verdict, with how many have it.
        place: Which run that is.
        counts: How many runs gave which verdict.
        narrow: Whether a breach rests on time, and was not clear.
        kept_before: Whether runs of another campaign are known in which the rule was kept.
    """

    judgement: Judgement
    place: int = 0
    counts: Mapping[Verdict, int] = field(default_factory=dict)
    narrow: bool = False
    kept_before: bool = False

    @property
    def runs(self) -> int:
        """How many there were."""
        return sum(self.counts.values())

    @property
    def flaps(self) -> bool:
        """Broken in one run, kept in another."""
        return self._broken > 0 and (self.kept_before or self.counts.get(Verdict.PASS, 0) > 0)

    @property
    def certain(self) -> bool:
        """Broken in every run that is known, in several, and clearly; or not offered by the client at all."""
        broken = self._broken == self.runs >= CERTAIN_RUNS and not self.narrow and not self.flaps
        return broken or self.counts.get(Verdict.UNSUPPORTED, 0) == self.runs

    @property
    def _broken(self) -> int:
        return sum(self.counts.get(verdict, 0) for verdict in BROKEN)

    @property
    def how_sure(self) -> str:
        """In a few words: `3 of 5 runs, flaps`."""
        shown = f"{self.counts.get(self.judgement.verdict, 0)} of {self.runs} run{'s' if self.runs > 1 else ''}"
        return f"{shown}, flaps" if self.flaps else f"{shown}, narrowly" if self.narrow else shown


def combine(judgements: Sequence[Judgement]) -> Combined:
    """One verdict over repeated runs: FAIL if any run failed, and how many did.

    Args:
        judgements: The same rule, scenario and client, at least one run.
    """
    counts = Counter(judgement.verdict for judgement in judgements)
    worst = min(counts, key=WORST_FIRST.index)
    place = next(i for i, judgement in enumerate(judgements) if judgement.verdict is worst)
    timings = (judgement.timing for judgement in judgements if judgement.verdict in BROKEN)
    narrow = any(timing is not None and not timing.is_clear for timing in timings)
    return Combined(judgements[place], place, dict(counts), narrow)


def rule_named(name: str) -> str:
    """The id of a rule that is given by its id or its name.

    Raises:
        UsageProblem: there is none.
    """
    ids = {each: rule.id for rule in RULES.values() for each in (rule.id, rule.name)}
    if name not in ids:
        advice = did_you_mean(name, ids) or "`groupspec explain` knows every rule by its id and its name"
        raise UsageProblem(f"there is no rule {name!r}", next_step=advice)
    return ids[name]


def exit_code(verdicts_by_client: Iterable[Sequence[Verdict]]) -> int:
    """What a command ends with after these verdicts, client by client; failures weigh most.

    A client of which nothing was judged was not tested: that is no success.
    """
    clients = [set(verdicts) for verdicts in verdicts_by_client]
    if any(Verdict.FAIL in seen for seen in clients):
        return EXIT_CONFORMANCE_FAILURE
    unjudged = any(Verdict.INCONCLUSIVE in seen or not seen & set(JUDGED) for seen in clients)
    return EXIT_INCONCLUSIVE if unjudged else EXIT_OK
