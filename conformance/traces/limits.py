"""What the machine refuses, said as such: a full disk, a lack of memory, a permission.

None is a defect of groupspec.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from groupspec.conformance.errors import UsageProblem

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def machine_limits(doing: str, place: Path) -> Iterator[None]:
    """What the block cannot do for lack of something becomes a UsageProblem that says what to do.

    Args:
        doing: What was being done: "ingesting".
        place: What it was done to, where the system's error names no file.
    """
    try:
        yield
    except MemoryError as error:
        raise out_of_memory(doing, str(place)) from error
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        raise out_of_memory(doing, str(place)) from error
    except OSError as error:
        raise refused(doing, error, place) from error


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
    full = error.errno in _FULL
    reason = error.strerror or str(error)
    return UsageProblem(
        what=f"the disk is full while {doing}: {reason}; nothing was left half-written"
        if full
        else f"the system refuses something while {doing}: {reason}",
        where=str(error.filename or place),
        allowed="room for the result: about a fifth of the traces' size as NDJSON"
        if full
        else "files that can be read, and a folder that can be written",
        next_step="make room, or name a folder on another disk, and run it again"
        if full
        else "check the path and its permissions, and run it again",
    )
