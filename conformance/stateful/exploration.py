"""What a member can do: everything that one configuration can reach, searched breadth-first.

In a threading design less can happen (`impossible`); what is left of a search is found by leaving that out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from groupspec.conformance.stateful.impossible import can_happen
from groupspec.impl.threads.designs import Design
from groupspec.spec.compiler.member import IllegalEvent, Member, MemberState, Move, Offer
from groupspec.spec.compiler.table import Row

Node = TypeVar("Node")
Step = TypeVar("Step")

Goal = tuple[str, ...]
"""(machine, row) for a transition, (machine, row, row) for a pair."""


class _Edge(NamedTuple):
    offer: Offer
    target: MemberState
    moves: tuple[Move, ...]


@dataclass
class Exploration:
    """Everything one configuration of the member can reach."""

    member: Member
    start: MemberState
    edges: dict[MemberState, tuple[_Edge, ...]] = field(default_factory=dict)
    answers: dict[tuple[str, str], tuple[Row, MemberState, Offer]] = field(default_factory=dict)
    parents: dict[MemberState, tuple[MemberState, Offer] | None] = field(default_factory=dict)

    def run(self) -> Exploration:
        """Search breadth-first until nothing new is found."""
        offers = [
            Offer(event, tuple(inputs.items())) for event, inputs in self.member.offers if inputs.get("current", True)
        ]
        self.parents[self.start] = None
        queue = deque([self.start])
        while queue:
            state = queue.popleft()
            edges = []
            for offer in offers:
                try:
                    reaction = self.member.react(state, offer.event, dict(offer.inputs))
                except IllegalEvent as illegal:
                    self._note(illegal.machine, illegal.row, state, offer)
                    continue
                for move in reaction.moves:
                    self._note(move.machine, move.row, state, offer)
                edges.append(
                    _Edge(offer, reaction.state, tuple(m for m in reaction.moves if m.row.kind == "transition"))
                )
                if reaction.state not in self.parents:
                    self.parents[reaction.state] = (state, offer)
                    queue.append(reaction.state)
            self.edges[state] = tuple(edges)
        return self

    def within(self, design: Design) -> Exploration:
        """What is left of it in one threading design. The answers are about cells, the same in each."""
        left = Exploration(self.member, self.start, answers=self.answers)
        left.parents[self.start] = None
        queue = deque([self.start])
        while queue:
            state = queue.popleft()
            edges = tuple(e for e in self.edges[state] if can_happen(design, self.member, state, e.offer.event))
            left.edges[state] = edges
            for edge in edges:
                if edge.target not in left.parents:
                    left.parents[edge.target] = (state, edge.offer)
                    queue.append(edge.target)
        return left

    def _note(self, machine: str, row: Row, state: MemberState, offer: Offer) -> None:
        """Remember the first state in which a row answers an event that comes from outside."""
        if row.event == offer.event:
            self.answers.setdefault((machine, row.id), (row, state, offer))

    def way_to(self, state: MemberState) -> tuple[Offer, ...]:
        """The shortest run that ends in `state`."""
        return tuple(way(self.parents, state))

    def transitions(self) -> dict[Goal, tuple[Offer, ...]]:
        """Every transition that fires in some run, with the shortest run that fires it."""
        found: dict[Goal, tuple[Offer, ...]] = {}
        for state, edges in self.edges.items():  # in order of their distance
            for edge in edges:
                for goal in ((move.machine, move.row.id) for move in edge.moves):
                    if goal not in found:
                        found[goal] = (*self.way_to(state), edge.offer)
        return found

    def pairs(self, machine: str) -> dict[Goal, tuple[Offer, ...]]:
        """Every pair of transitions of `machine` that fire consecutively in some run, with the shortest such run."""
        found = consecutive(self.start, self.edges.__getitem__, machine)
        return {goal: tuple(run) for goal, run in found.items()}


def way(parents: Mapping[Node, tuple[Node, Step] | None], node: Node) -> list[Step]:
    """The steps from the root of a tree to one of its nodes."""
    steps: list[Step] = []
    while (parent := parents[node]) is not None:
        node, step = parent
        steps.append(step)
    return steps[::-1]


def consecutive(
    start: Node, edges: Callable[[Node], Iterable[tuple[Step, Node, tuple[Move, ...]]]], machine: str
) -> dict[Goal, list[Step]]:
    """Every pair of transitions of `machine` that fire consecutively in some run from `start`, with the shortest.

    `edges` gives the steps from a node: the step, the node that it leads to, and the transitions that fire.
    """
    found: dict[Goal, list[Step]] = {}
    root = (start, "")
    parents: dict[tuple[Node, str], tuple[tuple[Node, str], Step] | None] = {root: None}
    queue = deque([root])
    while queue:
        here = queue.popleft()
        for step, target, moves in edges(here[0]):
            last = here[1]
            for row in (move.row.id for move in moves if move.machine == machine):
                if last and (machine, last, row) not in found:
                    found[machine, last, row] = [*way(parents, here), step]
                last = row
            if (target, last) not in parents:
                parents[target, last] = (here, step)
                queue.append((target, last))
    return found
