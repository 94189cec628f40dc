"""What a consumer counts and times, under Kafka's names (its documentation, "Consumer monitoring").

Totals, averages and maxima are those since the consumer was made. There are no rates and no sampling windows: who
collects metrics can subtract two totals. An average or maximum of nothing is NaN, as Kafka has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Final

from groupspec.impl.core.messages import ErrorCode, FetchResponse, Response, TopicPartition

COORDINATOR_GROUP: Final = "consumer-coordinator-metrics"
FETCH_GROUP: Final = "consumer-fetch-manager-metrics"
CONSUMER_GROUP: Final = "consumer-metrics"

_COORDINATOR: Final = {
    "Heartbeat": "heartbeat-response-time",
    "JoinGroup": "join-time",
    "SyncGroup": "sync-time",
    "OffsetCommit": "commit-latency",
    "rebalance": "rebalance-latency",
}
_TOTALS: Final = {
    "Heartbeat": "heartbeat-total",
    "JoinGroup": "join-total",
    "SyncGroup": "sync-total",
    "OffsetCommit": "commit-total",
    "rebalance": "rebalance-total",
}
_ONLY_SUCCESSES: Final = ("JoinGroup", "SyncGroup")
"""Joins and syncs that fail are failed rebalances (AbstractCoordinator.initiateJoinGroup), not slow ones."""


@dataclass(slots=True)
class Series:
    """Numbers of one kind."""

    count: int = 0
    total: int = 0
    max: float = nan

    def add(self, value: int) -> None:
        """One more."""
        self.count += 1
        self.total += value
        if not value <= self.max:  # which is NaN at first
            self.max = value

    @property
    def avg(self) -> float:
        """Their mean."""
        return self.total / self.count if self.count else nan


class Metrics:
    """One core's."""

    def __init__(self) -> None:
        self._times_ms: defaultdict[str, Series] = defaultdict(Series)
        self._fetched_bytes = Series()
        self._between_polls_ms = Series()
        self._requests = 0
        self._failed_rebalances = 0
        self._rebalance_began_ms: int | None = None
        self._last_ms: dict[str, int] = {}  # when a heartbeat was sent, a rebalance ended, the application polled

    # What happens ----------------------------------------------------------------------------------------------------

    def answered(self, api: str, response: Response, took_ms: int) -> None:
        """A request has been answered."""
        self._requests += 1
        if response.error is ErrorCode.NONE or api not in _ONLY_SUCCESSES:
            self._times_ms[api].add(took_ms)
        if isinstance(response, FetchResponse):
            self._fetched_bytes.add(sum(len(fetched.record_bytes) for fetched in response.partitions.values()))

    def happened(self, event: str, failed: bool, now_ms: int) -> None:
        """Something that the trace names."""
        if event == "poll":
            if (before_ms := self._last_ms.get("poll")) is not None:
                self._between_polls_ms.add(now_ms - before_ms)
            self._last_ms["poll"] = now_ms
        elif event == "heartbeat_sent":
            self._last_ms["heartbeat"] = now_ms
        elif event == "join_sent" and self._rebalance_began_ms is None:
            self._rebalance_began_ms = now_ms
        elif event in ("join_answered", "sync_answered") and failed:
            self._failed_rebalances += 1
        elif event == "assigned" and self._rebalance_began_ms is not None:
            self._times_ms["rebalance"].add(now_ms - self._rebalance_began_ms)
            self._rebalance_began_ms = None
            self._last_ms["rebalance"] = now_ms

    # What there is to tell -------------------------------------------------------------------------------------------

    def snapshot(self, now_ms: int, lags: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, float]]:
        """Everything, by group and name; `lags` are those of the assigned partitions."""
        return {
            COORDINATOR_GROUP: {
                **{total: float(self._times_ms[kind].count) for kind, total in _TOTALS.items()},
                **{f"{name}-avg": self._times_ms[kind].avg for kind, name in _COORDINATOR.items()},
                **{f"{name}-max": self._times_ms[kind].max for kind, name in _COORDINATOR.items()},
                "rebalance-latency-total": float(self._times_ms["rebalance"].total),
                "failed-rebalance-total": float(self._failed_rebalances),
                "last-heartbeat-seconds-ago": self._seconds_since("heartbeat", now_ms),
                "last-rebalance-seconds-ago": self._seconds_since("rebalance", now_ms),
                "assigned-partitions": float(len(lags)),
            },
            FETCH_GROUP: {
                "fetch-total": float(self._times_ms["Fetch"].count),
                "fetch-latency-avg": self._times_ms["Fetch"].avg,
                "fetch-latency-max": self._times_ms["Fetch"].max,
                "fetch-size-avg": self._fetched_bytes.avg,
                "fetch-size-max": self._fetched_bytes.max,
                "records-lag-max": float(max((lag for lag in lags.values() if lag is not None), default=nan)),
                **{f"{partition}.records-lag": float(lag) for partition, lag in lags.items() if lag is not None},
            },
            CONSUMER_GROUP: {
                "response-total": float(self._requests),
                "last-poll-seconds-ago": self._seconds_since("poll", now_ms),
                "time-between-poll-avg": self._between_polls_ms.avg,
                "time-between-poll-max": self._between_polls_ms.max,
            },
        }

    def _seconds_since(self, what: str, now_ms: int) -> float:
        """-1 if it has never happened."""
        return (now_ms - self._last_ms[what]) // 1_000 if what in self._last_ms else -1.0
