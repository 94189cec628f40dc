"""`groupspec conform`: what it refuses, what it lists, what it writes, and what it ends with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groupspec.conformance.api import judge
from groupspec.conformance.checks.verdicts import Combined, Judgement, Verdict, combine, exit_code
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.history.timing import Timing
from groupspec.conformance.terminal import Terminal
from groupspec.conformance.wire.answers.family import answer_ids
from groupspec.conformance.wire.clients import BUILT_IN, Client
from groupspec.conformance.wire.console import show
from groupspec.conformance.wire.results import Campaign, ClientResult, Crash, Row
from groupspec.conformance.wire.scenarios import PROFILES, SCENARIOS, all_cases, find_cases
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.tests.broken_harnesses import Broken, harness
from groupspec.spec.rules import RULES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no client to judge"),
        (["--judge"], "no recorded run to judge"),
        (["--judge", "out", "--confirm"], "--judge runs nothing"),
        (["acme"], "no client 'acme'"),
        (["reference", "--scenario", "second-join"], "no scenario 'second-join'"),
        (["reference", "--scenario", "first-join/poll-7"], "no scenario 'first-join/poll-7'"),
        (["cmd:"], "needs a command line"),
        (["cmd:/no/such/program --x"], "'/no/such/program' is not there"),
        (["cmd:'unbalanced"], "cannot be read"),
        (["reference", "--jobs", "0"], "--jobs"),
        (["reference", "--repeat", "0"], "--repeat"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", *arguments]) == EXIT_USAGE
    assert message in capsys.readouterr().err


def test_a_file_that_is_a_harness_is_told_how_to_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_harness.py").write_text("", encoding="utf-8")
    assert main(["conform", "my_harness.py"]) == EXIT_USAGE
    assert "'cmd:python my_harness.py'" in capsys.readouterr().err


def test_a_scenario_that_was_meant_is_told_without_the_list_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "reference", "--scenario", "first-jion"]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert ("did you mean 'first-join'?" in told, "allowed:" in told) == (True, False)


def test_each_case_has_a_name_that_chooses_it_alone() -> None:
    assert [find_cases([case.selector]) for case in all_cases()] == [[case] for case in all_cases()]
    assert [case.id for case in find_cases(["first-join/plain"])] == ["first-join"]
    assert len(find_cases(["first-join"])) == len(SCENARIOS["first-join"].variants)
    assert find_cases(["coordinator-moved/plain"]) == find_cases(["coordinator-moved"])


def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    assert main(["conform", "reference", "--report", str(tmp_path / "file" / "report")]) == EXIT_USAGE
    assert "cannot write the output" in capsys.readouterr().err


def test_a_report_has_one_run_at_a_time_and_one_that_was_killed_leaves_it_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import sys; from pathlib import Path; from groupspec.conformance.outputs import claimed\n"
        f"with claimed(Path({str(tmp_path)!r})): print('has it', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"has it\n"
        assert main(["conform", "reference", "--report", str(tmp_path)]) == EXIT_USAGE
        assert "another run writes to this folder now" in capsys.readouterr().err
        with pytest.raises(UsageProblem, match="another run writes to this folder now"):
            judge("reference", ["first-join/plain"], report=tmp_path)
        other.kill()
    again = str(Path(__file__).parents[1] / "recorded" / "correct")
    one = next(Path(again).rglob("*.ndjson*"))
    assert main(["conform", "--judge", str(one), "--report", str(tmp_path)]) != EXIT_USAGE
    assert (tmp_path / "report.html").is_file()


def test_the_list_names_scenarios_variants_and_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.json"
    assert main(["conform", "--list", "--json", str(file)]) == EXIT_OK
    shown = capsys.readouterr().out
    listed = json.loads(file.read_text(encoding="utf-8"))
    assert [each["id"] for each in listed["scenarios"]] == [*SCENARIOS, *answer_ids()]
    assert listed["clients"] == list(BUILT_IN)
    assert all(name in shown for name in (*listed["clients"], "first-join", "cmd:"))


@pytest.mark.realtime
def test_a_failing_client_ends_with_1_and_everything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.wait_in_vain(monkeypatch, 400)
    client = "cmd:" + shlex.join(fake.DOES_NOTHING)
    arguments = ["conform", client, "--scenario", "member-unknown", "--repeat", "2", "--report", str(tmp_path / "out")]
    assert main([*arguments, "--json", str(tmp_path / "result.json")]) == EXIT_CONFORMANCE_FAILURE
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    [judged] = result["clients"]
    row = next(row for row in judged["results"] if row["rule"] == "J2" and row["variant"] == "")
    assert row["verdict"] == "FAIL"
    assert row["reason"].startswith("SyncGroup answered NONE did not come")
    assert (row["runs"], row["counts"], row["certain"], row["flaps"]) == (5, {"FAIL": 5}, True, False)
    # that case alone, not all variants, and beside the report
    assert row["replay"].endswith(f"--scenario member-unknown/plain --report {tmp_path / 'out' / 'replay'}")
    folder = tmp_path / "out" / row["folder"]
    assert {"wire.txt", "log.ndjson", "sequence.svg", "trace.ndjson"} <= {file.name for file in folder.iterdir()}
    suites = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()
    assert suites[0].get("name") == "fake 1"
    assert int(suites[0].get("failures", "0")) >= 1
    shown = capsys.readouterr().out
    assert "replay:" in shown
    assert "member-unknown (5 of 5 runs)" in shown
    assert str(folder / "wire.txt") in shown
    assert f"report: {tmp_path / 'out' / 'report.html'}" in shown
    assert f"compare: groupspec compare {tmp_path / 'out' / 'conform.json'} LATER.json" in shown


@pytest.mark.realtime
@pytest.mark.parametrize("baseline", [False, True])
def test_what_a_result_can_be_held_against_is_said_where_one_is_kept(
    baseline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.wait_in_vain(monkeypatch, 100)
    arguments = [
        "conform",
        "cmd:" + shlex.join(fake.DOES_NOTHING),
        "--scenario",
        "member-unknown/plain",
        "--no-confirm",
    ]
    kept = tmp_path / "a result.json"
    main([*arguments, "--json", str(kept)])
    assert f"compare: groupspec compare '{kept}' LATER.json" in capsys.readouterr().out
    main([*arguments, *(["--baseline", str(kept)] if baseline else [])])
    assert "compare:" not in capsys.readouterr().out


@pytest.mark.parametrize("profile", PROFILES)
def test_the_help_says_about_how_many_cases_a_profile_has_and_how_long_they_take(profile: str) -> None:
    said = re.search(r"about (\d+) cases, (a|\d+ to \d+) minutes? on 2 cores", PROFILES[profile])
    assert said is not None
    assert 0.85 < int(said[1]) / len(all_cases(profile)) < 1.15


def test_the_help_says_what_stands_where_in_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--help"]) == EXIT_OK
    said = " ".join(capsys.readouterr().out.split())
    assert "DIR/report.html" in said
    assert "DIR/CLIENT/SCENARIO--VARIANT" in said


@pytest.mark.realtime
def test_a_broken_harness_ends_with_4() -> None:
    client = "cmd:" + shlex.join(fake.BROKEN_JSON)
    assert main(["conform", client, "--scenario", "member-unknown"]) == EXIT_INCONCLUSIVE


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (fake.python(fake.HELLO + "say(name='startup_complete', client='f', version='1', features=['lost_calback'])\n"
                     "time.sleep(60)"), "did you mean 'lost_callback'?"),
        (("sh", "-c", "pyhton3 my_harness.py"), "a shell's that cannot find a command"),
    ],
    ids=["a misspelt feature", "a misspelt interpreter"],
)  # fmt: skip
def test_a_harness_that_cannot_be_judged_is_no_success(
    command: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = "cmd:" + shlex.join(command)
    assert main(["conform", client, "--scenario", "member-unknown"]) == EXIT_INCONCLUSIVE
    assert said in capsys.readouterr().out


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            "def subscribe(self, topics):\n  self.consumer.subscribe(0, listner=0)",
            "the harness is wrong: `subscribe` raised TypeError: ",
        ),
        (
            "def poll(self, ms):\n  return self.consumer.poll(timeout=ms)",
            "the harness is wrong: `poll` raised TypeError: ",
        ),
        (
            "def poll(self, ms):\n  return {each: each.offst for each in super().poll(ms)}",
            "the harness is wrong: `poll` raised AttributeError: 'TopicPartition' object has no attribute 'offst' (",
        ),
        (
            "def poll(self, ms):\n  super().poll(ms)",
            "the harness is wrong: `poll` raised TypeError: poll() of the harness",
        ),
        ("def close(self):\n  self.consumer.shut()", "the harness is wrong: `close` raised AttributeError: "),
        (
            "def configure(self, command):\n  raise protocol.BrokenLine('no')",
            "the harness was not ready: `configure` raised BrokenLine: no",
        ),
    ],
    ids=["subscribe", "poll", "what poll returns", "nothing", "close", "an error of the client's"],
)
def test_a_harness_that_cannot_begin_is_told_with_what_it_raised(
    method: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.wait_in_vain(monkeypatch, 1_500)
    client = "cmd:" + shlex.join(harness(Broken("raises", method, "", "")).command)
    assert main(["conform", client, "--scenario", "first-join/plain"]) == EXIT_INCONCLUSIVE
    shown = capsys.readouterr().out
    assert said in shown
    assert "stderr: Traceback" in shown


@pytest.mark.realtime
@pytest.mark.exhaustive
def test_what_the_client_raised_is_the_finding_and_what_did_not_come_after_it_is_not_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.wait_in_vain(monkeypatch, 1_500)
    method = "def poll(self, ms):\n  super().poll(ms)\n  raise protocol.BrokenLine('no')"
    client = "cmd:" + shlex.join(harness(Broken("raises", method, "", "")).command)
    assert main(["conform", client, "--scenario", "first-join/plain"]) != EXIT_OK
    assert "the client itself raised BrokenLine: no" in capsys.readouterr().out


@pytest.mark.realtime
def test_a_client_of_which_nothing_is_judged_is_no_success() -> None:
    client = "cmd:" + shlex.join(fake.SAYS_IT_IS_UNSUPPORTED)
    assert main(["conform", client, "--scenario", "member-unknown"]) == EXIT_INCONCLUSIVE


@pytest.mark.realtime
def test_why_nothing_was_judged_is_told_with_the_feature_that_is_not_offered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["conform", "aiokafka", "--scenario", "rebalance-cooperative/poll-5"]) == EXIT_INCONCLUSIVE
    shown = " ".join(capsys.readouterr().out.split())
    assert "aiokafka: nothing was judged, which is no success; so the exit code is 4 (inconclusive)" in shown
    assert "the client does not offer the feature cooperative: incremental rebalances (KIP-429)" in shown


@pytest.mark.realtime
def test_a_harness_that_crashes_is_told_once_with_its_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = "cmd:" + shlex.join(fake.CRASHES_AT_ONCE)
    arguments = ["conform", client, "--scenario", "rebalance-eager", "--scenario", "member-unknown"]
    assert main([*arguments, "--report", str(tmp_path)]) == EXIT_INCONCLUSIVE
    shown = capsys.readouterr().out
    assert (shown.count("exit code 3"), shown.count("stderr: no such module")) == (1, 1)
    [crash] = json.loads((tmp_path / "conform.json").read_text())["clients"][0]["crashes"]
    assert (crash["runs"], crash["stderr"]) == (7, "no such module")
    assert "no such module" in (tmp_path / "report.html").read_text()
    assert "no such module" in (tmp_path / "junit.xml").read_text()


def test_a_failure_weighs_more_than_an_inconclusive_run() -> None:
    assert exit_code([[Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]]) == EXIT_CONFORMANCE_FAILURE
    assert exit_code([[Verdict.PASS, Verdict.INCONCLUSIVE]]) == EXIT_INCONCLUSIVE
    assert exit_code([[Verdict.PASS, Verdict.DEVIATION, Verdict.UNSUPPORTED, Verdict.UNTESTABLE]]) == EXIT_OK
    assert exit_code([[Verdict.PASS], [Verdict.UNSUPPORTED, Verdict.UNTESTABLE]]) == EXIT_INCONCLUSIVE


def runs(*verdicts: Verdict) -> Combined:
    return combine([Judgement(verdict, f"{number}") for number, verdict in enumerate(verdicts)])


def test_a_rule_is_broken_in_so_many_of_the_cases_that_were_judged(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = (Verdict.FAIL, Verdict.PASS, Verdict.UNSUPPORTED, Verdict.UNTESTABLE)
    rows = [Row(case, "S3", runs(each), 0.1, "") for case, each in zip(all_cases(), verdicts, strict=False)]
    crash = Crash("the harness is wrong", ("first-join",), 1, "")
    campaign = Campaign([ClientResult(Client("c", ()), "c", "1", rows, [crash])])
    show(Terminal(width=200), campaign, None)
    shown = capsys.readouterr().out
    assert "FAIL 1 of 2" in shown
    assert f"FAIL c: {RULES['S3'].title} in 1 of 2 cases" in shown
    assert "BROKE OFF c: 1 run\n" in shown
    assert "harness check" not in shown, "there is no command: it was judged from a recording"


def test_a_harness_that_is_wrong_is_told_with_the_command_that_judges_it_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    crashes = [Crash(reason, ("first-join",), 1, "") for reason in ("the harness was not ready: x", "the client died")]
    campaign = Campaign([ClientResult(Client("cmd:c d", ("c", "d")), "", "", [], crashes)])
    show(Terminal(width=200), campaign, None)
    assert capsys.readouterr().out.count("  next:   groupspec harness check 'cmd:c d', which") == 1


def test_over_repeats_the_worst_verdict_says_how_many() -> None:
    some = runs(Verdict.PASS, Verdict.FAIL, Verdict.PASS)
    assert (some.judgement, some.place) == (Judgement(Verdict.FAIL, "1"), 1)
    assert some.how_sure == "1 of 3 runs, flaps"


def test_a_run_without_an_occasion_does_not_hide_those_that_kept_the_rule() -> None:
    assert runs(Verdict.UNTESTABLE, *[Verdict.PASS] * 4).judgement.verdict is Verdict.PASS
    assert runs(Verdict.UNSUPPORTED, Verdict.UNTESTABLE).judgement.verdict is Verdict.UNTESTABLE


def test_only_what_was_broken_in_every_one_of_several_runs_is_certain() -> None:
    assert runs(*[Verdict.FAIL] * 5).certain
    assert not runs(*[Verdict.FAIL] * 4).certain
    assert not runs(*[Verdict.FAIL] * 9, Verdict.PASS).certain
    assert not runs(*[Verdict.FAIL] * 5, Verdict.UNTESTABLE).certain
    assert not runs(*[Verdict.PASS] * 20).certain
    assert runs(Verdict.UNSUPPORTED).certain


def test_what_took_hardly_longer_than_it_may_is_not_certain() -> None:
    def five(*took_ms: float) -> Combined:
        timings = (Timing(took, 400, kit_stalled_ms=50) for took in took_ms)
        return combine([Judgement(Verdict.FAIL, "late", timed=True, timing=timing) for timing in timings])

    assert five(*[650] * 5).certain
    assert not five(*[650] * 4, 649).certain
    assert five(*[650] * 4, 649).how_sure == "5 of 5 runs, narrowly"
    assert five(*[650] * 5).how_sure == "5 of 5 runs"
