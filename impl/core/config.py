"""The consumer's configuration, checked once, when it is made.

Names and defaults are Kafka's (dots become underscores). Everything that the core needs to know beforehand stands here,
also what follows from several settings: the rebalance protocol in use and the time limit of a JoinGroup request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import TypedDict

from groupspec.impl.core.assignors import ASSIGNORS
from groupspec.impl.core.errors import ConfigError
from groupspec.impl.core.other_settings import is_harmless, objection

INT32_MAX = 2**31 - 1
"""Timeouts travel as 32 bit numbers; a request timeout saturates here instead of overflowing (KAFKA-13126)."""

JOIN_GROUP_EXTRA_MS = 5_000
"""How much longer than the rebalance timeout a JoinGroup may take: the answer comes when the timeout has passed."""


DURATION = re.compile(
    r"P(?=[^P]*\d)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{1,9})?)S)?)?", re.IGNORECASE
)
"""As ISO 8601 and java.time.Duration write it: days, hours, minutes, seconds."""

BY_DURATION = "by_duration:"

OF_THE_CONSUMER = ("bootstrap_servers", "key_deserializer", "value_deserializer")
"""Settings that the core needs nothing of: arguments of Consumer."""


class RebalanceProtocol(Enum):
    """How partitions change hands: all of them given up at every rebalance, or only those that move (KIP-429)."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"


class Settings(TypedDict, total=False):
    """The configuration by Kafka's names, dots as underscores; `Config` has the defaults."""

    group_id: str | None
    client_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    default_api_timeout_ms: int
    metadata_max_age_ms: int
    allow_auto_create_topics: bool
    exclude_internal_topics: bool
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    partition_assignment_strategy: tuple[str, ...]
    max_poll_records: int
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    isolation_level: str
    check_crcs: bool
    consumer_timeout_ms: int | None
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    receive_buffer_bytes: int
    send_buffer_bytes: int


@dataclass(frozen=True)
class Config:
    """What the application chose. Raises ConfigError for what can't work.

    Kafka's defaults, but for these: `allow_auto_create_topics` is off, since a misspelt name would become a topic, and
    the buffers of sockets are the operating system's (-1). `consumer_timeout_ms` is kafka-python's: how long an
    iteration over the consumer waits for a record before it ends; None: for ever.

    Failures in a row of the same kind are retried after `retry_backoff_ms`, twice that, and so on up to
    `retry_backoff_max_ms` (KIP-580), where Kafka does so: lookups of the coordinator, heartbeats, commits, metadata.

    `auto_offset_reset`: "earliest", "latest", "none", or as in KIP-1106 "by_duration:" and an ISO 8601 duration, for
    example "by_duration:P1DT12H": at the first record that is no older; at the end where there is none.
    """

    group_id: str | None = None
    client_id: str = "groupspec"
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    default_api_timeout_ms: int = 60_000
    metadata_max_age_ms: int = 300_000
    allow_auto_create_topics: bool = False
    exclude_internal_topics: bool = True
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: str = "latest"
    partition_assignment_strategy: tuple[str, ...] = ("range",)
    max_poll_records: int = 500
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 50 * 1024 * 1024
    max_partition_fetch_bytes: int = 1024 * 1024
    isolation_level: str = "read_uncommitted"
    check_crcs: bool = True
    consumer_timeout_ms: int | None = None
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_kinds()
        self._check_group()
        self._check_strategy()

    @classmethod
    def of(cls, settings: Settings) -> Config:
        """The configuration with these settings. ConfigError if one of them does not exist."""
        known = [one.name for one in fields(cls)]
        chosen = {name: value for name, value in settings.items() if not is_harmless(name, value)}
        unknown = sorted(set(chosen) - set(known))
        if unknown:
            raise ConfigError("; ".join(objection(name, [*known, *OF_THE_CONSUMER]) for name in unknown))
        strategy = chosen.get("partition_assignment_strategy")
        if isinstance(strategy, list):
            chosen["partition_assignment_strategy"] = tuple(strategy)
        return cls(**chosen)  # type: ignore[arg-type]  # every value is checked there

    def growing_backoff_ms(self, failures: int) -> int:
        """How long to wait after one more failure than these in a row: twice as long each time (KIP-580).

        Kafka draws it from 20 % around that; here the same failures always wait the same time.
        """
        return min(self.retry_backoff_ms << min(failures, 32), self.retry_backoff_max_ms)

    @property
    def join_group_timeout_ms(self) -> int:
        """Time limit of a JoinGroup request: above the rebalance timeout, never below the ordinary one (rule J5)."""
        return max(self.request_timeout_ms, min(self.max_poll_interval_ms + JOIN_GROUP_EXTRA_MS, INT32_MAX))

    @property
    def rebalance_protocol(self) -> RebalanceProtocol:
        """The highest protocol that every configured assignor supports: the same for the whole core (rule K4)."""
        if all(ASSIGNORS[name].cooperative for name in self.partition_assignment_strategy):
            return RebalanceProtocol.COOPERATIVE
        return RebalanceProtocol.EAGER

    @property
    def cooperative(self) -> bool:
        """Whether partitions that stay are kept while the group rebalances."""
        return self.rebalance_protocol is RebalanceProtocol.COOPERATIVE

    @property
    def is_static(self) -> bool:
        """Whether the member has an instance id (KIP-345): then it never sends LeaveGroup."""
        return self.group_instance_id is not None

    @property
    def read_committed(self) -> bool:
        """Whether records of transactions that are open or were aborted are held back (KIP-98)."""
        return self.isolation_level == "read_committed"

    @property
    def reset_age_ms(self) -> int | None:
        """How old records may be where a partition without a position begins (KIP-1106); None: another policy."""
        if not self.auto_offset_reset.startswith(BY_DURATION):
            return None
        found = DURATION.fullmatch(self.auto_offset_reset.removeprefix(BY_DURATION))
        if found is None:
            return None
        days, hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in found.groups())
        return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000)

    @property
    def auto_commit(self) -> bool:
        """Whether positions are committed without being asked. Never without a group."""
        return self.enable_auto_commit and self.group_id is not None

    def _check_numbers(self) -> None:
        at_least: Mapping[str, int] = {
            "session_timeout_ms": 1,
            "heartbeat_interval_ms": 1,
            "max_poll_interval_ms": 1,
            "request_timeout_ms": 1,
            "retry_backoff_ms": 0,
            "retry_backoff_max_ms": 0,
            "default_api_timeout_ms": 0,
            "metadata_max_age_ms": 1,
            "auto_commit_interval_ms": 1,
            "max_poll_records": 1,
            "fetch_min_bytes": 0,
            "fetch_max_wait_ms": 0,
            "fetch_max_bytes": 1,
            "max_partition_fetch_bytes": 1,
            "reconnect_backoff_ms": 0,
            "reconnect_backoff_max_ms": 0,
            "socket_connection_setup_timeout_ms": 1,
            "receive_buffer_bytes": -1,
            "send_buffer_bytes": -1,
        }
        if self.consumer_timeout_ms is not None:
            at_least = {**at_least, "consumer_timeout_ms": 0}
        for name, least in at_least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= INT32_MAX:
                raise ConfigError(f"{name}={value!r}: must be a whole number from {least} to {INT32_MAX}")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError(
                f"heartbeat_interval_ms={self.heartbeat_interval_ms} must be set lower than "
                f"session_timeout_ms={self.session_timeout_ms}, or the member expires between two heartbeats; "
                "a third of it is usual"
            )

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is allowed, and yet hardly meant."""
        doubts = []
        if self.group_id is not None and self.max_poll_interval_ms < self.session_timeout_ms:
            doubts.append(
                f"max_poll_interval_ms={self.max_poll_interval_ms} is below "
                f"session_timeout_ms={self.session_timeout_ms}: "
                "an application that is slow leaves the group sooner than one that is dead; librdkafka refuses "
                "this. Raise the one or lower the other"
            )
        if self.fetch_max_wait_ms >= self.request_timeout_ms:
            doubts.append(
                f"fetch_max_wait_ms={self.fetch_max_wait_ms} is not below "
                f"request_timeout_ms={self.request_timeout_ms}: "
                "each fetch that finds nothing ends its connection"
            )
        for name in ("reconnect_backoff", "retry_backoff"):
            first_ms, most_ms = getattr(self, f"{name}_ms"), getattr(self, f"{name}_max_ms")
            if most_ms < first_ms:
                doubts.append(f"{name}_max_ms={most_ms} is below {name}_ms={first_ms}: the lower one counts")
        if self.group_instance_id is not None and self.group_id is None:
            doubts.append(f"group_instance_id={self.group_instance_id!r} means nothing without a group_id")
        return tuple(doubts)

    def _check_kinds(self) -> None:
        for name in ("group_id", "client_id", "group_instance_id"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name != "client_id")):
                raise ConfigError(f"{name}={value!r}: must be a text" + (", or None" if name != "client_id" else ""))
        for name in ("enable_auto_commit", "allow_auto_create_topics", "exclude_internal_topics", "check_crcs"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={getattr(self, name)!r}: must be True or False")

    def _check_group(self) -> None:
        if self.group_id is not None and not self.group_id:
            raise ConfigError("group_id='': must not be empty; leave it out for a consumer without a group")
        instance = self.group_instance_id
        if instance is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", instance):
            raise ConfigError(
                f"group_instance_id={instance!r}: must be 1 to 249 letters, digits, dots, underscores or dashes"
            )

    def _check_strategy(self) -> None:
        strategy = self.partition_assignment_strategy
        if type(strategy) is not tuple or not strategy:
            raise ConfigError(
                f"partition_assignment_strategy={strategy!r}: must be a tuple or list of at least one of "
                f"{', '.join(map(repr, ASSIGNORS))}"
            )
        for name in strategy:
            if name not in list(ASSIGNORS):  # by comparison: a list, for example, has no hash
                raise ConfigError(f"partition_assignment_strategy has {name!r}: known are {', '.join(ASSIGNORS)}")
        if len(set(strategy)) != len(strategy):
            raise ConfigError(f"partition_assignment_strategy={strategy!r} names an assignor twice")
        policy: object = self.auto_offset_reset
        plain = ("earliest", "latest", "none")
        if not isinstance(policy, str) or not (policy in plain or self.reset_age_ms is not None):
            raise ConfigError(
                f"auto_offset_reset={policy!r}: must be 'earliest', 'latest' or 'none', or a duration such as "
                f"'{BY_DURATION}P1DT12H'"
            )
        if self.isolation_level not in ("read_uncommitted", "read_committed"):
            raise ConfigError(
                f"isolation_level={self.isolation_level!r}: must be 'read_uncommitted' or 'read_committed'"
            )
