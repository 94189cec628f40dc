"""What leaves a member, or passes between its machines: what must hold then, and what the monitor notes of it.

`monitor.py` says what the variables mean, and how a row is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CHECKS: Final = (
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

NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FindCoordinator": "lookup_out = True",
        "JoinGroup": "rebalance_request = 'JoinGroup'; generation_unused = False; in_group = False; rejoin_due = False;"
        " kept = False; round_over = False",
        "SyncGroup": "rebalance_request = 'SyncGroup'; generation_unused = False",
        "Heartbeat": "heartbeat_out = True; beat_due = False",
        "LeaveGroup": "said_goodbye = True; left = True",
        "OffsetCommit": "commit_out = True",
        "REVOKE_PARTITIONS": "revoke_due = True",
        "ASSIGN_PARTITIONS": "assign_due = True",
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
)
"""Word to what the monitor notes of it."""
