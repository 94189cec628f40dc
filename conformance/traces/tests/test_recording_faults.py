"""What a recording may go through without anybody being accused.

Restarts, two hosts, doubled lines, clocks, a stopped process.

Each is a recorded sample, edited; columnar checker and plain Python judge it, and say the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from groupspec.conformance.traces.schema import Settings, TraceLine
from groupspec.conformance.traces.tests.judging import flat, in_order, judge_compiled, judge_plainly, rules
from groupspec.conformance.traces.tests.recordings import sample
from groupspec.conformance.traces.trace_rules import KINDS

SECOND_US = 1_000_000


def judged(*traces: Iterable[TraceLine]) -> list[str]:
    """The rules that columnar checker and oracle find broken."""
    lines = sorted(flat(traces), key=lambda line: (line.run, line.group, line.member, line.process, line.seq))
    found = judge_compiled(in_order(lines))
    assert found == judge_plainly(lines)
    return rules(found)


def later(trace: list[TraceLine], by_us: int, start: int = 0) -> list[TraceLine]:
    """The trace, from the event `start` on so much later."""
    return [
        msgspec.structs.replace(line, at_us=line.at_us + by_us * (place >= start)) for place, line in enumerate(trace)
    ]


def of_process(trace: list[TraceLine], process: str) -> list[TraceLine]:
    return [msgspec.structs.replace(line, process=process) for line in trace]


def with_settings(trace: list[TraceLine], **settings: object) -> list[TraceLine]:
    """The trace of a member that was configured otherwise."""
    assert isinstance(trace[0].detail, msgspec.Raw)
    changed = msgspec.structs.replace(msgspec.json.decode(trace[0].detail, type=Settings), **settings)
    return [msgspec.structs.replace(trace[0], detail=msgspec.Raw(msgspec.json.encode(changed))), *trace[1:]]


def killed(trace: list[TraceLine]) -> list[TraceLine]:
    """Up to the middle of a generation."""
    return trace[:20]


@pytest.mark.parametrize("wait_s", [5, 46, 4_000])
def test_a_restart_is_not_a_silence(wait_s: int) -> None:
    """Killed, and back after more than the session timeout.

    The recorder goes on numbering, `config` begins a new process.
    """
    (trace,) = sample("expelled")
    first = killed(trace)
    again = later(trace, first[-1].at_us + wait_s * SECOND_US)
    renumbered = [msgspec.structs.replace(line, seq=line.seq + len(first)) for line in again]
    assert judged([*first, *renumbered]) == []


def test_a_process_that_numbers_from_0_again_says_which_it_is() -> None:
    (trace,) = sample("expelled")
    again = [msgspec.structs.replace(line, generation=line.generation + 3 * (line.generation >= 0)) for line in trace]
    assert judged(of_process(killed(trace), "host:17"), of_process(later(again, 60 * SECOND_US), "host:23")) == []


def test_a_process_that_numbers_from_0_again_and_does_not_say_so_is_one_fault_of_the_recording() -> None:
    (trace,) = sample("expelled")
    assert judged(killed(trace), later(trace, 60 * SECOND_US)) == ["T-MIXED-PROCESSES"]


def test_two_hosts_may_share_a_client_id() -> None:
    """They are two members of the group; each is judged by itself, and the two together."""
    first, second = sample("eager_pair")
    same = [msgspec.structs.replace(line, member=first[0].member, process="host-2") for line in second]
    assert judged(of_process(first, "host-1"), same) == []


def test_two_owners_on_two_hosts_with_one_client_id_are_found() -> None:
    (trace,) = sample("alone")
    assert set(judged(of_process(trace, "host-1"), of_process(trace, "host-2"))) == {"T-TWO-OWNERS"}


def test_a_static_member_takes_the_place_of_its_former_process() -> None:
    """In the same generation, with the same partitions (rule G11)."""
    (trace,) = sample("stalled_static")
    assert judged(of_process(killed(trace), "before"), of_process(trace, "after")) == []


def test_lines_that_were_delivered_twice_are_no_violation() -> None:
    (trace,) = sample("expelled")
    assert set(judged(sorted([*trace, *trace], key=lambda line: line.seq))) == {"T-SEQUENCE-DUPLICATE"}


@pytest.mark.parametrize("step_s", [60, 400])
def test_a_stopped_process_and_a_clock_set_forward_are_standstills(step_s: int) -> None:
    (trace,) = sample("alone")
    assert judged(later(trace, step_s * SECOND_US, start=16)) == ["T-STANDSTILL"]


@pytest.mark.parametrize("step_us", [2 * SECOND_US, 10 * SECOND_US])
def test_a_clock_set_back_is_a_fault_of_the_recording_and_no_more(step_us: int) -> None:
    """What is timed goes on from there: a silence after it is found as ever."""
    (trace,) = sample("alone")
    trace = later(trace, 20 * SECOND_US)
    assert judged(later(trace, -step_us, start=14)) == ["T-TIME-BACKWARDS"]


@pytest.mark.parametrize("skew_s", [5, 3_600, -3_600])
@pytest.mark.parametrize("name", ["eager_pair", "cooperative_pair"])
def test_clocks_of_two_hosts_may_differ(name: str, skew_s: int) -> None:
    first, second = sample(name)
    assert judged(later(first, 4_000 * SECOND_US), later(second, (4_000 + skew_s) * SECOND_US)) == []


@pytest.mark.parametrize("skew_s", [0, 5, 3_600])
def test_a_zombie_that_nobody_hears_is_not_accused(skew_s: int) -> None:
    """It goes on in its generation, and no answer comes: it cannot know that others have its partitions."""
    first, second = sample("eager_pair")
    end = next(p for p, line in enumerate(first) if line.error == "REBALANCE_IN_PROGRESS") - 1
    last = first[end - 1]
    alive = [
        msgspec.structs.replace(
            last, seq=last.seq + 2 * s + half, at_us=last.at_us + s * SECOND_US, event=event, error=None,
            detail=msgspec.UNSET
        )
        for s in range(1, 60)
        for half, event in ((-1, "poll"), (0, "heartbeat_sent"))
    ]  # fmt: skip
    assert judged([*first[:end], *alive], later(second, skew_s * SECOND_US)) == []


def test_a_long_callback_in_a_running_process_is_a_silence() -> None:
    """The neighbour of a standstill: it polls every second, and sends no heartbeat for longer than the session."""
    (trace,) = sample("alone")
    beats = ("heartbeat_sent", "heartbeat_answered")
    first = next(p for p, line in enumerate(trace) if line.event == "assigned")
    polls = [
        msgspec.structs.replace(trace[first], event="poll", partitions=(), at_us=trace[first].at_us + s * SECOND_US)
        for s in range(1, 12)
    ]
    silent = [*trace[: first + 1], *polls]
    assert not {line.event for line in polls} & set(beats)
    numbered = [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(silent)]
    assert set(judged(numbered)) == {"T-HEARTBEAT-GAP"}


def test_a_static_member_that_is_asked_to_leave_may_do_so() -> None:
    """KIP-1092: close() may leave the group although the member is static."""
    (trace,) = sample("alone")
    assert judged(with_settings(trace, static=True)) == []


def test_recording_faults_name_no_rule_of_the_specification() -> None:
    assert {KINDS[rule] for rule in ("T-SEQUENCE-GAP", "T-STANDSTILL", "T-MIXED-PROCESSES")} == {"recording"}
