"""The hunt: cases of a door in a process of its own, since a defect may end it, hold it up, or eat the memory.

The process writes the number of a case down before it begins it. So whoever looks at what is left of the process knows
which case it was, and goes on behind it.
"""

from __future__ import annotations

import faulthandler
import mmap
import multiprocessing
import os
import resource
import signal
import struct
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from random import Random
from typing import Final

from groupspec.conformance.fuzzing.doors import DOORS, Door, folder

MEMORY_BYTES: Final = 512 * 1024 * 1024
"""More than the process has when it begins."""
CASE_LIMIT_S: Final = 20.0
"""Of the processor, so that it means the same on a busy machine. The first case of a process has no such limit: it
loads what all need, and Numba may compile."""
WAITING_LIMIT_S: Final = 240.0
"""By the clock, for what waits and does nothing."""
_ENOUGH: Final = 20
_NUMBER: Final = struct.Struct("<q")
_FORK: Final = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Defect:
    """One case that did not end as it may; `python -m groupspec.conformance.fuzzing DOOR NUMBER` does it again."""

    door: str
    number: int
    what: str


@dataclass
class Hunt:
    """What came of it."""

    door: str
    cases: int
    refused: int
    defects: list[Defect]


def hunt(door: str, seconds: float, first: int = 0, most: int = 2**62) -> Hunt:
    """As many cases of a door as there is time for, beginning with this number; `most` at most."""
    folder()
    found = Hunt(door, 0, 0, [])
    following, began = first, time.monotonic()
    while following < first + most and len(found.defects) < _ENOUGH:
        following = _one_process(found, following, first + most, seconds)
        seconds -= time.monotonic() - began
        if seconds <= 0:
            break
        began = time.monotonic()
    return found


def _one_process(found: Hunt, first: int, end: int, seconds: float) -> int:
    """Hunts until the time is up, or the process is gone; the number to go on with."""
    with mmap.mmap(-1, _NUMBER.size) as at_work:
        here, there = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_hunt, args=(found.door, first, end, seconds, at_work, there))
        child.start()
        there.close()
        ended = False
        for told in _received(here):
            if isinstance(told, Defect):
                found.defects.append(told)
            else:
                found.refused += told
                ended = True
        child.join()
        (number,) = _NUMBER.unpack(at_work[:])
    found.cases += number - first + 1
    if not ended:
        found.defects.append(Defect(found.door, number, _how_it_ended(child.exitcode or 0)))
    return int(number) + 1


def _received(here: Connection) -> Iterator[Defect | int]:
    while True:
        try:
            yield here.recv()
        except EOFError:
            return


def _how_it_ended(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"a case took more than {CASE_LIMIT_S:.0f} s of the processor"
    if code == -signal.SIGALRM:
        return f"a case was not done after {WAITING_LIMIT_S:.0f} s"
    return f"the process was ended by {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"


def _hunt(door: str, first: int, end: int, seconds: float, at_work: mmap.mmap, there: Connection) -> None:
    """In the process. Its time begins with the second case."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    faulthandler.disable()  # the parent tells what has happened
    refused, limited, until = 0, False, 0.0
    for number in range(first, end):
        at_work[:] = _NUMBER.pack(number)
        signal.setitimer(signal.ITIMER_REAL, WAITING_LIMIT_S)
        signal.setitimer(signal.ITIMER_PROF, CASE_LIMIT_S if limited else 0)
        try:
            refused += attack(DOORS[door], door, number)
        except Exception as problem:
            there.send(Defect(door, number, _told(problem)))
        if not limited:  # the first case has loaded what all need
            limited, until = True, time.monotonic() + seconds
            _limit_memory()
        if time.monotonic() > until:
            break
    for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    there.send(refused)
    there.close()


def attack(door: Door, name: str, number: int) -> bool:
    """One case. Whether it was refused; raises what may not be raised."""
    try:
        door.attack(Random(f"{name} {number}"))
    except door.refusals:
        return True
    return False


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as sizes:  # noqa: PTH123
        has = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY_BYTES, most))


def _told(problem: Exception) -> str:
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return (
        f"{type(problem).__name__} {str(problem)[:200]} ({where.filename.rpartition('groupspec/')[2]}:{where.lineno})"
    )
