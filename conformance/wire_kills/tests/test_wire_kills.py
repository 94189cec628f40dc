"""The wire kill matrix: how it is searched for, and what is wrong with one that is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import jsonschema
import msgspec
import pytest

from groupspec.conformance.checks.verdicts import BROKEN, Verdict
from groupspec.conformance.commands._common import SCHEMAS
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.wire.recording import load, recordings_in
from groupspec.conformance.wire.scenarios import case_of, find_cases, written_cases
from groupspec.conformance.wire_kills import matrix
from groupspec.conformance.wire_kills.matrix import Fate, Found, Unseen, WireKills
from groupspec.conformance.wire_kills.page import matrix_markdown
from groupspec.conformance.wire_kills.search import ENOUGH, Hunt, Kill, Runs, mark_of_case, searched

RECORDED = Path(__file__).parents[2] / "wire" / "recorded"
CASES = find_cases(["rebalance-eager/slow-callback", "first-join/poll-5", "close-on-the-way/looking-up"])

OTHER_SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {"rebalance": "cooperative"},
    {"retry_backoff_ms": 50},
    {"timeout_ms": 2_000},
    {"poll_interval_ms": 3_000},
    {"heartbeat_interval_ms": 50},
)


def made_of(found: dict[str, dict[str, float]]) -> WireKills:
    """A matrix: mutant -> case -> seconds."""
    fates = {
        mutant: Fate("", "background", 9, 9, 0, tuple(Found(case, ("H1",), s) for case, s in by.items()))
        for mutant, by in found.items()
    }
    return WireKills(matrix.FORMAT, {case: s for by in found.values() for case, s in by.items()}, fates)


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


def test_a_run_counts_no_more_when_the_settings_of_its_case_are_others() -> None:
    case = case_of("first-join")
    assert case is not None
    marks = {mark_of_case(replace(case, scenario=replace(case.scenario, **more))) for more in OTHER_SETTINGS}
    assert len(marks) == len(OTHER_SETTINGS)
    assert mark_of_case(case) not in marks


def test_a_hunt_is_over_when_enough_cases_have_found_it() -> None:
    hunt = Hunt(MUTANTS["BUG-26"], "background", left=list(CASES))
    assert hunt.runs_left == len(CASES)
    hunt.kills = [Kill("first-join", ("H1",), 1.0)] * ENOUGH
    assert hunt.runs_left == 0


# The matrix -----------------------------------------------------------------------------------------------------------


def test_a_matrix_that_was_written_is_read_and_says_what_it_was_made_from() -> None:
    hunts = [Hunt(mutant) for mutant in of_the_reference().values()]
    hunts[0].kills = [Kill("first-join", ("J1",), 1.0)]
    made = matrix.matrix(hunts, {"first-join": 1.0})
    text = matrix.matrix_text(made)
    assert matrix.read_matrix(text) == made
    # one of 65 known bugs that can be seen
    assert [each.partition(" ")[0] for each in matrix.problems(text)] == ["1.5%"]
    assert f"| {hunts[0].mutant.id} | " in matrix_markdown(made)
    assert "no case enters what it changes" in matrix_markdown(made)
    assert matrix.problems("{")[0].startswith("wire_kills.json can't be read")


def test_a_matrix_is_stale_where_a_mutant_or_a_case_has_changed_and_may_not_know_a_few() -> None:
    mutants = list(of_the_reference().values())
    made = matrix.matrix([Hunt(mutant, kills=[Kill("first-join", ("J1",), 1.0)]) for mutant in mutants], {})
    first, second, *_ = made.fates
    fates = dict(made.fates)
    fates[first] = msgspec.structs.replace(fates[first], mark="another")
    fates[second] = msgspec.structs.replace(fates[second], found_by=(Found("first-join", ("X2",), 1.0),))
    changed = msgspec.structs.replace(made, fates=fates)
    assert matrix.stale(made) == matrix.unknown(made) == []
    assert matrix.stale(changed) == [first, second]
    assert f"computed: {first}, {second}" in matrix.problems(matrix.matrix_text(changed))[0]
    for lacking, told in ((matrix.NEW_AT_MOST, []), (matrix.NEW_AT_MOST + 1, ["it"])):
        there = msgspec.structs.replace(made, fates=dict(list(made.fates.items())[:-lacking]))
        assert matrix.unknown(there) == list(made.fates)[-lacking:]
        problems = matrix.problems(matrix.matrix_text(there))
        assert [word for word in (each.partition(" ")[0] for each in problems) if word != "unseen.toml"] == told


RED_FOR_NO_MUTANT = {
    "C5": "its two mutants stand still at once, or hand not all over, and are red for S3",
    "J10": "the catalogue has no mutant that writes what others cannot read",
    "M6": "none of its mutants is found in the cases that were run",
    "W1": "the catalogue has no mutant that sends what a broker cannot read",
}
"""Rules that are judged on the wire, and broken there by no mutant of the reference; and why."""


def test_each_rule_that_is_judged_on_the_wire_goes_red_for_a_mutant_of_the_reference() -> None:
    """In the matrix, or, as that stops when three cases have found a mutant, in a recorded run."""
    made = matrix.committed()
    assert made is not None
    red = {rule for fate in made.fates.values() for found in fate.found_by for rule in found.rules}
    recorded = (load(file).header for file in recordings_in([RECORDED]))
    red |= {
        rule
        for header in recorded
        for rule, verdict in header.expected.items()
        if header.client.startswith("reference") and Verdict(verdict) in BROKEN
    }
    judged = {rule for case in written_cases() for rule in case.rules}
    assert judged - red == set(RED_FOR_NO_MUTANT)


def test_what_is_committed_is_what_the_json_of_the_command_may_say() -> None:
    """`verify --wire-mutation` ran for hours, wrote the matrix, and ended with an internal error."""
    schema = json.loads((SCHEMAS / "verify.json").read_text(encoding="utf-8"))["properties"]["wire_mutation"]
    jsonschema.validate(json.loads(msgspec.json.encode(matrix.committed())), schema)


def test_what_is_known_stays_beside_what_a_later_search_finds() -> None:
    one, two = (MUTANTS[each] for each in ("BUG-26", "H2-not-woken"))
    before = matrix.matrix([Hunt(one, "background", reached=3, tried=3), Hunt(two, reached=1)], {"first-join": 1.0})
    found = Hunt(one, "background", reached=2, tried=1, kills=[Kill("two-members/leads", ("H1",), 2.0)])
    made = matrix.matrix([found], {"two-members/leads": 3.0}, before)
    assert made.fates["BUG-26"] == Fate(
        matrix.mark(one), "background", 5, 4, 0, (Found("two-members/leads", ("H1",), 2.0),)
    )
    assert made.fates["H2-not-woken"] == before.fates["H2-not-woken"]
    assert matrix.unfinished(made) == []
    stopped = Hunt(two, "heartbeat", left=list(CASES), reached=3)
    unfinished = matrix.matrix([stopped], {}, made)
    assert matrix.unfinished(unfinished) == ["H2-not-woken"]
    gone_on = matrix.matrix([Hunt(two, "heartbeat", reached=3, tried=3)], {}, unfinished)
    assert gone_on.fates["H2-not-woken"] == Fate(matrix.mark(two), "heartbeat", 3, 3, 0, ())
    assert made.seconds == {"first-join": 1.0, "two-members/leads": 3.0}


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
