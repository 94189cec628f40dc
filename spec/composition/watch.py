"""What a member's environment sees of it: the variables and assertions that watch a member without leading it.

A rule such as "at most one JoinGroup or SyncGroup in flight" speaks about what left the member and what came back. The watch's
variables follow exactly that, in words of the wire and of the listener, and never read the machines' own opinion of it.
Where a machine has an opinion too (`timeouts.IN_FLIGHT`), a property compares the two.

A name with `@` is a variable of the member: `@call_out` is `call_out[i]` where members are numbered, and `call_out` where there is
only one. Each assertion has the id of the property in `spec.properties` that says what it means and where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.compiler.model import Block, ModelVariable, Set
from groupspec.spec.composition.machines import claim

NO_YES: Final = (False, True)

WATCHED: Final = (
    ModelVariable("lookup_out", NO_YES, False, (), "a FindCoordinator is in flight"),
    ModelVariable("call_out", ("none", "JoinGroup", "SyncGroup"), "none", (), "the request of a rebalance that is in flight"),
    ModelVariable("heartbeat_out", NO_YES, False, (), "a heartbeat is in flight"),
    ModelVariable("commit_out", NO_YES, False, (), "the commit before a rebalance is in flight"),
    ModelVariable("generation_unused", NO_YES, False, (), "a JoinGroup was answered, and no SyncGroup has used its generation"),
    ModelVariable("in_group", NO_YES, False, (), "the last JoinGroup was answered, and nothing since has ended or renewed that membership"),
    ModelVariable("revoke_due", NO_YES, False, (), "REVOKE_PARTITIONS waits for the polling thread, or is being handled there"),
    ModelVariable("assign_due", NO_YES, False, (), "ASSIGN_PARTITIONS waits for the polling thread, or is being handled there"),
    ModelVariable("may_join", NO_YES, False, (), "the application has polled since it subscribed, was thrown an error, or let its poll interval expire"),
    ModelVariable("raised", NO_YES, False, (), "an ERROR has been queued by what happens now"),
    ModelVariable("given", ("none", "id", "member"), "none", (), "what the coordinator gave it, and nothing has ended: a member id, or that and a generation"),
    ModelVariable("said_goodbye", NO_YES, False, (), "a LeaveGroup has been sent by what happens now"),
    ModelVariable("left", NO_YES, False, (), "the member has left, in words or in silence, by what happens now"),
    ModelVariable("stalled", NO_YES, False, (), "what happens now has found that the application stalls"),
    ModelVariable("pending_said", NO_YES, False, (), "partitions were told that they will be taken away, and none was removed since"),
    ModelVariable("added_said", NO_YES, False, (), "partitions were told of an assignment that the listener has not heard of"),
    ModelVariable("removal_due", NO_YES, False, (), "the listener has heard now that partitions go, and they are not removed yet"),
    ModelVariable("asks_open", NO_YES, False, (), "the application has asked the coordinator something, and was not answered"),
    ModelVariable("lookup_rests", ("none", "backoff", "poll"), "none", (), "what must end before the next FindCoordinator, after one that failed"),
    ModelVariable("beat_due", NO_YES, False, (), "the heartbeat interval is over, and none was sent since"),
    ModelVariable("poll_late", NO_YES, False, (), "the poll interval is over, and nothing was polled since"),
    ModelVariable("join_rests", NO_YES, False, (), "the backoff after a JoinGroup or SyncGroup that the coordinator did not take runs"),
    ModelVariable("rejoin_due", NO_YES, False, (), "a rebalance was announced or wanted, or partitions were given up, and no JoinGroup has been sent since"),
    ModelVariable("commit_done", NO_YES, False, (), "the commit before the rebalance that is due was answered, or has run out of time"),
    ModelVariable("commit_rests", NO_YES, False, (), "the backoff after a commit that failed runs"),
    ModelVariable("leave_asked", NO_YES, False, (), "the application wants to leave, and has not left yet"),
    ModelVariable("enable_due", NO_YES, False, (), "the listener has heard now that partitions have come, and they are not enabled yet"),
    ModelVariable("callback", ("none", "revoked", "lost"), "none", (), "the listener runs, and was told this"),
    ModelVariable("suspect", NO_YES, False, (), "what happens now says that the coordinator is gone"),
)  # fmt: skip

_Entry = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
"""(assertions: id and what holds, assignments: target and value)."""

_WORDS: Final[Mapping[str, _Entry]] = MappingProxyType(
    {
        "FindCoordinator": (
            (
                ("one-lookup", "not @lookup_out"),
                ("lookup-is-needed", "@member_needs or @asks_open"),
                ("lookup-waits", "@lookup_rests == 'none'"),
            ),
            (("@lookup_out", "True"),),
        ),
        "JoinGroup": (
            (
                ("one-call", "@call_out == 'none'"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("callbacks-before-join", "not @revoke_due"),
                ("join-needs-a-poll", "@may_join"),
                ("join-waits", "not @join_rests"),
                ("commit-comes-first", "@commit_done or not (@auto_commit and @owned)"),
            ),
            (
                ("@call_out", "'JoinGroup'"),
                ("@generation_unused", "False"),
                ("@in_group", "False"),
                ("@rejoin_due", "False"),
            ),
        ),
        "SyncGroup": (
            (
                ("one-call", "@call_out == 'none'"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("sync-after-join", "@generation_unused"),
            ),
            (("@call_out", "'SyncGroup'"), ("@generation_unused", "False")),
        ),
        "Heartbeat": (
            (
                ("one-heartbeat", "not @heartbeat_out"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("heartbeat-as-member", "@in_group and @identity == 'member'"),
                ("heartbeat-when-due", "@beat_due"),
            ),
            (("@heartbeat_out", "True"), ("@beat_due", "False")),
        ),
        "LeaveGroup": (
            (
                ("to-a-known-coordinator", "@coordinator_known"),
                ("leave-once", "@given != 'none' and not @said_goodbye"),
                ("static-stays", "not @static"),
            ),
            (("@said_goodbye", "True"), ("@left", "True")),
        ),
        "OffsetCommit": (
            (
                ("one-commit", "not @commit_out"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("commit-what-is-owned", "@owned and @in_group and @identity == 'member' and not @lost"),
                ("no-commit-in-a-rebalance", "@call_out == 'none'"),
                ("commit-if-configured", "@auto_commit"),
                ("commit-waits", "not @commit_rests"),
            ),
            (("@commit_out", "True"),),
        ),
        "REVOKE_PARTITIONS": (
            (
                ("callbacks-alternate", "not @revoke_due"),
                ("paused-before-revoked", "@pending_said"),
                ("lost-was-owned", "not (@lost or @leaving) or @owned"),
                ("lost-by-losing", "not @lost or @given != 'member' or not @assign_due"),
                ("commit-comes-first", "@commit_done or not (@auto_commit and @owned) or @lost or @leaving"),
            ),
            (("@revoke_due", "True"),),
        ),
        "ASSIGN_PARTITIONS": (
            (("callbacks-alternate", "not @revoke_due"), ("added-before-assigned", "@added_said")),
            (("@assign_due", "True"),),
        ),
        "revocation_pending": ((), (("@pending_said", "True"),)),
        "partition_added": ((), (("@added_said", "True"),)),
        "partition_removed": (
            (("paused-before-revoked", "@pending_said"),),
            (
                ("@pending_said", "False"),
                ("@added_said", "False"),
                ("@removal_due", "False"),
                ("@commit_done", "False"),
            ),
        ),
        "partition_enabled": ((), (("@added_said", "False"), ("@enable_due", "False"), ("@commit_done", "False"))),
        "ERROR": ((), (("@raised", "True"),)),
        "coordinator_lost": (
            (("forget-then-fail", "not @coordinator_known"), ("forget-with-reason", "@suspect")),
            (
                ("@beat_due", "@beat_due and not @heartbeat_out"),
                ("@suspect", "False"),
                ("@join_rests", "@join_rests or @call_out != 'none'"),
                ("@call_out", "'none'"),
                ("@heartbeat_out", "False"),
                ("@commit_rests", "@commit_rests or @commit_out"),
                ("@commit_out", "False"),
            ),
        ),
        "heartbeats_enabled": ((), (("@beat_due", "False"), ("@poll_late", "False"))),
        "heartbeats_disabled": (
            (),
            (("@in_group", "False"), ("@heartbeat_out", "False"), ("@beat_due", "False"), ("@poll_late", "False")),
        ),
        "poll_limit_reached": (
            (("leaves-only-if-stalled", "@poll_late"),),
            (
                ("@may_join", "@may_join and @leaving"),
                ("@stalled", "@in_group and not @leaving"),
                ("@call_out", "'none'"),
                ("@generation_unused", "False"),
                ("@commit_out", "False"),
                ("@commit_rests", "@commit_rests and @leaving"),
                ("@commit_done", "False"),
            ),
        ),
        "leave_needed": (
            (("leaves-if-asked", "@leave_asked"),),
            (
                ("@leave_asked", "False"),
                ("@left", "True"),
                ("@call_out", "'none'"),
                ("@generation_unused", "False"),
                ("@commit_out", "False"),
                ("@may_join", "False"),
                ("@rejoin_due", "False"),
            ),
        ),
    }
)
"""What leaves the machines, or passes between them: what must hold then, and what the watch makes of it."""


def on_words(indexed: bool) -> Mapping[str, Block]:
    """What is checked and noted when a word is emitted, before anybody hears it."""
    return {word: _block(entry, indexed) for word, entry in _WORDS.items()}


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
_STALE = (*_OUTCAST, ("@given", "'id' if @given != 'none' else 'none'"))
_RESTS = (*_ENDS, ("@join_rests", "True"))
_COMMIT_RESTS = (("@commit_out", "False"), ("@commit_rests", "@commit_rests or @commit_out"))
_ANNOUNCED = (("@rejoin_due", "@rejoin_due or @call_out == 'none'"),)
_SUSPECT = (("@suspect", "True"),)
_LATER = (("@heartbeat_out", "False"), ("@beat_due", "False"))
_UNKNOWN = (*_OUTCAST, ("@given", "'none'"))
_FENCED = (*_UNKNOWN, ("@may_join", "False"))

_EVENTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
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
        "sync_accepted": _ENDS,
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
            ("@callback", "'none'"),
            ("@rejoin_due", "@rejoin_due or @in_group"),
        ),
        "partitions_assigned": (
            ("@assign_due", "False"),
            ("@enable_due", "@added_said and not @pending_said and @owned"),
        ),
        "application_polled": (
            ("@may_join", "@subscribed"),
            ("@poll_late", "False"),
            ("@lookup_rests", "'none' if @lookup_rests == 'poll' else @lookup_rests"),
        ),
        "rejoin_requested": (("@rejoin_due", "@rejoin_due or @rebalance != 'UNJOINED'"),),
        "leave_requested": (
            *_ENDS,
            ("@leave_asked", "@subscribed or @given != 'none'"),
            ("@commit_out", "False"),
            ("@commit_rests", "False"),
            ("@commit_done", "False"),
            ("@join_rests", "False"),
        ),
        "subscribed_to_topics": (("@may_join", "@may_join and @subscribed"),),
    }
)
"""What reaches the member, and what the watch makes of it before the machines hear it."""  # fmt: skip


def on_event(event: str, indexed: bool) -> Block:
    """What the watch notes of an event that is not late, before the machines hear it."""
    return _block(((), _EVENTS[event]), indexed) if event in _EVENTS else ()


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

_AFTER: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        **dict.fromkeys(_TOLD, (("errors-are-told", "@raised"),)),
        **dict.fromkeys(_DOUBTED, (("suspect-is-forgotten", "not @suspect"),)),
        "partitions_revoked": (("revoked-is-removed", "not @removal_due"),),
        "partitions_assigned": (("assigned-is-enabled", "not @enable_due"),),
        "poll_interval_expired": (
            ("stalled-member-leaves", "not @stalled or not @in_group and (@static or @said_goodbye)"),
        ),
        "lookup_found": (("stalled-member-leaves", "not @stalled or not @in_group and (@static or @said_goodbye)"),),
    }
)
"""What must hold when the member has done with an event that was not late."""


def after_event(event: str, indexed: bool) -> Block:
    """The checks at the end of an event, and the end of what is noted for the length of one only."""
    checks = tuple((name, holds) for name, holds in _AFTER.get(event, ()))
    ended = (
        ("@given", "'none' if @left or @stalled and @static else @given"),
        *(
            (f"@{name}", "False")
            for name in ("raised", "said_goodbye", "left", "stalled", "suspect", "removal_due", "enable_due")
        ),
    )
    return _block((checks, ended), indexed)


def _block(entry: _Entry, indexed: bool) -> Block:
    assertions, assignments = entry
    claims = tuple(claim(name, own(holds, indexed)) for name, holds in assertions)
    sets = (
        (Set(tuple((own(target, indexed), own(value, indexed)) for target, value in assignments)),)
        if assignments
        else ()
    )
    return (*claims, *sets)


def own(text: str, indexed: bool) -> str:
    """The text with `@name` as a variable of member i, or of the only one."""
    return re.sub(r"@(\w+)", r"\1[i]" if indexed else r"\1", text)


_CORRECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "callback_started": "@revoke_due and not @assign_due",
        "partitions_revoked": "@revoke_due and not @assign_due",
        "partitions_assigned": "@assign_due",
    }
)
"""When a correct application does something: it answers what it was asked, in the order of the queue."""


def correct(event: str, indexed: bool) -> str:
    """When a correct environment may bring the event about, as far as the watch can tell; error rows tell the rest."""
    return own(_CORRECT.get(event, "True"), indexed)
