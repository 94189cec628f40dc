"""Makes the frozen net: lives of each world, with and without mutants, and what every judge says of every history.

Which mutants a world notices is found first, each in a process of its own (`noticed.tried`). The first run of a mutant
that breaks a promise is its life: so the corpus has each pair of a mutant and a world that the volume finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from groupspec.conformance.frozen import scheduled, simulated, stressed, verdicts
from groupspec.conformance.general_checks import Check, Step, Volume, checks
from groupspec.conformance.history.life import Life, lines, save
from groupspec.conformance.noticed import of_the_reference, tried
from groupspec.conformance.outside import MOST_BYTES
from groupspec.conformance.simulation.judging import execute
from groupspec.conformance.simulation.run import Driver
from groupspec.conformance.terminal import Steps

SCHEDULES: Final = 200
GROUPS: Final = 12
VOLUME: Final = Volume(schedules=60, simulated=2)
"""In which mutants are looked for."""
CLIENTS: Final = ("reference", "reference-heartbeat", "java", "confluent-kafka", "kafka-python")
_NUMBER: Final = re.compile(r"(?:schedule|seed) (\d+):")


def nothing(jobs: int) -> dict[str, int]:
    """No mutant is tried."""
    del jobs
    return {}


@dataclass(frozen=True)
class World:
    """One in which lives are made.

    Attributes:
        life: A run, by its seed and a mutant's id ("": none).
        seeds: Of lives without a mutant.
        noticed: Mutants that are noticed in it, each with the seed of a run in which it is; by so many processes.
    """

    life: Callable[[int, str], Life]
    seeds: Collection[int]
    noticed: Callable[[int], dict[str, int]] = nothing


def worlds() -> Mapping[str, World]:
    """All of them, by the names of their files."""
    general = checks(VOLUME)
    few = range(1, GROUPS // 3 + 1)
    return {
        "schedules-background": World(
            lambda seed, mutant: scheduled.life(seed, "background", mutant),
            range(1, SCHEDULES + 1),
            partial(noticed, general["schedules background"]),
        ),
        "schedules-heartbeat": World(
            lambda seed, mutant: scheduled.life(seed, "heartbeat", mutant),
            range(1, SCHEDULES // 2 + 1),
            partial(noticed, general["schedules heartbeat"]),
        ),
        "simulation-core": World(
            lambda seed, mutant: simulated.life(seed, "core", mutant),
            range(1, GROUPS + 1),
            partial(noticed, _simulated),
        ),
        "simulation-background": World(lambda seed, mutant: simulated.life(seed, "background", mutant), few),
        "simulation-heartbeat": World(lambda seed, mutant: simulated.life(seed, "heartbeat", mutant), few),
        "stress": World(
            lambda seed, mutant: stressed.life(seed, CLIENTS, mutant), (2, 101, 104), lambda _: {"M8-committed-once": 7}
        ),
    }


def freeze(name: str, world: World, jobs: int) -> None:
    """Makes the lives of one world, and writes them into the corpus."""
    found = world.noticed(jobs)
    runs = [*((seed, "") for seed in world.seeds), *((seed, mutant) for mutant, seed in found.items())]
    with Steps(f"lives: {name}", len(runs)) as steps:
        lives = []
        for seed, mutant in runs:
            lives.append(world.life(seed, mutant))
            steps.done()
    verdicts.CORPUS.mkdir(exist_ok=True)
    for file in verdicts.CORPUS.glob(f"{name}-*.ndjson.gz"):
        file.unlink()
    for number, part in enumerate(parts(lives), 1):
        save(part, verdicts.CORPUS / f"{name}-{number}.ndjson.gz")


def parts(lives: Iterable[Life], most_bytes: int = MOST_BYTES // 2) -> Iterator[list[Life]]:
    """Lives for one file each: as many as may be read of a file again."""
    part: list[Life] = []
    left = most_bytes
    for life in lives:
        size = sum(map(len, lines(life)))
        if part and size > left:
            yield part
            part, left = [], most_bytes
        part.append(life)
        left -= size
    if part:
        yield part


def noticed(check: Check, jobs: int) -> dict[str, int]:
    """Mutants that the check notices, each with the run in which it does."""
    found: dict[str, int] = {}
    mutants = list(of_the_reference())
    with Steps("mutants", len(mutants)) as steps:
        for trial in tried(mutants, {"check": check}, jobs):
            if trial.noticed_by and (number := _NUMBER.match(trial.how)) is not None:
                found[trial.mutant] = int(number[1])
            steps.done()
    return found


def _simulated(step: Step) -> str:
    driver: Driver = "core"
    for seed in range(VOLUME.seed, VOLUME.seed + VOLUME.simulated):
        if promise := execute(simulated.plan_of(seed, driver), driver).promise:
            return f"seed {seed}: {promise}"
        step()
    return ""
