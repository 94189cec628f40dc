"""Telling two specifications apart: the shortest run on which they say different things.

Two members that differ in one row may agree for a long time: a flag set now shows only when a coordinator is lost
later. The search runs both side by side, breadth-first over pairs of states, until they differ in what an
implementation can be asked about (states, ownership, timers), in what they send, or in whether they accept an event. If
no pair is left, nothing that anybody could observe tells them apart: they are the same specification.
"""

from __future__ import annotations

from collections import Counter, deque

from groupspec.conformance.stateful.lockstep import expectations
from groupspec.spec.compiler.member import BrokenSpecification, IllegalEvent, Member, MemberState, Offer, Reaction
from groupspec.spec.vocabulary import EVENTS


def distinguishing_run(
    one: Member, other: Member, start: MemberState, state: MemberState | None = None
) -> tuple[Offer, ...] | None:
    """The shortest run from `start` on which members differ that are the same but for replaced rows; None if none does.

    `state` is where the other one starts, if not in the same state.
    """
    offers = [Offer(event, tuple(inputs.items())) for event, inputs in one.offers if inputs.get("current", True)]
    begin = (start, state or start)
    ways: dict[tuple[MemberState, MemberState], tuple[Offer, ...]] = {begin: ()}
    queue = deque([begin])
    while queue:
        pair = queue.popleft()
        for offer in offers:
            ours = _react(one, pair[0], offer)
            if ours is None and EVENTS[offer.event].kind != "message":
                continue  # only an answer can be brought about although it is illegal
            if ours is not None and pair[0] == pair[1] and not _meets_a_replaced_row(other, ours):
                theirs: Reaction | None = ours
            else:
                theirs = _react(other, pair[1], offer)
            if ours is not theirs and _differ(one, ours, theirs):
                return (*ways[pair], offer)
            if ours is None or theirs is None:
                continue
            after = (ours.state, theirs.state)
            if after not in ways:
                ways[after] = (*ways[pair], offer)
                queue.append(after)
    return None


def _meets_a_replaced_row(member: Member, reaction: Reaction) -> bool:
    return any((move.machine, move.row.id) in member.replaced for move in reaction.moves)


def _react(member: Member, state: MemberState, offer: Offer) -> Reaction | None:
    try:
        return member.react(state, offer.event, dict(offer.inputs))
    except (IllegalEvent, BrokenSpecification):
        return None


def _differ(member: Member, ours: Reaction | None, theirs: Reaction | None) -> bool:
    if ours is None or theirs is None:
        return ours is not theirs
    if Counter(ours.emitted) != Counter(theirs.emitted):
        return True
    return expectations(member, ours.state) != expectations(member, theirs.state)
