"""Clients in other languages: what installing them refuses, that it is whole or not at all, and that they run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE, UsageProblem
from groupspec.conformance.wire import client_builds
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.case import PLAIN, Case
from groupspec.conformance.wire.client_builds import BUILDS, REGISTRY, SOURCES, build_of
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.conformance.wire.tests.building import BUILT_FIRST
from groupspec.conformance.wire.tests.processes import is_gone

BUILDS_IT = "#!/bin/sh\necho built >> {log}\necho '#!/bin/sh' > harness\nchmod +x harness\n"
WARNS_FIRST = "#!/bin/sh\n" + "echo npm warn EBADENGINE Unsupported\n" * 20 + "echo npm error code ENOTCACHED\nexit 1\n"
FAILS = "#!/bin/sh\necho half > harness\necho 'dial tcp: lookup proxy.golang.org: no such host' >&2\nexit 1\n"
MAKES_TARGET = "#!/bin/sh\nmkdir -p built/bin target/release\necho > built/bin/krafka\necho > target/release/deps\n"


LASTS = "#!/bin/sh\n(while :; do :; done) &\necho $! > {pid}\nwait\n"
"""As cargo: what it has started goes on when it is killed itself."""


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a PATH with nothing but what a test puts there."""
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("GROUPSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tools


def tool(folder: Path, name: str, text: str) -> None:
    """A program for the PATH; a shell's built-in words are all that it may use."""
    (folder / name).write_text(f"{text}".replace("chmod", "/bin/chmod"), encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", BUILDS)
def test_a_client_that_is_not_built_is_told_with_the_command_that_builds_it(
    name: str, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", name]) == EXIT_USAGE
    assert f"groupspec clients install {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "tried"),
    [
        ("confluent-kafka@2.11.1", "2.16.1 and 2.6.1"),
        ("java@3.7.0", "4.3.1 and 3.9.1"),
        ("sarama@1.47", "1.61.1"),
        ("java-async@4.0", "4.3.1"),
    ],
)
def test_of_another_version_it_is_told_which_ones_its_harness_was_tried_with(
    name: str, tried: str, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = name.partition("@")[0]
    assert main(["conform", name]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"any version of {client} that its harness builds with; tried with {tried}" in told
    assert f"groupspec clients install {name}" in told
    assert f"groupspec harness check {name}" in told


def test_of_a_version_that_was_tried_no_other_is_told(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "confluent-kafka@2.6.1"]) == EXIT_USAGE
    assert "tried with" not in capsys.readouterr().err


def test_a_build_that_takes_too_long_ends_with_all_that_it_has_started(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client_builds, "BUILD_LIMIT_S", 0.3)
    pid = empty / "pid"
    tool(empty, "cargo", LASTS.format(pid=pid))
    assert main(["clients", "install", "krafka"]) == EXIT_USAGE
    assert "timed out after 0.3 seconds" in capsys.readouterr().err
    assert is_gone(int(pid.read_text(encoding="ascii")))


@pytest.mark.parametrize(
    ("name", "lacks", "remedy"),
    [
        ("java", "java", "apt install"),
        ("kgo", "there is no go", "apt install"),
        ("kafkajs", "there is no npm", "apt install"),
        ("krafka", "there is no cargo", "rustup.rs"),
    ],
)
def test_a_missing_tool_is_named_and_how_to_get_it(
    name: str, lacks: str, remedy: str, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clients", "install", name]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"the client {name} cannot be built" in told
    assert lacks in told
    assert remedy in told


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acme", "`groupspec clients list`"),
        ("java@latest", "of java there is java (4.3.1), java@3.9.1 (3.9.1), and any other as java@VERSION"),
        ("sarama@1; touch x", "of sarama there is sarama (1.61.1)"),
        ("reference@0.0.1", "groupspec"),
        ("kg", "did you mean 'kgo'?"),
        ("kafka_python@2.3", "did you mean 'kafka-python@2.3'? The kit has tried 3.0.12 and 3.0.0"),
        ("referense@2.3", "did you mean 'reference'?"),
    ],
)
@pytest.mark.parametrize("words", [("clients", "install"), ("conform",)])
def test_a_client_or_version_that_nobody_knows_is_refused_with_those_that_there_are(
    words: Sequence[str], name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, name]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"there is no client '{name}'" in told
    assert meant.replace("clients list", "conform --list" if words == ("conform",) else "clients list") in told


def test_a_client_that_was_built_and_has_lost_what_runs_it_is_told(
    empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(empty, "npm", "#!/bin/sh\n")
    BUILDS["kafkajs"].install()
    assert main(["conform", "kafkajs"]) == EXIT_USAGE
    assert "there is no node" in capsys.readouterr().err


def test_a_build_that_fails_says_why_and_leaves_nothing(empty: Path) -> None:
    tool(empty, "go", FAILS)
    with pytest.raises(UsageProblem, match=r"proxy\.golang\.org: no such host"):
        BUILDS["kgo"].install()
    assert not BUILDS["kgo"].installed
    assert [path.name for path in BUILDS["kgo"].folder.parent.iterdir()] == ["kgo.lock"]


def test_of_a_tool_that_warns_twenty_times_before_it_fails_the_error_is_told(empty: Path) -> None:
    tool(empty, "npm", WARNS_FIRST)
    with pytest.raises(UsageProblem, match=r"ended with code 1: npm error code ENOTCACHED\n"):
        BUILDS["kafkajs"].install()


def test_what_running_does_not_take_is_not_kept(empty: Path) -> None:
    tool(empty, "cargo", MAKES_TARGET.replace("mkdir", "/bin/mkdir"))
    folder = BUILDS["krafka"].install()
    assert find_client("krafka").command == (str(folder / "built" / "bin" / "krafka"),)
    assert not (folder / "target").exists()


def test_what_is_built_is_not_built_again(empty: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tool(empty, "go", BUILDS_IT.format(log=log))
    folder = BUILDS["kgo"].install()
    assert BUILDS["kgo"].install() == folder
    assert log.read_text() == "built\n"
    assert find_client("kgo").command == (str(folder / "harness"),)


def test_two_processes_at_once_build_it_once(empty: Path, tmp_path: Path) -> None:
    tool(empty, "go", BUILDS_IT.format(log=tmp_path / "log"))
    with ThreadPoolExecutor(4) as pool:
        folders = {each.result() for each in [pool.submit(BUILDS["kgo"].install) for _ in range(4)]}
    assert len(folders) == 1
    assert (tmp_path / "log").read_text() == "built\n"


def test_a_cache_that_cannot_be_written_is_told(
    empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    assert main(["clients", "install", "kgo"]) == EXIT_USAGE
    assert "GROUPSPEC_CACHE" in capsys.readouterr().err


def test_the_list_says_what_is_there_and_what_the_rest_takes(
    empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(empty, "go", BUILDS_IT.format(log=tmp_path / "log"))
    BUILDS["kgo"].install()
    assert main(["clients", "list", "--json", str(tmp_path / "clients.json")]) == EXIT_OK
    listed = {each["name"]: each for each in json.loads((tmp_path / "clients.json").read_text())["clients"]}
    assert listed["kgo"]["installed"] is True
    assert listed["java"]["installed"] is False
    assert "Maven" in listed["java"]["needs"]
    assert "pip install '.[clients]'" in listed["aiokafka"]["needs"]
    assert "groupspec clients install java" in " ".join(capsys.readouterr().out.split())


def test_no_lock_file_says_where_its_packages_were_fetched() -> None:
    """Whoever runs npm has a registry set up; the hashes say that what comes is the same."""
    lock = json.loads((SOURCES / "node" / "package-lock.json").read_text(encoding="utf-8"))
    packages = [package for name, package in lock["packages"].items() if name]
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages)


def test_another_version_is_another_client_of_the_same_harness() -> None:
    one, other = BUILDS["java"], BUILDS["java@3.9.1"]
    assert (one.version, other.version) == ("4.3.1", "3.9.1")
    assert one.folder != other.folder


def test_any_version_that_the_tool_finds_is_built_after_the_sources_ask_for_it(empty: Path, tmp_path: Path) -> None:
    tool(empty, "go", f'#!/bin/sh\necho "$*" >> {tmp_path / "log"}\n> harness\n')
    build = build_of("sarama@1.47")
    assert build is not None
    build.install()
    assert (tmp_path / "log").read_text(encoding="utf-8").splitlines() == [
        "get github.com/IBM/sarama@v1.47",
        "build -trimpath -o harness ./sarama",
    ]
    assert find_client("sarama@1.47").command == (str(build.folder / "harness"),)
    assert build.folder != BUILDS["sarama"].folder


@pytest.mark.parametrize("name", [name for name, each in BUILDS.items() if "@" not in name])
def test_each_client_knows_how_its_sources_take_another_version(name: str) -> None:
    how = REGISTRY[name].build
    assert how is not None
    assert any("{version}" in part for part in (*how.takes_version, *how.command))


ALONE = "kafka-go"
"""What cannot lead a group that has another member (docket, J2): it is judged where there is none."""


KIP_848 = "java-async"
"""Its groups are none that the kit's broker has."""


@pytest.mark.tools
@pytest.mark.realtime
@pytest.mark.parametrize("name", [each for each in BUILT_FIRST if each.id != KIP_848])
def test_the_client_joins_reads_and_heartbeats(name: str) -> None:
    BUILDS[name].install()
    scenario = "rebalance-eager" if name == ALONE else "first-join"
    campaign = run_campaign([find_client(name)], [Case(SCENARIOS[scenario], PLAIN)], jobs=1)
    [judged_client] = campaign.clients
    assert judged_client.version.split()[0] == BUILDS[name].version
    judged = {row.rule: row.judgement.verdict for row in judged_client.rows}
    must = ("J2", "H3", "W1", "O3") if name == ALONE else ("J2", "S2", "H3", "W1")
    assert {judged[rule] for rule in must} == {Verdict.PASS}, judged
    # With and without a committed offset.
    assert name == ALONE or Verdict.PASS in (judged["O1"], judged["O6"]), judged


@pytest.mark.tools
@pytest.mark.realtime
def test_an_older_join_group_is_not_asked_for_a_member_id() -> None:
    BUILDS[ALONE].install()
    campaign = run_campaign([find_client(ALONE)], [Case(SCENARIOS["first-join"], PLAIN)], jobs=1)
    [row] = [row for row in campaign.clients[0].rows if row.rule == "J2"]
    # JoinGroup before version 4 (KIP-394) joined; what the client then raised by itself is the finding.
    assert row.judgement.reason.startswith(
        "the client itself raised *fmt.wrapError: unable to read metadata for member"
    )


@pytest.mark.tools
@pytest.mark.realtime
def test_of_javas_client_with_the_consumer_protocol_no_classic_rule_is_judged_and_none_hangs() -> None:
    BUILDS[KIP_848].install()
    cases = [Case(SCENARIOS[name], PLAIN) for name in ("rebalance-eager", "rebalance-cooperative")]
    [judged_client] = run_campaign([find_client(KIP_848)], cases, jobs=2).clients
    assert judged_client.version.split()[0] == BUILDS[KIP_848].version
    assert set(judged_client.verdicts()) == {Verdict.UNSUPPORTED}
    assert all("KIP-848" in row.judgement.reason for row in judged_client.rows)


@pytest.mark.exhaustive
@pytest.mark.realtime
def test_javas_classes_are_in_an_archive_and_it_runs_without_one() -> None:
    """The archive makes the first poll quick; without it nothing may reach stdout but events."""
    folder = BUILDS["java"].install()
    archive = folder / "classes.jsa"
    assert archive.stat().st_size > 5_000_000
    command = [part.replace(str(archive), str(folder / "no.jsa")) for part in BUILDS["java"].command()]
    close = b'{"command": "close"}\n'
    run = subprocess.run(command, input=close, capture_output=True, timeout=60, check=True)
    names = [json.loads(line)["name"] for line in run.stdout.splitlines()]
    assert names == ["startup_complete", "shutdown_requested", "shutdown_complete"]
