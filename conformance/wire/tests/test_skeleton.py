"""`groupspec init`: what it writes builds, starts and says what is to be filled in; filled in, it is a harness."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.client_builds import BUILD_LIMIT_S, SOURCES
from groupspec.conformance.wire.harness_check.report import OF_THE_PROTOCOL
from groupspec.conformance.wire.skeleton import OPEN, SKELETONS

CLIENTS_PART = {"configure", "subscribe", "poll", "commit", "unsubscribe", "close"}
TOOLS = [
    pytest.param(language, marks=pytest.mark.nightly if language == "rust" else ())
    for language in SKELETONS
    if language != "python"
]
FILLED_IN = {
    "make the client with these settings": "self.consumer = Consumer(**base.kafka_settings(command))",
    "subscribe to the topics, with a listener": "self.consumer.subscribe(topics, base.Listener(self))",
    "poll once, and return what came": "return {each: [each.offset] for each in self.consumer.poll(poll_ms, 1)}",
    "commit the positions, wait, and return them": "return base.Harness.commit(self)",
    "unsubscribe": "self.consumer.unsubscribe()",
    "close the client": "self.consumer.close(5_000)",
}
"""The client's part for the reference, whose records have a topic and a partition themselves."""


@pytest.fixture(autouse=True)
def in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for somebody who has activated it: `python` is the one that has groupspec."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def written(language: str, folder: Path) -> Path:
    """A skeleton, as it is written."""
    assert main(["init", language, "--out", str(folder), "--name", "acme"]) == EXIT_OK
    return folder


def checked(start: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, dict[str, object]]:
    """What `harness check` ends with, started in the folder, and its result."""
    monkeypatch.chdir(folder)
    code = main(["harness", "check", f"cmd:{start}", "--json", "check.json"])
    return code, json.loads(Path("check.json").read_text(encoding="utf-8"))


def require_whole_but_for_the_client(start: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs no client passes, and what is to be filled in is told with its line."""
    code, result = checked(start, folder, monkeypatch)
    assert isinstance(result["checks"], list)
    assert isinstance(result["to_fill_in"], list)
    outcomes = {each["id"]: each["outcome"] for each in result["checks"]}
    assert code == EXIT_INCONCLUSIVE, outcomes
    assert {name for name, outcome in outcomes.items() if outcome == "PASS"} == set(OF_THE_PROTOCOL)
    assert set(outcomes.values()) == {"PASS", "INCONCLUSIVE"}
    for told in result["to_fill_in"]:
        call, what, file, line = re.fullmatch(r"(\w+): (.*) \((.+):(\d+)\)", told).groups()  # type: ignore[union-attr]
        [source] = folder.rglob(file)
        assert what in source.read_text(encoding="utf-8").splitlines()[int(line) - 1], call
    assert {told.partition(":")[0] for told in result["to_fill_in"]} >= CLIENTS_PART


@pytest.mark.parametrize("language", SKELETONS)
def test_what_is_shared_is_the_harnesses_own_and_the_rest_bears_the_clients_name(language: str, tmp_path: Path) -> None:
    skeleton, folder = SKELETONS[language], written(language, tmp_path / "new" / "harness")
    for file in skeleton.shared:
        assert (folder / file).read_bytes() == (SOURCES / skeleton.shared_from / file).read_bytes()
    assert (folder / "PROTOCOL.md").read_bytes() == (OPEN.parent / "PROTOCOL.md").read_bytes()
    steps = (folder / "README.md").read_text(encoding="utf-8")
    assert f"groupspec conform 'cmd:{skeleton.start}' --scenario first-join" in steps
    assert steps.startswith("# The harness of acme\n")
    assert all(f"`{feature}`" in steps for feature in skeleton.not_shared)
    assert "my-client" not in steps + (folder / skeleton.main).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", SKELETONS)
def test_every_feature_that_is_carried_out_is_there_to_be_declared_with_what_it_means(language: str) -> None:
    text = (OPEN / language / SKELETONS[language].main).read_text(encoding="utf-8")
    not_shared = SKELETONS[language].not_shared
    for name, meaning in protocol.FEATURES.items():
        offered = re.search(rf'"{name}"[,)]+;?\s+(//|#) {re.escape(meaning)}', text)
        assert bool(offered) is (name not in not_shared), name


@pytest.mark.parametrize("language", SKELETONS)
def test_what_is_not_driven_is_said_to_be_of_all_features_not_of_the_few_that_are_listed(language: str) -> None:
    text = (OPEN / language / SKELETONS[language].main).read_text(encoding="utf-8")
    assert "Of PROTOCOL.md's features, also those that this base cannot carry out" in text


@pytest.mark.parametrize("language", SKELETONS)
def test_every_setting_is_named_or_has_a_type(language: str) -> None:
    text = (OPEN / language / SKELETONS[language].main).read_text(encoding="utf-8")
    for name in set(protocol.Configure.__struct_fields__) - {"bootstrap", "callback_ms", "in_callback"}:
        spelt = {"go": re.sub("(?:^|_)(.)", lambda found: found[1].upper(), name).replace("Id", "ID")}
        declared = (SOURCES / "node" / "protocol.d.ts").read_text(encoding="utf-8")
        assert re.search(rf"\b{spelt.get(language, name)}\b", declared if language == "typescript" else text), name


def test_the_types_of_javascript_are_those_of_the_protocol() -> None:
    text = (SOURCES / "node" / "protocol.d.ts").read_text(encoding="utf-8")
    assert re.findall(r'(?m)^  \| "(\w+)"', text) == list(protocol.FEATURES)
    [settings] = re.findall(r"(?s)interface Settings \{(.*?)\n\}", text)
    assert tuple(re.findall(r"(?m)^  (\w+):", settings)) == protocol.Configure.__struct_fields__
    exported = r"(?m)^export (?:async )?(?:function|class) (\w+)"
    javascript = (SOURCES / "node" / "protocol.js").read_text(encoding="utf-8")
    assert set(re.findall(exported, text)) == set(re.findall(exported, javascript))


def test_what_skeletons_and_harnesses_both_need_has_one_version() -> None:
    assert {*(OPEN / "go" / "go.sum").read_text().splitlines()} <= {
        *(SOURCES / "go" / "go.sum").read_text().splitlines()
    }
    [needed] = re.findall(r"require (.*)", (OPEN / "go" / "go.mod").read_text())
    assert f"\t{needed}\n" in (SOURCES / "go" / "go.mod").read_text()
    rust = (tomllib.loads((folder / "rust" / "Cargo.toml").read_text()) for folder in (OPEN, SOURCES))
    skeletons, harnesses = (each["dependencies"] for each in rust)
    assert skeletons
    assert skeletons.items() <= harnesses.items()
    ours, built_in = (versions(folder / "java" / "pom.xml") for folder in (OPEN, SOURCES))
    assert ours
    assert ours <= built_in


def versions(pom: Path) -> set[tuple[str, str]]:
    """Artifact and version of each dependency and plugin."""
    space = "{http://maven.apache.org/POM/4.0.0}"
    tree = ElementTree.parse(pom)
    found = [*tree.iter(f"{space}dependency"), *tree.iter(f"{space}plugin")]
    return {(each.findtext(f"{space}artifactId", ""), each.findtext(f"{space}version", "")) for each in found}


@pytest.mark.realtime
def test_python_as_it_is_written_starts_and_says_what_is_to_be_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_whole_but_for_the_client(SKELETONS["python"].start, written("python", tmp_path), monkeypatch)


def filled_in(folder: Path, *left_out: str) -> None:
    """The skeleton in Python with the reference in it, but for some functions."""
    file = written("python", folder) / "harness.py"
    text = file.read_text(encoding="utf-8").replace("from coll", "from groupspec.impl import Consumer\nfrom coll")
    for what, instead in FILLED_IN.items():
        assert text.count(f'raise base.ToFillIn("{what}")') == 1
        if what not in left_out:
            text = text.replace(f'raise base.ToFillIn("{what}")', instead)
    file.write_text(text, encoding="utf-8")


@pytest.mark.realtime
def test_python_filled_in_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filled_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["conform", "cmd:python harness.py", "--scenario", "close-while-stable/plain"]) == EXIT_OK
    assert re.search(r"(?m)^\d+ PASS, \d+ UNSUPPORTED;", capsys.readouterr().out)


@pytest.mark.exhaustive
@pytest.mark.realtime
def test_one_function_that_is_left_is_told_and_blames_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled_in(tmp_path, "close the client")
    code, result = checked("python harness.py", tmp_path, monkeypatch)
    assert code == EXIT_CONFORMANCE_FAILURE
    assert isinstance(result["checks"], list)
    assert isinstance(result["to_fill_in"], list)
    assert {each["id"] for each in result["checks"] if each["outcome"] == "FAIL"} == {"close"}
    assert [told.partition(" (")[0] for told in result["to_fill_in"]] == ["close: close the client"]


def test_a_folder_in_which_something_lies_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.go").write_text("mine")
    assert main(["init", "go", "--out", str(tmp_path)]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "the folder is not empty" in told
    assert "main.go" in told
    assert "--out DIR" in told
    assert [file.name for file in tmp_path.iterdir()] == ["main.go"]
    assert main(["init", "go", "--out", str(tmp_path / "main.go")]) == EXIT_USAGE
    assert main(["init", "go", "--out", str(tmp_path / "main.go" / "below")]) == EXIT_USAGE
    assert (tmp_path / "main.go").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "-x", "a b", 'a"b', "a{b}", "a\nb", "x" * 65])
def test_a_name_that_no_package_has_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "python", "--out", str(tmp_path), "--name", name]) == EXIT_USAGE
    assert "--name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_another_language_is_told_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "jawa"]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert "did you mean 'java'?" in told
    assert ", ".join(SKELETONS) in told


@pytest.mark.tools
@pytest.mark.realtime
@pytest.mark.parametrize("language", TOOLS)
def test_as_it_is_written_it_builds_starts_and_says_what_is_to_be_filled_in(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skeleton, folder = SKELETONS[language], written(language, tmp_path)
    for line in skeleton.build:
        subprocess.run(shlex.split(line), cwd=folder, stdin=subprocess.DEVNULL, timeout=BUILD_LIMIT_S, check=True)
    require_whole_but_for_the_client(skeleton.start, folder, monkeypatch)


CALLS_AT_ONCE = """
import { callback } from "./protocol.js";
callback("partitions_revoked", [{ topic: "orders", partition: 0 }], 30);
await callback("partitions_assigned", [{ topic: "orders", partition: 1 }], 30);
"""


@pytest.mark.tools
def test_callbacks_of_javascript_that_are_called_at_once_come_one_after_the_other() -> None:
    run = ["node", "--input-type=module", "--eval", CALLS_AT_ONCE]
    said = subprocess.run(run, cwd=SOURCES / "node", capture_output=True, timeout=60, check=True).stdout
    events = [protocol.decode_event(line) for line in said.splitlines()]
    names = [protocol.name_of(type(event)) for event in events]
    assert names == ["partitions_revoked", "callback_returned", "partitions_assigned", "callback_returned"]
    times_us = [event.at_us or 0 for event in events]
    assert times_us[1] - times_us[0] >= 29_000


HANGS_AT_ITS_END = """
import { run } from "./protocol.js";
process.on("exit", () => { for (;;); });  // as a native client whose threads wait for a broker
await run("acme", "acme", ["eager"], {});
"""


@pytest.mark.tools
@pytest.mark.realtime
def test_a_client_of_javascript_that_hangs_at_its_end_does_not_outlive_the_kit() -> None:
    run = ["node", "--input-type=module", "--eval", HANGS_AT_ITS_END]
    ended = subprocess.run(run, cwd=SOURCES / "node", stdin=subprocess.DEVNULL, timeout=60, check=False, stdout=-1)
    assert ended.returncode == -signal.SIGKILL


CRASHES = """
import "./protocol.js";
const deep = (n) => { if (n === 0) { throw new RangeError("no such broker"); } deep(n - 1); };
setTimeout(() => deep(9));
"""


@pytest.mark.tools
def test_a_crash_of_javascript_ends_with_the_error() -> None:
    run = ["node", "--input-type=module", "--eval", CRASHES]
    ended = subprocess.run(run, cwd=SOURCES / "node", capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "harness: crashed: RangeError: no such broker"
