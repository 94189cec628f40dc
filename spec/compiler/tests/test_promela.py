"""The Promela of the toy model: what a reader finds in it. That SPIN agrees is tested where SPIN is run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec.compiler.model import Action, Call, If, Model, ModelProperty, ModelVariable, Procedure, Set
from groupspec.spec.compiler.promela import promela, wrapped
from groupspec.spec.compiler.promela_text import names_of
from groupspec.spec.compiler.tests.toy_model import toy_model

TOY = toy_model()
TEXT = promela(TOY)


def with_body(*body: Set | If | Call, guard: str = "True", holds: str = "not a") -> str:
    """The text of a model of two yes-or-no variables that does only that."""
    yes_no = (False, True)
    variables = (ModelVariable("a", yes_no, False), ModelVariable("b", yes_no, True))
    claim = ModelProperty("claim", "invariant", holds)
    return promela(
        Model("m", {"members": 2, "partitions": 1}, variables, (), (Action("go", (), guard, body),), (claim,))
    )


def test_the_file_says_what_it_is_and_how_it_is_run() -> None:
    assert TEXT.startswith("// toy-2: A toy")
    assert TOY.hash in TEXT
    assert "spin -a -o2 FILE.pml" in TEXT
    assert promela(toy_model()) == TEXT, "the same model gives the same text"


def test_a_list_in_the_prose_keeps_its_lines_and_each_is_a_comment() -> None:
    listed = replace(TOY, doc="A toy.\n\n    one    the first\n    two    the second")
    head, _, _ = promela(listed).partition("#define")
    assert "//    one    the first\n//    two    the second\n" in head
    assert all(not line or line.startswith("//") for line in head.splitlines()), "or SPIN takes prose for code"


def test_lines_are_short_enough_to_be_read() -> None:
    assert max(map(len, TEXT.splitlines())) <= 120


@pytest.mark.parametrize(
    "said",
    [
        "#define IDLE          1\n",
        "byte client[MEMBERS + 1] = IDLE;  // what the client believes\n",
        "bool marked[AT(MEMBERS, PARTITIONS) + 1] = false;  // what the holder has written on\n",
        "// one-holder (invariant): at most one client holds the lock\n",
        "c_code { static void grant(int i, int polite) {\n  if (polite) {\n    now.owner = i;\n",
        "  for (int p = 1; p <= PARTITIONS; p++) {\n    now.marked[AT(i, p)] = 0;\n",
        "       :: d_step { (message[2] == ask) && (owner == 0) -> c_code { grant(2, now.client[2] == WAITING); } }\n",
        "       :: d_step { message[1] == grant_ -> c_code {\n",
        "       :: else  // nothing can happen\n",
    ],
)
def test_every_construct_of_the_language_has_its_form(said: str) -> None:
    assert said in TEXT


def test_assignments_at_once_read_what_was_before() -> None:
    swapped = with_body(Set((("a", "b"), ("b", "a"))))
    assert "int new1 = now.a;\n" in swapped
    assert "now.a = now.b;\n" in swapped
    assert "now.b = new1;\n" in swapped


def test_what_promela_would_read_differently_is_not_written() -> None:
    assert "!(!a)" in with_body(Set((("a", "b"),)), guard="not (not a)"), "`!!` sends to a channel"


def test_quantifiers_are_written_out_without_what_is_never_so() -> None:
    text = with_body(Set((("a", "b"),)), holds="all(a or any(b for j in members if j != i) for i in members)")
    assert "#define holds_claim (((a || b) && (a || b)))" in text


def test_words_of_promela_and_c_get_another_form() -> None:
    variables = (ModelVariable("run", ("int", "empty", "x-y", "x_y"), "int"),)
    model = Model("m", {"members": 1, "partitions": 1}, variables, (Procedure("timeout"),), ())
    names = names_of(model)
    assert names.variables == {"run": "run_"}
    assert names.procedures == {"timeout": "timeout_"}
    assert names.values == {"int": "int_", "empty": "empty_", "x-y": "x_y", "x_y": "x_y_"}


def test_a_long_line_is_broken_and_a_macro_stays_one() -> None:
    line = "#define holds " + "word && " * 40
    parts = list(wrapped(line))
    assert len(parts) > 1
    assert all(part.endswith("&& \\") for part in parts[:-1])
    assert " ".join(part.removesuffix(" \\").strip() for part in parts) == line.strip()
