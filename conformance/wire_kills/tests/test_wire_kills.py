"""The wire kill matrix: how it is searched for, and what is wrong with one that is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.wire.scenarios import find_cases
from groupspec.conformance.wire_kills import matrix
from groupspec.conformance.wire_kills.matrix import Fate, Found, Unseen, WireKills
from groupspec.conformance.wire_kills.page import matrix_markdown
from groupspec.conformance.wire_kills.search import ENOUGH, Hunt, Kill, Runs, searched

CASES = find_cases(["rebalance-eager/slow-callback", "first-join/poll-5", "close-on-the-way/looking-up"])


def made_of(found: dict[str, dict[str, float]]) -> WireKills:
    """A matrix: mutant -> case -> seconds."""
    fates = {
        mutant: Fate(("H1",), "background", 9, 9, tuple(Found(case, ("H1",), s) for case, s in by.items()))
        for mutant, by in found.items()
    }
    return WireKills(1, "", "", {case: s for by in found.values() for case, s in by.items()}, fates)


# The search -----------------------------------------------------------------------------------------------------------


@pytest.mark.realtime
def test_a_search_finds_what_cases_find_and_goes_on_where_it_was(tmp_path: Path) -> None:
    mutants = {one: MUTANTS[one] for one in ("BUG-26", "T1-monitor-held", "K3-ties-count")}
    left: list[int] = []
    file = tmp_path / "runs.ndjson"
    hunts, seconds = searched(mutants, CASES, Runs(file), 2, lambda many, _: left.append(many))
    by_id = {hunt.mutant.id: hunt for hunt in hunts}
    assert [(kill.case, kill.rules) for kill in by_id["BUG-26"].kills] == [("rebalance-eager/slow-callback", ("H1",))]
    assert by_id["BUG-26"].reached == by_id["BUG-26"].tried == 1  # no other case announces a rebalance
    assert by_id["T1-monitor-held"].design == "heartbeat"
    assert (by_id["K3-ties-count"].reached, by_id["K3-ties-count"].kills) == (0, [])
    assert list(seconds) == [case.id for case in CASES]
    assert all(0.01 < each < 10 for each in seconds.values())
    runs = len(left)
    again, _ = searched(mutants, CASES, Runs(file), 2, lambda many, _: left.append(many))
    assert len(left) == runs == len(file.read_text(encoding="utf-8").splitlines())
    assert [(hunt.tried, hunt.kills) for hunt in again] == [(hunt.tried, hunt.kills) for hunt in hunts]


def test_a_hunt_is_over_when_enough_cases_have_found_it() -> None:
    hunt = Hunt(MUTANTS["BUG-26"], "background", left=list(CASES))
    assert hunt.runs_left == len(CASES)
    hunt.kills = [Kill("first-join", ("H1",), 1.0)] * ENOUGH
    assert hunt.runs_left == 0


# The matrix -----------------------------------------------------------------------------------------------------------


def test_a_matrix_that_was_written_is_read_and_says_what_it_was_made_from() -> None:
    hunts = [Hunt(mutant) for mutant in of_the_reference().values()]
    hunts[0].kills = [Kill("first-join", ("H1",), 1.0)]
    made = matrix.matrix(hunts, {"first-join": 1.0})
    text = matrix.matrix_text(made)
    assert matrix.read_matrix(text) == made
    assert [each.partition(" ")[0] for each in matrix.problems(text)] == ["1.3%"]  # one of 78 known bugs
    assert f"| {hunts[0].mutant.id} | " in matrix_markdown(made)
    assert "no case enters what it changes" in matrix_markdown(made)
    other = msgspec.structs.replace(made, mutants="0", cases="0", format=0)
    told = matrix.problems(matrix.matrix_text(other))
    assert [each.partition(" ")[0] for each in told] == ["wire_kills.json", "the", "cases", "1.3%"]
    assert matrix.problems("{")[0].startswith("wire_kills.json can't be read")


def test_bugs_that_are_not_found_need_a_reason_that_holds() -> None:
    made = made_of({"BUG-01": {"first-join": 1.0}, "BUG-02": {}, "BUG-03": {"first-join": 1.0}, "H1-word": {}})
    reason = {"BUG-02": Unseen("BUG-02", "inside", "It is.")}
    assert matrix.gaps(made, reason) == []
    assert matrix.gaps(made, {}) == [
        "66.7% of the known bugs that can be seen are found, and 95% must be; not found: BUG-02"
    ]
    holds_not = {"BUG-01": Unseen("BUG-01", "inside", "It is."), "H1-word": Unseen("H1-word", "inside", "It is.")}
    assert matrix.gaps(made, reason | holds_not)[:2] == [
        "unseen.toml has BUG-01, which first-join finds",
        "unseen.toml has H1-word, which is no mutant of a known bug",
    ]
