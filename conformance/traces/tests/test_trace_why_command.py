"""`groupspec trace why` as its user meets it: the answer, the JSON, and every kind of input that is not a log."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.errors import Problem
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.tests.broker_lines import GROUP, BrokerLog, member_id
from groupspec.conformance.traces.why import Question, explain_logs

CAPTURE: Final = Path(__file__).parent.parent / "captures/02a-slow-java/broker.log"


@pytest.fixture
def log() -> BrokerLog:
    """A group in which b was expelled."""
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    log.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 50_000)
    log.prepare(2, f"removing member {member_id('b')} on heartbeat expiration.")
    log.form(3, 1)
    return log


def run(*arguments: str | Path) -> int:
    result = why.main([str(argument) for argument in arguments], standalone_mode=False)
    assert isinstance(result, int)
    return result


def refused(*arguments: str | Path, code: int = 2) -> str:
    with pytest.raises(Problem) as refusal:
        run(*arguments)
    assert refusal.value.exit_code == code
    return str(refusal.value)


def test_the_answer_names_cause_member_proof_and_cure(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.log"
    file.write_text(log.text())
    assert run(GROUP, file) == 0
    shown = capsys.readouterr().out
    assert "session_timeout" in shown
    assert f"{file}:11: Member {member_id('b')} in group {GROUP} has failed" in shown
    assert "raise session.timeout.ms" in shown
    assert run(GROUP, file, "--brief") == 0
    assert "has failed" not in capsys.readouterr().out


def test_json_keeps_its_schema_and_has_the_fields_of_the_contract(log: BrokerLog, tmp_path: Path) -> None:
    file, result_file = tmp_path / "server.log", tmp_path / "why.json"
    file.write_text(log.text())
    assert run(GROUP, file, "--json", result_file) == 0
    result = json.loads(result_file.read_text())
    expelled = result["rebalances"][-1]
    assert {"group", "generation", "at_ms", "cause", "member", "alternatives", "follow_up", "evidence"} <= set(expelled)
    assert (expelled["generation"], expelled["cause"], expelled["member"]) == (3, "session_timeout", "b")
    assert expelled["evidence"][0]["file"] == str(file)


def test_times_are_read_in_the_zone_that_is_given(log: BrokerLog, tmp_path: Path) -> None:
    file, utc, berlin = tmp_path / "server.log", tmp_path / "utc.json", tmp_path / "berlin.json"
    file.write_text(log.text())
    run(GROUP, file, "--json", utc)
    run(GROUP, file, "--json", berlin, "--timezone", "Europe/Berlin")
    first = [json.loads(one.read_text())["rebalances"][0]["at_ms"] for one in (utc, berlin)]
    assert first[0] - first[1] == 3_600_000
    offset = tmp_path / "offset.json"
    for said in ("+01:00", "+0100"):
        run(GROUP, file, "--json", offset, "--timezone", said)
        assert json.loads(offset.read_text())["rebalances"][0]["at_ms"] == first[1]
    for said in ("Mars/Olympus", "+25:00", "-"):
        assert "time zone" in refused(GROUP, file, "--timezone", said)


def test_rotated_and_packed_logs_and_a_folder_are_read_as_one(log: BrokerLog, tmp_path: Path) -> None:
    half = len(log.lines) // 2
    with gzip.open(tmp_path / "server.log.1.gz", "wt") as packed:
        packed.write("\n".join(log.lines[:half]) + "\n")
    (tmp_path / "server.log").write_text("\n".join(log.lines[half:]))
    result_file = tmp_path.parent / f"{tmp_path.name}.json"
    assert run(GROUP, tmp_path, tmp_path / "server.log", "--json", result_file) == 0
    result = json.loads(result_file.read_text())
    assert [one["cause"] for one in result["rebalances"]] == ["join", "join", "session_timeout"]
    assert len(result["files"]) == 2


def copies(folder: Path) -> None:
    """A recorded log, its copy, its .gz, and parts of it that overlap, one of them as a container runtime writes it."""
    lines = CAPTURE.read_text().splitlines(keepends=True)
    half, third = len(lines) // 2, len(lines) // 3
    folder.mkdir()
    (folder / "server.log").write_text("".join(lines))
    (folder / "copy.log").write_text("".join(lines))
    (folder / "server.log.gz").write_bytes(gzip.compress("".join(lines).encode()))
    (folder / "begin.log").write_text("".join(lines[: 2 * third]))
    (folder / "end.log").write_text("".join(f"2026-11-21T07:59:59.5Z stdout F {line}" for line in lines[half:]))
    (folder / "twice.log").write_text("".join([*lines, *lines]))
    (folder / "again.log").write_text("".join([*lines[: 2 * third], *lines[third:]]))
    (folder / "docker.log").write_text("".join(json.dumps({"log": line, "stream": "stdout"}) + "\n" for line in lines))


@pytest.mark.parametrize(
    "names",
    [
        ["server.log", "copy.log"],
        ["copy.log", "server.log.gz"],
        ["begin.log", "end.log"],
        ["end.log", "docker.log"],
        ["twice.log"],
        ["again.log"],
        [],
    ],
)
def test_lines_that_are_there_twice_count_once(
    names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copies(tmp_path / "logs")
    alone, together = tmp_path / "alone.json", tmp_path / "together.json"
    run("g1", CAPTURE, "--json", alone)
    assert "more than once" not in capsys.readouterr().out
    run("g1", *([tmp_path / "logs" / name for name in names] or [tmp_path / "logs"]), "--json", together)
    one, many = json.loads(alone.read_text()), json.loads(together.read_text())
    assert [without_places(each) for each in many["rebalances"]] == [without_places(each) for each in one["rebalances"]]
    assert [(note["at_ms"], note["what"]) for note in many["notes"]] == [
        (note["at_ms"], note["what"]) for note in one["notes"]
    ]
    assert (one["repeated"], many["repeated"] > 0) == (0, True)
    assert f"{many['repeated']} line(s) of the group were found more than once" in capsys.readouterr().out


def without_places(rebalance: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in rebalance.items() if key != "evidence"}


def test_two_equal_lines_of_one_file_are_two(tmp_path: Path) -> None:
    log = BrokerLog()
    for _ in range(2):
        log.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 0)
    for name in ("server.log", "copy.log"):
        (tmp_path / name).write_text(log.text())
    answer = explain_logs(Question(GROUP), [tmp_path], Clock())
    assert (len(answer.logs.events), answer.logs.repeated) == (2, 2)


@pytest.fixture
def piped(log: BrokerLog) -> Iterator[None]:
    """The log on standard input, from a pipe."""
    before, (reads, writes) = os.dup(0), os.pipe()
    os.write(writes, log.text().encode())
    os.close(writes)
    os.dup2(reads, 0)
    os.close(reads)
    yield
    os.dup2(before, 0)
    os.close(before)


@pytest.mark.usefixtures("piped")
@pytest.mark.parametrize(("path", "shown"), [("-", "(standard input)"), ("/dev/stdin", "/dev/stdin")])
def test_standard_input_is_a_log_too(path: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(GROUP, path) == 0
    assert f"{shown}:11: Member {member_id('b')} in group {GROUP} has failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("packed", "packing"),
    [
        (bz2.compress(b"once"), "bzip2"),
        (lzma.compress(b"once"), "xz"),
        (b"\x28\xb5\x2f\xfd\x04\x00\x21\x00\x00once", "zstd"),
    ],
)
def test_other_packings_are_named_and_leave_a_doubt(
    packed: bytes, packing: str, log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.log.1").write_bytes(packed)
    assert f"packed by {packing}, and only gzip is read; unpack it first" in refused(GROUP, tmp_path)
    (tmp_path / "server.log").write_text(log.text())
    assert run(GROUP, tmp_path) == 4
    assert f"not sure: {tmp_path / 'server.log.1'}: packed by {packing}" in capsys.readouterr().out


def test_a_log_without_coordinator_lines_has_no_version(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.log").write_text(log.text())
    (tmp_path / "server.log.1").write_text("[2026-03-01 11:00:00,000] INFO [Broker id=1] Bye (kafka.server.Broker)\n")
    assert run(GROUP, tmp_path) == 0
    assert "server.log.1: broker group-coordinator log, 1 lines" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_with_their_mark(log: BrokerLog, tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "server.log"
    file.write_bytes(log.text().encode(encoding))
    assert run(GROUP, file) == 0


def test_bytes_that_are_no_text_do_not_stop_the_reading(log: BrokerLog, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_bytes(log.text().encode() + b"\xff\xfe\xe4 caf\xe9\n")
    assert run(GROUP, file) == 0


def test_a_log_cut_off_in_a_line_is_explained_and_the_line_shown(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.log"
    log.prepare(3, f"removing member {member_id('a')} on heartbeat expiration.")
    file.write_text(log.text()[:-170])
    assert run(GROUP, file) == 4
    shown = capsys.readouterr().out
    assert "1 not understood" in shown
    assert "not understood, line 15: Preparing to rebalance" in shown
    assert "not sure: 1 coordinator line(s)" in shown


def test_client_logs_are_named_and_do_not_stop_the_rest(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.log").write_text(log.text())
    (tmp_path / "client.log").write_text(
        '%7|1795247507.074|CGRPSTATE|c#consumer-1| [thrd:main]: Group "g" changed state\n'
    )
    assert run(GROUP, tmp_path) == 0
    told = "recognised as librdkafka log; not used here: `groupspec explain` reads single lines"
    assert told in capsys.readouterr().out
    assert told in refused(GROUP, tmp_path / "client.log")


def test_a_line_about_another_group_that_is_not_understood_leaves_no_doubt(log: BrokerLog, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    log.say("The moon rose over group payments.")
    file.write_text(log.text())
    assert run(GROUP, file) == 0
    log.say(f"The moon rose over group {GROUP}.")
    file.write_text(log.text())
    assert run(GROUP, file) == 4


def test_lines_whose_time_cannot_be_read_are_no_answer_and_no_usage_error(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.log"
    file.write_text(log.text().replace("2026-03-01 ", ""))
    assert run(GROUP, file) == 4
    assert "not sure: 14 coordinator line(s)" in capsys.readouterr().out


def test_a_truncated_archive_is_read_as_far_as_it_goes_beside_the_others(log: BrokerLog, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(log.text())
    packed = gzip.compress(
        b"".join(b"[2026-02-01 12:00:00,%03d] INFO nothing here (kafka.server.X)\n" % n for n in range(999))
    )
    (tmp_path / "server.log.1.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "server.log.2.gz").write_bytes(packed[:12])
    result_file = tmp_path.parent / f"{tmp_path.name}.json"
    assert run(GROUP, tmp_path, "--json", result_file) == 4
    result = json.loads(result_file.read_text())
    assert len(result["rebalances"]) == 3
    assert len(result["doubts"]) == 2


def test_the_last_rebalances_are_shown_and_all_are_counted(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.log"
    file.write_text(log.text())
    run(GROUP, file, "--last", "1")
    shown = capsys.readouterr().out
    assert "3 rebalance(s)" in shown
    assert "the last 1 of 3" in shown
    assert "#3 session_timeout" in shown
    assert "#2 join" not in shown
    assert "join (#1, #2): " in shown, "what to change is said of all"
    run(GROUP, file, "--since", "30s")
    assert "1 rebalance(s)" in capsys.readouterr().out
    run(GROUP, file, "--until", "30s")
    assert "2 rebalance(s)" in capsys.readouterr().out
    assert "is no time" in refused(GROUP, file, "--until", "soon")


def test_only_the_events_of_the_group_asked_for_are_kept(log: BrokerLog, tmp_path: Path) -> None:
    other = [line.replace(GROUP, f"group-{number}") for number in range(50) for line in log.lines]
    file = tmp_path / "server.log"
    file.write_text("\n".join(other + log.lines))
    answer = explain_logs(Question(GROUP), [file], Clock())
    assert len(answer.logs.events) == len(log.lines)
    assert len(answer.logs.groups()) == 51


def test_a_group_that_is_not_there_lists_those_that_are(log: BrokerLog, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text(log.text())
    message = refused("nobody", file, code=4)
    assert "nothing about group nobody" in message
    assert f"found:   {GROUP} (14 lines)" in message
    assert "allowed" not in message


@pytest.mark.parametrize(
    ("level", "found"), [("INFO", "no line of a group coordinator"), ("WARN", "no line of level INFO")]
)
def test_a_log_that_names_no_group_says_what_to_switch_on(level: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text(f"[2026-03-01 11:00:00,000] {level} [Broker id=1] Something (kafka.server.BrokerServer)\n")
    message = refused(GROUP, file, code=4)
    assert f"found:   {found}" in message
    assert "org.apache.kafka.coordinator.group (Kafka 3: kafka.coordinator.group) at level INFO" in message


def test_how_long_is_never_nothing_where_the_log_does_not_say_it(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.log"
    file.write_text("\n".join(line for line in log.lines if "Assignment received" not in line))
    run(GROUP, file)
    assert "3 rebalance(s), 2.1 s+ in all:" in capsys.readouterr().out
    log.prepare(3, f"removing member {member_id('a')} on heartbeat expiration.")
    file.write_text(log.text())
    run(GROUP, file)
    assert "s+ in all (without 1 of unknown length):" in capsys.readouterr().out
    file.write_text(log.lines[-1])
    run(GROUP, file)
    assert "1 rebalance(s), how long is not known:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "why_not"),
    [
        (b"once upon a time\nthere was a group\n", "not a log of a kind that is known"),
        (b"\x7fELF\x00\x00\x00", "not a text file"),
        ("[x] INFO".encode("utf-16-le"), "not a text file"),
        (b'{"v":1,"run":"x","group":"g"}\n', "not a log of a kind that is known"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes, why_not: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    message = refused(GROUP, file)
    assert why_not in message
    assert "broker group-coordinator log" in message, "says what would have been accepted"


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_log_that_was_rotated_just_now_is_no_usage_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(content)
    (tmp_path / "gc.log").write_text("once upon a time\n")
    assert "server.log: the file is empty" in refused(GROUP, tmp_path, code=4)


def test_an_empty_log_is_said_to_be_empty_and_beside_another_is_no_doubt(log: BrokerLog, tmp_path: Path) -> None:
    empty, full = tmp_path / "server.log", tmp_path / "server.log.1"
    empty.write_text("")
    full.write_text(log.text())
    assert "a log is empty, and there is no other" in refused(GROUP, empty, code=4)
    assert run(GROUP, empty, full) == 0


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_json_is_named_and_leaves_a_doubt(indent: int | None, log: BrokerLog, tmp_path: Path) -> None:
    array, plain = tmp_path / "array.json", tmp_path / "server.log"
    array.write_text(json.dumps([{"log": line} for line in log.lines], indent=indent))
    plain.write_text(log.text())
    assert "a JSON array; of JSON one object a line is read: jq -c '.[]' FILE" in refused(GROUP, array)
    assert run(GROUP, array, plain) == 4


def test_objects_over_several_lines_are_named(log: BrokerLog, tmp_path: Path) -> None:
    file = tmp_path / "objects.json"
    file.write_text("\n".join(json.dumps({"log": line}, indent=1) for line in log.lines))
    assert "one object a line is read: jq -c . FILE" in refused(GROUP, file)


def test_files_that_are_no_logs_are_counted_in_one_line(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.log").write_text(log.text())
    for name in ("a.json", "b.txt", "c.md"):
        (tmp_path / name).write_text("{}\n")
    assert run(GROUP, tmp_path) == 0
    left_out = f"3 file(s) left out, not a log of a kind that is known: {tmp_path / 'a.json'}, ..."
    assert left_out in capsys.readouterr().out


@pytest.mark.parametrize(
    ("zone", "meant"),
    [
        ("+1", "+01:00"),
        ("UTC+1", "+01:00"),
        ("gmt-0330", "-03:30"),
        ("Berlin", "Europe/Berlin"),
        ("europe/berln", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("PST", "+08:00 or -08:00"),
    ],
)
def test_a_zone_that_is_none_is_answered_with_the_one_that_was_meant(zone: str, meant: str, tmp_path: Path) -> None:
    assert f"did you mean {meant}?" in refused(GROUP, tmp_path, "--timezone", zone)


def test_a_zone_may_be_an_offset_of_hours(log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.log").write_text(log.text())
    assert run(GROUP, tmp_path, "--timezone", "+01") == 0
    assert "Times are UTC+01:00 (--timezone)" in capsys.readouterr().out


def test_an_empty_group_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("")
    assert "which group?" in refused("", tmp_path / "server.log")


def test_a_broken_archive_leaves_a_doubt(log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.log.gz"
    file.write_bytes(gzip.compress(log.text().encode())[:-30])
    assert run(GROUP, file) == 4
    assert f"not sure: {file} ends early" in capsys.readouterr().out
    file.write_bytes(gzip.compress(log.text().encode())[:12])
    assert "cannot be unpacked" in refused(GROUP, file)


def test_paths_that_are_not_there_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refused(GROUP, tmp_path / "nothing.log")
    assert "has no files" in refused(GROUP, tmp_path)


def test_group_and_path_that_are_missing_or_swapped_are_named(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text("")
    assert "which log is to be read?" in refused("--all-groups")
    assert "which log is to be read?" in refused(GROUP)
    assert "(GROUP | --all-groups) PATH..." in refused()
    assert "with --all-groups give no GROUP" in refused("--all-groups", "orders", file)
    assert f"did you swap them? groupspec trace why orders {file}" in refused(file, "orders")


def test_a_result_that_cannot_be_written_is_refused(log: BrokerLog, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text(log.text())
    assert "cannot write" in refused(GROUP, file, "--json", tmp_path)


def test_all_groups_are_ranked_and_the_worst_is_explained(
    log: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calm = [line.replace(GROUP, "calm") for line in log.lines[:4]]
    slow = BrokerLog()
    slow.join("a", 0, 1)
    slow.prepare(1, f"removing member {member_id('a')} on heartbeat expiration.")
    slow.form(2, 1, after_ms=30_000)
    started = "[2026-03-01 11:59:00,000] INFO [GroupCoordinator id=1] Starting up. (x.y)"
    lines = [started, *calm, *log.lines, *(line.replace(GROUP, "slow") for line in slow.lines)]
    file, result_file = tmp_path / "server.log", tmp_path / "why.json"
    file.write_text("\n".join(lines))
    assert run("--all-groups", file, "--json", result_file) == 0
    shown = capsys.readouterr().out
    ranked = [line.split()[:2] for line in shown.splitlines() if line.startswith(("slow ", "calm ", f"{GROUP} "))]
    assert ranked == [["slow", "2"], [GROUP, "3"], ["calm", "1"]]
    assert "3 groups, 3 of them rebalanced; the worst first:" in shown
    assert "Group slow: 2 rebalance(s)" in shown
    result = json.loads(result_file.read_text())
    assert (result["group"], [one["group"] for one in result["rebalances"]]) == (
        "",
        ["slow"] * 2 + [GROUP] * 3 + ["calm"],
    )
    assert run("--all-groups", file, "--last", "1", "--brief") == 0
    assert "... and 2 more (--last 0 shows all)" in capsys.readouterr().out
    assert run("slow", file, "--json", result_file) == 0
    alone = json.loads(result_file.read_text())["rebalances"]
    assert alone == result["rebalances"][:2]


def test_all_groups_of_a_log_that_names_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text("[2026-03-01 11:00:00,000] INFO [Broker id=1] Something (kafka.server.BrokerServer)\n")
    assert "the logs have nothing about any group" in refused("--all-groups", file, code=4)
