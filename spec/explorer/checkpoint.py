"""An exploration that was stopped, in a file, so that it can go on: another day, or with larger limits.

    groupspec exploration checkpoint 2      what it is, and the version of this format
    {"hash": ..., "counts": [...], ...}     one line of JSON: of which model, and how far
    ...                                     the arrays of `engine.ARRAYS`, little-endian, one after the other
    64 hexadecimal digits                   SHA-256 of all before

The table that finds states is not in it: it is made anew, in less time than it takes to read it. Both engines write and
read the same format.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer.engine import Counts, Engine
from groupspec.spec.explorer.exploration import ExplorerProblem

VERSION = 2
_MAGIC = b"groupspec exploration checkpoint "
_BLOCK = 1 << 22
_DIGEST_LENGTH = 64
_AGAIN = "delete the file to begin anew, or name another one"


@dataclass(frozen=True)
class Head:
    """What a checkpoint says about itself.

    Attributes:
        seconds: What the exploration had taken until then.
    """

    model: str
    hash: str
    fold: bool
    seconds: float
    counts: Counts
    lengths: tuple[int, ...]


def save(path: Path, model: Model, fold: bool, engine: Engine, seconds: float) -> None:
    """Writes a checkpoint; until it is whole, the one before stays.

    Raises:
        ExplorerProblem: the file cannot be written.
    """
    counts, arrays = engine.counts(), engine.dump()
    head = {
        "model": model.name,
        "hash": model.hash,
        "fold": fold,
        "seconds": round(seconds, 3),
        "counts": counts.numbers(),
        "lengths": [len(one) for one in arrays],
    }
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    digest = hashlib.sha256()
    try:
        with unfinished.open("wb") as file:
            for part in (memoryview(_MAGIC + f"{VERSION}\n{json.dumps(head)}\n".encode()), *arrays):
                for at in range(0, len(part), _BLOCK):
                    digest.update(part[at : at + _BLOCK])
                    file.write(part[at : at + _BLOCK])
            file.write(digest.hexdigest().encode())
        unfinished.replace(path)
    except OSError as problem:
        unfinished.unlink(missing_ok=True)
        raise ExplorerProblem(
            f"the checkpoint cannot be written: {problem.strerror}",
            str(path),
            "a file in a folder that exists and has room",
            "name another place",
        ) from problem


def load(path: Path, model: Model, fold: bool, make: Callable[[], Engine]) -> tuple[Head, Engine]:
    """The engine, as far as it was when the checkpoint was written.

    Args:
        path: The file.
        model: The model that is to be explored.
        fold: Whether it is to be folded.
        make: Makes an engine.

    Raises:
        ExplorerProblem: the file is no checkpoint, of another version or model, or cut short.
    """
    with path.open("rb") as file:
        digest = hashlib.sha256()
        head = _head(file, path, len(model.actions), digest.update)
        _require_of(path, head, model, fold)
        here, whole = file.tell(), path.stat().st_size
        if whole != here + sum(head.lengths) + _DIGEST_LENGTH:
            raise ExplorerProblem(
                "the checkpoint is cut short, or has something behind it",
                f"{path}: {whole:,} bytes",
                f"{here + sum(head.lengths) + _DIGEST_LENGTH:,} bytes",
                _AGAIN,
            )
        engine = make()
        try:
            for view in engine.restore(head.counts):
                for at in range(0, len(view), _BLOCK):
                    file.readinto(view[at : at + _BLOCK])
                    digest.update(view[at : at + _BLOCK])
            if file.read() != digest.hexdigest().encode():
                raise ExplorerProblem("the checkpoint is damaged: its checksum differs", str(path), "", _AGAIN)
            engine.restored()
        except BaseException:
            engine.close()
            raise
        return head, engine


def _head(file: BinaryIO, path: Path, actions: int, read: Callable[[bytes], None]) -> Head:
    first = file.readline(200)
    if not first.startswith(_MAGIC):
        raise ExplorerProblem("the file is no checkpoint", str(path), "a file that --checkpoint wrote", _AGAIN)
    version = first.removeprefix(_MAGIC).strip().decode(errors="replace")
    if version != str(VERSION):
        raise ExplorerProblem(
            f"the checkpoint is of version {version}",
            str(path),
            f"version {VERSION}",
            f"go on with the groupspec that wrote it; or {_AGAIN}",
        )
    second = file.readline()
    read(first)
    read(second)
    try:
        found = json.loads(second)
        return Head(
            found["model"],
            found["hash"],
            found["fold"],
            found["seconds"],
            Counts.of(found["counts"], actions),
            tuple(found["lengths"]),
        )
    except (ValueError, KeyError, TypeError) as problem:
        raise ExplorerProblem("the checkpoint's head is cut short or damaged", str(path), "", _AGAIN) from problem


def _require_of(path: Path, head: Head, model: Model, fold: bool) -> None:
    if head.hash != model.hash:
        raise ExplorerProblem(
            f"the checkpoint is of another model: {head.model}, hash {head.hash[:12]}",
            str(path),
            f"{model.name}, hash {model.hash[:12]}",
            f"the specification has changed since it was written: {_AGAIN}",
        )
    if head.fold is not fold:
        raise ExplorerProblem(
            f"the checkpoint was written {'with' if head.fold else 'without'} folding",
            str(path),
            f"an exploration {'with' if head.fold else 'without'} folding",
            f"explore as before; or {_AGAIN}",
        )
