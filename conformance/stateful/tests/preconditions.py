"""Where cases begin: a core is brought into each precondition of `spec/request_handling.py`, and the happening happens.

This is also where the specification's names for commands and timers meet the implementation's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.answers import TOPIC
from groupspec.conformance.stateful.tests.stage import CALLBACK, COMMITTED, NONE_COMMITTED, OWNED, Stage
from groupspec.impl.core import events as impl
from groupspec.impl.core.messages import ErrorCode, OffsetAndMetadata
from groupspec.spec.request_handling import COMMAND, HANDLINGS, TIMER, Handling

TIMERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "offsets_backoff_elapsed": "offsets_backoff",
        "fetch_backoff_elapsed": "fetch_backoff",
        "metadata_due": "metadata",
        "auto_commit_due": "auto_commit",
        "close_deadline_expired": "close_deadline",
    }
)
"""Events of the specification -> timers of the implementation."""

COMMANDS: Final[Mapping[str, impl.ServerEvent]] = MappingProxyType(
    {"ASSIGN": impl.Assign(OWNED), "METADATA_UPDATE": impl.MetadataUpdate((TOPIC,))}
)
"""Commands of the specification -> what the implementation is given."""

CLOSE_MS = 10_000
BACKED_OFF = {"offsets_backoff_elapsed": "OffsetFetch", "fetch_backoff_elapsed": "Fetch"}
"""Timers of a backoff -> the request that waits for it."""


def key_of(case: Handling) -> tuple[str, str]:
    """What the implementation calls the happening: (command, ""), ("TimerExpired", timer) or (API, error)."""
    if case.request == COMMAND:
        return type(COMMANDS[case.error]).__name__, ""
    if case.request == TIMER:
        return "TimerExpired", TIMERS[case.error]
    return case.request, case.error


def error_of(case: Handling) -> ErrorCode:
    """The error, or for "other" one that the table does not name for this request."""
    if case.error != "other":
        return ErrorCode[case.error]
    named = {known.error for known in HANDLINGS if known.request == case.request}
    return next(e for e in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_REQUEST) if e.name not in named)


def happens(stage: Stage, case: Handling) -> None:
    """What the case is about; what was heard before is done with."""
    stage.heard.clear()
    if case.request == COMMAND:
        stage.give(COMMANDS[case.error])
    elif case.request == TIMER:
        stage.expire(TIMERS[case.error])
    else:
        stage.answer(case.request, error_of(case))


# Preconditions
# -----------------------------------------------------------------------------------------------------------


def _position_sought(stage: Stage, case: Handling) -> None:
    stage.held = {case.request}
    if case.request == "ListOffsets":
        stage.committed = NONE_COMMITTED
    stage.subscribe()
    stage.pass_ms(1_000)


def _member(stage: Stage, _: Handling) -> None:
    stage.subscribe()
    stage.require("positions", [COMMITTED] * 2, stage.positions())
    for partition in OWNED:
        stage.subscription.seek(partition, COMMITTED + 20)
    stage.pass_ms(1_000)


def _asked(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"OffsetFetch"}
    stage.give(impl.FetchCommitted(OWNED, 1, stage.now_ms + 60_000))


def _fetching(stage: Stage, case: Handling) -> None:
    stage.held = {"Fetch"}
    stage.subscribe()
    stage.pass_ms(1_000)
    stage.poll()


def _backing_off(stage: Stage, case: Handling) -> None:
    request = BACKED_OFF[case.error]
    (_fetching if request == "Fetch" else _position_sought)(stage, replace(case, request=request))
    passing = ErrorCode.UNKNOWN_SERVER_ERROR if request == "Fetch" else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    stage.answer(request, passing)


def _new_topic(stage: Stage, _: Handling) -> None:
    stage.held = {"Metadata", "Fetch"}
    stage.subscribe()
    stage.pass_ms(1_000)


def _refreshing(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"Metadata", "Fetch"}
    stage.give(COMMANDS["METADATA_UPDATE"])


def _rejoined(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"Heartbeat"}
    stage.expire("heartbeat")
    stage.held = set()
    stage.give(impl.EnforceRebalance("the application wants it"))
    stage.require("generation", 2, stage.core.describe().generation)
    stage.pass_ms(1_000)


def _expelled(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"OffsetCommit", "Heartbeat", "JoinGroup", CALLBACK}
    stage.give(impl.Commit({OWNED[0]: OffsetAndMetadata(7)}, 1, stage.now_ms + 60_000))
    stage.expire("heartbeat")
    stage.answer("Heartbeat", ErrorCode.UNKNOWN_MEMBER_ID)
    stage.require("what an expelled member does", ["REVOKE_PARTITIONS"], stage.heard)


def _rejoining(stage: Stage, case: Handling) -> None:
    _expelled(stage, case)
    stage.give(impl.CallbackStarted())
    stage.give(impl.PartitionsRevoked())
    stage.require("what it does then", ["REVOKE_PARTITIONS", "JoinGroup"], stage.heard)


def _unsubscribed(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"LeaveGroup"}
    stage.give(impl.Unsubscribe(1))


def _closing(stage: Stage, case: Handling) -> None:
    _member(stage, case)
    stage.held = {"LeaveGroup"}
    stage.heard.clear()
    stage.give(impl.Close(1, stage.now_ms + CLOSE_MS))
    stage.require("a close", ["REVOKE_PARTITIONS", "LeaveGroup"], stage.heard)


PRECONDITIONS: Final[Mapping[str, Callable[[Stage, Handling], None]]] = MappingProxyType(
    {
        "started": lambda stage, _: stage.give(impl.Start()),
        "position_sought": _position_sought,
        "asked": _asked,
        "fetching": _fetching,
        "backing_off": _backing_off,
        "new_topic": _new_topic,
        "refreshing": _refreshing,
        "member": _member,
        "rejoined": _rejoined,
        "expelled": _expelled,
        "rejoining": _rejoining,
        "unsubscribed": _unsubscribed,
        "closing": _closing,
    }
)
"""Name of a precondition -> what brings a core there."""
