"""Plans: one seed is one plan, all faults are in it, and no member has two things done to it at once."""

from __future__ import annotations

import pytest

from groupspec.conformance.stress.plan import FAULTS, Plan, draw

CLIENTS = ("reference", "reference-heartbeat", "kafka-python", "reference")
ENDS = {
    "stop": "resume",
    "kill": "start",
    "busy": "poll-again",
    "cut": "connect",
    "stall": "connect",
    "delay": "connect",
}


def test_one_seed_is_one_plan() -> None:
    assert draw(7, CLIENTS, 60_000) == draw(7, CLIENTS, 60_000)
    assert draw(7, CLIENTS, 60_000) != draw(8, CLIENTS, 60_000)


def test_seeds_differ_in_protocol_and_static_members() -> None:
    plans = [draw(seed, CLIENTS, 10_000) for seed in range(20)]
    assert {plan.rebalance for plan in plans} == {"eager", "cooperative"}
    assert {bool(member.instance_id) for plan in plans for member in plan.members} == {True, False}


@pytest.mark.parametrize("seed", range(20))
def test_what_begins_ends_and_a_member_has_one_trouble_at_a_time(seed: int) -> None:
    plan = draw(seed, CLIENTS, 120_000)
    assert [step.at_ms for step in plan.steps] == sorted(step.at_ms for step in plan.steps)
    assert plan.faults_end_ms >= plan.steps[-1].at_ms
    under_way: dict[int, str] = {}
    for step in plan.steps:
        if step.member < 0:
            continue
        awaited = under_way.pop(step.member, "")
        assert awaited in ("", step.what)
        if step.what in ENDS:
            under_way[step.member] = ENDS[step.what]
    assert under_way == {}


def test_every_fault_is_dealt() -> None:
    def kinds(plan: Plan) -> set[str]:
        return {step.what for step in plan.steps}

    assert len(FAULTS) == 15
    brokers = {"stop-broker", "kill-broker", "start-broker", "move-coordinator"}
    assert kinds(draw(3, CLIENTS, 120_000)) == {*ENDS, *ENDS.values(), *brokers, "restart", "grow"}


@pytest.mark.parametrize("seed", range(20))
def test_what_needs_all_brokers_happens_when_all_are_there(seed: int) -> None:
    away = 0
    for step in draw(seed, CLIENTS, 120_000).steps:
        if step.what in ("stop-broker", "kill-broker"):
            assert not away
            away = step.broker
        elif step.what == "start-broker":
            assert step.broker == away
            away = 0
        elif step.what in ("move-coordinator", "grow"):
            assert not away
    assert not away
