"""What a member's environment sees of it: the variables and assertions that monitor a member without influencing it.

A rule such as "at most one JoinGroup or SyncGroup in flight" speaks about what left the member and what came back. The
monitor's variables follow exactly that, in words of the wire and of the listener, and not the machines' own opinion of
it. Where a machine has an opinion too (`timeouts.IN_FLIGHT`), a property compares the two. What the machines are at is
read only to say what a word or an event means: whether the deadline that ends is that of a commit, whether the listener
is told of a loss.

A row is (property, words or events, what must hold): the property's id, as in `data/properties/member.toml`, which says
what it means and where it comes from. A note is a list of assignments, all made at once:
`rebalance_request = 'none'; kept = False`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from groupspec.spec.compiler.model import Block, ModelVariable, flag
from groupspec.spec.composition.blocks import claim, sets

MONITOR_VARIABLES: Final = (
    flag("lookup_out", "a FindCoordinator is in flight"),
    ModelVariable("rebalance_request", ("none", "JoinGroup", "SyncGroup"), "none", (),
                  "the request of a rebalance that is in flight"),
    flag("heartbeat_out", "a heartbeat is in flight"),
    flag("commit_out", "the commit before a rebalance is in flight"),
    flag("generation_unused", "a JoinGroup was answered, and no SyncGroup has used its generation"),
    flag("in_group", "the last JoinGroup was answered, and nothing since has ended or renewed that membership"),
    flag("round_over", "a SyncGroup was accepted, and no JoinGroup has been sent since"),
    flag("revoke_due", "REVOKE_PARTITIONS waits for the polling thread, or is being handled there"),
    flag("assign_due", "ASSIGN_PARTITIONS waits for the polling thread, or is being handled there"),
    flag("may_join",
         "the application has polled since it subscribed, was thrown an error, or let its poll interval expire"),
    flag("replaced", "another process has its instance id, and it has not left since"),
    flag("raised", "an ERROR has been queued by what happens now"),
    ModelVariable("given", ("none", "id", "member"), "none", (),
                  "what the coordinator gave it, and nothing has ended: a member id, or that and a generation"),
    flag("kept", "its member id is what a lost generation has left it, and no JoinGroup has been sent with it since"),
    flag("said_goodbye", "a LeaveGroup has been sent by what happens now"),
    flag("left", "the member has left, in words or in silence, by what happens now"),
    flag("stalled", "what happens now has found that the application stalls"),
    flag("pending_said", "partitions were told that they will be taken away, and none was removed since"),
    flag("added_said", "partitions were told of an assignment that the listener has not heard of"),
    flag("removal_due", "the listener has heard now that partitions go, and they are not removed yet"),
    flag("requests_open", "the application has asked the coordinator something, and was not answered"),
    ModelVariable("discovery_rests", ("none", "backoff", "poll"), "none", (),
                  "what must end before the next FindCoordinator, after one that failed"),
    flag("beat_due", "the heartbeat interval is over, and none was sent since"),
    flag("poll_late", "the poll interval is over, and nothing was polled since"),
    flag("join_rests", "the backoff after a JoinGroup or SyncGroup that the coordinator did not take runs"),
    flag("rejoin_due",
         "a rebalance was announced or wanted, or partitions were given up, and no JoinGroup has been sent since"),
    flag("commit_done", "the commit before the rebalance that is due was answered, or has run out of time"),
    flag("commit_outdated",
         "since that commit was sent the application has given up a topic, of which it may have read on"),
    flag("commit_rests", "the backoff after a commit that failed runs"),
    flag("leave_asked", "the application wants to leave, and has not left yet"),
    flag("enable_due", "the listener has heard now that partitions have come, and they are not enabled yet"),
    ModelVariable("callback", ("none", "revoked", "lost"), "none", (), "the listener runs, and was told this"),
    flag("has", "it has partitions: of the last assignment, or what the last revocation left of them"),
    flag("assigned", "the last assignment is not empty"),
    flag("taken",
         "the last assignment, or subscription, takes something of what it has, and the listener has not heard so"),
    flag("stays", "the last assignment, or subscription, leaves it something of what it had"),
    ModelVariable("taken_later", ("none", "some", "all"), "none",
                  doc="what the subscription takes of the last assignment, which is not the member's yet"),
    flag("suspect", "what happens now says that the coordinator is gone"),
)  # fmt: skip

# What leaves the member, or passes between its machines ---------------------------------------------------------------

WORD_CHECKS: Final = (
    ("one-lookup", "FindCoordinator", "not lookup_out"),
    ("lookup-is-needed", "FindCoordinator", "member_needs or requests_open"),
    ("lookup-waits", "FindCoordinator", "discovery_rests == 'none'"),
    ("fenced-says-nothing", "JoinGroup SyncGroup Heartbeat OffsetCommit", "not replaced"),
    ("one-call", "JoinGroup SyncGroup", "rebalance_request == 'none'"),
    ("one-heartbeat", "Heartbeat", "not heartbeat_out"),
    ("one-commit", "OffsetCommit", "not commit_out"),
    ("to-a-known-coordinator", "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit", "coordinator_known"),
    ("callbacks-before-join", "JoinGroup", "not revoke_due"),
    ("join-needs-a-poll", "JoinGroup", "may_join"),
    ("join-waits", "JoinGroup", "not join_rests"),
    ("commit-comes-first", "JoinGroup", "commit_done or not (auto_commit and owned)"),
    ("unwanted-goes-first", "JoinGroup", "not taken"),
    ("sync-after-join", "SyncGroup", "generation_unused"),
    ("heartbeat-as-member", "Heartbeat", "in_group and identity == 'member'"),
    ("heartbeat-when-due", "Heartbeat", "beat_due"),
    ("leave-once", "LeaveGroup", "given != 'none' and not kept and not said_goodbye"),
    ("static-stays", "LeaveGroup", "not static"),
    ("commit-what-is-owned", "OffsetCommit", "owned and in_group and identity == 'member' and not lost"),
    ("no-commit-in-a-rebalance", "OffsetCommit", "rebalance_request == 'none'"),
    ("commit-if-configured", "OffsetCommit", "auto_commit"),
    ("commit-waits", "OffsetCommit", "not commit_rests"),
    ("commit-ends-once", "OffsetCommit", "not commit_done"),
    ("callbacks-alternate", "REVOKE_PARTITIONS ASSIGN_PARTITIONS", "not revoke_due"),
    ("paused-before-revoked", "REVOKE_PARTITIONS partition_removed", "pending_said"),
    ("revoked-for-cause", "REVOKE_PARTITIONS", "taken or lost or leaving or rejoin_due"),
    ("lost-was-owned", "REVOKE_PARTITIONS", "not (lost or leaving) or owned"),
    ("lost-by-losing", "REVOKE_PARTITIONS", "not lost or given != 'member' or not round_over or stalled"),
    ("commit-comes-first", "REVOKE_PARTITIONS", "commit_done or not (auto_commit and owned) or lost or leaving"),
    ("added-before-assigned", "ASSIGN_PARTITIONS", "added_said"),
    ("taken-is-revoked", "ASSIGN_PARTITIONS", "not taken"),
    ("forget-then-fail", "coordinator_lost", "not coordinator_known"),
    ("forget-with-reason", "coordinator_lost", "suspect"),
    ("leaves-only-if-stalled", "poll_limit_reached", "poll_late"),
    ("leaves-if-asked", "leave_needed", "leave_asked"),
)
"""(property, the words with which it is checked, what must hold)."""

WORD_NOTES: Final[Mapping[str, str]] = {
    "FindCoordinator": "lookup_out = True",
    "JoinGroup": "rebalance_request = 'JoinGroup'; generation_unused = False; in_group = False; rejoin_due = False;"
    " kept = False; round_over = False",
    "SyncGroup": "rebalance_request = 'SyncGroup'; generation_unused = False",
    "Heartbeat": "heartbeat_out = True; beat_due = False",
    "LeaveGroup": "said_goodbye = True; left = True",
    "OffsetCommit": "commit_out = True; commit_outdated = False",
    "REVOKE_PARTITIONS": "revoke_due = True",
    "ASSIGN_PARTITIONS": "assign_due = True; taken = taken_later != 'none'; stays = taken_later == 'some';"
    " taken_later = 'none'",
    "revocation_pending": "pending_said = True",
    "partition_added": "added_said = True; has = assigned; assigned = False; stays = False",
    "partition_removed": "pending_said = False; added_said = False; removal_due = False;"
    " commit_done = commit_done and unwanted",
    "partition_enabled": "added_said = False; enable_due = False; commit_done = False",
    "ERROR": "raised = True",
    "coordinator_lost": "beat_due = beat_due and not heartbeat_out; suspect = False;"
    " join_rests = join_rests or rebalance_request != 'none'; rebalance_request = 'none'; heartbeat_out = False;"
    " commit_rests = commit_rests or commit_out; commit_out = False",
    "heartbeats_enabled": "beat_due = False; poll_late = False",
    "heartbeats_disabled": "in_group = False; heartbeat_out = False; beat_due = False; poll_late = False",
    "poll_limit_reached": "may_join = may_join and leaving; stalled = in_group and not leaving;"
    " rebalance_request = 'none'; generation_unused = False; commit_out = False;"
    " commit_rests = commit_rests and leaving; commit_done = False",
    "leave_needed": "leave_asked = False; replaced = False; left = True; rebalance_request = 'none';"
    " generation_unused = False; commit_out = False; may_join = False; rejoin_due = False",
}
"""Word to what the monitor notes of it."""

# What reaches the member ----------------------------------------------------------------------------------------------

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
_COMMIT_SETTLED: Final = f"{_COMMIT_ENDS} and not commit_outdated"
_GIVES_UP: Final = "rebalance == 'STABLE' and cooperative and has and revokes_any"
"""From then on what was committed before is not enough: the application has read on."""
_ANNOUNCED: Final = "rejoin_due = rejoin_due or rebalance_request == 'none'"
_POLLED: Final = "discovery_rests = 'none' if discovery_rests == 'poll' else discovery_rests"
_STAYS: Final = "cooperative and has and (retains_any or not revokes_any)"
"""What an eager member had when it joined counts for nothing: its assignment says everything."""
_APPLIED: Final = "fits_subscription or published"
"""What does not fit the subscription is no assignment; the proposal says nothing of it."""
_KEEPS: Final = "cooperative and has and revokes_any and retains_any"
_RESUBSCRIBES: Final = "deployed and (rebalance == 'STABLE' or rebalance == 'ASSIGNING_PARTITIONS')"
"""Then the next JoinGroup is to come yet. While a round is under way, SyncGroup's answer says what goes."""
_WAITS_FOR_REVOCATION: Final = (
    "assigned and in_group and"
    " (rebalance == 'PREPARE_REVOCATION' or rebalance == 'REVOKING_PARTITION' or rebalance == 'PARTITION_REVOKED')"
)
_TAKEN_LATER: Final = "(('some' if retains_any else 'all') if revokes_any else 'none')"

EVENT_NOTES: Final[Mapping[str, str]] = {
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
    f" rejoin_due = rejoin_due or not ({_APPLIED}); commit_done = False; round_over = True;"
    " taken_later = 'none'",
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
    "commit_settled": _COMMIT_SETTLED,
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
    f" stays = {_KEEPS} if {_RESUBSCRIBES} else stays;"
    f" taken_later = {_TAKEN_LATER} if {_WAITS_FOR_REVOCATION} else taken_later;"
    f" commit_done = commit_done and not ({_GIVES_UP});"
    f" commit_outdated = commit_outdated or commit_out and {_GIVES_UP}",
    "rejoin_requested": "rejoin_due = rejoin_due or rebalance != 'UNJOINED'",
    "leave_requested": f"{_ENDS}; leave_asked = subscribed or given != 'none'; commit_out = False;"
    " commit_rests = False; commit_done = False; join_rests = False; stays = stays and revoke_due;"
    " kept = kept or given == 'id' and owned",
    "subscribed_to_topics": "may_join = may_join and subscribed",
}
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

EVENT_CHECKS: Final = (
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

CORRECT: Final[Mapping[str, str]] = {
    "callback_started": "revoke_due and not assign_due",
    "partitions_revoked": "revoke_due and not assign_due",
    "partitions_assigned": "assign_due",
}
"""When a correct application does something: it answers what it was asked, in the order of the queue. Error rows of the
tables say when a correct environment does not."""

_ENDED: Final = (
    "given = 'none' if left or stalled and static else given; kept = kept and not left; raised = False;"
    " said_goodbye = False; left = False; stalled = False; suspect = False; removal_due = False; enable_due = False"
)
"""The end of what is noted for the length of one event."""


def on_words() -> Mapping[str, Block]:
    """What is checked and noted when a word is emitted, before anybody hears it."""
    return {word: _block(word, WORD_CHECKS, note) for word, note in WORD_NOTES.items()}


def on_event(event: str) -> Block:
    """What the monitor notes of an event that is not late, before the machines take it."""
    return sets(EVENT_NOTES.get(event, ""))


def after_event(event: str) -> Block:
    """The checks at the end of an event, and the end of what is noted for the length of one only."""
    return _block(event, EVENT_CHECKS, _ENDED)


def _block(name: str, checks: Iterable[tuple[str, str, str]], note: str) -> Block:
    claims = (claim(property_id, holds) for property_id, names, holds in checks if name in names.split())
    return (*chain.from_iterable(claims), *sets(note))
