"""What happens in one stress run, drawn from a seed: the members and their settings, every fault and its time.

Times are the plan's own. What takes as long as it takes (a broker that starts again, a client that closes) does not
count in them: the plan goes on when it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal

SESSION_MS: Final = 3_000
HEARTBEAT_MS: Final = 500
POLL_INTERVAL_MS: Final = 5_000
REQUEST_MS: Final = 4_000
BACKOFF_MS: Final = 100
METADATA_AGE_MS: Final = 2_000
POLL_MS: Final = 100
BROKERS: Final = 2
PARTITIONS: Final = 8
MOST_PARTITIONS: Final = 16
SLOW_CALLBACK_MS: Final = 2_500
TOPIC: Final = "orders"
GROUP: Final = "billing"
WARM_UP_MS: Final = 6_000
"""Before the first fault: everybody starts, and joins."""

SETTLING_MS: Final = 45_000
"""How long the group may take after the last fault until it is stable, and everything is processed.

A session and the start of a client's process; two rebalances in which somebody does not come; the age of metadata; two
requests that are never answered; and the backoffs of clients that look for a broker which was away.
"""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """One place in the group: which client, and its settings; processes come and go.

    `instance_id`: of a static member, else "". `commit_ms`: how often it commits by itself.
    """

    number: int
    client: str
    instance_id: str
    commit_ms: int


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is done at a time of the plan.

    Attributes:
        at_ms: When.
        what: A method of `run.Run`, with "-" for "_".
        member: Whose, by number; -1: nobody's.
        ms: A length, or a number of partitions, as the step needs it.
        broker: Which, from 1; 0: none.
    """

    at_ms: int
    what: str
    member: int = -1
    ms: int = 0
    broker: int = 0

    def __str__(self) -> str:
        whose = f" m{self.member}" if self.member >= 0 else f" {self.broker}" if self.broker else ""
        return f"{self.at_ms / 1000:7.1f} s  {self.what}{whose}{f' {self.ms:,} ms' if self.ms else ''}"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run; `faults_end_ms`: when the last fault is over."""

    seed: int
    rebalance: Literal["eager", "cooperative"]
    members: tuple[MemberPlan, ...]
    steps: tuple[Step, ...]
    faults_end_ms: int
    records_per_second: int

    def __str__(self) -> str:
        members = (
            f"m{one.number}: {one.client}{', static' if one.instance_id else ''}, commits every {one.commit_ms:,} ms"
            for one in self.members
        )
        return "\n".join([f"seed {self.seed}, {self.rebalance}", *members, *map(str, self.steps)])


class _Draw:
    """The steps so far; each member has one thing done to it at a time."""

    def __init__(self, seed: int, members: int) -> None:
        self.random = Random(f"stress {seed}")
        self.steps: list[Step] = []
        self.free_ms = [WARM_UP_MS] * members
        self.brokers_free_ms = WARM_UP_MS
        self.partitions = PARTITIONS

    def add(self, at_ms: int, what: str, member: int = -1, ms: int = 0, broker: int = 0) -> None:
        self.steps.append(Step(at_ms, what, member, ms, broker))

    def somebody(self, at_ms: int) -> int | None:
        """A member to whom nothing is done at that time."""
        free = [number for number, until_ms in enumerate(self.free_ms) if until_ms <= at_ms]
        return self.random.choice(free) if free else None

    def between(self, at_ms: int, begin: str, end: str, ms: int) -> int:
        """A member is in trouble for a while. When that is over."""
        member = self.somebody(at_ms)
        if member is None:
            return at_ms
        self.add(at_ms, begin, member)
        self.add(at_ms + ms, end, member)
        self.free_ms[member] = at_ms + ms + 500
        return at_ms + ms


def _stop(draw: _Draw, at_ms: int) -> int:
    """SIGSTOP beyond the session timeout, and SIGCONT."""
    return draw.between(at_ms, "stop", "resume", SESSION_MS + draw.random.randrange(500, 3_000))


def _kill(draw: _Draw, at_ms: int) -> int:
    """SIGKILL; its successor comes after a while, maybe before the session is over."""
    return draw.between(at_ms, "kill", "start", draw.random.choice((300, 1_500, SESSION_MS + 1_500)))


def _busy(draw: _Draw, at_ms: int) -> int:
    """The application works for longer than the poll interval."""
    return draw.between(at_ms, "busy", "poll-again", POLL_INTERVAL_MS + draw.random.randrange(500, 2_000))


def _cut(draw: _Draw, at_ms: int) -> int:
    """All connections are cut, and refused for a while."""
    return draw.between(at_ms, "cut", "connect", draw.random.choice((50, 1_000, SESSION_MS + 1_500)))


def _stall(draw: _Draw, at_ms: int) -> int:
    """Nothing comes through, in either direction, and no connection breaks."""
    return draw.between(at_ms, "stall", "connect", draw.random.choice((1_000, SESSION_MS + 1_500)))


def _delay(draw: _Draw, at_ms: int) -> int:
    """Everything takes longer."""
    return draw.between(at_ms, "delay", "connect", draw.random.randrange(3_000, 5_000))


def _slow_callbacks(draw: _Draw, at_ms: int) -> int:
    """Closed, and started anew with callbacks that are slow; a while later with quick ones again."""
    member = draw.somebody(at_ms)
    if member is None:
        return at_ms
    until_ms = at_ms + 2 * SLOW_CALLBACK_MS + 4_000
    draw.add(at_ms, "restart", member, SLOW_CALLBACK_MS)
    draw.add(until_ms, "restart", member)
    draw.free_ms[member] = until_ms + 500
    return until_ms


def _rolling_restart(draw: _Draw, at_ms: int) -> int:
    """Everybody whom nothing else happens to, one after the other."""
    now_ms = at_ms
    for member, free_ms in enumerate(draw.free_ms):
        if free_ms <= at_ms:
            draw.add(now_ms, "restart", member)
            now_ms += 1_500
            draw.free_ms[member] = now_ms
    return now_ms


def _without_broker(draw: _Draw, at_ms: int, end: str, ms: int) -> int:
    """One broker is away for so long, or for as long as it takes to start again; the other one is there meanwhile."""
    begin_ms = max(at_ms, draw.brokers_free_ms)
    broker = draw.random.randrange(BROKERS) + 1
    draw.add(begin_ms, end, broker=broker)
    draw.add(begin_ms + ms, "start-broker", broker=broker)
    draw.brokers_free_ms = begin_ms + ms + 2_000
    return draw.brokers_free_ms


def _broker_restart(draw: _Draw, at_ms: int) -> int:
    """A broker is stopped, and started again with its data: if it is the coordinator, the other one becomes that."""
    return _without_broker(draw, at_ms, "stop-broker", draw.random.choice((0, 2_000)))


def _broker_crash(draw: _Draw, at_ms: int) -> int:
    """SIGKILL for a broker, for longer than its session with the controller. The controller itself is not replaced."""
    return _without_broker(draw, at_ms, "kill-broker", draw.random.choice((0, 6_000)))


def _move(draw: _Draw, at_ms: int) -> int:
    """Another broker is elected to lead the offsets partition: it becomes the coordinator."""
    begin_ms = max(at_ms, draw.brokers_free_ms)
    draw.add(begin_ms, "move-coordinator")
    draw.brokers_free_ms = begin_ms + 1_000
    return begin_ms


def _grow(draw: _Draw, at_ms: int) -> int:
    """The topic gets more partitions, for which all brokers have to be there."""
    begin_ms = max(at_ms, draw.brokers_free_ms)
    if draw.partitions < MOST_PARTITIONS:
        draw.partitions += 2
        draw.add(begin_ms, "grow", ms=draw.partitions)
        draw.brokers_free_ms = begin_ms + 500
    return begin_ms


FAULTS: Final[Sequence[Callable[[_Draw, int], int]]] = (
    *(_stop, _stop, _kill, _kill, _busy, _cut, _stall, _delay),
    *(_slow_callbacks, _rolling_restart, _broker_restart, _broker_crash, _move, _move, _grow),
)
"""A deck of cards: all of them are dealt before it is shuffled again."""


def draw(seed: int, clients: Sequence[str], faults_ms: int) -> Plan:
    """The plan of this seed: faults begin for `faults_ms` after the warm-up."""
    drawn = _Draw(seed, len(clients))
    random = drawn.random
    rebalance: Literal["eager", "cooperative"] = random.choice(("eager", "cooperative"))
    members = tuple(
        MemberPlan(number, client, f"instance-{number}" if random.random() < 1 / 3 else "", random.choice((200, 1_000)))
        for number, client in enumerate(clients)
    )
    now_ms, end_ms, deck = WARM_UP_MS, WARM_UP_MS, list[Callable[[_Draw, int], int]]()
    while now_ms < WARM_UP_MS + faults_ms:
        if not deck:
            deck = random.sample(FAULTS, len(FAULTS))
        end_ms = max(end_ms, deck.pop()(drawn, now_ms))
        now_ms += random.randrange(500, 4_000)
    steps = tuple(sorted(drawn.steps, key=lambda step: step.at_ms))
    return Plan(seed, rebalance, members, steps, end_ms, records_per_second=200)


def shorter(plan: Plan, steps: Sequence[int]) -> Plan:
    """With these steps alone, by their places in the plan."""
    return replace(plan, steps=tuple(step for place, step in enumerate(plan.steps) if place in set(steps)))
