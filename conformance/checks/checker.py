"""How a rule is judged: functions that read a run's history and yield what they found.

A function yields one `Finding` for each occasion on which its rule was at stake: held, or broken, and why. No finding
at all means that the run gave no occasion. A rule may have several functions; one broken occasion breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.checks.verdicts import BREACH, Judgement, Verdict
from groupspec.conformance.history.calls import Callback
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.harness_protocol import wanting
from groupspec.conformance.history.history import History
from groupspec.conformance.history.timing import Timing
from groupspec.spec.rules import RULES

DUE_WITHIN_MS: Final = 2_000
"""What a client does by itself may take as long: a poll, a commit, a callback, and a heartbeat or two."""


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

    def judgement(self, verdict: Verdict, more: str = "") -> Judgement:
        """A verdict for this reason."""
        return Judgement(verdict, self.reason + more, self.at_us, self.since_us, timed=self.timed, timing=self.timing)


def held(reason: str, at_us: int) -> Finding:
    """The rule was kept."""
    return Finding(True, reason, at_us)


def broken(reason: str, at_us: int) -> Finding:
    """The rule was broken."""
    return Finding(False, reason, at_us)


def held_if(kept: bool, reason: str, otherwise: str, at_us: int) -> Finding:
    """The rule was kept for the one reason, or broken for the other."""
    return Finding(kept, reason if kept else otherwise, at_us)


def none_of(sent: Sequence[Exchange], broken_by: str, kept_by: str, at_us: int) -> Finding:
    """The rule was broken by the first of these requests; kept, up to that time, if there are none."""
    return broken(broken_by, sent[0].sent_us) if sent else held(kept_by, at_us)


def in_vain(reason: str, since_us: int, at_us: int) -> Finding:
    """The rule was broken: what it demands did not come, from one moment to another."""
    return Finding(False, reason, at_us, since_us, timed=True)


def missing(
    history: History, reason: str, since_us: int, until_us: int | None = None, *, joins: bool = False
) -> Iterator[Finding]:
    """The rule was broken: what it demands of a client by itself did not come, up to this time or the run's end.

    No finding if close() was called, or that time came, before it could. `joins`: it is a part of joining, for which
    some clients need polls, and all a coordinator; and which nobody does who is fenced.
    """
    end_us = history.ends_us if until_us is None else until_us
    end_us = min(end_us, history.until_close_us) if since_us < history.until_close_us else end_us
    if joins and (history.looks_for_coordinator(end_us) or history.is_fenced(end_us)):
        return
    took_ms = history.able_to_join_ms if joins else history.took_ms
    if took_ms(since_us, end_us) >= DUE_WITHIN_MS + history.exact.step_us / 1_000:
        yield in_vain(reason, since_us, end_us)


def within(history: History, since_us: int, at_us: int, bound_ms: float, reason: str, slack_ms: float = 0.0) -> Finding:
    """The rule was kept if this stretch of time, less the stalls of the machine, is within the bound.

    `slack_ms`: how much of the bound is tolerance.
    """
    timing = replace(history.timing(since_us, at_us, bound_ms), slack_ms=slack_ms)
    kept = timing.took_ms - timing.excused_ms <= bound_ms + history.exact.step_us / 1_000
    return Finding(kept, f"{reason} ({timing})", at_us, since_us, timed=True, timing=timing)


def within_polls(
    history: History, since_us: int, at_us: int, bound_ms: float, reason: str, slack_ms: float = 0.0
) -> Finding:
    """The same of what a client may do only while its application polls: pauses between polls are not its own."""
    finding = within(history, since_us, at_us, bound_ms, reason, slack_ms)
    paused = not finding.held and history.able_to_join_ms(since_us, at_us, by_time=True) <= bound_ms
    return replace(finding, held=True) if paused else finding


@dataclass(frozen=True)
class Known:
    """From when on the client knows something, at the latest.

    `told_us`: when the broker wrote it, or when the client itself decided it; `connection`: where the broker did.
    `shown`: what the client did only because it knows: the time, and the connection of the request that it sent (-1: an
    event of its own).
    """

    told_us: int
    shown: Sequence[tuple[int, int]] = ()
    connection: int = -1

    @staticmethod
    def of(told: Exchange, *signs: Exchange | Callback | None) -> Known:
        """What an answer told; see `by`."""
        return replace(Known.by(told.told_us, *signs), connection=told.request.connection)

    @staticmethod
    def by(told_us: int, *signs: Exchange | Callback | None) -> Known:
        """With these signs; None for one that never came."""
        shown = []
        for sign in signs:
            if isinstance(sign, Exchange):
                shown.append((sign.sent_us, sign.request.connection))
            elif sign is not None:
                shown.append((sign.started_us, -1))
        return Known(told_us, shown)

    def before(self, request: Exchange, history: History) -> bool:
        """Whether the client surely knew when it sent this request.

        A request that arrives right after an answer was written may have been sent before it was read. Not so what was
        sent for that answer, or for a later one on that connection, which keeps the order; nor what follows a sign on
        the same connection. What two sockets bring is as far apart as the kit's reading of them.
        """
        late_us = request.sent_us - history.busy_us(self.told_us, request.sent_us)
        if late_us > self.told_us + history.exact.in_flight_us:
            return True
        read = history.answered_before(request)
        if read is not None and read.told_us >= self.told_us and read.request.connection == self.connection:
            return True
        return any(
            request.sent_us > at_us
            and (connection == request.request.connection or late_us > at_us + history.exact.two_connections_us)
            for at_us, connection in self.shown
        )


def sent_knowing(history: History, since_us: int, until_us: int, api: str) -> list[Exchange]:
    """The requests of this API in between that the client surely sent after something that it knew at the beginning.

    What it sent before that may be read much later, if the kit stands still meanwhile.
    """
    known = Known(since_us)
    return [exchange for exchange in history.between(since_us, until_us, api) if known.before(exchange, history)]


Check = Callable[[History], Iterator[Finding]]


@dataclass(frozen=True)
class Checker:
    """One function that judges one rule.

    Attributes:
        rule: Its id.
        needs: What a client must offer (see protocol.FEATURES) to be judged by it.
        rebalance: Of which runs it is: eager or cooperative; "" for both.
        check: The function.
    """

    rule: str
    needs: frozenset[str]
    rebalance: str
    check: Check


CHECKERS: Final[dict[str, list[Checker]]] = {}
NO_OCCASION: Final = "the run gave no occasion to judge it"


def checks(rule: str, needs: str = "", rebalance: str = "") -> Callable[[Check], Check]:
    """Registers a function for a rule; see Checker."""
    assert rule in RULES, rule

    def register(function: Check) -> Check:
        CHECKERS.setdefault(rule, []).append(Checker(rule, frozenset(needs.split()), rebalance, function))
        return function

    return register


def _awaited(finding: Finding, history: History) -> str:
    """Of what was awaited in vain: for how long, and what stood still meanwhile."""
    if finding.since_us is None or finding.timing is not None:
        return ""
    timing = history.timing(finding.since_us, finding.at_us, 0)
    return f" (awaited for {timing.took_ms:.0f} ms; {timing.stalls})"


def judge(rule: str, history: History) -> Judgement:
    """The verdict on one rule in one run."""
    settings = history.settings
    offered = [checker for checker in CHECKERS[rule] if checker.needs <= settings.features]
    if not offered:
        missing = frozenset().union(*(checker.needs for checker in CHECKERS[rule])) - settings.features
        return Judgement(Verdict.UNSUPPORTED, wanting(missing, settings.not_driven))
    applicable = [checker for checker in offered if checker.rebalance in ("", settings.rebalance)]
    findings = [finding for checker in applicable for finding in checker.check(history)]
    broken_ones = sorted((f for f in findings if not f.held), key=lambda finding: finding.at_us)
    if broken_ones:
        others = len(broken_ones) - 1
        more = f" (and {others} more breach{'es' if others > 1 else ''} of the rule in this run)" if others else ""
        # What does not rest on time comes first: no stall of the machine can explain it.
        worst = min(broken_ones, key=lambda finding: finding.timed)
        return worst.judgement(BREACH[RULES[rule].level], _awaited(worst, history) + more)
    if not findings:
        return Judgement(Verdict.UNTESTABLE, NO_OCCASION)
    counted = [finding for finding in findings if not finding.excused]
    return counted[-1].judgement(Verdict.PASS) if counted else findings[-1].judgement(Verdict.UNTESTABLE)
