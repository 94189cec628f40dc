"""What must become of each event that the group hears, whatever state its machine is in.

Written from the request's side.

A request passes checks in one order (rule G8), and the first one that it fails is its answer; what passes them all is
accepted or waits. So for each kind of request there is a list of conditions in that order, over the facts of the
request and the phase in which it found the group. Compare Apache Kafka's GroupMetadataManager (`classicGroupJoin`,
`classicGroupSync`, `classicGroupHeartbeat`, `classicGroupLeave`) and ClassicGroup (`validateMember`,
`validateOffsetCommit`).

What else an event must change, and must leave alone, are claims over the records as they are when it is over. Each has
the id of the property in `data/properties/group.toml` that says what it means and where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from groupspec.spec import vocabulary
from groupspec.spec.broker_group import OF_ONE_MEMBER
from groupspec.spec.compiler.model import Block, If, IndexSet, Procedure
from groupspec.spec.composition.blocks import claim, sets, when
from groupspec.spec.composition.group_records import ALL_JOINED, OF_WORDS, SOME_LOGGED, SYNC_AWAITING, WAITS
from groupspec.spec.composition.machines import ILLEGAL
from groupspec.spec.properties import FAULT

Check = tuple[str, str, str]
"""(property, when, outcome)"""
Claim = tuple[str, str]
"""(property, what holds when the event is over)"""

_RUNNING: Final = "(before == 'syncing' or before == 'stable')"
_ACCEPTED: Final = "outcome == 'NONE'"
_LEAVER: Final = "(requester == 'member' or requester == 'none' and replaces_static)"
_NAMES_NOBODY: Final = "requester == 'none' and not replaces_static"
_HERE: Final = "before != 'gone' and before != 'loading'"
_SILENT: Final = f"requester == 'member' and not is_awaiting and {_HERE}"
_FORGOTTEN: Final = f"requester == 'pending' and {_HERE}"
_IDLE: Final = "phase == 'joining' and clock == 'rebalance' and " + ALL_JOINED
_PHASE_IS_OVER: Final = "phase == ('syncing' if some_waited else 'joining' if static_stayed else 'empty')"
_ONLY_STATIC: Final = "not some_waited and static_stayed"

_GONE: Final = ("gone-group-says-so", "before == 'gone'", "NOT_COORDINATOR")
_LOADING: Final = ("loading-group-says-so", "before == 'loading'", "COORDINATOR_LOAD_IN_PROGRESS")
_FENCED: Final = ("the-fenced-are-told", "requester == 'fenced'", "FENCED_INSTANCE_ID")
_NO_MEMBER: Final = ("strangers-are-told", "requester != 'member' or before == 'empty'", "UNKNOWN_MEMBER_ID")
_OUTDATED: Final = ("old-generation-is-told", "not generation_matches", "ILLEGAL_GENERATION")
_JOINING: Final = ("rebalance-is-told", "before == 'joining'", "REBALANCE_IN_PROGRESS")
_SYNCING: Final = ("rebalance-is-told", "before == 'syncing'", "REBALANCE_IN_PROGRESS")
_FINE: Final = ("good-requests-are-accepted", "True", "NONE")

CHECKS: Final[Mapping[str, tuple[Check, ...]]] = {
    "group_join": (
        ("session-range-is-checked", "not in_session_range", "INVALID_SESSION_TIMEOUT"),
        _GONE, _LOADING,
        ("full-group-refuses", "not has_room", "GROUP_MAX_SIZE_REACHED"),
        ("protocol-is-shared", "not protocol_accepted", "INCONSISTENT_GROUP_PROTOCOL"),
        ("strangers-are-told", "requester == 'unknown' or requester == 'member' and before == 'empty'",
         "UNKNOWN_MEMBER_ID"),
        _FENCED,
        ("id-comes-first", "requester == 'none' and not fresh_instance and not replaces_static and requires_member_id",
         "MEMBER_ID_REQUIRED"),
        ("unchanged-is-answered-at-once",
         "requester == 'member' and not metadata_changed and (before == 'syncing' or before == 'stable' and not "
         "is_leader)", "CURRENT_GENERATION"),
        ("static-returns-in-peace",
         "requester == 'none' and replaces_static and before == 'stable' and not protocol_changes",
         "CURRENT_GENERATION"),
        ("joins-wait", "True", WAITS),
    ),
    "group_sync": (
        _GONE, _LOADING, _FENCED, _NO_MEMBER, _OUTDATED,
        ("protocol-is-shared", "not protocol_accepted", "INCONSISTENT_GROUP_PROTOCOL"),
        _JOINING,
        ("syncs-wait", "before == 'syncing'", WAITS),
        ("assignment-is-given", "True", "STORED_ASSIGNMENT"),
    ),
    "group_heartbeat": (_GONE, ("loading-group-keeps-its-members", "before == 'loading'", "NONE"), _FENCED,
                        _NO_MEMBER, _OUTDATED, _JOINING, _FINE),
    "group_commit": (
        _GONE, _LOADING,
        ("good-requests-are-accepted", "before == 'empty' and requester == 'none'", "NONE"),
        ("missing-group-is-told", "not group_known and reports_missing_group", "GROUP_ID_NOT_FOUND"),
        ("missing-group-is-told", "not group_known", "ILLEGAL_GENERATION"),
        _FENCED, _NO_MEMBER, _OUTDATED, _SYNCING, _FINE,
    ),
    "group_leave": (
        _GONE, _LOADING, _FENCED,
        ("strangers-are-told",
         f"requester == 'unknown' or {_NAMES_NOBODY} or before == 'empty' and requester != 'pending'",
         "UNKNOWN_MEMBER_ID"),
        _FINE,
    ),
}  # fmt: skip
"""By request: what it is told, the first that is true."""

CLAIMS: Final[Mapping[str, tuple[Claim, ...]]] = {
    "group_join": (
        ("who-joins-is-a-member", f"outcome != '{WAITS}' or member[i] and not pending[i]"),
        ("handed-out-id-is-pending", "outcome != 'MEMBER_ID_REQUIRED' or pending[i]"),
        ("members-go-for-a-reason", "removed == (outcome == 'GROUP_MAX_SIZE_REACHED' and requester == 'member')"),
        ("static-is-replaced",
         f"replaced == (requester == 'none' and replaces_static and (outcome == '{WAITS}' or outcome == "
         "'CURRENT_GENERATION'))"),
        ("rebalance-has-a-reason", f"begun == (outcome == '{WAITS}' and {_RUNNING})"),
        ("first-member-waits-for-others",
         f"delayed == (outcome == '{WAITS}' and before == 'empty') and not (was_delayed and grew)"),
        ("waits-for-nobody-else", f"outcome != '{WAITS}' or not ({_IDLE})"),
        ("sign-of-life", "not kept"),
    ),
    "group_sync": (
        ("leader-is-written", f"stored == (outcome == '{WAITS}' and is_leader)"),
        ("members-go-for-a-reason", "not removed"),
        ("rebalance-has-a-reason", "not begun"),
        ("sign-of-life", "not kept"),
    ),
    "group_heartbeat": (
        ("sign-of-life",
         "kept == (before != 'loading' and (outcome == 'NONE' or outcome == 'REBALANCE_IN_PROGRESS'))"),
    ),
    "group_commit": (("sign-of-life", "kept == (outcome == 'NONE' and requester == 'member')"),),
    "group_leave": (
        ("members-go-for-a-reason", f"removed == ({_ACCEPTED} and {_LEAVER}) and not (removed and member[i])"),
        ("pending-id-ends", f"not ({_ACCEPTED} and requester == 'pending') or not pending[i]"),
        ("rebalance-has-a-reason", f"begun == ({_ACCEPTED} and {_RUNNING})"),
        ("first-member-waits-for-others", "not (was_delayed and grew)"),
        ("waits-for-nobody-else", f"outcome != 'NONE' or not ({_IDLE})"),
    ),
    "group_session_expired": (
        ("members-go-for-a-reason", f"removed == ({_SILENT}) and not (removed and member[i])"),
        ("pending-id-ends", f"not ({_FORGOTTEN}) or not pending[i]"),
        ("rebalance-has-a-reason", f"begun == ({_SILENT} and {_RUNNING})"),
        ("waits-for-nobody-else", f"not ({_SILENT} or {_FORGOTTEN}) or not (phase == 'joining' and {ALL_JOINED})"),
        ("stopped-timers-do-nothing", f"{_SILENT} or {_FORGOTTEN} or not acted"),
    ),
    "group_rebalance_timeout": (
        ("timeout-ends-the-phase", _PHASE_IS_OVER),
        ("rebalance-has-a-reason", f"begun == ({_ONLY_STATIC})"),
    ),
    "group_initial_delay_elapsed": (
        ("newcomers-prolong-the-delay", "delayed == newcomer_seen and (not delayed or phase == 'joining')"),
        ("timeout-ends-the-phase", f"newcomer_seen or {_PHASE_IS_OVER}"),
        ("rebalance-has-a-reason", f"begun == (not newcomer_seen and {_ONLY_STATIC})"),
    ),
    "group_sync_timeout": (
        ("members-go-for-a-reason", "removed == some_unsynced"),
        ("rebalance-has-a-reason", "begun == some_unsynced"),
        ("waits-for-nobody-else", f"not some_unsynced or not ({_IDLE})"),
    ),
    "group_assignment_stored": (
        ("given-out-when-stored", f"not generation_matches or phase == 'stable' and not {SYNC_AWAITING}"),
        ("late-writes-do-nothing", "generation_matches or not acted"),
    ),
    "group_assignment_lost": (
        ("rebalance-has-a-reason", "begun == generation_matches"),
        ("late-writes-do-nothing", "generation_matches or not acted"),
        ("waits-for-nobody-else", f"not generation_matches or not ({_IDLE})"),
    ),
    "group_loaded": (
        ("log-is-restored",
         f"phase == ('stable' if {SOME_LOGGED} else 'empty') and all(member[j] == logged[j] and not pending[j] and "
         "awaiting[j] == 'nothing' for j in members)"),
    ),
    "group_unloaded": (("gone-group-lets-go", "clock == 'none' and all(awaiting[j] == 'nothing' for j in members)"),),
    "group_deleted": (
        ("deleted-is-forgotten",
         "phase == 'empty' and clock == 'none' and all(not member[j] and not pending[j] for j in members)"),
    ),
    "late": (("stopped-timers-do-nothing", "not acted"),),
}  # fmt: skip
"""By event: what must hold when it is over."""


def checks() -> Iterator[Procedure]:
    """The checks at the end of each event, with the facts of the event as inputs."""
    for event, claims in CLAIMS.items():
        facts = FACTS.get(event, ())
        body = (*_answered(CHECKS.get(event, ())), *chain.from_iterable(claim(*one) for one in claims))
        index: tuple[tuple[str, IndexSet], ...] = (("i", "members"),) if event in OF_ONE_MEMBER else ()
        inputs = tuple((name, vocabulary.VARIABLES[name].domain) for name in facts)
        yield Procedure(after(event), index, inputs, body, f"what must hold after {event}")


def after(event: str) -> str:
    """The name of the procedure that checks what became of an event."""
    return f"after_{event}"


ASSERTIONS: Final = tuple(
    dict.fromkeys(
        (ILLEGAL, *OF_WORDS, *(row[0] for table in (CHECKS, CLAIMS) for rows in table.values() for row in rows))
    )
)
"""Every property that is checked where something happens."""

FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    **{event: vocabulary.EVENTS[event].inputs for event in CHECKS},
    "group_session_expired": ("requester", "is_awaiting"),
    "group_initial_delay_elapsed": ("newcomer_seen",),
    "group_assignment_stored": ("generation_matches",),
    "group_assignment_lost": ("generation_matches",),
}
"""The facts of an event that are open: what the environment chooses, and the checks know."""


def _answered(checks: tuple[Check, ...]) -> Block:
    if not checks:
        return ()
    branches = tuple((condition, _wrong(name, outcome)) for name, condition, outcome in checks[:-1])
    name, _, outcome = checks[-1]
    return (If(((f"{FAULT} != 'none'", ()), *branches), _wrong(name, outcome)),)


def _wrong(name: str, outcome: str) -> Block:
    return when(f"outcome != '{outcome}'", sets(f"{FAULT} = '{name}'"))
