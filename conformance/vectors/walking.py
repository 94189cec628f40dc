"""Everything that can happen to a subject under one configuration.

Its states, what each event makes of them, and ways home.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from groupspec.conformance.stateful.routes import Goal, consecutive
from groupspec.conformance.vectors.subjects import Subject
from groupspec.spec.compiler.member import IllegalEvent, Member, MemberState, Move, Offer

WRONG: Final = 1_000
"""How many events in which nothing goes wrong are better than one in which something does."""


class Reacted(NamedTuple):
    """What one event made of one state."""

    offer: int
    sent: tuple[str, ...]
    target: int
    moves: tuple[Move, ...]


@dataclass
class Node:
    """One reachable state. Events are numbered as in `Walked.offers`."""

    number: int
    state: MemberState
    parent: tuple[int, int] | None
    reactions: list[Reacted] = field(default_factory=list)
    stays: list[int] = field(default_factory=list)
    never: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Walked:
    """Every state that one configuration can reach, in breadth-first order."""

    subject: Subject
    member: Member
    offers: tuple[Offer, ...]
    nodes: list[Node]

    def pairs(self, machine: str) -> dict[Goal, list[int]]:
        """Every pair of transitions of `machine` that fire one after the other in some run: the shortest's events.

        Of runs in which both change or send something, if there are any: what a transition without a trace leaves
        behind can't show on the way home.
        """
        edges = [[(r.offer, r.target, r.moves) for r in node.reactions] for node in self.nodes]
        telling = [
            [(r.offer, r.target, r.moves) for r in node.reactions if r.sent or r.target != node.number]
            for node in self.nodes
        ]
        return consecutive(0, edges.__getitem__, machine) | consecutive(0, telling.__getitem__, machine)

    def ways_home(self) -> Mapping[tuple[int, bool], int]:
        """(state, whether `through` has happened) -> the first event of the way home with the least that goes wrong.

        The shortest way would often be an error that makes the member begin anew, so that nothing could show.
        """
        backwards: dict[tuple[int, bool], list[tuple[tuple[int, bool], int]]] = {}
        for node in self.nodes:
            for reacted in node.reactions:
                for done in (False, True):
                    after = done or self._goes_through(reacted)
                    backwards.setdefault((reacted.target, after), []).append(((node.number, done), reacted.offer))
        homes = [(node.number, True) for node in self.nodes if self._is_home(node.state)]
        reached, costs = dict.fromkeys(homes, -1), dict.fromkeys(homes, 0)
        queue = [(0, home) for home in homes]
        while queue:
            cost, here = heappop(queue)
            for before, offer in backwards.get(here, ()) if cost == costs[here] else ():
                longer = cost + (1 if self.offers[offer].event in self.subject.goes_well else WRONG)
                if longer < costs.get(before, longer + 1):
                    reached[before], costs[before] = offer, longer
                    heappush(queue, (longer, before))
        return reached

    def reaction(self, number: int, offer: int) -> Reacted:
        """What an event makes of a state; it is known to be legal there."""
        found = (r for r in self.nodes[number].reactions if r.offer == offer)
        return next(found, Reacted(offer, (), number, ()))

    def way_home(self, number: int, ways: Mapping[tuple[int, bool], int]) -> list[int] | None:
        """The events from a state home; None if there is no way."""
        here, way = (number, False), list[int]()
        while (offer := ways.get(here)) is not None:
            if offer < 0:
                return way
            way.append(offer)
            reacted = self.reaction(here[0], offer)
            here = (reacted.target, here[1] or self._goes_through(reacted))
        return None

    def _goes_through(self, reacted: Reacted) -> bool:
        return self.offers[reacted.offer].event == self.subject.through

    def _is_home(self, state: MemberState) -> bool:
        return all(self.member.state_of(state, machine) == name for machine, name in self.subject.home.items())


def walk(subject: Subject, rebalance: str) -> Iterator[Walked]:
    """Search each configuration breadth-first until nothing new is found."""
    member = subject.member(rebalance)
    offers = subject.offers(member)
    for config in subject.configurations(rebalance):
        yield _search(subject, member, offers, member.initial(**config))


def _search(subject: Subject, member: Member, offers: tuple[Offer, ...], start: MemberState) -> Walked:
    numbers = {start: 0}
    nodes = [Node(0, start, None)]
    inputs = [dict(offer.inputs) for offer in offers]
    for node in nodes:  # grows while it is walked
        for number, offer in enumerate(offers):
            if not subject.can_be(member, node.state, offer):
                continue
            try:
                reaction = member.react(node.state, offer.event, inputs[number])
            except IllegalEvent as illegal:
                node.never.append((" ".join(illegal.row.rules), number))
                continue
            moves = tuple(move for move in reaction.moves if move.row.kind == "transition")
            if reaction.state == node.state and not reaction.emitted:
                node.stays.append(number)
                if not moves:
                    continue
            if reaction.state not in numbers:
                numbers[reaction.state] = len(nodes)
                nodes.append(Node(len(nodes), reaction.state, (node.number, number)))
            seen = (*reaction.emitted, *subject.shows(member, node.state, offer))
            node.reactions.append(Reacted(number, seen, numbers[reaction.state], moves))
    return Walked(subject, member, offers, nodes)
