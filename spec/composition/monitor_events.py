"""What reaches a member: what the monitor notes of it, and what must hold when the member has done with it.

`monitor.py` says what the variables mean, and how a row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ENDS: Final = "rebalance_request = 'none'"
_AWAITS_POLL: Final = f"{_ENDS}; may_join = False"
_RESTS: Final = f"{_ENDS}; join_rests = True"
_OUTCAST: Final = (
    f"{_ENDS}; generation_unused = False; heartbeat_out = False; commit_out = False; in_group = False;"
    " commit_rests = False; commit_done = False"
)
_STALE: Final = f"{_OUTCAST}; given = 'id' if given != 'none' else 'none'; kept = given != 'none'"
_UNKNOWN: Final = f"{_OUTCAST}; given = 'none'; kept = False"
_FENCED: Final = f"{_UNKNOWN}; may_join = False; replaced = True"
_SUSPECT: Final = "suspect = True"
_LATER: Final = "heartbeat_out = False; beat_due = False"
_COMMIT_RESTS: Final = "commit_out = False; commit_rests = commit_rests or commit_out"
_COMMIT_ENDS: Final = "commit_out = False; commit_done = commit_done or commit_out"
_ANNOUNCED: Final = "rejoin_due = rejoin_due or rebalance_request == 'none'"
_POLLED: Final = "discovery_rests = 'none' if discovery_rests == 'poll' else discovery_rests"
_STAYS: Final = "cooperative and has and (retains_any or not revokes_any)"
"""What an eager member had when it joined counts for nothing: its assignment says everything."""
_APPLIED: Final = "fits_subscription or published"
"""What does not fit the subscription is no assignment; the proposal says nothing of it."""
_KEEPS: Final = "cooperative and has and revokes_any and retains_any"
_RESUBSCRIBES: Final = "deployed and (rebalance == 'STABLE' or rebalance == 'ASSIGNING_PARTITIONS')"
"""Then the next JoinGroup is to come yet. While a round is under way, SyncGroup's answer says what goes."""

NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "discovery_succeeded": "lookup_out = False",
        "discovery_retriable": "lookup_out = False; discovery_rests = 'backoff'",
        "discovery_fatal": "lookup_out = False; discovery_rests = 'poll'; requests_open = False",
        "discovery_backoff_elapsed": "discovery_rests = 'none' if discovery_rests == 'backoff' else discovery_rests",
        "commit_or_fetch_requested": f"requests_open = True; {_POLLED}",
        "requests_settled": "requests_open = False",
        "offset_fetch_coordinator_gone": _SUSPECT,
        "heartbeat_due": "beat_due = in_group",
        "session_expired": "suspect = (timeouts == 'IDLE' or timeouts == 'IN_FLIGHT') and coordinator_known",
        "poll_interval_expired": "poll_late = in_group",
        "poll_raised": "poll_late = False",
        "join_accepted": f"{_ENDS}; generation_unused = True; in_group = True; given = 'member'",
        "join_member_id_required": f"{_ENDS}; given = 'id'",
        "join_rebalance_in_progress": _ENDS,
        "join_unknown_member": _UNKNOWN,
        "join_coordinator_loading": _RESTS,
        "join_coordinator_gone": f"{_RESTS}; {_SUSPECT}",
        "join_backoff_elapsed": "join_rests = False",
        "join_fenced": _FENCED,
        "join_fatal": _AWAITS_POLL,
        "sync_accepted": f"{_ENDS}; assigned = ({_APPLIED}) and (adds_any or {_STAYS});"
        f" taken = cooperative and has and revokes_any; stays = {_STAYS} if {_APPLIED} else {_KEEPS};"
        f" rejoin_due = rejoin_due or not ({_APPLIED}); commit_done = False; round_over = True",
        "sync_rebalance_in_progress": _ENDS,
        "sync_unknown_member": _UNKNOWN,
        "sync_illegal_generation": _STALE,
        "sync_coordinator_gone": f"{_RESTS}; {_SUSPECT}",
        "sync_fenced": _FENCED,
        "sync_fatal": _AWAITS_POLL,
        "heartbeat_ok": "heartbeat_out = False",
        "heartbeat_rebalance_in_progress": f"heartbeat_out = False; {_ANNOUNCED}",
        "heartbeat_coordinator_gone": f"{_LATER}; {_SUSPECT}",
        "heartbeat_retriable": _LATER,
        "heartbeat_error": _LATER,
        "heartbeat_unknown_member": _UNKNOWN,
        "heartbeat_illegal_generation": _STALE,
        "heartbeat_fenced": _FENCED,
        "commit_settled": _COMMIT_ENDS,
        "commit_retriable": _COMMIT_RESTS,
        "commit_coordinator_gone": f"{_COMMIT_RESTS}; {_SUSPECT}",
        "commit_backoff_elapsed": "commit_rests = False",
        "commit_rebalance_in_progress": f"{_COMMIT_ENDS}; {_ANNOUNCED}",
        "commit_unknown_member": _UNKNOWN,
        "commit_illegal_generation": _STALE,
        "commit_fenced": _FENCED,
        "commit_deadline_expired": "commit_out = False; commit_rests = False;"
        " commit_done = commit_done or commit_step != 'none'",
        "stopped": f"{_UNKNOWN}; lookup_out = False; may_join = False; replaced = False; requests_open = False;"
        " discovery_rests = 'none'; suspect = True",
        "callback_started": "callback = 'lost' if lost else 'revoked'",
        "partitions_revoked": "revoke_due = False; removal_due = True;"
        " has = taken and callback == 'revoked' and stays; taken = False; stays = False; callback = 'none';"
        " rejoin_due = rejoin_due or in_group",
        "partitions_assigned": "assign_due = False; enable_due = added_said and not pending_said and owned",
        "application_polled": f"may_join = subscribed and not replaced; poll_late = False; {_POLLED}",
        "subscription_changed": "rejoin_due = rejoin_due or rebalance != 'UNJOINED';"
        f" taken = cooperative and has and revokes_any if {_RESUBSCRIBES} else taken;"
        f" stays = {_KEEPS} if {_RESUBSCRIBES} else stays",
        "rejoin_requested": "rejoin_due = rejoin_due or rebalance != 'UNJOINED'",
        "leave_requested": f"{_ENDS}; leave_asked = subscribed or given != 'none'; commit_out = False;"
        " commit_rests = False; commit_done = False; join_rests = False; stays = stays and revoke_due;"
        " kept = kept or given == 'id' and owned",
        "subscribed_to_topics": "may_join = may_join and subscribed",
    }
)
"""Event to what the monitor notes of it before the machines hear it."""

_ERRORS: Final = (
    "discovery_fatal join_fenced join_fatal sync_fenced sync_fatal heartbeat_fenced heartbeat_error commit_fenced"
)
_DOUBTS: Final = (
    "session_expired heartbeat_coordinator_gone join_coordinator_gone sync_coordinator_gone commit_coordinator_gone"
    " offset_fetch_coordinator_gone"
)
_SAID: Final = "not left or said_goodbye or static or given == 'none' or kept or not coordinator_known"
_LEFT: Final = "not stalled or not in_group and (static or said_goodbye)"

CHECKS: Final = (
    ("errors-are-told", _ERRORS, "raised"),
    ("errors-are-told", "application_polled", "raised or not replaced"),
    ("suspect-is-forgotten", _DOUBTS, "not suspect"),
    ("revoked-is-removed", "partitions_revoked", "not removal_due"),
    ("lost-by-losing", "partitions_revoked", "not lost or given != 'member'"),
    ("goodbye-is-said", "partitions_revoked leave_requested", _SAID),
    ("assigned-is-enabled", "partitions_assigned", "not enable_due"),
    ("stalled-member-leaves", "poll_interval_expired discovery_succeeded", _LEFT),
)
"""(property, the events after which it is checked unless they come late, what must hold)."""

CORRECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "callback_started": "revoke_due and not assign_due",
        "partitions_revoked": "revoke_due and not assign_due",
        "partitions_assigned": "assign_due",
    }
)
"""When a correct application does something: it answers what it was asked, in the order of the queue."""
