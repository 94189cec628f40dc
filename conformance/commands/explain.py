"""`groupspec explain`: one rule, state or event: what it says, who says so, and everything that rests on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from groupspec.conformance.commands._common import json_option, results, write_json
from groupspec.conformance.commands._machines import completed
from groupspec.conformance.errors import EXIT_OK, UsageProblem, did_you_mean
from groupspec.conformance.explain.explanations import Explanation, explain, explainable
from groupspec.diagrams.matrix import row_text
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

SHOWN_ROWS = 40


@click.command()
@click.argument("name", metavar="RULE|STATE|EVENT", shell_complete=lambda *to: completed(to[2], explainable()))
@click.option("--all", "all_rows", is_flag=True, help=f"Every row, not only the first {SHOWN_ROWS}.")
@json_option
def command(name: str, all_rows: bool, json_file: Path | None) -> int:
    """Explain a rule (J3, or by name.

    Member-id-required), a state (STABLE, rebalance.STABLE) or an event (join_accepted).

    Example: groupspec explain J3
    """
    explanation = explain(_known(name))
    for line in _lines(explanation, all_rows):
        results().print(line, markup=False)
    write_json("explain", explanation.data(), json_file)
    return EXIT_OK


def _known(name: str) -> str:
    """The name as it is spelt; case does not count where that leaves no doubt.

    Raises:
        UsageProblem: nothing is called that, or two things are, in different case.
    """
    known = explainable()
    if name in known:
        return name
    same = [candidate for candidate in known if candidate.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    raise UsageProblem(
        f"there is no rule, state or event {name!r}",
        allowed=f"a rule ({', '.join(RULES)}), a state (STABLE, rebalance.STABLE, ...) or an event (join_accepted, "
        "...)",
        next_step=" or ".join(f"did you mean {one!r}?" for one in same)
        or did_you_mean(name, known)
        or "`groupspec table` shows every state and event",
    )


def _lines(explanation: Explanation, all_rows: bool) -> Iterator[str]:
    level = f" ({explanation.level}, {explanation.applies_to})" if explanation.level else ""
    title = RULES[explanation.name].title if explanation.kind == "rule" else explanation.name
    yield f"{explanation.kind} {title}{level}"
    yield f"  {explanation.statement}"
    yield from _list("source", explanation.sources)
    yield from _rows(explanation, all_rows)
    for difference in explanation.differences:
        yield f"difference {difference.id}: {difference.title}"
        yield from (f"  {said.voice}: {said.says} [{said.source}]" for said in difference.statements)
        yield f"  choice: {difference.choice}"
    yield from _list("judged on the wire by", [f"groupspec conform --scenario {s}" for s in explanation.scenarios])
    yield from _list("checked in traces by", explanation.trace_checks)
    yield from _kills(explanation)
    bugs = [KNOWN_BUGS[bug] for bug in explanation.known_bugs]
    yield from _list("known bugs", [f"{bug.id} {bug.client}, {bug.source}: {bug.symptom}" for bug in bugs])
    yield from _list("pictures", explanation.pictures())
    yield from _list("in the book (`groupspec book`)", [explanation.page()])


def _kills(explanation: Explanation) -> Iterator[str]:
    """What proves that the rule is tested: break it so, and these tests fail."""
    lines = []
    for kill in explanation.kills:
        lines.append(f"{kill.mutant}: {kill.what}")
        lines += [f"  -> {test}" for test in kill.tests]
    yield from _list("mutants: break it like this, and these tests fail", lines)
    if explanation.why_no_kills:
        yield f"no mutant: {explanation.why_no_kills}"


def _rows(explanation: Explanation, all_rows: bool) -> Iterator[str]:
    shown = explanation.rows if all_rows else explanation.rows[:SHOWN_ROWS]
    files = ", ".join(dict.fromkeys(f"spec/{machine}.py" for machine, _ in explanation.rows))
    yield from _list(
        f"rows ({len(explanation.rows)}, in {files})",
        [f"{machine}.{row.id}: {row_text(row, whole_tables()[machine])}" for machine, row in shown],
    )
    if len(shown) < len(explanation.rows):
        yield f"  ... and {len(explanation.rows) - len(shown)} more: --all shows them"


def _list(heading: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield heading
        yield from (f"  {item}" for item in items)
