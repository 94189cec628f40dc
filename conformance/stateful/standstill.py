"""The application's thread made to stand still inside poll(), as the system may do with any thread, for any time.

It stands where it has looked for callbacks and found none. What happens meanwhile is then the first that it finds, in
the same poll(): a callback that became due begins without another poll() before it; and a callback that the last one
led to waits, due and not begun.
"""

from __future__ import annotations

from groupspec.impl.core.events import ConsumerEvent
from groupspec.impl.runtime import Runtime
from groupspec.impl.testing import RecordedDriver


class Standstill:
    """Stops whoever looks for callbacks, once it has begun.

    Attributes:
        stands: Whether somebody stands still just now.
    """

    def __init__(self, driver: RecordedDriver, runtime: Runtime) -> None:
        self._look = driver.next_consumer_event
        self._gone_on = runtime.condition("the application stands still", from_outside=True)
        self._active = False
        self._passes = 0
        self.stands = False
        driver.next_consumer_event = self._look_and_stand  # type: ignore[method-assign]

    def begin(self) -> None:
        """From now on. The first look of a poll() passes: it comes before the poll() is told to the driver."""
        self._active, self._passes = True, 1

    def end(self) -> None:
        """Nobody is stopped any more."""
        self._active = False

    def step(self) -> None:
        """Whoever stands goes on, to the next look that finds nothing."""
        with self._gone_on:
            self.stands = False
            self._gone_on.notify_all()

    def _look_and_stand(self) -> ConsumerEvent | None:
        event = self._look()
        if event is not None or not self._active:
            return event
        if self._passes:
            self._passes -= 1
            return None
        with self._gone_on:
            self.stands = True
            self._gone_on.wait_for(lambda: not self.stands)
        return None
