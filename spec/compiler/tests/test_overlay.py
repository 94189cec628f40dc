"""The published profile's rows stand in the place of the deployed ones that they could hold together with."""

from __future__ import annotations

import pytest

from groupspec.spec.compiler import introspect, specialise
from groupspec.spec.compiler.guards import names, parse
from groupspec.spec.compiler.tables import MACHINES, OVERLAYS, both_profiles, tables
from groupspec.spec.compiler.tests.samples import Lamp, words
from groupspec.spec.machine import RowTransition, StateMachine
from groupspec.spec.overlay import Overlay

PROFILES = {"published", "deployed"}


def guards(overlay: Overlay, profile: str, state: str, event: str) -> list[str]:
    table = specialise(introspect(both_profiles(overlay, words()), words()), "eager", profile)
    return [row.guard for row in table.cell(state, event)]


def test_a_row_replaces_those_that_it_overlaps_in_the_published_profile_only() -> None:
    overlay = Overlay(Lamp)
    overlay.row(Lamp.OFF, "pressed", Lamp.ON, when="mains", do=["shine"], rules="L1")

    assert guards(overlay, "deployed", "OFF", "pressed") == ["mains and not broken", "not (mains and not broken)"]
    assert guards(overlay, "published", "OFF", "pressed") == ["mains"]


def test_a_row_that_it_cannot_hold_together_with_stays() -> None:
    overlay = Overlay(Lamp)
    overlay.row(Lamp.OFF, "pressed", Lamp.BURNT, when="mains and not broken", do=["go_dark"], rules="L1")

    assert guards(overlay, "published", "OFF", "pressed") == ["not (mains and not broken)", "mains and not broken"]


def test_what_the_overlay_does_not_name_is_the_same_and_the_machine_itself_is_not_changed() -> None:
    before = introspect(Lamp, words())
    overlay = Overlay(Lamp)
    overlay.ignored(Lamp.BURNT, "fuse_blew")

    assert guards(overlay, "published", "ON", "pressed") == guards(overlay, "deployed", "ON", "pressed") == [""]
    assert introspect(Lamp, words()) == before


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.machine_name)
def test_a_machine_file_speaks_of_one_profile(machine: type[StateMachine]) -> None:
    rows = [row for state in machine.states for row in state.transitions if isinstance(row, RowTransition)]

    assert not any(PROFILES & set(names(parse(row.when))) for row in rows)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda overlay: overlay.machine.machine_name)
def test_every_row_of_an_overlay_changes_its_cell(overlay: Overlay) -> None:
    for row in overlay.rows:
        cells = [
            {
                profile: tables()[overlay.machine.machine_name, rebalance, profile].cell(row.source, row.event)
                for profile in PROFILES
            }
            for rebalance in ("eager", "cooperative")
        ]
        assert any(cell["published"] != cell["deployed"] for cell in cells), row
