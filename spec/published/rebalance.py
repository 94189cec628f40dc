"""The rebalance as the threading refactor proposal has it.

The commit follows the callback. A cooperative member revokes before SyncGroup, without knowing what, and its path has
no PREPARING_REBALANCE: no JoinGroup is ever sent on it. An assignment is taken whatever it is. Whoever loses the
membership is UNJOINED at once, as in Kafka before KIP-429, and no callback says so.

Sources: threading refactor proposal (Apache Kafka wiki), "Rebalance States".
"""

from __future__ import annotations

from typing import Final

from groupspec.spec.overlay import Overlay
from groupspec.spec.rebalance import COMMIT_IN_FLIGHT, JOIN_IN_FLIGHT, WAITING_TO_JOIN, Rebalance

PUBLISHED: Final = Overlay(Rebalance)
row, ignored = PUBLISHED.row, PUBLISHED.ignored

UNJOINED = Rebalance.UNJOINED
PREPARE_REVOCATION = Rebalance.PREPARE_REVOCATION
REVOKING_PARTITION = Rebalance.REVOKING_PARTITION
PARTITION_REVOKED = Rebalance.PARTITION_REVOKED
PREPARING_REBALANCE = Rebalance.PREPARING_REBALANCE
COMPLETING_REBALANCE = Rebalance.COMPLETING_REBALANCE
ASSIGNING_PARTITIONS = Rebalance.ASSIGNING_PARTITIONS
STABLE = Rebalance.STABLE
HOLDING, COMMITTING = Rebalance.HOLDING, Rebalance.COMMITTING

# fmt: off
# -- a rebalance is announced, or wanted: both protocols revoke first, and commit nothing ------------------------------
row(STABLE, "heartbeat_rebalance_in_progress", PREPARE_REVOCATION, rules="H4 M2 Q4 Q5",
    when="current and not preparing",            do=["pause_owned", "skip_commit"])
row(STABLE, "commit_rebalance_in_progress",    PREPARE_REVOCATION, rules="H4 M2 Q4 Q5",
    when=COMMIT_IN_FLIGHT & "not preparing",     do=["pause_owned", "skip_commit"])
row(STABLE, "rejoin_requested",                PREPARE_REVOCATION, rules="J8 Q4 Q5",
    when="not preparing",                    do=["pause_owned", "skip_commit"])

# -- the commit follows the callback; a cooperative member goes on to SyncGroup without a JoinGroup --------------------
row(REVOKING_PARTITION, "partitions_revoked", PARTITION_REVOKED, rules="C1 C3 Q2",
    when="callback_running and not leaving and not lost and identity == 'member' and auto_commit",
    do=["shrink", "commit"])
row(REVOKING_PARTITION, "partitions_revoked", PARTITION_REVOKED, rules="C1 C3 Q2 Q4",
    when="callback_running and not leaving and not lost and identity == 'member' and not auto_commit",
    do=["shrink", "go_on"])
row(PARTITION_REVOKED, "revocation_done", None,                 rules="Q4 J2", when="eager",       do=["join"])
row(PARTITION_REVOKED, "revocation_done", COMPLETING_REBALANCE, rules="Q4",    when="cooperative",
    do=["want_follow_up", "send_sync_group"])

# -- heartbeats begin with the answer to SyncGroup, and every assignment is taken --------------------------------------
row(PREPARING_REBALANCE,  "join_accepted", COMPLETING_REBALANCE, rules="J9 S2",
    when=JOIN_IN_FLIGHT,                     do=["become_member", "send_sync_group"])
row(COMPLETING_REBALANCE, "sync_accepted", ASSIGNING_PARTITIONS, rules="J9 C3",
    when="current",                          do=["take_assignment", "enable_heartbeats", "send_assign_partitions"])

# -- the membership is lost: no callback says so -----------------------------------------------------------------------
row(PREPARING_REBALANCE,  "join_unknown_member",          UNJOINED, rules="J4 J2",
    when=JOIN_IN_FLIGHT,                     do=["forget_identity", "join"])
row(PREPARING_REBALANCE,  "join_fenced",                  UNJOINED, rules="X2",
    when=JOIN_IN_FLIGHT,                     do=["forget_identity", "fence", "throw"])
row(COMPLETING_REBALANCE, "sync_unknown_member",          UNJOINED, rules="J4 J2 H3",
    when="current",                          do=["forget_identity", "disable_heartbeats", "join"])
row(COMPLETING_REBALANCE, "sync_illegal_generation",      UNJOINED, rules="J4 J2 H3",
    when="current",                          do=["forget_generation", "disable_heartbeats", "join"])
row(COMPLETING_REBALANCE, "sync_fenced",                  UNJOINED, rules="X2 H3",
    when="current",                          do=["forget_identity", "disable_heartbeats", "fence", "throw"])
row(HOLDING,              "heartbeat_unknown_member",     UNJOINED, rules="J4 H4 M2 H3 J2",
    when="current",                          do=["forget_identity", "drop_rebalance", "join"])
row(COMMITTING,           "commit_unknown_member",        UNJOINED, rules="J4 H4 M2 H3 J2",
    when=COMMIT_IN_FLIGHT,                       do=["forget_identity", "drop_rebalance", "join"])
row(HOLDING,              "heartbeat_illegal_generation", UNJOINED, rules="J4 H4 M2 H3 J2",
    when="current",                          do=["forget_generation", "drop_rebalance", "join"])
row(COMMITTING,           "commit_illegal_generation",    UNJOINED, rules="J4 H4 M2 H3 J2",
    when=COMMIT_IN_FLIGHT,                       do=["forget_generation", "drop_rebalance", "join"])
row(HOLDING,              "heartbeat_fenced",             UNJOINED, rules="X2 H3",
    when="current",                          do=["forget_identity", "fence", "throw", "drop_rebalance"])
row(COMMITTING,           "commit_fenced",                UNJOINED, rules="X2 H3",
    when=COMMIT_IN_FLIGHT,                       do=["forget_identity", "fence", "throw", "drop_rebalance"])
row(HOLDING,              "poll_limit_reached",           UNJOINED, rules="P1 H3",
    when="not static",                       do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"])
row(HOLDING,              "poll_limit_reached",           UNJOINED, rules="P1 L1 H3",
    when="static",                           do=["forget_identity", "await_poll", "drop_rebalance"])
row(PREPARING_REBALANCE,  "heartbeat_unknown_member",     UNJOINED, rules="J4 H4 H3 J2",
    when=WAITING_TO_JOIN,                    do=["forget_identity", "drop_rebalance", "join"])
row(PREPARING_REBALANCE,  "heartbeat_illegal_generation", UNJOINED, rules="J4 H4 H3 J2",
    when=WAITING_TO_JOIN,                    do=["forget_generation", "drop_rebalance", "join"])
row(PREPARING_REBALANCE,  "heartbeat_fenced",             UNJOINED, rules="X2 H3",
    when=WAITING_TO_JOIN,                    do=["forget_identity", "fence", "throw", "drop_rebalance"])
row(PREPARING_REBALANCE,  "poll_limit_reached",           UNJOINED, rules="P1 H3",
    when="identity == 'member' and not static",
    do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"])
row(PREPARING_REBALANCE,  "poll_limit_reached",           UNJOINED, rules="P1 L1 H3",
    when="identity == 'member' and static",      do=["forget_identity", "await_poll", "drop_rebalance"])

# -- what changes nothing: the end of a callback that was asked for before the membership was lost ---------------------
ignored((UNJOINED, PREPARING_REBALANCE, *HOLDING, ASSIGNING_PARTITIONS), ("callback_started", "partitions_revoked"))
# fmt: on
