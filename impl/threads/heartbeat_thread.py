"""The heartbeat thread: the loop of Kafka's AbstractCoordinator.HeartbeatThread, its gates and checks in its order.

    under the monitor of the coordinator, again and again:
      closed?                      end
      not enabled?                 wait to be notified
      not in the group, or failed? disable
      poll the network, without waiting
      coordinator unknown?         look it up, wait for the retry backoff
      session timeout expired?     the coordinator is unknown from now on
      poll timeout expired?        leave the group
      no heartbeat due?            wait for the retry backoff
      else                         mark one as sent, send it

It is enabled by the answer to JoinGroup, and disables itself. Whatever it raises is kept, ends it, and is raised by the
next call that needs it; a later poll() starts another thread (rule H6).
"""

from __future__ import annotations

import logging
from typing import ClassVar, Final, Protocol

from groupspec.impl.core.core import Core
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.timers import is_expired
from groupspec.impl.runtime import Condition, Runtime, Thread
from groupspec.impl.threads.network_client import NetworkClient

_log = logging.getLogger(__name__)

MAX_WAIT_MS: Final = 5_000
"""How long the thread sleeps at most while it is not enabled.

Kafka's sleeps until it is notified. Nobody can notify it for a consumer that is garbage (`Driver.abandon`).
"""


class Owner(Protocol):
    """What the thread works for: `heartbeat.HeartbeatDriver`. All but the last are called with the monitor held."""

    def is_over(self) -> bool:
        """Whether nobody needs the thread any more."""

    def take_answers(self) -> None:
        """Hand the answers that have come over to the core, which may do no more than this thread."""

    def expire(self, timer: str) -> None:
        """This timer of the core's has run out."""

    def heartbeat_thread_ended(self, failure: Exception | None) -> None:
        """It runs no more."""


class HeartbeatThread:
    """One thread, from start to end.

    Attributes:
        enabled: Whether there is a membership to keep alive. Changed under the monitor.
        closed: Whether it is to end. Changed under the monitor.
    """

    SHARED_FIELDS: ClassVar = ("closed",)
    """See `scheduling.shared_fields`."""

    def __init__(
        self, owner: Owner, core: Core, client: NetworkClient, monitor: Condition, runtime: Runtime, enabled: bool
    ) -> None:
        self._owner = owner
        self._core = core
        self._client = client
        self._monitor = monitor
        self._runtime = runtime
        self.enabled = enabled
        self.closed = False
        self._thread: Thread = runtime.thread(self._run, "heartbeat")

    def start(self) -> None:
        """Begin; with the monitor held."""
        self._thread.start()

    def join(self, timeout_ms: int) -> bool:
        """Wait for its end; False if it still runs after that time."""
        return self._thread.join(timeout_ms)

    # With the monitor held --------------------------------------------------------------------------------------------

    def enable(self) -> None:
        """A JoinGroup was accepted."""
        self.enabled = True
        self._monitor.notify_all()

    def disable(self) -> None:
        """There is no membership any more."""
        self.enabled = False

    def close(self) -> None:
        """End as soon as possible."""
        self.closed = True
        self._monitor.notify_all()

    # The thread itself ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            while True:
                with self._monitor:
                    if self.closed or self._owner.is_over():
                        return
                    self._turn()
        except Exception as error:
            error.add_note("this ended the heartbeat thread; after it has been reported a poll() starts another one")
            failure = error
            _log.exception("%r ended the heartbeat thread: the next poll() raises it", error)
        except BaseException as error:  # none of ours: whoever meant to end the thread with it gets it, too
            failure = KafkaError(f"The heartbeat thread was ended by {type(error).__name__}: {error}")
            failure.__cause__ = error
            raise
        finally:
            self.closed = True
            self._owner.heartbeat_thread_ended(failure)

    def _turn(self) -> None:
        """Once round."""
        if not self.enabled:
            self._monitor.wait(MAX_WAIT_MS)
        elif not self._core.heartbeats.enabled:
            self.disable()
        else:
            self._client.poll_no_wakeup()
            self._owner.take_answers()
            self._check(self._runtime.now_ms())

    def _check(self, now_ms: int) -> None:
        heartbeat, backoff_ms = self._core.heartbeats.heartbeat, self._core.config.retry_backoff_ms
        if not self._core.connection.is_known:
            self._look_up(now_ms)
            self._wait(backoff_ms)
        elif heartbeat.session_timeout_expired(now_ms):
            self._owner.expire("session")
        elif heartbeat.poll_timeout_expired(now_ms):
            self._owner.expire("poll_interval")
            self._client.poll_no_wakeup()
        elif not heartbeat.should_heartbeat(now_ms):
            self._wait(backoff_ms)
        else:
            self._owner.expire("heartbeat")

    def _wait(self, duration_ms: int) -> None:
        """An answer may have been all that a heartbeat waited for: whatever is to be sent is sent before."""
        self._client.transmit_sends()
        self._monitor.wait(duration_ms)

    def _look_up(self, now_ms: int) -> None:
        """The core has sent FindCoordinator when the coordinator was lost, and does so again after a backoff."""
        backoff_ms = self._core.timers.deadline_ms("lookup_backoff")
        if backoff_ms is not None and is_expired(backoff_ms, now_ms):
            self._owner.expire("lookup_backoff")
