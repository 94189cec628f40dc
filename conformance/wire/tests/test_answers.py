"""The generated family: which answers there are, what must follow from each, and that the reference does it."""

from __future__ import annotations

from collections import Counter

import pytest

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.wire.answers import path
from groupspec.conformance.wire.answers.family import answer_scenarios
from groupspec.conformance.wire.answers.path import CannotBe, course
from groupspec.conformance.wire.answers.refusals import errors
from groupspec.conformance.wire.answers.rows import UNANSWERED, left_out, rows
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.scenarios import FULL, SCENARIOS, all_cases, case_of, find_cases, written_cases
from groupspec.conformance.wire.scenarios.races import RACES
from groupspec.spec import load_machine

BOTH = ("eager", "cooperative")
SAMPLE = 7
"""Every so manieth case: all requests, points, answers and protocols come up."""


# Which answers there are ----------------------------------------------------------------------------------------------


def test_errors_are_those_of_the_groups_table_and_of_what_stands_before_it() -> None:
    from_table = {error for error, source in errors("Heartbeat", "member").items() if source.startswith("spec/")}
    assert from_table == {"ILLEGAL_GENERATION", "NOT_COORDINATOR", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"}
    beside = set(errors("Heartbeat", "member")) - from_table
    assert beside == {"COORDINATOR_NOT_AVAILABLE", "GROUP_AUTHORIZATION_FAILED"}


def test_who_has_no_instance_id_is_not_fenced_and_who_has_an_id_is_not_given_one() -> None:
    for request in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup"):
        assert "FENCED_INSTANCE_ID" not in errors(request, "member")
    assert "MEMBER_ID_REQUIRED" in errors("JoinGroup", "none")
    assert "MEMBER_ID_REQUIRED" not in errors("JoinGroup", "pending")


# What must follow -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rebalance", BOTH)
@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("UNKNOWN_MEMBER_ID", "lost JoinGroup JoinGroup SyncGroup assigned"),  # without an id, then with the one given
        ("ILLEGAL_GENERATION", "lost JoinGroup SyncGroup assigned"),
        ("NOT_COORDINATOR", "FindCoordinator"),
        ("DISCONNECTED", "FindCoordinator"),
        ("NONE", ""),
        ("GROUP_AUTHORIZATION_FAILED", "ERROR"),
    ],
)
def test_what_follows_from_a_heartbeats_answer(rebalance: str, error: str, words: str) -> None:
    assert course(rebalance, "Heartbeat", "stable", error).words == tuple(words.split())


def test_an_announced_rebalance_takes_everything_from_an_eager_member_and_nothing_from_a_cooperative_one() -> None:
    eager, cooperative = (course(each, "Heartbeat", "stable", "REBALANCE_IN_PROGRESS").words for each in BOTH)
    assert eager == ("OffsetCommit", "revoked", "JoinGroup", "SyncGroup", "assigned")
    assert cooperative == ("OffsetCommit", "JoinGroup", "SyncGroup")


@pytest.mark.parametrize(
    ("request_", "point", "error", "why"),
    [
        ("Heartbeat", "joining", "NONE", "no Heartbeat is sent while joining"),
        ("Heartbeat", "syncing", "NONE", "the answer to Heartbeat waits behind that to SyncGroup"),
    ],
)
def test_what_cannot_be_is_told_with_the_reason(request_: str, point: str, error: str, why: str) -> None:
    with pytest.raises(CannotBe, match=why):
        course("eager", request_, point, error)


def test_every_row_is_one_case_and_every_other_is_left_out_for_a_reason() -> None:
    names = [
        f"{scenario.id}/{variant.name}" for scenario in answer_scenarios().values() for variant in scenario.variants
    ]
    assert len(set(names)) == len(names) == len(rows())
    assert not set(answer_scenarios()) & set(SCENARIOS)
    assert all(why for _, why in left_out())
    assert {row.point for row in rows()} <= set(path.POINTS)
    assert Counter(row.answer in UNANSWERED for row in rows())[True] > 0


@pytest.mark.parametrize("rebalance", BOTH)
def test_who_closes_does_not_join_again_and_leaves_unless_it_is_no_member(rebalance: str) -> None:
    expelled = course(rebalance, "OffsetCommit", "closing", "UNKNOWN_MEMBER_ID")
    assert expelled.words == ("lost",)
    assert course(rebalance, "OffsetCommit", "closing", "TOPIC_AUTHORIZATION_FAILED").words == ("revoked", "LeaveGroup")


def test_commits_that_the_members_machine_does_not_send_are_sent_by_the_one_beside_it() -> None:
    commit = load_machine("commit")
    member = commit.state("SETTLED", auto_commit=True, standing="member", coordinator_here=True)
    for event in path.COMMITS.values():
        due = commit.step(member, event, covers_now="something").state
        assert commit.step(due, "turn_ended").emitted == ("OffsetCommit",)


def test_what_has_no_machine_follows_the_table_of_requests() -> None:
    assert course("eager", "OffsetFetch", "stable", "NOT_COORDINATOR").outcome == "coordinator_forgotten"
    assert course("eager", "Fetch", "stable", "OFFSET_OUT_OF_RANGE").outcome == "position_reset"


def test_a_row_is_judged_by_the_rules_of_the_rows_of_the_table_that_fire() -> None:
    [row] = [
        row
        for row in rows()
        if (row.request, row.rebalance, row.name) == ("Heartbeat", "eager", "stable-unknown-member-id")
    ]
    assert {"J4", "H4", "C2", "J2", "S3", "H3"} <= set(row.rules)
    assert row.demands == ("lost", "JoinGroup", "SyncGroup", "assigned")


# As cases like the others ---------------------------------------------------------------------------------------------


def test_the_family_belongs_to_the_full_profile_and_each_case_has_a_name() -> None:
    assert [case.scenario.id for case in find_cases([])] == [case.scenario.id for case in all_cases()]
    assert len(find_cases([], FULL)) == len(written_cases()) + len(rows()) + len(RACES)
    [case] = find_cases(["heartbeat-eager/stable-unknown-member-id"])
    assert case_of(case.id) == case
    assert len(find_cases(["heartbeat-eager"])) > 1


def judged(client: str, step: int) -> list[str]:
    cases = [case for case in all_cases(FULL) if case.scenario.id not in SCENARIOS][::step]
    campaign = run_campaign([find_client(client)], cases, jobs=6)
    said = (row for each in campaign.clients for row in each.rows)
    wrong = (Verdict.FAIL, Verdict.DEVIATION, Verdict.INCONCLUSIVE)
    return [f"{row.case.id} {row.rule}: {row.judgement.reason}" for row in said if row.judgement.verdict in wrong]


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_the_reference_does_what_the_machines_say_in_a_sample_of_the_rows() -> None:
    assert judged("reference", SAMPLE) == []


@pytest.mark.realtime
@pytest.mark.nightly
@pytest.mark.parametrize("client", ["reference", "reference-heartbeat"])
def test_the_reference_does_what_the_machines_say_in_every_row(client: str) -> None:
    assert judged(client, 1) == []
