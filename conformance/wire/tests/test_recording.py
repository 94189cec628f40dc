"""Recorded runs: kept without loss, judged again without a client, and a corpus that every kit has to judge rightly."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from groupspec.conformance.checks.verdicts import BROKEN, Verdict
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import Outcome, judge_run
from groupspec.conformance.wire.recording import judge_recording, load, recordings_in, save
from groupspec.conformance.wire.scenarios import written_cases
from groupspec.conformance.wire.tests import stories
from groupspec.conformance.wire.tests.stories import WireRun
from groupspec.conformance.wire.tests.test_rules import drop
from groupspec.spec.rules import RULES

CORPUS = Path(__file__).parents[1] / "recorded"
FILES = recordings_in([CORPUS])


def result_of(story: WireRun, outcome: Outcome | None = None) -> CaseResult:
    """A story as a run."""
    case = next(case for case in written_cases() if case.id == "rebalance-eager")
    history, ended = story.history(), outcome or Outcome()
    judged = judge_run(case.rules, history, ended)
    return CaseResult(Client("a client", ("true",)), case, "fake", "1", history, ended, judged, 2.0)


@pytest.mark.parametrize("name", ["log.ndjson", "log.ndjson.gz"])
def test_a_run_is_kept_without_loss(tmp_path: Path, name: str) -> None:
    result = result_of(stories.eager_rebalance())
    history = replace(result.history, stalls_us=((10, 20),), waits_us=((10, 50_010, 7_000),))
    save(replace(result, history=history), tmp_path / name)
    again = judge_recording(load(tmp_path / name), tmp_path / name)
    assert [replace(entry, text="") for entry in again.entries] == list(history.entries)
    assert (again.history.settings, again.history.stalls_us, again.history.waits_us) == (
        history.settings,
        history.stalls_us,
        history.waits_us,
    )
    assert again.judgements == judge_run(result.case.rules, history, result.outcome)


def test_times_are_kept_from_the_beginning_of_the_run(tmp_path: Path) -> None:
    result = result_of(stories.eager_rebalance())
    later = [replace(entry, at_us=entry.at_us + 5_000_000) for entry in result.entries]
    moved = replace(result, history=replace(result.history, entries=later), started_us=5_000_000)
    save(moved, tmp_path / "log.ndjson")
    assert load(tmp_path / "log.ndjson").entries[0].at_us == result.entries[0].at_us


def test_how_the_story_ended_is_judged_again_too(tmp_path: Path) -> None:
    result = result_of(stories.eager_rebalance(), Outcome(missed_rule="J2", missed="SyncGroup did not come"))
    save(result, tmp_path / "log.ndjson")
    assert judge_recording(load(tmp_path / "log.ndjson")).judgements["J2"].verdict is Verdict.FAIL


def test_a_rule_that_there_is_not_is_refused_by_its_name(tmp_path: Path) -> None:
    save(result_of(stories.eager_rebalance(), Outcome(missed_rule="J1", missed="it")), tmp_path / "log.ndjson")
    text = (tmp_path / "log.ndjson").read_text()
    (tmp_path / "log.ndjson").write_text(text.replace('"missed_rule":"J1"', '"missed_rule":"J1e999"', 1))
    with pytest.raises(UsageProblem, match="a run that ended for the rule 'J1e999', which this kit does not have"):
        load(tmp_path / "log.ndjson")


@pytest.mark.parametrize("text", ["", "{}", '{"recording": 7}', "not json", '{"event": "config"}'])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.ndjson").write_text(text)
    with pytest.raises(UsageProblem, match="no recorded run"):
        load(tmp_path / "log.ndjson")


def spoiled(folder: Path, pattern: str, becomes: str) -> Path:
    """A run in a file, with this in place of whatever the pattern finds."""
    file = folder / "log.ndjson"
    save(result_of(stories.eager_rebalance()), file)
    lines = file.read_text()
    changed = re.sub(pattern, becomes, lines)
    assert changed != lines
    file.write_text(changed)
    return file


@pytest.mark.parametrize(("field", "number"), [("generation", 2**31), ("generation", 10**30), ("at_us", 2**63)])
def test_a_number_that_no_message_can_hold_is_refused(tmp_path: Path, field: str, number: int) -> None:
    file = spoiled(tmp_path, rf'"{field}":\d+', f'"{field}":{number}')
    with pytest.raises(UsageProblem, match=f"{number} is more than a message can hold"):
        load(file)


@pytest.mark.parametrize(("field", "value"), [("offset", "{}"), ("generation", "true"), ("member_id", "7")])
def test_a_field_of_a_message_that_is_of_another_type_is_refused(tmp_path: Path, field: str, value: str) -> None:
    """What a rule compared became a TypeError (found by the fuzzer: recording 792113146400)."""
    file = spoiled(tmp_path, rf'("message":.*"{field}":)("[^"]*"|-?\d+)', rf"\g<1>{value}")
    with pytest.raises(UsageProblem, match=r"this is no recorded run: this is no .* is no (int|str)"):
        load(file)


@pytest.mark.parametrize(
    ("was", "becomes"), [('"message"', '"massage"'), ('"is":"HeartbeatRequest"', '"is":"LeaveGroupRequest"')]
)
def test_a_request_without_its_message_is_refused(tmp_path: Path, was: str, becomes: str) -> None:
    """Found by the fuzzer: recording 179590107501474."""
    file = spoiled(tmp_path, was, becomes)
    with pytest.raises(UsageProblem, match="this is no recorded run: "):
        load(file)


@pytest.mark.parametrize("name", ["log.ndjson", "log.ndjson.gz"])
def test_what_is_cut_short_is_judged_as_far_as_it_goes(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it ends: nothing that may have come later is held against the client."""
    story, file = stories.eager_rebalance(), tmp_path / name
    save(result_of(story), file)
    data = file.read_bytes()
    packed = name.endswith(".gz")  # its last bytes are a checksum
    first, last = (len(data) // 2, len(data) - 24) if packed else (data.index(b"\n") + 1, len(data))
    for size in range(first, last, (last - first) // 20):
        file.write_bytes(data[:size])
        cut = load(file)
        assert cut.cut_short
        broken = {rule: each for rule, each in judge_recording(cut).judgements.items() if each.verdict in BROKEN}
        assert broken == {}, size
    assert main(["conform", "--judge", str(file)]) in (EXIT_OK, EXIT_INCONCLUSIVE)
    assert "is cut short" in capsys.readouterr().err


def test_a_breach_before_the_cut_is_still_one(tmp_path: Path) -> None:
    story, file = stories.eager_rebalance(), tmp_path / "log.ndjson"
    second = next(entry for entry in story.entries if entry.api == "JoinGroup" and entry.at_us > 600_000)
    story.entries.append(replace(second, at_us=second.at_us + 100, correlation_id=999))  # while it is unanswered
    save(result_of(story), file)
    file.write_bytes(file.read_bytes()[:-10])
    assert judge_recording(load(file)).judgements["J1"].verdict is Verdict.FAIL


def test_the_result_of_a_campaign_is_no_recording_and_its_folder_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conform.json").write_text("{\n}")
    assert main(["conform", "--judge", str(tmp_path / "conform.json")]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert (f"--judge {tmp_path}`" in told, "truncated" in told) == (True, False)


def test_a_folder_that_is_not_there_is_refused_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--judge", str(tmp_path / "mien")]) == EXIT_USAGE
    assert "there is no such file or folder" in capsys.readouterr().err


def test_conform_judges_recorded_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(result_of(stories.eager_rebalance()), tmp_path / "log.ndjson")
    assert main(["conform", "--judge", str(tmp_path), "--json", str(tmp_path / "kept.json")]) == EXIT_OK
    story = stories.eager_rebalance()
    stories.waited(drop("JoinGroup", 600))(story)
    save(result_of(story), tmp_path / "log.ndjson")
    arguments = ["conform", "--judge", str(tmp_path), "--json", str(tmp_path / "broken.json")]
    assert main([*arguments, "--report", str(tmp_path / "report")]) == EXIT_CONFORMANCE_FAILURE
    [client] = json.loads((tmp_path / "broken.json").read_text())["clients"]
    row = next(row for row in client["results"] if row["rule"] == "J2")
    assert row["verdict"] == "FAIL"
    assert shlex.quote(str(tmp_path / "log.ndjson")) in row["replay"]
    assert f"{Client('a client', ()).folder}/rebalance-eager/wire.txt" in capsys.readouterr().out


def test_a_folder_without_recorded_runs_is_refused(tmp_path: Path) -> None:
    assert main(["conform", "--judge", str(tmp_path)]) == EXIT_USAGE


# The corpus -----------------------------------------------------------------------------------------------------------


def test_the_corpus_says_what_each_run_is_and_what_any_kit_must_find_in_it() -> None:
    for file in FILES:
        header = load(file).header
        assert header.about, file
        assert header.expected, file
        assert set(header.expected) <= set(RULES), file
        broken = [rule for rule, verdict in header.expected.items() if Verdict(verdict) in BROKEN]
        assert bool(broken) == (file.parent.name == "broken"), file


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name.partition('.')[0]}")
def test_the_corpus_is_judged_rightly(file: Path) -> None:
    recording = load(file)
    judged = judge_recording(recording, file).judgements
    found = {rule: judged[rule].verdict.value for rule in recording.header.expected}
    assert found == recording.header.expected, {rule: judged[rule].reason for rule in found}


@pytest.mark.parametrize(
    ("name", "rule", "told"),
    [
        ("aiokafka-reads-on-while-it-rebalances", "S1", "; poll returned none of it before SyncGroup succeeded"),
        (
            "confluent-kafka-commits-for-the-application",
            "M7",
            "and the answer to SyncGroup, for a commit() of the application's; answered ILLEGAL_GENERATION",
        ),
    ],
)
def test_a_breach_is_told_with_what_became_of_it(name: str, rule: str, told: str) -> None:
    recording = load(CORPUS / "broken" / f"{name}.ndjson.gz")
    assert told in judge_recording(recording).judgements[rule].reason


def implementation(client: str) -> str:
    """Who it is: versions of a client are one, and so are the bindings of one library; a mutant is one of its own."""
    name = client.partition("@")[0]
    return "librdkafka" if name in ("confluent-kafka", "rdkafka") else name


BROKEN_BY_TOO_FEW = {
    "C5": "the docket has no client that breaks it; its two mutants are red for S3",
    "D8": "the docket has no client that breaks it; its mutant does here",
    "P5": "the docket has no client that breaks it; its mutant does here",
    "W1": "neither the docket has a client that breaks it nor the catalogue a mutant: a few lines do here",
}
"""Rules that fewer than two clients break in the corpus, and why."""


def shown_by(folder: str, verdicts: Collection[Verdict]) -> dict[str, set[str]]:
    """The clients of this half of the corpus of which such a verdict is expected, by rule.

    A recording that was edited shows what the kit finds, and not that any client does it.
    """
    by = {rule: set[str]() for case in written_cases() for rule in case.rules}
    for header in (load(file).header for file in FILES if file.parent.name == folder):
        for rule, verdict in header.expected.items():
            if Verdict(verdict) in verdicts and not header.edited:
                by[rule].add(implementation(header.client))
    return by


def test_each_rule_that_is_judged_on_the_wire_is_broken_by_two_clients_of_the_corpus() -> None:
    too_few = {rule: clients for rule, clients in shown_by("broken", BROKEN).items() if len(clients) < 2}
    assert set(too_few) == set(BROKEN_BY_TOO_FEW), too_few


def test_each_rule_that_is_judged_on_the_wire_is_kept_by_three_clients_of_the_corpus() -> None:
    too_few = {rule: clients for rule, clients in shown_by("correct", [Verdict.PASS]).items() if len(clients) < 3}
    assert too_few == {}


@pytest.mark.parametrize("file", [file for file in FILES if file.parent.name == "correct"], ids=lambda file: file.name)
def test_no_correct_run_of_the_corpus_is_accused(file: Path) -> None:
    judged = judge_recording(load(file), file).judgements
    accused = {rule: each.reason for rule, each in judged.items() if each.verdict in BROKEN}
    assert accused == {}
