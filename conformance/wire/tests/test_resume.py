"""A campaign that was stopped goes on: nothing is run twice, nothing is left out, and only as it began."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.wire import campaign as campaigns
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import judge_run
from groupspec.conformance.wire.results import Campaign
from groupspec.conformance.wire.results_json import as_json
from groupspec.conformance.wire.scenarios import written_cases
from groupspec.conformance.wire.tests.stories import BOTH
from groupspec.conformance.wire.tests.test_judging import result_of, spoiled

CLIENTS = [Client("kept", ()), Client("broken", ())]
CASES = [case for case in written_cases() if case.scenario.id == "rebalance-eager"]
KEPT = result_of(spoiled())
BROKEN = result_of(spoiled(lambda story: story.commit(1_500, 1, {BOTH[0]: 6})))


class Made:
    """The runs that were really made, in memory: none starts a process."""

    def __init__(self) -> None:
        self.of: Counter[tuple[str, str]] = Counter()
        self.version = "1"

    def run(self, client: Client, case: Case, _: object) -> CaseResult:
        self.of[client.name, case.id] += 1
        run = BROKEN if client.name == "broken" else KEPT
        judged = judge_run(case.rules, run.history, run.outcome)
        return replace(run, client=client, case=case, client_version=self.version, judgements=judged)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    made = Made()
    monkeypatch.setattr(campaigns, "run_case", made.run)
    return made


def campaign(file: Path | None, stop_after: int = 10_000, **options: Any) -> Campaign:
    done = 0

    def finished(*_: object) -> None:
        nonlocal done
        done += 1
        if done == stop_after:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"jobs": 2, "confirm": True} | options
    return run_campaign(CLIENTS, CASES, resume=file, finished=finished, **given)


def verdicts(found: Campaign) -> object:
    """All that is told but for times."""
    told: Any = as_json(replace(found, seconds=0.0))["clients"]
    return [(client["name"], {**row, "seconds": 0}) for client in told for row in client["results"]]


def test_a_campaign_stopped_again_and_again_ends_with_the_verdicts_of_one_and_runs_nothing_twice(
    made: Made, tmp_path: Path
) -> None:
    whole = campaign(None)
    once, made.of = made.of, Counter()
    assert {count for (client, _), count in once.items() if client == "broken"} == {5}  # so it is certain
    file = tmp_path / "campaign.ndjson"
    stopped = campaign(file, stop_after=3)
    assert stopped.stopped.endswith(f"; the same command goes on from {file}")
    for _ in range(3):
        campaign(file, stop_after=5)
    ended = campaign(file)
    # what was under way when it was stopped has no result, and is run again; what has a result is not
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + once.total()
    assert (verdicts(ended), ended.stopped) == (verdicts(whole), "")
    before, made.of = made.of, Counter()
    assert verdicts(campaign(file)) == verdicts(whole)
    assert (made.of.total(), before.total() >= once.total()) == (0, True)


def test_what_was_cut_off_is_run_again(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "campaign.ndjson"
    whole = campaign(file, confirm=False)
    data = file.read_bytes()
    file.write_bytes(data[:-20])
    made.of.clear()
    assert verdicts(campaign(file, confirm=False)) == verdicts(whole)
    assert made.of.total() == 1
    assert file.read_bytes().count(b"\n") == data.count(b"\n")


def test_who_watches_is_told_what_was_made_before_and_how_much_is_left(made: Made, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    watched: Callable[[Any, int], None] = lambda runs, left: told.append((len(runs), left))  # noqa: E731
    campaign(tmp_path / "file", stop_after=4, confirm=False, resumed=watched)
    campaign(tmp_path / "file", confirm=False, resumed=watched)
    assert told == [(0, 2 * len(CASES)), (4, 2 * len(CASES) - 4)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"repeat": 2}, "repeat: 1 there, 2 here"),
        ({"confirm": False}, "confirm: True there, False here"),
        ({"rules": frozenset({"M1"})}, "other rules"),
        ({"report": Path("/somewhere")}, "report: none there, /somewhere here"),
    ],
)
def test_another_campaign_is_refused(made: Made, tmp_path: Path, options: dict[str, Any], told: str) -> None:
    campaign(tmp_path / "file", stop_after=2)
    with pytest.raises(UsageProblem) as refused:
        campaign(tmp_path / "file", **options)
    assert told in str(refused.value)


def test_another_version_of_the_client_is_refused(made: Made, tmp_path: Path) -> None:
    campaign(tmp_path / "file", stop_after=2)
    made.version = "2"
    with pytest.raises(UsageProblem, match=r"is 2 now, and was 1 when this campaign began"):
        campaign(tmp_path / "file")


@pytest.mark.parametrize("text", ['{"a": 1}\n', "no JSON\n", "[]\n"])
def test_a_file_that_is_something_else_is_refused_and_left_alone(
    made: Made, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text(text, encoding="utf-8")
    arguments = ["conform", "reference", "--scenario", "close-while-stable", "--jobs", "1"]
    assert main([*arguments, "--resume", str(file)]) == EXIT_USAGE
    assert "this is no campaign to go on with" in capsys.readouterr().err
    assert (file.read_text(encoding="utf-8"), made.of.total()) == (text, 0)


def test_a_file_has_one_campaign_at_a_time(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    program = (
        "import sys; from pathlib import Path; from groupspec.conformance.outputs import claimed_file\n"
        f"with claimed_file(Path({str(file)!r})): print('has it', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"has it\n"
        arguments = ["conform", "reference", "--scenario", "close-while-stable", "--resume", str(file)]
        assert main(arguments) == EXIT_USAGE
        assert "another run writes to this file now" in capsys.readouterr().err
        other.kill()
    assert main(arguments) == EXIT_OK
    assert made.of.total() > 0


def test_recorded_runs_are_not_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--judge", "somewhere", "--resume", "file"]) == EXIT_USAGE
    assert "--judge runs nothing" in capsys.readouterr().err
