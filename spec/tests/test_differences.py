"""The book of differences says where the two profiles' tables differ: everywhere they do, and nowhere else.

What it points at exists; and where both sides of an entry are modelled by time, a test here tells them apart.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from groupspec import spec
from groupspec.spec.broker_group import BrokerGroup
from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.differences import DIFFERENCES, Difference
from groupspec.spec.expiry.linear import NON_STRICT
from groupspec.spec.expiry.proofs import claims
from groupspec.spec.expiry.theorems import THEOREMS

AT_LEAST = {
    "cooperative-join", "commit-order", "lost", "heartbeats-begin", "heartbeat-thread-start", "expiry-arithmetic",
    "effective-poll-timeout", "default-timeouts", "discovery", "rebalance-thread", "loop-backoff", "close-order",
    "in-flight-before-join", "listener-exceptions", "blocking-poll", "group-states",
}  # fmt: skip
"""What the book was asked to hold; it may hold more."""

KAFKA = {"interval": 3_000, "granularity": 100, "latency": 20, "request": 30_000, "backoff": 100, "lookup": 100}


def cells_that_differ() -> set[str]:
    """`machine:STATE.event` of every cell that is not the same in both profiles, under either protocol."""
    different = set()
    for name, whole in whole_tables().items():
        for rebalance in ("eager", "cooperative"):
            published, deployed = tables()[name, rebalance, "published"], tables()[name, rebalance, "deployed"]
            for state, event, _ in whole.cells():
                if published.cell(state, event.name) != deployed.cell(state, event.name):
                    different.add(f"{name}:{state}.{event.name}")
    return different


def test_every_cell_that_differs_is_in_the_book() -> None:
    patterns = [pattern for difference in DIFFERENCES.values() for pattern in difference.rows]
    unexplained = {cell for cell in cells_that_differ() if not any(fnmatchcase(cell, p) for p in patterns)}

    assert not unexplained


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_an_entry_has_two_sides_and_shows_somewhere(difference: Difference) -> None:
    assert len(difference.statements) >= 2
    assert all(statement.says and statement.source for statement in difference.statements)
    assert difference.reason and difference.choice
    assert difference.rows or difference.seen_in or difference.theorems


@pytest.mark.parametrize("pattern", [pattern for difference in DIFFERENCES.values() for pattern in difference.rows])
def test_a_cell_that_the_book_names_does_differ(pattern: str) -> None:
    assert any(fnmatchcase(cell, pattern) for cell in cells_that_differ())


def test_the_book_holds_what_it_was_asked_to_hold() -> None:
    assert set(DIFFERENCES) >= AT_LEAST


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of the test functions of a file of this repository."""
    assert spec.__file__ is not None
    source = (Path(spec.__file__).resolve().parent.parent / path).read_text(encoding="utf-8")
    return frozenset(node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("difference", DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_the_tests_that_an_entry_names_exist(difference: Difference) -> None:
    assert difference.tests
    for pointer in difference.tests:
        path, _, name = pointer.partition("::")
        assert name in functions_of(path), f"{difference.id} names {pointer}, and there is no such test"


def possible(theorem: str, **values: int) -> bool:
    """Whether a theorem says that it can happen; what is not said is as Kafka has it."""
    parameters = THEOREMS[theorem].parameters
    return claims(THEOREMS[theorem], NON_STRICT, {name: {**KAFKA, **values}[name] for name in parameters})


def test_a_java_leader_that_computes_for_long_is_expelled_whenever_heartbeats_begin() -> None:
    for gate in ("published", "deployed"):
        assert possible(f"session-first-beat-{gate}", assignment=45_000, session=45_000)
    assert not possible("session-first-beat-beside", assignment=45_000, session=45_000)


def test_H3_wherever_the_thread_starts_it_sends_nothing_before_a_generation() -> None:
    for profile in ("published", "deployed"):
        rows = tables()["timeouts", "eager", profile].rows
        ways_in = {
            (row.source, row.event)
            for row in rows
            if row.target in ("IDLE", "IN_FLIGHT") and row.source not in ("IDLE", "IN_FLIGHT")
        }
        assert ways_in == {("DISABLED", "heartbeats_enabled")}


def test_one_swallowed_heartbeat_expels_with_the_default_of_kip_62_only() -> None:
    assert possible("session-swallowed", session=10_000)
    assert not possible("session-swallowed", session=45_000)


def test_who_rejoins_by_itself_is_expelled_by_no_processing_time() -> None:
    slow = {"processing": 299_000, "callback": 0, "max_poll": 300_000}

    assert possible("rebalance-in-poll", **slow)
    assert "processing" not in THEOREMS["rebalance-at-once"].parameters
    assert not possible("rebalance-at-once", max_poll=300_000)


def test_a_literal_backoff_costs_the_session_one_backoff() -> None:
    for session in (3_020, 3_120):
        assert possible("session-stable", granularity=100, session=session)
    assert possible("session-stable", granularity=0, session=3_020)
    assert not possible("session-stable", granularity=0, session=3_021)


def test_the_group_has_five_states_and_unknown_is_none() -> None:
    assert {state.id for state in BrokerGroup.states} == {
        "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Loading",
    }, "five, and what its coordinator is while it reads the log"  # fmt: skip
