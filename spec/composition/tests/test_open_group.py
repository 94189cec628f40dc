"""One group in any environment: it holds what is claimed, can do what it must, and slips in its table are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.spec.broker_group import GROUP_ACTS
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.table import Row, Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition.group_claims import ASSERTIONS, CHECKS
from groupspec.spec.composition.group_records import OUTCOMES, words
from groupspec.spec.composition.open_group import claims, open_group_model
from groupspec.spec.explorer import Exploration, Limits, explore, explore_variants
from groupspec.spec.properties import FAULT

TABLE = tables()["broker_group", "eager", "deployed"]
QUICK = Limits(max_states=100_000, max_seconds=120)


@pytest.fixture(scope="module")
def model() -> Model:
    return open_group_model()


def test_it_holds_what_is_claimed_and_everything_can_happen(model: Model) -> None:
    found = explore(model, limits=QUICK)
    assert found.verdict == "complete"
    assert (found.violations, found.missing, found.never_fired, found.dead_ends) == ({}, (), (), 0)


@pytest.mark.exhaustive
def test_a_third_member_changes_nothing() -> None:
    found = explore(open_group_model(size=3), limits=QUICK)
    assert found.states > 20_000
    assert (found.verdict, found.violations, found.missing) == ("complete", {}, ())


def test_nothing_of_the_table_is_left_out(model: Model) -> None:
    """No input is frozen, and no row of a request, a timer or the coordinator but those that no record can lead to."""
    procedures = {p.name: p for p in model.procedures}
    for event in TABLE.events:
        read = {name for name, _ in procedures[f"broker_group_{event.name}"].inputs}
        assert read == {name for name in event.inputs if any(name in row.guard for row in _cells(event.name))}


def _cells(event: str) -> list[Row]:
    return [row for row in TABLE.rows if row.event == event]


def test_each_check_is_a_property_and_each_answer_is_expected_somewhere() -> None:
    claimed = [p.id for p in claims() if p.holds == f"{FAULT} != '{p.id}'"]
    assert sorted(claimed) == sorted(ASSERTIONS)
    assert {outcome for checks in CHECKS.values() for _, _, outcome in checks} == {*OUTCOMES} - {"none"}
    assert all(words("group_join", act) for act in GROUP_ACTS)


SLIPS = {
    "a commit is no sign of life": ("Stable", "group_commit", "keep_alive", "", "sign-of-life"),
    "a heartbeat is answered twice": ("Stable", "group_heartbeat", "keep_alive", "answer_none", "answered-once"),
    "who leaves stays a member": ("Stable", "group_leave", "remove_member", "", "members-go-for-a-reason"),
    "a static member takes no place": ("Stable", "group_join", "replace_static", "", "static-is-replaced"),
    "the last to leave ends nothing": ("PreparingRebalance", "group_leave", "check_join_phase", "",
                                       "waits-for-nobody-else"),
    "heartbeats of the join phase are fine": ("PreparingRebalance", "group_heartbeat", "answer_rebalance_in_progress",
                                              "answer_none", "rebalance-is-told"),
    "a gone group knows nobody": ("Dead", "group_sync", "answer_not_coordinator", "answer_unknown_member_id",
                                  "gone-group-says-so"),
    "a loading group is none": ("Loading", "group_commit", "answer_coordinator_load_in_progress",
                                "answer_not_coordinator", "loading-group-says-so"),
    "a loading group frightens its members": ("Loading", "group_heartbeat", "answer_none",
                                              "answer_coordinator_load_in_progress", "loading-group-keeps-its-members"),
    "a deleted group has pending ids": ("Empty", "group_deleted", "restore", "stop_timers", "deleted-is-forgotten"),
    "a lost write is a rebalance": ("CompletingRebalance", "group_assignment_lost", "fail_awaiting_not_coordinator", "",
                                    "lost-write-is-told"),
    "the sync phase is not timed": ("PreparingRebalance", "group_join_phase_checked", "start_sync_timer", "",
                                    "sync-phase-is-timed"),
    "the delay outlives an expired id": ("PreparingRebalance", "group_session_expired", "end_initial_delay", "",
                                         "waits-for-nobody-else"),
    "what the log has is not read": ("Loading", "group_loaded", "restore", "", "log-is-restored"),
}  # fmt: skip
"""What goes wrong: (state, event, effect, what stands in its place, who notices)."""


@pytest.fixture(scope="module")
def slips(model: Model) -> dict[str, Exploration]:
    variants = {name: open_group_model(_slipped(*slip[:4])) for name, slip in SLIPS.items()}
    return explore_variants(model, variants, QUICK)


def _slipped(state: str, event: str, effect: str, instead: str) -> Table:
    def changed(row: Row) -> Row:
        effects = (instead if name == effect else name for name in row.effects)
        return replace(row, effects=tuple(filter(None, effects)))

    assert any(effect in row.effects for row in TABLE.cell(state, event))
    rows = (changed(row) if (row.source, row.event) == (state, event) else row for row in TABLE.rows)
    return replace(TABLE, rows=tuple(rows))


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_noticed_and_by_whom(name: str, slips: dict[str, Exploration]) -> None:
    assert SLIPS[name][4] in slips[name].violations
