"""Every mutant there is, chapter by chapter."""

from groupspec.conformance.mutation.catalogue import (  # noqa: F401  # each registers its own
    callbacks,
    circumstances,
    coordinator,
    group,
    joining,
    offsets,
    quotas,
    rows,
    threads,
)
from groupspec.conformance.mutation.mutant import MUTANTS, find

__all__ = ["MUTANTS", "find"]
