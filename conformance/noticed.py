"""Which general check notices each mutant of the reference: checks that were written for no bug in particular.

The kill matrix (`mutation.matrix`) says which test notices a mutant; such a test may have been written for that very
bug, and says nothing about the next one. Here each mutant meets what would find a bug that nobody has listed: schedules
of the whole consumer in both designs, the suite that is generated from the tables, and whole groups in virtual time.
They are tried in the order of their cost, each mutant in a process of its own, until one of them notices.

What the wire kit notices is told beside it: the catalogue names the scenarios, and a test holds it to that.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.catalogue.unnoticed import UNNOTICED
from groupspec.conformance.mutation.guards import is_defect, stop_the_endless
from groupspec.conformance.mutation.mutant import Mutant, Seam
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.simulation.campaign import run_seed
from groupspec.conformance.stateful.campaign import DRIVERS, design_of
from groupspec.conformance.stateful.routes import goals
from groupspec.conformance.stateful.suite import REBALANCES, TARGETS, Coverage, cover
from groupspec.impl.threads.designs import Design

Check = Callable[[], str]
"""Runs until it notices something, and says what, in a line; nothing if all is well."""

MAX_S: Final = 900.0
"""For all checks of one mutant. One in which a check does not end is not noticed by it."""

SIMULATED: Final = 5
"""Seeds of whole groups for each mutant: a second or two each."""

FORK: Final = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one mutant.

    Attributes:
        mutant: Its id.
        noticed_by: The first check that noticed it; empty: none did.
        how: What that check said; or what is wrong with the mutant.
        wire: Scenarios of the wire kit that notice it.
        seconds: How long it took.
    """

    mutant: str
    noticed_by: str
    how: str
    wire: tuple[str, ...]
    seconds: float

    @property
    def is_noticed(self) -> bool:
        """Whether any general check notices it."""
        return bool(self.noticed_by or self.wire)

    @property
    def reason(self) -> str:
        """Why no check notices it, as far as the catalogue says; empty if one does."""
        return "" if self.is_noticed else UNNOTICED.get(self.mutant, "")

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


def checks(schedules: int) -> dict[str, Check]:
    """Those that there are, cheapest first, with so many schedules in each design."""
    return {
        "schedules background": partial(_schedules, schedules, "background"),
        "generated suite core": partial(_suite, "core"),
        "schedules heartbeat": partial(_schedules, schedules, "heartbeat"),
        "simulation": _simulated,
        "generated suite background": partial(_suite, "background"),
        "generated suite heartbeat": partial(_suite, "heartbeat"),
    }


def tried(identifiers: list[str], chosen: Mapping[str, Check]) -> Iterator[Trial]:
    """Each of these mutants against these checks."""
    for target in TARGETS if any(name.startswith("generated") for name in chosen) else ():
        for rebalance in REBALANCES:
            for driver in DRIVERS:
                goals(target, rebalance, design_of(driver))  # found once, before anything is forked
    for identifier in identifiers:
        began = time.perf_counter()
        noticed_by, how = _forked(MUTANTS[identifier], chosen)
        yield Trial(identifier, noticed_by, how, MUTANTS[identifier].scenarios, time.perf_counter() - began)


def _forked(one: Mutant, chosen: Mapping[str, Check]) -> tuple[str, str]:
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send_result, args=(sender, one, chosen))
    child.start()
    sender.close()
    end, under_way = time.monotonic() + MAX_S, ""
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            found: tuple[str, str] | str = receiver.recv()
            if not isinstance(found, str):
                return found
            under_way = found
        return "", f"{under_way} has not ended after {MAX_S:.0f} s for all checks"
    except EOFError:
        return "", f"the process died during: {under_way}"
    finally:
        child.kill()  # threads of a run that broke off are still there, and nobody is to wait for them
        child.join()


def _send_result(sender: Connection, one: Mutant, chosen: Mapping[str, Check]) -> None:
    """In the process of the mutant: the name of each check as it begins, then the result."""
    with Seam() as seam:
        one.change(seam)
        for name, check in chosen.items():
            sender.send(name)
            try:
                found = check()
            except Exception as error:
                found = _line(error)
                if is_defect(error):
                    sender.send(("", f"the mutant itself is broken: {found}"))
                    return
            if found:
                sender.send((name, found))
                return
    sender.send(("", ""))


# The checks ----------------------------------------------------------------------------------------------------------


def _schedules(schedules: int, design: Design) -> str:
    with Seam() as seam:
        stop_the_endless(seam)
        failure = search(schedules, 1, shrink=False, design=design)
    if failure is None:
        return ""
    error = failure.outcome.error
    assert error is not None
    if is_defect(error):
        raise error
    return f"schedule {failure.seed}: {_line(error)}"


def _suite(driver: str) -> str:
    with Seam() as seam:
        stop_the_endless(seam)
        for target in TARGETS:
            for rebalance in REBALANCES:
                for divergence in cover(target, rebalance, DRIVERS[driver], Coverage(), design_of(driver)):
                    return divergence.partition("\n")[0]
    return ""


def _simulated() -> str:
    for seed in range(1, 1 + SIMULATED):
        if promise := run_seed(seed).promise:
            return f"seed {seed}: {promise}"
    return ""


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
