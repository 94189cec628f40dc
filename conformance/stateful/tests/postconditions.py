"""What has to follow from cases.

A meaning, on a sans-IO core, for each of the words that `spec/request_handling.py` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.stateful.tests.answered_core import COMMITTED, LISTED, NONE_COMMITTED, OWNED, AnsweredCore
from groupspec.conformance.stateful.tests.preconditions import BACKED_OFF, CLOSE_MS, PRECONDITIONS, error_of, happens
from groupspec.impl.core import events as impl
from groupspec.impl.core.messages import ErrorCode, OffsetCommitRequest
from groupspec.spec.request_handling import Handling

WHILE_MS = 2_500
"""Long enough for anything that happens "in a while", too short for a heartbeat."""


def _recovers(core: AnsweredCore, request: str, when: str) -> None:
    """The request is answered well, and what it was for is done."""
    if request == "Metadata":
        _leader_is_used(core)
        return
    core.held = set()
    core.answer(request)
    if when in ("asked", "committing"):
        core.require("what the application hears", ["answered"], core.said)
    elif request == "Fetch":
        buffered = [core.describe().partitions[partition].buffered for partition in OWNED]
        core.require("records waiting for the application", [True, True], buffered)
    else:
        expected = LISTED if core.coordinator.committed == NONE_COMMITTED else COMMITTED
        core.require("positions", [expected] * 2, core.positions())
        core.require("errors", 0, core.count("ERROR"))


def _leader_is_used(core: AnsweredCore) -> None:
    core.coordinator.leads = 2
    core.answer("Metadata")
    core.held = {"Fetch"}
    core.poll()
    core.require("the leader fetched from", 2, core.take("Fetch").node)


def _is_not_sent(core: AnsweredCore, request: str, duration_ms: int) -> None:
    core.pass_ms(duration_ms)
    core.require(f"{request} within {duration_ms} ms", 0, core.count(request))


# Postconditions
# ---------------------------------------------------------------------------------------------------------


def _well(core: AnsweredCore, case: Handling) -> None:
    """Position taken, application answered, records kept, leaders known: at once, and the request is not repeated."""
    _recovers(core, case.request, case.when)
    core.said.clear()
    _is_not_sent(core, case.request, WHILE_MS // 2)
    if case.request == "Fetch":
        core.poll()
        core.require("fetches of what is buffered", 0, core.count("Fetch"))


def _again_after_backoff(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    _is_not_sent(core, case.request, core.config.retry_backoff_ms - 1)
    core.pass_ms(1)
    core.require("what follows", [case.request], core.said)
    _recovers(core, case.request, case.when)


def _asked_again(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    request = BACKED_OFF[case.error]
    core.require("what follows", [request], core.said)
    _recovers(core, request, case.when)


def _coordinator_forgotten(core: AnsweredCore, case: Handling) -> None:
    core.held.add("FindCoordinator")
    happens(core, case)
    if case.when == "unsubscribed":
        core.require("what follows", ["DisconnectCoordinator"], core.said)
        core.subscribe()
        core.require("a new subscription needs", ["DisconnectCoordinator", "FindCoordinator"], core.said)
        core.answer("FindCoordinator")
        _has_joined(core)
        return
    core.require("what follows", ["DisconnectCoordinator", "FindCoordinator"], core.said)
    _is_not_sent(core, case.request, core.config.retry_backoff_ms * 3)
    core.answer("FindCoordinator")
    core.require("what follows when it is found", [case.request], core.said)
    _recovers(core, case.request, case.when)


def _topic_looked_up(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    _is_not_sent(core, case.request, core.config.retry_backoff_ms - 1)
    core.require("what follows at first", ["Metadata"], core.said)
    core.pass_ms(1)
    core.require("what follows", ["Metadata", case.request], core.said)
    _recovers(core, case.request, case.when)


def _leader_looked_up(core: AnsweredCore, case: Handling) -> None:
    core.coordinator.leads = 2
    happens(core, case)
    _is_not_sent(core, case.request, core.config.retry_backoff_ms - 1)
    core.require("what follows at first", ["Metadata"], core.said)
    core.pass_ms(1)
    core.require("what follows", ["Metadata", case.request], core.said)
    core.require("the leader asked", [2], [sent.node for sent in core.unanswered])
    _recovers(core, case.request, case.when)


def _application_told(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    _is_not_sent(core, case.request, core.config.retry_backoff_ms * 10)
    core.require("what follows", ["ERROR"], core.said)
    core.poll()
    words = [word for word in core.said if word in ("ERROR", case.request)]
    core.require("what follows the next poll", ["ERROR", case.request], words)
    _recovers(core, case.request, case.when)


def _caller_told(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    core.poll()
    heard = [word for word in core.said if word not in ("Fetch", "Metadata")]
    core.require("what follows, once", (1, True), (len(heard), heard[0].startswith("failed: ") if heard else False))


def _told_and_again(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    core.require("errors", 1, core.count("ERROR"))
    for _ in range(2):
        _asked_in_a_while(core)
        core.answer("Metadata", error_of(case))
        core.require("errors while the application does not poll", 0, core.count("ERROR"))
    _asked_in_a_while(core)
    core.do(impl.Poll())
    core.answer("Metadata", error_of(case))
    core.require("errors after a poll", 1, core.count("ERROR"))
    _asked_in_a_while(core)
    _leader_is_used(core)


def _asked_in_a_while(core: AnsweredCore) -> None:
    before = core.count("Metadata")
    core.pass_ms(core.config.retry_backoff_ms - 1)
    core.require("Metadata before the backoff", before, core.count("Metadata"))
    core.pass_ms(WHILE_MS)
    core.require("Metadata in a while", before + 1, core.count("Metadata"))


def _topic_gone(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    core.require("errors", 0, core.count("ERROR"))
    core.poll()
    core.require("fetches of a topic that is not there", 0, core.count("Fetch"))
    core.said.clear()
    _asked_in_a_while(core)
    _leader_is_used(core)


def _topic_not_ready(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    core.require("errors", 0, core.count("ERROR"))
    core.poll()
    core.require("the leader fetched from meanwhile", 1, core.take("Fetch").node)
    core.require("what follows", ["Fetch"], core.said)
    _asked_in_a_while(core)
    core.coordinator.leads = 2
    core.answer("Metadata")


def _position_reset(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    if core.config.auto_offset_reset == "none":
        core.require("what follows", ["ERROR"] * 2, core.said)
        core.require("positions", [COMMITTED] * 2, core.positions())
        return
    core.require("what follows at first", ["ListOffsets"], core.said[:1])
    core.require("errors", 0, core.count("ERROR"))
    core.require("positions", [LISTED] * 2, core.positions())


def _committed_asked(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    words = [word for word in core.said if word != "Metadata"]
    core.require("what follows", ["FindCoordinator", "OffsetFetch"], words)
    core.require("positions", [COMMITTED] * 2, core.positions())
    core.said.clear()
    core.pass_ms(core.config.session_timeout_ms)
    core.require("requests of a member of the group", [], [word for word in core.said if word != "Metadata"])


def _metadata_asked(core: AnsweredCore, case: Handling) -> None:
    core.held = {"Metadata"}
    happens(core, case)
    core.require("what follows", ["Metadata"], core.said)
    _leader_is_used(core)


def _commit_sent(core: AnsweredCore, case: Handling) -> None:
    core.held = {"OffsetCommit"}
    core.poll()
    happens(core, case)
    core.require("what follows", ["OffsetCommit"], core.said)
    happens(core, case)
    core.require("a second one, with the first under way", [], core.said)
    request = core.take("OffsetCommit")
    assert isinstance(request.request, OffsetCommitRequest)
    offsets = {partition: committed.offset for partition, committed in request.request.offsets.items()}
    core.require("what is committed", dict.fromkeys(OWNED, COMMITTED + 20), offsets)
    core.do(impl.ResponseReceived(request.request_id, core.coordinator.answer(request.request)))
    core.subscription.positions.seek(OWNED[0], COMMITTED + 30)
    core.poll()
    happens(core, case)
    core.require("the next one", ["OffsetCommit"], core.said)


def _session_prolonged(core: AnsweredCore, case: Handling) -> None:
    """A late answer, whatever it says; then, in the same situation again, that there will be none."""
    before = core.describe()
    core.answer(case.request, ErrorCode.UNKNOWN_MEMBER_ID)
    after = core.describe()
    session_ms = core.now_ms + core.config.session_timeout_ms
    core.require("timers", {**before.timers_ms, "session": session_ms}, dict(after.timers_ms))
    core.require("the rest of the member", replace(before, timers_ms={}), replace(after, timers_ms={}))
    core.require("what follows", [], core.said)
    other = AnsweredCore(core.config.cooperative)
    PRECONDITIONS[case.when](other, case)
    before = other.core.describe()
    other.answer(case.request, ErrorCode.TIMED_OUT)
    other.require("the member, without an answer", before, other.core.describe())


def _commit_fails_with(error: str) -> Callable[[AnsweredCore, Handling], None]:
    def then(core: AnsweredCore, case: Handling) -> None:
        before = replace(core.describe(), timers_ms={})
        core.answer(case.request, ErrorCode.ILLEGAL_GENERATION)
        core.require("what follows", [f"failed: {error}"], core.said)
        core.require("the rest of the member", before, replace(core.describe(), timers_ms={}))

    return then


def _nothing_more(core: AnsweredCore, case: Handling) -> None:
    happens(core, case)
    core.require("what follows", [], core.said)
    core.subscribe()
    core.require("the first thing that a new subscription needs", "JoinGroup", (core.said or [""])[0])
    _has_joined(core)


def _has_joined(core: AnsweredCore) -> None:
    core.require("the member", "STABLE", core.describe().rebalance)
    core.require("LeaveGroup after it has left", 0, core.count("LeaveGroup"))


def _close_ends(core: AnsweredCore, case: Handling) -> None:
    core.pass_ms(CLOSE_MS - 1)
    core.require("the end before the answer, and before the time is up", 0, core.count("Closed"))
    happens(core, case)
    core.require("what follows", ["answered", "Closed"], core.said)
    after = core.describe()
    core.require("what is left", ("DOWN", {}, ()), (after.connection, dict(after.timers_ms), after.owned))
    core.pass_ms(core.config.session_timeout_ms)
    core.require("what follows the end", ["answered", "Closed"], core.said)


POSTCONDITIONS: Final[Mapping[str, Callable[[AnsweredCore, Handling], None]]] = MappingProxyType(
    {
        "position_taken": _well,
        "application_answered": _well,
        "records_kept": _well,
        "leaders_known": _well,
        "again_after_backoff": _again_after_backoff,
        "asked_again": _asked_again,
        "coordinator_forgotten": _coordinator_forgotten,
        "topic_looked_up": _topic_looked_up,
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
