"""A failure that is replayed is the same to the bit: a hundred times, under schedules and in simulated groups."""

from __future__ import annotations

from typing import Final

import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.campaign import replayed, search
from groupspec.conformance.simulation.run import Driver
from groupspec.conformance.simulation.shrinking import failure
from groupspec.impl.scheduling import Outcome
from groupspec.impl.scheduling.exploring import spelled
from groupspec.impl.threads.designs import DESIGNS, Design

pytestmark = pytest.mark.exhaustive

UNDER_SCHEDULES: Final = ("BUG-09", "BUG-31", "BUG-37", "J6-order", "K1-claims-nothing")
"""Mutants that either design shows soon."""

IN_GROUPS: Final[tuple[tuple[str, int, Driver], ...]] = (
    ("BUG-27", 3, "core"),
    ("J7-joins-before-callback", 1, "core"),
    ("J7-joins-before-callback", 1, "background"),
    ("J7-joins-before-callback", 1, "heartbeat"),
)
"""Mutants, and the seed of a simulated group that shows each."""

REPLAYS_UNDER_SCHEDULES: Final = 8
REPLAYS_IN_GROUPS: Final = 5


def as_bytes(outcome: Outcome) -> bytes:
    """Every step, every choice, and what was broken (behind that pytest adds addresses of objects to an assertion)."""
    what, *_ = str(outcome.error).splitlines()
    return repr((outcome.trace, outcome.choices, what)).encode()


def test_there_are_a_hundred() -> None:
    under_schedules = len(DESIGNS) * len(UNDER_SCHEDULES) * REPLAYS_UNDER_SCHEDULES
    assert under_schedules + len(IN_GROUPS) * REPLAYS_IN_GROUPS == 100


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("identifier", UNDER_SCHEDULES)
def test_a_failure_under_a_schedule_replays_to_the_bit(identifier: str, design: Design) -> None:
    with Seam() as seam:
        MUTANTS[identifier].change(seam)
        found = search(500, seed=1, shrink=False, design=design)
        assert found is not None
        for _ in range(REPLAYS_UNDER_SCHEDULES):
            again = replayed(found.seed, spelled(found.outcome.schedule), design)
            assert again is not None
            assert as_bytes(again.outcome) == as_bytes(found.outcome)


@pytest.mark.parametrize(("identifier", "seed", "driver"), IN_GROUPS)
def test_a_failure_of_a_simulated_group_replays_to_the_bit(identifier: str, seed: int, driver: Driver) -> None:
    with Seam() as seam:
        MUTANTS[identifier].change(seam)
        found = failure(seed, driver=driver)
        assert found is not None
        only = [m.number for m in found.plan.members], [fault.number for fault in found.plan.faults]
        for _ in range(REPLAYS_IN_GROUPS):
            again = failure(seed, driver=driver, only=only)
            assert again is not None
            assert again.outcome.trace_text().encode() == found.outcome.trace_text().encode()
