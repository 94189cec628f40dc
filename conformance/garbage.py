"""Runs during which nothing is looked for that could be thrown away."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Run = TypeVar("Run")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Nothing that a run makes is garbage before its end, and a collection would look through all of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def one_by_one(runs: Iterable[Run]) -> Iterator[Run]:
    """Each of these without a collection, and then one for what it has left: the youngest objects, and no others."""
    with no_garbage_collection():
        for run in runs:
            yield run
            gc.collect(0)
