"""Scenarios under schedules: draws both from one seed, runs them, and makes the first failure short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from groupspec.conformance.checks.lives import expect_kept
from groupspec.conformance.garbage import no_garbage_collection, one_by_one
from groupspec.conformance.history.life import Life
from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.application import Application
from groupspec.conformance.schedules.encoded_transport import EncodedTransport
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.group import RacingGroup
from groupspec.conformance.schedules.logs import EpochDecoder, HolesDecoder
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.noted import Noted
from groupspec.conformance.schedules.requests import Requests
from groupspec.conformance.schedules.scenario import GROUP, Scenario
from groupspec.conformance.schedules.times import SETTINGS
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.scheduling import Outcome, ScheduledRuntime, replay, run, shortened, watched
from groupspec.impl.scheduling.exploring import read, spelled
from groupspec.impl.scheduling.strategies import Pct, Pos, RandomWalk, Stall, Strategy, Tear
from groupspec.impl.testing import PLAIN_DECODER
from groupspec.impl.threads.background import BackgroundDriver
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.designs import Design
from groupspec.impl.threads.futures import Future
from groupspec.impl.threads.heartbeat import HeartbeatDriver
from groupspec.impl.threads.heartbeat_thread import HeartbeatThread

SHARED: Final = (BackgroundDriver, CallGuard, Callbacks, Future, HeartbeatDriver, HeartbeatThread, RacingTransport)
"""The classes with fields that threads share without a lock."""

END_MS: Final = 1_800_000
"""Virtual time within which every run has to end, closes included."""

MAX_REQUESTS_PER_S: Final = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """A scenario and a schedule under which a promise is broken."""

    design: Design
    seed: int
    scenario: Scenario
    outcome: Outcome

    def __str__(self) -> str:
        """What went wrong, and how to bring it about again."""
        return f"seed {self.seed}\n{self.scenario}\n{self.outcome}\n{self.replay}"

    @property
    def replay(self) -> str:
        """The command that brings it about again."""
        choices = spelled(self.outcome.schedule)
        return f"replay: groupspec test --driver {self.design} --seed {self.seed} --choices '{choices}'"

    def data(self) -> dict[str, object]:
        """The failure in the shape of its JSON Schema."""
        return {
            "seed": self.seed,
            "scenario": str(self.scenario),
            "error": f"{type(self.outcome.error).__name__}: {self.outcome.error}",
            "choices": spelled(self.outcome.schedule),
            "steps": [f"{name}: {what}" for name, what in self.outcome.trace],
        }


def play(
    scenario: Scenario, design: Design = "background", keep: Callable[[Life], None] = lambda _: None
) -> Callable[[ScheduledRuntime], None]:
    """The work that a schedule orders: one member from its first call to its end, whose life is judged then.

    `keep`: is given that life, be it that it was broken off.
    """

    def work(runtime: ScheduledRuntime) -> None:
        with no_garbage_collection(), Seam() as seam:
            noted = Noted(seam, scenario, runtime)
            try:
                with watched(SHARED, runtime.minor_point):
                    _play(runtime, scenario, design)
            finally:
                keep(noted.life(design))
        expect_kept(noted.life(design))

    return work


def _play(runtime: ScheduledRuntime, scenario: Scenario, design: Design) -> None:
    runtime.timers_race = scenario.timers_race
    requests = Requests(scenario, at_once=design == "background")
    transport = _transport(runtime, scenario, requests)
    group = RacingGroup(runtime, scenario, transport)
    if isinstance(transport, EncodedTransport):
        transport.holds_back = group.holds_back
    application = Application(runtime, scenario, group, transport, requests)
    consumer = Consumer(
        runtime=runtime,
        transport=transport,
        decoder=EpochDecoder() if scenario.elects_ms else HolesDecoder() if scenario.holes else PLAIN_DECODER,
        value_deserializer=application.deserialize,
        driver=design,
        group_id=GROUP,
        group_instance_id=scenario.instance_id,
        enable_auto_commit=scenario.auto_commit,
        partition_assignment_strategy=scenario.assignors,
        auto_offset_reset=scenario.reset,
        max_poll_records=scenario.at_most,
        session_timeout_ms=SETTINGS["session_timeout_ms"],
        heartbeat_interval_ms=SETTINGS["heartbeat_interval_ms"],
        max_poll_interval_ms=SETTINGS["max_poll_interval_ms"],
        request_timeout_ms=SETTINGS["request_timeout_ms"],
        metadata_max_age_ms=SETTINGS["metadata_max_age_ms"] if scenario.leads or scenario.pattern else 300_000,
    )
    others: dict[str, Callable[[], None]] = {
        "wakeup": lambda: application.wakeup(consumer),
        "close": lambda: application.close(consumer, 500),
        "close at once": lambda: application.close(consumer, 0),
    }
    threads = [runtime.thread(lambda: application.work(consumer), "application")]
    for number, (what, call) in enumerate(scenario.others):
        later = partial(_later, runtime, scenario.others_wait_ms, others[what])
        threads.append(runtime.thread(later, f"{what} {number}"))
        application.races_with(threads[-1], what, call)
    threads[0].start()
    began_ms = runtime.now_ms()
    runtime.run_until(lambda: transport.closed and not any(thread.is_alive() for thread in threads), END_MS)
    transport.expect_whole()
    assert design not in runtime.alive(), f"close() has left its thread behind (rule L4); {runtime.report()}"
    seconds = 1 + (runtime.now_ms() - began_ms) / 1_000
    assert group.requests <= MAX_REQUESTS_PER_S * seconds, f"{group.requests} requests in {seconds:.0f} s"


def _transport(runtime: ScheduledRuntime, scenario: Scenario, requests: Requests) -> RacingTransport:
    if scenario.brokers is None:
        return RacingTransport(runtime, requests, scenario.breaks)
    return EncodedTransport(runtime, requests, scenario.breaks, scenario.brokers)


def _later(runtime: ScheduledRuntime, wait_ms: int, act: Callable[[], None]) -> None:
    runtime.sleep_ms(wait_ms)
    act()


def strategy(seed: int) -> Strategy:
    """The way in which the choices of this run are drawn."""
    made: tuple[Callable[[], Strategy], ...] = (
        lambda: Pos(seed),
        lambda: Stall(seed),
        lambda: Tear(seed, often=0.04),
        lambda: Pos(seed),
        lambda: RandomWalk(seed),
        lambda: Pct(seed, depth=2 + seed % 4, steps=1_000),
    )
    return made[seed % len(made)]()


def search(
    schedules: int,
    seed: int,
    finished: Callable[[int], None] = lambda _: None,
    shrink: bool = True,
    design: Design = "background",
) -> Failure | None:
    """Run so many schedules, each with a scenario of its own; the first failure, made short if wanted."""
    for number in one_by_one(range(seed, seed + schedules)):
        chosen = draw(number)
        outcome = run(play(chosen, design), strategy(number))
        if outcome.error is not None:
            short = shortened(play(chosen, design), outcome) if shrink else outcome
            return Failure(design, number, chosen, short)
        del outcome  # for speed: it is not there any more when garbage is looked for
        finished(number)
    return None


def replayed(seed: int, choices: str, design: Design = "background") -> Failure | None:
    """The run of this number under the choices that a failure has told.

    Raises:
        ValueError: the text is no list of choices.
    """
    outcome = replay(play(draw(seed), design), read(choices))
    return Failure(design, seed, draw(seed), outcome) if outcome.error is not None else None
