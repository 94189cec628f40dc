"""When nobody can be blamed: a member's own troubles, everybody's, and when the machine stood still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from groupspec.conformance.stress.timeline import TROUBLE, Happening

LONG_STALL_US: Final = 1_000_000
"""A stall of the machine that may keep a commit from its answer, as trouble of one's own would."""

Span = tuple[int, int]
"""Begin and end, in microseconds."""


class Troubles:
    """When which process could not help what happened, when nobody could, and when the machine stood still."""

    def __init__(self, happenings: Iterable[Happening], stalls: Sequence[Span]) -> None:
        self._stalls = stalls
        self._spans: dict[str, list[Span]] = {"": [one for one in stalls if one[1] - one[0] >= LONG_STALL_US]}
        begun: dict[tuple[str, str], int] = {}
        for one in happenings:
            if one.kind in TROUBLE:
                begun.setdefault((one.process, TROUBLE[one.kind]), one.at_us)
            elif one.kind == "loaded":  # another broker is the coordinator now, for whatever reason
                self._spans[""].append((one.at_us, one.at_us))
            elif (at_us := begun.pop((one.process, one.kind), None)) is not None:
                self._spans.setdefault(one.process, []).append((at_us, one.at_us))
        for (process, _), at_us in begun.items():
            self._spans.setdefault(process, []).append((at_us, 2**62))

    def of(self, process: str) -> list[Span]:
        """Its own, and everybody's."""
        return self._spans.get(process, []) + self._spans[""]

    def is_troubled(self, process: str, at_us: int, after_us: int) -> bool:
        """Whether it is in trouble, or was that long ago at most."""
        return any(begin <= at_us <= end + after_us for begin, end in self.of(process))

    def free_us(self, process: str, begin_us: int, end_us: int, after_us: int) -> int:
        """How long it was in no trouble in between, and in none so long before; a stall does not count either."""
        troubles = [(begin, end + after_us) for begin, end in self.of(process)]
        return _outside([*troubles, *self._stalls], begin_us, end_us)

    def running_us(self, begin_us: int, end_us: int) -> int:
        """How long the machine did not stand still in between."""
        return _outside(self._stalls, begin_us, end_us)


def _outside(spans: Iterable[Span], begin_us: int, end_us: int) -> int:
    """How much of the time in between is in none of these."""
    free, now_us = 0, begin_us
    for begin, end in sorted(spans):
        free += max(0, min(begin, end_us) - now_us)
        now_us = max(now_us, min(end, end_us))
    return free + max(0, end_us - now_us)
