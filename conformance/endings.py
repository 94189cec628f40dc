"""Errors that are nobody's defect.

What the machine refused, what is not installed, what a machine file being changed raised.

Such an error can come up anywhere, from any library, wrapped in another. So it is looked for in one place, in the whole
chain of what led to what, when a command has ended with it.
"""

from __future__ import annotations

import errno
import os
import resource
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groupspec.conformance import missing
from groupspec.conformance.errors import InconclusiveProblem, Problem, UsageProblem

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
    return _of_machine_file(error)


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


def _of_machine_file(error: BaseException) -> UsageProblem | None:
    """If the last line that ran is one of a table.

    Those files are there to be changed, and theirs is no defect of ours.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError):
        file, line = Path(error.filename or "").resolve(), error.lineno
    elif frames and frames[-1].name == "<module>":
        file, line = Path(frames[-1].filename).resolve(), frames[-1].lineno
    else:
        return None
    if file.parent != SPEC:
        return None
    return UsageProblem(
        f"a file of the specification cannot be read: {type(error).__name__}: {error}",
        where=f"{os.path.relpath(file, SPEC.parent)}:{line}",
        next_step="mend that line; `groupspec table --check` tells whether the tables are whole",
    )
