"""The projected table, built once a machine.

The subset construction takes some seconds, and every command, test run and Spark worker needs its result; so it is kept
in the user's cache folder, under a name that says what it was made from: the specification's tables and the code that
projects them. Without a folder to write to it is built anew each time, and nothing else changes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from groupspec.conformance.traces import determinise, projection, schema, simulation
from groupspec.conformance.traces.projection import REBALANCES, Projection
from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import tables

_MADE_FROM: Final = (determinise, projection, schema, simulation, vocabulary)
_ARRAYS: Final = ("symbols", "next_state", "start", "unknown", "names")


@cache
def load() -> Projection:
    """The projection, from the cache if it is there."""
    file = _folder() / f"projection-{_key()}.npz"
    if (cached := _read(file)) is not None:
        return cached
    built = determinise.build()
    _write(file, built)
    return built


def _key() -> str:
    digest = hashlib.sha256()
    for rebalance in REBALANCES:
        digest.update(tables()[determinise.MACHINE, rebalance, determinise.PROFILE].hash.encode())
    for module in _MADE_FROM:
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()[:16]


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path(os.environ.get("HOME") or "~").expanduser() / ".cache")
    return Path(base) / "groupspec"


def _read(file: Path) -> Projection | None:
    """What the file holds; None if it is not there or damaged."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            symbols, next_state, start, unknown, names = (arrays[name] for name in _ARRAYS)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Projection(symbols, next_state, start, unknown, [str(name) for name in names])


def _write(file: Path, built: Projection) -> None:
    """Writes beside the place and moves it there: two processes may do this at once."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".npz", delete=False) as part:
            np.savez_compressed(
                part,
                symbols=built.symbols,
                next_state=built.next_state,
                start=built.start,
                unknown=built.unknown,
                names=np.array(built.names),
            )
        Path(part.name).replace(file)
    except OSError:
        return
