"""Errors that are nobody's defect.

What the machine refused, what is not installed, what a machine file being changed raised.

Such an error can come up anywhere, from any library, wrapped in another. So it is looked for in one place, in the whole
chain of what led to what, when a command has ended with it.
"""

from __future__ import annotations

import errno
import inspect
import os
import resource
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from groupspec.conformance import missing
from groupspec.conformance.errors import InconclusiveProblem, Problem, UsageProblem, did_you_mean
from groupspec.spec.problems import DataError

SPEC: Final = Path(__file__).resolve().parents[1] / "spec"

DISK: Final = "free some space, or choose a path on another disk, then run it again"
LIMITS: Final = "raise the limit (ulimit -a shows them), or ask for less at once, for example with --jobs 1"
PATHS: Final = "choose another path, or change the permissions"

NEXT_STEPS: Final = {
    errno.ENOSPC: DISK,
    errno.EDQUOT: DISK,
    errno.EFBIG: LIMITS,
    errno.EMFILE: LIMITS,
    errno.ENFILE: LIMITS,
    errno.EAGAIN: LIMITS,
    errno.EROFS: PATHS,
    errno.EACCES: PATHS,
    errno.EPERM: PATHS,
    errno.EIO: "look into the system's log: a disk or a terminal has failed",
}
"""What a system refuses through no fault of a program, and what can be done. Not ENOENT: a file that we forgot to make.
"""

NO_MEMORY: Final = ("failed to map segment", "Cannot allocate memory", "can't start new thread")
"""What other errors say when memory was the reason: the loader's, and that of threading."""


def require_address_space(needed: int, purpose: str, next_step: str) -> None:
    """Refuses what is known not to fit into the limit on the address space (ulimit -v), of `needed` bytes.

    With no memory left Python cannot even handle the error: 3.11 was seen to try for half an hour.

    Raises:
        InconclusiveProblem: the limit is smaller.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise InconclusiveProblem(
            f"there is not enough memory for {purpose}",
            where=f"the limit on the address space (ulimit -v) is {limit >> 10} KiB",
            allowed=f"{needed >> 10} KiB or more",
            next_step=next_step,
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether too little memory led to it: what goes on after that says nothing about anybody else."""
    return any(
        isinstance(each, MemoryError)
        or _says_no_memory(each)
        or (isinstance(each, OSError) and each.errno == errno.ENOMEM)
        for each in chain(error)
    )


def as_problem(error: BaseException) -> Problem | None:
    """The message for it, if the machine, the install or a machine file is the reason; None if it is our defect."""
    if is_out_of_memory(error):
        return InconclusiveProblem(
            "there is not enough memory; the command stopped, and what it had not written yet is lost",
            next_step="allow more (ulimit -v, the container's limit), or ask for less at once, for example with "
            "--jobs 1",
        )
    for each in chain(error):
        if isinstance(each, OSError) and each.errno in NEXT_STEPS:
            return refused(each)
        if isinstance(each, ImportError) and (told := missing.as_problem(each)) is not None:
            return told
    return _of_specification(error)


def refused(problem: OSError, where: str | Path = "") -> UsageProblem:
    """The message for something that the system refused."""
    return UsageProblem(
        f"the system refused: {problem.strerror or problem}",
        where=str(problem.filename or where),
        next_step=NEXT_STEPS.get(problem.errno or 0, PATHS),
    )


def _says_no_memory(error: BaseException) -> bool:
    return isinstance(error, (ImportError, RuntimeError, OSError)) and any(words in str(error) for words in NO_MEMORY)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it holds if it is a group, and what led to it."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
        waiting += [one for one in (each.__cause__, each.__context__) if one is not None]


def _of_specification(error: BaseException) -> UsageProblem | None:
    """If a data file breaks its schema, or a machine file fails while it is imported.

    Those files are there to be changed, and a mistake in them is no defect of ours.
    """
    for each in chain(error):
        if isinstance(each, DataError):
            return UsageProblem(each.what, each.where, each.allowed, "correct that entry, then the same command again")
    found = _place(error)
    if found is None or found.file.parent not in (SPEC, SPEC / "published"):
        return None
    return UsageProblem(
        f"a file of the specification cannot be read: {type(error).__name__}: {error}",
        where=f"{os.path.relpath(found.file, SPEC.parent)}:{found.line}",
        allowed=[name for name in found.names if name.isupper()],
        next_step=found.advice or "correct that line; `groupspec table --check` tells whether the tables are whole",
    )


class _Place(NamedTuple):
    """A line of a module or of the body of a class; where a name is unknown there, those that are known."""

    file: Path
    line: int | None
    names: Sequence[str] = ()
    advice: str = ""


def _place(error: BaseException) -> _Place | None:
    """The last line outside of functions that ran: what was being imported, whomever it called."""
    if isinstance(error, SyntaxError):
        return _Place(Path(error.filename or "").resolve(), error.lineno)
    frames = list(traceback.walk_tb(error.__traceback__))
    outside = [number for number, (frame, _) in enumerate(frames) if not frame.f_code.co_flags & inspect.CO_OPTIMIZED]
    if not outside:
        return None
    frame, line = frames[outside[-1]]
    file = Path(frame.f_code.co_filename).resolve()
    if frame is not frames[-1][0]:
        return _Place(file, line)
    if isinstance(error, NameError) and error.name:
        return _Place(file, line, [*frame.f_locals], did_you_mean(error.name, {**frame.f_globals, **frame.f_locals}))
    if isinstance(error, AttributeError) and error.name:
        return _Place(file, line, dir(error.obj), did_you_mean(error.name, dir(error.obj)))
    return _Place(file, line)
