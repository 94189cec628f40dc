"""`groupspec harness check`: right harnesses pass, and each way to be wrong is found and told."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import COMMANDS, FEATURES, ErrorRaised, misspelt_features, name_of
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import IN_PYTHON, Client, find_client
from groupspec.conformance.wire.harness_check import CHECKS, Checked, check_harness, report, sessions
from groupspec.conformance.wire.harness_check.checks import of_heartbeats, raised_by_close
from groupspec.conformance.wire.tests import fake_harnesses as fake
from groupspec.conformance.wire.tests.broken_harnesses import BROKEN, Broken, harness
from groupspec.conformance.wire.tests.building import BUILT_FIRST

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
    assert f"the harness did not say startup_complete: the other {len(CHECKS) - 1} checks judge nothing" in told
    assert "can't open file" in told
    assert (told.count("PASS"), told.count("FAIL  ")) == (0, 1)


def test_a_harness_of_a_client_that_joins_no_classic_group_is_judged_as_far_as_it_can_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["harness", "check", f"cmd:{shlex.join(fake.KIP_848_ONLY)}"]) == EXIT_OK
    told = capsys.readouterr().out
    for judged in ("startup", "features", "stdout", "command_done", "clock", "close", "end of stdin"):
        assert re.search(rf"(?m)^PASS +{judged} ", told), judged
    assert re.search(r"(?m)^UNSUPPORTED +the client's only group protocol is that of KIP-848 .* the other \d+ ch", told)


def test_of_a_harness_that_joins_no_classic_group_what_it_gets_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "WITHIN_S", 0.2)
    *python, source = fake.KIP_848_ONLY
    deaf = source.replace('say(name="command_done", command=command)', "")
    assert set(wrong(check_harness(Client("cmd:deaf", (*python, deaf))))) == {"command_done"}


REFUSED = Entry(0, "wire", "response", api="JoinGroup", error="GROUP_AUTHORIZATION_FAILED")


def error(call: str, name: str = "GroupAuthorizationError") -> Entry:
    return Entry(0, "client", "error", event=ErrorRaised(error=name, message="no", call=call))


@pytest.mark.parametrize(
    ("came", "count"),
    [
        ([REFUSED, error("poll"), REFUSED, error("close")], 0),
        ([REFUSED, error("poll"), REFUSED, error("close"), error("close")], 1),
        ([REFUSED, error("poll"), error("close")], 1),
        ([REFUSED, error("poll"), REFUSED, error("poll"), error("close")], 1),
        ([REFUSED, error("poll"), REFUSED, error("close", "TypeError")], 1),
        ([error("close")], 1),
    ],
    ids=["not told by a poll", "twice", "told", "both told", "another error", "no refusal"],
)
def test_close_may_raise_a_refusal_that_no_poll_has_told_and_nothing_else(came: list[Entry], count: int) -> None:
    assert len(raised_by_close(came)) == count


@pytest.mark.parametrize(
    ("beats_ms", "told"),
    [
        ([0], "fewer than two heartbeats came"),
        ([0, 3_027], "heartbeats came every 3027 ms"),  # librdkafka's default: the story sees two of its heartbeats
        ([0, 60, 120, 180], "heartbeats came every 60 ms"),
        ([0, 60], ""),  # librdkafka may send one early
        ([0, 180, 1_600, 1_770], ""),  # a machine that was busy for a while
        ([0, 900], ""),
    ],
)
def test_an_interval_that_is_not_passed_on_shows_in_one_gap_and_a_busy_machine_does_not(
    beats_ms: list[int], told: str
) -> None:
    found = [*of_heartbeats([1_000 * each for each in beats_ms], 170)]
    assert found == ([f"heartbeat_interval_ms is 170, and {told}"] if told else [])


MISSPELT = Broken("a misspelt name", "def configure(self, command):\n    self.consumer = Consumr()", "commands", "")


def test_what_making_the_client_raises_is_told_and_nothing_else_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("groupspec.conformance.commands.harness.find_client", lambda _: harness(MISSPELT))
    monkeypatch.setattr(report, "STILL_MS", 0)  # no stall of the machine makes a client raise
    assert main(["harness", "check", "cmd:x"]) == EXIT_CONFORMANCE_FAILURE
    told = capsys.readouterr().out
    raised = "`configure` raised NameError: name 'Consumr' is not defined"
    assert f"found:  {raised} (<string>:" in told
    assert f"): the other {len(CHECKS) - 2} checks judge nothing" in " ".join(told.split())
    assert (told.count("FAIL  "), told.count("PASS  "), "flooded" in told) == (1, 1, False)
    assert "in configure" in told.partition("the end of its stderr:")[2]


def judged(checked: Checked) -> dict[str, str]:
    """The verdicts that say something, by check."""
    return {
        result.check.id: result.verdict.value
        for result in checked.results
        if result.verdict in (Verdict.PASS, Verdict.FAIL)
    }


def test_what_prints_something_and_ends_has_only_its_start_judged() -> None:
    checked = check_harness(Client("cmd:hello", fake.python("print('hello')")))
    assert judged(checked) == {"startup": "FAIL"}
    assert "'hello'" in wrong(checked)["startup"][0]


@pytest.mark.parametrize(
    ("source", "check", "told"),
    [
        (
            "print('no such host', file=sys.stderr); sys.exit(9)",
            "command_done",
            "exit code 9; its stderr ends: no such host",
        ),
        ("sys.exit(127)", "command_done", "no command_done for configure, the first command: "),
        ("print('connected!')\ninput()", "stdout", "'connected!'"),
    ],
    ids=["dies", "offers nothing", "prints"],
)
def test_of_what_has_never_done_a_command_little_is_judged(source: str, check: str, told: str) -> None:
    checked = check_harness(Client("cmd:hello", fake.python(fake.GREETING + source)))
    assert told in wrong(checked)[check][0]
    assert set(judged(checked)) == {"startup", "features", "stdout", "command_done"}
    assert {name for name, verdict in judged(checked).items() if verdict == "FAIL"} == {check, "command_done"}


SENDS_LIST_OFFSETS_0 = """
import json, socket, struct, sys
for line in sys.stdin:
    command = json.loads(line)
    if command["command"] == "configure":
        host, _, port = command["bootstrap"].partition(",")[0].partition(":")
    if command["command"] == "poll":
        connection = socket.create_connection((host, int(port)))
        connection.sendall(struct.pack(">ihhihii", 18, 2, 0, 1, -1, -1, 0))
    say(name="command_done", command=command["command"])
"""


def test_a_client_whose_request_is_not_served_is_told_and_nothing_is_said_of_the_harness(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sessions, "WITHIN_S", 0.3)
    old = fake.python(fake.GREETING + SENDS_LIST_OFFSETS_0)
    assert main(["harness", "check", f"cmd:{shlex.join(old)}"]) == EXIT_INCONCLUSIVE
    _, first, *_ = told = capsys.readouterr().out.splitlines()
    judged_not = f"the other {len(CHECKS) - 2} checks judge nothing"
    assert first == f"{'INCONCLUSIVE':<13}the client sent ListOffsets v0, which is not served (1 to 11): {judged_not}"
    assert "FAIL" not in " ".join(told)


def test_without_a_rebalance_protocol_only_start_and_features_are_judged() -> None:
    checked = check_harness(harness(Broken("no features", "features = ()", "features", "")))
    assert judged(checked) == {"startup": "PASS", "features": "FAIL"}


@pytest.mark.exhaustive
def test_a_commit_that_returns_nothing_is_told_and_not_taken_for_the_one_that_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "WITHIN_S", 4.0)
    found = wrong(check_harness(harness(Broken("returns nothing", "def commit(self):\n    pass", "commit", ""))))
    assert found["commit"][0].startswith(
        "`commit` raised TypeError: commit() of the harness returned None, not offsets"
    )
    assert found["failed commit"] == (
        "not judged: the commit before it, which the broker accepts, did not succeed (see commit)",
    )
    assert set(found) == {"commit", "failed commit"}


SLIP = "def poll(self, poll_ms):\n    return {each: each.offst for each in super().poll(poll_ms)}"


def test_what_the_harness_itself_raises_in_a_poll_is_told_and_blames_nothing_else() -> None:
    checked = check_harness(harness(Broken("a slip", SLIP, "commands", "")))
    assert "raised AttributeError: 'TopicPartition' object has no attribute 'offst' (<string>:" in checked.stopped
    assert wrong(checked)["commands"] == (checked.stopped,)
    assert {each.check.id for each in checked.results if each.verdict is Verdict.PASS} == {"startup"}


EVERY_POLL_RAISES = Broken("raises", "def poll(self, poll_ms):\n    raise protocol.BrokenLine('no')", "commands", "")


def test_every_poll_that_raises_an_error_of_the_clients_is_told_and_no_unknown_field_is_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "WITHIN_S", 0.3)
    found = wrong(check_harness(harness(EVERY_POLL_RAISES)))
    assert found["commands"][0].startswith("`poll` raised BrokenLine: no (so did all ")
    assert "lead to" not in found["unknown fields"][0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("client = 'my-client'\nversion = base.Harness.version", ""),
        (
            "def version(self):\n    raise ValueError('no version')",
            "exit code 1; its stderr ends: ValueError: no version",
        ),
    ],
    ids=["no installed distribution", "version raises"],
)
def test_a_harness_that_raises_ends_with_its_traceback_and_one_of_no_distribution_starts(body: str, said: str) -> None:
    client = harness(Broken("starts", f"{body}\ndef configure(self, command):\n    raise OSError", "startup", said))
    checked = check_harness(client)
    assert (checked.name, checked.version) == (("", "") if said else ("my-client", "unknown"))
    assert said in " ".join(wrong(checked).get("startup", ("",)))
    assert ("startup" in wrong(checked)) is bool(said)


@pytest.mark.exhaustive
def test_what_never_happened_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "WITHIN_S", 0.3)
    source = (
        fake.OBEDIENT.replace('["eager"]', '["eager", "listener", "pull"]') + "    if command == 'close': sys.exit(0)"
    )
    found = wrong(check_harness(Client("cmd:joins nothing", fake.python(source))))
    assert found["settings"] == ("no JoinGroup was ever sent",)
    not_judged = {check: told for check, [told, *_] in found.items() if told.startswith("not judged: ")}
    assert set(not_judged) == {"callback_ms", "stop_polling", "failed commit", "unsubscribe", "errors"}
    assert not_judged["errors"] == "not judged: no JoinGroup was sent that could be refused"


ALWAYS_COMMITS = """
fixed = {"auto_commit": True, "fetch_max_wait_ms": 77, "metadata.max.age.ms": "300000"}
def configure(self, settings):
    more = {"metadata.max.age.ms": "300000"}
    super().configure(msgspec.structs.replace(settings, auto_commit=True, fetch_max_wait_ms=77, more=more))
"""


def test_a_harness_of_a_client_with_settings_that_cannot_be_changed_passes() -> None:
    checked = check_harness(harness(Broken("always commits", ALWAYS_COMMITS, "", "")))
    assert wrong(checked) == {}


def test_settings_that_are_wrongly_declared_to_be_fixed_are_told() -> None:
    checked = check_harness(harness(Broken("misspelt", 'fixed = {"auto_comit": True}', "", "")))
    told = "fixed: auto_comit: there is no such setting that may be fixed; did you mean 'auto_commit'?"
    assert wrong(checked) == {"features": (told,)}


def test_a_misspelt_feature_is_told_with_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    told = misspelt_features(["eager", "join_need_poll", "zzz"])
    assert told == [
        "there is no feature 'join_need_poll'; did you mean 'join_needs_poll'?",
        "there is no feature 'zzz'",
    ]
    assert misspelt_features(FEATURES) == []


def test_an_unknown_client_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness", "check", "acme"]) == EXIT_USAGE
    assert "there is no client 'acme'" in capsys.readouterr().err


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


NO_HARNESS_CAN_HELP: Mapping[str, Mapping[str, str]] = {
    # Consumer.maintain_group: a member of a group looks metadata up for an error alone; the docket has it as rule J8.
    "krafka": {"settings": "metadata.max.age.ms is 300, and Metadata was asked for 0 times"},
}
"""What a client does not do itself, whatever its harness passes on: of each check how its one finding begins."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*(each for each in IN_PYTHON if each != "reference"), *BUILT_FIRST])
def test_every_built_in_harness_passes(name: str) -> None:
    if name in BUILDS:
        BUILDS[name].install()
    checked = check_harness(find_client(name))
    expected = NO_HARNESS_CAN_HELP.get(name, {})
    found = {of: [said[: len(expected.get(of, said))] for said in each] for of, each in wrong(checked).items()}
    assert found == {of: [begins] for of, begins in expected.items()}
    assert checked.name == name.partition("@")[0]


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
