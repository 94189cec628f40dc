"""Programs that end with this process, however it ends, even killed: then nobody is left to end them.

A shell beside the program reads from a pipe that only this process can write to. Nothing is ever written, so the read
ends when this process does, and the shell ends the program's whole group, its children and itself included. (Linux can
be asked to do that for a program's parent *thread*; ours are started by threads that end sooner.)
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

_TIED: Final = """\
exec 3<"/dev/fd/$1"
shift
(read -r nothing <&3; kill -KILL 0) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""
"""Becomes the program, which has another number than the shell that waits for the pipe's end, and the same group."""

_STARTED: Final[WeakSet[subprocess.Popen[bytes]]] = WeakSet()


def start(
    command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """Starts a program, in `folder`, as the leader of a session and group of its own; `options` are those of `Popen`.

    Whoever started it calls `end` when it is no longer needed, even if it has ended: the shell waits on.

    Raises:
        OSError: it cannot be started.
    """
    _require_program(command[0], folder or Path())
    process: subprocess.Popen[bytes] = subprocess.Popen(
        ["/bin/sh", "-c", _TIED, "sh", str(_life()), *command],
        cwd=folder,
        env=None if environment is None else dict(environment),
        pass_fds=(_life(),),
        start_new_session=True,
        **options,
    )
    _STARTED.add(process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of it and of what it started; the group's number is the program's own."""
    _STARTED.discard(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def end_all() -> None:
    """Ends every program that was started here and not ended yet."""
    for process in list(_STARTED):
        end(process)


@cache
def _life() -> int:
    """The pipe's end that can be read. The other is never closed, and no program gets it."""
    reading, _ = os.pipe()
    return reading


def _require_program(program: str, folder: Path) -> None:
    """The shell would only say so in its exit code, which could be the program's."""
    found = shutil.which(os.path.join(folder, program) if "/" in program else program)  # noqa: PTH118  # keeps "./"
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
