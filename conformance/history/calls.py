"""What the application saw of its client: the calls of its listener, its own calls of poll(), and their records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Callback:
    """One call of the listener; `ended_us` None when it never returned."""

    name: str
    partitions: frozenset[str]
    started_us: int
    ended_us: int | None
    application_thread: bool | None
    owned: frozenset[str] | None


@dataclass(frozen=True)
class PollCall:
    """One call of poll()."""

    timeout_ms: int
    started_us: int
    ended_us: int | None

    @property
    def over_us(self) -> int:
        """When its time was over: it waits no longer then, even if it takes a little until it returns."""
        return self.started_us + 1000 * self.timeout_ms


@dataclass(frozen=True)
class Returned:
    """Records of one partition in one poll's result."""

    at_us: int
    partition: str
    first: int
    last: int
