"""When a heartbeat is due, when the session has expired, when the application polls too seldom: Kafka's `Heartbeat`.

Names and arithmetic are those of the class in org.apache.kafka.clients.consumer.internals. Its timers are the core's:

    heartbeatTimer   "heartbeat"       sessionTimer   "session"       pollTimer   "poll_interval"

A timer has expired when now >= deadline. One that does not run never expires.
"""

from __future__ import annotations

from groupspec.impl.core.context import Context
from groupspec.impl.core.timers import HEARTBEAT_TIMERS, is_expired


class Heartbeat:
    """The times of one member.

    Attributes:
        last_heartbeat_send_ms: When the last heartbeat was sent; 0 before the first one.
        last_heartbeat_receive_ms: When the coordinator last showed that it takes this member for one.
        last_poll_ms: When the application last polled, as far as the poll interval is concerned.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._timers = context.timers
        self.last_heartbeat_send_ms = self.last_heartbeat_receive_ms = self.last_poll_ms = 0
        self._failures = 0  # since the last one that was answered

    # What has happened ------------------------------------------------------------------------------------------------

    def reset_timeouts(self) -> None:
        """All three anew: a JoinGroup was accepted."""
        config = self._context.config
        self._context.arm("session", config.session_timeout_ms)
        self.poll()
        self._context.arm("heartbeat", config.heartbeat_interval_ms)

    def poll(self) -> None:
        """The application has polled."""
        self.last_poll_ms = self._context.now_ms
        self._context.arm("poll_interval", self._context.config.max_poll_interval_ms)

    def sent_heartbeat(self) -> None:
        """One is about to be sent: the next is due an interval from now, whenever the answer comes (rule H2)."""
        self.last_heartbeat_send_ms = self._context.now_ms
        self._context.arm("heartbeat", self._context.config.heartbeat_interval_ms)

    def receive_heartbeat(self) -> None:
        """One was answered by a coordinator that takes this member for one."""
        self.last_heartbeat_receive_ms = self._context.now_ms
        self._failures = 0
        self.reset_session_timeout()

    def fail_heartbeat(self) -> None:
        """One has failed: the next try comes after the backoff, not after the interval (rule H7)."""
        self._context.arm("heartbeat", self._context.config.growing_backoff_ms(self._failures))
        self._failures += 1

    def reset_session_timeout(self) -> None:
        """The coordinator was found: time to prove itself."""
        self._context.arm("session", self._context.config.session_timeout_ms)

    def disable(self) -> None:
        """No membership, no times."""
        self._timers.disarm(*HEARTBEAT_TIMERS)

    # What is so -------------------------------------------------------------------------------------------------------

    def should_heartbeat(self, now_ms: int) -> bool:
        """Whether it is time for the next one."""
        return self._has_expired("heartbeat", now_ms)

    def session_timeout_expired(self, now_ms: int) -> bool:
        """Whether the coordinator has given no sign of life for the session timeout."""
        return self._has_expired("session", now_ms)

    def poll_timeout_expired(self, now_ms: int) -> bool:
        """Whether the application has not polled for the poll interval."""
        return self._has_expired("poll_interval", now_ms)

    def time_to_next_heartbeat_ms(self, now_ms: int) -> int | None:
        """How long until the next one is due, at least 0; None if there are no heartbeats."""
        deadline_ms = self._timers.deadline_ms("heartbeat")
        return None if deadline_ms is None else max(0, deadline_ms - now_ms)

    def _has_expired(self, timer: str, now_ms: int) -> bool:
        deadline_ms = self._timers.deadline_ms(timer)
        return deadline_ms is not None and is_expired(deadline_ms, now_ms)
