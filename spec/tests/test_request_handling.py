"""The table of request handling: closed lists, known rules, nothing said twice, nothing that a machine says too."""

from __future__ import annotations

from groupspec.spec.request_handling import COMMAND, HANDLINGS, POSTCONDITIONS, PRECONDITIONS, TIMER
from groupspec.spec.vocabulary import RESPONSES


def test_situations_and_consequences_are_closed_lists_and_all_of_them_are_used() -> None:
    assert {case.when for case in HANDLINGS} == set(PRECONDITIONS)
    assert {case.then for case in HANDLINGS} == set(POSTCONDITIONS)


def test_every_case_follows_from_rules() -> None:
    for case in HANDLINGS:
        assert case.rules, case


def test_nothing_is_said_twice() -> None:
    said = [(case.request, case.error, case.when) for case in HANDLINGS]
    assert len(said) == len(set(said))


def test_every_request_that_has_cases_says_what_follows_from_any_other_error() -> None:
    requests = {case.request for case in HANDLINGS} - {COMMAND, TIMER, "Heartbeat", "OffsetCommit"}
    for request in requests:
        assert {"NONE", "other"} <= {case.error for case in HANDLINGS if case.request == request}


def test_what_cases_and_machines_both_speak_of_is_what_else_follows_from_the_answer() -> None:
    """The member's machines say what becomes of the request; which lookup follows is said here."""
    both = [case for case in HANDLINGS if (case.request, case.error) in RESPONSES]
    assert {(RESPONSES[case.request, case.error], case.then) for case in both} == {
        ("offset_fetch_coordinator_gone", "coordinator_forgotten"),
        ("commit_settled", "topic_looked_up"),
    }
