"""A run of a model as a vector file: what one member gets, and what the deployed specification demands of it.

The format is that of `conformance/vectors` (README.md there): a header, a line for each state on the way, and one line
for the run. So `vectors/examples/run_vectors.py`, and whatever else reads vectors, runs it on a client. An event of a
published run that a correct environment never does at the deployed member stands in the state's `never`; one that
cannot be is left out.
"""

from __future__ import annotations

import hashlib
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.stateful.routes import MEMBER, member_of
from groupspec.conformance.vectors.making import Line, code, file_text, state_codes
from groupspec.conformance.vectors.subjects import SUBJECTS
from groupspec.spec.compiler.member import IllegalEvent, MemberState, Offer
from groupspec.spec.composition.projection import NotProjectable, Projection, project
from groupspec.spec.explorer import Trace
from groupspec.spec.vocabulary import VARIABLES

SUBJECT: Final = next(subject for subject in SUBJECTS if subject.name == "member")
RECIPE: Final = hashlib.sha256(b"a run of a model, version 1").hexdigest()


def vector_text(trace: Trace, member: int = 1) -> str:
    """The vector file of what one member sees of a run, as text.

    Raises:
        UsageProblem: an action has no counterpart at a member.
    """
    return _Way(seen_by(trace, member)).text()


def seen_by(trace: Trace, member: int) -> Projection:
    """What one member sees of a run.

    Raises:
        UsageProblem: an action has no counterpart at a member.
    """
    try:
        return project(trace, member)
    except NotProjectable as missing:
        raise UsageProblem(
            f"{missing.action} has no counterpart at member {member}: {missing.what}",
            f"step {missing.step} of a run of {trace.model.name}",
            "runs in which that member lives through every step, of the models of spec.composition",
            "take the view of another member, or a run that ends before",
        ) from missing


class _Way:
    """The deployed member, run along the events of a projection."""

    def __init__(self, seen: Projection) -> None:
        self.seen = seen
        self.member = member_of(MEMBER, seen.rebalance)
        self.offers: dict[Offer, int] = {}
        self.said: dict[tuple[str, ...], int] = {(): 0}
        self.states: dict[MemberState, int] = {}
        self.parents: list[list[int] | None] = []
        self.does: dict[int, list[list[int]]] = {}
        self.stays: dict[int, list[int]] = {}
        self.never: dict[int, dict[str, list[int]]] = {}
        self.run: list[list[int]] = []
        self.rows: list[str] = []

    def text(self) -> str:
        here = self.member.initial(**self.seen.config)
        self._number(here, None)
        for event in self.seen.events:
            here = self._event(here, Offer(event.event, tuple(event.inputs.items())))
        lines = [self._state(state, number) for state, number in self.states.items()]
        lines.append({"pair": ["rebalance", *self.rows[-2:]], "start": 0, "run": self.run, "back": None})
        counts = {"states": len(self.states), "pairs": 1, "pair_steps": len(self.run), "pairs_without_way_home": 1}
        config = {v.name: v.initial for v in VARIABLES.values() if v.kind == "config"} | dict(self.seen.config)
        legend = {
            "sent": self.said,
            "stays": [self.stays.get(number, []) for number in range(len(self.states))],
            "never": [list(self.never.get(number, {}).items()) for number in range(len(self.states))],
        }
        return file_text(SUBJECT, self.seen.rebalance, lines, RECIPE, [config], counts, self.offers, legend)

    def _event(self, here: MemberState, offer: Offer) -> MemberState:
        number = self.states[here]
        if not SUBJECT.can_be(self.member, here, offer):
            return here
        event = code(self.offers, offer)
        try:
            reaction = self.member.react(here, offer.event, dict(offer.inputs))
        except IllegalEvent as illegal:
            self.never.setdefault(number, {}).setdefault(" ".join(illegal.row.rules), []).append(event)
            return here
        sent = (*reaction.emitted, *SUBJECT.shows(self.member, here, offer))
        target = self._number(reaction.state, [number, event])
        step = [event, code(self.said, sent), target]
        self.run.append(step)
        if sent or target != number:
            if step not in self.does.setdefault(number, []):
                self.does[number].append(step)
        else:
            self.stays.setdefault(number, []).append(event)
        moved = (m for m in reaction.moves if m.machine == "rebalance" and m.row.kind == "transition")
        self.rows += [move.row.id for move in moved]
        return reaction.state

    def _number(self, state: MemberState, parent: list[int] | None) -> int:
        if state not in self.states:
            self.parents.append(parent)
        return code(self.states, state)

    def _state(self, state: MemberState, number: int) -> Line:
        return {
            "state": number,
            "from": self.parents[number],
            "config": 0,
            **state_codes(self.member, state),
            "does": self.does.get(number, []),
            "stays": number,
            "never": number,
        }
