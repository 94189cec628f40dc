"""The projected table explains whatever the machine does: the library's own machine is the judge."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from groupspec.conformance.traces import determinise, projection_cache
from groupspec.conformance.traces.projection import (
    ANSWER_EVENTS,
    HIDDEN,
    PLAIN_EVENTS,
    REBALANCES,
    REQUEST_EVENTS,
    Projection,
)
from groupspec.conformance.traces.reductions import bits, prune, quotient, simulators
from groupspec.conformance.traces.schema import ERROR_CODES, ERRORS, EVENT_CODES
from groupspec.spec.compiler.library import LibraryMachine
from groupspec.spec.compiler.tables import classes, tables, whole_tables
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import EVENTS as SPEC_EVENTS
from groupspec.spec.vocabulary import RESPONSES, VARIABLES

STEPS = 50
WALKS = 12


class Walk:
    """The library's rebalance machine under random events, and what a trace shows of it."""

    def __init__(self, rebalance: str, rng: random.Random) -> None:
        table = tables()["rebalance", rebalance, "deployed"]
        self.machine: LibraryMachine = LibraryMachine(classes()["rebalance"], whole_tables()["rebalance"], table)
        self.heard = {event.name for event in table.events}
        self.rng = rng
        self.shown: list[tuple[str, str]] = []
        self.out = ""
        self._requests: list[str] = []
        fixed = {name: rng.choice(VARIABLES[name].domain) for name in ("auto_commit", "static")}
        self.machine.model.__dict__.update(fixed)

    def step(self) -> None:
        """One event that the machine allows, with all that it tells itself."""
        name = self.rng.choice(("hidden", "answer", "answer", "answer", "plain", "plain", "callback", "callback"))
        getattr(self, f"_{name}")()

    def _send(self, event: str, **inputs: Value) -> bool:
        """Sends the event and what follows from it; the requests are shown. False: the machine refuses it."""
        self._let_others_change()
        drawn = {name: self.rng.choice(VARIABLES[name].domain) for name in SPEC_EVENTS[event].inputs}
        if event == "sync_accepted" and not drawn["fits_subscription"]:
            drawn["revokes_any"] = drawn["revokes_any"] and self._has_other_topics()
        result = self.machine.send(event, {**drawn, **inputs})
        if not result.allowed:
            return False
        todo = list(result.emitted)
        later: list[str] = []
        while todo:
            word = todo.pop(0)
            if word in REQUEST_EVENTS.values():
                later.append(word)
            elif word in self.heard:
                self._let_others_change()
                todo += self.machine.send(word, {}).emitted
        self._requests = later
        return True

    def _has_other_topics(self) -> bool:
        """Only who has subscribed meanwhile is given what it does not want."""
        told = [event for event, _ in self.shown if event in ("subscribed", "assigned")]
        return told[-1:] == ["subscribed"]

    def _show(self, event: str, error: str = "NONE") -> None:
        self.shown.append((event, error))
        self._show_requests()

    def _show_requests(self) -> None:
        for request in self._requests:
            self.shown.append((next(name for name, api in REQUEST_EVENTS.items() if api == request), "NONE"))
            self.out = request if request in ("JoinGroup", "SyncGroup") else ""

    def _let_others_change(self) -> None:
        self.machine.model.__dict__["coordinator_known"] = self.rng.random() < 0.8

    def _hidden(self) -> None:
        event = self.rng.choice([name for name in HIDDEN["reference"] if name != "callback_started"])
        if self._send(event):
            self._show_requests()

    def _answer(self) -> None:
        event = self.rng.choice(list(ANSWER_EVENTS))
        api = ANSWER_EVENTS[event]
        error = self.rng.choice([name for name in ERRORS if (api, name) in RESPONSES])
        if api in ("JoinGroup", "SyncGroup") and self.out != api:
            return
        if self._send(RESPONSES[api, error], current=True):
            self.out = "" if api == self.out else self.out
            self._show(event, error)

    def _plain(self) -> None:
        event = self.rng.choice([*PLAIN_EVENTS, "lookup_answered"])
        if event == "assigned" and str(self.machine.model.state) != "ASSIGNING_PARTITIONS":
            return
        meaning = "coordinator_found" if event == "lookup_answered" else self.rng.choice(PLAIN_EVENTS[event])
        if self._send(meaning):
            self.out = "" if event == "coordinator_lost" else self.out
            self._show(event)

    def _callback(self) -> None:
        lost = bool(self.machine.model.__dict__["lost"])
        running = bool(self.machine.model.__dict__["callback_running"])
        if str(self.machine.model.state) != "REVOKING_PARTITION":
            return
        if self._send("partitions_revoked" if running else "callback_started"):
            kind = "lost" if lost else "revoked"
            self._show(kind if running else f"{kind}_started")


@pytest.mark.parametrize("rebalance", REBALANCES)
def test_whatever_the_library_machine_does_is_explained(rebalance: str) -> None:
    projection = projection_cache.load()
    seen = 0
    for seed in range(WALKS):
        walk = Walk(rebalance, random.Random(seed))
        for _ in range(STEPS):
            walk.step()
        state = int(projection.start[Projection.mode("reference", rebalance == "eager")])
        for number, (event, error) in enumerate(walk.shown):
            symbol = projection.symbols[EVENT_CODES[event], ERROR_CODES[error]]
            if symbol >= 0:
                before, state = state, int(projection.next_state[state, symbol])
                assert state >= 0, (
                    f"seed {seed}: {event} ({error}) in {projection.names[before]}: {walk.shown[: number + 1]}"
                )
                seen += 1
    assert seen > WALKS * 5


def _is_explained(events: Sequence[str]) -> bool:
    """Whether a cooperative reference member may tell these; an event may have an error after a colon."""
    projection = projection_cache.load()
    state = int(projection.start[Projection.mode("reference", False)])
    for told in events:
        event, _, error = told.partition(":")
        if state < 0:
            return False
        state = int(projection.next_state[state, projection.symbols[EVENT_CODES[event], ERROR_CODES[error or "NONE"]]])
    return state >= 0


ROUND = ("join_sent", "join_answered", "sync_sent", "sync_answered")
ASSIGNED, REVOKED = ("assigned_started", "assigned"), ("revoked_started", "revoked")


def test_what_is_unwanted_since_a_revocation_goes_before_the_next_join_and_only_then() -> None:
    joined = ("subscribed", "poll", "lookup_answered", *ROUND, *ASSIGNED)
    revoking = (*joined, "heartbeat_answered:REBALANCE_IN_PROGRESS", *ROUND)
    assert _is_explained((*revoking, *REVOKED, *ASSIGNED, "join_sent"))
    for changed in ((*revoking, "subscribed", *REVOKED), (*revoking, "revoked_started", "subscribed", "revoked")):
        assert _is_explained((*changed, *ASSIGNED, *REVOKED, "join_sent"))
        assert _is_explained((*changed, *ASSIGNED, "join_sent"))
        assert not _is_explained((*changed, *ASSIGNED, *REVOKED, *REVOKED, "join_sent"))
        assert not _is_explained((*changed, *ASSIGNED, *REVOKED, *ASSIGNED))
    assert not _is_explained((*revoking, *REVOKED, *ASSIGNED, *REVOKED, "join_sent"))


@pytest.mark.exhaustive
def test_caching_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    projection_cache.load.cache_clear()
    built = projection_cache.load()
    projection_cache.load.cache_clear()
    monkeypatch.setattr(determinise, "build", lambda: pytest.fail("the cache was not used"))
    cached = projection_cache.load()
    assert built.names == cached.names
    for one, two in zip(built[:-1], cached[:-1], strict=True):
        assert np.array_equal(one, two)


def test_a_damaged_cache_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = projection_cache.load()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(determinise, "build", lambda: good)
    projection_cache.load.cache_clear()
    projection_cache.load()
    (file,) = (tmp_path / "groupspec").glob("projection-*.npz")
    file.write_bytes(file.read_bytes()[:100])
    projection_cache.load.cache_clear()
    assert projection_cache.load().names == good.names
    projection_cache.load.cache_clear()


def test_a_simulated_configuration_adds_nothing() -> None:
    """0 can do a and then b; 1 can do a and then b or c: whatever 0 explains, 1 explains too."""
    after = [[1 << 2, 0, 0], [1 << 3, 0, 0], [0, 1 << 4, 0], [0, 1 << 4, 1 << 4], [0, 0, 0]]
    above = simulators(after)
    assert bits(above[0]) == [0, 1]
    assert bits(prune(0b00011, above)) == [1]
    assert bits(prune(0b01100, above)) == [3]
    assert len(quotient(after, ["x"] * 5)[1]) == 5
