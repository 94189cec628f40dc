"""Many runs, on all processors."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.garbage import no_garbage_collection
from groupspec.conformance.outside import contents, decoded
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.plan import Plan, draw
from groupspec.conformance.simulation.run import Driver
from groupspec.conformance.simulation.situations import SITUATIONS

MS_OF_A_YEAR: Final = 31_557_600_000
SHORT_QUIET_MS: Final = 60_000
"""How long a group is watched at the end that is made of whole consumers, or whose failure is made small."""


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
    driver: Driver = "core"
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
            "driver": self.driver,
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
        data = decoded(json.loads, contents(file))
        return Campaign(
            data["next_seed"],
            data["members"],
            data.get("driver", "core"),
            data["runs"],
            round(data["virtual_seconds"] * 1_000),
            data["seconds"],
            data["records"],
            data["doubles"],
            Counter(data["sometimes"]),
            {int(seed): promise for seed, promise in data["failed"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, zlib.error) as error:
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


def planned(seed: int, members: int | None = None, driver: Driver = "core") -> Plan:
    """The plan of this seed; a group of whole consumers is not watched for hours, since it is much slower."""
    plan = draw(seed, members)
    return plan if driver == "core" else replace(plan, quiet_ms=min(plan.quiet_ms, SHORT_QUIET_MS))


def run_seed(seed: int, members: int | None = None, driver: Driver = "core") -> Result:
    """One run, from its seed."""
    with no_garbage_collection():
        outcome = execute(planned(seed, members, driver), driver)
        return Result(seed, outcome.promise, outcome.virtual_ms, outcome.records, outcome.doubles, dict(outcome.seen))


def results(first: int, count: int, members: int | None, jobs: int, driver: Driver = "core") -> Iterator[Result]:
    """The runs of so many seeds, in the order of the seeds."""
    seeds = iter(range(first, first + count))
    if jobs == 1:
        yield from (run_seed(seed, members, driver) for seed in seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        ahead: dict[Future[Result], int] = {}
        done: dict[int, Result] = {}
        wanted = first
        try:
            while wanted < first + count:
                while len(ahead) < 2 * jobs and (seed := next(seeds, None)) is not None:
                    ahead[pool.submit(run_seed, seed, members, driver)] = seed
                for future in wait(ahead, return_when=FIRST_COMPLETED).done:
                    done[ahead.pop(future)] = future.result()
                while wanted in done:
                    yield done.pop(wanted)
                    wanted += 1
        finally:
            pool.shutdown(cancel_futures=True)
