"""Kit and trace check on one run: for what both can judge they must say the same.

The trace is made from the run's log, so it shows less: no fetches, no records, not which partitions a commit is of. For
the rules in SHOWN it shows all that the kit judges by; then what the kit finds broken must be found in the trace too.
And whatever the trace check finds must not be a rule that the kit found kept, if that rule is about it. A breach by a
few milliseconds, which the kit never calls certain, may be none in a trace, whose times are whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.traces import layout
from groupspec.conformance.traces.columns import TableChecker
from groupspec.conformance.traces.projection_cache import load
from groupspec.conformance.traces.reading import to_table
from groupspec.conformance.traces.recorder import Recorder
from groupspec.conformance.traces.trace_rules import KINDS, RULES, Violation
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.to_trace import trace_events

SHOWN: Final = ("C1", "C2", "H1", "H2", "J1", "M1")
"""Rules whose evidence in the kit's log is in its trace."""
NOT_SHOWN: Final = {"J1": ("no longer subscribes to that topic", "records of ")}
"""But for this, by the kit's words: what the application subscribes to, and what it reads, is in no trace."""
ABOUT: Final = {"M1": "commit_sent"}
"""Rules about events of one kind: T-MEMBER-ID, of every request, names M1, which says nothing of a Heartbeat's id."""
BROKEN: Final = (Verdict.FAIL, Verdict.DEVIATION)
_SPEC_RULES: Final = {rule.id: rule.spec_rules for rule in RULES}


def found_in_trace(result: CaseResult) -> list[Violation]:
    """The violations that the trace check finds in the trace of a run."""
    recorder = Recorder("run", "wire", lambda line: None)
    checker = TableChecker(load())
    checker.check(layout.sort(to_table([recorder.line(event) for event in trace_events(result)])))
    return [one for one in checker.finish() if KINDS[one.rule] == "violation"]


def is_hidden(rule: str, reason: str) -> bool:
    """Whether the kit goes by what no trace shows."""
    return any(words in reason for words in NOT_SHOWN.get(rule, ()))


def disagreements(result: CaseResult) -> Iterator[str]:
    """Where kit and trace check contradict each other; nothing where one of them cannot judge."""
    found = found_in_trace(result)
    verdicts = {rule: judgement.verdict for rule, judgement in result.judgements.items()}
    for rule in SHOWN:
        judgement = result.judgements.get(rule)
        if judgement is None or judgement.verdict not in BROKEN or is_hidden(rule, judgement.reason):
            continue
        if judgement.timing is not None and not judgement.timing.is_clear:
            continue
        if not any(rule in _SPEC_RULES[one.rule] for one in found):
            yield (f"{result.case.id}: the kit finds {rule} broken ({judgement.reason}), the trace check does not")
    for one in found:
        about_it = [rule for rule in _SPEC_RULES[one.rule] if ABOUT.get(rule, one.event) == one.event]
        judged = {rule: verdicts[rule] for rule in about_it if rule in verdicts}
        kept = [rule for rule, verdict in judged.items() if verdict is Verdict.PASS]
        if kept and not any(verdict is not Verdict.PASS for verdict in judged.values()):
            yield (
                f"{result.case.id}: {one.rule} at event {one.seq} ({one.detail}), the kit finds {', '.join(kept)} kept"
            )
