"""The two queues hold what is claimed of them, and every claim is worth something.

A way to break the queues denies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from groupspec.spec.compiler.model import Block, Call, For, If, Model, Set
from groupspec.spec.composition.queues import claims, queues_model
from groupspec.spec.explorer import explore

pytestmark = pytest.mark.usefixtures("quick_compilation")

Change = Callable[[Model], Model]


def _set(**values: str) -> Block:
    return (Set(tuple(values.items())),)


def procedure(name: str, body: Block) -> Change:
    """Another body for one procedure."""

    def change(model: Model) -> Model:
        changed = tuple(replace(p, body=body) if p.name == name else p for p in model.procedures)
        assert changed != model.procedures
        return replace(model, procedures=changed)

    return change


def action(name: str, guard: str = "", body: Block | None = None) -> Change:
    """Another guard, or body, for one action."""

    def change(model: Model) -> Model:
        old = next(a for a in model.actions if a.name == name)
        new = replace(
            old, guard=f"fault == 'none' and {guard}" if guard else old.guard, body=old.body if body is None else body
        )
        return replace(model, actions=tuple(new if a.name == name else a for a in model.actions))

    return change


IN_FRONT: Block = (
    Set((("event[1]", "'call'"), ("event_of[1]", "i"), ("event[2]", "event[1]"), ("event_of[2]", "event_of[1]"))),
)
CANCEL = For("i", "members", (If((("waits_for == i", (Set((("future[i]", "'cancelled'"),)),)),)),))
STOP_ONLY = _set(background="'stopped'", consumer_1="'none'", consumer_2="'none'")

BROKEN: Mapping[str, tuple[Change, str]] = {
    "last in, first out": (procedure("put_call", IN_FRONT), "queue-keeps-order"),
    "a call's event gets lost": (procedure("put_call", ()), "queue-loses-nothing"),
    "an event stays when it is taken": (procedure("take_event", ()), "queue-doubles-nothing"),
    "what was laid aside stays there": (procedure("take_aside", ()), "future-completes-once"),
    "a callback that nobody asked for": (
        action("poll_begins_callback", "polling == 'free' and not wakeup"),
        "callback-only-when-asked",
    ),
    "a callback is answered twice": (
        action("callback_ends", "polling == 'callback' and event[2] == 'none'", (Call("put_answer"),)),
        "callback-only-when-asked",
    ),
    "the background stops and says nothing": (action("background_stops", body=STOP_ONLY), "closed-is-clean"),
    "close() waits for nothing": (action("close_returns", "polling == 'closing'"), "background-stops-first"),
    "the network goes first": (
        action("network_closes", "background == 'closing' and network"),
        "background-stops-first",
    ),
    "a wakeup that nobody takes down": (
        action("close_returns", body=_set(polling="'closed'")),
        "closed-is-not-woken",
    ),
    "a wakeup inside a callback": (
        action("waiting_call_is_woken", "wakeup and (polling == 'waiting' or polling == 'callback_waiting')"),
        "wakeup-interrupts-one-call",
    ),
    "a wakeup interrupts two calls": (
        action("waiting_call_is_woken", "polling == 'waiting'"),
        "wakeup-interrupts-one-call",
    ),
    "a call holds up those behind it": (
        action(
            "background_takes_call",
            "event[1] == 'call' and event_of[1] == i and (coordinator or not needs_coordinator[i])",
        ),
        "nothing-waits-behind-coordinator",
    ),
    "who is woken cancels the call": (
        action(
            "waiting_call_is_woken",
            body=(CANCEL, Call("raise_wakeup"), *_set(abandoned="waits_for", waits_for="0", polling="'free'")),
        ),
        "woken-call-completes",
    ),
    "close() waits for every answer": (
        action("background_stops", "background == 'closing' and all(future[i] != 'pending' for i in members)"),
        "close-cancels",
    ),
    "nobody stops": (
        action("background_stops", "background == 'closing' and overdue and owns and not owns"),
        "close-stays-possible",
    ),
}
"""What is broken, and a claim that it denies."""


@pytest.mark.parametrize("calls", [2, 3])
def test_everything_claimed_of_the_queues_holds(calls: int) -> None:
    found = explore(queues_model(calls))
    assert found.verdict == "complete"
    assert not found.violations
    assert not found.missing
    assert not found.never_fired
    assert found.states == {2: 18_529, 3: 90_304}[calls]


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_queue_is_noticed(name: str) -> None:
    change, denied = BROKEN[name]
    found = explore(change(queues_model(2)))
    assert denied in {*found.violations, *found.missing}


def test_every_claim_but_liveness_is_denied_by_something() -> None:
    claimed = {claim.id for claim in claims(2) if claim.kind != "leads_to"}
    assert claimed - {denied for _, denied in BROKEN.values()} == {"wakeup-spares-callback"}  # a state, not a claim
