"""A failure made small, and told with what replays it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from groupspec.conformance.simulation.campaign import SHORT_QUIET_MS, planned
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.plan import Plan
from groupspec.conformance.simulation.run import Driver, Outcome

MOST_TRIES: Final = 150
"""How many shorter runs are tried."""


def shrink(plan: Plan, failed: Outcome, driver: Driver, tried: Callable[[], None] = lambda: None) -> Plan:
    """A plan with fewer members and faults that breaks the same promise: as small as `MOST_TRIES` runs can find."""
    left = MOST_TRIES
    plan = plan.only(None, [fault.number for fault in plan.faults if fault.at_ms <= failed.ended_ms])

    def still_fails(smaller: Plan) -> bool:
        nonlocal left
        left -= 1
        tried()
        return bool(smaller.members) and execute(smaller, driver).promise == failed.promise

    quiet_ms = plan.quiet_ms
    if still_fails(shorter := replace(plan, quiet_ms=min(quiet_ms, SHORT_QUIET_MS))):
        plan = shorter
    for number in [member.number for member in reversed(plan.members)]:
        smaller = plan.only([m.number for m in plan.members if m.number != number], None)
        if left and still_fails(smaller):
            plan = smaller
    size = max(1, len(plan.faults) // 2)
    while left and plan.faults:
        plan, is_smaller = _without_some(plan, size, still_fails, lambda: left > 0)
        if not is_smaller:
            if size == 1:
                break
            size = max(1, size // 2)
        size = min(size, max(1, len(plan.faults) // 2))
    return replace(plan, quiet_ms=quiet_ms)


def _without_some(
    plan: Plan, size: int, still_fails: Callable[[Plan], bool], may_go_on: Callable[[], bool]
) -> tuple[Plan, bool]:
    """One pass: leave out each part of this size, the latest first; whether one could be left out."""
    is_smaller = False
    numbers = [fault.number for fault in plan.faults]
    for end in range(len(numbers), 0, -size):
        if not may_go_on():
            break
        left_out = set(numbers[max(0, end - size) : end])
        smaller = plan.only(None, [fault.number for fault in plan.faults if fault.number not in left_out])
        if still_fails(smaller):
            plan, is_smaller = smaller, True
    return plan, is_smaller


@dataclass(frozen=True, slots=True)
class Failure:
    """A seed whose run breaks a promise, made small. `members`: how many were drawn, if that was given."""

    seed: int
    members: int | None
    driver: Driver
    drawn: Plan
    plan: Plan
    outcome: Outcome

    @property
    def replay(self) -> str:
        """The command that shows it again."""
        command = f"groupspec simulate --seeds 1 --seed {self.seed}"
        if self.driver != "core":
            command += f" --driver {self.driver}"
        if self.members is not None:
            command += f" --members {self.members}"
        if len(self.plan.members) < len(self.drawn.members):
            command += f" --only-members {_numbers([member.number for member in self.plan.members])}"
        if len(self.plan.faults) < len(self.drawn.faults):
            command += f" --only-faults {_numbers([fault.number for fault in self.plan.faults]) or 'none'}"
        return command

    def __str__(self) -> str:
        """The failure in words."""
        return f"{self.outcome.error}\n{self.plan}"

    def data(self) -> dict[str, object]:
        """In the shape of the JSON Schema."""
        return {
            "seed": self.seed,
            "promise": self.outcome.promise,
            "error": self.outcome.error,
            "plan": str(self.plan),
            "replay": self.replay,
        }


def failure(
    seed: int,
    members: int | None = None,
    driver: Driver = "core",
    only: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
    tried: Callable[[], None] = lambda: None,
) -> Failure | None:
    """The run of this seed, or of a part of its plan, made small if it breaks a promise; None if it does not."""
    drawn = planned(seed, members, driver)
    plan = drawn.only(*only)
    first = execute(plan, driver)
    if not first.promise:
        return None
    if only == (None, None):
        plan = shrink(plan, first, driver, tried)
    return Failure(seed, members, driver, drawn, plan, execute(plan, driver, is_recording=True))


def _numbers(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
