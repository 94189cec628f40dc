"""What leaves a member, or passes between its machines.

What must hold then, and what the monitor makes of it (see `monitor.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Entry = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
"""(assertions: id and what holds, assignments: target and value)."""

WORDS: Final[Mapping[str, Entry]] = MappingProxyType(
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
                ("fenced-says-nothing", "not @replaced"),
                ("one-call", "@call_out == 'none'"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("callbacks-before-join", "not @revoke_due"),
                ("join-needs-a-poll", "@may_join"),
                ("join-waits", "not @join_rests"),
                ("commit-comes-first", "@commit_done or not (@auto_commit and @owned)"),
                ("unwanted-goes-first", "not @taken"),
            ),
            (
                ("@call_out", "'JoinGroup'"),
                ("@generation_unused", "False"),
                ("@in_group", "False"),
                ("@rejoin_due", "False"),
                ("@kept", "False"),
                ("@round_over", "False"),
            ),
        ),
        "SyncGroup": (
            (
                ("fenced-says-nothing", "not @replaced"),
                ("one-call", "@call_out == 'none'"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("sync-after-join", "@generation_unused"),
            ),
            (("@call_out", "'SyncGroup'"), ("@generation_unused", "False")),
        ),
        "Heartbeat": (
            (
                ("fenced-says-nothing", "not @replaced"),
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
                ("leave-once", "@given != 'none' and not @kept and not @said_goodbye"),
                ("static-stays", "not @static"),
            ),
            (("@said_goodbye", "True"), ("@left", "True")),
        ),
        "OffsetCommit": (
            (
                ("fenced-says-nothing", "not @replaced"),
                ("one-commit", "not @commit_out"),
                ("to-a-known-coordinator", "@coordinator_known"),
                ("commit-what-is-owned", "@owned and @in_group and @identity == 'member' and not @lost"),
                ("no-commit-in-a-rebalance", "@call_out == 'none'"),
                ("commit-if-configured", "@auto_commit"),
                ("commit-waits", "not @commit_rests"),
                ("commit-ends-once", "not @commit_done"),
            ),
            (("@commit_out", "True"),),
        ),
        "REVOKE_PARTITIONS": (
            (
                ("callbacks-alternate", "not @revoke_due"),
                ("paused-before-revoked", "@pending_said"),
                ("revoked-for-cause", "@taken or @lost or @leaving or @rejoin_due"),
                ("lost-was-owned", "not (@lost or @leaving) or @owned"),
                ("lost-by-losing", "not @lost or @given != 'member' or not @round_over or @stalled"),
                ("commit-comes-first", "@commit_done or not (@auto_commit and @owned) or @lost or @leaving"),
            ),
            (("@revoke_due", "True"),),
        ),
        "ASSIGN_PARTITIONS": (
            (
                ("callbacks-alternate", "not @revoke_due"),
                ("added-before-assigned", "@added_said"),
                ("taken-is-revoked", "not @taken"),
            ),
            (("@assign_due", "True"),),
        ),
        "revocation_pending": ((), (("@pending_said", "True"),)),
        "partition_added": (
            (),
            (("@added_said", "True"), ("@has", "@assigned"), ("@assigned", "False"), ("@stays", "False")),
        ),
        "partition_removed": (
            (("paused-before-revoked", "@pending_said"),),
            (
                ("@pending_said", "False"),
                ("@added_said", "False"),
                ("@removal_due", "False"),
                ("@commit_done", "@commit_done and @unwanted"),
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
                ("@replaced", "False"),
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
"""What leaves the machines, or passes between them: what must hold then, and what the monitor makes of it."""
