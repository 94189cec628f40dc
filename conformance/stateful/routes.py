"""Where a walk through the specification can go, and the shortest way there.

Random events do not get deep: what disturbs a member is as likely as what helps it, and a cooperative revocation is a
dozen events away. So every generated example starts with a *route*: the shortest run to a goal, found by searching the
composed member breadth-first. Goals are transitions, and pairs of transitions that fire one after the other in one
machine.

A pair is *feasible* when some run of the composed member fires its two rows consecutively in that machine; in between,
other machines may move and events may be ignored. The same for a transition. What is feasible is what coverage counts
against, and the lists are committed (`conformance/generated/feasible`), so that a change of the specification shows in
them. In a threading design less can happen (`impossible`): a route of its own leads to each goal that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from groupspec.conformance.stateful.exploration import Exploration
from groupspec.conformance.stateful.exploration import Goal as Goal  # this and the next: also for `vectors`
from groupspec.conformance.stateful.exploration import consecutive as consecutive
from groupspec.conformance.stateful.impossible import is_narrower
from groupspec.impl.threads.designs import Design
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.compiler.tables import tables

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


MEMBER = "member"
"""The target of the three machines that a member is composed of; the fourth is `subscription`."""


@cache
def member_of(target: str, rebalance: str) -> Member:
    """The deployed machines that a suite drives together: those of a member, or the one of a partition."""
    return Member(rebalance, "deployed") if target == MEMBER else Member(rebalance, "deployed", (target,))


@cache
def explorations(target: str, rebalance: str, design: Design | None = None) -> tuple[Exploration, ...]:
    """One exploration for each combination of configuration values; of what can happen in a threading design, if any.

    Where it lets everything happen these are the same ones.
    """
    member = member_of(target, rebalance)
    if design is None:
        return tuple(Exploration(member, start).run() for start in member.configurations())
    every = explorations(target, rebalance)
    return tuple(exploration.within(design) for exploration in every) if is_narrower(design, member) else every


@cache
def transition_routes(target: str, rebalance: str, design: Design | None = None) -> Mapping[Goal, Route]:
    """Every feasible transition, and the shortest route to it over all configurations."""
    return _shortest(explorations(target, rebalance, design), Exploration.transitions)


@cache
def pair_routes(target: str, rebalance: str, design: Design | None = None) -> Mapping[Goal, Route]:
    """Every feasible pair of transitions, and the shortest route to it over all configurations."""

    def pairs(exploration: Exploration) -> dict[Goal, tuple[Offer, ...]]:
        found: dict[Goal, tuple[Offer, ...]] = {}
        for machine in exploration.member.machines:
            found |= exploration.pairs(machine)
        return found

    return _shortest(explorations(target, rebalance, design), pairs)


def goals(target: str, rebalance: str, design: Design | None = None) -> dict[Goal, Route]:
    """Every transition and pair feasible in the design, if any, with its route, shortest first."""
    routes = {**transition_routes(target, rebalance, design), **pair_routes(target, rebalance, design)}
    return dict(sorted(routes.items(), key=lambda item: len(item[1].offers)))


def _shortest(
    searched: Iterable[Exploration], goals_of: Callable[[Exploration], Mapping[Goal, tuple[Offer, ...]]]
) -> Mapping[Goal, Route]:
    routes: dict[Goal, Route] = {}
    for exploration in searched:
        member, start = exploration.member, exploration.start
        config = bool(member.value_of(start, "auto_commit")), bool(member.value_of(start, "static"))
        for goal, offers in goals_of(exploration).items():
            known = routes.get(goal)
            if known is None or len(offers) < len(known.offers):
                routes[goal] = Route(goal, *config, offers)
    return routes


def infeasible_transitions(target: str, rebalance: str, design: Design | None = None) -> Iterator[tuple[str, str]]:
    """(machine, row) of transitions that stand in the tables but fire in no run of the composed member."""
    feasible = transition_routes(target, rebalance, design)
    for machine in member_of(target, rebalance).machines:
        for row in tables()[machine, rebalance, "deployed"].rows:
            if row.kind == "transition" and (machine, row.id) not in feasible:
                yield machine, row.id
