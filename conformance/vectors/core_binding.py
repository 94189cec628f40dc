"""Binds vectors to the reference core: brings a vector's event about, and says what the core sent and where it is then.

The adapter and the translation are those of the generated suite (`conformance/stateful`); nothing here asks the
compiled machines what should happen. What the environment must know, such as which request waits for its answer, it
reads from the vector's state.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.stateful import lockstep
from groupspec.conformance.stateful.core_adapter import CoreAdapter
from groupspec.conformance.stateful.routes import MEMBER, member_of
from groupspec.conformance.vectors.reading import VectorEvent, VectorFile, VectorState, VectorStep
from groupspec.conformance.vectors.subjects import SUBJECTS
from groupspec.spec.compiler.member import MemberState, Offer

MEMBER_SUBJECT = "member"
FORGET_AFTER = 60
"""Requests that an environment keeps in mind; a walk that is longer starts with a new core."""


class Said(NamedTuple):
    """What the core sent, and what it says of itself."""

    sent: Counter[str]
    describes: dict[str, object]


class CoreBinding:
    """One core before its first event, in the configuration of the state of a number.

    Raises:
        UsageProblem: the vectors are not about a member, which is what the core is.
    """

    def __init__(self, file: VectorFile, start: int) -> None:
        if file.subject != MEMBER_SUBJECT:
            raise UsageProblem(
                f"the reference core cannot be driven through vectors of a {file.subject}",
                where=f"{file.subject}.{file.rebalance}",
                allowed=[
                    f"{each.name}.{name}"
                    for each in SUBJECTS
                    if each.name == MEMBER_SUBJECT
                    for name in each.rebalances
                ],
                next_step="choose a file of a member; the others are for a part of a client, or a broker, of your own",
            )
        self.file = file
        self.member = member_of(MEMBER, file.rebalance)
        self.adapter = CoreAdapter(self.member, self._model_state(file.states[start]))

    def can(self, state: VectorState, event: VectorEvent) -> bool:
        """Whether the event can be brought about now: an answer needs a request, a late one an abandoned request."""
        return self.adapter.can(_offer(event), self._model_state(state), _is_illegal(state, event))

    def perform(self, state: VectorState, event: VectorEvent) -> Said:
        """Bring the event about in a core that is in `state`."""
        illegal = _is_illegal(state, event)
        before, translation = self._model_state(state), self.adapter.translation
        # one of the errors that mean the same; not always the same one
        variant = sum(map(ord, event.name)) + state.number
        sent: Counter[str] = Counter()
        for seen in self.adapter.perform(_offer(event), variant, before, illegal):
            if not seen.refused:
                translation.offers(before, seen)  # keeps the books: what is answered now
            translation.note(seen)
            sent.update(word for word in lockstep.said_of(seen.outputs))
        return Said(sent, lockstep.observations(self.adapter.core.describe()))

    def wanted(self, step: VectorStep) -> Said:
        """What the core should have sent when a step is over, and say of itself."""
        after = self._model_state(self.file.states[step.target])
        sent = Counter(word for word in step.sent if word in lockstep.COMPARED)
        return Said(sent, lockstep.expectations(self.member, after))

    def is_worn(self) -> bool:
        """Whether so much has been sent that a new core is cheaper."""
        return len(self.adapter.translation.sent) > FORGET_AFTER

    def _model_state(self, state: VectorState) -> MemberState:
        values = {**state.config, **state.variables}
        return MemberState(
            tuple(state.states[machine] for machine in self.member.machines),
            tuple(values[name] for name in self.member.variables),
        )


def _offer(event: VectorEvent) -> Offer:
    return Offer(event.name, tuple(event.inputs.items()))


def _is_illegal(state: VectorState, event: VectorEvent) -> bool:
    return any(event is other for other in state.forbidden())
