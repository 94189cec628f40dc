"""One thing that happened to a group: the vocabulary of all worlds, as a struct and as a line of NDJSON.

A request has up to four moments, which different observers see: its member sends it (`request`), its broker reads it
(`arrived`) and writes the answer (`answered`), the answer reaches the member's process (`response`), and the member
deals with it (`taken`). A world writes down the moments that it sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, Literal

import msgspec

from groupspec.conformance.history.message_json import plain
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.records import ConsumerRecord

Kind = Literal[
    "started",
    "ended",
    "request",
    "arrived",
    "answered",
    "response",
    "taken",
    "connected",
    "disconnected",
    "called",
    "returned",
    "raised",
    "callback",
    "callback_ended",
    "records",
    "processed",
    "told",
    "fault",
    "log",
    "over",
]
TIMERS_RACE: Final = "timers race"
TIMERS_WAIT: Final = "timers wait"
"""Faults: from the one to the other threads may be held up for any time, as on a machine that is overloaded."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One thing that happened.

    Attributes:
        at_us: When, in microseconds of the history's clock.
        kind: started, ended: a process of a member. request, arrived, answered, response, taken: the moments of a
            request. connected, disconnected: a connection. called, returned, raised: a call of the application's, its
            end, its error. callback, callback_ended: of the listener. records: what a poll brings. processed: what the
            application has worked on. told: what the core says of itself (`impl.trace`). fault: what the world does
            to the group. log: what happens to a partition's log. over: the world's last look.
        member: The process it happens in; "" for the brokers' and the world's own.
        thread: Which of its threads, where that is known.
        number: Of a request; -1 for anything else. A process numbers its requests from 1 on.
        to: Where a request goes: a node's id, `coordinator` or `any`; so of a connection.
        connection: Which connection, of those of the whole history; -1: unknown.
        message: The request or the answer; in a line as `message_json` has it.
        error: Its error code's name; of a raised call the error's class.
        throttle_ms: For how long an answer wants silence on its connection (KIP-219).
        name: The call, the callback, the core's event, the fault, or what happens to a log.
        value: Arguments, or what was returned; partitions of a callback; the small rest of any other kind.
        text: For people; of a disconnection `CUT` where not the member has hung up.
    """

    at_us: int
    kind: Kind
    member: str = ""
    thread: str = ""
    number: int = -1
    to: str = ""
    connection: int = -1
    message: Any = None
    error: str = ""
    throttle_ms: int = 0
    name: str = ""
    value: Any = None
    text: str = ""


_PLAIN: Final = (str, int, float, bool)


def json_value(value: object) -> object:
    """Arguments and results of calls as JSON: records are lists of five, sets are sorted, mappings lists of pairs."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, ConsumerRecord):
        return [value.topic, value.partition, value.offset, value.leader_epoch, value.timestamp_ms]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Mapping):
        return [[json_value(key), json_value(each)] for key, each in value.items()]
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, Enum | msgspec.Struct | bytes):
        return plain(value)
    return type(value).__name__


def offsets(records: Iterable[ConsumerRecord]) -> list[object]:
    """Records in few words: for each partition its records, as (offset, leader epoch, time stamp)."""
    found: dict[str, list[object]] = {}
    for one in records:
        found.setdefault(f"{one.topic}-{one.partition}", []).append([one.offset, one.leader_epoch, one.timestamp_ms])
    return [[partition, each] for partition, each in found.items()]
