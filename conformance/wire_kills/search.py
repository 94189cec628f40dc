"""Each mutant against the cases that reach it, in virtual time, until enough of them have found it.

First come the scenarios that the catalogue names, then cases that judge a rule which the mutant breaks; one of each
scenario, then another of each, and of these whoever judges most rules in a second. What has been run is a line of a
file, so that a search that was stopped goes on; a line counts as long as the case and what the mutant says of itself
are the same. The likeliest of the computed answers are for mutants that no case has found that is written by hand.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType
from typing import Final

from groupspec.conformance.mutation.mutant import Mutant, Seam
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.conformance.wire.virtual.run import Running, Told, Trial
from groupspec.conformance.wire_kills.reach import Places, note_entered, places_of
from groupspec.impl.threads.designs import Design
from groupspec.spec.known_bugs import KNOWN_BUGS

ENOUGH: Final = 3
"""Cases that find a mutant: more would cost hours, and say nothing new of it."""
NEVER_ENDS: Final = 2
"""Runs that break off: of a mutant in which a thread never rests more of them say nothing, and take a minute each."""
ROUNDS: Final = (12, 40, 1_000_000)
"""Runs of each mutant in each round, so that a search that is stopped knows most: half of them are found by then."""
COMPUTED: Final = (40,)
"""The same against the computed answers: the likeliest of them, or it would take many hours."""
DESIGNS: Final[Sequence[Design]] = ("background", "heartbeat")
"""A mutant is tried in the first design in which a case reaches it."""


@dataclass(frozen=True)
class Step:
    """A run: its key in the file, and who gets what it says."""

    key: str
    trial: Trial
    takes: Callable[[Told], None]


@dataclass(frozen=True)
class Reach:
    """Of one case in one design, without a mutant: which mutants it reaches, and how long it takes."""

    mutants: frozenset[str]
    seconds: float


@dataclass(frozen=True)
class Kill:
    """A case that found a mutant, with the rules that it found broken, and how long it took."""

    case: str
    rules: tuple[str, ...]
    seconds: float


@dataclass
class Hunt:
    """The search for one mutant.

    `design`: the threads of the reference that it is tried in; None if no case reaches it. `tried`: cases that were
    run; `left`: those still to be.
    """

    mutant: Mutant
    design: Design | None = None
    left: list[Case] = field(default_factory=list)
    reached: int = 0
    tried: int = 0
    kills: list[Kill] = field(default_factory=list)
    broke_off: list[str] = field(default_factory=list)

    def takes(self, case: Case, told: Told) -> None:
        """What a run says."""
        self.tried += 1
        if told.broke_off:
            self.broke_off.append(f"{case.id}: {told.broke_off}")
        if told.broken:
            self.kills.append(Kill(case.id, told.broken, told.seconds))

    @property
    def runs_left(self) -> int:
        """How many there are at most."""
        is_over = len(self.kills) >= ENOUGH or len(self.broke_off) >= NEVER_ENDS
        return 0 if is_over else len(self.left)


class Runs:
    """The runs so far, in a file if there is one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._told: dict[str, Told] = {}
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else ()
        for line in lines:
            found = json.loads(line)
            key = found.pop("run")
            self._told[key] = Told(**found | {"broken": tuple(found["broken"])})

    def get(self, key: str) -> Told | None:
        """What a run has said; None if there was none."""
        return self._told.get(key)

    def put(self, key: str, told: Told) -> None:
        """One more."""
        self._told[key] = told
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as through:
                through.write(json.dumps({"run": key, **_written(told)}) + "\n")


def searched(
    mutants: Mapping[str, Mutant], cases: Sequence[Case], runs: Runs, jobs: int, told: Callable[[int, str], None]
) -> tuple[list[Hunt], dict[str, float]]:
    """Every mutant against the cases that reach it; and how many seconds each case takes without a mutant.

    Args:
        mutants: By id.
        cases: Those of the profile full.
        runs: What was run before.
        jobs: Runs side by side.
        told: Called after each run, with how many are left at most, and what it was.
    """
    places = places_of(of_the_reference() | dict(mutants))  # of all: which of them are sought changes no reach
    known = [identifier for identifier in mutants if identifier in KNOWN_BUGS]
    hunts = {identifier: Hunt(mutants[identifier]) for identifier in dict.fromkeys((*known, *mutants))}
    seconds: dict[str, float] = {}
    written = [case for case in cases if case.scenario.id in SCENARIOS]
    with suppress(KeyboardInterrupt):  # what is known by then is told
        for part, rounds in ((written, ROUNDS), ([case for case in cases if case not in written], COMPUTED)):
            _meet(hunts, places, part, rounds, seconds, runs, jobs, told)
    return [hunts[identifier] for identifier in mutants], {
        case.id: seconds[case.id] for case in cases if case.id in seconds
    }


def _meet(
    hunts: Mapping[str, Hunt],
    places: Places,
    cases: Sequence[Case],
    rounds: Sequence[int],
    seconds: dict[str, float],
    runs: Runs,
    jobs: int,
    told: Callable[[int, str], None],
) -> None:
    """Those that nothing has found yet against these cases."""
    sought = {identifier: hunt for identifier, hunt in hunts.items() if not hunt.kills}
    for design in DESIGNS:
        reachable = [hunt for hunt in sought.values() if hunt.design in (None, design)]
        if reachable and cases:
            reach = _reached(places, design, cases, runs, jobs, told)
            seconds |= {case: each.seconds for case, each in reach.items() if case not in seconds}
            for hunt in reachable:
                _lay_out(hunt, design, cases, reach)
    begun = {identifier: hunt.tried for identifier, hunt in sought.items()}
    for most in rounds:
        rows = [_steps(hunt, begun[identifier] + most) for identifier, hunt in sought.items()]
        _carried_out(rows, runs, jobs, lambda what: told(sum(each.runs_left for each in sought.values()), what))
    for hunt in sought.values():
        hunt.left.clear()  # of the computed answers more are not wanted


def _lay_out(hunt: Hunt, design: Design, cases: Sequence[Case], reach: Mapping[str, Reach]) -> None:
    """Puts the cases that reach it in their order."""
    mutant = hunt.mutant
    reaching = [case for case in cases if mutant.id in reach[case.id].mutants]
    if not reaching:
        return
    reaching.sort(key=lambda case: len(case.rules) / (1 + reach[case.id].seconds), reverse=True)
    of_scenario: Counter[str] = Counter()
    place = {}
    for case in reaching:
        place[case] = of_scenario[case.scenario.id]
        of_scenario[case.scenario.id] += 1

    def comes(case: Case) -> tuple[bool, bool, int]:
        is_named = case.scenario.id in mutant.scenarios
        return not is_named, not set(mutant.rules) & set(case.rules), place[case]

    hunt.design = design
    hunt.reached += len(reaching)
    hunt.left += sorted(reaching, key=comes)


def _steps(hunt: Hunt, most: int) -> Iterator[Step]:
    while hunt.runs_left and hunt.tried < most:
        case = hunt.left.pop(0)
        key = f"{hunt.mutant.id} {_mark(hunt.mutant.what)} {hunt.design} {case.id} {mark_of_case(case)}"
        yield Step(key, Trial(case, hunt.mutant.change, hunt.design or DESIGNS[0]), partial(hunt.takes, case))


# Which cases reach a mutant -------------------------------------------------------------------------------------------


def _reached(
    places: Places, design: Design, cases: Sequence[Case], runs: Runs, jobs: int, told: Callable[[int, str], None]
) -> dict[str, Reach]:
    found: dict[str, Reach] = {}

    def steps(case: Case) -> Iterator[Step]:
        def takes(said: Told) -> None:
            found[case.id] = Reach(frozenset(said.noted or ()), said.seconds)  # type: ignore[call-overload]

        note = partial(_note, places)
        key = f"- {_mark(' '.join(sorted(places.of)))} {design} {case.id} {mark_of_case(case)}"
        yield Step(key, Trial(case, None, design, note), takes)

    _carried_out(
        [steps(case) for case in cases], runs, jobs, lambda what: told(len(cases) - len(found), f"reach, {what}")
    )
    return found


def _note(places: Places, seam: Seam) -> Callable[[], object]:
    entered = note_entered(places, seam)
    return lambda: sorted(places.entered(entered()))


# Runs side by side ----------------------------------------------------------------------------------------------------


def _carried_out(rows: Sequence[Iterator[Step]], runs: Runs, jobs: int, told: Callable[[str], None]) -> None:
    """Rows of steps; what a step says decides about the next one of its row, so that one of each row is under way."""
    waiting = list(reversed(rows))
    under_way: dict[Connection, tuple[Running, Step, Iterator[Step]]] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < jobs:
                _begin(waiting.pop(), runs, under_way)
            for receiver in wait(list(under_way)) if under_way else ():
                assert isinstance(receiver, Connection)
                running, step, row = under_way.pop(receiver)
                said = running.told()
                running.close()
                runs.put(step.key, said)
                step.takes(said)
                told(step.key)
                _begin(row, runs, under_way)
    finally:
        for running, *_ in under_way.values():
            running.close()


def _begin(row: Iterator[Step], runs: Runs, under_way: dict[Connection, tuple[Running, Step, Iterator[Step]]]) -> None:
    """Starts the next run of a row that was not made before."""
    for step in row:
        known = runs.get(step.key)
        if known is None:
            running = Running(step.trial)
            under_way[running.receiver] = running, step, row
            return
        step.takes(known)


# What is kept ---------------------------------------------------------------------------------------------------------


@cache
def mark_of_case(case: Case) -> str:
    """Changes when the case does: what it tells, what it is judged by, and the settings that it gives a client."""
    told = case.scenario
    settings = f"{told.rebalance} {told.retry_backoff_ms} {told.timeouts}"
    return _mark(f"{_source(told.story.__code__)} {case.variant} {case.rules} {settings}")


@cache
def _source(code: CodeType) -> str:
    return inspect.getsource(code)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _written(told: Told) -> dict[str, object]:
    return {"broken": told.broken, "seconds": told.seconds, "noted": told.noted, "broke_off": told.broke_off}
