"""What the machine refuses while traces are worked on: a full disk, too little memory, a permission."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groupspec.conformance.errors import UsageProblem


@contextmanager
def machine_limits(doing: str, place: Path) -> Iterator[None]:
    """What the block cannot do for lack of something becomes a UsageProblem that says what to do.

    Args:
        doing: What was being done: "ingesting".
        place: What it was done to, where the system's error names no file.
    """
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if isinstance(error, MemoryError) or "can't start new thread" in str(error):
            raise out_of_memory(doing, str(place)) from error
        if isinstance(error, OSError):
            raise refused(doing, error, place) from error
        raise


def out_of_memory(doing: str, place: str) -> UsageProblem:
    """The message for too little memory."""
    return UsageProblem(
        what=f"the memory that this process may use is exhausted while {doing}; nothing was written",
        where=place,
        allowed="about 0.6 GiB for each million events, and 0.5 GiB besides",
        next_step="allow more memory (ulimit -v, the container's limit), or give fewer runs at a time",
    )


def refused(doing: str, error: OSError, place: Path) -> UsageProblem:
    """The message for what the file system refuses."""
    where = str(error.filename or place)
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return UsageProblem(
            what=f"the disk is full while {doing}: {reason}; nothing was left half-written",
            where=where,
            allowed="room for the result: about a fifth of the traces' size as NDJSON",
            next_step="make room, or name a folder on another disk, and run it again",
        )
    return UsageProblem(
        what=f"the system refuses something while {doing}: {reason}",
        where=where,
        allowed="files that can be read, and a folder that can be written",
        next_step="check the path and its permissions, and run it again",
    )
