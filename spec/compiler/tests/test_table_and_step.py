"""Tables, their specialisations, their JSON, and the step that is generated from them."""

from __future__ import annotations

import json
import time
from itertools import product
from typing import NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupspec.spec.compiler import REBALANCES, TABLE_SCHEMA, introspect, specialise, table_data, table_json
from groupspec.spec.compiler.guards import names, parse, predicate, show, simplify
from groupspec.spec.compiler.library import LibraryMachine
from groupspec.spec.compiler.specialise import PROFILES, constants, is_the_same_everywhere
from groupspec.spec.compiler.step import NO_ROW, TableStep, compile_step
from groupspec.spec.compiler.table import Row
from groupspec.spec.compiler.tables import OF_NO_PROTOCOL, classes, each_table, tables, whole_tables
from groupspec.spec.compiler.tests.samples import Lamp, words
from groupspec.spec.terms import Value

WHOLE = introspect(Lamp, words())


def _guards() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(["a", "b", "eager", "deployed", "x == 'p'", "x != 'q'", "True", "False"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            inner.map(lambda text: f"not ({text})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]}) and ({two[1]})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]}) or ({two[1]})"),
        ),
        max_leaves=12,
    )


class Outcome(NamedTuple):
    """What an event did: the row (None if the machine does not know the event), and what was emitted."""

    row: Row | None
    emitted: tuple[str, ...]


class Machine:
    """A compiled table with a memory: for tests and explanations, where names matter more than speed.

    Attributes:
        state: Where it is.
        values: Every variable by name; those of other machines may be assigned.
    """

    def __init__(self, step: TableStep, **values: Value) -> None:
        """Begins in the initial state; `values` differ from the initial ones."""
        self._step = step
        self.state = step.table.initial
        self.values: dict[str, Value] = {variable.name: variable.initial for variable in step.variables} | values

    def send(self, event: str, **inputs: Value) -> Outcome:
        """One event. Inputs that are not given have their initial value; an error row changes nothing."""
        known = {known.name: known for known in self._step.table.events}
        needed = known[event].inputs if event in known else ()
        given = tuple(inputs.get(name, self._step.table.variable(name).initial) for name in needed)
        index, self.state, values, emitted = self._step.step(self.state, tuple(self.values.values()), event, given)
        self.values = dict(zip(self.values, values, strict=True))
        return Outcome(self._step.table.rows[index] if index != NO_ROW else None, emitted)


@given(guard=_guards(), rebalance=st.sampled_from(REBALANCES), profile=st.sampled_from(PROFILES))
def test_partial_evaluation_and_printing_keep_the_meaning(guard: str, rebalance: str, profile: str) -> None:
    known = constants(rebalance, profile)
    simplified = show(simplify(parse(guard), known))
    assert not set(names(parse(simplified))) & set(known)
    free = ("a", "b", "x")
    before, after = predicate(guard, (*free, *known)), predicate(simplified, free)
    for values in product((False, True), (False, True), ("p", "q", "r")):
        assert bool(before(*values, *known.values())) is bool(after(*values))


def test_row_ids_are_those_of_the_whole_class_in_every_specialisation() -> None:
    published = specialise(WHOLE, "eager", "published")
    assert [row.id for row in published.cell("ON", "night_ends")] == ["ON.night_ends.2"]
    assert [row.guard for row in published.cell("ON", "night_ends")] == [""]
    assert [row.id for row in specialise(WHOLE, "eager", "deployed").cell("ON", "night_ends")] == ["ON.night_ends.1"]


def test_effects_are_specialised_too() -> None:
    assert specialise(WHOLE, "eager", "deployed").effect_by_name["melt"].set == {"broken": "True"}
    assert specialise(WHOLE, "cooperative", "deployed").effect_by_name["melt"].set == {"broken": "broken"}


@pytest.mark.parametrize("key", list(tables()), ids=".".join)
def test_the_json_is_canonical_and_keeps_its_schema(key: tuple[str, str, str]) -> None:
    table = tables()[key]
    data = json.loads(table_json(table))
    jsonschema.validate(data, dict(TABLE_SCHEMA))
    assert data == table_data(table)
    assert len(table.hash) == 64


def test_tables_that_differ_have_different_hashes() -> None:
    assert len({table.hash for table in each_table()} | {t.hash for t in whole_tables().values()}) == 4 * 5 + len(
        OF_NO_PROTOCOL
    )


def test_a_machine_of_no_protocol_has_one_table_under_every_name() -> None:
    for name in OF_NO_PROTOCOL:
        assert is_the_same_everywhere(whole_tables()[name])
        assert {id(tables()[name, r, p]) for r, p in product(REBALANCES, PROFILES)} == {id(whole_tables()[name])}
        assert [table.label for table in each_table() if table.name == name] == [name]


def test_effects_happen_at_once_within_and_in_order_along_the_row() -> None:
    lamp = Machine(compile_step(specialise(WHOLE, "eager", "deployed")))
    lamp.state, lamp.values["bright"] = "ON", "high"
    outcome = lamp.send("night_ends")
    # go_dark came first, so swap saw 'no'; its two assignments saw the same values.
    assert lamp.values["bright"] == "no"
    assert lamp.values["broken"] is False
    assert outcome.emitted == ("light_changed",)


def test_inputs_and_configuration_decide() -> None:
    step = compile_step(specialise(WHOLE, "eager", "deployed"))
    lamp = Machine(step, dimmer=True)
    assert lamp.send("pressed", finger="soft").emitted == ("light_changed", "Photon")
    assert lamp.values["bright"] == "low"


def test_an_unknown_event_has_no_row_and_changes_nothing() -> None:
    step = compile_step(specialise(WHOLE, "eager", "deployed"))
    assert step.step("OFF", step.initial, "light_changed", ()) == (NO_ROW, "OFF", step.initial, ())
    assert Machine(step).send("thunder").row is None


def test_a_table_with_both_profiles_has_no_step() -> None:
    with pytest.raises(ValueError, match="specialise it first"):
        compile_step(WHOLE)


def test_an_unknown_specialisation_says_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="deployed"):
        specialise(WHOLE, "eager", "shipped")


def test_the_step_is_a_hundred_times_as_fast_as_the_library() -> None:
    table = tables()["rebalance", "cooperative", "deployed"]
    step = compile_step(table)
    library = LibraryMachine(classes()["rebalance"], whole_tables()["rebalance"], table)
    known: dict[str, Value] = {variable.name: variable.initial for variable in table.variables}
    script = [(event.name, tuple(known[name] for name in event.inputs)) for event in table.events]

    def compiled_s() -> float:
        started = time.perf_counter()
        for _ in range(200):
            state, values = table.initial, step.initial
            for event, inputs in script:
                _, state, values, _ = step.step(state, values, event, inputs)
        return (time.perf_counter() - started) / 200

    def library_s() -> float:
        library.place(table.initial, step.initial)
        started = time.perf_counter()
        for event, inputs in script:
            library.send(event, dict(zip(table.event(event).inputs, inputs, strict=True)))
        return time.perf_counter() - started

    # The best of a few: whatever else this machine does only makes either slower.
    ratio = min(library_s() for _ in range(5)) / min(compiled_s() for _ in range(5))
    assert ratio >= 100, f"only {ratio:.0f} times"
