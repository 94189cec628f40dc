"""What random faults seldom lead to: sets of faults, with settings, that do.

Every second run has one of these, often, and few members. `situations.toml` says what each leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LEAST_MS: Final = 10_000  # of a session
_LEAST_POLL_MS: Final = 20_000  # of a poll interval
_SLOW_ANSWERS_MS: Final = 30_000  # of a request
_OVER_SESSION_MS: Final = (11_000, 16_000, 30_000)
_OVER_POLL_MS: Final = (10_000, 22_000, 30_000, 50_000)


@dataclass(frozen=True, slots=True)
class Aim:
    """What a run is to lead to, by its situations; what is None or empty is drawn as in any other run.

    Attributes:
        leads_to: Ids of situations.
        kinds: Kinds of faults; what is named twice is as frequent.
        cooperative, session_ms, poll_interval_ms, request_ms, record_every_ms, commits, work_ms: Settings.
        auto_commit_ms: The interval.
        static: The share of static members.
        lengths_ms: Of callbacks, standstills, silences and slow processing.
        apis: Of what requests, or answers, are lost.
        errors: API and error, of what brokers answer in passing.
        every_ms: How often something goes wrong.
    """

    leads_to: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    cooperative: bool | None = None
    session_ms: int | None = None
    poll_interval_ms: int | None = None
    request_ms: int | None = None
    record_every_ms: int | None = None
    commits: str = ""
    work_ms: int | None = None
    auto_commit_ms: int | None = None
    static: float = 0.25
    lengths_ms: tuple[int, ...] = ()
    apis: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    every_ms: int = 6_000


AIMS: Final = (
    Aim(
        ("commit-before-revocation-fails", "join-rebalance-in-progress", "offsets-unstable"),
        ("error", "rebalance wanted"),
        cooperative=False,
        record_every_ms=3_000,
        commits="auto",
        auto_commit_ms=60_000,
        errors=(
            "JoinGroup REBALANCE_IN_PROGRESS",
            "OffsetCommit COORDINATOR_LOAD_IN_PROGRESS",
            "OffsetCommit UNKNOWN_TOPIC_OR_PARTITION",
            "OffsetFetch UNSTABLE_OFFSET_COMMIT",
        ),
    ),
    Aim(
        ("commit-before-revocation-expelled", "commit-expelled-in-round", "expelled-while-rebalancing"),
        ("process stands still", "rebalance wanted"),
        cooperative=False,
        session_ms=_LEAST_MS,
        record_every_ms=3_000,
        commits="auto",
        auto_commit_ms=60_000,
        lengths_ms=_OVER_SESSION_MS,
    ),
    Aim(
        ("commit-expelled-cooperative", "commit-expelled-in-round"),
        ("process stands still", "rebalance wanted", "other topics"),
        cooperative=True,
        session_ms=_LEAST_MS,
        record_every_ms=3_000,
        lengths_ms=_OVER_SESSION_MS,
    ),
    Aim(
        ("heartbeat-expelled-in-callback", "expelled-while-rebalancing", "callback-outlasts-session"),
        ("slow callback", "slow callback", "process stands still", "rebalance wanted", "callback raises"),
        session_ms=_LEAST_MS,
        poll_interval_ms=120_000,
        lengths_ms=(12_000, 20_000, 60_000),
        every_ms=3_000,
    ),
    Aim(
        ("poll-interval-over-in-callback", "poll-interval-over-owning", "callback-outlasts-session"),
        ("slow callback", "rebalance wanted", "slow processing"),
        session_ms=_LEAST_MS,
        poll_interval_ms=_LEAST_POLL_MS,
        record_every_ms=3_000,
        lengths_ms=_OVER_POLL_MS,
        every_ms=3_000,
    ),
    Aim(
        ("poll-interval-over-in-round", "sync-lost"),
        ("slow processing", "slow processing", "request lost", "process stands still", "rebalance wanted"),
        cooperative=True,
        session_ms=45_000,
        poll_interval_ms=_LEAST_POLL_MS,
        request_ms=_SLOW_ANSWERS_MS,
        record_every_ms=3_000,
        lengths_ms=(30_000, 50_000),
        apis=("SyncGroup",),
        every_ms=3_000,
    ),
    Aim(
        ("commits-cut-together", "commit-slow", "coordinator-lost-uncommitted"),
        ("coordinator out of reach", "connections break"),
        session_ms=45_000,
        request_ms=_SLOW_ANSWERS_MS,
        record_every_ms=3_000,
        commits="sync",
        static=0,
    ),
    Aim(
        ("close-without-coordinator", "close-heartbeat-under-way", "close-in-round", "leave-unanswered"),
        ("close and restart", "close at once", "coordinator out of reach", "network is slow", "answer lost"),
        session_ms=_LEAST_MS,
        static=0.1,
        apis=("LeaveGroup",),
        every_ms=2_000,
    ),
    Aim(
        ("offsets-asked-at-join", "offsets-unanswered"),
        ("answer late", "answer lost", "rebalance wanted", "rebalance wanted"),
        cooperative=False,
        request_ms=_SLOW_ANSWERS_MS,
        apis=("OffsetFetch",),
    ),
    Aim(
        ("commit-illegal-generation",),
        ("process stands still", "rebalance wanted", "rebalance wanted"),
        session_ms=45_000,
        poll_interval_ms=_LEAST_POLL_MS,
        record_every_ms=3_000,
        commits="sync",
        work_ms=2_500,
        static=1,
        lengths_ms=(24_000, 28_000, 34_000),
    ),
    Aim(
        ("conflicting-claims",),
        ("process stands still", "rebalance wanted", "rebalance wanted"),
        cooperative=True,
        session_ms=45_000,
        poll_interval_ms=_LEAST_POLL_MS,
        work_ms=1,
        static=1,
        lengths_ms=(32_000, 38_000, 42_000),
        every_ms=5_000,
    ),
    Aim(
        ("fenced", "partition-comes-back"),
        ("second process", "crash and restart", "coordinator moves", "rebalance wanted"),
        static=0.75,
    ),
    Aim(
        ("unsubscribe-owning", "unsubscribe-cooperative", "topics-change-in-round"),
        ("unsubscribe", "answer lost", "other topics", "seek back"),
        cooperative=True,
    ),
    Aim(
        ("sync-coordinator-moved", "heartbeat-coordinator-moved", "join-loading"),
        ("error", "coordinator moves", "rolling restart", "rebalance wanted"),
    ),
)
