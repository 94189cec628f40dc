"""Is a table whole? Two rows of one cell must never hold at once, and one of them always must.

The library asks for neither: of two rows that hold it takes the first, and an event for which none holds is an error
at run time. Here both are found before anything runs, by trying every value of the variables that a cell's guards
mention. Values that no run ever brings together are tried too: a guard that relies on their absence would say so
nowhere, so the rows must decide them as well.

Beside holes: everything that a row may name must exist, and every state must be reachable.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from groupspec.spec.compiler.guards import constants_compared, domains, names, parse, predicate
from groupspec.spec.compiler.specialise import SPECIALISATIONS, constants, specialise
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.words import Words
from groupspec.spec.problems import SpecError, SpecProblem, did_you_mean
from groupspec.spec.terms import CONSTANTS, Effect, Variable


def check(table: Table, words: Words | None = None) -> None:
    """Accepts the table of a whole class, or raises; `words` are the specification's own if None.

    Raises:
        SpecError: with every overlap, gap, unknown name and unreachable state, and what to do about each.
    """
    checker = _Checker(table, words or Words.ours())
    checker.rows()
    checker.effects()
    # Holes are looked for only between rows that make sense.
    if not checker.problems:
        checker.specialisations()
    if checker.problems:
        raise SpecError(checker.problems)


class _Checker:
    """Collects what is wrong with one table."""

    def __init__(self, table: Table, words: Words) -> None:
        self.table = table
        self.words = words
        self.variables = {variable.name: variable for variable in table.variables}
        self.problems: list[SpecProblem] = []

    def rows(self) -> None:
        """What rows name must exist."""
        words = self.words
        for row in self.table.rows:
            if row.kind == "ignored" and row.reason not in words.reasons:
                self._problem(row.id, f"unknown reason {row.reason!r}", did_you_mean(row.reason, words.reasons))
            for rule in row.rules:
                if rule not in words.rules:
                    self._problem(row.id, f"unknown rule {rule!r}", "use the id of a rule of spec/data/rules.toml")
            if row.kind == "transition" and not row.rules:
                self._problem(row.id, "cites no rule", "name the rules that it rests on")
            inputs = self.table.event(row.event).inputs
            self._names_read(row.id, row.guard, inputs)
            for effect in row.effects:
                for text in self.table.effect_by_name[effect].set.values():
                    self._names_read(f"{row.id}, effect {effect}", text, inputs)

    def _names_read(self, place: str, text: str, inputs: tuple[str, ...]) -> None:
        expression = parse(text, conditional=True)
        for name in names(expression):
            if name not in CONSTANTS and self.variables[name].kind == "input" and name not in inputs:
                known = ", ".join(inputs) or "none"
                remedy = f"give the event this input in vocabulary.py, or read one that it has: {known}"
                self._problem(place, f"reads {name!r}, which does not come with its event", remedy)
        for name, value in constants_compared(expression):
            if name in self.variables and value not in self.variables[name].domain:
                what = f"compares {name!r} with {value!r}, which it can never be"
                self._problem(place, what, f"use one of {self.variables[name].domain}")

    def effects(self) -> None:
        """Effects emit known words, and set the machine's own variables to values of their domains."""
        for effect in self.table.effects:
            place = f"effect {effect.name}"
            for word in effect.emit:
                if word not in self.words.emitted:
                    self._problem(place, f"emits unknown {word!r}", did_you_mean(word, self.words.emitted))
            for name, text in effect.set.items():
                variable = self.variables[name]
                if variable.kind == "state" and variable.owner == self.table.name:
                    self._values(effect, variable, text)
                else:
                    owner = f"the machine {variable.owner!r}" if variable.owner else f"nobody ({variable.kind})"
                    what = f"sets {name!r}, which belongs to {owner}"
                    self._problem(place, what, "emit an event to its owner instead")

    def _values(self, effect: Effect, variable: Variable, text: str) -> None:
        """Whether everything that the expression can give lies in the variable's domain."""
        read = names(parse(text, conditional=True))
        free = tuple(name for name in read if name not in CONSTANTS)
        gives = predicate(text, read, conditional=True)
        for specialisation in SPECIALISATIONS:
            for values in product(*domains(free, self.variables)):
                world = constants(*specialisation) | dict(zip(free, values, strict=True))
                value = gives(*(world[name] for name in read))
                if value not in variable.domain or type(value) is not type(variable.initial):
                    what = f"sets {variable.name!r} to {value!r}, which is not in its domain"
                    self._problem(f"effect {effect.name}", what, f"use one of {variable.domain}")
                    return

    def specialisations(self) -> None:
        """Overlaps and gaps, each with the specialisations that have it; dead rows; states that are never reached."""
        tables = [specialise(self.table, *specialisation) for specialisation in SPECIALISATIONS]
        found: dict[tuple[str, str, str], list[str]] = {}
        for table in tables:
            for hole in _holes(table):
                found.setdefault(hole, []).append(f"{table.rebalance} {table.profile}")
        for (place, what, remedy), which in found.items():
            where = "" if len(which) == len(tables) else f" ({', '.join(which)})"
            self._problem(place, what + where, remedy)
        living = {row.id for table in tables for row in table.rows}
        for row in self.table.rows:
            if row.id not in living:
                self._problem(row.id, "its guard can never hold", "correct the guard, or remove the row")
        reached = {state for table in tables for state in _reachable_states(table)}
        for state in self.table.states:
            if state not in reached:
                self._problem(state, "cannot be reached from the initial state", "add a row that leads to it")

    def _problem(self, place: str, what: str, remedy: str) -> None:
        self.problems.append(SpecProblem(self.table.name, place, what, remedy, _file(self.table, place)))


def _holes(table: Table) -> Iterator[tuple[str, str, str]]:
    """Gaps and overlaps: where, what, and what to do."""
    variables = {variable.name: variable for variable in table.variables}
    for state, event, rows in table.cells():
        cell = f"{state} x {event.name}"
        if not rows:
            yield cell, "no row says what happens", "add a row, ignored(...) or error(...)"
            continue
        read = tuple(dict.fromkeys(name for row in rows for name in names(parse(row.guard))))
        guards = [(row, predicate(row.guard, read)) for row in rows]
        told: set[tuple[str, ...]] = set()
        for values in product(*domains(read, variables)):
            holding = [row.id for row, holds in guards if holds(*values)]
            example = ", ".join(f"{name}={value}" for name, value in zip(read, values, strict=True)) or "always"
            if not holding and () not in told:
                told.add(())
                yield cell, f"no row holds when {example}", "add a row for these values, ignored(...) or error(...)"
            for first, second in pairwise(holding):
                if (first, second) not in told:
                    told.add((first, second))
                    what = f"holds together with {second} when {example}"
                    yield first, what, "make the guards exclude each other"


def _reachable_states(table: Table) -> set[str]:
    reached, todo = {table.initial}, [table.initial]
    while todo:
        state = todo.pop()
        new = {row.target for row in table.rows if row.source == state} - reached
        reached |= new
        todo += new
    return reached


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
