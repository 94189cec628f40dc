"""Where a walk through the specification can go, and the shortest way there.

Random events do not get deep: what disturbs a member is as likely as what helps it, and a cooperative revocation is a
dozen events away. So every generated example starts with a *route*: the shortest run to a goal, found by searching the
composed member breadth-first. Goals are transitions, and pairs of transitions that fire one after the other in one
machine.

A pair is *feasible* when some run of the composed member fires its two rows consecutively in that machine; in between,
other machines may move and events may be ignored. The same for a transition. What is feasible is what coverage counts
against, and the lists are committed (`conformance/generated/feasible`), so that a change of the specification shows in
them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeVar

from groupspec.spec.compiler.member import IllegalEvent, Member, MemberState, Move, Offer
from groupspec.spec.compiler.table import Row
from groupspec.spec.compiler.tables import tables

Node = TypeVar("Node")
Step = TypeVar("Step")

Goal = tuple[str, ...]
"""(machine, row) for a transition, (machine, row, row) for a pair."""


IN_REVOCATION = ("PREPARE_REVOCATION", "REVOKING_PARTITION", "PARTITION_REVOKED")


def assignment_waits(member: Member, state: MemberState) -> bool:
    """Whether an assignment that is not empty waits for a revocation: other topics then concern it."""
    value = member.value_of
    if member.state_of(state, "rebalance") not in IN_REVOCATION or value(state, "identity") != "member":
        return False
    return bool(value(state, "will_own")) and not (value(state, "unwanted") or value(state, "leaving"))


@dataclass(frozen=True)
class Route:
    """The shortest run that reaches a goal: the configuration it needs, and what happens."""

    goal: Goal
    auto_commit: bool
    static: bool
    offers: tuple[Offer, ...]

    def __str__(self) -> str:
        return f"{' then '.join(self.goal[1:])} of {self.goal[0]}: " + ", ".join(map(str, self.offers))


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
                for move in edge.moves:
                    found.setdefault((move.machine, move.row.id), (*self.way_to(state), edge.offer))
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


MEMBER = "member"
"""The target of the three machines that a member is composed of; the fourth is `subscription`."""


@cache
def member_of(target: str, rebalance: str) -> Member:
    """The deployed machines that a suite drives together: those of a member, or the one of a partition."""
    return Member(rebalance, "deployed") if target == MEMBER else Member(rebalance, "deployed", (target,))


@cache
def explorations(target: str, rebalance: str) -> tuple[Exploration, ...]:
    """One exploration for each combination of configuration values."""
    member = member_of(target, rebalance)
    return tuple(Exploration(member, start).run() for start in member.configurations())


@cache
def transition_routes(target: str, rebalance: str) -> Mapping[Goal, Route]:
    """Every feasible transition, and the shortest route to it over all configurations."""
    return _shortest(target, rebalance, lambda exploration: exploration.transitions())


@cache
def pair_routes(target: str, rebalance: str) -> Mapping[Goal, Route]:
    """Every feasible pair of transitions, and the shortest route to it over all configurations."""

    def pairs(exploration: Exploration) -> dict[Goal, tuple[Offer, ...]]:
        found: dict[Goal, tuple[Offer, ...]] = {}
        for machine in exploration.member.machines:
            found |= exploration.pairs(machine)
        return found

    return _shortest(target, rebalance, pairs)


def _shortest(
    target: str, rebalance: str, goals_of: Callable[[Exploration], Mapping[Goal, tuple[Offer, ...]]]
) -> Mapping[Goal, Route]:
    routes: dict[Goal, Route] = {}
    for exploration in explorations(target, rebalance):
        member, start = exploration.member, exploration.start
        config = bool(member.value_of(start, "auto_commit")), bool(member.value_of(start, "static"))
        for goal, offers in goals_of(exploration).items():
            known = routes.get(goal)
            if known is None or len(offers) < len(known.offers):
                routes[goal] = Route(goal, *config, offers)
    return routes


def infeasible_transitions(target: str, rebalance: str) -> Iterator[tuple[str, str]]:
    """(machine, row) of transitions that stand in the tables but fire in no run of the composed member."""
    feasible = transition_routes(target, rebalance)
    for machine in member_of(target, rebalance).machines:
        for row in tables()[machine, rebalance, "deployed"].rows:
            if row.kind == "transition" and (machine, row.id) not in feasible:
                yield machine, row.id
