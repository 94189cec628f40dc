"""Where a run is noted that has a mutant of the reference in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from groupspec.conformance.garbage import no_garbage_collection
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.guards import stop_the_endless
from groupspec.conformance.mutation.mutant import Seam


@contextmanager
def with_mutant(mutant: str) -> Iterator[None]:
    """For the time of a block the reference has this mutant; "": none."""
    with ExitStack() as stack:
        if mutant:
            changed = stack.enter_context(Seam())
            MUTANTS[mutant].change(changed)
            stop_the_endless(changed)
        stack.enter_context(no_garbage_collection())
        yield
