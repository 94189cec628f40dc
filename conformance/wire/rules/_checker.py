"""How a rule is judged: small functions that read a run's history and yield what they found.

A function yields one `Finding` for each occasion on which its rule was at stake: held, or broken, and why. No finding
at all means that the run gave no occasion. A rule may have several functions; one broken occasion breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.wire.history import History
from groupspec.conformance.wire.verdicts import Judgement, Timing, Verdict
from groupspec.spec.rules import RULES


@dataclass(frozen=True)
class Finding:
    """The rule was at stake here.

    `since_us`: of a stretch of time in which something was awaited in vain, its beginning (`at_us` is its end).
    `timed`: it rests on time; `timing`: on these figures.
    """

    held: bool
    reason: str
    at_us: int
    since_us: int | None = None
    timed: bool = False
    timing: Timing | None = None

    @property
    def excused(self) -> bool:
        """Held only after stalls of the machine were taken off: it counts neither for the client nor against it."""
        return self.held and self.timing is not None and self.timing.took_ms > self.timing.bound_ms


def held(reason: str, at_us: int) -> Finding:
    """The rule was kept."""
    return Finding(True, reason, at_us)


def broken(reason: str, at_us: int) -> Finding:
    """The rule was broken."""
    return Finding(False, reason, at_us)


def in_vain(reason: str, since_us: int, at_us: int) -> Finding:
    """The rule was broken: what it demands did not come, from one moment to another."""
    return Finding(False, reason, at_us, since_us, timed=True)


def within(history: History, since_us: int, at_us: int, bound_ms: float, reason: str) -> Finding:
    """The rule was kept if this stretch of time, less the stalls of the machine, is within the bound.

    Broken otherwise.
    """
    timing = history.timing(since_us, at_us, bound_ms)
    kept = timing.took_ms - timing.excused_ms <= bound_ms
    return Finding(kept, f"{reason} ({timing})", at_us, since_us, timed=True, timing=timing)


Check = Callable[[History], Iterator[Finding]]


@dataclass(frozen=True)
class Checker:
    """One function that judges one rule, and what a client must offer to be judged by it."""

    rule: str
    needs: frozenset[str]
    check: Check


CHECKERS: Final[dict[str, list[Checker]]] = {}


def checks(rule: str, needs: str = "") -> Callable[[Check], Check]:
    """Registers a function for a rule; `needs`: features (see protocol.FEATURES) without which it does not apply."""
    assert rule in RULES, rule

    def register(function: Check) -> Check:
        CHECKERS.setdefault(rule, []).append(Checker(rule, frozenset(needs.split()), function))
        return function

    return register


def judge(rule: str, history: History) -> Judgement:
    """The verdict on one rule in one run."""
    offered = history.settings.features
    applicable = [checker for checker in CHECKERS[rule] if checker.needs <= offered]
    if not applicable:
        missing = sorted(set().union(*(checker.needs for checker in CHECKERS[rule])) - offered)
        return Judgement(Verdict.UNSUPPORTED, f"the client does not offer: {', '.join(missing)}")
    findings = [finding for checker in applicable for finding in checker.check(history)]
    broken_ones = sorted((f for f in findings if not f.held), key=lambda finding: finding.at_us)
    if broken_ones:
        verdict = Verdict.FAIL if RULES[rule].level == "must" else Verdict.DEVIATION
        more = f" (and {len(broken_ones) - 1} more)" if len(broken_ones) > 1 else ""
        # What does not rest on time comes first: no stall of the machine can explain it.
        return _judgement(verdict, min(broken_ones, key=lambda finding: finding.timed), more)
    if not findings:
        return Judgement(Verdict.UNTESTABLE, "the run gave no occasion to judge it")
    counted = [finding for finding in findings if not finding.excused]
    return _judgement(Verdict.PASS, counted[-1]) if counted else _judgement(Verdict.UNTESTABLE, findings[-1])


def _judgement(verdict: Verdict, finding: Finding, more: str = "") -> Judgement:
    return Judgement(
        verdict, finding.reason + more, finding.at_us, finding.since_us, timed=finding.timed, timing=finding.timing
    )
