"""Where an ingest works until its layout is whole: a hidden folder beside the target, renamed to it at the end.

    .OUT.ingest/lock            held by the ingest that runs; the system lets go of it when that dies
    .OUT.ingest/ID/layout/      what will be OUT
    .OUT.ingest/ID/attempts/    buckets as Spark's tasks write them: each attempt of a task its own file

So OUT never holds less than the whole: it appears by one rename. A second ingest into OUT is refused by the lock; where
a lock would fail to hold, the rename would, since OUT is then not empty. What a killed ingest left is removed by the
next one into OUT; its processes may outlive it for a moment, but they know only their own ID.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.traces.inputs import workspace_folder

LOCK_FILE: Final = "lock"


class Workspace:
    """An ingest's own folders. `layout` becomes the target with `publish`."""

    def __init__(self, out: Path, folder: Path) -> None:
        self.out = out
        self.layout = folder / "layout"
        self.attempts = folder / "attempts"
        self.layout.mkdir(parents=True)
        self.attempts.mkdir()

    def publish(self) -> None:
        """Makes the layout the target, in one step. Raises UsageProblem when something has come to lie there."""
        try:
            self.layout.rename(self.out)
        except OSError as error:
            check_target(self.out)
            raise error


@contextmanager
def workspace(out: Path) -> Iterator[Workspace]:
    """A workspace for an ingest into `out`, removed at the end, however that comes.

    Raises:
        UsageProblem: the target is not new, or another ingest into it is running.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100  a link stays a link
    if out.is_symlink():
        out = out.resolve()
    check_target(out)
    folder = workspace_folder(out)
    with _locked(folder, out):
        try:
            check_target(out)  # again: an ingest may have ended meanwhile
            _remove_remains(folder)
            yield Workspace(out, folder / uuid.uuid4().hex)
        finally:
            _remove_remains(folder)
            (folder / LOCK_FILE).unlink(missing_ok=True)
            with suppress(OSError):  # the next ingest has begun in it, or something could not be removed
                folder.rmdir()


def check_target(out: Path) -> None:
    """Raises UsageProblem unless the target is a new or an empty folder that can be made by a rename."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageProblem(
            what="the output folder is not empty",
            where=str(out),
            allowed="a new or an empty folder: mixing two ingests would count events twice",
            next_step="name another folder with --out, or remove this one",
        )
    if out.is_mount():
        raise UsageProblem(
            what="the output folder is where a file system is mounted; the finished layout cannot be renamed to it",
            where=str(out),
            allowed="a folder inside a file system",
            next_step=f"name a new folder in it: --out {out / 'layout'}",
        )


def _remove_remains(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.name != LOCK_FILE:
            shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def _locked(folder: Path, out: Path) -> Iterator[None]:
    """Holds the lock of a workspace, which is made for it."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = (folder / LOCK_FILE).open("ab")
        except FileNotFoundError:
            continue  # the ingest before has just removed it
        with file:
            _lock(file, folder, out)
            if _is_at(file, folder / LOCK_FILE):
                yield
                return


def _lock(file: BinaryIO, folder: Path, out: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageProblem(
            what="another ingest into this folder is running",
            where=f"{out} (its work so far: {folder})",
            allowed="one ingest into a folder at a time",
            next_step="wait for it, or name another folder with --out",
        ) from None
    except OSError as error:
        raise UsageProblem(
            what=f"this file system cannot lock files: {error.strerror}",
            where=str(folder),
            allowed="a file system with flock, so that two ingests cannot write into one folder",
            next_step="ingest into a folder of this machine, and copy it when it is whole",
        ) from error


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
