"""The columnar checker finds every defect, nothing else, and says the same as the plain Python beside it."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from groupspec.conformance.traces import columnar, fleet
from groupspec.conformance.traces.schema import ERRORS, EVENTS, Settings, TraceLine
from groupspec.conformance.traces.tests.defects import DEFECTS, Defect
from groupspec.conformance.traces.tests.judging import flat, in_order, judge_compiled, judge_plainly, rules
from groupspec.conformance.traces.tests.recordings import STORIES, record, sample
from groupspec.conformance.traces.trace_rules import RULES

SAMPLES = [story.__name__ for story in STORIES]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recorded_sample_breaks_no_rule(name: str) -> None:
    assert judge_compiled(in_order(flat(sample(name)))) == []


@pytest.mark.parametrize("story", STORIES, ids=SAMPLES)
def test_the_reference_as_it_is_today_breaks_no_rule(story: object) -> None:
    assert callable(story)
    assert judge_compiled(in_order(flat(record(story)))) == []


def test_a_fleet_breaks_no_rule() -> None:
    assert judge_compiled(in_order(flat(fleet.groups("run", 40, members=4, rounds=4, beats=3, seed=7)))) == []


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.name for defect in DEFECTS])
def test_each_defect_is_found_and_nothing_else(defect: Defect) -> None:
    tried = 0
    for name in SAMPLES:
        for spoilt in islice(defect.edit(sample(name)), 40):
            tried += 1
            found = judge_compiled(in_order(flat(spoilt)))
            assert rules(found) == [defect.rule], f"{defect.name} in {name}: {found}"
    assert tried > 0, "the defect fits no sample: it tests nothing"


def test_every_rule_has_a_defect() -> None:
    assert {defect.rule for defect in DEFECTS} == {rule.id for rule in RULES}


@pytest.mark.parametrize("seed", range(12))
def test_compiled_and_plain_agree_on_spoilt_traces(seed: int) -> None:
    """Any lines of any sample changed, dropped, doubled or swapped: both say the same, word for word."""
    rng = random.Random(seed)
    copies = [(copy, name) for name in SAMPLES for copy in range(4)]
    lines = [line for copy, name in copies for line in _spoil(_copy(flat(sample(name)), copy), rng)]
    table = in_order(lines)
    ordered = [_line(row) for row in table.to_pylist()]
    expected = judge_plainly(ordered)
    assert judge_compiled(table) == expected
    assert len(set(rules(expected))) > 5, "too few kinds of violation to compare much"


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 64])
def test_a_group_may_be_larger_than_a_batch(batch_rows: int) -> None:
    rng = random.Random(3)
    table = in_order([line for name in SAMPLES for line in _spoil(flat(sample(name)), rng)])
    assert judge_compiled(table, batch_rows) == judge_compiled(table)


def test_more_findings_than_there_was_room_for_are_all_reported() -> None:
    line = sample("expelled")[0][1]
    doubles = [line] * 5_000
    assert len(judge_compiled(in_order(doubles))) == len(doubles)


def test_a_member_that_starts_again_begins_anew() -> None:
    (trace,) = sample("expelled")
    again = [msgspec.structs.replace(line, seq=line.seq + len(trace)) for line in trace]
    assert judge_compiled(in_order([*trace, *again])) == []


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
def test_an_error_that_came_too_late_expels_nobody(error: str, is_late: bool) -> None:
    """The answer to a heartbeat that was given up with its connection is late, though the generation is the same."""
    trace = list(sample("cooperative_pair")[0])
    place = next(i for i, line in enumerate(trace) if line.event == "heartbeat_answered" and line.error == "NONE")
    detail = msgspec.Raw(msgspec.json.encode({"late": is_late}))
    trace[place] = msgspec.structs.replace(trace[place], error=error, detail=detail)
    assert bool(judge_compiled(in_order(trace))) is not is_late
    assert bool(judge_plainly(trace)) is not is_late


def test_M1_a_lookup_carries_no_member_id_so_none_that_was_given_up() -> None:
    """Who has left looks up the coordinator: a trace from the wire has the last id there, as nothing tells it went."""
    (trace,) = sample("stalled")
    left = next(i for i, line in enumerate(trace) if line.event == "leave_sent")
    place = next(i for i, line in enumerate(trace) if i > left and line.event == "join_sent")
    again = msgspec.structs.replace(trace[place], member_id=trace[left].member_id)
    asked = [msgspec.structs.replace(again, event="lookup_sent")]
    answered = [msgspec.structs.replace(again, event="lookup_answered", error="NONE")]

    def found(lines: list[TraceLine]) -> list[str]:
        numbered = [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(lines)]
        violations = judge_plainly(numbered)
        assert judge_compiled(in_order(numbered)) == violations
        return rules(violations)

    assert found([*trace[:place], *asked, *answered, *trace[place:]]) == []
    assert found([*trace[:place], again, *trace[place + 1 :]]) == ["T-MEMBER-ID"]


@pytest.mark.parametrize(("refused", "api"), [((), "commit"), ((4,), "commit"), ((5,), "commit"), ((), "heartbeat")])
def test_a_generation_in_which_no_sync_was_accepted_proves_nothing_nor_does_a_heartbeat(
    refused: tuple[int, ...], api: str
) -> None:
    """In the shared one: its process may have stood still with JoinGroup's answer in its socket.

    In the next one: another coordinator does not find it in the log, and goes on with the shared one (simulated seed
    9018). A coordinator that loads the group answers each heartbeat with NONE (seed 12224).
    """

    def line(member: str, seq: int, at_s: int, event: str, generation: int) -> TraceLine:
        error = "NONE" if event.endswith("answered") else None
        fields = {"seq": seq, "at_us": at_s * 1_000_000, "event": event, "error": error, "generation": generation}
        whose = {"v": 1, "run": "r", "group": "g", "member": member, "member_id": member, "source": "log"}
        return msgspec.convert({**whose, **fields}, TraceLine)

    def joins(at_s: int, generation: int) -> list[tuple[str, int, int]]:
        asked, answered = ("join_sent", at_s, generation - 1), ("join_answered", at_s, generation)
        return [asked, answered, ("sync_sent", at_s, generation), ("sync_answered", at_s + 1, generation)]

    other = [*joins(0, 4), *joins(3, 5)]
    zombie = [*joins(0, 4), (f"{api}_sent", 90, 4), (f"{api}_answered", 90, 4)]
    trace = [line("other", seq, at_s, event, generation) for seq, (event, at_s, generation) in enumerate(other)]
    for place, generation in ((3, 4), (7, 5)):
        if generation in refused:
            trace[place] = msgspec.structs.replace(trace[place], error="REBALANCE_IN_PROGRESS")
    trace += [line("zombie", seq, at_s, event, generation) for seq, (event, at_s, generation) in enumerate(zombie)]
    expected = ["T-STALE-ACCEPTED"] if (refused, api) == ((), "commit") else []
    assert rules(judge_compiled(in_order(trace))) == expected
    assert rules(judge_plainly(trace)) == expected


def silent_member(
    throttle_ms: int, silent_ms: int, meanwhile: Sequence[tuple[int, str]] = (), joined_ms: int = 2_000
) -> list[str]:
    """What is found of one whose coordinator throttles it, at 2,000 ms, and that sends its next heartbeat so late."""
    settings = msgspec.json.encode(Settings("eager", 3_000, 2_500, 100))
    polls = [(at_ms, "poll") for at_ms in range(2_000, 2_000 + silent_ms, 200)]
    events: list[tuple[int, str, dict[str, object]]] = [
        (0, "config", {"detail": msgspec.Raw(settings)}),
        (joined_ms, "join_sent", {}),
        (joined_ms, "join_answered", {"error": "NONE"}),
        (2_000, "throttled", {"throttle_time_ms": throttle_ms}),
        *((at_ms, event, {}) for at_ms, event in meanwhile or polls),
        (2_000 + silent_ms, "heartbeat_sent", {}),
    ]
    whose = {"v": 1, "run": "r", "group": "g", "member": "m", "member_id": "m-1", "generation": 1, "source": "log"}
    lines = [
        msgspec.convert({**whose, "seq": seq, "at_us": at_ms * 1000, "event": event, **fields}, TraceLine)
        for seq, (at_ms, event, fields) in enumerate(events)
    ]
    expected = judge_plainly(lines)
    assert judge_compiled(in_order(lines)) == expected
    return rules(expected)


@pytest.mark.parametrize(
    ("throttle_ms", "silent_ms", "expected"),
    [
        (0, 390, []),
        (0, 460, ["T-HEARTBEAT-RARE"]),
        (700, 1_090, []),
        (700, 1_110, ["T-HEARTBEAT-RARE"]),
        (4_000, 4_390, []),
        (4_000, 6_990, ["T-HEARTBEAT-RARE"]),
        (4_000, 7_010, ["T-HEARTBEAT-RARE", "T-HEARTBEAT-GAP"]),
    ],
)
def test_H2_who_is_throttled_is_silent_for_that_time_and_no_longer(
    throttle_ms: int, silent_ms: int, expected: list[str]
) -> None:
    """KIP-219: nothing is sent on that connection; a quarter of the session, or more than all of it."""
    assert silent_member(throttle_ms, silent_ms) == expected


@pytest.mark.parametrize("joined_ms", [1_400, 2_000])
def test_H2_a_time_of_which_nothing_is_recorded_excuses_no_silence_after_a_throttle(joined_ms: int) -> None:
    """For 600 ms before it, and for 1,100 ms from its beginning on, the process may have stood still."""
    assert silent_member(1_000, 1_600, [(3_100, "poll"), (3_300, "poll")], joined_ms) == ["T-HEARTBEAT-RARE"]


def test_P1_who_is_throttled_leaves_when_that_is_over() -> None:
    """Its poll interval of 2.5 s runs out while it may send nothing; a second is how late it may notice."""
    polls = [(2_000, "poll"), (4_000, "subscribed"), (5_800, "poll")]
    assert silent_member(4_000, 4_150, polls) == []
    assert silent_member(2_000, 4_150, polls) == ["T-POLL-GAP"]


def test_without_settings_states_and_timers_are_not_judged() -> None:
    (trace,) = sample("expelled")
    without = [msgspec.structs.replace(line, seq=line.seq - 1) for line in trace[1:]]
    assert judge_compiled(in_order(without)) == []


def _copy(lines: list[TraceLine], number: int) -> list[TraceLine]:
    return [msgspec.structs.replace(line, run=f"{line.run}-{number}") for line in lines]


def _spoil(lines: list[TraceLine], rng: random.Random) -> list[TraceLine]:
    spoilt: list[TraceLine] = []
    for line in lines:
        chance = rng.random()
        if chance < 0.02:
            continue
        if chance < 0.03:
            spoilt.append(line)
        if chance < 0.08:
            line = _change_one(line, rng)
        spoilt.append(line)
    return spoilt


def _change_one(line: TraceLine, rng: random.Random) -> TraceLine:
    changes: list[dict[str, object]] = [
        {"generation": max(-1, line.generation + rng.choice((-1, 1, -5)))},
        {"at_us": max(0, line.at_us + rng.choice((-1, -5_000_000, 8_000_000, 40_000_000)))},
        {"error": rng.choice(ERRORS)},
        {"partitions": (f"orders-{rng.randrange(4)}",)},
        {"member_id": rng.choice(("", "member-1", "member-9"))},
        {"throttle_time_ms": rng.choice((1, 5_000, 60_000))},
    ]
    if rng.random() < 0.05:
        changes.append({"seq": max(0, line.seq + rng.choice((-2, 2)))})
    if line.event != "config":
        changes.append({"event": rng.choice(EVENTS[1:])})
    return msgspec.structs.replace(line, **rng.choice(changes))


def _line(row: dict[str, object]) -> TraceLine:
    fields = {"v": 1, **{name: value for name, value in row.items() if name not in ("event_code", "detail")}}
    if row["detail"] is not None:
        fields["detail"] = msgspec.Raw(str(row["detail"]))
    return msgspec.convert(fields, TraceLine)


def test_machine_code_is_not_kept_longer_than_the_constants_of_other_modules() -> None:
    """The numbers of the rules are the order of `trace_rules.toml`: constants to the compiler, in another file."""
    program = """
from pathlib import Path
from groupspec.conformance.traces import trace_rules
changed = Path.read_bytes
Path.read_bytes = lambda file: changed(file) + b"#" * (file.name == "trace_rules.toml")
from groupspec.conformance.traces import columnar
print(columnar.judge.stats.cache_path)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert Path(run.stdout.strip()) != Path(columnar.judge.stats.cache_path)
    assert Path(run.stdout.strip()).name == Path(columnar.judge.stats.cache_path).name
