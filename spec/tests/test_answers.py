"""Every answer that Kafka's classic client knows has a row, and Kafka's own transitions have theirs."""

from __future__ import annotations

import pytest

from groupspec.spec import vocabulary
from groupspec.spec.compiler.tables import tables
from groupspec.spec.rebalance import KAFKA_TRANSITIONS
from groupspec.spec.vocabulary import EVENTS, RESPONSES

WAITING = {
    "FindCoordinator": ("connection", "COORDINATOR_DISCOVERY"),
    "JoinGroup": ("rebalance", "PREPARING_REBALANCE"),
    "SyncGroup": ("rebalance", "COMPLETING_REBALANCE"),
    "Heartbeat": ("timeouts", "IN_FLIGHT"),
    "OffsetCommit": ("rebalance", "PREPARE_REVOCATION"),
    "OffsetFetch": ("connection", "STABLE"),
}
"""Where the answer to each request is waited for."""

KAFKA_ERRORS = {
    "FindCoordinator": {"NONE", "GROUP_AUTHORIZATION_FAILED", "COORDINATOR_LOAD_IN_PROGRESS",
                        "COORDINATOR_NOT_AVAILABLE", "DISCONNECTED", "TIMED_OUT", "other"},
    "JoinGroup": {
        "NONE", "COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
        "DISCONNECTED", "TIMED_OUT",
        "MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_SESSION_TIMEOUT", "INVALID_GROUP_ID",
        "GROUP_AUTHORIZATION_FAILED", "GROUP_MAX_SIZE_REACHED", "UNSUPPORTED_VERSION", "ILLEGAL_GENERATION", "other",
    },
    "SyncGroup": {
        "NONE", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR", "DISCONNECTED", "TIMED_OUT",
        "FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "COORDINATOR_LOAD_IN_PROGRESS",
        "INCONSISTENT_GROUP_PROTOCOL", "other",
    },
    "Heartbeat": {
        "NONE", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "DISCONNECTED", "TIMED_OUT", "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "other",
    },
}  # fmt: skip
"""What the handlers of Kafka's AbstractCoordinator tell apart."""


@pytest.mark.parametrize("request_name", list(KAFKA_ERRORS))
def test_H4_every_error_that_kafka_tells_apart_is_an_event(request_name: str) -> None:
    assert {error for name, error in vocabulary.RESPONSES if name == request_name} >= KAFKA_ERRORS[request_name]


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("answer", list(RESPONSES), ids="-".join)
def test_H4_every_answer_that_is_waited_for_has_an_effect(answer: tuple[str, str], rebalance: str) -> None:
    machine, state = WAITING[answer[0]]
    rows = tables()[machine, rebalance, "deployed"].cell(state, RESPONSES[answer])

    assert any(row.kind == "transition" for row in rows), f"{machine}.{state} does nothing on {RESPONSES[answer]}"
    assert all(row.rules for row in rows if row.kind == "transition")


@pytest.mark.parametrize("answer", sorted(set(RESPONSES.values())))
def test_J9_every_answer_may_come_late_in_every_state_and_then_changes_nothing(answer: str) -> None:
    assert "current" in EVENTS[answer].inputs
    for (_, _, _), table in tables().items():
        for state in table.states:
            for row in table.cell(state, answer):
                if row.kind != "ignored":
                    assert "current" in row.guard and "not current" not in row.guard


@pytest.mark.parametrize("transition", list(KAFKA_TRANSITIONS))
def test_kafkas_own_transition_has_its_cells(transition: str) -> None:
    table = tables()["rebalance", "cooperative", "deployed"]
    for cell in KAFKA_TRANSITIONS[transition]:
        state, event = cell.split(".")
        assert table.cell(state, event), cell


def test_kafka_has_eleven_transitions() -> None:
    assert len(KAFKA_TRANSITIONS) == 11
