"""The checks that were written for no bug in particular: what would find one that nobody has listed.

Schedules of the whole consumer in both designs, the suite that is generated from the tables, and whole groups in
virtual time, in the order of their cost. A check says what it notices in a line, and counts its steps: one that takes
so much longer than any other never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from groupspec.conformance.mutation.guards import Crashed, is_crash, is_defect, stop_the_endless
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.simulation.campaign import run_seed
from groupspec.conformance.stateful.campaign import DRIVERS, design_of
from groupspec.conformance.stateful.lockstep import LockstepRun
from groupspec.conformance.stateful.suite import REBALANCES, TARGETS, Coverage, cover
from groupspec.impl.threads.designs import Design

Step = Callable[[], None]
"""To be called after each step of a check."""

Check = Callable[[Step], str]
"""Runs until it notices something, and says what, in a line; nothing if all is well."""

SCHEDULES: Final[Mapping[Design, int]] = MappingProxyType({"background": 4_000, "heartbeat": 2_000})
"""How many `make check` runs of each design."""

SIMULATED: Final = 50
"""Seeds of whole groups: a second or two each."""


@dataclass(frozen=True, slots=True)
class Volume:
    """How much is run of each check.

    Attributes:
        schedules: Of each design; None: as many as `make check` runs of it.
        simulated: Whole groups.
        seed: The first number of the schedules and of the groups.
    """

    schedules: int | None = None
    simulated: int = SIMULATED
    seed: int = 1

    def of(self, design: Design) -> int:
        """How many schedules of it."""
        return SCHEDULES[design] if self.schedules is None else self.schedules


def checks(volume: Volume) -> dict[str, Check]:
    """Those that there are, cheapest first."""
    return {
        "schedules background": partial(_schedules, volume, "background"),
        "generated suite core": partial(_suite, "core"),
        "schedules heartbeat": partial(_schedules, volume, "heartbeat"),
        "simulation": partial(_simulated, volume),
        "generated suite background": partial(_suite, "background"),
        "generated suite heartbeat": partial(_suite, "heartbeat"),
    }


def _schedules(volume: Volume, design: Design, step: Step) -> str:
    """Those in which the check itself goes wrong notice nothing, and the others may."""
    first, end, crashed = volume.seed, volume.seed + volume.of(design), ""
    with Seam() as seam:
        stop_the_endless(seam)
        while first < end:
            failure = search(end - first, first, lambda _: step(), shrink=False, design=design)
            if failure is None:
                break
            error = failure.outcome.error
            assert error is not None
            if is_defect(error):
                raise error
            if not is_crash(error):
                return f"schedule {failure.seed}: {line(error)}"
            crashed, first = crashed or f"schedule {failure.seed}: {line(error)}", failure.seed + 1
    if crashed:
        raise Crashed(crashed)
    return ""


class _Counting(Coverage):
    """Counts the runs, too."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step = step

    def note(self, run: LockstepRun) -> None:
        super().note(run)
        self._step()


def _suite(driver: str, step: Step) -> str:
    with Seam() as seam:
        stop_the_endless(seam)
        for target in TARGETS:
            for rebalance in REBALANCES:
                for divergence in cover(target, rebalance, DRIVERS[driver], _Counting(step), design_of(driver)):
                    return divergence.partition("\n")[0]
    return ""


def _simulated(volume: Volume, step: Step) -> str:
    for seed in range(volume.seed, volume.seed + volume.simulated):
        if promise := run_seed(seed).promise:
            return f"seed {seed}: {promise}"
        step()
    return ""


def line(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]
