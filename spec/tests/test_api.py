"""The specification as a library: what a machine does, asked by name."""

from __future__ import annotations

import pytest

from groupspec.spec.api import Machine, MachineState, UnknownName, load_machine
from groupspec.spec.compiler.tables import tables


def reached(machine: Machine) -> set[MachineState]:
    """Every state that events alone lead to, with the inputs' initial values."""
    seen, fresh = {machine.initial()}, [machine.initial()]
    while fresh:
        state = fresh.pop()
        after = {machine.step(state, event).state for event in machine.allowed(state)} - seen
        seen |= after
        fresh += after
    return seen


@pytest.mark.parametrize("key", tables(), ids=".".join)
def test_what_is_allowed_is_what_the_table_has_a_transition_for(key: tuple[str, str, str]) -> None:
    machine = load_machine(*key)
    for state in reached(machine):
        for event in machine.events:
            kinds = {row.kind for row in machine.rows(state.name, event)}
            assert event not in machine.allowed(state) or "transition" in kinds
            assert machine.step(state, event).row in machine.rows(state.name, event)


def test_a_member_id_is_taken_with_the_next_join() -> None:
    rebalance = load_machine("rebalance", "eager")
    joining = rebalance.state("PREPARING_REBALANCE", coordinator_known=True, subscribed=True, polled=True)
    step = rebalance.step(joining, "join_member_id_required")
    assert step.emitted[-1] == "JoinGroup"
    assert step.state.variables["identity"] == "id"
    assert "J3" in step.row.rules


def test_an_event_that_is_illegal_changes_nothing() -> None:
    timeouts = load_machine("timeouts")
    idle = timeouts.state("IDLE")
    step = timeouts.step(idle, "heartbeats_enabled")
    assert (step.row.kind, step.state, step.emitted) == ("error", idle, ())


def test_names_that_nobody_knows_are_told_with_those_that_are_there() -> None:
    rebalance = load_machine("rebalance")
    with pytest.raises(UnknownName, match="no machine 'rebalence'; did you mean 'rebalance'"):
        load_machine("rebalence")
    with pytest.raises(UnknownName, match=r"no rebalance protocol 'lazy'\. There are: eager, cooperative\."):
        load_machine("rebalance", "lazy")
    with pytest.raises(UnknownName, match="no profile"):
        load_machine("rebalance", "eager", "draft")
    with pytest.raises(UnknownName, match="no event 'sync_acepted'; did you mean 'sync_accepted'"):
        rebalance.step(rebalance.initial(), "sync_acepted")
    with pytest.raises(UnknownName, match="no value of revokes_any 3"):
        rebalance.step(rebalance.initial(), "sync_accepted", revokes_any=3)
    with pytest.raises(UnknownName, match="no variable 'generation'"):
        rebalance.initial(generation=1)
    with pytest.raises(UnknownName, match="no state 'STABEL'; did you mean 'STABLE'"):
        rebalance.rows("STABEL", "sync_accepted")
