"""The committed scores are what trying the mutants anew says, and no property among them is idle."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupspec.conformance.scores import files
from groupspec.conformance.scores.killing import scores
from groupspec.conformance.scores.subjects import subjects

SAMPLE = 40
"""One mutant in so many is tried anew."""


@pytest.fixture
def committed() -> dict[str, Any]:
    if not files.COMMITTED.is_file():
        pytest.skip("no scores are committed yet: groupspec verify --scores")
    found: dict[str, Any] = json.loads(files.COMMITTED.read_text(encoding="utf-8"))
    return found


def test_enough_mutants_are_killed(committed: dict[str, Any]) -> None:
    assert files.share_killed(committed["mutants"]) >= files.WANTED


def test_each_safety_property_notices_a_mutant(committed: dict[str, Any]) -> None:
    noticed = {name for row in committed["mutants"] for name in row["by"]}
    claimed = {p.id for subject in subjects() for p in subject.model.properties if p.kind == "invariant"}
    assert not claimed - noticed


@pytest.mark.exhaustive
def test_a_sample_tried_anew_ends_as_committed(committed: dict[str, Any]) -> None:
    expected = {(row["rebalance"], row["id"]): (row["fate"], row["by"]) for row in committed["mutants"]}
    for known, chosen in files.sampled(SAMPLE):
        for score in scores(known, chosen):
            told = expected.get((chosen[0].rebalance, score.mutant.id))
            assert told is None or told == (score.fate, list(score.by)), score.mutant.id
