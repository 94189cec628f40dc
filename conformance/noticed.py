"""Which general check notices each mutant of the reference: checks that were written for no bug in particular.

The kill matrix (`mutation.matrix`) says which test notices a mutant; such a test may have been written for that very
bug, and says nothing about the next one. Here each mutant meets what would find a bug that nobody has listed
(`general_checks`), each check in a process of its own, until one of them notices.

How a check may end besides is told in words of its own. A step that takes a minute of the processor's time, where it
takes a second or less without the mutant, never ends; time that other programs take does not count. A check in which
its own code goes wrong, because the mutant gives it what nobody expects, has noticed nothing.

What the wire kit notices is told beside it: the catalogue names the scenarios, and a test holds it to that.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from typing import Final, Literal

from groupspec.conformance.general_checks import Check, line
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.catalogue.unnoticed import UNNOTICED
from groupspec.conformance.mutation.guards import Crashed, is_crash, is_defect
from groupspec.conformance.mutation.mutant import Mutant, Seam
from groupspec.conformance.stateful.campaign import DRIVERS, design_of
from groupspec.conformance.stateful.routes import goals
from groupspec.conformance.stateful.suite import REBALANCES, TARGETS

STEP_S: Final = 60.0
"""Of the processor's time, for one step of a check."""

BLOCKED_S: Final = 900.0
"""Without the end of a step, by the clock: then nobody works on it any more, however busy the machine is."""

CHECK_S: Final = 1_800
"""Of the processor's time, for one check of one mutant."""

FORK: Final = multiprocessing.get_context("fork")

Ending = Literal["noticed", "quiet", "broken", "crashed", "hangs", "cut off", "died"]
"""`broken`: the mutant itself goes wrong, and not the rule. `crashed`: the check. `hangs`: one of its steps never ends.
`cut off`: it takes too long as a whole, and the rest of it was not run.
"""

TOLD: Final[Mapping[Ending, str]] = {
    "broken": "the mutant itself is broken: ",
    "crashed": "the check itself goes wrong: ",
    "hangs": "NEVER ENDS: a step takes more than a minute of the processor's time",
    "cut off": f"CUT OFF after {CHECK_S:,} s of the processor's time",
    "died": "its process died",
}

BY_SIGNAL: Final[Mapping[int, Ending]] = {
    -signal.SIGPROF: "hangs",
    -signal.SIGALRM: "hangs",
    -signal.SIGXCPU: "cut off",
}
"""By the exit code of a check's process."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one mutant.

    Attributes:
        mutant: Its id.
        noticed_by: The first check that noticed it; empty: none did.
        how: What that check said; or what is wrong with the mutant, or how checks ended that did not notice it.
        ending: "noticed", or the first that was not "quiet".
        wire: Scenarios of the wire kit that notice it.
        seconds: How long it took.
    """

    mutant: str
    noticed_by: str
    how: str
    ending: Ending
    wire: tuple[str, ...]
    seconds: float

    @property
    def is_noticed(self) -> bool:
        """Whether any general check notices it."""
        return bool(self.noticed_by or self.wire)

    @property
    def reason(self) -> str:
        """Why no check notices it, as far as the catalogue says; empty if one does, or some did not come to an end."""
        return "" if self.is_noticed or self.ending != "quiet" else UNNOTICED.get(self.mutant, "")

    def data(self) -> dict[str, object]:
        """In the shape of the JSON Schema."""
        told = {"seconds": round(self.seconds, 1), "is_noticed": self.is_noticed, "reason": self.reason}
        return asdict(self) | told


def of_the_reference() -> dict[str, Mutant]:
    """Mutants of the consumer: not of the specification, and not of the broker with which the wire kit judges."""
    return {
        name: one
        for name, one in MUTANTS.items()
        if not one.of_spec and not all(rule.startswith("G") for rule in one.rules)
    }


def tried(identifiers: Sequence[str], chosen: Mapping[str, Check], jobs: int = 1) -> Iterator[Trial]:
    """Each of these mutants against these checks, so many at a time; told in their order."""
    for target in TARGETS if any(name.startswith("generated") for name in chosen) else ():
        for rebalance in REBALANCES:
            for driver in DRIVERS:
                goals(target, rebalance, design_of(driver))  # found once, before anything is forked
    waiting, under_way, done = [_Attempt(one, chosen) for one in identifiers], dict[Connection, _Attempt](), 0
    attempts = tuple(waiting)
    try:
        while done < len(attempts):
            while waiting and len(under_way) < jobs:
                begun = waiting.pop(0)
                under_way[begun.goes_on()] = begun
            for receiver in wait(list(under_way)):
                assert isinstance(receiver, Connection)
                attempt = under_way.pop(receiver)
                attempt.takes()
                if attempt.trial is None:
                    under_way[attempt.goes_on()] = attempt
            while done < len(attempts) and (trial := attempts[done].trial) is not None:
                yield trial
                done += 1
    finally:
        for attempt in under_way.values():
            attempt.stop()


class _Attempt:
    """One mutant, check by check. `trial`: when all is known."""

    def __init__(self, identifier: str, chosen: Mapping[str, Check]) -> None:
        self._mutant = MUTANTS[identifier]
        self._left = list(chosen.items())
        self._began = 0.0
        self._others: list[tuple[Ending, str]] = []  # how checks ended that neither noticed it nor were quiet
        self.trial: Trial | None = None

    def goes_on(self) -> Connection:
        """The next check begins; what is returned will tell how it ends."""
        self._began = self._began or time.perf_counter()
        self._name, check = self._left.pop(0)
        self._receiver, sender = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_send_result, args=(sender, self._mutant, check))
        self._process.start()
        sender.close()
        return self._receiver

    def takes(self) -> None:
        """It has ended."""
        try:
            ending, how = self._receiver.recv()
        except EOFError:
            self._process.join()
            ending, how = BY_SIGNAL.get(self._process.exitcode or 0, "died"), ""
        self.stop()
        told = f"{TOLD.get(ending, '')}{how}"
        if ending == "noticed":
            self._ends(ending, self._name, told)
        elif ending == "broken":
            self._ends(ending, "", told)
        elif ending != "quiet":
            self._others.append((ending, f"{self._name}: {told}"))
        if self.trial is None and not self._left:
            self._ends(self._others[0][0] if self._others else "quiet", "", "; ".join(how for _, how in self._others))

    def stop(self) -> None:
        """Threads of a run that broke off are still there, and nobody is to wait for them."""
        self._process.kill()
        self._process.join()
        self._receiver.close()

    def _ends(self, ending: Ending, noticed_by: str, how: str) -> None:
        seconds = time.perf_counter() - self._began
        self.trial = Trial(self._mutant.id, noticed_by, how, ending, self._mutant.scenarios, seconds)


def _send_result(sender: Connection, one: Mutant, check: Check) -> None:
    """In the process of the check, which the system ends when a step or the whole of it takes too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (CHECK_S, CHECK_S + 10))
    _step_begins()
    with Seam() as seam:
        one.change(seam)
        sender.send(_result(check))


def _result(check: Check) -> tuple[Ending, str]:
    try:
        found = check(_step_begins)
    except Crashed as crashed:
        return "crashed", str(crashed)
    except Exception as error:
        if is_defect(error):
            return "broken", line(error)
        return ("crashed" if is_crash(error) else "noticed"), line(error)
    return ("noticed", found) if found else ("quiet", "")


def _step_begins() -> None:
    signal.setitimer(signal.ITIMER_PROF, STEP_S)
    signal.setitimer(signal.ITIMER_REAL, BLOCKED_S)
