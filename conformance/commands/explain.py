"""`groupspec explain`: what a name means that the tool prints or that Kafka says, and what rests on it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import click

from groupspec.conformance.commands._common import Known, json_option, say, write_json
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.explain import log_lines
from groupspec.conformance.explain.explanation import Explanation, place_of
from groupspec.conformance.explain.index import errors_in, explain, is_name, names, nearest
from groupspec.conformance.missing import in_checkout
from groupspec.diagrams.matrix import row_text
from groupspec.spec.compiler.tables import whole_tables
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

SHOWN = 40
"""Lines of a list, unless all are asked for."""
SHOWN_FOR_A_LINE = 3
"""The same for each of the names that explain a line of a log."""
FOLDED = 4
"""More bare names than these stand beside each other, and not below each other."""
MAX_RULES_IN_FULL = 6
"""More rules than these are named without their statements."""
_BOOK = "`groupspec book`" if in_checkout() else "`groupspec book` in a checkout"

NAMES: Final = (
    "a rule (J3, poll-resets-timer), a state, an event, a row, a Kafka error (ILLEGAL_GENERATION), an API (JoinGroup), "
    "a client's exception (CommitFailedException), a setting (max.poll.interval.ms), a KIP, a scenario or one case of "
    "it, a checker of the wire, a trace rule (T-HEARTBEAT-GAP), a known bug (BUG-41), a property, a model or several "
    "(open-*), a variable of models, a mutant, an operator (widen), a function of the reference "
    "(rebalance_announced), a class of Apache Kafka that a rule cites, a term, ... or a line of a log"
)
"""What can be explained."""
_ALLOWED: Final = "a name that groupspec prints or Kafka says (`groupspec explain --help`), or a line of a log" + (
    "" if in_checkout() else "; properties, models, findings and mutants only in a checkout"
)
_WORDS_OF_A_NAME: Final = 4
"""A text of more words than these, and of no known name, was meant as a message of a log."""


@click.command(
    help="Explain a name that groupspec prints or that Kafka says: what it means, and what rests on it.\n\n"
    f"It may be {NAMES}.\n\nExample: groupspec explain J3"
)
@click.argument("words", metavar="NAME...", nargs=-1, type=Known("name", names, refused=False))
@click.option("--all", "everything", is_flag=True, help=f"Every row and test, not only the first {SHOWN} of each.")
@json_option
def command(words: tuple[str, ...], everything: bool) -> None:
    """Prints everything that has this name; several words are one name."""
    name = " ".join(words).strip()
    if not name:
        raise UsageProblem("which name?", allowed=_ALLOWED, next_step="for example: groupspec explain J3")
    found = explain(name)
    if not found:
        raise _unknown(name)
    most = None if everything else SHOWN_FOR_A_LINE if found[0].kind == log_lines.KIND else SHOWN
    if len(found) > 1 and is_name(name):
        say(f"{len(found)} things have this name:", *map(_in_a_line, found), "")
    for place, explanation in enumerate(found):
        say(*([""] if place else []), *"\n".join(_lines(explanation, most)).split("\n"))
    first, *others = [{**explanation.data(), "others": []} for explanation in found]
    write_json("explain", {**first, "others": others})


def _unknown(name: str) -> UsageProblem:
    """The message for a text that says nothing that is known."""
    near = [] if log_lines.is_line(name) else nearest(name)
    if not near and (log_lines.is_line(name) or len(name.split()) > _WORDS_OF_A_NAME):
        errors = errors_in(name)
        return UsageProblem(
            "no known phrase in this line",
            where=log_lines.written_by(name),
            allowed="what brokers (coordinator), Kafka's Java client, librdkafka and kafka-python write about groups, "
            "commits and rebalances",
            next_step=f"`groupspec explain {errors[0]}` explains the error that it names"
            if errors
            else "pass a line that tells of a join, a rebalance, a commit or an expulsion; `groupspec trace why` reads "
            "whole logs of brokers",
        )
    return UsageProblem(
        f"there is nothing called {name!r}",
        allowed="" if near else _ALLOWED,
        next_step=" or ".join(f"did you mean {one!r}?" for one in near)
        or f"`groupspec table` shows states and events; {_BOOK} is a site with a search",
    )


def _in_a_line(told: Explanation) -> str:
    """The first words of what it means, to choose by."""
    return textwrap.shorten(f"- {told.kind} {told.title or told.name}: {told.statement}", 118, placeholder=" ...")


def _lines(told: Explanation, most: int | None) -> Iterator[str]:
    """What is known of it. Rows are for who works on a table: with a line of a log or a broker's state they wait."""
    level = f" ({told.level}, {told.applies_to})" if told.level else ""
    yield f"{told.kind} {told.title or told.name}{level}"
    yield f"  {told.statement}"
    yield from (f"  {line}" for line in told.formula)
    yield from _list("source", told.sources)
    for heading, lines in told.sections.items():
        yield from _list(heading, lines, most)
    in_full = len(told.rules) <= MAX_RULES_IN_FULL
    rules = [RULES[rule] for rule in told.rules]
    yield from _list("rules", [f"{rule.title}: {rule.statement}" if in_full else rule.title for rule in rules])
    of_the_broker = told.matches == ("broker_group",)
    yield from _rows(told, most if most in {None, SHOWN} and not (most and of_the_broker) else 0)
    yield from _list("in the reference", list(map(str, told.code)), most)
    for difference in told.differences:
        yield f"difference {difference.id}: {difference.title}"
        yield from (f"  {said.voice}: {said.says} [{said.source}]" for said in difference.statements)
        yield f"  choice: {difference.choice}"
    yield from _list("judged on the wire by", [f"groupspec conform --scenario {each}" for each in told.scenarios])
    yield from _list("judged by", list(map(str, told.checks)))
    yield from _list("checked in traces by", told.trace_checks)
    yield from _list("properties of the models", told.properties, most)
    yield from _list("mutants that scenarios must find", told.mutants)
    yield from _kills(told)
    yield from _list("tests that carry its id", list(map(str, told.tests)), most)
    bugs = [KNOWN_BUGS[bug] for bug in told.known_bugs]
    yield from _list("known bugs", [f"{bug.id} {bug.client}, {bug.source}: {bug.symptom}" for bug in bugs], most)
    known = [
        f"{each.verdict} {each.client} {', '.join(each.versions)} in {each.cases}; {each.told}"
        for each in told.deviations
    ]
    yield from _list("known deviations of clients (docket)", known, most)
    yield from _list("pictures", told.pictures())
    yield from _list(f"in the book ({_BOOK})", [told.page] if told.page else [])


def _kills(told: Explanation) -> Iterator[str]:
    """What proves that the rule is tested: break it so, and these tests fail."""
    lines = []
    for kill in told.kills:
        lines.append(f"{kill.mutant}: {kill.what}")
        lines += [f"  -> {test}" for test in kill.tests]
    yield from _list("mutants: break it like this, and these tests fail", lines)
    if told.why_no_kills:
        yield f"no mutant: {told.why_no_kills}"


def _rows(told: Explanation, most: int | None) -> Iterator[str]:
    lines = [
        f"{place_of(machine, row)} {machine}.{row.id}: {row_text(row, whole_tables()[machine])}"
        for machine, row in told.rows
    ]
    yield from _list(f"rows ({len(lines)})", lines, most)


def _list(heading: str, items: Sequence[str], most: int | None = None) -> Iterator[str]:
    if items and most == 0:
        yield f"{heading}: --all shows them"
    elif items:
        yield heading
        yield from _items(items[:most])
        if most is not None and len(items) > most:
            yield f"  ... and {len(items) - most} more: --all shows them"


def _items(items: Sequence[str]) -> Iterator[str]:
    """A line each; many bare names (of models, properties, ...) beside each other."""
    if len(items) > FOLDED and not any(" " in item or "/" in item for item in items):
        yield textwrap.fill(", ".join(items), 120, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    else:
        yield from (f"  {item}" for item in items)
