"""What a design is said to rule out does not happen in it: the driver is brought to each such state, and never does it.

The states are those that the design can reach, one for each combination of the machines' states. There the timer is
made to run out, and the threads look again and again. Once the coordinator is found it takes effect: so it was the
design that kept it back, and the test would have seen it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from groupspec.conformance.stateful.core_adapter import TIMER_OF
from groupspec.conformance.stateful.driver_adapter import DriverAdapter
from groupspec.conformance.stateful.exploration import Exploration
from groupspec.conformance.stateful.impossible import IMPOSSIBLE, Impossible
from groupspec.conformance.stateful.lockstep import Lockstep
from groupspec.conformance.stateful.routes import MEMBER, explorations
from groupspec.conformance.stateful.suite import REBALANCES
from groupspec.impl.core.events import TimerExpired
from groupspec.impl.core.messages import FindCoordinatorRequest
from groupspec.impl.threads.designs import Design
from groupspec.spec.compiler.member import MemberState

BACKOFF_MS = 100
"""After so long the heartbeat thread looks again."""
LOOKS = 5
LOOKED_UP = "COORDINATOR_DISCOVERY"
JOINS = ("PREPARING_REBALANCE", "PARTITION_REVOKED")
"""Where a JoinGroup goes out as soon as the coordinator is found, and ends heartbeats."""

RULED_OUT = [
    pytest.param(design, impossible, event, rebalance, id=f"{design}-{rebalance}-{event}")
    for design, entries in IMPOSSIBLE.items()
    for impossible in entries
    for event in impossible.events
    for rebalance in REBALANCES
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("design", "impossible", "event", "rebalance"), RULED_OUT)
def test_what_a_design_rules_out_does_not_happen_in_it(
    design: Design, impossible: Impossible, event: str, rebalance: str
) -> None:
    tried: set[tuple[str, ...]] = set()
    later: set[tuple[str, ...]] = set()
    ruled_out: set[tuple[str, ...]] = set()
    for exploration, state in _ruled_out(design, impossible, event, rebalance):
        ruled_out.add(state.states)
        if state.states in tried:
            continue
        with closing(_Run(design, exploration)) as run:
            if not run.reaches(state):
                continue
            tried.add(state.states)
            run.runs_out(event)
            assert not run.expired(event), f"{event}, after {'; '.join(run.lockstep.history)}"
            run.finds_coordinator()
            if run.expired(event):
                later.add(state.states)
    assert tried == ruled_out
    assert later >= {states for states in ruled_out if LOOKED_UP in states and not set(states) & set(JOINS)}


def _ruled_out(
    design: Design, impossible: Impossible, event: str, rebalance: str
) -> Iterator[tuple[Exploration, MemberState]]:
    """What the design reaches of the states that are meant, where the machines would answer the event."""
    for every, exploration in zip(
        explorations(MEMBER, rebalance), explorations(MEMBER, rebalance, design), strict=True
    ):
        for state in exploration.edges:
            answered = any(edge.offer.event == event and edge.moves for edge in every.edges[state])
            if answered and impossible.holds(exploration.member, state):
                yield exploration, state


class _Run:
    """One consumer, brought to a state of its member."""

    def __init__(self, design: Design, exploration: Exploration) -> None:
        self._exploration = exploration
        self._adapter = DriverAdapter(exploration.member, exploration.start, design)
        self.lockstep = Lockstep(exploration.member, exploration.start, self._adapter)

    def close(self) -> None:
        """Take everything down."""
        self.lockstep.end()

    def reaches(self, state: MemberState) -> bool:
        """Not where the driver does more on the way than it is asked to, as it may."""
        return all(map(self.lockstep.offer, self._exploration.way_to(state))) and self.lockstep.state == state

    def runs_out(self, event: str) -> None:
        """The deadline of this timer is over, and the threads look again and again."""
        self._adapter.record.clear()
        self._adapter.driven.expire(TIMER_OF[event])
        self._look()

    def finds_coordinator(self) -> None:
        """Its lookup, if one is under way, is answered."""
        for sent in self._adapter.driven.transport.unanswered():
            if isinstance(sent.request, FindCoordinatorRequest):
                self._adapter.driven.answer(sent.request_id, self._adapter.coordinator.answer(sent.request))
        self._look()

    def expired(self, event: str) -> bool:
        """Whether the core has heard of it."""
        return any(seen.event == TimerExpired(TIMER_OF[event]) for seen in self._adapter.record)

    def _look(self) -> None:
        for _ in range(LOOKS):
            self._adapter.driven.advance(BACKOFF_MS)
            self._adapter.driven.settle()
