"""The suite as one run: it covers what can fire, says what did not, and a divergence is a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from groupspec.conformance.commands.test import command
from groupspec.conformance.stateful import campaign
from groupspec.conformance.stateful.lockstep import Divergence, LockstepRun
from groupspec.conformance.stateful.suite import start_core
from groupspec.spec.compiler.member import Member, MemberState, Offer


@pytest.fixture(autouse=True)
def only_the_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest target: its routes are found at once."""
    monkeypatch.setattr(campaign, "TARGETS", ("subscription",))


def _half(target: str, member: Member, state: MemberState) -> LockstepRun:
    """A run whose implementation does something else as soon as it is to be paused."""
    run = start_core(target, member, state)
    offer = run.offer

    def half(event: Offer, variant: int = 0) -> bool:
        if event.event.startswith("pause"):
            raise Divergence(f"state after {event}")
        return offer(event, variant)

    setattr(run, "offer", half)  # noqa: B010  # methods are not assigned to
    return run


def test_every_transition_and_pair_that_can_fire_is_covered_by_the_core() -> None:
    result = campaign.run_suite("core", examples=5, seed=1)
    assert not result.failures
    assert not result.missing
    assert result.transitions["covered"] == result.transitions["total"] > 0
    assert result.pairs["covered"] == result.pairs["feasible"] > 0
    assert set(result.coverage) == {"subscription.eager.deployed", "subscription.cooperative.deployed"}
    assert all(min(rows.values()) > 0 for rows in result.coverage.values())
    assert not any(set(rows) & set(result.coverage[label]) for label, rows in result.infeasible.items())


def test_a_divergence_is_told_and_the_rest_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "DRIVERS", {"core": _half})
    result = campaign.run_suite("core", examples=5, seed=1)
    assert any("state after pause" in failure for failure in result.failures)
    assert {failure.split()[0] for failure in result.failures} == {"eager", "cooperative"}
    assert 0 < result.transitions["covered"] < result.transitions["total"]
    assert len(result.missing) > 0
    assert len(result.failures) <= 2 * (campaign.MAX_FAILURES + 1)


def test_the_command_says_what_was_covered_and_how_to_replay_it(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    ran = CliRunner().invoke(command, ["--examples", "3", "--seed", "7", "--json", str(file)], standalone_mode=False)
    assert ran.return_value == 0, ran.output
    assert "replay: groupspec test --driver core --examples 3 --seed 7" in ran.output
    assert "0 divergences" in ran.output
    data = json.loads(file.read_text())
    assert data["pairs"]["covered"] == data["pairs"]["feasible"]


def test_a_divergence_ends_the_command_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "DRIVERS", {"core": _half})
    ran = CliRunner().invoke(command, ["--examples", "0", "--seed", "7"], standalone_mode=False)
    assert ran.return_value == 1
    assert "DIVERGES" in ran.output
