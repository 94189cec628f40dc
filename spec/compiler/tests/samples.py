"""A small machine and its vocabulary: a lamp with a switch, a timer and a fuse. Big enough for every kind of row."""

from __future__ import annotations

from dataclasses import replace

from groupspec.spec.compiler import Words
from groupspec.spec.machine import State, StateMachine, error, ignored, row
from groupspec.spec.terms import Effect, Event, Value, Variable

VARIABLES = (
    Variable("bright", ("no", "low", "high"), "no", "state", "lamp"),
    Variable("broken", (False, True), False, "state", "lamp"),
    Variable("mains", (False, True), True, "state", "house"),
    Variable("finger", ("soft", "hard"), "soft", "input"),
    Variable("dimmer", (False, True), False, "config"),
)
EVENTS = (
    Event("pressed", "application", ("finger",)),
    Event("night_ends", "timer"),
    Event("fuse_blew", "message"),
    Event("light_changed", "internal"),
)
EFFECTS = (
    Effect("shine", {"bright": "'high' if finger == 'hard' or not dimmer else 'low'"}, ("light_changed", "Photon")),
    Effect("go_dark", {"bright": "'no'"}, ("light_changed",)),
    Effect("swap", {"bright": "'low' if broken else bright", "broken": "bright == 'high'"}),
    Effect("melt", {"broken": "eager or broken"}),
)


def words(*more: Variable | Event | Effect, without: str = "") -> Words:
    """The lamp's vocabulary, with some words more, and one less."""
    everything = [word for word in (*VARIABLES, *EVENTS, *EFFECTS) if word.name != without]
    everything += more
    return Words(
        variables={w.name: w for w in everything if isinstance(w, Variable)},
        events={w.name: w for w in everything if isinstance(w, Event)},
        effects={w.name: w for w in everything if isinstance(w, Effect)},
        reasons={"late": "too late"},
        rules=frozenset({"L1", "L2"}),
        requests=("Photon",),
        consumer_events=("LIT",),
    )


def with_domain(name: str, *domain: Value) -> Variable:
    """A variable of the lamp with another domain."""
    return replace(next(variable for variable in VARIABLES if variable.name == name), domain=domain)


class Lamp(StateMachine):
    """On, off, or burnt out."""

    machine_name = "lamp"

    OFF = State(initial=True)
    ON = State()
    BURNT = State()

    # fmt: off
    row(OFF,           "pressed",    ON,    when="mains and not broken", do=["shine"],           rules="L1")
    row(ON,            "pressed",    OFF,                                do=["go_dark"],         rules="L1")
    row(ON,            "night_ends", OFF,   when="deployed",             do=["go_dark", "swap"], rules="L1 L2")
    row((OFF, ON),     "fuse_blew",  BURNT,                              do=["go_dark", "melt"], rules="L2")
    ignored(OFF,       "pressed",    because="late", when="not (mains and not broken)")
    ignored(ON,        "night_ends", because="late", when="published")
    ignored((OFF, BURNT), "night_ends", because="late")
    ignored(BURNT,     "pressed",    because="late")
    error(BURNT,       "fuse_blew",  rule="L2")
    # fmt: on
