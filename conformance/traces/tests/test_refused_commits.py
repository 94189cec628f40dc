"""Whom a refused commit expels, by when its answer comes: between two rounds, or while a JoinGroup is out.

Both checkers judge each story, as another client's on the wire and as the reference's own.
"""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from groupspec.conformance.traces.schema import TraceLine
from groupspec.conformance.traces.tests.judging import in_order, judge_compiled, judge_plainly, rules

Events = list[dict[str, object]]
AFTER_FLIGHT_US: Final = 600_000
"""What was under way when an answer was written has arrived by then."""


def event(name: str, generation: int = 1, member_id: str = "a", error: str = "NONE", after_us: int = 10_000) -> Events:
    told = error if name.endswith("answered") else None
    partitions = ("orders-0",) if name.startswith(("assigned", "revoked", "lost")) else ()
    who = {"event": name, "generation": generation, "member_id": member_id}
    return [who | {"error": told, "partitions": partitions, "after_us": after_us}]


def exchange(api: str, generation: int = 1, member_id: str = "a", asked: int | None = None) -> Events:
    sent = event(f"{api}_sent", generation if asked is None else asked, member_id)
    return [*sent, *event(f"{api}_answered", generation, member_id)]


def joins(generation: int, member_id: str = "a") -> Events:
    """From JoinGroup on."""
    joined = [*exchange("join", generation, member_id, asked=-1), *exchange("sync", generation, member_id)]
    told = [*event("assigned_started", generation, member_id), *event("assigned", generation, member_id)]
    return [*joined, *event("poll"), *told, *event("poll")]


def rejoins(rebalance: str) -> Events:
    """A commit is out, and a rebalance is announced: JoinGroup is sent."""
    gives_up = [*event("revoked_started"), *event("revoked")] if rebalance == "eager" else []
    announced = [*event("heartbeat_sent"), *event("heartbeat_answered", error="REBALANCE_IN_PROGRESS")]
    return [*event("commit_sent"), *announced, *event("poll"), *gives_up, *event("join_sent")]


def loses(rebalance: str) -> Events:
    """What it still has."""
    return [] if rebalance == "eager" else [*event("lost_started"), *event("lost")]


def found(source: str, rebalance: str, events: Events) -> list[str]:
    """What is found after a first round, by both checkers."""
    settings = {"rebalance": rebalance, "session_timeout_ms": 10_000, "max_poll_interval_ms": 300_000}
    config: dict[str, object] = {"event": "config", "detail": msgspec.Raw(msgspec.json.encode(settings))}
    begins = [*event("subscribed", -1, ""), *event("poll", -1, ""), *exchange("lookup", -1, "")]
    lines, at_us = [], 0
    for seq, one in enumerate([config, *begins, *joins(1), *events]):
        fields = dict(one)
        at_us += int(str(fields.pop("after_us", 0)))
        whose = {"v": 1, "run": "r", "group": "g", "member": "m", "source": source, "seq": seq, "at_us": at_us}
        lines.append(msgspec.convert(whose | fields, TraceLine))
    violations = judge_plainly(lines)
    assert judge_compiled(in_order(lines)) == violations
    return rules(violations)


def commits_on(error: str, answer_generation: int = 1) -> Events:
    """The commit is refused, and another one is sent in the same generation."""
    return [*event("commit_answered", answer_generation, error=error), *event("commit_sent", after_us=AFTER_FLIGHT_US)]


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("source", ["reference", "wire", "log"])
def test_M1_a_refused_commit_ends_the_generation_between_two_rounds(source: str, rebalance: str, error: str) -> None:
    story = [*event("commit_sent"), *commits_on(error)]
    assert found(source, rebalance, story) == ["T-COMMIT-NO-MEMBER"]


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("source", ["reference", "wire", "log"])
def test_M1_while_a_join_is_out_it_ends_that_of_another_client_and_not_the_reference_s(
    source: str, rebalance: str, error: str
) -> None:
    """Java's commit handler resets a generation that has not changed; the reference waits for JoinGroup's answer."""
    expected = [] if source == "reference" else ["T-COMMIT-NO-MEMBER"]
    assert found(source, rebalance, [*rejoins(rebalance), *commits_on(error)]) == expected


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("source", ["wire", "log"])
def test_M1_while_a_join_is_out_it_ends_no_generation_but_its_own(source: str, rebalance: str) -> None:
    """Java's commit handler: another generation by now, and the next one is being prepared."""
    without = [*rejoins(rebalance), *commits_on("UNKNOWN_MEMBER_ID", answer_generation=-1)]
    assert found(source, rebalance, without) == []
    gives_up = [*event("revoked_started", 2), *event("revoked", 2)] if rebalance == "eager" else []
    again = [*event("heartbeat_sent", 2), *event("heartbeat_answered", 2, error="REBALANCE_IN_PROGRESS"), *gives_up]
    joined = [*event("join_answered", 2), *exchange("sync", 2)]
    told = [*event("poll"), *event("assigned_started", 2), *event("assigned", 2)] if rebalance == "eager" else []
    refused = [*event("join_sent", 2), *event("commit_answered", 1, error="UNKNOWN_MEMBER_ID")]
    commits = event("commit_sent", 2, after_us=AFTER_FLIGHT_US)
    assert found(source, rebalance, [*rejoins(rebalance), *joined, *told, *again, *refused, *commits]) == []


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("source", ["wire", "log"])
def test_J4_both_who_resets_itself_meanwhile_and_who_waits_for_the_answer_of_its_join_are_right(
    source: str, rebalance: str, error: str
) -> None:
    refused = [*rejoins(rebalance), *event("commit_answered", error=error)]
    new_id = "b" if error == "UNKNOWN_MEMBER_ID" else "a"
    unheeded = [*event("join_answered", 2), *event("poll"), *loses(rebalance), *joins(3, new_id)]
    assert found(source, rebalance, [*refused, *unheeded]) == []
    moved = [*event("join_answered", error="NOT_COORDINATOR"), *exchange("lookup", -1, "")]
    waits = [*event("join_sent", 1, after_us=AFTER_FLIGHT_US), *event("join_answered", 2), *exchange("sync", 2)]
    assert found(source, rebalance, [*refused, *moved, *waits]) == []
