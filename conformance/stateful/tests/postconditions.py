"""What has to follow from cases.

A meaning, on a sans-IO core, for each of the words that `spec/request_handling.py` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.tests.preconditions import BACKED_OFF, CLOSE_MS, PRECONDITIONS, error_of, happens
from groupspec.conformance.stateful.tests.stage import COMMITTED, LISTED, NONE_COMMITTED, OWNED, Stage
from groupspec.impl.core import events as impl
from groupspec.impl.core.messages import ErrorCode, OffsetCommitRequest
from groupspec.spec.request_handling import Handling

WHILE_MS = 2_500
"""Long enough for anything that happens "in a while", too short for a heartbeat."""


def _recovers(stage: Stage, request: str, when: str) -> None:
    """The request is answered well, and what it was for is done."""
    if request == "Metadata":
        _leader_is_used(stage)
        return
    stage.held = set()
    stage.answer(request)
    if when == "asked":
        stage.require("what the application hears", ["answered"], stage.heard)
    elif request == "Fetch":
        buffered = [stage.core.describe().partitions[partition].buffered for partition in OWNED]
        stage.require("records waiting for the application", [True, True], buffered)
    else:
        expected = LISTED if stage.committed == NONE_COMMITTED else COMMITTED
        stage.require("positions", [expected] * 2, stage.positions())
        stage.require("errors", 0, stage.count("ERROR"))


def _leader_is_used(stage: Stage) -> None:
    stage.leader = 2
    stage.answer("Metadata")
    stage.held = {"Fetch"}
    stage.poll()
    stage.require("the leader fetched from", 2, stage.take("Fetch").node)


def _is_not_sent(stage: Stage, request: str, duration_ms: int) -> None:
    stage.pass_ms(duration_ms)
    stage.require(f"{request} within {duration_ms} ms", 0, stage.count(request))


# Postconditions
# ---------------------------------------------------------------------------------------------------------


def _well(stage: Stage, case: Handling) -> None:
    """Position taken, application answered, records kept, leaders known: at once, and the request is not repeated."""
    _recovers(stage, case.request, case.when)
    stage.heard.clear()
    _is_not_sent(stage, case.request, WHILE_MS // 2)
    if case.request == "Fetch":
        stage.poll()
        stage.require("fetches of what is buffered", 0, stage.count("Fetch"))


def _again_after_backoff(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    _is_not_sent(stage, case.request, stage.config.retry_backoff_ms - 1)
    stage.pass_ms(1)
    stage.require("what follows", [case.request], stage.heard)
    _recovers(stage, case.request, case.when)


def _asked_again(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    request = BACKED_OFF[case.error]
    stage.require("what follows", [request], stage.heard)
    _recovers(stage, request, case.when)


def _coordinator_forgotten(stage: Stage, case: Handling) -> None:
    stage.held.add("FindCoordinator")
    happens(stage, case)
    if case.when == "unsubscribed":
        stage.require("what follows", ["DisconnectCoordinator"], stage.heard)
        stage.subscribe()
        stage.require("a new subscription needs", ["DisconnectCoordinator", "FindCoordinator"], stage.heard)
        stage.answer("FindCoordinator")
        _has_joined(stage)
        return
    stage.require("what follows", ["DisconnectCoordinator", "FindCoordinator"], stage.heard)
    _is_not_sent(stage, case.request, stage.config.retry_backoff_ms * 3)
    stage.answer("FindCoordinator")
    stage.require("what follows when it is found", [case.request], stage.heard)
    _recovers(stage, case.request, case.when)


def _leader_looked_up(stage: Stage, case: Handling) -> None:
    stage.leader = 2
    happens(stage, case)
    _is_not_sent(stage, case.request, stage.config.retry_backoff_ms - 1)
    stage.require("what follows at first", ["Metadata"], stage.heard)
    stage.pass_ms(1)
    stage.require("what follows", ["Metadata", case.request], stage.heard)
    stage.require("the leader asked", [2], [sent.node for sent in stage.open])
    _recovers(stage, case.request, case.when)


def _application_told(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    _is_not_sent(stage, case.request, stage.config.retry_backoff_ms * 10)
    stage.require("what follows", ["ERROR"], stage.heard)
    stage.poll()
    words = [word for word in stage.heard if word in ("ERROR", case.request)]
    stage.require("what follows the next poll", ["ERROR", case.request], words)
    _recovers(stage, case.request, case.when)


def _caller_told(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    stage.poll()
    heard = [word for word in stage.heard if word not in ("Fetch", "Metadata")]
    stage.require("what follows, once", (1, True), (len(heard), heard[0].startswith("failed: ") if heard else False))


def _told_and_again(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    stage.require("errors", 1, stage.count("ERROR"))
    for _ in range(2):
        _asked_in_a_while(stage)
        stage.answer("Metadata", error_of(case))
        stage.require("errors while the application does not poll", 0, stage.count("ERROR"))
    _asked_in_a_while(stage)
    stage.give(impl.Poll())
    stage.answer("Metadata", error_of(case))
    stage.require("errors after a poll", 1, stage.count("ERROR"))
    _asked_in_a_while(stage)
    _leader_is_used(stage)


def _asked_in_a_while(stage: Stage) -> None:
    before = stage.count("Metadata")
    stage.pass_ms(stage.config.retry_backoff_ms - 1)
    stage.require("Metadata before the backoff", before, stage.count("Metadata"))
    stage.pass_ms(WHILE_MS)
    stage.require("Metadata in a while", before + 1, stage.count("Metadata"))


def _topic_gone(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    stage.require("errors", 0, stage.count("ERROR"))
    stage.poll()
    stage.require("fetches of a topic that is not there", 0, stage.count("Fetch"))
    stage.heard.clear()
    _asked_in_a_while(stage)
    _leader_is_used(stage)


def _topic_not_ready(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    stage.require("errors", 0, stage.count("ERROR"))
    stage.poll()
    stage.require("the leader fetched from meanwhile", 1, stage.take("Fetch").node)
    stage.require("what follows", ["Fetch"], stage.heard)
    _asked_in_a_while(stage)
    stage.leader = 2
    stage.answer("Metadata")


def _position_reset(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    if stage.config.auto_offset_reset == "none":
        stage.require("what follows", ["ERROR"] * 2, stage.heard)
        stage.require("positions", [COMMITTED] * 2, stage.positions())
        return
    stage.require("what follows at first", ["ListOffsets"], stage.heard[:1])
    stage.require("errors", 0, stage.count("ERROR"))
    stage.require("positions", [LISTED] * 2, stage.positions())


def _committed_asked(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    words = [word for word in stage.heard if word != "Metadata"]
    stage.require("what follows", ["FindCoordinator", "OffsetFetch"], words)
    stage.require("positions", [COMMITTED] * 2, stage.positions())
    stage.heard.clear()
    stage.pass_ms(stage.config.session_timeout_ms)
    stage.require("requests of a member of the group", [], [word for word in stage.heard if word != "Metadata"])


def _metadata_asked(stage: Stage, case: Handling) -> None:
    stage.held = {"Metadata"}
    happens(stage, case)
    stage.require("what follows", ["Metadata"], stage.heard)
    _leader_is_used(stage)


def _commit_sent(stage: Stage, case: Handling) -> None:
    stage.held = {"OffsetCommit"}
    stage.poll()
    happens(stage, case)
    stage.require("what follows", ["OffsetCommit"], stage.heard)
    happens(stage, case)
    stage.require("a second one, with the first under way", [], stage.heard)
    request = stage.take("OffsetCommit")
    assert isinstance(request.request, OffsetCommitRequest)
    offsets = {partition: committed.offset for partition, committed in request.request.offsets.items()}
    stage.require("what is committed", dict.fromkeys(OWNED, COMMITTED + 20), offsets)
    stage.give(impl.ResponseReceived(request.request_id, stage.response(request.request, ErrorCode.NONE)))
    stage.subscription.seek(OWNED[0], COMMITTED + 30)
    stage.poll()
    happens(stage, case)
    stage.require("the next one", ["OffsetCommit"], stage.heard)


def _session_prolonged(stage: Stage, case: Handling) -> None:
    """A late answer, whatever it says; then, in the same situation again, that there will be none."""
    before = stage.core.describe()
    stage.answer(case.request, ErrorCode.UNKNOWN_MEMBER_ID)
    after = stage.core.describe()
    session_ms = stage.now_ms + stage.config.session_timeout_ms
    stage.require("timers", {**before.timers_ms, "session": session_ms}, dict(after.timers_ms))
    stage.require("the rest of the member", replace(before, timers_ms={}), replace(after, timers_ms={}))
    stage.require("what follows", [], stage.heard)
    other = Stage(stage.config.cooperative)
    PRECONDITIONS[case.when](other, case)
    before = other.core.describe()
    other.answer(case.request, ErrorCode.TIMED_OUT)
    other.require("the member, without an answer", before, other.core.describe())


def _commit_fails_with(error: str) -> Callable[[Stage, Handling], None]:
    def then(stage: Stage, case: Handling) -> None:
        before = replace(stage.core.describe(), timers_ms={})
        stage.answer(case.request, ErrorCode.ILLEGAL_GENERATION)
        stage.require("what follows", [f"failed: {error}"], stage.heard)
        stage.require("the rest of the member", before, replace(stage.core.describe(), timers_ms={}))

    return then


def _nothing_more(stage: Stage, case: Handling) -> None:
    happens(stage, case)
    stage.require("what follows", [], stage.heard)
    stage.subscribe()
    stage.require("the first thing that a new subscription needs", "JoinGroup", (stage.heard or [""])[0])
    _has_joined(stage)


def _has_joined(stage: Stage) -> None:
    stage.require("the member", "STABLE", stage.core.describe().rebalance)
    stage.require("LeaveGroup after it has left", 0, stage.count("LeaveGroup"))


def _close_ends(stage: Stage, case: Handling) -> None:
    stage.pass_ms(CLOSE_MS - 1)
    stage.require("the end before the answer, and before the time is up", 0, stage.count("Closed"))
    happens(stage, case)
    stage.require("what follows", ["answered", "Closed"], stage.heard)
    after = stage.core.describe()
    stage.require("what is left", ("DOWN", {}, ()), (after.connection, dict(after.timers_ms), after.owned))
    stage.pass_ms(stage.config.session_timeout_ms)
    stage.require("what follows the end", ["answered", "Closed"], stage.heard)


POSTCONDITIONS: Final[Mapping[str, Callable[[Stage, Handling], None]]] = MappingProxyType(
    {
        "position_taken": _well,
        "application_answered": _well,
        "records_kept": _well,
        "leaders_known": _well,
        "again_after_backoff": _again_after_backoff,
        "asked_again": _asked_again,
        "coordinator_forgotten": _coordinator_forgotten,
        "leader_looked_up": _leader_looked_up,
        "application_told": _application_told,
        "caller_told": _caller_told,
        "told_and_again": _told_and_again,
        "topic_gone": _topic_gone,
        "topic_not_ready": _topic_not_ready,
        "position_reset": _position_reset,
        "committed_asked": _committed_asked,
        "metadata_asked": _metadata_asked,
        "commit_sent": _commit_sent,
        "session_prolonged": _session_prolonged,
        "commit_failed": _commit_fails_with("CommitFailedError"),
        "commit_postponed": _commit_fails_with("RebalanceInProgressError"),
        "nothing_more": _nothing_more,
        "close_ends": _close_ends,
    }
)
"""Name of a postcondition -> what sees to it that it follows, after making the case happen."""
