"""Every breaker there is, chapter by chapter."""

from groupspec.conformance.mutation.catalogue import (  # noqa: F401  # each registers its own
    callbacks,
    commit_rows,
    commits,
    discovery,
    group,
    group_rows,
    heartbeats,
    joining,
    known,
    leaving,
    member_rows,
    positions,
    threads,
    words,
)
from groupspec.conformance.mutation.mutant import BREAKERS

__all__ = ["BREAKERS"]
