"""Every rule has a mutant that a test notices: the catalogue, the plugin, and the committed matrix."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from groupspec.conformance import cli, kills
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.explain.rules import explain_rule
from groupspec.conformance.mutation import guards, matrix, plugin, trials
from groupspec.conformance.mutation.catalogue import MUTANTS, find, rows
from groupspec.conformance.mutation.mutant import Seam, mutant
from groupspec.impl.core import dispatch
from groupspec.impl.core.context import Context
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.tests.scene import Scene
from groupspec.impl.core.validation import Validation
from groupspec.spec.compiler.tables import tables
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

Captured = pytest.CaptureFixture[str]


# The catalogue -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", MUTANTS)
def test_each_mutant_finds_what_it_replaces_and_is_taken_back(identifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_read_anew", lambda: None)  # nobody asks for the changed table: that takes long
    handlers, init = dict(dispatch.HANDLERS), Scene.__init__
    with Seam() as seam:
        MUTANTS[identifier].change(seam)
    assert handlers == dispatch.HANDLERS
    assert init is Scene.__init__
    Scene().stable(0)


@pytest.mark.parametrize("identifier", ["G6-for-ever", "Q4-row-published"])
def test_a_row_is_changed_for_whoever_asks_and_then_is_what_it_was(identifier: str) -> None:
    before = {key: table.hash for key, table in tables().items()}
    with Seam() as seam:
        MUTANTS[identifier].change(seam)
        changed = [key[0] for key, table in tables().items() if table.hash != before[key]]
        assert set(changed) == {"broker_group" if identifier[0] == "G" else "rebalance"}
    assert before == {key: table.hash for key, table in tables().items()}


def test_a_mutant_whose_rows_are_gone_says_so() -> None:
    with Seam() as seam, pytest.raises(LookupError, match="needs other rows"):
        rows.change_rows(seam, "rebalance", rows.cell("STABLE", "no_such_event"), rows.ignored)


def test_what_cannot_be_replaced_is_refused() -> None:
    with Seam() as seam:
        with pytest.raises(TypeError, match="name a method"):
            seam.replace(3, print)
        with pytest.raises(TypeError, match=r"can't stand for Seam\.put: too many positional"):
            seam.replace(Seam.put, lambda _, self, owner, name: None)
        with pytest.raises(TypeError, match="unexpected keyword argument 'step'"):
            seam.replace(Counted.count_on, lambda _, self, __=1: None)


class Counted:
    """Something to be changed."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def count(self) -> int:
        self.calls.append("count")
        return len(self.calls)

    def count_on(self, step: int = 1) -> int:
        return len(self.calls) + step


@pytest.mark.parametrize(
    ("when", "order", "returned"), [("before", ["also", "count"], 2), ("after", ["count", "also"], 1)]
)
def test_what_is_done_before_or_after_leaves_what_the_original_returns(
    when: Literal["before", "after"], order: list[str], returned: int
) -> None:
    @mutant("X-also", "M4", Counted.count, when=when)
    def also(self: Counted) -> str:
        """It does something else, too."""
        self.calls.append("also")
        return "of no interest"

    try:
        with Seam() as seam:
            MUTANTS["X-also"].change(seam)
            counted = Counted()
            assert (counted.count(), counted.calls) == (returned, order)
    finally:
        del MUTANTS["X-also"]


def test_a_mutant_whose_types_are_wrong_is_broken_wherever_that_shows() -> None:
    """Five tests failed with `O5-fetched-again` because it returned tuples where the core has positions."""
    with pytest.raises(AttributeError) as found:
        Validation._is_unsure(None, TopicPartition("orders", 0), (1, 2))  # type: ignore[arg-type]
    assert guards.is_defect(found.value)
    assert not guards.is_defect(KeyError("no such timer"))


def test_a_mutant_breaks_rules_and_says_what_is_done_then() -> None:
    for one in MUTANTS.values():
        assert one.rules
        assert set(one.rules) <= set(RULES)
        assert one.what.endswith(".")
        if one.id in KNOWN_BUGS:
            assert set(one.rules) & set(KNOWN_BUGS[one.id].rules), one.id


# Running tests with a mutant -----------------------------------------------------------------------------------------


def test_a_check_carries_the_rules_of_its_name() -> None:
    test = "impl/core/tests/test_commits.py::test_M2_J4_a_commit_can_show_that_the_identity_is_gone"
    assert trials.rules_of(test) == {"M2", "J4"}
    assert tuple(test.split("::")) in set(trials.checks())


def test_a_member_that_never_stops_is_a_failure_and_not_the_end() -> None:
    """BUG-28's sister: an answer for which the core would send the same request for ever."""
    scene = Scene().preparing()
    with Seam() as seam:
        guards.stop_the_endless(seam)
        emit = scene.core.context.emit
        with pytest.raises(guards.Runaway):
            list(map(emit, itertools.repeat(scene.outputs[0])))
    assert Context.emit.__qualname__ == "Context.emit"


@pytest.mark.exhaustive
def test_no_test_fails_without_a_mutant_and_the_right_one_does_with_it() -> None:
    _, found = trials.tried([trials.UNCHANGED, "BUG-23", "G6-for-ever"])
    assert found[trials.UNCHANGED]["failed"] == []
    assert "test_J3_member_id_required_is_answered_at_once_with_the_id" in "".join(found["BUG-23"]["failed"])
    assert "test_G1_G6_the_rebalance_timeout_waits_for_nobody" in "".join(found["G6-for-ever"]["failed"])
    assert all(one["defect"] == "" for one in found.values())


def pytest_with_mutants(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin.__name__, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.exhaustive
def test_a_mutant_that_is_broken_itself_is_not_taken_for_one_that_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        """
from groupspec.conformance.mutation.mutant import answer, mutant
from groupspec.impl.core.context import Context

@mutant("D1-raises", "D1", Context.emit)
def raises(original, self, output):
    return original(self, output, "one argument too many")

@mutant("D1-not-applied", "D1")
def not_applied(seam):
    seam.put(*answer("Heartbeat", "NO_SUCH_ERROR"), print)
"""
    )
    (tmp_path / "test_it.py").write_text(
        """
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.tests.scene import Scene
from groupspec.impl.core.validation import Validation

def test_D1_the_core_says_something(): Scene().preparing()
"""
    )
    ids = ("-", "D1-raises", "D1-not-applied")
    run = pytest_with_mutants(tmp_path, "--kills=kills", *(f"--mutant={one}" for one in ids))
    assert run.returncode == 0, run.stdout
    tests, unchanged, raises, not_applied = map(json.loads, (tmp_path / "kills").read_text().splitlines())
    assert tests == {"tests": ["test_it.py::test_D1_the_core_says_something"]}
    assert unchanged == {"mutant": "-", "failed": [], "defect": ""}
    assert "TypeError" in raises["defect"]
    assert "can't be applied: KeyError" in not_applied["defect"]


def test_pytest_shows_how_a_test_fails_with_a_mutant() -> None:
    test = "impl/core/tests/test_joining.py::test_J3_member_id_required_is_answered_at_once_with_the_id"
    run = pytest_with_mutants(trials.ROOT, "--mutant=BUG-23", test)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert "1 failed" in run.stdout


def test_an_unknown_mutant_is_refused_with_the_list() -> None:
    with pytest.raises(UsageProblem, match="no mutant 'BUG-99'"):
        find("BUG-99")


# The committed matrix ------------------------------------------------------------------------------------------------


def test_what_is_committed_is_fresh_and_leaves_no_gap() -> None:
    assert matrix.problems(kills.COMMITTED.read_text()) == []


def test_a_gap_a_stale_hash_and_a_needless_excuse_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = kills.committed()
    data["rules"]["J3"]["kills"] = []
    data["idle"] = ["spec/tests/test_paths.py::test_Q4_that_sleeps"]
    data |= {"spec": "of yesterday", "catalogue": matrix.catalogue_hash()}
    monkeypatch.setattr(matrix, "NOT_TRIED", {**matrix.NOT_TRIED, "H1": "nobody has written one"})
    monkeypatch.setattr(matrix, "catalogue_hash", lambda: data["catalogue"])
    assert matrix.problems(json.dumps(data)) == [
        "the tables or the list of rules have changed since the kill matrix was computed",
        "no mutant of rule J3 is noticed, and nothing says why",
        "rule H1 stands on the list of those without a mutant, and has one",
        "no mutant makes spec/tests/test_paths.py::test_Q4_that_sleeps fail: it proves nothing",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_a_matrix_that_cannot_be_read_is_a_problem(text: str) -> None:
    assert len(matrix.problems(text)) == 1


def test_explain_says_which_mutants_of_a_rule_are_noticed(capsys: Captured) -> None:
    assert cli.main(["explain", "H1"]) == 0
    shown = capsys.readouterr().out
    assert "BUG-25: No heartbeats while SyncGroup is unanswered." in shown
    assert "-> impl/core/tests/test_heartbeats.py::test_H1_heartbeats_begin_when_the_join_is_accepted" in shown
    of_tables, of_coordinator = {"G6-for-ever", "G6-removed-at-once"}, {"G6-shortest", "G6-leaderless"}
    assert {one.mutant for one in explain_rule("G6").kills} == of_tables | of_coordinator


@pytest.mark.exhaustive
def test_each_mutant_is_noticed_by_those_tests_of_its_rules_that_are_committed() -> None:
    found, problems = matrix.kill_matrix(jobs=2, of_its_rules=True)
    assert problems == []
    assert found["rules"] == json.loads(kills.COMMITTED.read_text())["rules"]


@pytest.mark.nightly
def test_computed_anew_the_matrix_is_the_committed_one() -> None:
    found, problems = matrix.kill_matrix(jobs=2)
    assert problems == []
    assert found["idle"] == []
    assert matrix.matrix_text(found) == kills.COMMITTED.read_text()
