"""Logs of which a part is missing: what was told before stays, and what is missing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.findings import Rebalance
from groupspec.conformance.traces.tests.broker_lines import GROUP, BrokerLog, member_id
from groupspec.conformance.traces.why import Answer, Question, explain_logs

LIVES = 4


@pytest.fixture
def slow() -> BrokerLog:
    """A client that polls too late again and again, beside a leader: generations 2-10, two for each time."""
    log = BrokerLog()
    log.join("a", 0, 1)
    log.join("b", 1, 2)
    for life in range(LIVES):
        generation = 2 + 2 * life
        log.leave("b", "consumer poll timeout has expired.", life, after_ms=300_000)
        log.prepare(generation, f"explicit `LeaveGroup` request for ({member_id('b', life)}) members.")
        log.form(generation + 1, 1)
        log.join("b", generation + 1, 2, life=life + 1, after_ms=20_000)
    return log


def without(log: BrokerLog, *marks: str) -> list[str]:
    left = [line for line in log.lines if not any(mark in line for mark in marks)]
    assert len(left) < len(log.lines)
    return left


def answered(lines: list[str], folder: Path, question: Question | None = None) -> Answer:
    file = folder / "server.log"
    file.write_text("\n".join(lines) + "\n")
    return explain_logs(question or Question(GROUP), [file], Clock())


def rows(rebalances: list[Rebalance]) -> list[tuple[object, ...]]:
    return [
        (one.old_generation, one.cause, one.member, one.alternatives, one.contributions[0].back_after_ms)
        for one in rebalances
    ]


def third_leave(log: BrokerLog) -> list[str]:
    """Without the lines of the third time that b leaves: generation 7."""
    marks = "with old generation 6 ", "generation 7 with", "for generation 7."
    return without(log, f"Member {member_id('b', 2)} has left", *marks)


def test_a_leave_that_is_missing_changes_no_other_row(slow: BrokerLog, tmp_path: Path) -> None:
    whole = rows(answered(slow.lines, tmp_path).explanation.rebalances)
    holed = rows(answered(third_leave(slow), tmp_path).explanation.rebalances)
    behind = (7, "join", "b", ("rejoin",), -1)  # whether b had been expelled stood in the lines that are missing
    assert holed == [*whole[:6], behind, *whole[8:]]


def test_generations_that_are_missing_are_a_doubt_and_stand_in_the_table(
    slow: BrokerLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, result_file = tmp_path / "server.log", tmp_path / "why.json"
    lines = third_leave(slow)
    file.write_text("\n".join(lines) + "\n")
    after = next(number for number, line in enumerate(lines) if "with old generation 7 " in line)
    assert why.main([GROUP, str(file), "--json", str(result_file)], standalone_mode=False) == 4
    shown = capsys.readouterr().out
    assert (
        f"not sure: generation 7 is missing from these logs (after {file}:{after}, before {file}:{after + 1})" in shown
    )
    assert "generation 7 is missing before it" in shown.replace("\n", " ").replace("  ", "")
    [hole] = json.loads(result_file.read_text())["holes"]
    assert (hole["first"], hole["last"], hole["unbegun"], hole["before"]["line"]) == (7, 7, False, after + 1)
    since = ["--since", "30s"]  # the hole is before it
    assert why.main([GROUP, str(file), *since], standalone_mode=False) == 0


def test_a_middle_file_that_is_missing(slow: BrokerLog, tmp_path: Path) -> None:
    first = next(number for number, line in enumerate(slow.lines) if "with old generation 4 " in line)
    behind = next(number for number, line in enumerate(slow.lines) if "with old generation 8 " in line)
    answer = answered(slow.lines[:first] + slow.lines[behind:], tmp_path)
    [doubt] = answer.doubts()
    assert "generations 5-8 are missing from these logs" in doubt
    assert {one.member for one in answer.explanation.rebalances} == {"a", "b"}


def test_an_end_without_a_beginning_is_a_rebalance_of_unknown_cause(slow: BrokerLog, tmp_path: Path) -> None:
    answer = answered([line for line in slow.lines if "Stabilized" in line], tmp_path)
    found = answer.explanation.rebalances
    assert [(one.old_generation, one.generation, one.cause) for one in found] == [
        (generation, generation + 1, "unknown") for generation in range(2 + 2 * LIVES)
    ]
    assert {(one.duration_ms, one.outcome) for one in found} == {(-1, "completed")}
    [doubt] = answer.doubts()
    assert doubt.startswith("of generations 1-10 these logs have the end and not the beginning")


def test_who_had_gone_before_an_end_without_a_beginning_is_its_cause(slow: BrokerLog, tmp_path: Path) -> None:
    answer = answered(without(slow, "with old generation 4 "), tmp_path)
    [unbegun] = [one for one in answer.explanation.rebalances if one.unbegun]
    assert (unbegun.generation, unbegun.cause, unbegun.member) == (5, "poll_timeout", "b")
    assert "generation 5" in answer.doubts()[0]


def test_an_assignment_alone_ends_a_rebalance_too(slow: BrokerLog, tmp_path: Path) -> None:
    answer = answered(without(slow, "Stabilized"), tmp_path)
    whole = answered(slow.lines, tmp_path)
    assert rows(answer.explanation.rebalances) == rows(whole.explanation.rebalances)
    assert {one.outcome for one in answer.explanation.rebalances} == {"completed"}
    assert not answer.doubts()


def test_a_whole_log_has_no_holes_nor_has_a_group_that_was_created_anew(slow: BrokerLog, tmp_path: Path) -> None:
    slow.join("a", 0, 1, life=9)
    assert not answered(slow.lines, tmp_path).doubts()


def test_groups_whose_history_has_holes_are_named_together(slow: BrokerLog, tmp_path: Path) -> None:
    lines = [line.replace(GROUP, f"group-{number}") for number in range(9) for line in third_leave(slow)]
    doubts = answered(sorted(lines), tmp_path, Question(None)).doubts()
    assert len(doubts) == 2
    assert doubts[1].startswith("parts of the history of 8 other group(s) are missing: group-1, ")
    assert doubts[1].endswith(", ...")
