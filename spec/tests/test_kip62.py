"""KIP-62's lengths of time, played through with the group's machine and a clock of whole numbers."""

from __future__ import annotations

import heapq
from functools import cache
from itertools import product

import pytest

from groupspec.spec import kip62
from groupspec.spec.compiler.step import TableStep, compile_step
from groupspec.spec.compiler.tables import tables
from groupspec.spec.kip62 import CLIENTS, DELAYS, JOIN_GROUP_VERSIONS, Delay
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import VARIABLES


@cache
def _step() -> TableStep:
    return compile_step(tables()["broker_group", "eager", "deployed"])


LENGTHS = (2, 5, 9)


class TwoMembers:
    """A Stable group of two: the first begins a rebalance at time 0, the other does as the situation says."""

    def __init__(self, delay: Delay, session: int, rebalance: int, pending: int, poll: int) -> None:
        self.delay, self.session, self.rebalance = delay, session, rebalance
        self.state, self.values = "Stable", _step().initial
        self.now, self.joined, self.members, self.pending = 0, {"first"}, {"first", "other"}, set[str]()
        self.agenda: list[tuple[int, int, str, str]] = []
        if "id was handed out" in delay.situation:
            self.pending.add("new")
            self.at(pending, "group_session_expired", "new")
            self.at(0, "group_join", "other")
        elif "crashes" in delay.situation:
            self.at(session, "group_session_expired", "other")
        elif delay.situation == "polls, and joins":
            self.at(poll, "group_join", "other")
        elif delay.situation == "leaves":
            self.at(0, "group_leave", "other")
        else:
            for beat in range(20):
                self.at(beat, "group_heartbeat", "other")
        self.happens("group_join", "first", metadata_changed=True)

    def at(self, when: int, event: str, who: str) -> None:
        """At one time, what happens to members comes before the group's timer."""
        heapq.heappush(self.agenda, (when, event == "group_rebalance_timeout", event, who))

    def happens(self, event: str, who: str, **more: Value) -> None:
        """One event, and what it does to the records."""
        known: dict[str, Value] = {
            "requester": "pending" if who in self.pending else "member" if who in self.members else "unknown",
            "is_awaiting": who in self.joined,
        }
        if event == "group_join" and who in self.members:
            self.joined.add(who)
        static = {"other"} & self.members if "static" in self.delay.situation else set()
        after_members = self.members - {who} if event in ("group_leave", "group_session_expired") else self.members
        after_pending = self.pending - {who} if event == "group_session_expired" else self.pending
        known |= {
            "all_joined": after_members <= self.joined and not after_pending,
            "some_rejoined": bool(self.joined),
            "members_left": bool(self.joined | static),
        }
        names = _step().table.event(event).inputs
        inputs = tuple({**known, **more}.get(name, VARIABLES[name].initial) for name in names)
        _, self.state, self.values, emitted = _step().step(self.state, self.values, event, inputs)
        for word in emitted:
            if word == "REMOVE_MEMBER":
                self.members.discard(who)
            elif word == "DROP_PENDING":
                self.pending.discard(who)
            elif word == "START_REBALANCE_TIMER":
                self.at(self.now + self.rebalance, "group_rebalance_timeout", "")
            elif word == "COMPLETE_JOIN":
                self.members &= self.joined | static
            elif word in tables()["broker_group", "eager", "deployed"].effect_by_name["check_join_phase"].emit:
                self.happens(word, who)

    def run(self) -> int:
        """When the join phase is complete."""
        while self.state == "PreparingRebalance":
            self.now, _, event, who = heapq.heappop(self.agenda)
            if event != "group_session_expired" or who in self.members | self.pending:
                self.happens(event, who)
        assert self.state == "CompletingRebalance"
        return self.now


@pytest.mark.parametrize("delay", DELAYS, ids=[delay.situation for delay in DELAYS])
def test_G1_G4_G5_G6_a_rebalance_lasts_as_long_as_is_said(delay: Delay) -> None:
    for session, rebalance, pending, poll in product(LENGTHS, LENGTHS, LENGTHS, LENGTHS):
        if poll == rebalance:
            continue  # who comes first at one instant is nobody's promise
        group = TwoMembers(delay, session, rebalance, pending, poll)
        lengths = {"session": session, "rebalance": rebalance, "pending": pending, "poll": poll, "min": min}
        told = f"{lengths}"
        assert group.run() == eval(delay.lasts, {"__builtins__": {}}, lengths), told
        assert ("other" in group.members) is eval(delay.stays, {"__builtins__": {}}, lengths), told


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (((0, 10_000, 300_000),), 10_000),
        (((1, 10_000, 300_000),), 300_000),
        (((0, 30_000, 0), (9, 10_000, 20_000)), 30_000),
        (((0, 30_000, 0), (9, 10_000, 300_000)), 300_000),
    ],
)
def test_G1_the_longest_of_the_members_counts_and_version_0_lends_its_session_timeout(
    members: tuple[tuple[int, int, int], ...], expected: int
) -> None:
    assert kip62.rebalance_timeout(members) == expected


def test_versions_are_in_order_and_clients_have_names_of_their_own() -> None:
    assert [version.first for version in JOIN_GROUP_VERSIONS] == sorted(v.first for v in JOIN_GROUP_VERSIONS)
    assert len({client.name for client in CLIENTS}) == len(CLIENTS)
