"""What a member's process is told on its command line, and what it says on stdout; see `member`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """How a member is set up.

    client       which implementation
    partitions   of the topic: needed to tell which record belongs where
    instance_id  group.instance.id; "" for a dynamic member
    trace        file for the reference's recorded trace; "" for none
    """

    client: Literal["reference", "confluent"]
    bootstrap: str
    group: str
    client_id: str
    topic: str
    partitions: int
    assignor: Literal["range", "cooperative-sticky"] = "range"
    session_timeout_ms: int = 3_000
    heartbeat_interval_ms: int = 500
    max_poll_interval_ms: int = 60_000
    auto_commit_interval_ms: int = 500
    instance_id: str = ""
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """A record, as far as it matters here."""

    partition: int
    offset: int
    value: bytes


def say(name: str, **details: object) -> None:
    """One event, one line."""
    sys.stdout.write(json.dumps({"name": name, **details}) + "\n")
    sys.stdout.flush()


def say_partitions(name: str, partitions: Iterable[int]) -> None:
    """A callback was made."""
    say(name, partitions=sorted(partitions))
