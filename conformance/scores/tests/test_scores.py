"""The properties notice what is changed in the specification, and what they do not notice nobody can see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupspec.conformance.scores import files
from groupspec.conformance.scores import trials as trials_module
from groupspec.conformance.scores.files import scores_markdown
from groupspec.conformance.scores.killing import Score, scores
from groupspec.conformance.scores.mutants import OPERATORS, SpecMutant, mutants
from groupspec.conformance.scores.subjects import subjects
from groupspec.conformance.scores.trials import score_row, tried
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.explorer import equivalents

PARTITION = tables()["subscription", "eager", "deployed"]


def _mutant(table: Table, name: str) -> SpecMutant:
    return next(mutant for mutant in mutants(table) if mutant.id == f"{table.name}/{name}")


@pytest.fixture(scope="module")
def of_partition() -> list[Score]:
    subject = next(s for s in subjects() if s.name == "open-partition")
    return scores(mutants(PARTITION), [subject])


@pytest.mark.parametrize("machine", files.MACHINES)
def test_a_machine_is_changed_in_every_respect_and_no_two_mutants_have_one_name(machine: str) -> None:
    made = list(mutants(tables()[machine, "cooperative", "deployed"]))
    assert {mutant.operator for mutant in made} == set(OPERATORS)
    assert len({mutant.id for mutant in made}) == len(made)


def test_a_dropped_effect_is_gone_from_each_row_that_was_written_as_one() -> None:
    mutant = _mutant(PARTITION, "ASSIGNED.sought.1/drop-effect/find_position")
    assert mutant.rows == ("ASSIGNED.sought.1", "FETCHABLE.sought.1", "PAUSED.sought.1")
    assert all(mutant.table.by_id[row].effects == () for row in mutant.rows)
    assert mutant.table.by_id["AWAITING_POSITION.sought.1"].effects == ("find_position",)


def test_a_negated_guard_fires_where_it_did_not() -> None:
    assert _mutant(PARTITION, "AWAITING_POSITION.sought.1/negate/guard").table.rows[0].guard == "user_paused"


def test_a_guard_is_not_widened_into_what_no_correct_peer_does() -> None:
    timeouts = tables()["timeouts", "eager", "deployed"]
    rebalance = tables()["rebalance", "eager", "deployed"]
    assert not [m for m in mutants(rebalance) if "join_accepted" in m.id and m.what == "coordinator_known"]
    assert [m for m in mutants(timeouts) if m.operator == "widen" and m.what == "coordinator_known"]


def test_whatever_of_a_partition_nobody_kills_nobody_can_see(of_partition: list[Score]) -> None:
    assert {score.fate for score in of_partition} == {"killed", "idle"}
    assert sum(score.fate == "killed" for score in of_partition) > 100


def test_each_property_of_a_partition_notices_something(of_partition: list[Score]) -> None:
    model = next(s for s in subjects() if s.name == "open-partition").model
    assert {p.id for p in model.properties} == {name for score in of_partition for name in score.by}


def test_what_is_idle_is_no_other_machine_at_all(of_partition: list[Score]) -> None:
    subject = next(s for s in subjects() if s.name == "open-partition")
    everything = [variable.name for variable in subject.model.variables]
    idle = {score.mutant.id: subject.variant(score.mutant) for score in of_partition if score.fate == "idle"}
    assert idle
    variants = {name: variant for name, variant in idle.items() if variant is not None}
    assert variants.keys() == idle.keys()
    assert all(equivalents(subject.model, variants, everything).values())


def test_two_members_are_told_apart_by_what_they_say() -> None:
    for subject in subjects():
        if subject.name.startswith("open-member"):
            assert {"said_leavegroup", "said_joingroup", "said_assign_partitions"} < set(subject.visible())


def test_each_machine_is_tried_in_every_model_of_its_own() -> None:
    tried = {s.name: {mutant.machine for mutant in s.mutants} for s in subjects()}
    assert tried == {s.name: set(s.machines) for s in subjects()}
    assert set().union(*tried.values()) == set(files.MACHINES)


def test_a_mutant_of_another_machine_is_tried_nowhere() -> None:
    subject = next(s for s in subjects() if s.name == "open-partition")
    mutant = next(iter(mutants(tables()["timeouts", "eager", "deployed"])))
    assert [score.fate for score in scores([mutant], [subject])] == ["untried"]


def test_the_share_counts_no_equivalents() -> None:
    rows = [{"fate": fate} for fate in ("killed", "killed", "killed", "survived", "equivalent", "idle", "untried")]
    assert files.share_killed(rows) == 0.75
    assert files.share_killed([]) == 1.0


def test_equivalent_are_so_many_of_those_that_make_a_difference() -> None:
    rows = [{"fate": fate} for fate in ("killed", "killed", "survived", "equivalent", "idle", "idle", "untried")]
    assert files.share_equivalent(rows) == 0.25
    assert files.share_equivalent([{"fate": "idle"}]) == 0.0


def test_committed_scores_are_judged_by_format_and_hash() -> None:
    for text, said in (("{", "Expecting property name"), (json.dumps({"format": 0}), "it has another format")):
        [problem] = files.problems(text)
        assert problem.startswith(f"scores.json can't be read: {said}")
    current = {subject.name: subject.hash for subject in subjects()}
    data = {"format": files.FORMAT_VERSION, "every": 40, "models": current, "mutants": []}
    assert files.problems(files.scores_text(data)) == []
    data["models"] = {**current, "open-partition": "old", "gone": "old"}
    stale = [problem.partition(":")[0] for problem in files.problems(files.scores_text(data))]
    assert stale == ["open-partition", "gone"]


def test_what_has_not_changed_is_not_computed_again() -> None:
    rows = [{"model": subject.name, "id": "as it was"} for subject in subjects()]
    known = {
        "format": files.FORMAT_VERSION,
        "every": 40,
        "models": {subject.name: subject.hash for subject in subjects()},
        "mutants": rows,
    }
    assert files.computed(40, known=known) == known
    known["models"] = {**known["models"], "open-partition": "old"}  # type: ignore[dict-item]
    again = files.computed(40, known=known)
    assert [row["fate"] for row in again["mutants"] if row["model"] == "open-partition"] != []
    assert again["mutants"][-1] == rows[-1]


def test_the_page_says_the_same_as_the_data(of_partition: list[Score]) -> None:
    subject = next(subject for subject in subjects() if subject.name == "open-partition")
    rows = [score_row(subject, score) for score in of_partition]
    data = {"format": files.FORMAT_VERSION, "every": 1, "models": {"open-partition": subject.hash}, "mutants": rows}
    assert files.read_scores(files.scores_text(data)) == data
    page = scores_markdown(data)
    assert f"| subscription | {len(rows)} |" in page
    assert "100.0%" in page


def test_what_was_tried_before_an_interruption_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials_module, "cache_folder", lambda: tmp_path)
    before = tried(["open-partition"], 40, lambda _: None)
    assert len(before["open-partition"]) > 3
    monkeypatch.setattr(trials_module, "scores", lambda *_: pytest.fail("tried again"))
    assert tried(["open-partition"], 40, lambda _: None) == before
