"""Bodies as TLA+.

What is written shorter than in the model, and when it is not, because it would mean something else.
"""

from __future__ import annotations

import pytest

from groupspec.spec.compiler.model import Block, For, If, Model, ModelVariable, Set
from groupspec.spec.compiler.tla_body import BodyWriter

MODEL = Model(
    "bodies",
    {"members": 2, "partitions": 2},
    (
        ModelVariable("mode", ("A", "B", "C"), "A", ("members",)),
        ModelVariable("up", (False, True), False, ("members",)),
        ModelVariable("last", (False, True), False),
    ),
    (),
    (),
)


def written(*block: object) -> str:
    body: Block = block  # type: ignore[assignment]
    return "\n".join(BodyWriter(MODEL, {}, {"i": "i"}).block(body, "s", 100))


def sets(note: str = "", **values: str) -> Set:
    targets = {"mode": "mode[i]", "up": "up[i]", "last": "last"}
    return Set(tuple((targets[name], value) for name, value in values.items()), note)


def test_assignments_that_follow_each_other_become_one_and_keep_their_notes() -> None:
    assert written(sets(mode="'B'"), sets("rises", up="True"), sets(last="True")) == (
        '[s EXCEPT !.mode[i] = "B",\n          \\* rises\n          !.up[i] = TRUE,\n          !.last = TRUE]'
    )


def test_what_reads_what_was_just_assigned_stays_behind_it() -> None:
    assert written(sets(up="True"), sets(last="up[i]"), sets(mode="'C'")) == (
        'LET s1 == [s EXCEPT !.up[i] = TRUE]\nIN  [s1 EXCEPT !.last = s1.up[i],\n               !.mode[i] = "C"]'
    )


def test_assignments_at_once_all_read_the_state_before() -> None:
    assert written(sets(up="last", last="up[i]")) == "[s EXCEPT !.up[i] = s.last,\n          !.last = s.up[i]]"


@pytest.mark.parametrize(
    ("value", "function"),
    [("False", "FALSE"), ("not up[j]", "~s.up[j]"), ("mode[j] == 'A'", 's.mode[j] = "A"')],
)
def test_a_loop_over_elements_that_do_not_depend_on_each_other_is_a_function(value: str, function: str) -> None:
    loop = For("j", "members", (Set((("up[j]", value),)),))
    assert written(loop) == f"[s EXCEPT !.up = [j \\in Members |-> {function}]]"


@pytest.mark.parametrize(
    "assignments",
    [
        (("up[j]", "up[1]"),),
        (("up[j]", "any(up[k] for k in members)"),),
        (("last", "up[j]"),),
        (("up[j]", "last"), ("last", "up[j]")),
    ],
)
def test_a_loop_whose_order_matters_stays_one(assignments: tuple[tuple[str, str], ...]) -> None:
    text = written(For("j", "members", (Set(assignments),)))
    assert text.startswith("LET Each1(s1, j) ==")
    assert text.endswith("IN  Each1(Each1(s, 1), 2)")


def test_rows_are_cut_by_the_value_that_each_is_for() -> None:
    rows = (
        ("mode[i] == 'A' and last", (sets(mode="'B'"),)),
        ("mode[i] == 'B'", (sets(mode="'C'"),)),
        ("mode[i] == 'A'", (sets(up="True"),)),
    )
    assert written(If(rows, notes=("A.1", "B.1", "A.2", "nothing"))) == (
        "LET at == s.mode[i]\n"
        'IN  CASE at = "A" ->\n'
        "           \\* A.1\n"
        "           IF s.last\n"
        '           THEN [s EXCEPT !.mode[i] = "B"]\n'
        "           \\* A.2\n"
        "           ELSE [s EXCEPT !.up[i] = TRUE]\n"
        '      [] at = "B" ->\n'
        "           \\* B.1\n"
        '           [s EXCEPT !.mode[i] = "C"]\n'
        "      \\* nothing\n"
        "      [] OTHER -> s"
    )


def test_a_choice_within_a_choice_stands_in_brackets_so_that_no_case_is_taken_for_its_own() -> None:
    inner = If(tuple((f"mode[1] == '{mode}'", (sets(last="True"),)) for mode in "ABC"))
    text = written(If(tuple((f"mode[i] == '{mode}'", (inner,)) for mode in "ABC")))
    assert text.count("(LET at") == 3
    assert [text.count(f"at{number} ==") for number in ("", 2, 3, 4)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "branches",
    [
        (("mode[i] == 'A'", ()), ("mode[i] == 'B'", ())),
        (("mode[i] == 'A'", ()), ("mode[1] == 'B'", ()), ("mode[i] == 'C'", ())),
        (("mode[i] == 'A'", ()), ("last", ()), ("mode[i] == 'C'", ())),
        (("mode[i] == 'A'", ()), ("mode[i] != 'B'", ()), ("mode[i] == 'C'", ())),
        (("mode[i] == 'A' or last", ()), ("mode[i] == 'B'", ()), ("mode[i] == 'C'", ())),
    ],
)
def test_a_choice_that_is_not_by_the_values_of_one_variable_stays_one(branches: tuple[tuple[str, Block], ...]) -> None:
    assert written(If(branches)).startswith("IF ")
    assert "CASE" not in written(If(branches))


def test_a_choice_with_something_else_to_do_stays_one() -> None:
    rows = tuple((f"mode[i] == '{mode}'", (sets(last="True"),)) for mode in "ABC")
    assert "CASE" not in written(If(rows, (sets(up="True"),)))
