"""One case against the reference, or a mutant of it, in a process that is forked for it and has virtual time.

run_apart(Trial(case, MUTANTS["BUG-23"].change)).broken
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Final

from groupspec.conformance.checks.verdicts import BROKEN, Judgement
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.timing import Wait
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.wire import case_run
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.clients import IN_PYTHON
from groupspec.conformance.wire.virtual.harness import HarnessThread
from groupspec.conformance.wire.virtual.world import World
from groupspec.impl.network import wire
from groupspec.impl.network.versions import API_KEYS, CLIENT_VERSIONS
from groupspec.impl.threads.designs import Design

MAX_S: Final = 60.0
"""Of the processor's time, for what takes a fraction of one: a client in which a thread never rests, nor looks at the
clock. Time that other programs take does not count, so that a run ends in the same way on a busy machine.
"""
FORK: Final = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Trial:
    """What is to be run.

    Attributes:
        change: Changes the reference first.
        design: Its threads.
        note: Called with the seam before that; what it returns is asked for at the end, and told.
        keep_log: Whether the judgements and the log are told, too.
    """

    case: Case
    change: Callable[[Seam], None] | None = None
    design: Design = "background"
    note: Callable[[Seam], Callable[[], object]] | None = None
    keep_log: bool = False


@dataclass(frozen=True)
class Told:
    """What a run says.

    Attributes:
        broken: The rules that are broken.
        seconds: How long it took, in virtual time.
        noted: What was asked for.
        broke_off: How its process ended before it could say anything.
        judgements: By rule; they and the log are told if `keep_log` is set.
    """

    broken: tuple[str, ...] = ()
    seconds: float = 0.0
    noted: object = None
    broke_off: str = ""
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    log: Sequence[Entry] = ()


class Running:
    """A run under way. To be closed."""

    def __init__(self, trial: Trial) -> None:
        _load_messages()
        self.receiver, sender = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_tell, args=(sender, trial), daemon=True)
        self._process.start()
        sender.close()

    def told(self) -> Told:
        """Waits for its end."""
        try:
            told: Told = self.receiver.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            never = f"a thread never rests: more than {MAX_S:.0f} s of the processor's time"
            return Told(broke_off=never if code == -signal.SIGPROF else f"its process ended with {code}")
        return told

    def close(self) -> None:
        """Ends its process, if it has not ended."""
        self._process.kill()
        self._process.join()
        self.receiver.close()


def run_apart(trial: Trial) -> Told:
    """Runs it, and waits for its end."""
    running = Running(trial)
    try:
        return running.told()
    finally:
        running.close()


@cache
def _load_messages() -> None:
    """Before anything is forked: a third of a run went into loading these anew."""
    for api, versions in CLIENT_VERSIONS.items():
        wire.load_request_schema(API_KEYS[api], versions.highest)
        wire.load_response_schema(API_KEYS[api], versions.highest)


class _NobodyWaits:
    """In the place of the clocks that look for stalls: in virtual time nothing has to wait for a processor."""

    def __init__(self, _: int = 0) -> None:
        pass

    def waits_us(self) -> Sequence[Wait]:
        return ()

    def stalls_us(self, _: int = 0) -> Sequence[tuple[int, int]]:
        return ()

    def __enter__(self) -> _NobodyWaits:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _tell(sender: Connection, trial: Trial) -> None:
    """In the process of the run, which ends here: threads that are left are nobody's."""
    signal.setitimer(signal.ITIMER_PROF, MAX_S)
    gc.disable()  # a finaliser comes at a moment that depends on what was there before
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what a client prints when its threads die
    random.seed(trial.case.id)
    World(partial(_gives_up, sender)).take_over()
    seam = Seam()
    seam.put(case_run, "HarnessProcess", partial(HarnessThread, design=trial.design))
    seam.put(case_run, "WaitClock", _NobodyWaits)
    noted = (trial.note or _nothing_noted)(seam)
    if trial.change is not None:
        trial.change(seam)
    result = case_run.run_once(IN_PYTHON["reference"], trial.case, _NobodyWaits())
    broken = tuple(rule for rule, each in result.judgements.items() if each.verdict in BROKEN)
    told = Told(broken, round(result.seconds, 3), noted())
    if trial.keep_log:
        told = replace(told, judgements=result.judgements, log=result.entries)
    sender.send(told)
    os._exit(0)


def _gives_up(sender: Connection, why: str) -> None:
    sender.send(Told(broke_off=why))
    os._exit(0)


def _nothing_noted(_: Seam) -> Callable[[], object]:
    return lambda: None
