"""Every cell of the deployed tables that the environment can reach: how to get there, and what is injected.

A cell here is one row of one machine's table: what happens in this state, on this event, under this guard. It can be
injected if its event comes from outside (an internal event can't be), and if some run of the composed member reaches a
state in which the row is the one that answers. Late answers need a request that was given up: their runs begin with a
prelude that leaves one of each kind behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product

from groupspec.conformance.stateful.exploration import Exploration
from groupspec.conformance.stateful.routes import MEMBER, explorations
from groupspec.spec.compiler.member import IllegalEvent, MemberState, Offer
from groupspec.spec.compiler.table import Row

GAINED: Offer = Offer(
    "sync_accepted",
    (
        ("current", True),
        ("revokes_any", False),
        ("retains_any", False),
        ("adds_any", True),
        ("fits_subscription", True),
    ),
)
CURRENT = (("current", True),)

PRELUDE: tuple[Offer, ...] = (
    Offer("started"),
    # a JoinGroup that nobody waits for any more
    Offer("subscribed_to_topics"),
    Offer("application_polled"),
    Offer("discovery_succeeded", CURRENT),
    Offer("leave_requested"),
    # a SyncGroup
    Offer("subscribed_to_topics"),
    Offer("application_polled"),
    Offer("join_accepted", CURRENT),
    Offer("leave_requested"),
    # a Heartbeat, and with auto-commit an OffsetCommit
    Offer("subscribed_to_topics"),
    Offer("application_polled"),
    Offer("join_accepted", CURRENT),
    GAINED,
    Offer("partitions_assigned"),
    Offer("heartbeat_due"),
    Offer("rejoin_requested"),
    Offer("leave_requested"),
    Offer("callback_started"),
    Offer("partitions_revoked"),
)
"""Leaves a given-up request of each kind behind, and the member outside the group again."""


@dataclass(frozen=True)
class Cell:
    """One row that can be injected: the configuration, the run to a state where it answers, and the event."""

    machine: str
    row: Row
    start: MemberState
    way: tuple[Offer, ...]
    offer: Offer

    def __str__(self) -> str:
        return f"{self.machine}.{self.row.id} ({self.row.kind})"


@cache
def cells(rebalance: str) -> Mapping[tuple[str, str], Cell]:
    """Every cell of a member's machines that can be injected, by machine and row."""
    found: dict[tuple[str, str], Cell] = {}
    for exploration in explorations(MEMBER, rebalance):
        for cell in (*_prompt(exploration), *_late(exploration)):
            found.setdefault((cell.machine, cell.row.id), cell)
    return found


def _prompt(exploration: Exploration) -> Iterator[Cell]:
    """The rows that answer an event in time, and those that no event should meet."""
    for (machine, _), (row, state, offer) in exploration.answers.items():
        yield Cell(machine, row, exploration.start, exploration.way_to(state), offer)


def _late(exploration: Exploration) -> Iterator[Cell]:
    """The rows that answer late: in every combination of the machines' states, reached after the prelude."""
    member = exploration.member
    beginning = exploration.start
    for offer in PRELUDE:
        with suppress(IllegalEvent):
            beginning = member.react(beginning, offer.event, dict(offer.inputs)).state
    late = [Offer(event, tuple(inputs.items())) for event, inputs in member.offers if not inputs.get("current", True)]
    again = _seen_from(exploration, beginning)
    nearest = {state.states: state for state in reversed(again.edges)}
    for state, offer in product(nearest.values(), late):
        for move in member.react(state, offer.event, dict(offer.inputs)).moves:
            if move.row.event == offer.event:
                yield Cell(move.machine, move.row, exploration.start, (*PRELUDE, *again.way_to(state)), offer)


def _seen_from(whole: Exploration, start: MemberState) -> Exploration:
    """What can be reached from one of an exploration's states, and the shortest ways from there."""
    found = Exploration(whole.member, start, parents={start: None})
    queue = deque([start])
    while queue:
        state = queue.popleft()
        found.edges[state] = whole.edges[state]
        for edge in whole.edges[state]:
            if edge.target not in found.parents:
                found.parents[edge.target] = (state, edge.offer)
                queue.append(edge.target)
    return found
