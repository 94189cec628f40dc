"""What a client was made with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the run was made with."""

    rebalance: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    retry_backoff_ms: int
    close_within_ms: int
    auto_commit: bool = True
    auto_commit_interval_ms: int = 60_000
    request_timeout_ms: int = 2_000
    instance_id: str = ""
    auto_offset_reset: str = "earliest"
    features: frozenset[str] = frozenset()
    not_driven: frozenset[str] = frozenset()
