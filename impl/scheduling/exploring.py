"""Runs a piece of work under many schedules until one goes wrong, and makes that one short.

    found = explore(work, random_walks(seed=1), limit=1_000)
    if found.failure:
        print(found.failure)            # what went wrong, under which schedule, and who did what
        replay(work, found.failure.schedule)

Work gets a `ScheduledRuntime`, starts threads in it, lets them run, and raises whatever must not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.impl.scheduling.runtime import ScheduledRuntime
from groupspec.impl.scheduling.strategies import Choice, Listed, Pct, RandomWalk, Strategy, Tear, depth_first

Work = Callable[[ScheduledRuntime], object]

TOLD_STEPS: Final = 40
MAX_REPLAYS: Final = 300
"""Runs that may be spent on making a schedule shorter."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: its choices, what it raised, and its steps."""

    made: tuple[tuple[int, bool, int], ...]
    error: BaseException | None
    trace: tuple[tuple[str, str], ...]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices that were made."""
        return tuple(map(Choice._make, self.made))

    @property
    def schedule(self) -> tuple[int, ...]:
        """The same as a list that replays them."""
        return tuple([chosen for _, _, chosen in self.made])

    def __str__(self) -> str:
        """What went wrong, under which schedule, and the last steps."""
        steps = [f"  {name}: {what}" for name, what in self.trace[-TOLD_STEPS:]]
        return "\n".join([f"{type(self.error).__name__}: {self.error}", f"schedule: {spelled(self.schedule)}", *steps])


def spelled(schedule: Sequence[int]) -> str:
    """A schedule as text: the choices that leave the plain order, each with its place; `read` takes it back."""
    return " ".join(f"{place}:{choice}" for place, choice in enumerate(schedule) if choice) or "plain"


def read(text: str) -> list[int]:
    """The schedule of a text. ValueError if it is none."""
    pairs = [] if text == "plain" else [tuple(map(int, pair.split(":"))) for pair in text.split()]
    schedule = [0] * (1 + max((place for place, _ in pairs), default=-1))
    for place, choice in pairs:
        schedule[place] = choice
    return schedule


@dataclass(frozen=True, slots=True)
class Exploration:
    """How many schedules were run, and the first that failed, made short."""

    schedules: int
    failure: Outcome | None


def run(work: Work, strategy: Strategy, timers_race: bool = True) -> Outcome:
    """One run under a strategy."""
    error: BaseException | None = None
    with ScheduledRuntime(strategy, timers_race=timers_race) as runtime:
        try:
            work(runtime)
        except Exception as raised:
            error = raised
    outcome = Outcome(tuple(runtime.made), runtime.wrong or error, tuple(runtime.trace))
    # For speed: threads and runtime hold each other, and the garbage collector would look through all that they have.
    runtime.made.clear()
    runtime.trace.clear()
    return outcome


def replay(work: Work, schedule: Sequence[int], timers_race: bool = True) -> Outcome:
    """The run of a schedule: always the same one, step by step."""
    return run(work, Listed(schedule), timers_race)


def random_walks(seed: int) -> Iterator[Strategy]:
    """Random walks, torn sections and PCT runs in turn, without end."""
    while True:
        yield RandomWalk(seed)
        yield Tear(seed)
        yield Pct(seed, depth=2 + seed % 3)
        seed += 1


def explore(work: Work, strategies: Iterable[Strategy], limit: int, timers_race: bool = True) -> Exploration:
    """Run under one strategy after the other until a run fails."""
    number = 0
    for number, strategy in zip(range(1, limit + 1), strategies, strict=False):
        outcome = run(work, strategy, timers_race)
        if outcome.error is not None:
            return Exploration(number, shortened(work, outcome, timers_race))
    return Exploration(number, None)


def explore_all(work: Work, preemptions: int, limit: int, timers_race: bool = False) -> Exploration:
    """Run every schedule with at most so many preemptions, up to a limit, until one fails."""
    outcomes: list[Outcome] = []

    def run_listed(schedule: Sequence[int]) -> Sequence[Choice]:
        outcomes[:] = [replay(work, schedule, timers_race)]
        return outcomes[0].choices

    number = 0
    for number, _ in zip(range(1, limit + 1), depth_first(run_listed, preemptions), strict=False):
        if outcomes[0].error is not None:
            return Exploration(number, shortened(work, outcomes[0], timers_race))
    return Exploration(number, None)


def shortened(work: Work, failed: Outcome, timers_race: bool = True) -> Outcome:
    """The same failure under a plainer schedule: choices are taken back as long as it stays."""

    def fails(schedule: Sequence[int]) -> Outcome | None:
        outcome = replay(work, schedule, timers_race)
        return outcome if type(outcome.error) is type(failed.error) else None

    best, left = failed, MAX_REPLAYS
    size = sum(map(bool, failed.schedule))
    while size:
        places = [place for place, choice in enumerate(best.schedule) if choice]
        for at in range(0, len(places), size):
            taken_back = set(places[at : at + size])
            plainer = [0 if place in taken_back else choice for place, choice in enumerate(best.schedule)]
            left -= 1
            if left > 0 and (outcome := fails(plainer)):
                best = outcome
        size //= 2
    return best
