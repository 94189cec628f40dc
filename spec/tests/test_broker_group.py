"""The group's machine against what brokers do: the state x request matrix, and the stories of the rules G1 to G13.

The matrix is data of its own, written from the behaviour of Apache Kafka's coordinator (ClassicGroup,
GroupMetadataManager), not from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from groupspec.spec.compiler.step import NO_ROW, TableStep, compile_step
from groupspec.spec.compiler.tables import tables
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import ANSWERS, GROUP_ACTS, VARIABLES

STATES: Final = ("missing", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Loading")

_NEW: Final[dict[str, Value]] = {"requester": "none"}
_PENDING: Final[dict[str, Value]] = {"requester": "pending"}
_UNKNOWN: Final[dict[str, Value]] = {"requester": "unknown"}
_FENCED: Final[dict[str, Value]] = {"requester": "fenced"}
_STATIC: Final[dict[str, Value]] = {"requester": "none", "fresh_instance": True}
_BACK: Final[dict[str, Value]] = {"requester": "none", "replaces_static": True}
_CHANGED: Final[dict[str, Value]] = {"metadata_changed": True}
_LEADER: Final[dict[str, Value]] = {"is_leader": True}
_OLD: Final[dict[str, Value]] = {"generation_matches": False}
_BAD: Final[dict[str, Value]] = {"protocol_accepted": False}

# Outcome: an error (by the code of the protocol), 0 for success, `park`, `->` for "the group prepares to rebalance, the
# request awaits its answer", `0 ->` for "answered, and the group prepares to rebalance"; `x` where the coordinator
# cannot be.
# fmt: off
MATRIX: Final[tuple[tuple[str, str, Mapping[str, Value], tuple[str, str, str, str, str, str, str]], ...]] = (
    # request, event,            inputs                                       missing  Empty  Prep.   Compl.   Stable
    # Dead  Loading
    ("JoinGroup v4 dynamic", "group_join", _NEW, ("79", "79", "79", "79", "79", "16", "14")),
    ("JoinGroup v3 dynamic", "group_join", {**_NEW, "requires_member_id": False},
     ("->", "->", "park", "->", "->", "16", "14")),
    ("JoinGroup pending id", "group_join", _PENDING, ("x", "->", "park", "->", "->", "16", "14")),
    ("JoinGroup new static", "group_join", _STATIC, ("->", "->", "park", "->", "->", "16", "14")),
    ("JoinGroup static is back", "group_join", _BACK, ("x", "x", "park", "->", "now", "16", "14")),
    ("… another protocol", "group_join", {**_BACK, "protocol_changes": True},
     ("x", "x", "park", "->", "->", "16", "14")),
    ("JoinGroup same metadata", "group_join", {}, ("25", "25", "park", "now", "now", "16", "14")),
    ("… of the leader", "group_join", _LEADER, ("25", "25", "park", "now", "->", "16", "14")),
    ("JoinGroup new metadata", "group_join", _CHANGED, ("25", "25", "park", "->", "->", "16", "14")),
    ("JoinGroup unknown id", "group_join", _UNKNOWN, ("25", "25", "25", "25", "25", "16", "14")),
    ("JoinGroup fenced", "group_join", _FENCED, ("x", "82", "82", "82", "82", "16", "14")),
    ("JoinGroup other protocols", "group_join", _BAD, ("23", "23", "23", "23", "23", "16", "14")),
    ("JoinGroup session timeout", "group_join", {"in_session_range": False},
     ("26", "26", "26", "26", "26", "26", "26")),
    ("JoinGroup, no room", "group_join", {**_NEW, "has_room": False},
     ("x", "x", "81", "81", "81", "16", "14")),
    ("SyncGroup", "group_sync", {}, ("25", "25", "27", "park", "bytes", "16", "14")),
    ("SyncGroup of the leader", "group_sync", _LEADER, ("25", "25", "27", "store", "bytes", "16", "14")),
    ("SyncGroup old generation", "group_sync", _OLD, ("25", "25", "22", "22", "22", "16", "14")),
    ("SyncGroup other protocol", "group_sync", _BAD, ("25", "25", "23", "23", "23", "16", "14")),
    ("… and old generation", "group_sync", {**_BAD, **_OLD}, ("25", "25", "22", "22", "22", "16", "14")),
    ("SyncGroup fenced", "group_sync", {**_FENCED, **_OLD}, ("x", "82", "82", "82", "82", "16", "14")),
    ("SyncGroup unknown", "group_sync", {**_UNKNOWN, **_OLD}, ("25", "25", "25", "25", "25", "16", "14")),
    ("Heartbeat", "group_heartbeat", {}, ("25", "25", "27 alive", "0 alive", "0 alive", "16", "0")),
    ("Heartbeat old generation", "group_heartbeat", _OLD, ("25", "25", "22", "22", "22", "16", "0")),
    ("Heartbeat fenced", "group_heartbeat", {**_FENCED, **_OLD}, ("x", "82", "82", "82", "82", "16", "0")),
    ("Heartbeat unknown", "group_heartbeat", {**_UNKNOWN, **_OLD}, ("25", "25", "25", "25", "25", "16", "0")),
    ("Heartbeat pending id", "group_heartbeat", _PENDING, ("25", "25", "25", "25", "25", "16", "0")),
    ("OffsetCommit", "group_commit", {}, ("69", "25", "0 alive", "27", "0 alive", "16", "14")),
    ("OffsetCommit v8", "group_commit", {"reports_missing_group": False},
     ("22", "25", "0 alive", "27", "0 alive", "16", "14")),
    ("OffsetCommit no member", "group_commit", _NEW, ("0", "0", "25", "25", "25", "16", "14")),
    ("OffsetCommit old", "group_commit", _OLD, ("69", "25", "22", "22", "22", "16", "14")),
    ("OffsetCommit fenced", "group_commit", {**_FENCED, **_OLD}, ("69", "82", "82", "82", "82", "16", "14")),
    ("OffsetCommit unknown", "group_commit", {**_UNKNOWN, **_OLD}, ("69", "25", "25", "25", "25", "16", "14")),
    ("LeaveGroup", "group_leave", {}, ("25", "25", "0", "0 ->", "0 ->", "16", "14")),
    ("LeaveGroup pending id", "group_leave", _PENDING, ("x", "0", "0", "0 ->", "0 ->", "16", "14")),
    ("LeaveGroup by instance id", "group_leave", _BACK, ("25", "25", "0", "0 ->", "0 ->", "16", "14")),
    ("LeaveGroup no id", "group_leave", _NEW, ("25", "25", "25", "25", "25", "16", "14")),
    ("LeaveGroup fenced", "group_leave", _FENCED, ("x", "82", "82", "82", "82", "16", "14")),
    ("LeaveGroup unknown", "group_leave", _UNKNOWN, ("25", "25", "25", "25", "25", "16", "14")),
)
# fmt: on

CODES: Final = {
    "ANSWER_NONE": "0",
    "ANSWER_COORDINATOR_LOAD_IN_PROGRESS": "14",
    "ANSWER_NOT_COORDINATOR": "16",
    "ANSWER_ILLEGAL_GENERATION": "22",
    "ANSWER_INCONSISTENT_GROUP_PROTOCOL": "23",
    "ANSWER_UNKNOWN_MEMBER_ID": "25",
    "ANSWER_INVALID_SESSION_TIMEOUT": "26",
    "ANSWER_REBALANCE_IN_PROGRESS": "27",
    "ANSWER_GROUP_ID_NOT_FOUND": "69",
    "ANSWER_MEMBER_ID_REQUIRED": "79",
    "ANSWER_GROUP_MAX_SIZE_REACHED": "81",
    "ANSWER_FENCED_INSTANCE_ID": "82",
    "ANSWER_CURRENT_GENERATION": "now",
    "ANSWER_STORED_ASSIGNMENT": "bytes",
}


@cache
def _step() -> TableStep:
    return compile_step(tables()["broker_group", "eager", "deployed"])


class Group:
    """The machine alone, run by hand."""

    def __init__(self, state: str = "Empty", *, initial_delay: bool = False) -> None:
        self.state = state
        self.values: tuple[Value, ...] = (initial_delay,)

    def send(self, event: str, **inputs: Value) -> tuple[str, ...]:
        """One event; what it emitted. `group_join_phase_checked` is left to the story."""
        table = _step().table
        names = table.event(event).inputs
        assert set(inputs) <= set(names), f"{event} has no {set(inputs) - set(names)}"
        given = tuple(inputs.get(name, VARIABLES[name].initial) for name in names)
        index, self.state, self.values, emitted = _step().step(self.state, self.values, event, given)
        assert index != NO_ROW
        self.row = table.rows[index]
        return emitted


def outcome(state: str, event: str, inputs: Mapping[str, Value]) -> str:
    """The cell of the matrix, as the machine has it."""
    group = Group("Empty" if state == "missing" else state)
    known = {"group_known": state != "missing"} if event == "group_commit" else {}
    emitted = group.send(event, **inputs, **known)
    if group.row.kind == "error":
        return "x"
    answer = " ".join(CODES[word] for word in emitted if word in ANSWERS)
    if group.state == "PreparingRebalance" != state:
        return f"{answer} ->".strip()
    assert group.state == ("Empty" if state == "missing" else state)
    if "AWAIT_SYNC" in emitted or "AWAIT_JOIN" in emitted:
        return "store" if "STORE_ASSIGNMENT" in emitted else "park"
    return f"{answer} alive" if "KEEP_ALIVE" in emitted else answer


CELLS = [
    pytest.param(state, event, inputs, expected, id=f"{name}-{state}")
    for name, event, inputs, cells in MATRIX
    for state, expected in zip(STATES, cells, strict=True)
]


@pytest.mark.parametrize(("state", "event", "inputs", "expected"), CELLS)
def test_G8_G13_the_matrix(state: str, event: str, inputs: Mapping[str, Value], expected: str) -> None:
    if expected != "x":
        assert outcome(state, event, inputs) == expected


def test_every_word_of_the_coordinator_is_emitted_and_every_request_is_answered_once_or_parked() -> None:
    table = tables()["broker_group", "eager", "deployed"]
    emitted = {word for row in table.rows for word in table.emitted(row)}
    assert emitted - {event.name for event in table.events} == {*ANSWERS, *GROUP_ACTS}
    requests = ("group_join", "group_sync", "group_heartbeat", "group_commit", "group_leave")
    for row in table.rows:
        if row.event in requests and row.kind == "transition":
            answers = [word for word in table.emitted(row) if word in ANSWERS]
            awaiting = [word for word in table.emitted(row) if word in ("AWAIT_JOIN", "AWAIT_SYNC")]
            assert len(answers) + len(awaiting) == 1, row.id


def test_G1_G2_the_join_phase_ends_when_all_have_joined_and_only_then_the_generation_grows() -> None:
    group = Group("Stable")
    assert group.send("group_join", requester="pending") == (
        "DROP_PENDING", "ADD_MEMBER", "AWAIT_JOIN", "START_REBALANCE_TIMER", "group_join_phase_checked",
    )  # fmt: skip
    assert group.send("group_join_phase_checked", all_joined=False) == ()
    assert group.state == "PreparingRebalance"
    group.send("group_join")
    assert group.send("group_join_phase_checked", all_joined=True) == ("COMPLETE_JOIN", "START_SYNC_TIMER")
    assert group.state == "CompletingRebalance"
    growing = {
        (row.source, row.event)
        for row in _step().table.rows
        if {"COMPLETE_JOIN", "COMPLETE_EMPTY"} & set(_step().table.emitted(row))
    }
    ends = ("group_join_phase_checked", "group_rebalance_timeout", "group_initial_delay_elapsed")
    assert growing == {("PreparingRebalance", event) for event in ends}


@pytest.mark.parametrize(
    ("some_rejoined", "members_left", "state", "emitted"),
    [
        (True, True, "CompletingRebalance", ("COMPLETE_JOIN", "START_SYNC_TIMER")),
        (False, True, "PreparingRebalance", ("START_REBALANCE_TIMER",)),
        (False, False, "Empty", ("COMPLETE_EMPTY", "STOP_TIMERS")),
    ],
)
def test_G1_G6_the_rebalance_timeout_waits_for_nobody(
    some_rejoined: bool, members_left: bool, state: str, emitted: tuple[str, ...]
) -> None:
    group = Group("PreparingRebalance")
    assert group.send("group_heartbeat") == ("KEEP_ALIVE", "ANSWER_REBALANCE_IN_PROGRESS")
    assert group.send("group_rebalance_timeout", some_rejoined=some_rejoined, members_left=members_left) == emitted
    assert group.state == state


def test_G3_a_group_that_was_empty_waits_for_the_initial_delay_and_newcomers_prolong_it() -> None:
    group = Group()
    assert group.send("group_join", requester="pending")[-1] == "START_INITIAL_DELAY"
    assert group.send("group_join_phase_checked", all_joined=True) == ()
    group.send("group_leave")
    assert group.send("group_join_phase_checked", all_joined=True) == ()
    assert group.send("group_initial_delay_elapsed", newcomer_seen=True) == ("START_INITIAL_DELAY",)
    group.send("group_rebalance_timeout")
    assert (group.state, group.row.reason) == ("PreparingRebalance", "timer_off")
    assert group.send("group_initial_delay_elapsed") == ("COMPLETE_JOIN", "START_SYNC_TIMER")
    assert group.state == "CompletingRebalance"


@pytest.mark.parametrize("requester", ["pending", "member"])
def test_G3_G5_an_expiry_ends_the_initial_delay_if_it_leaves_all_joined(requester: str) -> None:
    group = Group("PreparingRebalance", initial_delay=True)
    group.send("group_session_expired", requester=requester, all_joined=False)
    assert group.send("group_join_phase_checked", all_joined=True) == ()
    assert group.send("group_session_expired", requester=requester, all_joined=True)[-1] == "group_join_phase_checked"
    group.send("group_join_phase_checked", all_joined=True)
    assert group.state == "CompletingRebalance"


def test_G4_an_id_that_was_handed_out_is_dropped_when_its_session_ends() -> None:
    for state in ("Empty", "Stable", "CompletingRebalance"):
        group = Group(state)
        assert group.send("group_session_expired", requester="pending") == ("DROP_PENDING",)
        assert group.state == state


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Stable"])
def test_G5_who_has_a_parked_request_does_not_expire_and_who_has_none_is_removed(state: str) -> None:
    group = Group(state)
    assert group.send("group_session_expired", is_awaiting=True) == ()
    assert group.row.reason == "awaiting_is_alive"
    assert group.send("group_session_expired")[0] == "REMOVE_MEMBER"
    assert group.state == "PreparingRebalance"


def test_G9_the_barrier_of_the_sync_phase() -> None:
    group = Group("CompletingRebalance")
    assert group.send("group_sync") == ("AWAIT_SYNC",)
    assert group.send("group_sync", is_leader=True) == ("AWAIT_SYNC", "STORE_ASSIGNMENT")
    assert group.send("group_assignment_stored", generation_matches=False) == ()
    assert group.send("group_assignment_stored") == ("ANSWER_SYNCS",)
    assert group.state == "Stable"
    assert group.send("group_sync") == ("ANSWER_STORED_ASSIGNMENT",)


def test_G9_an_assignment_that_the_log_refuses_begins_the_rebalance_again() -> None:
    group = Group("CompletingRebalance")
    assert group.send("group_assignment_lost")[0] == "FAIL_AWAITING_NOT_COORDINATOR"
    assert group.state == "PreparingRebalance"
    assert group.send("group_assignment_lost") == ()


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_G9_who_has_not_synced_is_removed_even_from_a_stable_group(state: str) -> None:
    group = Group(state)
    assert group.send("group_sync_timeout", unsynced=False) == ()
    assert group.state == state
    assert group.send("group_sync_timeout")[0] == "REMOVE_UNSYNCED"
    assert group.state == "PreparingRebalance"


@pytest.mark.parametrize("event", ["group_join", "group_leave", "group_session_expired", "group_sync_timeout"])
def test_G9_whatever_begins_the_rebalance_again_answers_the_parked_syncs(event: str) -> None:
    group = Group("CompletingRebalance")
    inputs: dict[str, Value] = {"requester": "pending"} if event == "group_join" else {}
    emitted = group.send(event, **inputs)
    assert group.state == "PreparingRebalance"
    assert emitted[-3:] == ("FAIL_AWAITING_SYNCS", "START_REBALANCE_TIMER", "group_join_phase_checked")


def test_G11_a_static_member_comes_back_to_a_stable_group_without_a_rebalance() -> None:
    group = Group("Stable")
    assert group.send("group_join", **_BACK) == ("REPLACE_STATIC", "ANSWER_CURRENT_GENERATION")
    assert group.state == "Stable"
    assert group.send("group_join", **_BACK, protocol_changes=True)[:2] == ("REPLACE_STATIC", "AWAIT_JOIN")
    assert group.state == "PreparingRebalance"


@pytest.mark.parametrize("state", ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"])
@pytest.mark.parametrize(("members_stored", "loaded"), [(True, "Stable"), (False, "Empty")])
def test_G13_a_coordinator_that_moves_finds_the_last_record_only(state: str, members_stored: bool, loaded: str) -> None:
    group = Group(state, initial_delay=state == "PreparingRebalance")
    assert "FAIL_AWAITING_NOT_COORDINATOR" in group.send("group_unloaded")
    assert group.state == "Dead"
    assert group.send("group_loading") == ()
    assert group.send("group_heartbeat") == ("ANSWER_NONE",), "nobody leaves because the log is still being read"
    assert group.send("group_loaded", members_stored=members_stored) == ("RESTORE",)
    assert (group.state, group.values) == (loaded, (False,))


LEGAL: Final = {
    "Empty": {"PreparingRebalance"},
    "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
    "CompletingRebalance": {"PreparingRebalance"},
    "Stable": {"CompletingRebalance"},
    "Dead": {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"},
}
"""State -> the states that a group may come from (Kafka ClassicGroupState). Loading is its coordinator's state, not its
own."""


def test_G13_states_follow_each_other_as_in_kafka() -> None:
    found: dict[str, set[str]] = {}
    for row in tables()["broker_group", "eager", "deployed"].rows:
        if row.source != row.target and "Loading" not in (row.source, row.target):
            found.setdefault(row.target, set()).add(row.source)
    assert found == {**LEGAL, "Dead": LEGAL["Dead"] - {"Dead"}}


def test_G13_a_deleted_group_is_one_that_nobody_knows() -> None:
    """What 4.3.1 leaves of it is a tombstone: the next request finds no group, and no pending id."""
    group = Group("Empty")
    assert group.send("group_deleted") == ("RESTORE",)
    assert group.state == "Empty"


@pytest.mark.parametrize("state", ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"])
def test_G13_a_load_that_is_given_up_leaves_a_coordinator_that_knows_nothing(state: str) -> None:
    group = Group(state)
    for event in ("group_unloaded", "group_loading", "group_unloaded"):
        group.send(event)
    assert group.state == "Dead"
    assert group.send("group_heartbeat") == ("ANSWER_NOT_COORDINATOR",)
