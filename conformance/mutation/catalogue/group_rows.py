"""Breakers of the chapter G in the broker group's machine: what a coordinator would do if a row said something else."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.mutation.rows import Change, Which, cell, doing, guard, ignored, rows_changed, to, without

GROUP: Final = "broker_group"
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"
KNOWN: Final = "requester == 'member'"

# fmt: off
_BREAKERS: Final[tuple[tuple[str, str, Which, Change, str], ...]] = (
    # id                       rules    rows                                                        change
    # what a coordinator does then
    ("G1-nobody-waits", "G1", cell(PREPARING, "group_join_phase_checked"), guard("all_joined and ", ""),
     "The join phase ends with the first JoinGroup, whoever has not rejoined."),
    ("G1-waits-for-ever", "G1", cell(PREPARING, "group_join_phase_checked"), ignored,
     "The join phase does not end when all have joined, only with the rebalance timeout."),
    ("G1-first-round-only", "G1", cell(STABLE, "group_join", guard="'pending'"),
     doing("check_join_phase", "drop_pending"), "Nobody looks whether a newcomer completes the join phase."),
    ("G2-in-the-sync-phase", "G2", cell(COMPLETING, "group_assignment_stored"), doing("answer_syncs", "complete_join"),
     "The generation grows when the assignment is stored, too."),
    ("G2-not-at-the-end", "G2", cell(PREPARING, "group_join_phase_checked"), without("complete_join"),
     "The join phase ends in the old generation."),
    ("G3-no-delay", "G3", cell(PREPARING, "group_join_phase_checked"), guard("not initial_delay and ", ""),
     "A group that was empty does not wait for others."),
    ("G3-not-begun", "G3", cell("Empty", "group_join", guard="'pending'"),
     doing("start_initial_delay", "start_rebalance_timer"), "The first member of a group starts no initial delay."),
    ("G3-not-prolonged", "G3", cell(PREPARING, "group_initial_delay_elapsed", guard="newcomer_seen"),
     without("prolong_initial_delay"), "A newcomer does not prolong the initial delay."),
    ("G4-pending-for-ever", "G4", cell(STABLE, "group_session_expired", guard="'pending'"), ignored,
     "An id that was handed out and never came back is never dropped."),
    ("G1-still-pending", "G1", cell(STABLE, "group_join", guard="'pending'"), without("drop_pending"),
     "An id that has joined still counts as pending, and the join phase waits for it."),
    ("G5-for-ever", "G5", cell(STABLE, "group_session_expired", guard=KNOWN), ignored,
     "A member of a stable group whose session has expired stays."),
    ("G5-parked", "G5", cell(PREPARING, "group_session_expired", guard=KNOWN), guard("not waits and ", ""),
     "A member whose JoinGroup is parked expires."),
    ("G6-for-ever", "G1 G6", cell(PREPARING, "group_rebalance_timeout"), ignored,
     "Who heartbeats and never rejoins holds the group up for ever."),
    ("G6-removed-at-once", "G6", cell(PREPARING, "group_heartbeat", guard=KNOWN), doing("keep_alive", "remove_member"),
     "Who heartbeats instead of rejoining is removed before the rebalance timeout."),
    ("G8-dead-last", "G8 G13", cell("Dead", "group_sync", "group_heartbeat"),
     doing("answer_not_coordinator", "answer_unknown_member_id"), "A Dead group looks at the member first."),
    ("G8-old-generation", "G8", cell(PREPARING, "group_sync", guard="not generation_matches"),
     doing("answer_illegal_generation", "answer_rebalance_in_progress"),
     "In PreparingRebalance the state is told before the generation is looked at."),
    ("G9-no-barrier", "G9", cell(COMPLETING, "group_sync"), doing("park_sync", "answer_stored_assignment"),
     "SyncGroup is answered before the leader has brought the assignment."),
    ("G9-nobody-is-answered", "G9", cell(COMPLETING, "group_assignment_stored"), without("answer_syncs"),
     "The parked SyncGroups stay unanswered when the assignment is stored."),
    ("G9-unsynced-stay", "G9", cell(STABLE, "group_sync_timeout"), ignored,
     "Who has not synced stays in a stable group."),
    ("G9-parked-forgotten", "G9", cell(COMPLETING, "group_join", "group_leave", "group_sync_timeout"),
     without("fail_parked_syncs"),
     "A rebalance that begins in the sync phase leaves the parked SyncGroups unanswered."),
    ("G11-always-rebalances", "G11", cell(STABLE, "group_join", guard="not protocol_changes"), to(PREPARING),
     "A static member that returns to a stable group starts a rebalance."),
    ("G13-loaded-unfinished", "G13", cell("Loading", "group_loaded", guard="members_stored"), to(PREPARING),
     "A coordinator that loads a group goes on with a rebalance that nobody is in."),
    ("G13-skips-the-sync", "G13", cell(PREPARING, "group_rebalance_timeout"), to(STABLE),
     "A group is stable when its join phase ends."),
    ("G9-log-ignored", "G9", cell(COMPLETING, "group_assignment_lost"), ignored,
     "A log that refuses the assignment leaves the group waiting."),
    ("G13-deleted-is-dead", "G13", cell("Empty", "group_deleted"), to("Dead"),
     "A group whose records are deleted is not there for its next member."),
    ("G13-moved-in-silence", "G13", cell(STABLE, "group_unloaded"), without("fail_parked_not_coordinator"),
     "A coordinator that moves does not answer the parked requests."),
    ("G13-empty-accepts", "G13", cell("Empty", "group_commit", guard="not group_known and told_of"),
     doing("answer_group_id_not_found", "answer_none"),
     "A commit of a member of a group that nobody knows is accepted."),
)
# fmt: on

for _identifier, _rules, _which, _change, _what in _BREAKERS:
    rows_changed(_identifier, _rules, GROUP, _which, _change, _what)
