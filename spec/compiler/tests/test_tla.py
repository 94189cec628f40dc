"""The TLA+ of the toy model: what a reader finds in it. That TLC agrees is tested where TLC is run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec.compiler.model import Action, Call, If, Model, ModelVariable, Procedure, Set, callees_first
from groupspec.spec.compiler.tests.toy_model import toy_model
from groupspec.spec.compiler.tla import tla, tla_config
from groupspec.spec.compiler.tla_liveness import tla_liveness, tla_liveness_config
from groupspec.spec.compiler.tla_text import module_name

TOY = toy_model()
TEXT = tla(TOY)


def test_the_module_says_what_it_is_and_from_which_model() -> None:
    assert TEXT.startswith(f"-------------------- MODULE {module_name(TOY)} --------------------\n\\* toy-2: A toy")
    assert TOY.hash in TEXT
    assert tla(toy_model()) == TEXT, "the same model gives the same text"


def test_lines_are_short_enough_to_be_read() -> None:
    assert max(map(len, TEXT.splitlines())) <= 120


@pytest.mark.parametrize(
    "said",
    [
        '    /\\ state.client \\in [Members -> {"IDLE", "WAITING", "HOLDING"}]\n',
        "Grant(s, i, polite) ==\n    IF polite\n    THEN [s EXCEPT !.owner = i,\n",
        '    /\\ state\' = Grant(state, i, state.client[i] = "WAITING")\n',
        "    \\/ \\E i \\in Members : \\E p \\in Partitions : Mark(i, p)\n",
        "ClearMarks(s, i) ==\n    [s EXCEPT !.marked[i] = [p \\in Partitions |-> FALSE]]\n",
        "    /\\ \\A i \\in Members : SF_state(Lend(i))\n",
        '    (state.client[1] = "WAITING")\n    ~> (state.client[1] = "HOLDING")\n',
        "\\* one-holder (invariant): at most one client holds the lock\n",
        "TLA+ cannot say that it stays possible",
    ],
)
def test_every_construct_of_the_language_has_its_form(said: str) -> None:
    assert said in TEXT


def test_rows_are_named_where_they_fire() -> None:
    row = If((("done", (Set((("done", "False"),)),)),), notes=("row idle.poll.1 (J3)", "nothing: (J4)"))
    model = Model(
        "noted",
        {"members": 1, "partitions": 1},
        (ModelVariable("done", (False, True), False),),
        (Procedure("poll", body=(row,), doc="what a poll does"),),
        (Action("poll", (), "True", (Call("poll"),)),),
    )
    text = tla(model)
    assert "\\* what a poll does\nPoll(s) ==\n    \\* row idle.poll.1 (J3)\n    IF s.done\n" in text
    assert "    \\* nothing: (J4)\n    ELSE s\n" in text
    assert "PollAction ==" in text, "an action and a procedure of one name are told apart"


def test_a_name_that_is_bound_already_is_not_bound_again() -> None:
    model = Model(
        "bound",
        {"members": 2, "partitions": 1},
        (ModelVariable("up", (False, True), False, ("members",)),),
        (),
        (Action("rise", (("i", "members"),), "all(not up[i] for i in members)", (Set((("up[i]", "True"),)),)),),
    )
    assert "\\A i_ \\in Members : ~state.up[i_]" in tla(model)


def test_procedures_stand_after_those_that_they_call() -> None:
    inner, outer = Procedure("inner"), Procedure("outer", body=(Call("inner"),))
    assert callees_first([outer, inner]) == [inner, outer]


def test_the_configuration_asks_for_what_tlc_can_say() -> None:
    assert tla_config(TOY).splitlines()[1:] == [
        "SPECIFICATION Spec", "INVARIANTS", "    TypeOK", "    OneHolder", "    NoFault", "    WatchHeld",
    ]  # fmt: skip
    assert tla_config(TOY, watch=True).splitlines()[4:] == ["    WatchOneHolder", "    WatchNoFault", "    WatchHeld"]
    assert tla_liveness_config(TOY).splitlines()[1:] == ["SPECIFICATION LiveSpec", "PROPERTIES", "    WaitingEnds"]


@pytest.mark.parametrize(
    "said",
    [
        "---- MODULE Toy2Live ----",
        "\nEXTENDS Toy2\n\nVARIABLE last\n",
        'LiveReceive(i) == last = <<>> /\\ Receive(i) /\\ last\' = <<"Receive", i>>\n',
        "LiveAsk(i) == last = <<>> /\\ Ask(i) /\\ last' = <<>>\n",
        "    \\/ \\E i \\in Members : \\E p \\in Partitions : LiveMark(i, p)\n",
        '    /\\ \\A i \\in Members : []<>(\\/ last = <<"Receive", i>>\n',
        "                              \\/ last = <<>> /\\ ~ReceivePossible(i))\n",
        "    /\\ \\A i \\in Members : (\\/ <>[]~ENABLED <<Lend(i)>>_state\n",
        '                          \\/ []<>(last = <<"Lend", i>>))\n',
    ],
)
def test_fairness_is_said_of_states_in_a_module_beside(said: str) -> None:
    assert said in tla_liveness(TOY)


def test_what_is_weakly_fair_has_its_guard_as_an_operator() -> None:
    assert 'ReceivePossible(i) ==\n    /\\ state.message[i] = "grant"\n' in TEXT
    assert "Receive(i) ==\n    /\\ ReceivePossible(i)\n    /\\ state' = " in TEXT
    safe = replace(TOY, properties=tuple(claim for claim in TOY.properties if claim.kind != "leads_to"))
    assert "Possible" not in tla(safe), "only where it is needed"
