"""The one trace schema: what a recorded event is, as NDJSON and as Parquet.

A *trace* is what one member of one group did in one run, event by event, numbered from 0 without gaps. The reference
implementation, the wire kit and the log dialects all write this form, so that one checker can judge them all. A line of
NDJSON and a row of Parquet say the same thing; the Parquet row carries the event's number (`event_code`) too, so that
the columnar checker need not compare strings.

**Who is who.** Client ids repeat: a process that is killed and started again has the one it had, and two hosts may
share one. So a recorder that numbers from 0 names its `process` (host, process id, start: anything that no other
process of this run has); each (run, group, member, process) is then judged as a member of its own. A recorder that
outlives its client goes on numbering instead, and the `config` event begins a new process. Two processes that number
from 0 under one name and no `process` cannot be told apart: that is a fault of the recording (T-MIXED-PROCESSES), and
nothing else is judged of them.

The schema is strict: a field that is missing, unknown, of another type or out of range puts the line into quarantine
(see `reading`), because a lenient reader makes a checker that finds nothing. A change of meaning raises VERSION.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

VERSION: Final = 1
LAYOUT_VERSION: Final = 4
"""Of ingested layouts, whose files are read as they are. 2: rows carry their `process`; 3: the marker has checksums;
4: rows carry a `throttle_time_ms`."""
READ_LAYOUTS: Final = (3, 4)
ADDED: Final = ("throttle_time_ms",)
"""Columns that files of older recordings lack: there it is 0."""
SCHEMA_FILE: Final = Path(__file__).with_name("trace.schema.json")

EventName = Literal[
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
    "closed",
    "throttled",
]
SourceName = Literal["reference", "wire", "log"]

# The numbers are written into Parquet files: append, never reorder.
EVENTS: Final[tuple[str, ...]] = EventName.__args__  # type: ignore[attr-defined]
EVENT_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(EVENTS)}
SOURCES: Final[tuple[str, ...]] = SourceName.__args__  # type: ignore[attr-defined]
SOURCE_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(SOURCES)}

# Errors that the columnar checker tells apart; every other name is OTHER. The first stands for "no error".
ERRORS: Final[tuple[str, ...]] = (
    "NONE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "MEMBER_ID_REQUIRED",
    "FENCED_INSTANCE_ID",
    "DISCONNECTED",
    "TIMED_OUT",
    "OTHER",
)
ERROR_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(ERRORS)}

_INT64_MAX: Final = 2**63 - 1
_INT32_MAX: Final = 2**31 - 1
Name = Annotated[str, Meta(min_length=1)]


class TraceLine(msgspec.Struct, forbid_unknown_fields=True, gc=False, frozen=True):
    """One event of one member.

    v           the schema's version
    run         one recording; generations and sequence numbers mean nothing across runs
    group       the group's id
    member      the client id: who the member is for its operator, whatever member ids the broker gives it
    seq         0, 1, 2, ... for each (run, group, member, process), without gaps
    at_us       microseconds of a clock that does not go back within a process; never compared between members
    source      who recorded it: the reference itself, the wire kit's broker, or a log
    event       what happened (closed list)
    error       the error's name in an answer, NONE when it succeeded; null when the event is no answer
    generation  that of the request or answer, else the member's own; -1: none
    member_id   the id that the broker gave; "": none
    partitions  what a callback was about ("topic-0")
    process     which process of that client id: the host, the process id, its start; "": the only one
    throttle_time_ms  for how long an answer on the coordinator's connection wants silence there (KIP-219)
    detail      anything more, small; `config` has the member's settings here
    """

    v: Literal[1]
    run: Name
    group: Name
    member: Name
    seq: Annotated[int, Meta(ge=0, le=_INT64_MAX)]
    at_us: Annotated[int, Meta(ge=0, le=_INT64_MAX)]
    source: SourceName
    event: EventName
    error: Name | None = None
    generation: Annotated[int, Meta(ge=-1, le=_INT32_MAX)] = -1
    member_id: str = ""
    partitions: tuple[Name, ...] = ()
    process: str = ""
    throttle_time_ms: Annotated[int, Meta(ge=0, le=_INT32_MAX)] = 0
    detail: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Settings(msgspec.Struct, gc=False, frozen=True):
    """The detail of a `config` event: what the member was configured with. An interval of 0 is not judged.

    listener       whether callbacks are recorded; without them no state can be told
    lost_callback  whether the client has a callback of its own for lost partitions
    """

    rebalance: Literal["eager", "cooperative"]
    session_timeout_ms: Annotated[int, Meta(ge=0, le=_INT32_MAX)]
    max_poll_interval_ms: Annotated[int, Meta(ge=0, le=_INT32_MAX)]
    heartbeat_interval_ms: Annotated[int, Meta(ge=0, le=_INT32_MAX)] = 0
    static: bool = False
    listener: bool = True
    lost_callback: bool = True


class AnswerDetail(msgspec.Struct, gc=False, frozen=True):
    """What is read in the detail of an answer: whether the member itself took it as late (rule J9)."""

    late: object = None


def json_schema() -> dict[str, object]:
    """The JSON Schema of one NDJSON line, made from `TraceLine`; committed as trace.schema.json."""
    [line], definitions = msgspec.json.schema_components([TraceLine], ref_template="#/$defs/{name}")
    body = dict(definitions["TraceLine"] if "$ref" in line else line)
    properties = dict(body["properties"])
    properties["detail"] = {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None}
    properties["partitions"] = {"type": "array", "items": {"type": "string", "minLength": 1}, "default": []}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"groupspec trace event, version {VERSION}",
        **{key: value for key, value in body.items() if key != "title"},
        "properties": properties,
    }


def schema_text() -> str:
    """The committed file's text."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
