"""Scenarios under schedules: draws both from one seed, runs them, and makes the first failure short."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.schedules.application import Application, CallbackRaised
from groupspec.conformance.schedules.group import RacingGroup, RacingTransport
from groupspec.conformance.schedules.scenario import Scenario, draw
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.errors import IllegalStateError
from groupspec.impl.scheduling import Outcome, ScheduledRuntime, run, shortened, watched
from groupspec.impl.scheduling.exploring import spelled
from groupspec.impl.scheduling.strategies import Pct, RandomWalk, Strategy, Tear
from groupspec.impl.testing import PLAIN_DECODER
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.futures import Future

SHARED: Final = (BackgroundDriver, CallGuard, Callbacks, Future, RacingTransport)
"""The classes with fields that threads share without a lock."""

END_MS: Final = 1_800_000
"""Virtual time within which every run has to end, closes included."""

MAX_REQUESTS_PER_S: Final = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """A scenario and a schedule under which a promise is broken."""

    seed: int
    scenario: Scenario
    outcome: Outcome

    def __str__(self) -> str:
        """What went wrong, and how to bring it about again."""
        return f"seed {self.seed}\n{self.scenario}\n{self.outcome}"

    def data(self) -> dict[str, object]:
        """The failure in the shape of its JSON Schema."""
        return {
            "seed": self.seed,
            "scenario": str(self.scenario),
            "error": f"{type(self.outcome.error).__name__}: {self.outcome.error}",
            "schedule": spelled(self.outcome.schedule),
            "steps": [f"{name}: {what}" for name, what in self.outcome.trace],
        }


def play(scenario: Scenario) -> Callable[[ScheduledRuntime], None]:
    """The work that a schedule orders: one member from its first call to its end."""

    def work(runtime: ScheduledRuntime) -> None:
        with watched(SHARED, runtime.minor_point):
            _play(runtime, scenario)

    return work


def _play(runtime: ScheduledRuntime, scenario: Scenario) -> None:
    runtime.timers_race = scenario.timers_race
    transport = RacingTransport(runtime)
    group = RacingGroup(scenario, transport)
    application = Application(runtime, scenario, group)
    consumer = Consumer(
        runtime=runtime,
        transport=transport,
        decoder=PLAIN_DECODER,
        group_id="billing",
        enable_auto_commit=scenario.auto_commit,
        partition_assignment_strategy=("cooperative-sticky",) if scenario.cooperative else ("range",),
        auto_offset_reset="earliest",
        session_timeout_ms=10_000,
        heartbeat_interval_ms=1_000,
        max_poll_interval_ms=20_000,
        request_timeout_ms=11_000,
    )
    others: dict[str, Callable[[], None]] = {
        "wakeup": consumer.wakeup,
        "close": lambda: _close(consumer, 500),
        "close at once": lambda: _close(consumer, 0),
    }
    threads = [runtime.thread(lambda: application.work(consumer), "application")]
    threads += [runtime.thread(others[what], f"{what} {number}") for number, what in enumerate(scenario.others)]
    for thread in threads:
        thread.start()
    began_ms = runtime.now_ms()
    runtime.run_until(lambda: transport.closed and not any(thread.is_alive() for thread in threads), END_MS)
    seconds = 1 + (runtime.now_ms() - began_ms) / 1_000
    assert group.requests <= MAX_REQUESTS_PER_S * seconds, f"{group.requests} requests in {seconds:.0f} s"


def _close(consumer: Consumer, timeout_ms: int) -> None:
    """From another thread. A background thread that is held up, or a callback that raises, is the call's error."""
    with suppress(IllegalStateError, CallbackRaised):
        consumer.close(timeout_ms)


def strategy(seed: int) -> Strategy:
    """The way in which the choices of this run are drawn."""
    return (Tear(seed), Pct(seed, depth=2 + seed % 4, steps=2_000), Tear(seed), RandomWalk(seed, stay=0.8))[seed % 4]


def search(
    schedules: int, seed: int, scenario: Scenario | None = None, finished: Callable[[int], None] = lambda _: None
) -> Failure | None:
    """Run so many schedules, each with a scenario of its own unless one is given; the first failure, made short."""
    for number in range(seed, seed + schedules):
        chosen = scenario or draw(number)
        outcome = run(play(chosen), strategy(number))
        if outcome.error is not None:
            return Failure(number, chosen, shortened(play(chosen), outcome))
        finished(number)
    return None
