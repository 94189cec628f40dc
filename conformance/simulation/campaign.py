"""Many runs, on all processors; a failure is made small, and told with what replays it."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.simulation.plan import Plan, draw
from groupspec.conformance.simulation.run import Outcome, Run
from groupspec.conformance.simulation.situations import SITUATIONS

MS_OF_A_YEAR: Final = 31_557_600_000
SHORT_QUIET_MS: Final = 60_000
MOST_TRIES: Final = 150
"""How many shorter runs are tried to make a failure small."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one run adds to a campaign."""

    seed: int
    promise: str
    virtual_ms: int
    records: int
    doubles: int
    seen: dict[str, int]


@dataclass
class Campaign:
    """Runs so far. `next_seed`: the first that was not run; `failed`: seeds with the promise that each breaks."""

    next_seed: int
    members: int | None = None
    runs: int = 0
    virtual_ms: int = 0
    seconds: float = 0.0
    records: int = 0
    doubles: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    failed: dict[int, str] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """One more run; to be added in the order of the seeds."""
        self.next_seed = result.seed + 1
        self.runs += 1
        self.virtual_ms += result.virtual_ms
        self.records += result.records
        self.doubles += result.doubles
        self.seen.update(result.seen)
        if result.promise:
            self.failed[result.seed] = result.promise

    @property
    def years(self) -> float:
        """How long groups have lived in it."""
        return self.virtual_ms / MS_OF_A_YEAR

    def data(self) -> dict[str, Any]:
        """In the shape of the JSON Schema, situations that never occurred included."""
        return {
            "next_seed": self.next_seed,
            "members": self.members,
            "runs": self.runs,
            "virtual_seconds": self.virtual_ms / 1_000,
            "seconds": round(self.seconds, 3),
            "records": self.records,
            "doubles": self.doubles,
            "sometimes": {name: self.seen[name] for name in SITUATIONS},
            "failed": {str(seed): promise for seed, promise in self.failed.items()},
        }


def load(file: Path) -> Campaign:
    """A campaign to go on with.

    Raises:
        UsageProblem: the file is none.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return Campaign(
            data["next_seed"],
            data["members"],
            data["runs"],
            round(data["virtual_seconds"] * 1_000),
            data["seconds"],
            data["records"],
            data["doubles"],
            Counter(data["sometimes"]),
            {int(seed): promise for seed, promise in data["failed"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageProblem(
            f"this is no campaign to go on with: {error!r}",
            where=str(file),
            next_step="give the file of an earlier --resume, or one that does not exist yet",
        ) from error


def save(campaign: Campaign, file: Path) -> None:
    """Write it in one piece, so that an interrupted campaign is whole up to here."""
    new = file.with_name(file.name + ".new")
    new.write_text(json.dumps(campaign.data(), indent=2) + "\n", encoding="utf-8")
    new.replace(file)


def run_seed(seed: int, members: int | None = None) -> Result:
    """One run, from its seed."""
    with no_garbage_collection():
        outcome = Run(draw(seed, members)).execute()
        return Result(seed, outcome.promise, outcome.virtual_ms, outcome.records, outcome.doubles, dict(outcome.seen))


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Nothing that a run makes is garbage before its end, and a collection would look through all of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def results(first: int, count: int, members: int | None, jobs: int) -> Iterator[Result]:
    """The runs of so many seeds, in the order of the seeds."""
    seeds = iter(range(first, first + count))
    if jobs == 1:
        yield from (run_seed(seed, members) for seed in seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        ahead: dict[Future[Result], int] = {}
        done: dict[int, Result] = {}
        wanted = first
        try:
            while wanted < first + count:
                while len(ahead) < 2 * jobs and (seed := next(seeds, None)) is not None:
                    ahead[pool.submit(run_seed, seed, members)] = seed
                for future in wait(ahead, return_when=FIRST_COMPLETED).done:
                    done[ahead.pop(future)] = future.result()
                while wanted in done:
                    yield done.pop(wanted)
                    wanted += 1
        finally:
            pool.shutdown(cancel_futures=True)


# Making a failure small ----------------------------------------------------------------------------------------------


def shrink(plan: Plan, promise: str, tried: Callable[[], None] = lambda: None) -> Plan:
    """A plan with fewer members and faults that breaks the same promise: as small as `MOST_TRIES` runs can find."""
    left = MOST_TRIES

    def still_fails(smaller: Plan) -> bool:
        nonlocal left
        left -= 1
        tried()
        return bool(smaller.members) and Run(smaller).execute().promise == promise

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
    drawn: Plan
    plan: Plan
    outcome: Outcome

    @property
    def replay(self) -> str:
        """The command that shows it again."""
        command = f"groupspec simulate --seeds 1 --seed {self.seed}"
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
    only: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None),
    tried: Callable[[], None] = lambda: None,
) -> Failure | None:
    """The run of this seed, or of a part of its plan, made small if it breaks a promise; None if it does not."""
    drawn = draw(seed, members)
    plan = drawn.only(*only)
    first = Run(plan).execute()
    if not first.promise:
        return None
    if only == (None, None):
        plan = shrink(plan, first.promise, tried)
    return Failure(seed, members, drawn, plan, Run(plan, is_recording=True).execute())


def _numbers(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
