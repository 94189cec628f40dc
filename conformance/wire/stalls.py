"""When nothing could go on: the kit's own stalls, and how long the client's process waited for a processor.

On a machine without a free core a heartbeat can be late through nobody's fault. Three clocks say so. Two tick in the
kit, and write down each tick that came late: one in a thread of its own, one in the loop that reads and answers the
client's requests (`ScriptedBroker.stalls_us`), which can stand still while the other ticks: they are threads of one
Python process. The third reads, for every thread of the client's process, how long it has been ready to run and was not
run (Linux, /proc/PID/task/TID/schedstat, second field), and how long the machine's processors ran for somebody else
(the steal time of a virtual machine, /proc/stat). What they say is taken off before anything is compared with a bound.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from groupspec.conformance.history.timing import Wait
from groupspec.conformance.wire.log import now_us
from groupspec.impl.broker.ticks import Ticks

SAMPLE_S: Final = 0.05
MIN_WAIT_US: Final = 1_000
TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
PROCESSES_AGAIN: Final = 10
"""After so many samples it is asked again which processes belong to the client: a harness may be a shell that starts
it."""


class StallClock:
    """The kit's stalls as a thread of its own sees them. Use as a context manager; the thread ends with the block."""

    def __init__(self) -> None:
        self._ticks = Ticks(now_us())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True, name="stall-clock")

    def __enter__(self) -> StallClock:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def stalls_us(self, since_us: int = 0) -> Sequence[tuple[int, int]]:
        """Start and end of each stall so far that ended at or after that time."""
        return self._ticks.stalls_us(since_us)

    def _tick(self) -> None:
        while not self._stop.wait(self._ticks.tick(now_us()) / 1e6):
            pass


class Waits:
    """Waiting times, in consecutive samples.

    Linux adds a wait to the account when it is over. One that is longer than its sample therefore fills those before,
    too.
    """

    def __init__(self, begun_us: int) -> None:
        self._begun_us = begun_us
        self._samples: list[Wait] = []

    def add(self, ended_us: int, waited_us: Iterable[int]) -> None:
        """A sample ends, in which these waits ended.

        Together, since one may have had to wait for another that waited.
        """
        self._samples.append((self._begun_us, ended_us, 0))
        self._begun_us = ended_us
        for wait in waited_us:
            place = len(self._samples) - 1
            while wait > 0 and place >= 0:
                start, end, waited = self._samples[place]
                self._samples[place] = (start, end, min(waited + wait, end - start))
                wait -= end - start
                place -= 1

    def __iter__(self) -> Iterator[Wait]:
        """Every sample in which a process waited."""
        return (sample for sample in self._samples if sample[2] >= MIN_WAIT_US)


class WaitClock:
    """How long the threads of a process group waited for a processor. Use as a context manager.

    Where the system does not say (it is not Linux), nobody has waited.
    """

    def __init__(self, group: int) -> None:
        self._group = group
        self._waits = Waits(now_us())
        self._before: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_all, daemon=True, name=f"wait-clock-{group}")

    def __enter__(self) -> WaitClock:
        if Path("/proc/self/schedstat").exists():
            self._before = stolen()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def waits_us(self) -> Sequence[Wait]:
        """Every sample in which a process waited."""
        return tuple(self._waits)

    def _sample_all(self) -> None:
        processes = [self._group]
        samples = 0
        while not self._stop.wait(SAMPLE_S):
            if samples % PROCESSES_AGAIN == 0:
                processes = list(members_of(self._group)) or processes
            samples += 1
            now = {thread: waited for process in processes for thread, waited in waits_of(process)} | stolen()
            self._waits.add(now_us(), [(waited - self._before.get(who, 0)) // 1000 for who, waited in now.items()])
            self._before = now


def waits_of(process: int) -> Iterator[tuple[str, int]]:
    """Each thread of a process, and how many nanoseconds it has waited for a processor in its life."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield thread.name, int((thread / "schedstat").read_bytes().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # the thread has ended meanwhile


def stolen(statistics: Path = Path("/proc/stat")) -> dict[str, int]:
    """Each processor, and for how many nanoseconds it was taken away while a process wanted it."""
    lines = statistics.read_text(encoding="ascii").splitlines()
    processors = (line.split() for line in lines if line.startswith("cpu") and not line.startswith("cpu "))
    return {fields[0]: int(fields[8]) * TICK_NS for fields in processors}


def members_of(group: int) -> Iterator[int]:
    """The processes of a process group."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            yield int(process.name)
