"""Every rule is held: the breakers find their seams, the committed matrix is fresh, and a gap is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import MappingProxyType

import pytest

from groupspec.conformance import cli
from groupspec.conformance.explain.explanations import explain
from groupspec.conformance.mutation import _seams, files, lists, matrix, rows, stories
from groupspec.conformance.mutation.catalogue import BREAKERS
from groupspec.conformance.mutation.catalogue.on_the_wire import MUTANTS
from groupspec.conformance.mutation.worker import GREEN
from groupspec.impl.core import dispatch
from groupspec.impl.core.tests.scene import Scene
from groupspec.spec.compiler.tables import tables
from groupspec.spec.known_bugs import KNOWN_BUGS
from groupspec.spec.rules import RULES

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def undone() -> Iterator[None]:
    yield
    _seams.undo()


# The breakers
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", [one.id for one in BREAKERS.values() if not one.of_spec])
def test_each_breaker_finds_its_seam_and_is_taken_back(identifier: str, undone: None) -> None:
    handlers, emit = dict(dispatch.HANDLERS), Scene.__init__
    BREAKERS[identifier].put_in()
    _seams.undo()
    assert handlers == dispatch.HANDLERS
    assert emit is Scene.__init__
    Scene().stable(0)


@pytest.mark.parametrize("identifier", ["G6-for-ever", "Q4-row-published"])
def test_a_row_is_changed_for_whoever_asks_and_then_is_what_it_was(identifier: str, undone: None) -> None:
    before = {key: table.hash for key, table in tables().items()}
    BREAKERS[identifier].put_in()
    changed = [key[0] for key, table in tables().items() if table.hash != before[key]]
    assert set(changed) == {"broker_group" if identifier[0] == "G" else "rebalance"}
    _seams.undo()
    assert before == {key: table.hash for key, table in tables().items()}


def test_a_breaker_whose_rows_are_gone_says_so() -> None:
    with pytest.raises(LookupError, match="needs other rows"):
        rows.change_rows("rebalance", rows.cell("STABLE", "no_such_event"), rows.ignored)


def test_a_breaker_breaks_rules_and_says_what_is_done_then() -> None:
    for one in BREAKERS.values():
        assert one.rules
        assert set(one.rules) <= set(RULES)
        assert one.what.endswith(".")
        if one.id in KNOWN_BUGS:
            assert set(one.rules) & set(KNOWN_BUGS[one.id].rules), one.id


def test_the_mutants_of_the_wire_kit_are_breakers_too() -> None:
    assert set(MUTANTS) <= set(BREAKERS)


# The checks
# --------------------------------------------------------------------------------------------------------------


def test_a_story_carries_the_rules_of_its_name_and_all_its_cases() -> None:
    known = stories.stories()
    story = known["impl/core/tests/test_commits.py::test_M2_J4_a_commit_can_show_that_the_identity_is_gone"]
    assert story.rules == ("M2", "J4")
    assert [case["error"] for case in story.cases] == ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"]
    assert stories.failure(story) is None


def test_a_member_that_never_stops_is_a_failure_and_not_the_end(undone: None) -> None:
    """BUG-28's sister: an answer for which the core would send the same request for ever."""

    def endless(scene: Scene) -> None:
        while True:
            scene.core.context.emit(scene.outputs[0])

    story = stories.Story("none", ("D3",), lambda: endless(Scene().preparing()), ({},))
    assert isinstance(stories.failure(story), stories.Runaway)


def test_no_check_is_red_without_a_breaker_and_the_right_one_is_with_it() -> None:
    found = {one.breaker: one for one in matrix._one_process([GREEN, "BUG-23", "G6-for-ever"])}
    assert found[GREEN].red == ()
    assert "test_J3_member_id_required_is_answered_at_once_with_the_id" in "".join(found["BUG-23"].red)
    assert "test_G1_G6_the_rebalance_timeout_waits_for_nobody" in "".join(found["G6-for-ever"].red)
    assert all(one.defect == "" for one in found.values())


def test_a_breaker_that_is_broken_itself_is_not_taken_for_one_that_is_noticed() -> None:
    (found,) = matrix._one_process(["no-such-breaker"])
    assert "can't be put in" in found.defect


# The committed matrix
# ----------------------------------------------------------------------------------------------------


def test_what_is_committed_is_fresh_and_leaves_no_gap() -> None:
    assert files.problems(files.COMMITTED.read_text()) == []


def test_a_gap_a_stale_hash_and_a_needless_excuse_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = files.committed()
    data["rules"]["J3"]["held"] = []
    data["idle_checks"] = ["spec/tests/test_paths.py::test_Q4_that_sleeps"]
    data |= {"spec": "of yesterday", "catalogue": files.catalogue_hash()}
    later = MappingProxyType(dict(lists.HELD_LATER) | {"H1": lists.Later("the scheduler", "it does not exist yet")})
    monkeypatch.setattr(files, "HELD_LATER", later)
    assert files.problems(json.dumps(data)) == [
        "the tables or the rules have changed since the kill matrix was computed",
        "rule J3 is held by nothing, and no list says why",
        "rule H1 stands on a list of those that nothing holds, and is held",
        "no breaker turns spec/tests/test_paths.py::test_Q4_that_sleeps red: it holds nothing",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_a_matrix_that_cannot_be_read_is_a_problem(text: str) -> None:
    assert len(files.problems(text)) == 1


def test_at_most_twelve_rules_are_put_off() -> None:
    assert len(lists.HELD_LATER) <= lists.MAX_LATER == 12
    assert not set(lists.HELD_LATER) & set(lists.HYGIENE)


def test_explain_says_by_what_a_rule_is_held(capsys: Captured) -> None:
    assert cli.main(["explain", "H1"]) == 0
    shown = capsys.readouterr().out
    assert "BUG-25: No heartbeats while SyncGroup is unanswered." in shown
    assert "-> impl/core/tests/test_heartbeats.py::test_H1_heartbeats_begin_when_the_join_is_accepted" in shown
    assert {one.breaker for one in explain("G6").held} == {"G6-for-ever", "G6-removed-at-once"}


@pytest.mark.exhaustive
def test_computed_anew_the_matrix_is_the_committed_one() -> None:
    found = matrix.kill_matrix(jobs=2)
    assert found.problems == ()
    assert found.unnoticed() == []
    assert found.idle_checks() == []
    assert files.held_text(files.held_data(found)) == files.COMMITTED.read_text()
