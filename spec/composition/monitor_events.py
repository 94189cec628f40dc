"""What reaches a member.

What the monitor makes of it, what must hold when the member has done with it (see `monitor.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ENDS = (("@call_out", "'none'"),)
_AWAITS_POLL = (("@call_out", "'none'"), ("@may_join", "False"))
_OUTCAST = (
    ("@call_out", "'none'"),
    ("@generation_unused", "False"),
    ("@heartbeat_out", "False"),
    ("@commit_out", "False"),
    ("@in_group", "False"),
    ("@commit_rests", "False"),
    ("@commit_done", "False"),
)
_STALE = (*_OUTCAST, ("@given", "'id' if @given != 'none' else 'none'"), ("@kept", "@given != 'none'"))
_RESTS = (*_ENDS, ("@join_rests", "True"))
_COMMIT_RESTS = (("@commit_out", "False"), ("@commit_rests", "@commit_rests or @commit_out"))
_ANNOUNCED = (("@rejoin_due", "@rejoin_due or @call_out == 'none'"),)
_STAYS = "cooperative and @has and (retains or not takes)"
"""What an eager member had when it joined counts for nothing: its assignment says everything."""
_APPLIED = "fits or published"
"""What does not fit the subscription is no assignment; the proposal says nothing of it."""
_KEEPS = "cooperative and @has and takes and retains"
_RESUBSCRIBES = "deployed and (@rebalance == 'STABLE' or @rebalance == 'ASSIGNING_PARTITIONS')"
"""Then the next JoinGroup is to come yet. While a round is under way, SyncGroup's answer says what goes."""
_SUSPECT = (("@suspect", "True"),)
_LATER = (("@heartbeat_out", "False"), ("@beat_due", "False"))
_UNKNOWN = (*_OUTCAST, ("@given", "'none'"), ("@kept", "False"))
_FENCED = (*_UNKNOWN, ("@may_join", "False"), ("@replaced", "True"))

EVENTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "lookup_found": (("@lookup_out", "False"),),
        "lookup_retriable": (("@lookup_out", "False"), ("@lookup_rests", "'backoff'")),
        "lookup_fatal": (("@lookup_out", "False"), ("@lookup_rests", "'poll'"), ("@asks_open", "False")),
        "lookup_backoff_elapsed": (("@lookup_rests", "'none' if @lookup_rests == 'backoff' else @lookup_rests"),),
        "commit_or_fetch_asked": (
            ("@asks_open", "True"),
            ("@lookup_rests", "'none' if @lookup_rests == 'poll' else @lookup_rests"),
        ),
        "asks_settled": (("@asks_open", "False"),),
        "ask_coordinator_gone": _SUSPECT,
        "heartbeat_due": (("@beat_due", "@in_group"),),
        "session_expired": (("@suspect", "(@timeouts == 'IDLE' or @timeouts == 'IN_FLIGHT') and @coordinator_known"),),
        "poll_interval_expired": (("@poll_late", "@in_group"),),
        "poll_raised": (("@poll_late", "False"),),
        "join_accepted": (
            ("@call_out", "'none'"),
            ("@generation_unused", "True"),
            ("@in_group", "True"),
            ("@given", "'member'"),
        ),
        "join_member_id_required": (*_ENDS, ("@given", "'id'")),
        "join_rebalance_in_progress": _ENDS,
        "join_unknown_member": _UNKNOWN,
        "join_coordinator_loading": _RESTS,
        "join_coordinator_gone": (*_RESTS, *_SUSPECT),
        "join_backoff_elapsed": (("@join_rests", "False"),),
        "join_fenced": _FENCED,
        "join_fatal": _AWAITS_POLL,
        "sync_accepted": (
            *_ENDS,
            ("@assigned", f"({_APPLIED}) and (gains or {_STAYS})"),
            ("@taken", "cooperative and @has and takes"),
            ("@stays", f"{_STAYS} if {_APPLIED} else {_KEEPS}"),
            ("@rejoin_due", f"@rejoin_due or not ({_APPLIED})"),
            ("@commit_done", "False"),
            ("@round_over", "True"),
        ),
        "sync_rebalance_in_progress": _ENDS,
        "sync_unknown_member": _UNKNOWN,
        "sync_illegal_generation": _STALE,
        "sync_coordinator_gone": (*_RESTS, *_SUSPECT),
        "sync_fenced": _FENCED,
        "sync_fatal": _AWAITS_POLL,
        "heartbeat_ok": (("@heartbeat_out", "False"),),
        "heartbeat_rebalance_in_progress": (("@heartbeat_out", "False"), *_ANNOUNCED),
        "heartbeat_coordinator_gone": (*_LATER, *_SUSPECT),
        "heartbeat_retriable": _LATER,
        "heartbeat_error": _LATER,
        "heartbeat_unknown_member": _UNKNOWN,
        "heartbeat_illegal_generation": _STALE,
        "heartbeat_fenced": _FENCED,
        "commit_settled": (("@commit_out", "False"), ("@commit_done", "@commit_done or @commit_out")),
        "commit_retriable": _COMMIT_RESTS,
        "commit_coordinator_gone": (*_COMMIT_RESTS, *_SUSPECT),
        "commit_backoff_elapsed": (("@commit_rests", "False"),),
        "commit_rebalance_in_progress": (
            ("@commit_out", "False"),
            ("@commit_done", "@commit_done or @commit_out"),
            *_ANNOUNCED,
        ),
        "commit_unknown_member": _UNKNOWN,
        "commit_illegal_generation": _STALE,
        "commit_fenced": _FENCED,
        "stopped": (
            *_UNKNOWN,
            ("@lookup_out", "False"),
            ("@may_join", "False"),
            ("@replaced", "False"),
            ("@asks_open", "False"),
            ("@lookup_rests", "'none'"),
            ("@suspect", "True"),
        ),
        "commit_deadline_expired": (
            ("@commit_out", "False"),
            ("@commit_rests", "False"),
            ("@commit_done", "@commit_done or @commit_step != 'none'"),
        ),
        "callback_started": (("@callback", "'lost' if @lost else 'revoked'"),),
        "partitions_revoked": (
            ("@revoke_due", "False"),
            ("@removal_due", "True"),
            ("@has", "@taken and @callback == 'revoked' and @stays"),
            ("@taken", "False"),
            ("@stays", "False"),
            ("@callback", "'none'"),
            ("@rejoin_due", "@rejoin_due or @in_group"),
        ),
        "partitions_assigned": (
            ("@assign_due", "False"),
            ("@enable_due", "@added_said and not @pending_said and @owned"),
        ),
        "application_polled": (
            ("@may_join", "@subscribed and not @replaced"),
            ("@poll_late", "False"),
            ("@lookup_rests", "'none' if @lookup_rests == 'poll' else @lookup_rests"),
        ),
        "subscription_changed": (
            ("@rejoin_due", "@rejoin_due or @rebalance != 'UNJOINED'"),
            ("@taken", f"cooperative and @has and takes if {_RESUBSCRIBES} else @taken"),
            ("@stays", f"{_KEEPS} if {_RESUBSCRIBES} else @stays"),
        ),
        "rejoin_requested": (("@rejoin_due", "@rejoin_due or @rebalance != 'UNJOINED'"),),
        "leave_requested": (
            *_ENDS,
            ("@leave_asked", "@subscribed or @given != 'none'"),
            ("@commit_out", "False"),
            ("@commit_rests", "False"),
            ("@commit_done", "False"),
            ("@join_rests", "False"),
            ("@stays", "@stays and @revoke_due"),
            ("@kept", "@kept or @given == 'id' and @owned"),
        ),
        "subscribed_to_topics": (("@may_join", "@may_join and @subscribed"),),
    }
)
"""What reaches the member, and what the monitor makes of it before the machines hear it."""  # fmt: skip

_TOLD: Final = (
    "lookup_fatal",
    "join_fenced",
    "join_fatal",
    "sync_fenced",
    "sync_fatal",
    "heartbeat_fenced",
    "heartbeat_error",
    "commit_fenced",
)

_DOUBTED: Final = (
    "session_expired",
    "heartbeat_coordinator_gone",
    "join_coordinator_gone",
    "sync_coordinator_gone",
    "commit_coordinator_gone",
    "ask_coordinator_gone",
)

_GOODBYE: Final = (
    (
        "goodbye-is-said",
        "not @left or @said_goodbye or @static or @given == 'none' or @kept or not @coordinator_known",
    ),
)

AFTER: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        **dict.fromkeys(_TOLD, (("errors-are-told", "@raised"),)),
        "application_polled": (("errors-are-told", "@raised or not @replaced"),),
        **dict.fromkeys(_DOUBTED, (("suspect-is-forgotten", "not @suspect"),)),
        "partitions_revoked": (
            ("revoked-is-removed", "not @removal_due"),
            ("lost-by-losing", "not @lost or @given != 'member'"),
            *_GOODBYE,
        ),
        "leave_requested": _GOODBYE,
        "partitions_assigned": (("assigned-is-enabled", "not @enable_due"),),
        "poll_interval_expired": (
            ("stalled-member-leaves", "not @stalled or not @in_group and (@static or @said_goodbye)"),
        ),
        "lookup_found": (("stalled-member-leaves", "not @stalled or not @in_group and (@static or @said_goodbye)"),),
    }
)
"""What must hold when the member has done with an event that was not late."""

CORRECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "callback_started": "@revoke_due and not @assign_due",
        "partitions_revoked": "@revoke_due and not @assign_due",
        "partitions_assigned": "@assign_due",
    }
)
"""When a correct application does something: it answers what it was asked, in the order of the queue."""
