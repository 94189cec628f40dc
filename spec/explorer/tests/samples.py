"""Models that each have one thing to be found."""

from __future__ import annotations

from dataclasses import replace

from groupspec.spec.compiler.model import Action, For, If, Model, ModelProperty, ModelVariable, Set
from groupspec.spec.compiler.tests.toy_model import MEMBER


def trap_model() -> Model:
    """A walker on a circle of four places; three steps from the start it may fall into a hole for ever."""
    place = ModelVariable("place", ("home", "street", "bridge", "hole", "pit"), "home")
    return Model(
        "trap",
        {"members": 1, "partitions": 1},
        (place,),
        (),
        (
            Action("leave", (), "place == 'home'", (Set((("place", "'street'"),)),)),
            Action("cross", (), "place == 'street'", (Set((("place", "'bridge'"),)),)),
            Action("return_home", (), "place == 'bridge'", (Set((("place", "'home'"),)),)),
            Action("fall", (), "place == 'bridge'", (Set((("place", "'hole'"),)),)),
            Action(
                "turn",
                (),
                "place == 'hole' or place == 'pit'",
                (Set((("place", "'pit' if place == 'hole' else 'hole'"),)),),
            ),
            Action("fly", (), "place == 'home' and place != 'home'", ()),
        ),
        (
            ModelProperty("home-again", "recoverable", "place == 'home'"),
            ModelProperty("never-lost", "recoverable", "place == 'home' or place == 'pit'"),
            ModelProperty("flies", "reachable", "place == 'home' and place == 'pit'"),
        ),
    )


def dead_end_model() -> Model:
    """The same walker; who falls stays where he is."""
    model = trap_model()
    return replace(model, name="dead-end", actions=tuple(a for a in model.actions if a.name != "turn"))


def counter_model(bits: int = 16) -> Model:
    """A binary counter, as wide as that: 2**bits states in one long row, and a way back to 0 from everywhere."""
    digits = tuple(ModelVariable(f"digit{k}", (False, True), False) for k in range(bits))
    carry: tuple[tuple[str, tuple[Set, ...]], ...] = tuple(
        (
            f"not digit{k}",
            (Set(((f"digit{k}", "True"), *((f"digit{low}", "False") for low in range(k)))),),
        )
        for k in range(bits)
    )
    reset = Set(tuple((digit.name, "False") for digit in digits))
    return Model(
        f"counter-{bits}",
        {"members": 1, "partitions": 1},
        digits,
        (),
        (Action("count", (), "True", (If(carry, (reset,)),)), Action("reset", (), "True", (reset,))),
        (
            ModelProperty("never-full", "invariant", " or ".join(f"not {digit.name}" for digit in digits)),
            ModelProperty("zero-again", "recoverable", " and ".join(f"not {digit.name}" for digit in digits)),
        ),
    )


def ordered_model() -> Model:
    """Says that it is symmetric; but a loop makes the last one that is ready the leader."""
    ready = ModelVariable("ready", (False, True), False, ("members",))
    leader = ModelVariable("leader", (0, 1, 2), 0)
    elect = For("j", "members", (If((("ready[j]", (Set((("leader", "j"),)),)),)),))
    return Model(
        "ordered",
        {"members": 2, "partitions": 2},
        (ready, leader),
        (),
        (
            Action("prepare", MEMBER, "not ready[i]", (Set((("ready[i]", "True"),)),)),
            Action("elect", (), "True", (elect,)),
        ),
        symmetric=True,
    )


def counting_model() -> Model:
    """Symmetric, with a variable that only counts and has the domain of an index: folding must leave it alone."""
    told = ModelVariable("told", (False, True), False, ("members",))
    rounds = ModelVariable("rounds", (0, 1, 2), 0)
    leader = ModelVariable("leader", (0, 1, 2), 0)
    again = Set((("rounds", "0 if rounds == 2 else (1 if rounds == 0 else 2)"),))
    return Model(
        "counting",
        {"members": 2, "partitions": 2},
        (told, rounds, leader),
        (),
        (
            Action("tell", MEMBER, "not told[i]", (Set((("told[i]", "True"), ("leader", "i"))), again)),
            Action("forget", MEMBER, "told[i]", (Set((("told[i]", "False"),)),)),
        ),
        symmetric=True,
    )
