"""What `trace why` prints and ranks: the period, the causes of all of it, the words that explain the columns."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from datetime import UTC
from pathlib import Path

import pytest

from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.errors import InconclusiveProblem, UsageProblem
from groupspec.conformance.terminal import Terminal
from groupspec.conformance.traces import member_names
from groupspec.conformance.traces.dialects import Clock, LogEvent, LogLine
from groupspec.conformance.traces.tests.broker_lines import GROUP, BrokerLog, member_id
from groupspec.conformance.traces.why import Answer, Question, explain_logs
from groupspec.conformance.traces.why_text import show


def run(*arguments: str | Path) -> int:
    result = why.main([str(argument) for argument in arguments], standalone_mode=False)
    assert isinstance(result, int)
    return result


def expel(log: BrokerLog, client: str, generation: int, life: int = 0, after_ms: int = 50_000) -> None:
    gone = member_id(client, life)
    log.say(f"Member {gone} in group {GROUP} has failed, removing it from the group.", after_ms)
    log.prepare(generation, f"removing member {gone} on heartbeat expiration.")
    log.form(generation + 1, 1, after_ms=20)


@pytest.fixture
def restless() -> BrokerLog:
    """A group in which b is expelled and comes back, three times."""
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    for life in range(3):
        expel(log, "b", 2 + 2 * life, life)
        log.join("b", 3 + 2 * life, 2, life=life + 1)
    return log


@pytest.fixture
def file(restless: BrokerLog, tmp_path: Path) -> Path:
    file = tmp_path / "server.log"
    file.write_text(restless.text())
    return file


def answered(log: BrokerLog, folder: Path, question: Question | None = None) -> Answer:
    file = folder / "answered.log"
    file.write_text(log.text())
    return explain_logs(question or Question(GROUP), [file], Clock())


def test_a_group_that_loses_members_is_worse_than_one_slow_join(
    restless: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = BrokerLog()
    slow.arrive("z")
    slow.prepare(0, f"Adding new member {member_id('z')} with group instance id null; client reason: not provided")
    slow.form(1, 1, after_ms=600_000)
    file, result_file = tmp_path / "server.log", tmp_path / "why.json"
    file.write_text(restless.text() + slow.text().replace(GROUP, "slow"))
    run("--all-groups", file, "--json", result_file)
    shown = capsys.readouterr().out
    ranked = [line.split()[:4] for line in shown.splitlines() if line.startswith(("slow ", f"{GROUP} "))]
    assert ranked == [[GROUP, "8", "3", "6"], ["slow", "1", "0", "0"]]
    assert "the worst first: by expulsions" in shown
    worst, other = json.loads(result_file.read_text())["ranking"]
    assert (worst["group"], worst["rebalances"], worst["expulsions"], worst["unplanned"]) == (GROUP, 8, 3, 6)
    assert (other["group"], other["expulsions"], other["duration_ms"] >= 600_000) == ("slow", 0, True)


def test_expulsions_that_follow_a_restart_of_the_coordinator_are_not_the_members(tmp_path: Path) -> None:
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    log.say("Starting up.", 9_000, whole_broker=True)
    log.say(f"Loaded classic group {GROUP} with 2 members.", 500)
    log.say(f"Member {member_id('a')} in group {GROUP} has failed, removing it from the group.", 6_000)
    log.prepare(2, f"removing member {member_id('a')} on heartbeat expiration.")
    log.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 4)
    log.say(f"Group {GROUP} with generation 3 is now empty.", 0)
    assert answered(log, tmp_path).explanation.expulsions == 0
    expel(log, "b", 3)
    assert answered(log, tmp_path).explanation.expulsions == 1


def test_what_took_means_is_said_and_the_silence_before_is_not_counted(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(GROUP, file, "--brief")
    shown = capsys.readouterr().out
    assert " 0.0 s+ " in shown
    assert "took: from its beginning to the leader's assignment; +: without the silence before an expulsion" in shown
    run(GROUP, file, "--brief", "--last", "1")
    assert "without the silence" not in capsys.readouterr().out


def test_what_to_change_is_said_of_every_cause_of_the_period(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(GROUP, file, "--brief", "--last", "1")
    shown = capsys.readouterr().out
    assert "session_timeout (#3, #5, #7): Find out why" in shown
    assert "rejoin (#4, #6, #8): " in shown


def test_the_headline_names_expulsions_first_and_many_members_by_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = BrokerLog()
    for number in range(40):
        log.join(f"consumer-orders-{number}", number, number + 1)
    expel(log, "consumer-orders-1", 40)
    file = tmp_path / "server.log"
    file.write_text(log.text())
    run(GROUP, file, "--brief")
    headline, _, rest = capsys.readouterr().out.partition("\n")
    assert "s+ in all: session_timeout by consumer-orders-1, join x40 (40 members)" in headline
    assert len(headline) < 120
    changes = rest.partition("What to change")[2]
    assert "session_timeout (#41): " in changes
    assert "and 30 before): As in every deployment; cure the expulsions first." in changes


def test_the_ranking_names_what_was_most_often(restless: BrokerLog, tmp_path: Path) -> None:
    file, out = tmp_path / "server.log", io.StringIO()
    file.write_text(restless.text() + restless.text().replace(GROUP, "other"))
    show(explain_logs(Question(None), [file], Clock()), Terminal(out, 130), UTC, evidence=False)
    assert out.getvalue().count("session_timeout by b x3\n") == 2


def test_a_group_that_ends_is_said_to_be_empty_and_each_leave_has_its_doubt(tmp_path: Path) -> None:
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    log.leave("a", "the consumer is being closed")
    log.prepare_leave(2, "a")
    log.leave("b", after_ms=1)
    log.say(f"Group {GROUP} with generation 3 is now empty.")
    out = io.StringIO()
    show(answered(log, tmp_path), Terminal(out, 160), UTC, evidence=False)
    assert "also leave of b (or poll_timeout); the group is empty then" in out.getvalue()


def test_many_numbers_beside_an_advice_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = BrokerLog()
    for life in range(15):
        log.join("b", life, 1, life)
    file = tmp_path / "server.log"
    file.write_text(log.text())
    run(GROUP, file, "--brief")
    shown = capsys.readouterr().out
    assert "join (#6, #7, #8, #9, #10, #11, #12, #13, #14, #15 and 5 before): " in shown


def test_rebalances_have_the_numbers_of_the_whole_log(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result_file = tmp_path / "why.json"
    run(GROUP, file, "--since", "30s", "--json", result_file)
    assert "#8 rejoin b" in capsys.readouterr().out
    result = json.loads(result_file.read_text())
    assert [one["number"] for one in result["rebalances"]] == [8]
    assert result["ranking"][0]["before"] == 7


def test_a_time_after_the_last_rebalance_says_what_was_before(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(GROUP, file, "--since", "2026-03-02") == 0
    shown = capsys.readouterr().out
    assert "no rebalance since 2026-03-02 00:00:00.000" in shown
    assert "the logs have 8 before, the last at 2026-03-01 12:07:3" in shown
    run(GROUP, file, "--since", "2026-03-01 12:05")
    assert "Only since 2026-03-01 12:05:00.000; the logs have " in capsys.readouterr().out


def test_what_is_behind_the_period_is_counted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(GROUP, file, "--until", "9:00") == 0
    shown = capsys.readouterr().out
    assert "no rebalance until 2026-03-01 09:00:00.000; the logs have 8 behind, the first at 2026-03-01 12:0" in shown
    run(GROUP, file, "--since", "12:05", "--until", "12:06")
    shown = capsys.readouterr().out
    assert "Only since 2026-03-01 12:05:00.000 until 2026-03-01 12:06:00.000; the logs have " in shown
    assert " before, the last at 2026-03-01 12:0" in shown
    assert " behind, the first at 2026-03-01 12:0" in shown
    with pytest.raises(UsageProblem, match="--since is later than --until"):
        run(GROUP, file, "--since", "12:06", "--until", "12:05")


@pytest.mark.parametrize(("encoding", "arrow"), [("utf-8", "7 → 8"), ("ascii", "7 -> 8")])
def test_the_arrow_between_generations_is_one_that_the_terminal_has(
    encoding: str, arrow: str, restless: BrokerLog, tmp_path: Path
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show(answered(restless, tmp_path), Terminal(out, 80), UTC, evidence=False)
    out.seek(0)
    assert arrow in out.read()


def test_the_zone_of_the_printed_times_is_named(
    restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(GROUP, file, "--brief", "--timezone", "Europe/Berlin")
    assert "Times are Europe/Berlin (--timezone): the logs name no zone.\n" in capsys.readouterr().out
    run(GROUP, file, "--brief")
    assert "Times are UTC, assumed (--timezone): the logs name no zone.\n" in capsys.readouterr().out
    file.write_text("\n".join(line.replace("] INFO", "+0100] INFO") for line in restless.lines))
    run(GROUP, file, "--brief", "--timezone", "Asia/Tokyo")
    shown = capsys.readouterr().out
    assert "Times are those of Asia/Tokyo; the lines of the logs tell their own zone, so --timezone had no use" in shown
    run(GROUP, file, "--brief")
    assert "Times are those of UTC; the lines of the logs tell their own zone.\n" in capsys.readouterr().out


@pytest.mark.parametrize("part", ["2026-03-01 ", "[2026-03-01 12:0"])
def test_lines_without_date_and_time_are_called_so_and_shown_whole(
    part: str, restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    restless.lines = [line.replace(part, "") for line in restless.lines]
    if part.startswith("["):
        restless.lines = [line.split("] ", 1)[1] for line in restless.lines]
    file.write_text(restless.text())
    assert run(GROUP, file) == 4
    shown = capsys.readouterr().out
    assert "0 events, 37 without date and time" in shown
    assert f"    without date and time, line 1: {restless.lines[0][:60]}" in shown
    assert "37 coordinator line(s) that may concern the group have no date and time that can be read" in shown
    assert "Kafka's own layout `[%d] %p %m (%c)%n` prints both" in shown


def test_of_lines_not_understood_those_of_the_group_are_shown_first(
    restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(9):
        restless.say(f"The moon rose over another one, {number}.")
    restless.say(f"The sun rose over {GROUP}.")
    file.write_text(restless.text())
    run(GROUP, file)
    samples = [line for line in capsys.readouterr().out.splitlines() if "not understood, line" in line]
    assert len(samples) == 5
    assert "The sun rose" in samples[0]


def test_lines_that_all_end_at_one_length_were_cut_off(
    restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("\n".join(line[:150] for line in restless.lines))
    assert run(GROUP, file) == 4
    assert (
        "they end after 150 characters, as the longest line: something cuts long lines off" in capsys.readouterr().out
    )


def test_lines_that_were_folded_are_told_and_every_count_is_of_the_same_lines(
    restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folded = [line[at : at + 150] for line in restless.lines for at in range(0, len(line), 150)]
    file.write_text("\n".join(folded) + "\n")
    assert run(GROUP, file) == 4
    shown = capsys.readouterr().out
    assert "something folds long lines" in shown
    assert "something cuts" not in shown
    counted, doubted = re.findall(r"(\d+) not understood", shown)[0], re.findall(r"sure: (\d+) coordinator", shown)[0]
    concern = re.findall(r"(\d+) of these may concern the group", shown)
    assert (concern[0] if concern else counted) == doubted


def test_a_broker_that_is_elected_coordinator_or_reads_metadata_names_no_group(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    lines = [
        ("GroupCoordinator 1]:", "Elected as the group coordinator for partition 3 in epoch 0"),
        (
            "GroupMetadataManager brokerId=1]",
            "Scheduling loading of offsets and group metadata from __consumer_offsets-3",
        ),
        ("GroupMetadataManager brokerId=1]", "Finished loading offsets and group metadata from __consumer_offsets-3"),
        ("GroupMetadataManager brokerId=1]", "Loading group metadata for payments with generation 3"),
        ("GroupCoordinator 1]:", "Member m-1 in group metadata has failed, removing it from the group"),
        ("GroupCoordinator 1]:", f"Member m-1 in group {GROUP} has failed, removing it from the group"),
    ]
    file.write_text("".join(f"[2026-03-01 12:00:00,000] INFO [{who} {what} (kafka.x.Y)\n" for who, what in lines))
    logs = explain_logs(Question(GROUP), [file], Clock()).logs
    assert set(logs.groups()) == {"payments", "metadata", GROUP}


def test_of_many_groups_the_nearest_are_named(tmp_path: Path) -> None:
    log = BrokerLog()
    log.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.")
    names = ["invoices", *(f"zz-{number:03d}" for number in range(100))]
    file = tmp_path / "server.log"
    file.write_text("".join(log.text().replace(GROUP, name) for name in names))
    with pytest.raises(InconclusiveProblem) as refusal:
        run("invoice", file)
    assert "did you mean invoices (1 lines), " in str(refusal.value)
    assert "? and 98 more" in str(refusal.value)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(("newcomer", "life"), [("b", 1), ("c", 0)])
def test_a_join_that_waits_for_a_dead_member_is_cured_at_the_dead_one(
    newcomer: str, life: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that is killed and started anew: its successor joins before its session has ended."""
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    log.arrive(newcomer, life, after_ms=20_000)
    added = f"Adding new member {member_id(newcomer, life)} with group instance id null; client reason: not provided"
    log.prepare(2, added)
    log.say(f"Member {member_id('b')} in group {GROUP} has failed, removing it from the group.", 38_000)
    log.form(3, 2, after_ms=10)
    file = tmp_path / "server.log"
    file.write_text(log.text())
    assert run(GROUP, file, "--brief") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"2 join {newcomer} 38.0 s+ waited for b (session_timeout)" in shown
    assert "join (#1, #2): As in every deployment" in shown
    again = "A process went without leaving the group (killed"
    remedy = again if newcomer == "b" else "Find out why the member went silent: killed"
    assert f"join, waited for session_timeout (#3): {remedy}" in shown


def test_doubts_are_announced_in_the_headline(
    restless: BrokerLog, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    restless.say(f"The sun rose over {GROUP}.")
    file.write_text(restless.text())
    assert run(GROUP, file) == 4
    assert "(not sure: see the end)" in capsys.readouterr().out.splitlines()[0]


def test_lives_that_follow_on_each_other_are_not_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    lives, compared = 500, Counter[str]()
    ends_ms = member_names._ends_ms

    def counted(life: member_names._Life, last_ms: int) -> int:
        compared["lives"] += 1
        return ends_ms(life, last_ms)

    monkeypatch.setattr(member_names, "_ends_ms", counted)
    story = [
        LogEvent(
            kind, 100_000 * life + after_ms, LogLine("server.log", 1, ""), GROUP, member_ids=(member_id("b", life),)
        )
        for life in range(lives)
        for kind, after_ms in (("joining", 0), ("session_expired", 110_000))
    ]
    names = member_names.MemberNames(sorted(story, key=lambda event: event.at_ms))
    assert not names.shared
    assert 0 < compared["lives"] < 10 * lives
