"""Files that commands write: whole or not at all, and never by replacing what is no file.

A regular file is replaced in one step: a reader never sees half of it. A device, a FIFO or a link stays what it is, and
is written to.
"""

from __future__ import annotations

import contextlib
import contextvars
import fcntl
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from groupspec.conformance.endings import refused
from groupspec.conformance.errors import UsageProblem
from groupspec.spec import printable


def write_text(file: Path, text: str) -> None:
    """Writes `text` to `file`, as `write_bytes` does."""
    write_bytes(file, text.encode())


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Writes lines for people: what others said stays text, and in its line."""
    write_text(file, "".join(f"{printable.line(line)}\n" for line in lines))


def json_text(value: object, indent: int | None = 2) -> str:
    """JSON, with escapes for all but ASCII: it may be shown in a terminal, and stdout may have no other characters.

    And for what a CI's runner looks for in a line (`##[error]`).
    """
    text = json.dumps(value, indent=indent, allow_nan=False)
    return text.replace("\x7f", "\\u007f").replace("##", "#\\u0023") + "\n"


def write_bytes(file: Path, data: bytes) -> None:
    """Replaces `file` by `data`, making the folders it lies in; writes to it if it is a device, a FIFO or a link.

    Raises:
        UsageProblem: the system refuses: no such folder can be made, it is not writable, the disk is full.
    """
    try:
        if _is_replaced(file):
            _replace(file, data)
        else:
            with file.open("wb") as through:
                through.write(data)
    except OSError as problem:
        raise cannot_write(file, problem) from problem


def require_writable(file: Path) -> None:
    """Proves that `write_bytes` can write `file`, before a long run finds out at its end.

    Raises:
        UsageProblem: it cannot be.
    """
    if file.is_dir():
        raise UsageProblem("cannot write the output: it is a folder", where=str(file), allowed="the path of a file")
    if _is_replaced(file):
        writable_folder(file.parent)
    # A FIFO that is opened waits for its reader: whether it may be opened is all that can be asked now.
    if file.exists() and not os.access(file, os.W_OK):
        raise cannot_write(file, PermissionError(13, "Permission denied", str(file)))


def writable_folder(folder: Path) -> Path:
    """Makes `folder` and proves that files can be written there, before a long run finds out at its end.

    Raises:
        UsageProblem: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        raise cannot_write(folder, problem) from problem
    return folder


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Makes `folder` this process's while the block lasts: two there would overwrite each other's files.

    The lock is on the folder itself, and ends with its process, however that ends. A block inside the block has it,
    too; another thread has not.

    Raises:
        UsageProblem: another process has it, or it cannot be made or written to.
    """
    with _locked(writable_folder(folder), os.O_RDONLY, "folder", "each would overwrite what the other says"):
        yield


@contextlib.contextmanager
def claimed_file(file: Path) -> Iterator[None]:
    """The same of a file that is added to; it is made if there is none."""
    require_writable(file)
    if file.exists() and not file.is_file():  # whoever reads it says so; a FIFO would wait here
        yield
        return
    with _locked(file, os.O_RDWR | os.O_CREAT, "file", "what each of them adds would stand there twice"):
        yield


_MINE: contextvars.ContextVar[frozenset[Path]] = contextvars.ContextVar("claimed", default=frozenset())


@contextlib.contextmanager
def _locked(path: Path, how: int, kind: str, harm: str) -> Iterator[None]:
    held, this = _MINE.get(), path.resolve()
    if this in held:
        yield
        return
    try:
        handle = os.open(path, how, 0o666)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    mine = _MINE.set(held | {this})
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageProblem(
                f"another run writes to this {kind} now, and {harm}",
                where=str(path),
                allowed=f"a {kind} for each run",
                next_step=f"choose another {kind}, or wait until that run has ended",
            ) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        _MINE.reset(mine)
        os.close(handle)


def cannot_write(path: Path, problem: OSError) -> UsageProblem:
    """The message for an output that the system refuses."""
    return UsageProblem(
        f"cannot write the output: {problem.strerror or problem}",
        where=str(problem.filename or path),
        allowed="a path in a folder that exists or can be made, and that you may write to",
        next_step=refused(problem).next_step,
    )


def is_stdout(file: Path) -> bool:
    """Whether it is `-`, or another name of this process's stdout, like /dev/stdout."""
    if str(file) == "-":
        return True
    try:
        return not _is_replaced(file) and os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False


def _is_replaced(file: Path) -> bool:
    """Whether there is a regular file, or nothing yet."""
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        return True


def _replace(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as whole:
            whole.write(data)
        if file.exists():
            part.chmod(stat.S_IMODE(file.stat().st_mode))
        part.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
