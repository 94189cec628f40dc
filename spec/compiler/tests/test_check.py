"""What the compiler refuses, and how it says so: each message names the machine and the row, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from types import new_class

import pytest

from groupspec.spec.compiler import SpecError, Words, check, introspect
from groupspec.spec.compiler.tables import MACHINES, whole_tables
from groupspec.spec.compiler.tests.samples import Lamp, with_domain, words
from groupspec.spec.machine import State, StateMachine, error, ignored, row
from groupspec.spec.terms import Effect


def _problems(machine: type[StateMachine], known: Words) -> list[str]:
    with pytest.raises(SpecError) as caught:
        check(introspect(machine, known), known)
    for problem in caught.value.problems:
        assert problem.machine
        assert problem.remedy
        assert str(problem) in str(caught.value)
    return [f"{problem.row}: {problem.what}" for problem in caught.value.problems]


def _machine(*declare: Callable[[State, State], object]) -> type[StateMachine]:
    """A machine of two states, OFF and ON, that is whole but for what `declare` does to it."""
    off, on = State(initial=True), State()
    row(off, "pressed", on, rules="L1")
    row(on, "pressed", off, rules="L1")
    for step in declare:
        step(off, on)
    made = new_class("Sample", (StateMachine,), {}, lambda body: body.update(machine_name="lamp", OFF=off, ON=on))
    assert issubclass(made, StateMachine)
    return made


def test_the_lamp_is_whole() -> None:
    check(introspect(Lamp, words()), words())


@pytest.mark.parametrize("name", [machine.machine_name for machine in MACHINES])
def test_the_machines_of_the_specification_are_whole(name: str) -> None:
    check(whole_tables()[name])


def test_two_rows_that_hold_at_once_are_an_overlap() -> None:
    sample = _machine(lambda off, on: row(off, "pressed", off, when="broken", rules="L2"))
    assert _problems(sample, words()) == ["OFF.pressed.1: holds together with OFF.pressed.2 when broken=True"]


def test_an_overlap_names_the_profile_that_has_it() -> None:
    sample = _machine(lambda off, on: row(off, "pressed", off, when="published", rules="L2"))
    assert _problems(sample, words()) == [
        "OFF.pressed.1: holds together with OFF.pressed.2 when always (eager published, cooperative published)"
    ]


def test_values_that_no_row_decides_are_a_gap() -> None:
    sample = _machine(
        lambda off, on: row(off, "night_ends", on, when="mains and bright != 'low'", rules="L1"),
        lambda off, on: ignored(on, "night_ends"),
    )
    assert _problems(sample, words()) == ["OFF x night_ends: no row holds when mains=False, bright=no"]


def test_a_cell_without_any_row_is_a_gap() -> None:
    sample = _machine(lambda off, on: ignored(on, "night_ends"))
    assert _problems(sample, words()) == ["OFF x night_ends: no row says what happens"]


def test_a_state_that_is_also_an_event_is_refused() -> None:
    class Sample(StateMachine):
        machine_name = "lamp"
        OFF = State(initial=True)
        pressed = State()
        row(OFF, "pressed", pressed, rules="L1")
        row(pressed, "night_ends", OFF, rules="L1")

    assert "pressed: is both a state and an event or variable" in _problems(Sample, words())


def test_every_unknown_word_is_told_at_once_with_the_nearest_known_one() -> None:
    sample = _machine(
        lambda off, on: row(off, "presed", on, when="not brokn", do=["shin"], rules="L1"),
    )
    with pytest.raises(SpecError) as caught:
        introspect(sample, words())
    told = {problem.what: problem.remedy for problem in caught.value.problems}
    assert told == {
        "unknown event 'presed'": "did you mean 'pressed'?",
        "unknown effect 'shin'": "did you mean 'shine'?",
    }


def test_an_unknown_variable_is_refused() -> None:
    sample = _machine(lambda off, on: row(off, "night_ends", on, when="not brokn", rules="L1"))
    assert _problems(sample, words()) == ["OFF.night_ends.1: unknown variable 'brokn'"]


def test_unknown_reasons_and_rules_are_refused() -> None:
    sample = _machine(
        lambda off, on: ignored((off, on), "night_ends", because="tired"),
        lambda off, on: error((off, on), "fuse_blew", rule="L9"),
    )
    assert _problems(sample, words()) == [
        "OFF.night_ends.1: unknown reason 'tired'",
        "OFF.fuse_blew.1: unknown rule 'L9'",
        "ON.night_ends.1: unknown reason 'tired'",
        "ON.fuse_blew.1: unknown rule 'L9'",
    ]


def test_a_row_without_a_rule_is_refused() -> None:
    sample = _machine(lambda off, on: row((off, on), "night_ends", None))
    assert "OFF.night_ends.1: cites no rule" in _problems(sample, words())


@pytest.mark.parametrize(
    ("guard", "why"),
    [
        ("!broken", "`!`"),
        ("broken ^ mains", "`^`"),
        ("broken v mains", "`v`"),
        ("bright in ('low', 'high')", "cannot be compiled"),
        ("len(bright)", "cannot be compiled"),
        ("broken and", "is not an expression"),
        ("(lambda: True)()", "cannot be compiled"),
    ],
)
def test_a_guard_outside_the_language_is_refused(guard: str, why: str) -> None:
    sample = _machine(lambda off, on: row(off, "night_ends", on, when=guard, rules="L1"))
    assert any(why in problem and problem.startswith("OFF.night_ends.1") for problem in _problems(sample, words()))


def test_functions_as_guards_and_effects_are_refused() -> None:
    def function() -> bool:
        return True

    sample = _machine(
        lambda off, on: row(off, "night_ends", on, when=function, do=[function], rules="L1")  # type: ignore[arg-type,list-item]
    )
    problems = _problems(sample, words())
    assert "OFF.night_ends.1: the guard is a function" in problems
    assert "OFF.night_ends.1: an effect is a function" in problems


def test_a_plain_transition_of_the_library_is_refused() -> None:
    sample = _machine(lambda off, on: off.to(on, event="night_ends"))
    assert _problems(sample, words()) == ["OFF.night_ends: a transition that is not a row"]


def test_an_input_that_the_event_does_not_bring_is_refused() -> None:
    sample = _machine(lambda off, on: row((off, on), "night_ends", None, when="finger == 'soft'", rules="L1"))
    assert "OFF.night_ends.1: reads 'finger', which does not come with its event" in _problems(sample, words())


def test_a_comparison_that_can_never_be_true_is_refused() -> None:
    sample = _machine(lambda off, on: row((off, on), "night_ends", None, when="bright == 'hgih'", rules="L1"))
    assert "OFF.night_ends.1: compares 'bright' with 'hgih', which it can never be" in _problems(sample, words())


def test_an_effect_may_not_set_what_another_machine_owns() -> None:
    cut = Effect("cut", {"mains": "False"})
    sample = _machine(lambda off, on: row((off, on), "fuse_blew", None, do=["cut"], rules="L2"))
    assert "effect cut: sets 'mains', which belongs to the machine 'house'" in _problems(sample, words(cut))


def test_an_effect_may_not_leave_the_domain() -> None:
    narrow = with_domain("bright", "no", "low")
    sample = _machine(lambda off, on: row((off, on), "fuse_blew", None, do=["glow"], rules="L2"))
    glow = Effect("glow", {"bright": "'low' if broken else 'high'"})
    problems = _problems(sample, words(narrow, glow, without="bright"))
    assert problems == ["effect glow: sets 'bright' to 'high', which is not in its domain"]


def test_an_unknown_word_that_an_effect_emits_is_refused() -> None:
    sample = _machine(lambda off, on: row((off, on), "fuse_blew", None, do=["call"], rules="L2"))
    assert _problems(sample, words(Effect("call", emit=("Phootn",)))) == ["effect call: emits unknown 'Phootn'"]


def test_a_state_that_only_exists_in_a_guard_that_never_holds_is_unreachable() -> None:
    class Sample(StateMachine):
        machine_name = "lamp"
        OFF = State(initial=True)
        ON = State()
        row(OFF, "pressed", ON, when="eager and cooperative", rules="L1")
        row(OFF, "pressed", None, when="not (eager and cooperative)", rules="L1")
        row(ON, "pressed", OFF, rules="L1")

    problems = _problems(Sample, words())
    assert "OFF.pressed.1: its guard can never hold" in problems
    assert "ON: cannot be reached from the initial state" in problems
