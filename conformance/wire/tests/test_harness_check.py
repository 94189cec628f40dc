"""`groupspec harness check`: right harnesses pass, and each way to be wrong is found and told."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import IN_PYTHON, Client, find_client
from groupspec.conformance.wire.harness_check import CHECKS, Checked, check_harness, sessions
from groupspec.conformance.wire.protocol import COMMANDS, FEATURES, misspelt_features, name_of
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.tests.broken_harnesses import BROKEN, Broken, harness
from groupspec.conformance.wire.verdicts import Verdict

pytestmark = pytest.mark.realtime
AT_ONCE = 3
PAGE = (Path(sessions.__file__).parent.parent / "PROTOCOL.md").read_text(encoding="utf-8")


def wrong(checked: Checked) -> dict[str, tuple[str, ...]]:
    """What was found, by check."""
    return {
        result.check.id: result.found
        for result in checked.results
        if result.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE)
    }


def test_the_references_harness_passes_and_the_result_keeps_its_schema(tmp_path: Path) -> None:
    file = tmp_path / "check.json"
    assert main(["harness", "check", "reference", "--json", str(file)]) == EXIT_OK
    checks = json.loads(file.read_text(encoding="utf-8"))["checks"]
    assert {each["outcome"] for each in checks} == {"PASS"}
    assert [each["id"] for each in checks] == list(CHECKS)


def test_a_harness_that_does_not_start_is_told_with_its_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    checked = check_harness(Client("cmd:crashes", fake.CRASHES_AT_ONCE))
    assert "exit code 3" in wrong(checked)["startup"][0]
    assert "no such module" in checked.stderr


def test_of_a_harness_that_does_not_start_nothing_else_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness", "check", f"cmd:{sys.executable} no_such_file.py"]) == EXIT_CONFORMANCE_FAILURE
    told = capsys.readouterr().out
    assert "no startup_complete: the client's process ended with exit code 2" in told
    assert f"the harness did not start: the other {len(CHECKS) - 1} checks judge nothing" in told
    assert "can't open file" in told
    assert (told.count("PASS"), told.count("FAIL  ")) == (0, 1)


def test_a_misspelt_feature_is_told_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    told = misspelt_features(["eager", "join_need_poll", "zzz"])
    assert told == [
        "there is no feature 'join_need_poll'; did you mean 'join_needs_poll'?",
        "there is no feature 'zzz'",
    ]
    assert misspelt_features(FEATURES) == []


def test_an_unknown_client_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness", "check", "sarama"]) == EXIT_USAGE
    assert "there is no client 'sarama'" in capsys.readouterr().err


def test_every_section_that_a_check_names_is_in_the_page() -> None:
    headings = {line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")}
    assert {check.section for check in CHECKS.values()} <= headings


def test_every_setting_is_explained_on_the_page() -> None:
    assert [
        name for name in sessions.SETTINGS.__struct_fields__ if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE
    ] == []


def test_every_command_is_tried_by_some_story() -> None:
    source = Path(sessions.__file__).read_text(encoding="utf-8")
    assert [name_of(command) for command in COMMANDS if f"{command.__name__}" not in source] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*(each for each in IN_PYTHON if each != "reference"), *BUILDS])
def test_every_built_in_harness_passes(name: str) -> None:
    if name in BUILDS:
        BUILDS[name].install()
    checked = check_harness(find_client(name))
    assert wrong(checked) == {}
    assert checked.name == name


@pytest.fixture(scope="module")
def of_broken_harnesses() -> dict[str, Checked]:
    """What is said of each; several at a time, since the kit waits most of the time."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(AT_ONCE) as pool:
        patch.setattr(sessions, "WITHIN_S", 4.0)
        checked = pool.map(lambda broken: check_harness(harness(broken)), BROKEN)
        return {broken.name: each for broken, each in zip(BROKEN, checked, strict=True)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_what_is_wrong_is_found_and_told(broken: Broken, of_broken_harnesses: dict[str, Checked]) -> None:
    found = wrong(of_broken_harnesses[broken.name])
    assert broken.check in found
    assert broken.says in " ".join(found[broken.check])


@pytest.mark.exhaustive
def test_a_wrong_harness_ends_with_1_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = harness(BROKEN[0])
    monkeypatch.setattr("groupspec.conformance.commands.harness.find_client", lambda _: client)
    assert main(["harness", "check", "cmd:x"]) == EXIT_CONFORMANCE_FAILURE
    told = capsys.readouterr().out
    assert "did you mean 'listener'?" in told
    assert "PROTOCOL.md, Features" in told
