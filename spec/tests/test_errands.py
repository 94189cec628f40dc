"""The table of errands: closed lists, known rules, nothing said twice, nothing that a machine says too."""

from __future__ import annotations

from groupspec.spec.errands import COMMAND, CONSEQUENCES, ERRANDS, SITUATIONS, TIMER
from groupspec.spec.rules import RULES
from groupspec.spec.vocabulary import RESPONSES


def test_situations_and_consequences_are_closed_lists_and_all_of_them_are_used() -> None:
    assert {errand.when for errand in ERRANDS} == set(SITUATIONS)
    assert {errand.then for errand in ERRANDS} == set(CONSEQUENCES)


def test_every_errand_follows_from_rules_that_exist() -> None:
    for errand in ERRANDS:
        assert errand.rules, errand
        assert set(errand.rules.split()) <= set(RULES), errand


def test_nothing_is_said_twice() -> None:
    said = [(errand.request, errand.error, errand.when) for errand in ERRANDS]
    assert len(said) == len(set(said))


def test_every_request_that_runs_errands_says_what_follows_from_any_other_error() -> None:
    requests = {errand.request for errand in ERRANDS} - {COMMAND, TIMER, "Heartbeat", "OffsetCommit"}
    for request in requests:
        assert {"NONE", "other"} <= {errand.error for errand in ERRANDS if errand.request == request}


def test_what_errands_and_machines_both_speak_of_is_the_coordinator_alone() -> None:
    both = {(errand.request, errand.error) for errand in ERRANDS} & set(RESPONSES)
    assert {RESPONSES[answer] for answer in both} == {"ask_coordinator_gone"}
    assert {errand.then for errand in ERRANDS if (errand.request, errand.error) in both} == {"coordinator_forgotten"}
