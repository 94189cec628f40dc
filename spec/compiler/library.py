"""The library's own machine, driven step by step: the oracle that every other form of a table is compared with.

python-statemachine runs the very class that a reader sees. What it lacks is a model: an object with the variables that
guards read and the effects that rows name. That model is made here from the same data, but in another way than the
compiled step, by evaluating one assignment after another; so that an agreement of the two says something.

An instance takes half a millisecond to make, so one is made for a table and set to whatever state is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from statemachine import StateMachine
from statemachine.exceptions import TransitionNotAllowed

from groupspec.spec.compiler.guards import parse
from groupspec.spec.compiler.specialise import constants
from groupspec.spec.compiler.step import Values
from groupspec.spec.compiler.table import Table
from groupspec.spec.terms import Effect, Value

EffectMethod: TypeAlias = Callable[["Model"], None]


class LibraryResult(NamedTuple):
    """What the library made of an event.

    Attributes:
        allowed: False if it raised TransitionNotAllowed: an error row, or an event that the machine does not know.
        order: Which row fired, by its place in the file (`RowTransition.order`); -1 if none did.
        values: In the order of `Step.variables`.
    """

    allowed: bool
    order: int
    state: str
    values: Values
    emitted: tuple[str, ...]


class Model:
    """What guards and effects see; the variables and the effects are attributes that `LibraryMachine` adds."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.state: str | None = None
        self.fired = -1
        self.emitted: list[str] = []
        self.__dict__.update(values)

    def after_transition(self, transition: object) -> None:
        """Called by the library, by convention, after every transition."""
        self.fired = getattr(transition, "order", -1)

    def refuse_illegal_event(self, machine: StateMachine, event: object) -> None:
        """The action of an error row."""
        raise TransitionNotAllowed(event, machine.configuration)  # type: ignore[arg-type]


class LibraryMachine:
    """One instance of a machine's class, for one specialised table.

    Attributes:
        variables: The names of the values, in the order of `Step.variables`.
    """

    def __init__(self, machine: type[StateMachine], whole: Table, table: Table) -> None:
        """`whole` is the table of `machine` for both protocols and profiles, `table` one specialisation of it."""
        self.variables = tuple(v.name for v in (*table.own, *table.config, *table.foreign))
        initial: dict[str, Value] = {variable.name: variable.initial for variable in whole.variables}
        initial |= constants(table.rebalance, table.profile)
        # Effects as the vocabulary has them, with their constants: so that specialisation is compared, too.
        model_class = type("Model", (Model,), {effect.name: _method(effect) for effect in whole.effects})
        self.model: Model = model_class(initial)
        self.machine = machine(model=self.model)

    def place(self, state: str, values: Sequence[Value]) -> None:
        """Puts the machine into `state` with `values`, in the order of `variables`."""
        self.machine.current_state_value = state
        self.model.__dict__.update(zip(self.variables, values, strict=True))

    def send(self, event: str, inputs: Mapping[str, Value]) -> LibraryResult:
        """One event with its inputs."""
        model = self.model
        model.__dict__.update(inputs)
        model.fired, model.emitted = -1, []
        try:
            self.machine.send(event)
            allowed = True
        except TransitionNotAllowed:
            allowed = False
        values = tuple(model.__dict__[name] for name in self.variables)
        return LibraryResult(allowed, model.fired, str(model.state), values, tuple(model.emitted))


def _method(effect: Effect) -> EffectMethod:
    for text in effect.set.values():
        parse(text, conditional=True)  # nothing that is not in the language is ever evaluated
    compiled = [(name, compile(text, f"<{effect.name}>", "eval")) for name, text in effect.set.items()]

    def apply(model: Model) -> None:
        seen = model.__dict__
        new = {name: eval(code, {"__builtins__": {}}, seen) for name, code in compiled}
        seen.update(new)
        model.emitted.extend(effect.emit)

    apply.__name__ = effect.name
    return apply
