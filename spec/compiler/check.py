"""Is a table whole? Two rows of one cell must never hold at once, and one of them always must.

The library asks for neither: of two rows that hold it takes the first, and an event for which none holds is an error
at run time. Here both are found before anything runs, by trying every value of the variables that a cell's guards
mention. Values that no run ever brings together are tried too: a guard that relies on their absence would say so
nowhere, so the rows must decide them as well.

Beside holes: everything that a row may name must exist, and every state must be reachable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product

from groupspec.spec.compiler.guards import constants_compared, domains, names, parse, predicate
from groupspec.spec.compiler.problems import SpecError, SpecProblem
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES, constants, specialise
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.words import Words, did_you_mean
from groupspec.spec.terms import CONSTANTS, Effect, Value, Variable


def check(table: Table, words: Words | None = None) -> None:
    """Accepts the table of a whole class, or raises.

    Args:
        table: What `introspect` gave.
        words: The vocabulary; the specification's own when None.

    Raises:
        SpecError: with every overlap, gap, unknown name and unreachable state, and what to do about each.
    """
    words = words or Words.ours()
    problems = [*_rows(table, words), *_effects(table, words)]
    # Holes are looked for only between rows that make sense.
    if not problems:
        problems = [*_cells(table), *_dead_rows(table), *_unreachable(table)]
    if problems:
        raise SpecError(problems)


def _rows(table: Table, words: Words) -> Iterator[SpecProblem]:
    variables = {variable.name: variable for variable in table.variables}
    for row in table.rows:
        if row.kind == "ignored" and row.reason not in words.reasons:
            yield _problem(table, row.id, f"unknown reason {row.reason!r}", did_you_mean(row.reason, words.reasons))
        for rule in row.rules:
            if rule not in words.rules:
                yield _problem(table, row.id, f"unknown rule {rule!r}", "use the id of a rule of spec/data/rules.toml")
        if row.kind == "transition" and not row.rules:
            yield _problem(table, row.id, "cites no rule", "name the rules that it rests on")
        yield from _names_read(table, row.id, row.guard, variables, _inputs_of(table, row.event))
        for effect_name in row.effects:
            effect = table.effect_by_name[effect_name]
            for text in effect.set.values():
                yield from _names_read(
                    table, f"{row.id}, effect {effect_name}", text, variables, _inputs_of(table, row.event)
                )


def _names_read(
    table: Table, place: str, text: str, variables: Mapping[str, Variable], inputs: tuple[str, ...]
) -> Iterator[SpecProblem]:
    expression = parse(text, conditional=True)
    for name in names(expression):
        if name in CONSTANTS:
            continue
        if variables[name].kind == "input" and name not in inputs:
            yield _problem(
                table,
                place,
                f"reads {name!r}, which does not come with its event",
                f"give the event this input in vocabulary.py, or read one that it has: {', '.join(inputs) or 'none'}",
            )
    for name, value in constants_compared(expression):
        if name in variables and value not in variables[name].domain:
            yield _problem(
                table,
                place,
                f"compares {name!r} with {value!r}, which it can never be",
                f"use one of {variables[name].domain}",
            )


def _inputs_of(table: Table, event: str) -> tuple[str, ...]:
    return table.event(event).inputs


def _effects(table: Table, words: Words) -> Iterator[SpecProblem]:
    variables = {variable.name: variable for variable in table.variables}
    for effect in table.effects:
        place = f"effect {effect.name}"
        for word in effect.emit:
            if word not in words.emitted:
                yield _problem(table, place, f"emits unknown {word!r}", did_you_mean(word, words.emitted))
        for name, text in effect.set.items():
            variable = variables[name]
            if variable.kind != "state" or variable.owner != table.name:
                owner = f"the machine {variable.owner!r}" if variable.owner else f"nobody ({variable.kind})"
                yield _problem(
                    table, place, f"sets {name!r}, which belongs to {owner}", "emit an event to its owner instead"
                )
            else:
                yield from _values(table, effect, variable, text, variables)


def _values(
    table: Table, effect: Effect, variable: Variable, text: str, variables: Mapping[str, Variable]
) -> Iterator[SpecProblem]:
    """Whether everything that the expression can give lies in the variable's domain."""
    read = names(parse(text, conditional=True))
    free = tuple(name for name in read if name not in CONSTANTS)
    gives = predicate(text, read, conditional=True)
    for known in _worlds():
        for values in product(*domains(free, variables)):
            world = {**known, **dict(zip(free, values, strict=True))}
            value = gives(*(world[name] for name in read))
            if value not in variable.domain or type(value) is not type(variable.initial):
                yield _problem(
                    table,
                    f"effect {effect.name}",
                    f"sets {variable.name!r} to {value!r}, which is not in its domain",
                    f"use one of {variable.domain}",
                )
                return


def _worlds() -> Iterator[dict[str, Value]]:
    for rebalance in REBALANCES:
        for profile in PROFILES:
            yield constants(rebalance, profile)


def _cells(table: Table) -> Iterator[SpecProblem]:
    """Overlaps and gaps; one that several specialisations share is told once, with all of them."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for rebalance in REBALANCES:
        for profile in PROFILES:
            for place, what, remedy in _holes(specialise(table, rebalance, profile)):
                found.setdefault((place, what, remedy), []).append(f"{rebalance} {profile}")
    for (place, what, remedy), worlds in found.items():
        where = "" if len(worlds) == len(REBALANCES) * len(PROFILES) else f" ({', '.join(worlds)})"
        yield _problem(table, place, what + where, remedy)


def _holes(table: Table) -> Iterator[tuple[str, str, str]]:
    variables = {variable.name: variable for variable in table.variables}
    for state, event, rows in table.cells():
        cell = f"{state} x {event.name}"
        if not rows:
            yield cell, "no row says what happens", "add a row, ignored(...) or error(...)"
            continue
        read = tuple(dict.fromkeys(name for row in rows for name in names(parse(row.guard))))
        guards = [(row, predicate(row.guard, read)) for row in rows]
        overlaps: set[tuple[str, str]] = set()
        gap_told = False
        for values in product(*domains(read, variables)):
            holding = _holding(guards, values)
            if len(holding) == 1:
                continue
            example = ", ".join(f"{name}={value}" for name, value in zip(read, values, strict=True)) or "always"
            if not holding and not gap_told:
                gap_told = True
                yield cell, f"no row holds when {example}", "add a row for these values, ignored(...) or error(...)"
            for first, second in pairwise(holding):
                if (first.id, second.id) not in overlaps:
                    overlaps.add((first.id, second.id))
                    yield (
                        first.id,
                        f"holds together with {second.id} when {example}",
                        "make the guards exclude each other",
                    )


def _holding(guards: list[tuple[Row, Callable[..., Value]]], values: tuple[Value, ...]) -> list[Row]:
    return [row for row, holds in guards if holds(*values)]


def _dead_rows(table: Table) -> Iterator[SpecProblem]:
    living = {
        row.id for rebalance in REBALANCES for profile in PROFILES for row in specialise(table, rebalance, profile).rows
    }
    for row in table.rows:
        if row.id not in living:
            yield _problem(table, row.id, "its guard can never hold", "correct the guard, or remove the row")


def _unreachable(table: Table) -> Iterator[SpecProblem]:
    reached: set[str] = set()
    for rebalance in REBALANCES:
        for profile in PROFILES:
            reached |= _reachable_states(specialise(table, rebalance, profile))
    for state in table.states:
        if state not in reached:
            yield _problem(table, state, "cannot be reached from the initial state", "add a row that leads to it")


def _reachable_states(table: Table) -> set[str]:
    reached, todo = {table.initial}, [table.initial]
    while todo:
        state = todo.pop()
        for row in table.rows:
            if row.source == state and row.target not in reached:
                reached.add(row.target)
                todo.append(row.target)
    return reached


def _problem(table: Table, place: str, what: str, remedy: str) -> SpecProblem:
    return SpecProblem(table.name, place, what, remedy, _file(table, place))


def _file(table: Table, place: str) -> str:
    """The file and line of a row; of a cell those of its first row; of anything else the file."""
    row_id = place.partition(", ")[0]
    state, cell, event = place.partition(" x ")
    if cell:
        row_id = next((row.id for row in table.cell(state, event)), "")
    elif place.startswith("effect "):
        effect = place.removeprefix("effect ")
        row_id = next((row.id for row in table.rows if effect in row.effects), "")
    return table.places.get(row_id, table.places.get("", ""))
