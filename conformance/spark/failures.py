"""What goes wrong inside a task, told as if it had gone wrong here.

An exception of a Python worker reaches the driver as the text of its traceback, among those of Spark and the JVM. A
task therefore raises its problem once more, as one line that can be found in that text; the driver finds it and raises
the problem itself. What the JVM and the workers die of is recognised by the JVM's words. Raising, not returning, leaves
Spark its retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.errors import InconclusiveProblem, InternalProblem, Problem, UsageProblem
from groupspec.conformance.traces.limits import machine_limits, out_of_memory, refused

_KINDS: Final = (UsageProblem, InconclusiveProblem, InternalProblem)
_TOLD: Final = re.compile(r"groupspec-problem:([0-9a-f]+):")


class TaskProblem(Exception):
    """A problem inside a task, in a form that survives being the text of a traceback."""


@contextmanager
def in_task(doing: str, place: Path) -> Iterator[None]:
    """Inside a task: problems, full disks and lacking memory become a TaskProblem."""
    try:
        with machine_limits(doing, place):
            yield
    except Problem as problem:
        told = msgspec.json.encode([problem.exit_code, *problem.args])
        raise TaskProblem(f"groupspec-problem:{told.hex()}:") from problem


@contextmanager
def in_driver(doing: str, place: Path) -> Iterator[None]:
    """Around what runs tasks: raises the Problem that a task told, or what the JVM or a worker died of."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with machine_limits(doing, place):
            yield
    except (PySparkException, Py4JError) as error:
        found = _problem(str(error), doing, place)
        if found is None:
            raise
        raise found from error


def _problem(text: str, doing: str, place: Path) -> Problem | None:
    if told := _TOLD.search(text):
        exit_code, *parts = msgspec.json.decode(bytes.fromhex(told[1]))
        return next(kind for kind in _KINDS if kind.exit_code == exit_code)(*parts)
    if "No space left on device" in text:
        return refused(doing, OSError(28, "No space left on device, in Spark's own files"), place)
    if "OutOfMemoryError" in text or "MemoryError" in text:
        return out_of_memory(doing, str(place))
    if "Python worker exited unexpectedly" in text:
        return UsageProblem(
            what=f"a Python worker of Spark was killed while {doing}, as a system does that runs out of memory",
            where=str(place),
            allowed="about 0.6 GiB for each million events in one task",
            next_step="allow more memory, take more --buckets, or look into the system's log",
        )
    return None
