"""A process with a whole consumer in it, whose threads run one at a time, in an order drawn from the seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from random import Random
from typing import Final, cast

from groupspec.conformance.simulation.logs import RangeDecoder
from groupspec.conformance.simulation.network import Link
from groupspec.conformance.simulation.plan import MemberPlan
from groupspec.conformance.simulation.process import Process, World
from groupspec.conformance.simulation.threaded import ThreadedApplication
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.config import Settings
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import ResponseReceived, SendRequest
from groupspec.impl.core.messages import Response
from groupspec.impl.core.transport import Transport
from groupspec.impl.run_to_idle import RunToIdleRuntime
from groupspec.impl.runtime import Runtime
from groupspec.impl.threads.designs import DESIGNS, Design
from groupspec.impl.threads.driver import Driver

SWITCHES: Final = 0.05
"""How often another thread goes on where more than one could."""


class DrawnRuntime(RunToIdleRuntime):
    """Its schedule is drawn."""

    def __init__(self, random: Random, start_ms: int) -> None:
        super().__init__(start_ms=start_ms)
        self._random = random

    def choose(self, options: Sequence[object]) -> int:
        """Mostly the one that runs."""
        return self._random.randrange(len(options)) if self._random.random() < SWITCHES else 0


class LinkTransport:
    """The simulated network, as a driver asks for it. Implements `groupspec.impl.core.transport.Transport`."""

    def __init__(self, link: Link, runtime: Runtime, taken: Callable[[Response], None]) -> None:
        self._link = link
        self._taken = taken
        self._news = runtime.condition("simulated network", from_outside=True)
        self._ready: list[ResponseReceived] = []
        self._is_woken = False

    def connect_coordinator(self, node_id: int, host: str, port: int) -> None:
        """See Transport."""
        self._link.connect_coordinator(node_id)

    def disconnect_coordinator(self) -> None:
        """See Transport."""
        self._link.disconnect_coordinator()

    def send(self, request: SendRequest, now_ms: int) -> None:
        """See Transport."""
        self._link.send(request)

    def poll(self, timeout_ms: int) -> list[ResponseReceived]:
        """See Transport."""
        with self._news:
            self._news.wait_for(lambda: self._ready or self._is_woken, timeout_ms)
            self._is_woken = False
            ready, self._ready = self._ready, []
        for received in ready:
            self._taken(received.response)
        return ready

    def wake(self) -> None:
        """See Transport."""
        with self._news:
            self._is_woken = True
            self._news.notify_all()

    def close(self, timeout_ms: int) -> None:
        """See Transport: connections break when the process ends, which is now."""

    def answer(self, received: ResponseReceived) -> None:
        """An answer has come."""
        with self._news:
            self._ready.append(received)
            self._news.notify_all()


class ConsumerProcess(Process):
    """Whenever something happens in it, its threads run until all of them wait."""

    application: ThreadedApplication

    def __init__(self, run: World, plan: MemberPlan, incarnation: int, design: Design) -> None:
        super().__init__(run, plan, incarnation)
        self._design = design
        if design == "heartbeat":  # JoinGroup waits for poll(): other lines come first, as in what a broker sees
            self.trace_source = "wire"
        self._runtime = DrawnRuntime(self._random, run.loop.now_ms)
        self._transport = LinkTransport(self.link, self._runtime, partial(run.taken, self))
        settings = {one.name: getattr(plan.config, one.name) for one in fields(plan.config)}
        consumer = Consumer(
            runtime=self._runtime,
            transport=self._transport,
            decoder=RangeDecoder(),
            driver=self._make_driver,
            trace=self.told,
            **cast("Settings", settings),
        )
        self.application = ThreadedApplication(self, run.ledger, run.watch, consumer, self._runtime)

    def _make_driver(self, core: Core, transport: Transport, runtime: Runtime) -> Driver:
        self.core, self.subscription = core, core.subscription
        return DESIGNS[self._design](core, transport, runtime)

    def start(self) -> None:
        """See Process."""
        self.happens(self.application.start)

    def answered(self, request_id: int, response: Response, throttle_ms: int = 0) -> None:
        """See Peer."""
        self._transport.answer(ResponseReceived(request_id, response, throttle_ms))

    def next_deadline_ms(self) -> int | None:
        """See Process."""
        return self._runtime.next_deadline_ms()

    def time_passes(self) -> None:
        """See Process: `happens` has moved the clock."""

    def happens(self, what: Callable[[], None]) -> None:
        """See Peer."""
        super().happens(lambda: self._happens(what))

    def _happens(self, what: Callable[[], None]) -> None:
        self._runtime.jump_to(self.loop.now_ms)
        what()
        if not self.is_alive:
            return
        self._runtime.run_until_idle()
        if self.application.has_ended:
            self.end()
        else:
            self.arm()

    def end(self) -> None:
        """See Member."""
        self.unwind()
        super().end()

    def unwind(self) -> None:
        """See Process."""
        self._runtime.close()
