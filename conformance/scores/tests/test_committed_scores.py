"""The committed scores.

Enough is killed, little is equivalent, no property is idle, and trying a sample anew says the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from groupspec.conformance.scores import files
from groupspec.conformance.scores.killing import scores
from groupspec.conformance.scores.subjects import NOTICES_NOTHING, subjects
from groupspec.conformance.scores.trials import score_row

MAX_EQUIVALENT = 0.05
"""No more may be equivalent, of those that make a difference."""

SAMPLE = 40
"""One mutant in so many is tried anew."""


@cache
def committed() -> dict[str, Any]:
    found = files.committed()
    assert found is not None
    return found


def of(machine: str) -> list[dict[str, Any]]:
    return [row for row in committed()["mutants"] if row["machine"] == machine]


def test_the_scores_are_of_this_specification() -> None:
    assert files.problems(files.COMMITTED.read_text(encoding="utf-8")) == []
    assert committed()["every"] == 1


@pytest.mark.parametrize("machine", files.MACHINES)
def test_enough_mutants_of_each_machine_are_killed_and_few_are_equivalent(machine: str) -> None:
    assert of(machine)
    assert files.share_killed(of(machine)) >= files.WANTED
    assert files.share_equivalent(of(machine)) <= MAX_EQUIVALENT


@pytest.mark.parametrize("machine", files.MACHINES)
def test_every_mutant_is_tried_and_compared_to_the_end(machine: str) -> None:
    assert {row["fate"] for row in of(machine)} <= {"killed", "survived", "equivalent", "idle"}


def test_each_safety_property_notices_a_mutant_or_is_known_not_to() -> None:
    noticed = {name for row in committed()["mutants"] for name in row["by"]}
    claimed = {p.id for subject in subjects() for p in subject.model.properties if p.kind == "invariant"}
    assert claimed - noticed == set(NOTICES_NOTHING)


def test_the_page_lists_every_property_that_was_tried_also_those_that_notice_nothing() -> None:
    page = files.COMMITTED.with_suffix(".md").read_text(encoding="utf-8")
    claimed = {p.id: p.kind for subject in subjects() for p in subject.model.properties}
    for name, kind in claimed.items():
        assert (f"\n| {name} | " in page) == (kind != "leads_to"), name
    for name, why in NOTICES_NOTHING.items():
        assert f"\n| {name} | 0 | 0 | {why} |" in page


def test_nobody_survives() -> None:
    """Whoever adds a row that no property notices sees it here: it wants a property."""
    assert [row["id"] for row in committed()["mutants"] if row["fate"] == "survived"] == []


@pytest.mark.exhaustive
def test_a_sample_tried_anew_ends_as_committed() -> None:
    expected = {(row["model"], row["id"]): row for row in committed()["mutants"]}
    for subject in subjects():
        for score in scores(subject.mutants[::SAMPLE], [subject]):
            assert score_row(subject, score) == expected[subject.name, score.mutant.id]
