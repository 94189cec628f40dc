"""What every call of the consumer's API rests on: the parts of a consumer, and how a call waits for an outcome.

The API itself stands in `consumer` (topics, records, commits, the end) and `partition_calls` (where to read, and what
there is to read).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from groupspec.impl import arguments
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.core import events
from groupspec.impl.core.config import Config, Settings
from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import KafkaTimeoutError
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.transport import Transport
from groupspec.impl.journal import Journal
from groupspec.impl.records import RecordDecoder
from groupspec.impl.runtime import Runtime, ThreadingRuntime
from groupspec.impl.threads.call_guard import CallGuard
from groupspec.impl.threads.designs import Design, driver_factory
from groupspec.impl.threads.driver import DriverFactory
from groupspec.impl.threads.futures import Future
from groupspec.impl.trace import TraceSink

GRACE_MS: Final = 1_000
"""How much longer than a deadline to wait for the core, which keeps the same deadline and knows better what happened.
"""


class Calls:
    """The parts of a consumer, and waiting."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        runtime: Runtime | None,
        transport: Transport | None,
        decoder: RecordDecoder | None,
        driver: Design | DriverFactory,
        trace: TraceSink | None,
        settings: Settings,
    ) -> None:
        self._config = Config.of(settings)
        for doubt in self._config.doubts:
            Journal(self._config.client_id, self._config.group_id).say(__name__, doubt, logging.WARNING)
        self._runtime = runtime or ThreadingRuntime()
        if transport is None or decoder is None:
            from groupspec.impl import wiring  # knows both sides; not needed with a network of one's own

            transport = transport or wiring.socket_transport(bootstrap_servers, self._config, self._runtime)
            decoder = decoder or wiring.BatchDecoder(self._config.check_crcs)
        self._subscription = SubscriptionState(lambda: self._runtime.lock("subscription"))
        self._positions = self._subscription.positions
        core = Core(self._config, self._subscription, trace)
        core.context.epoch_ms = self._runtime.epoch_ms()
        self._driver = driver_factory(driver)(core, transport, self._runtime)
        self._call_guard = CallGuard(self._runtime)
        self._callbacks = Callbacks(self._driver, self._subscription, self._call_guard, self._runtime.lock("callbacks"))
        self._decoder = decoder

    def _limit_ms(self, timeout_ms: int | None, call: str) -> int:
        """How long this call may take: default_api_timeout_ms unless its caller says otherwise."""
        return arguments.timeout(self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms, call)

    def _await(self, call: str, event: Callable[[int], events.ServerEvent], deadline_ms: int) -> object:
        """Wait for a future; callbacks of earlier asynchronous commits run before this returns (rule M6).

        A wakeup ends the waiting, not what was asked for: nothing is asked if it came before; else the commit goes on
        (in the heartbeat design as soon as a later call serves the network), and nobody hears its outcome.
        """
        self._need_background()
        self._call_guard.check_interrupted()
        future: Future = self._driver.call(event)
        while not future.done:
            in_time = self._driver.wait_until(
                lambda: future.done or self._call_guard.is_interrupted(), deadline_ms + GRACE_MS
            )
            if not future.done:
                self._report_failure()
                self._call_guard.check_interrupted()
            if not in_time:
                raise KafkaTimeoutError(f"{call}: no answer in time")
        self._callbacks.run_commit_callbacks()
        outcome = future.outcome()
        self._callbacks.raise_first()
        return outcome

    def _need_background(self) -> None:
        """For calls that need the background thread: it runs, or why it ended is raised."""
        self._report_failure()
        self._driver.ensure_running()

    def _report_failure(self) -> None:
        """Raise what ended the background thread, once; the next call that needs it starts it again (rule H6)."""
        if (failure := self._driver.take_failure()) is not None:
            raise failure

    def _note_failure(self) -> None:
        """Have it raised when everything is done."""
        if (failure := self._driver.take_failure()) is not None:
            self._callbacks.add(failure)
