"""What the implementation tells about itself while it runs: one small event at each linearisation point.

An event says what has just happened, with its own small delta (the error, the generation, the partitions concerned):
never a snapshot of everything. Whoever reads the events in order can rebuild what is needed.
`groupspec.conformance.traces` has the schema and writes them down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field

EVENTS: Final = (
    "config",
    "subscribed",
    "unsubscribed",
    "poll",
    "lookup_sent",
    "lookup_answered",
    "coordinator_lost",
    "join_sent",
    "join_answered",
    "sync_sent",
    "sync_answered",
    "heartbeat_sent",
    "heartbeat_answered",
    "leave_sent",
    "leave_answered",
    "commit_sent",
    "commit_answered",
    "revoked_started",
    "revoked",
    "lost_started",
    "lost",
    "assigned_started",
    "assigned",
    "poll_expired",
    "session_expired",
    "throttled",
    "closed",
)
"""The closed list of events; `config` is always the first."""

Detail = Mapping[str, str | int | bool | list[str]]


class TraceEvent(Struct, frozen=True, gc=False):
    """One thing that happened in one member.

    `seq` counts from 0 without gaps; `at_us` is the driver's clock in microseconds; `error` is the name of an error
    code, None where the event is no answer; `generation` is -1 where there is none. `throttle_time_ms` is for how long
    the coordinator wants silence, in the event `throttled` (KIP-219).
    """

    group: str
    member: str
    seq: int
    at_us: int
    event: str
    error: str | None = None
    generation: int = -1
    member_id: str = ""
    partitions: tuple[str, ...] = ()
    detail: Detail = field(default_factory=dict)
    throttle_time_ms: int = 0


TraceSink = Callable[[TraceEvent], None]
