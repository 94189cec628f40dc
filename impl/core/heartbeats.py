"""Heartbeats, and the three timers of a member (KIP-62): heartbeat, session, poll interval (`heartbeat`).

They run from the moment a JoinGroup is accepted until the next one is sent, or the identity is gone (rules H1, H3). The
checks follow Kafka's heartbeat thread: while the coordinator is unknown nothing expires; then the session, then the
poll interval, then a due heartbeat. An expired session is no membership event: it only casts doubt on the coordinator
(H5).
"""

from __future__ import annotations

from enum import Enum

from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import error_for
from groupspec.impl.core.events import COORDINATOR
from groupspec.impl.core.heartbeat import Heartbeat
from groupspec.impl.core.messages import ErrorCode, HeartbeatRequest, NoAnswer, Response
from groupspec.impl.core.rebalance import Rebalance
from groupspec.impl.core.requests import Requests, Sent


class HeartbeatState(Enum):
    """STOPPED: not started, or closed. DISABLED: not in a group. IN_FLIGHT: one is out, at most one is (rule H7)."""

    STOPPED = "STOPPED"
    DISABLED = "DISABLED"
    IDLE = "IDLE"
    IN_FLIGHT = "IN_FLIGHT"


class Heartbeats:
    """When to say "still here", and when to doubt."""

    def __init__(self, context: Context, requests: Requests, connection: Connection, membership: Rebalance) -> None:
        self._context = context
        self._requests = requests
        self._connection = connection
        self._membership = membership
        self.state = HeartbeatState.STOPPED
        self.heartbeat = Heartbeat(context)
        self._in_flight: Sent | None = None
        self._due = False
        self._poll_overdue = False  # the poll interval ran out while the coordinator was unknown

    @property
    def enabled(self) -> bool:
        """Whether this is a member that has to show signs of life."""
        return self.state in (HeartbeatState.IDLE, HeartbeatState.IN_FLIGHT)

    def start(self) -> None:
        """The background thread runs; there is no membership yet."""
        self.state = HeartbeatState.DISABLED

    def enable(self) -> None:
        """A JoinGroup was accepted: all three timers start anew."""
        self.state = HeartbeatState.IDLE
        self._due = self._poll_overdue = False
        self.heartbeat.reset_timeouts()

    def disable(self) -> None:
        """A JoinGroup is about to be sent, or the membership is gone. One in flight is given up."""
        if self.enabled:
            self._requests.give_up(self._in_flight)
            self._in_flight = None
            self.state = HeartbeatState.DISABLED
        self.heartbeat.disable()

    def stop(self) -> None:
        """The end."""
        self.disable()
        self.state = HeartbeatState.STOPPED

    def polled(self) -> None:
        """The application polled: the poll interval starts anew, whatever else is going on (rule P2)."""
        if self.enabled:
            self._poll_overdue = False
            self.heartbeat.poll()

    def progress(self) -> None:
        """Send a heartbeat if one is due, none is in flight, and the coordinator is known."""
        if self._due and self.state is HeartbeatState.IDLE and self._connection.is_known:
            self._send()

    def _send(self) -> None:
        """Send one, and before that mark it as sent."""
        config, identity = self._context.config, self._context.identity
        self._due = False
        self.state = HeartbeatState.IN_FLIGHT
        self.heartbeat.sent_heartbeat()
        self._in_flight = self._requests.send(
            HeartbeatRequest(config.group_id or "", identity.generation, identity.member_id, config.group_instance_id),
            COORDINATOR,
            config.request_timeout_ms,
        )
        self._context.note("heartbeat_sent")

    # Timers ----------------------------------------------------------------------------------------------------------

    def heartbeat_due(self) -> None:
        """The interval is over (rule H2). If the coordinator is unknown, the heartbeat waits until it is found."""
        self._context.timers.disarm("heartbeat")
        self._due = self.enabled

    def session_expired(self) -> None:
        """No sign of life of the coordinator's: look for it anew, and keep the identity (rule H5)."""
        self._context.timers.disarm("session")
        if self.enabled and self._connection.is_known:
            self._context.note("session_expired")
            self._connection.forget("the session timed out without an answer to a heartbeat")

    def poll_interval_expired(self) -> None:
        """The application has not polled. While the coordinator is unknown this waits: LeaveGroup cannot be sent.

        It may have polled a little later than the core was told (`Consumer._take_at_hand`): then this is too early.
        """
        self._context.timers.disarm("poll_interval")
        if not self.enabled:
            return
        polled_ms, config = self._context.subscription.positions.take_quiet_poll_ms(), self._context.config
        if polled_ms is not None and polled_ms + config.max_poll_interval_ms > self._context.now_ms:
            self._context.timers.arm("poll_interval", polled_ms + config.max_poll_interval_ms)
            return
        if self._connection.is_known:
            self._membership.poll_interval_expired()
        else:
            self._poll_overdue = True

    def coordinator_found(self) -> None:
        """Time to prove itself again for the coordinator; and what waited for it happens now."""
        if not self.enabled:
            return
        self.heartbeat.reset_session_timeout()
        if self._poll_overdue:
            self._membership.poll_interval_expired()

    # Answers ---------------------------------------------------------------------------------------------------------

    def accepted(self) -> None:
        """All is well."""
        self._ended()
        self._sign_of_life()

    def rebalance_announced(self) -> None:
        """The group rebalances: a sign of life as good as any (rule H1), and a reason to rejoin."""
        self._ended()
        self._sign_of_life()
        self._membership.rebalance_announced("the group is already rebalancing")

    def coordinator_gone(self, code: ErrorCode) -> None:
        """The coordinator moved, or can't be reached."""
        self._failed()
        self._connection.forget(f"heartbeat: {code.name}")

    def retry_later(self) -> None:
        """A passing failure that says nothing about the coordinator's place."""
        self._failed()

    def generation_gone(self) -> None:
        """The group went on without this member; its id is still known."""
        self._ended()
        self._membership.lose_identity(keep_member_id=True)

    def member_unknown(self) -> None:
        """The coordinator has removed this member."""
        self._ended()
        self._membership.lose_identity(keep_member_id=False)

    def fenced(self, code: ErrorCode) -> None:
        """Another process has the same instance id: tell the application, and be silent from now on (rule X2)."""
        self._ended()
        error = error_for(code, f"Heartbeat of instance {self._context.config.group_instance_id!r}")
        self._context.report(error)
        self._membership.fenced(error)

    def refused(self, code: ErrorCode) -> None:
        """Anything else surfaces; the heartbeats go on (rule H4)."""
        self._failed()
        self._context.report(error_for(code, f"Heartbeat in group {self._context.config.group_id!r}"))

    def late(self, response: Response) -> None:
        """An answer for an identity of the past: it only shows that the coordinator lives."""
        if self.enabled and not isinstance(response, NoAnswer):
            self._sign_of_life()

    def _ended(self) -> None:
        """Whatever the outcome, none is in flight any more (rule H7). One that `disable` gave up never ends here."""
        self._in_flight = None
        self.state = HeartbeatState.IDLE

    def _failed(self) -> None:
        """The next try comes sooner."""
        self._ended()
        self._due = False
        self.heartbeat.fail_heartbeat()

    def _sign_of_life(self) -> None:
        self.heartbeat.receive_heartbeat()
