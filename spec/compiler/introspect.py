"""From a machine class to its table: reads the class back through the library, and refuses what cannot be compiled."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from statemachine import StateMachine
from statemachine.callbacks import CallbackSpec

from groupspec.spec.compiler.guards import GuardProblem, names, parse, show
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.words import Words
from groupspec.spec.machine import REFUSE, RowTransition
from groupspec.spec.problems import SpecError, SpecProblem, did_you_mean, shown_path
from groupspec.spec.terms import CONSTANTS, Effect


def introspect(machine: type[StateMachine], words: Words | None = None) -> Table:
    """The table of the whole class, for both protocols and both profiles; `words` are the specification's own if None.

    Raises:
        SpecError: something in the class cannot be compiled: every such thing is listed.
    """
    return _Reader(machine, words or Words.ours()).table()


class _Reader:
    """Reads one class, collecting what is wrong with it."""

    def __init__(self, machine: type[StateMachine], words: Words) -> None:
        self.machine = machine
        self.words = words
        self.name: str = getattr(machine, "machine_name", "")
        self.problems: list[SpecProblem] = []
        module = sys.modules.get(machine.__module__)
        self.places: dict[str, str] = {"": shown_path(getattr(module, "__file__", None) or "")}

    def table(self) -> Table:
        """The table; raises SpecError if anything was wrong on the way."""
        if not self.name:
            self._problem("", "the class has no machine_name", "set `machine_name = '...'` in the class")
        transitions = list(self._transitions())
        self._check_names(transitions)
        rows = list(self._rows(transitions)) if not self.problems else []
        if self.problems:
            raise SpecError(self.problems)
        used = {name for row in rows for name in row.effects}
        effects = tuple(effect for name, effect in self.words.effects.items() if name in used)
        read = self._names_read(rows, effects)
        states = tuple(state.id for state in self.machine.states)
        events = tuple(name for name in self.words.events if any(row.event == name for row in rows))
        rows.sort(key=lambda row: (states.index(row.source), events.index(row.event)))
        return Table(
            name=self.name,
            rebalance=None,
            profile=None,
            states=states,
            initial=str(self.machine.initial_state.id),
            events=tuple(self.words.events[event] for event in events),
            variables=tuple(v for v in self.words.variables.values() if v.owner == self.name or v.name in read),
            rows=tuple(rows),
            effects=effects,
            places=self.places,
        )

    def _problem(self, row: str, what: str, remedy: str) -> None:
        place = self.places.get(row, self.places[""])
        self.problems.append(SpecProblem(self.name or self.machine.__name__, row, what, remedy, place))

    def _transitions(self) -> Iterator[RowTransition]:
        found: list[RowTransition] = []
        for state in self.machine.states:
            if state.states or state.history or state.parallel or state.final:
                self._problem(state.id, "compound, parallel, history and final states", "use one flat machine")
            for group in (state.enter, state.exit):
                if any(not spec.is_convention for spec in group):
                    self._problem(state.id, "has an entry or exit action", "name the effect in the rows instead")
            for transition in state.transitions:
                if isinstance(transition, RowTransition):
                    found.append(transition)
                else:
                    self._problem(
                        f"{state.id}.{transition.event}",
                        "a transition that is not a row",
                        "make it with row(), ignored() or error()",
                    )
        yield from sorted(found, key=lambda transition: transition.order)

    def _check_names(self, transitions: list[RowTransition]) -> None:
        """The library drops a state whose name is also an event, without a word; so nothing may have two meanings."""
        states = {state.id for state in self.machine.states}
        events = {str(t.event) for t in transitions}
        named = {state for t in transitions for state in (_name(t.source), _name(t.target))}
        for name in sorted((states | named) & (events | set(self.words.events) | set(self.words.variables))):
            self._problem(name, "is both a state and an event or variable", "rename one of them")
        for name in sorted((states | named) & set(CONSTANTS)):
            self._problem(name, "is both a state and a constant of the guards", "rename the state")
        for name in sorted(named - states - events):
            self._problem(name, "is named in a row and is no state of the class", "declare it as State() in the class")

    def _rows(self, transitions: list[RowTransition]) -> Iterator[Row]:
        count: Counter[tuple[str, str]] = Counter()
        for transition in transitions:
            source, event = _name(transition.source), str(transition.event)
            count[source, event] += 1
            row_id = f"{source}.{event}.{count[source, event]}"
            self.places[row_id] = transition.place
            if event not in self.words.events:
                self._problem(row_id, f"unknown event {event!r}", did_you_mean(event, self.words.events))
            yield Row(
                id=row_id,
                source=source,
                event=event,
                target=_name(transition.target),
                guard=self._guard(transition, row_id),
                effects=tuple(self._effects(transition, row_id)),
                kind=transition.kind,
                reason=transition.reason,
                rules=transition.rules,
            )

    def _guard(self, transition: RowTransition, row_id: str) -> str:
        texts = []
        for spec in _declared(transition.cond):
            if not isinstance(spec.func, str):
                self._problem(row_id, "the guard is a function", "write the guard as a string over variables")
                continue
            try:
                texts.append(show(parse(spec.func)))
            except GuardProblem as problem:
                self._problem(row_id, str(problem), problem.remedy)
        for group in (transition.validators, transition.before, transition.after):
            if any(_declared(group)):
                self._problem(row_id, "validators, before and after cannot be compiled", "use `when` and `do`")
        return texts[0] if texts else ""

    def _effects(self, transition: RowTransition, row_id: str) -> Iterator[str]:
        for spec in _declared(transition.on):
            if not isinstance(spec.func, str):
                self._problem(row_id, "an effect is a function", "name an effect of the vocabulary")
            elif spec.func == REFUSE and transition.kind == "error":
                continue
            elif spec.func not in self.words.effects:
                self._problem(row_id, f"unknown effect {spec.func!r}", did_you_mean(spec.func, self.words.effects))
            else:
                yield spec.func

    def _names_read(self, rows: list[Row], effects: tuple[Effect, ...]) -> frozenset[str]:
        read: set[str] = set()
        for row in rows:
            read.update(names(parse(row.guard)))
        for effect in effects:
            for target, text in effect.set.items():
                read.add(target)
                try:
                    read.update(names(parse(text, conditional=True)))
                except GuardProblem as problem:
                    self._problem(f"effect {effect.name}", str(problem), problem.remedy)
        known = {*self.words.variables, *CONSTANTS}
        for name in sorted(read - known):
            place = next((row.id for row in rows if name in names(parse(row.guard))), "an effect")
            self._problem(place, f"unknown variable {name!r}", did_you_mean(name, sorted(known)))
        if self.problems:
            raise SpecError(self.problems)
        return frozenset(read)


def _declared(group: object) -> Iterator[CallbackSpec]:
    """The callbacks that the class itself names, without those that the library adds by convention."""
    assert hasattr(group, "__iter__")
    for spec in group:
        if not spec.is_convention:
            yield spec


def _name(state: object) -> str:
    """A state's id; a state that lost its name to an event has none, but its position in the class body is known."""
    return str(getattr(state, "id", "") or state)
