"""On whose behalf a core is driven: which of its timers may fire, and which of its parts may make progress.

A driver with one thread for everything has no need of this. In the design of KIP-62 two threads drive one core, and the
heartbeat thread "is only allowed to send heartbeats in order to keep the member alive and to send the explicit
LeaveGroup": whatever else an event makes possible waits for the calling thread.
"""

from __future__ import annotations

from enum import Enum

from groupspec.impl.core.timers import HEARTBEAT_TIMERS, ORDER

_CALLER = tuple(timer for timer in ORDER if timer not in HEARTBEAT_TIMERS)
_TIMERS = {"all": ORDER, "heartbeat": ("lookup_backoff", *HEARTBEAT_TIMERS)}


class Scope(Enum):
    """Who it is.

    ALL: one thread that does everything. POLL: the calling thread inside poll(); everything but the timers of the
    heartbeats. CALL: the calling thread inside any other call; nor JoinGroup, nor Fetch. HEARTBEAT: the heartbeat
    thread; heartbeats, and the coordinator that they need.

    Attributes:
        timers: Those that may fire, in firing order.
    """

    ALL = "all"
    POLL = "poll"
    CALL = "call"
    HEARTBEAT = "heartbeat"

    def __init__(self, who: str) -> None:
        self.timers = _TIMERS.get(who, _CALLER)
