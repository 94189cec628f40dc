"""The projected table, built once a machine.

The subset construction takes some seconds, and every command, test run and Spark worker needs its result; so it is kept
in the cache folder. Without a folder to write to it is built anew each time, and nothing else changes.
"""

from __future__ import annotations

import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from groupspec.conformance.traces import determinise, projection, reductions, schema
from groupspec.conformance.traces.caching import cache_folder, digest
from groupspec.conformance.traces.projection import REBALANCES, Projection
from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import tables


@cache
def load() -> Projection:
    """The projection, from the cache if it is there."""
    hashes = [tables()[determinise.MACHINE, rebalance, determinise.PROFILE].hash for rebalance in REBALANCES]
    code = (determinise.__file__, projection.__file__, schema.__file__, reductions.__file__, vocabulary.__file__)
    file = cache_folder() / f"projection-{digest(*code, more=''.join(hashes))}.npz"
    if (cached := _read(file)) is not None:
        return cached
    built = determinise.build()
    _write(file, built)
    return built


def _read(file: Path) -> Projection | None:
    """What the file holds; None if it is not there or damaged."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            kept = Projection(**arrays)
    except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
        return None
    return kept._replace(names=[str(name) for name in kept.names])


def _write(file: Path, built: Projection) -> None:
    """Writes beside the place and moves it there: two processes may do this at once."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".npz", delete=False) as part:
            np.savez_compressed(part, **built._asdict())
        Path(part.name).replace(file)
    except OSError:
        return
