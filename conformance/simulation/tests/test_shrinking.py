"""A failure is made small: what it needs is kept, all else goes, in a bounded number of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from groupspec.conformance.simulation import shrinking
from groupspec.conformance.simulation.campaign import SHORT_QUIET_MS
from groupspec.conformance.simulation.plan import Fault, Plan, draw
from groupspec.conformance.simulation.run import Driver, Outcome
from groupspec.conformance.simulation.shrinking import MOST_TRIES, Failure, failure, shrink

PROMISE: Final = "stable"
Verdict = Callable[[Plan], str]
"""Which promise a run of this plan breaks; empty: none."""


def outcome(promise: str, ended_ms: int = 1_000_000) -> Outcome:
    return Outcome(promise, f"{promise} is broken", 0, ended_ms, Counter(), 0, 0, (), ())


class Runs(list[Plan]):
    """The plans that were run, in place of the simulation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, breaks: Verdict) -> None:
        super().__init__()
        self._breaks = breaks
        monkeypatch.setattr(shrinking, "execute", self._execute)

    def _execute(self, plan: Plan, driver: Driver = "core", *, is_recording: bool = False) -> Outcome:
        self.append(plan)
        return outcome(self._breaks(plan))


def plan_of(members: int, faults: int, quiet_ms: int = 3_600_000) -> Plan:
    """So many of each; fault n strikes after n seconds."""
    made = tuple(Fault(number, 1_000 * number, "coordinator moves") for number in range(faults))
    return replace(draw(0, members), faults=made, quiet_ms=quiet_ms)


def numbers(plan: Plan) -> tuple[set[int], set[int]]:
    """Of its members and its faults."""
    return {member.number for member in plan.members}, {fault.number for fault in plan.faults}


def needs(members: set[int], faults: set[int]) -> Verdict:
    """Fails with these."""
    return lambda plan: PROMISE if numbers(plan)[0] >= members and numbers(plan)[1] >= faults else ""


@pytest.mark.parametrize("needed", [set(), {0}, {11}, {3, 8}, {0, 1, 5, 6, 11}, set(range(12))])
@pytest.mark.parametrize("members", [{1}, {2, 4}])
def test_what_the_failure_needs_is_kept_and_nothing_else(
    members: set[int], needed: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Runs(monkeypatch, needs(members, needed))
    assert numbers(shrink(plan_of(4, 12), outcome(PROMISE), "core")) == (members, needed)


def test_what_comes_after_the_break_goes_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, needs({1}, {3}))
    shrink(plan_of(1, 12), outcome(PROMISE, ended_ms=5_000), "core")
    assert max(max(numbers(plan)[1], default=0) for plan in runs) == 5


def test_a_part_that_breaks_another_promise_is_another_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plan_of(2, 4)
    Runs(monkeypatch, lambda plan: PROMISE if numbers(plan) == numbers(whole) else "lost records")
    assert shrink(whole, outcome(PROMISE), "core") == whole


@pytest.mark.parametrize("shows_at_once", [True, False])
def test_the_quiet_time_is_cut_while_it_is_tried_if_the_failure_does_not_need_it(
    shows_at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plan_of(2, 4)
    runs = Runs(monkeypatch, lambda plan: PROMISE if shows_at_once or plan.quiet_ms == whole.quiet_ms else "")
    assert shrink(whole, outcome(PROMISE), "core").quiet_ms == whole.quiet_ms
    assert {plan.quiet_ms for plan in runs[1:]} == {SHORT_QUIET_MS if shows_at_once else whole.quiet_ms}


def test_a_quiet_time_that_is_short_already_is_not_prolonged(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, needs({1}, set()))
    shrink(plan_of(2, 4, quiet_ms=SHORT_QUIET_MS // 2), outcome(PROMISE), "core")
    assert {plan.quiet_ms for plan in runs} == {SHORT_QUIET_MS // 2}


@pytest.mark.parametrize("faults", [3, 400])
def test_the_tries_are_told_and_bounded(faults: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, told = plan_of(3, faults), Counter[str]()
    runs = Runs(monkeypatch, lambda plan: PROMISE if numbers(plan) == numbers(whole) else "")
    assert numbers(shrink(whole, outcome(PROMISE), "core", lambda: told.update(["try"]))) == numbers(whole)
    assert len(runs) == told["try"] == (MOST_TRIES if faults > MOST_TRIES else 1 + 3 + faults)


def test_nobody_is_run_without_members(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, lambda plan: PROMISE)
    assert numbers(shrink(plan_of(3, 0), outcome(PROMISE), "core"))[0] == {1}
    assert all(plan.members for plan in runs)


@pytest.mark.parametrize(
    ("members", "driver", "kept", "command"),
    [
        (None, "core", ({1, 2, 3}, {0, 1, 2, 3}), ""),
        (3, "core", ({1, 2, 3}, {0, 1, 2, 3}), " --members 3"),
        (None, "heartbeat", ({1, 3}, {0, 1, 2, 3}), " --driver heartbeat --only-members 1,3"),
        (None, "core", ({1, 2, 3}, {1, 3}), " --only-faults 1,3"),
        (None, "core", ({1, 2, 3}, set()), " --only-faults none"),
    ],
)
def test_the_command_names_what_differs_from_the_draw(
    members: int | None, driver: Driver, kept: tuple[set[int], set[int]], command: str
) -> None:
    drawn = plan_of(3, 4)
    found = Failure(7, members, driver, drawn, drawn.only(*kept), outcome(PROMISE))
    assert found.replay == f"groupspec simulate --seeds 1 --seed 7{command}"
    assert found.data()["replay"] == found.replay
    assert str(found).startswith(f"{PROMISE} is broken\n")


def test_a_run_that_breaks_nothing_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, lambda plan: "")
    assert failure(7) is None
    assert len(runs) == 1


def test_a_whole_plan_is_made_small_and_a_chosen_part_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, lambda plan: PROMISE)
    small = failure(7, members=3)
    assert small is not None
    assert numbers(small.plan) == ({1}, set())
    runs.clear()
    chosen = failure(7, members=3, only=([1, 3], []))
    assert chosen is not None
    assert numbers(chosen.plan) == ({1, 3}, set())
    assert len(runs) == 2
