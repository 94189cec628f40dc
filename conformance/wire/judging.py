"""The verdicts on one run, just ended or recorded: from its history and from how its story ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.checks import NO_OCCASION, judge
from groupspec.conformance.checks.verdicts import BREACH, BROKEN, Judgement, Verdict
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import CallbackReturned, ErrorRaised
from groupspec.conformance.history.history import History
from groupspec.conformance.wire.case import Case
from groupspec.impl.network.versions import API_KEYS
from groupspec.spec.rules import RULES

DISTURBED_MS: Final = 200
"""A stall of this length may have changed what happened: late answers were later, sessions ran out."""
CLEARLY: Final = 1.5
UNSEEN: Final = 4
"""A client that waited for a processor may have waited so many times as long as was seen: one thread of it for the
other."""
CLEARLY_IN_VAIN: Final = 4
"""What has not come in so many times the longest stall does not come."""
SCRIPTED: Final = ("the next ", "every ", "the coordinator ", "the broker ", "this ")
"""How the notes begin of what a broker does otherwise than any broker."""
_AWAITED: Final = re.compile(rf"(?:the next|every) ({'|'.join(API_KEYS)})\b")
RAISED_AGAIN: Final = 3
"""So often has raised what ends a client that polls on."""
WORST_FIRST: Final = "J2 S3 O1 O2 P3 D1 D2 H4 J3 K2 M3 L1 L2 P1 P4 H3 H2 H1"
"""Rules by what the application loses: no membership, no assignment, no records, ...; late heartbeats are what shows
first, and says least."""

FOLLOWS: Final = {"K1": "S3", "O2": "S3"}
"""What a client does that has thrown an assignment away: to it the partitions are not owned (K1), and new afterwards
(O2)."""


@dataclass(frozen=True)
class Outcome:
    """How the story of a run ended; all empty when it came to its end.

    Attributes:
        missed_rule: The rule that demanded an event which did not come.
        missed: Which event, and for how long it was waited for.
        no_occasion: Why the client did not come to the point of the scenario, by no fault that is known.
        inconclusive: What the harness, the kit or the machine did wrong.
        unsupported: What the client does not offer, or its harness does not drive.
    """

    missed_rule: str = ""
    missed: str = ""
    missed_since_us: int | None = None
    no_occasion: str = ""
    inconclusive: str = ""
    unsupported: str = ""


def judge_case(case: Case, history: History, outcome: Outcome) -> dict[str, Judgement]:
    """A verdict for each rule of a case; of those that cannot be seen there, why."""
    judgements = judge_run(case.rules, history, outcome)
    if outcome.unsupported or outcome.inconclusive:
        return judgements
    for rule, why in case.scenario.unseen:
        judgements[rule] = Judgement(Verdict.UNTESTABLE, why)
    for rule, judgement in judgements.items():
        if judgement.reason == NO_OCCASION and case.scenario.elsewhere:
            judgements[rule] = replace(judgement, reason=f"{NO_OCCASION}; {case.scenario.elsewhere}")
    return judgements


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
    if reason := outcome.no_occasion or outcome.missed:
        _tell_why_untestable(judgements, reason, in_vain=bool(outcome.no_occasion))
    if outcome.missed_rule:
        judgements[outcome.missed_rule] = _missed(judgements.get(outcome.missed_rule), history, outcome)
    _leave_out_what_follows(judgements, history)
    stall_ms = history.longest_stall_ms()
    if stall_ms < DISTURBED_MS:
        return judgements
    waited_ms = history.took_ms(outcome.missed_since_us or history.ends_us, history.ends_us)
    in_vain = waited_ms > CLEARLY_IN_VAIN * stall_ms and not history.was_expelled()
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


def _tell_why_untestable(judgements: dict[str, Judgement], reason: str, *, in_vain: bool) -> None:
    """`in_vain`: nothing was awaited for as long as it may take, so what did not come is no breach either."""
    for rule, judgement in judgements.items():
        unfair = in_vain and judgement.verdict in BROKEN and judgement.timed and judgement.timing is None
        if judgement.verdict is Verdict.UNTESTABLE or unfair:
            told = f"the run ended before it could be judged: {reason}"
            judgements[rule] = Judgement(Verdict.UNTESTABLE, told)


def _leave_out_what_follows(judgements: dict[str, Judgement], history: History) -> None:
    """Who fails by itself, or is hung up on for what it sends, breaks no rule by what it does not do afterwards."""
    own, unreadable = own_error(history), judgements.get("W1")
    if unreadable is not None and unreadable.verdict not in BROKEN:
        unreadable = None
    for rule, judgement in judgements.items():
        if judgement.verdict not in BROKEN or not judgement.timed:
            continue
        ended_us = judgement.at_us or history.ends_us
        if own is not None and ended_us >= own[0]:
            judgements[rule] = Judgement(Verdict.INCONCLUSIVE, own[1])
        elif unreadable is not None and ended_us >= (unreadable.at_us or 0):
            why = f"the broker closed the connection before it could be judged: {unreadable.reason}"
            judgements[rule] = Judgement(Verdict.UNTESTABLE, why)


def own_error(history: History) -> tuple[int, str] | None:
    """What a client raised without any reason in what it was told, and was its end: when, and what.

    No answer had said an error, nothing was scripted, no callback had raised; and it handed over no record afterwards.
    """
    errors = [(at_us, e) for at_us, e in history.events(ErrorRaised) if not e.woken and not e.harness_line]
    errors = [(at_us, e) for at_us, e in errors if e.call in ("", "poll") and history.before_close(at_us)]
    if not errors:
        return None
    first_us, first = errors[0]
    joined = any(join.told_us < first_us for join in history.answers("JoinGroup", "NONE"))
    usual = ("", "NONE", *(["MEMBER_ID_REQUIRED"] if joined else []))
    before = [entry for entry in history.entries if entry.at_us <= first_us]
    said = any(entry.kind == "response" and entry.error not in usual for entry in before)
    broken_off = any(entry.kind in ("garbage", "unread", "sent_raw") for entry in before)
    raised = any(isinstance(entry.event, CallbackReturned) and entry.event.raised for entry in before)
    went_on = any(returned.at_us > first_us for returned in history.returned)
    if (
        _was_scripted(before)
        or said
        or broken_off
        or raised
        or went_on
        or len(errors) < RAISED_AGAIN <= len(history.polls)
    ):
        return None
    return first_us, f"the client itself raised {first.said}"


def _was_scripted(entries: Sequence[Entry]) -> bool:
    """Whether the broker had done what no other does; what it was to do with an API's next request, if one came."""
    for place, entry in enumerate(entries):
        if entry.kind == "note" and entry.text.startswith(SCRIPTED):
            awaited = _AWAITED.match(entry.text)
            if awaited is None or any(e.kind == "request" and e.api == awaited[1] for e in entries[place:]):
                return True
    return False


def _missed(found: Judgement | None, history: History, outcome: Outcome) -> Judgement:
    if found is not None and found.verdict in BROKEN:
        return replace(found, reason=f"{found.reason}; {outcome.missed}")
    since_us = outcome.missed_since_us or history.ends_us
    return Judgement(
        BREACH[RULES[outcome.missed_rule].level],
        f"{outcome.missed} ({history.timing(since_us, history.ends_us, 0).stalls})",
        history.ends_us,
        since_us=outcome.missed_since_us,
        timed=True,
    )


# One stall of the client is one finding: a member that stands still hands no assignment to its listener, sends no
# heartbeat and returns from no poll, each a rule of its own; the reader is told first what the application loses by it.


def symptoms(judgements: Mapping[str, Judgement]) -> dict[str, str]:
    """Each rule whose breach is only what follows from that of another one in the same run: that one.

    Of those that one stall broke, the one that weighs most; and what `FOLLOWS` says.
    """
    stretched = {
        rule: judgement
        for rule, judgement in judgements.items()
        if judgement.verdict in BROKEN and judgement.since_us is not None
    }
    of: dict[str, str] = {}
    for group in _overlapping(stretched):
        worst = min(group, key=lambda rule: (stretched[rule].verdict is not Verdict.FAIL, WORST_FIRST.find(rule)))
        of |= {rule: worst for rule in group if rule != worst}
    broken = {rule: each.at_us or 0 for rule, each in judgements.items() if each.verdict in BROKEN}
    caused = ((rule, cause) for rule, cause in FOLLOWS.items() if rule in broken and cause in broken)
    return of | {rule: cause for rule, cause in caused if broken[cause] <= broken[rule]}


def _overlapping(stretched: dict[str, Judgement]) -> Sequence[list[str]]:
    """Groups of rules whose stretches overlap, one with the next."""
    groups: list[list[str]] = []
    end = 0
    for rule, judgement in sorted(stretched.items(), key=lambda item: item[1].since_us or 0):
        if not groups or (judgement.since_us or 0) >= end:
            groups.append([])
            end = 0
        groups[-1].append(rule)
        end = max(end, judgement.at_us or 0)
    return groups
