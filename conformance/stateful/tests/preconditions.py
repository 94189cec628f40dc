"""Where cases begin: a core is brought into each precondition of `spec/request_handling.py`, and the happening happens.

This is also where the specification's names for commands and timers meet the implementation's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.correspondence import TOPIC
from groupspec.conformance.stateful.tests.answered_core import CALLBACK, COMMITTED, NONE_COMMITTED, OWNED, AnsweredCore
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


def happens(core: AnsweredCore, case: Handling) -> None:
    """What the case is about; what was heard before is done with."""
    core.said.clear()
    if case.request == COMMAND:
        core.do(COMMANDS[case.error])
    elif case.request == TIMER:
        core.expire(TIMERS[case.error])
    else:
        core.answer(case.request, error_of(case))


# Preconditions
# -----------------------------------------------------------------------------------------------------------


def _position_sought(core: AnsweredCore, case: Handling) -> None:
    core.held = {case.request}
    if case.request == "ListOffsets":
        core.coordinator.committed = NONE_COMMITTED
    core.subscribe()
    core.pass_ms(1_000)


def _member(core: AnsweredCore, _: Handling) -> None:
    core.subscribe()
    core.require("positions", [COMMITTED] * 2, core.positions())
    for partition in OWNED:
        core.subscription.positions.seek(partition, COMMITTED + 20)
    core.pass_ms(1_000)


def _asked(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"OffsetFetch"}
    core.do(impl.FetchCommitted(OWNED, 1, core.now_ms + 60_000))


def _committing(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"OffsetCommit"}
    core.do(impl.Commit({OWNED[0]: OffsetAndMetadata(7)}, 1, core.now_ms + 60_000))


def _fetching(core: AnsweredCore, case: Handling) -> None:
    core.held = {"Fetch"}
    core.subscribe()
    core.pass_ms(1_000)
    core.poll()


def _backing_off(core: AnsweredCore, case: Handling) -> None:
    request = BACKED_OFF[case.error]
    (_fetching if request == "Fetch" else _position_sought)(core, replace(case, request=request))
    passing = ErrorCode.UNKNOWN_SERVER_ERROR if request == "Fetch" else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    core.answer(request, passing)


def _new_topic(core: AnsweredCore, _: Handling) -> None:
    core.held = {"Metadata", "Fetch"}
    core.subscribe()
    core.pass_ms(1_000)


def _refreshing(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"Metadata", "Fetch"}
    core.do(COMMANDS["METADATA_UPDATE"])


def _rejoined(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"Heartbeat"}
    core.expire("heartbeat")
    core.held = set()
    core.do(impl.EnforceRebalance("the application wants it"))
    core.require("generation", 2, core.describe().generation)
    core.pass_ms(1_000)


def _expelled(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"OffsetCommit", "Heartbeat", "JoinGroup", CALLBACK}
    core.do(impl.Commit({OWNED[0]: OffsetAndMetadata(7)}, 1, core.now_ms + 60_000))
    core.expire("heartbeat")
    core.answer("Heartbeat", ErrorCode.UNKNOWN_MEMBER_ID)
    core.require("what an expelled member does", ["REVOKE_PARTITIONS"], core.said)


def _rejoining(core: AnsweredCore, case: Handling) -> None:
    _expelled(core, case)
    core.do(impl.CallbackStarted())
    core.do(impl.PartitionsRevoked())
    core.require("what it does then", ["REVOKE_PARTITIONS", "JoinGroup"], core.said)


def _unsubscribed(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"LeaveGroup"}
    core.do(impl.Unsubscribe(1))


def _closing(core: AnsweredCore, case: Handling) -> None:
    _member(core, case)
    core.held = {"LeaveGroup"}
    core.said.clear()
    core.do(impl.Close(1, core.now_ms + CLOSE_MS))
    core.require("a close", ["REVOKE_PARTITIONS", "LeaveGroup"], core.said)


PRECONDITIONS: Final[Mapping[str, Callable[[AnsweredCore, Handling], object]]] = MappingProxyType(
    {
        "started": lambda core, _: core.do(impl.Start()),
        "position_sought": _position_sought,
        "asked": _asked,
        "committing": _committing,
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
