"""Every breaker there is, chapter by chapter."""

from groupspec.conformance.held.breaker import BREAKERS
from groupspec.conformance.held.breakers import (  # noqa: F401  # each registers its own
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

__all__ = ["BREAKERS"]
