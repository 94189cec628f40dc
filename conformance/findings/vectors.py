"""A run of a model as a vector file: what one member gets, and what the deployed specification demands of it.

The format is that of `conformance/vectors` (README.md there): a header, a line for each state on the way, and one line
for the run. So `vectors/examples/run_vectors.py`, and whatever else reads vectors, runs it on a client. An event of a
published run that a correct environment never does at the deployed member stands in the state's `never`; one that
cannot be is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.stateful.routes import MEMBER, member_of
from groupspec.conformance.vectors.making import spec_hash
from groupspec.conformance.vectors.schema import FORMAT, VERSION
from groupspec.conformance.vectors.subjects import PROFILE, SUBJECTS
from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import IllegalEvent, MemberState, Offer
from groupspec.spec.composition.projection import NotProjectable, Projection, project
from groupspec.spec.explorer import Trace
from groupspec.spec.terms import Variable
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


@dataclass
class _Way:
    """The deployed member, run along the events of a projection."""

    seen: Projection
    offers: list[Offer] = field(default_factory=list)
    said: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    states: dict[MemberState, int] = field(default_factory=dict)
    parents: list[list[int] | None] = field(default_factory=list)
    does: dict[int, list[list[int]]] = field(default_factory=dict)
    stays: dict[int, list[int]] = field(default_factory=dict)
    never: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    run: list[list[int]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)

    def text(self) -> str:
        self.member = member_of(MEMBER, self.seen.rebalance)
        here = self.member.initial(**self.seen.config)
        self._number(here, None)
        for event in self.seen.events:
            here = self._event(here, Offer(event.event, tuple(event.inputs.items())))
        never = [list(self.never.get(number, {}).items()) for number in range(len(self.states))]
        stays = [self.stays.get(number, []) for number in range(len(self.states))]
        lines = [self._state(state, number) for state, number in self.states.items()]
        lines.append({"pair": ["rebalance", *self.rows[-2:]], "start": 0, "run": self.run, "back": None})
        body = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
        header = self._header(hashlib.sha256(body.encode()).hexdigest(), stays, never)
        return json.dumps(header, separators=(",", ":"), ensure_ascii=False) + "\n" + body

    def _event(self, here: MemberState, offer: Offer) -> MemberState:
        number = self.states[here]
        if not SUBJECT.can_be(self.member, here, offer):
            return here
        code = self._code(offer)
        try:
            reaction = self.member.react(here, offer.event, dict(offer.inputs))
        except IllegalEvent as illegal:
            self.never.setdefault(number, {}).setdefault(" ".join(illegal.row.rules), []).append(code)
            return here
        sent = (*reaction.emitted, *SUBJECT.shows(self.member, here, offer))
        if sent not in self.said:
            self.said.append(sent)
        target = self._number(reaction.state, [number, code])
        step = [code, self.said.index(sent), target]
        self.run.append(step)
        if sent or target != number:
            if step not in self.does.setdefault(number, []):
                self.does[number].append(step)
        else:
            self.stays.setdefault(number, []).append(code)
        moved = (m for m in reaction.moves if m.machine == "rebalance" and m.row.kind == "transition")
        self.rows += [move.row.id for move in moved]
        return reaction.state

    def _number(self, state: MemberState, parent: list[int] | None) -> int:
        if state not in self.states:
            self.states[state] = len(self.states)
            self.parents.append(parent)
        return self.states[state]

    def _code(self, offer: Offer) -> int:
        if offer not in self.offers:
            self.offers.append(offer)
        return self.offers.index(offer)

    def _state(self, state: MemberState, number: int) -> dict[str, object]:
        tables = self.member.tables
        return {
            "state": number,
            "from": self.parents[number],
            "config": 0,
            "is": [tables[m].states.index(self.member.state_of(state, m)) for m in self.member.machines],
            "has": "".join(str(v.domain.index(self.member.value_of(state, v.name))) for v in self._variables()),
            "does": self.does.get(number, []),
            "stays": number,
            "never": number,
        }

    def _variables(self) -> list[Variable]:
        return [VARIABLES[name] for name in self.member.variables if VARIABLES[name].kind == "state"]

    def _header(self, lines: str, stays: object, never: object) -> dict[str, object]:
        counts = Counter(states=len(self.states), pairs=1, pair_steps=len(self.run), pairs_without_way_home=1)
        config = {v.name: v.initial for v in VARIABLES.values() if v.kind == "config"} | dict(self.seen.config)
        return {
            "format": FORMAT,
            "version": VERSION,
            "spec": spec_hash(SUBJECT, self.seen.rebalance),
            "recipe": RECIPE,
            "lines": lines,
            "subject": SUBJECT.name,
            "rebalance": self.seen.rebalance,
            "profile": PROFILE,
            "configurations": [config],
            "home": dict(SUBJECT.home),
            "counts": dict(counts),
            "legend": {
                "events": [_event(offer) for offer in self.offers],
                "sent": self.said,
                "stays": stays,
                "never": never,
                "states": {name: table.states for name, table in self.member.tables.items()},
                "variables": {v.name: {"values": v.domain, "doc": v.doc} for v in self._variables()},
            },
        }


def _event(offer: Offer) -> dict[str, object]:
    event = vocabulary.EVENTS[offer.event]
    told: dict[str, object] = {
        "name": offer.event,
        "inputs": dict(offer.inputs),
        "kind": event.kind,
        "doc": event.doc,
    }
    answers = [list(answer) for answer, name in vocabulary.RESPONSES.items() if name == offer.event]
    return {**told, "answers": answers} if answers else told
