"""What exploration says about the proposal: nothing is missing, nothing is new, and the reference shows none of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from groupspec import spec
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.findings import FINDINGS, Finding, counterexamples, runs, vector_text
from groupspec.conformance.findings.runs import ModelRun
from groupspec.conformance.findings.tests.replaying import replay_on_reference, replay_on_tables
from groupspec.conformance.findings.tests.views import BREAKS
from groupspec.conformance.vectors import read_vectors
from groupspec.conformance.vectors.examples.run_vectors import Run as VectorRun
from groupspec.conformance.vectors.schema import SCHEMA
from groupspec.spec.compiler.model import Action
from groupspec.spec.composition import expected_violations
from groupspec.spec.explorer import Trace, explore
from groupspec.spec.explorer.interpreter import replay
from groupspec.spec.tests.test_sources import form
from groupspec.spec.vocabulary import RESPONSES

PUBLISHED = (
    "open-member-eager-published",
    "open-member-cooperative-published",
    "base-eager-published-2",
    "base-cooperative-published-2",
)
DEPLOYED = (
    "open-member-eager-deployed",
    "open-member-cooperative-deployed",
    "base-eager-deployed-2",
    "base-cooperative-deployed-2",
)
SMALL = [name for name in (*PUBLISHED, *DEPLOYED) if name.startswith("open-member")]
BROKEN = ("violation", "omission")
VIOLATIONS = [run for run in runs.runs() if run.is_violation]


def committed_trace(run: ModelRun) -> Trace:
    return replay(
        runs.model_of(run.model), [(action, arguments) for action, arguments in runs.committed(run)["actions"]]
    )


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_published_profile_breaks_what_is_listed_no_more_and_no_less(model: str) -> None:
    found = runs.explored(model)
    assert found.verdict == "complete"
    assert set(found.violations) == expected_violations(model)


@pytest.mark.parametrize("model", DEPLOYED)
def test_the_deployed_profile_breaks_nothing(model: str) -> None:
    found = runs.explored(model)
    assert (found.verdict, dict(found.violations), found.missing) == ("complete", {}, ())


def test_every_violation_stands_in_one_finding() -> None:
    told = Counter(run for finding in FINDINGS.values() if finding.kind in BROKEN for run in finding.runs)
    assert told == Counter(VIOLATIONS)


def test_nine_broken_properties_have_four_causes() -> None:
    """One cause is one finding, and one entry of the book of differences."""
    causes = [finding for finding in FINDINGS.values() if finding.kind in BROKEN]
    assert len({run.property_id for run in VIOLATIONS}) == 9
    assert len(causes) == len({finding.difference for finding in causes}) == 4


def test_Q4_the_missing_join_comes_out_of_a_general_property() -> None:
    broken, kept = runs.explored("open-member-cooperative-published"), runs.explored("open-member-cooperative-deployed")
    general = {name: next(p for p in found.model.properties if p.id == "sync-after-join") for name,
               found in (("published", broken), ("deployed", kept))}  # fmt: skip
    assert general["published"] == general["deployed"], "the same property, not one made for the occasion"
    published = replay_on_tables(broken.violations["sync-after-join"])
    sent = [word for event in published.events for word in event.sent if word in ("JoinGroup", "SyncGroup")]
    assert sent == ["JoinGroup", "SyncGroup", "SyncGroup"]
    reference = replay_on_reference(broken.violations["sync-after-join"])
    sent = [word for event in reference.events for word in event.sent if word in ("JoinGroup", "SyncGroup")]
    assert sent == ["JoinGroup", "SyncGroup", "JoinGroup"], "the reference joins before it synchronises again"


@pytest.mark.parametrize("run", VIOLATIONS, ids=lambda run: run.name)
def test_the_reference_does_not_show_what_the_published_profile_breaks(run: ModelRun) -> None:
    trace = committed_trace(run)
    assert BREAKS[run.property_id](replay_on_tables(trace).events), "seen from outside, the published member breaks it"
    for member in trace.model.indices("members"):
        assert not BREAKS[run.property_id](replay_on_reference(trace, member).events)


@pytest.mark.parametrize("model", DEPLOYED)
def test_what_the_deployed_profile_can_reach_the_reference_reaches_with_equal_emissions(model: str) -> None:
    for trace in runs.explored(model).reached.values():
        for member in trace.model.indices("members"):
            reference, tables = replay_on_reference(trace, member), replay_on_tables(trace, member)
            assert not reference.left_out
            assert [(e.offer, e.sent) for e in reference.events] == [(e.offer, e.sent) for e in tables.events]


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        ("base-ids-cooperative-deployed-2", [("join_member_id_required_arrives", 1), ("join_again_arrives", 1)]),
        ("base-log-eager-deployed-2", [("coordinator_dies", 0), ("coordinator_returns", 0)]),
        ("base-eager-deployed-2",
         [("initial_delay_ends", 0), ("join_accepted_arrives", 1), ("sync_arrives", 1), ("coordinator_restarts", 0)]),
    ],
    ids=["ids", "log", "restart"],
)  # fmt: skip
def test_runs_with_ids_with_a_log_and_of_a_restart_are_played_and_written_too(
    model: str, ends: list[tuple[str, int]]
) -> None:
    """`arrives` and the like happen to member 1; what the coordinator does has no number."""
    numbers = {"sync_arrives": {"i": 1, "k": 1}}
    steps = [("subscribes", 1), ("join_arrives", 1), *ends]
    trace = replay(runs.model_of(model), [(name, numbers.get(name, {"i": i} if i else {})) for name, i in steps])
    for member in trace.model.indices("members"):
        reference, tables = replay_on_reference(trace, member), replay_on_tables(trace, member)
        assert not reference.left_out
        assert [(e.offer, e.sent) for e in reference.events] == [(e.offer, e.sent) for e in tables.events]
    assert json.loads(vector_text(trace).splitlines()[-1])["run"]


def test_an_action_without_a_counterpart_is_named() -> None:
    model = runs.model_of("base-cooperative-deployed-2")
    dies = replay(model, [("subscribes", {"i": 1}), ("process_dies", {"i": 1})])
    with pytest.raises(UsageProblem, match="process_dies has no counterpart at member 1"):
        replay_on_reference(dies)
    assert not replay_on_reference(dies, 2).left_out, "the other member sees nothing of it"


def test_a_published_run_cannot_be_played_whole() -> None:
    run = ModelRun("open-member-cooperative-published", "sync-after-join")
    with pytest.raises(UsageProblem, match="callback_started, has no counterpart at the reference"):
        replay_on_reference(committed_trace(run), strict=True)


@pytest.mark.parametrize("run", runs.runs(), ids=lambda run: run.name)
def test_a_run_as_vectors_is_read_and_run_by_what_reads_vectors(run: ModelRun, tmp_path: Path) -> None:
    file = runs.run_file(run).with_suffix(".vectors.ndjson")
    text = file.read_text(encoding="utf-8")
    assert text == vector_text(committed_trace(run))
    for line in text.splitlines():
        jsonschema.validate(json.loads(line), SCHEMA)
    on_core = VectorRun(read_vectors(file))
    on_core.all_pairs()
    on_core.all_states()
    assert not on_core.failures
    assert on_core.counts["pairs passed"] == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("model", SMALL)
def test_every_state_in_which_nothing_can_happen_is_a_failed_assertion(model: str) -> None:
    made = runs.model_of(model)
    goes_on = replace(made, actions=(*made.actions, Action("rests", (), "fault != 'none'", ())))
    found = explore(goes_on)
    assert found.dead_ends == 0
    assert found.states == runs.explored(model).states
    assert (runs.explored(model).dead_ends > 0) == model.endswith("published")


def test_S1_a_zombie_is_reachable_and_there_are_words_for_refusing_its_commits() -> None:
    trace = runs.trace_of(runs.REACHED[0])
    assert trace.last["identity"][1] == "member"  # type: ignore[index]
    assert trace.last["registered"][1] == "absent"  # type: ignore[index]
    assert any(trace.last["owns"][1].values())  # type: ignore[index]
    refused = {"commit_unknown_member", "commit_illegal_generation", "commit_fenced"}
    assert refused <= {event for (api, _), event in RESPONSES.items() if api == "OffsetCommit"}


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=lambda finding: finding.id)
def test_what_a_finding_points_at_exists(finding: Finding) -> None:
    path, _, name = finding.test.partition("::")
    assert spec.__file__ is not None
    assert f"def {name}(" in (Path(spec.__file__).resolve().parent.parent / path).read_text(encoding="utf-8")
    assert finding.sentence
    assert finding.instead
    assert all(form(part) or part == "property one-owner" for part in finding.source.split("; ")), finding.source


def test_the_book_gets_every_finding_with_its_shortest_run() -> None:
    shown = {each.finding.id: each for each in counterexamples()}
    assert list(shown) == list(FINDINGS)
    for finding in FINDINGS.values():
        page = shown[finding.id]
        assert bool(page.picture) == bool(finding.runs or finding.theorem)
        assert [also.model for also in page.also] == [run.model for run in finding.runs[1:]]


def test_a_committed_run_is_noticed_when_it_is_changed_or_of_another_model() -> None:
    run = VIOLATIONS[0]
    text = runs.run_text(run)
    assert runs.run_is_current(run, text)
    assert not runs.run_is_current(run, text.replace("subscribed", "unsubscribed", 1))
    assert not runs.run_is_current(run, text.replace(json.loads(text)["sha256"], "0" * 64))
    assert not runs.run_is_current(run, "not JSON")
    assert not runs.run_is_current(VIOLATIONS[1], text)
