"""How long something took, for how much of that the client is not responsible, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.bounds import IN_FLIGHT_US

CLEARLY: Final = 1.5
"""So many times its bound has to be what took too long: whoever comes closer, keeps it another time. librdkafka's
heartbeats, 400 to 590 ms apart, broke a bound of 400 ms in each run of three campaigns, and kept it in the fourth."""


@dataclass(frozen=True)
class Exactness:
    """How sure a history's times and its order are: what they may be off, in microseconds.

    Attributes:
        same_time_us: Two stamps made by two processes for one thing that travels between them.
        two_connections_us: The order of what two sockets, or a socket and a pipe, bring; see `LATE_US` in
            `groupspec.impl.broker.ticks`.
        in_flight_us: Between an answer's being written and its being read: what was sent before that may come so long
            after it.
        paused_us: An application that polls on is back before that: if it is not, it has paused.
        step_us: The clock's step: what happens in one moment is told one after the other, less than that apart.
    """

    same_time_us: int
    two_connections_us: int
    in_flight_us: int
    paused_us: int
    step_us: int = 0


ON_THE_WIRE: Final = Exactness(1_000, 15_000, IN_FLIGHT_US, 5_000_000)
"""As the kit sees a client: from the broker's side, and through a pipe."""
INSIDE: Final = Exactness(0, 1_000, 1_000, 0, step_us=1_000)
"""As a member sees itself: an answer is there when it has taken it; within a millisecond, the unit of virtual time, one
thread may overtake another."""

Wait = tuple[int, int, int]
"""From, to, and how long threads waited in between; all in microseconds."""


@dataclass(frozen=True)
class Timing:
    """What a verdict that rests on time rests on, in ms.

    `took_ms` is by the clock. What the kit stood still, or the client's process waited for a processor, is taken off
    before it is compared with the bound. `slack_ms`: how much of the bound is tolerance, and no time that the protocol
    or a setting gives.
    """

    took_ms: float
    bound_ms: float
    kit_stalled_ms: float = 0.0
    client_waited_ms: float = 0.0
    slack_ms: float = 0.0

    @property
    def excused_ms(self) -> float:
        """The part of the time for which the client is not responsible, in ms."""
        return self.kit_stalled_ms + self.client_waited_ms

    @property
    def is_clear(self) -> bool:
        """Whether what took too long took much too long."""
        return self.took_ms - self.excused_ms >= CLEARLY * self.bound_ms

    @property
    def stalls(self) -> str:
        """What stood still meanwhile, in words."""
        if self.excused_ms < 1:
            return "nothing stood still meanwhile"
        waits = f"the kit stood still for {self.kit_stalled_ms:.0f} ms"
        waits += f" and the client waited {self.client_waited_ms:.0f} ms for a processor"
        return f"of the {self.took_ms:.0f} ms by the clock {waits}, which do not count"

    def __str__(self) -> str:
        slack = f", {self.slack_ms:.0f} ms of it slack" if self.slack_ms else ""
        return f"bound {self.bound_ms:.0f} ms{slack}; {self.stalls}"


def longest_wait_us(waits: Iterable[Wait]) -> int:
    """The longest wait in a row: of samples, one after the other, in which the process mostly waited."""
    longest, total, ended_us = 0, 0, 0
    for start, end, waited in waits:
        total = waited + (total if start == ended_us else 0) if 2 * waited > end - start else 0
        longest, ended_us = max(longest, total), end
    return longest


def together(*clocks: Iterable[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """When any of these stood still: in order, none overlapping another."""
    stalls: list[tuple[int, int]] = []
    for start, end in sorted(stall for clock in clocks for stall in clock):
        if stalls and start <= stalls[-1][1]:
            stalls[-1] = (stalls[-1][0], max(end, stalls[-1][1]))
        else:
            stalls.append((start, end))
    return tuple(stalls)
