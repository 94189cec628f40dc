"""What no engine can be given is refused, and the message says where, what is allowed and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec.compiler.expressions import Comparison, Constant, Quantified, Read
from groupspec.spec.compiler.model import (
    Action,
    Call,
    For,
    If,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Set,
    callees_first,
)
from groupspec.spec.compiler.model_check import ModelError, resolve_model
from groupspec.spec.compiler.tests.toy_model import MEMBER, toy_model
from groupspec.spec.terms import NO_YES


def _with_action(guard: str = "True", *body: Set | If | For | Call) -> Model:
    model = toy_model()
    return replace(model, actions=(*model.actions, Action("odd", MEMBER, guard, body)))


def _with_property(holds: str) -> Model:
    return replace(toy_model(), properties=(ModelProperty("claim", "invariant", holds),))


def _only(model: Model) -> str:
    with pytest.raises(ModelError, match=r"the model has 1 problem\n") as caught:
        resolve_model(model)
    (problem,) = caught.value.problems
    assert problem.model == model.name
    assert problem.remedy
    return f"{problem.place}: {problem.what} [{problem.allowed}]"


def test_the_toy_is_valid() -> None:
    assert resolve_model(toy_model()).model == toy_model()


def test_a_constant_takes_the_domain_of_what_it_is_compared_with() -> None:
    claim = resolve_model(_with_property("all(client[i] == 'HOLDING' for i in members)")).properties[0].holds
    assert isinstance(claim, Quantified)
    assert isinstance(claim.body, Comparison)
    assert isinstance(claim.body.left, Read)
    assert claim.body.right == Constant("HOLDING", ("IDLE", "WAITING", "HOLDING"))
    assert claim.body.right.code == 2


def test_procedures_are_in_the_order_in_which_they_can_be_defined() -> None:
    outer = Procedure("before_all", MEMBER, body=(Call("clear_marks", ("i",)),))
    ordered = callees_first((outer, *toy_model().procedures))
    assert [procedure.name for procedure in ordered] == ["clear_marks", "before_all", "grant"]


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("clint[i] == 'IDLE'", "unknown name 'clint' in `clint[i] == 'IDLE'` [i, client,"),
        ("client[i] == 'IDEL'", "'IDEL' in `client[i] == 'IDEL'` stands where it can never be ['IDLE', 'WAITING'"),
        ("client[k] == 'IDLE'", "`k` in `client[k] == 'IDLE'` is no index of members here [i, or a number from 1"),
        ("client[3] == 'IDLE'", "`3` in `client[3] == 'IDLE'` is no index of members here"),
        ("client[owner] == 'IDLE'", "`owner` in `client[owner] == 'IDLE'` is no index of members here"),
        ("client == 'IDLE'", "'client' in `client == 'IDLE'` has 0 indices and needs 1 [`client[i]`"),
        ("client[i] == message[i]", "`message[i]` in `client[i] == message[i]` is of the domain"),
        ("client[i]", "`client[i]` in `client[i]` stands for true or false"),
        ("owner == 3", "3 in `owner == 3` stands where it can never be [one of 0, 1, 2]"),
        ("owner == True", "`owner == True`"),
        ("(lambda: True)()", "is not in the language of models [`and`, `or`"),
        ("ready(i)", "`ready(i)` in `ready(i)` is not in the language of models"),
        ("owner in (1, 2)", "is not in the language of models"),
        ("owner + 1 == 2", "`owner + 1`"),
        ("1 < 2", "is not in the language of models"),
        ("client[i] ==", "is not an expression"),
        ("any(client[i] == 'IDLE' for i in members)", "the index 'i' hides another 'i'"),
        ("any(True for j in clients)", "is not a loop over an index set"),
        ("any(owner == j for j in members if True if True)", "is not a loop over an index set"),
        ("all([True])", "is not in the language of models"),
    ],
)
def test_a_guard_that_means_nothing_is_refused(guard: str, message: str) -> None:
    found = _only(_with_action(guard))
    assert found.startswith("action odd, guard: ")
    assert message.split(" [")[0] in found
    assert message.split(" [")[-1] in found


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (Set((("owne", "0"),)), "unknown name 'owne'"),
        (Set((("owner", "'IDLE'"),)), "'IDLE' in `'IDLE'` stands where it can never be"),
        (Set((("owner", "client[i]"),)), "`client[i]` in `client[i]` is of the domain"),
        (Set((("i", "1"),)), "`i` is assigned to, and is no variable"),
        (Set((("owner", "0"), ("owner", "1"))), "`owner` is assigned twice at once"),
        (If((("client[i]", ()),)), "stands for true or false"),
        (For("i", "members", ()), "the index 'i' hides another 'i'"),
        (For("owner", "members", ()), "the index 'owner' hides another 'owner'"),
        (Call("grnt", ("i", "True")), "calls the unknown procedure 'grnt' [grant, clear_marks]"),
        (Call("grant", ("i",)), "calls 'grant' with 1 arguments [2: i (of members), polite]"),
        (Call("grant", ("owner", "True")), "`owner` in `owner` is no index of members here"),
        (Call("grant", ("i", "client[i]")), "stands for true or false"),
    ],
)
def test_a_body_that_means_nothing_is_refused(statement: Set | If | For | Call, message: str) -> None:
    found = _only(_with_action("True", statement))
    assert found.startswith("action odd: ")
    assert message in found


def test_a_property_over_an_unknown_name_is_refused() -> None:
    assert _only(_with_property("leader == 0")).startswith("property claim: unknown name 'leader' in `leader == 0`")


def test_procedures_that_call_each_other_in_a_circle_are_refused() -> None:
    there = Procedure("there", body=(Call("back"),))
    back = Procedure("back", body=(If((("owner == 0", (Call("there"),)),)),))
    found = _only(replace(toy_model(), procedures=(*toy_model().procedures, there, back)))
    assert found == "procedure there: is called in a circle: there -> back -> there [calls that end]"


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (ModelVariable("wide", tuple(range(257)), 0), "variable wide: has 257 values [1 to 256]"),
        (ModelVariable("none", (), 0), "variable none: has 0 values"),
        (ModelVariable("mixed", (False, 1), False), "variable mixed: has values of kinds bool, int"),
        (ModelVariable("turned", (True, False), False), "variable turned: has the domain (True, False)"),
        (ModelVariable("twice", ("a", "a"), "a"), "variable twice: names a value twice"),
        (ModelVariable("begins", ("a", "b"), "c"), "variable begins: begins as 'c'"),
        (ModelVariable("shaped", NO_YES, False, ("partitions",)), "variable shaped: is indexed by partitions"),
        (ModelVariable("owner", NO_YES, False), "variable owner: is declared 2 times"),
        (ModelVariable("Upper", NO_YES, False), "variable Upper: cannot be a name in every engine"),
    ],
)
def test_a_declaration_that_no_engine_can_have_is_refused(variable: ModelVariable, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        resolve_model(_with_variable(variable))
    found = [f"{p.place}: {p.what} [{p.allowed}]" for p in caught.value.problems]
    assert any(text.startswith(message.split(" [")[0]) for text in found)
    assert any(message.split(" [")[-1] in text for text in found)


def _with_variable(variable: ModelVariable) -> Model:
    return replace(toy_model(), variables=(*toy_model().variables, variable))


def test_every_problem_is_told_and_not_only_the_first() -> None:
    model = replace(_with_action("clint[i] == 0", Set((("owne", "0"),))), properties=())
    with pytest.raises(ModelError) as caught:
        resolve_model(model)
    assert [problem.place for problem in caught.value.problems] == ["action odd, guard", "action odd"]
    assert "\n    allowed: " in str(caught.value)
    assert "\n    next: did you mean 'client'?" in str(caught.value)
