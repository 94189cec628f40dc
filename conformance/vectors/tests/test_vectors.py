"""The committed vectors are all that the model has, none left out and none twice, and every line keeps the schema."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache

import jsonschema
import pytest

from groupspec.conformance.generate import ROOT
from groupspec.conformance.vectors import VectorFile, read_vectors, vector_files
from groupspec.conformance.vectors.group import CHECKING
from groupspec.conformance.vectors.making import file_name, vectors_text
from groupspec.conformance.vectors.schema import SCHEMA
from groupspec.conformance.vectors.subjects import SUBJECTS, Subject

FILES = [(subject, rebalance) for subject in SUBJECTS for rebalance in subject.rebalances]
EACH_FILE = pytest.mark.parametrize(("subject", "rebalance"), FILES, ids=[f"{s.name}-{r}" for s, r in FILES])


CANNOT_ALWAYS_BE = {
    # an assignment, or a subscription, that takes from nothing, or that neither keeps nor takes what is owned
    "member": {"sync_accepted", "subscription_changed"},
    "partition": set[str](),
    "commit": set[str](),
    # what the join phase finds, where nobody looks; no room in an Empty group; an unknown group that has members
    "group": {*CHECKING, "group_commit"},
}


@cache
def committed(subject: Subject, rebalance: str) -> VectorFile:
    """The committed vectors."""
    return read_vectors(ROOT / "conformance" / "vectors" / "data" / file_name(subject, rebalance))


def feasible_pairs(name: str) -> list[str]:
    """What coverage counts against."""
    listed = ROOT / "conformance" / "generated" / "feasible" / f"{name}.deployed.json"
    pairs: list[str] = json.loads(listed.read_text(encoding="utf-8"))["feasible_pairs"]
    return pairs


def lines(subject: Subject, rebalance: str) -> Iterator[object]:
    """Every line of the committed file."""
    file = ROOT / "conformance" / "vectors" / "data" / file_name(subject, rebalance)
    with gzip.open(file, "rt", encoding="utf-8") as text:
        yield from map(json.loads, text)


def test_every_subject_has_its_files_and_there_are_no_others() -> None:
    assert sorted(file_name(*file) for file in FILES) == [file.name for file in vector_files()]


@pytest.mark.exhaustive
@EACH_FILE
def test_made_anew_they_are_the_same(subject: Subject, rebalance: str) -> None:
    file = ROOT / "conformance" / "vectors" / "data" / file_name(subject, rebalance)
    assert gzip.decompress(file.read_bytes()).decode() == vectors_text(subject, rebalance)


@EACH_FILE
def test_the_schema_holds_for_lines_of_every_kind(subject: Subject, rebalance: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for number, line in enumerate(lines(subject, rebalance)):
        if number < 3 or number % 500 == 0:
            validator.validate(line)


@pytest.mark.exhaustive
@EACH_FILE
def test_the_schema_holds_for_every_line(subject: Subject, rebalance: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for line in lines(subject, rebalance):
        validator.validate(line)


@EACH_FILE
def test_the_first_line_counts_what_the_others_hold(subject: Subject, rebalance: str) -> None:
    file = committed(subject, rebalance)
    decided = [
        [*(step.event for step in state.does), *state.stays, *(e for _, events in state.never for e in events)]
        for state in file.states
    ]
    assert file.counts["steps"] == sum(map(len, decided))
    assert file.counts["late"] == sum(e.inputs.get("current") is False for events in decided for e in events)
    assert file.counts["timers"] == sum(e.kind == "timer" for events in decided for e in events)
    assert file.counts["pairs"] == len({(pair.machine, *pair.rows) for pair in file.pairs})


@EACH_FILE
def test_every_state_decides_every_event_that_can_be_exactly_once(subject: Subject, rebalance: str) -> None:
    file = committed(subject, rebalance)
    every = {id(event): event.name for event in file.events}
    for state in file.states:
        decided = [*(step.event for step in state.does), *state.stays, *(e for _, es in state.never for e in es)]
        known = {id(event) for event in decided}
        assert len(known) == len(decided)
        left = {every[event] for event in every.keys() - known}
        assert left <= CANNOT_ALWAYS_BE[subject.name]


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_every_feasible_pair_of_a_member_has_its_vector(rebalance: str) -> None:
    member = next(subject for subject in SUBJECTS if subject.name == "member")
    file = committed(member, rebalance)

    assert sorted(" ".join((pair.machine, *pair.rows)) for pair in file.pairs) == feasible_pairs(f"member.{rebalance}")


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_every_feasible_pair_of_a_partition_has_its_vector(rebalance: str) -> None:
    partition = next(subject for subject in SUBJECTS if subject.name == "partition")
    pairs = {" ".join((pair.machine, *pair.rows)) for pair in committed(partition, "any").pairs}
    assert pairs >= set(feasible_pairs(f"subscription.{rebalance}"))


@EACH_FILE
def test_every_pair_comes_home(subject: Subject, rebalance: str) -> None:
    file = committed(subject, rebalance)
    for pair in file.pairs:
        assert pair.back is not None, pair.rows
        end = file.states[pair.back[-1].target]
        assert all(end.states[machine] == state for machine, state in subject.home.items())
        assert any(step.event.name == subject.through for step in pair.back)


@EACH_FILE
def test_a_run_goes_from_state_to_state(subject: Subject, rebalance: str) -> None:
    file = committed(subject, rebalance)
    steps = {(state.number, id(step.event)): step for state in file.states for step in state.does}
    for pair in file.pairs:
        here = pair.start
        for step in (*pair.run, *(pair.back or ())):
            assert step == steps.get((here, id(step.event)), step)
            here = step.target


def test_a_vector_for_every_row_of_the_group_that_can_fire() -> None:
    group = next(subject for subject in SUBJECTS if subject.name == "group")
    (table,) = group.tables("any")
    fired = {row for pair in committed(group, "any").pairs for row in pair.rows}
    silent = {row.id for row in table.rows if row.kind == "transition"} - fired

    assert silent == {
        # whoever has sent JoinGroup is there to be counted: if all have, and someone is left, someone has
        "PreparingRebalance.group_join_phase_checked.2",
        # there is always room in an Empty group, and for those who are in: what `has_room` means
        "Empty.group_join.2",
        "Empty.group_join.3",
        "CompletingRebalance.group_join.3",
        "Stable.group_join.3",
    }
