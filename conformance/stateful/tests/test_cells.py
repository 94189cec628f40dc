"""The tables are held: a cell that becomes another kind of cell makes a generated test fail."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from groupspec.conformance.stateful.core_adapter import CoreAdapter
from groupspec.conformance.stateful.lockstep import Divergence, Lockstep
from groupspec.conformance.stateful.tests.cells import Cell, cells
from groupspec.conformance.stateful.tests.distinguishing import distinguishing_run
from groupspec.spec.compiler.member import BrokenSpecification, IllegalEvent, Member, Offer
from groupspec.spec.compiler.tables import tables

SEED = 20261121
DRAWN = 50
KINDS = ("transition", "ignored", "error")


def with_another_kind(cell: Cell, kind: str, rebalance: str) -> Member:
    """The member, with one row turned into another kind."""
    member = Member(rebalance, "deployed")
    table = member.tables[cell.machine]
    others = [state for state in table.states if state != cell.row.source]
    target = others[0] if kind == "transition" else cell.row.source
    member.replace_row(cell.machine, replace(cell.row, kind=kind, effects=(), target=target))  # type: ignore[arg-type]
    return member


def inject(cell: Cell, member: Member, after: tuple[Offer, ...] = ()) -> bool:
    """Run to the cell, inject its event, and go on. False: the event can't be brought about on this implementation."""
    run = Lockstep(member, cell.start, CoreAdapter(member, cell.start))
    for offer in cell.way:
        run.offer(offer)
    happened = run.offer(cell.offer, illegal=cell.row.kind == "error")
    for offer in after:
        run.offer(offer)
    return happened


def fails(cell: Cell, mutated: Member, after: tuple[Offer, ...] = ()) -> bool:
    """Whether the test of the cell fails."""
    try:
        inject(cell, mutated, after)
    except (Divergence, BrokenSpecification):
        return True
    return False


def verdict(cell: Cell, mutated: Member, rebalance: str) -> str:
    """`noticed`; `same` if nothing observable has changed; else `unnoticed`."""
    if fails(cell, mutated):
        return "noticed"
    sane = Member(rebalance, "deployed")
    run = distinguishing_run(sane, mutated, cell.start)
    if run is None:
        return "same"
    try:
        lockstep, state = Lockstep(mutated, cell.start, CoreAdapter(mutated, cell.start)), cell.start
        for offer in run:
            try:
                state = sane.react(state, offer.event, dict(offer.inputs)).state
                lockstep.offer(offer, illegal=False)
            except IllegalEvent:
                lockstep.offer(offer, illegal=True)
    except (Divergence, BrokenSpecification):
        return "noticed"
    return "unnoticed"


def injectable(rebalance: str) -> tuple[list[Cell], int]:
    """The cells whose event can be brought about on the core, and how many rows are left out."""
    member = Member(rebalance, "deployed")
    rows = sum(len(tables()[machine, rebalance, "deployed"].rows) for machine in member.machines)
    found = [cell for cell in cells(rebalance).values() if inject(cell, member)]
    return found, rows - len(found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_every_cell_that_can_be_injected_is_as_the_table_says(
    rebalance: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, left_out = injectable(rebalance)

    kinds = Counter(cell.row.kind for cell in found)
    with capsys.disabled():
        print(
            f"\n{rebalance}: {len(found)} cells injected {dict(kinds)}; {left_out} left out (internal "
            "events, or never reached)"
        )
    assert set(kinds) == set(KINDS)
    assert any(cell.row.reason == "late" for cell in found)


def unnoticed(drawn: list[Cell], rebalance: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    verdicts = {
        f"{cell} -> {kind}": verdict(cell, with_another_kind(cell, kind, rebalance), rebalance)
        for cell in drawn
        for kind in KINDS
        if kind != cell.row.kind
    }
    with capsys.disabled():
        print(
            f"\n{rebalance}: {len(drawn)} cells, each turned into both other kinds: {dict(Counter(verdicts.values()))}"
        )
    return [change for change, seen in verdicts.items() if seen == "unnoticed"]


def test_any_of_fifty_cells_turned_into_another_kind_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    known = sorted(cells("eager").values(), key=str)
    random.Random(SEED).shuffle(known)
    member = Member("eager", "deployed")
    drawn = list(islice((cell for cell in known if inject(cell, member)), DRAWN))
    with capsys.disabled():
        print(f"\nseed {SEED}")

    assert len(drawn) == DRAWN
    assert not unnoticed(drawn, "eager", capsys)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
def test_every_cell_turned_into_another_kind_is_noticed(rebalance: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = injectable(rebalance)

    assert not unnoticed(found, rebalance, capsys)
