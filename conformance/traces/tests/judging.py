"""The two ways to judge a trace, side by side, for the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from groupspec.conformance.traces import group_checks, layout
from groupspec.conformance.traces.columns import TableChecker
from groupspec.conformance.traces.projection_cache import load
from groupspec.conformance.traces.reading import to_table
from groupspec.conformance.traces.schema import TraceLine
from groupspec.conformance.traces.tests.reference_checker import (
    ReferenceMember,
    check_member,
    findings_of_terms,
    members,
    second_owners,
)
from groupspec.conformance.traces.trace_rules import CODES, Violation, detail


def flat(group: Iterable[Iterable[TraceLine]]) -> list[TraceLine]:
    """The members' events, one after the other."""
    return [line for member in group for line in member]


def judge_plainly(lines: Sequence[TraceLine]) -> list[Violation]:
    """The violations by plain Python; the lines are in the layout's order."""
    found: list[Violation] = []
    groups: dict[tuple[str, str], list[ReferenceMember]] = {}
    for trace in members(lines):
        member = check_member(trace, load())
        found += member.violations
        groups.setdefault((trace[0].run, trace[0].group), []).append(member)
    for (run, group), checked in groups.items():
        claims = [claim for member in checked for claim in member.claims]
        for claim, other in second_owners(claims):
            text = group_checks.text_of_conflict(claim.generation, claim.partition, other)
            place = (run, group, claim.member, claim.seq, group_checks.TWO_OWNERS)
            process = next(member.line.process for member in checked if claim in member.claims)
            found.append(Violation(*place, claim.state, claim.event, claim.at_us, text, process))
        found += _of_terms(checked)
    return sorted(found)


def in_order(lines: Sequence[TraceLine]) -> pa.Table:
    """The lines as a table in the layout's order."""
    return layout.sort(to_table(lines))


def judge_compiled(table: pa.Table, batch_rows: int = 1 << 16) -> list[Violation]:
    """The violations by the columnar checker, batch after batch."""
    checker = TableChecker(load())
    for start in range(0, table.num_rows, batch_rows):
        checker.check(table.slice(start, batch_rows))
    return checker.finish()


def rules(violations: Iterable[Violation]) -> list[str]:
    """What was found, by rule."""
    return [violation.rule for violation in violations]


def _of_terms(checked: Sequence[ReferenceMember]) -> Iterator[Violation]:
    """The findings about a group's generations."""
    numbered = [term._replace(member=number) for number, member in enumerate(checked) for term in member.terms]
    for one in findings_of_terms(numbered):
        line = checked[one.member].line
        other = checked[one.other].line.member if one.other >= 0 else ""
        text = detail(CODES[one.rule], one.a, one.b, other=other)
        place = (line.run, line.group, line.member, one.seq)
        yield Violation(*place, one.rule, "", one.event, one.at_us, text, line.process)
