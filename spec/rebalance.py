"""The rebalance, as one member lives through it.

A member never rebalances alone: the coordinator announces it, in the answer to a heartbeat or a commit, and every member
answers with a JoinGroup. From JoinGroup's answer the member knows its generation; from SyncGroup's, its partitions. What the
threading refactor adds to Kafka's four states are those in which the application is at work:

- PREPARE_REVOCATION: partitions that will be taken away are paused, and what was consumed of them is committed;
- REVOKING_PARTITION: the listener runs, or waits for a poll to run in. It ends when the polling thread says so;
- PARTITION_REVOKED: the subscription no longer has them;
- ASSIGNING_PARTITIONS: the listener is told of the new ones.

**Eager** members give up everything before they join. **Cooperative** members (KIP-429) keep what they own while they join,
give up after SyncGroup only what the new assignment lacks, and then rejoin, so that somebody else can have it: a partition
that moves needs two generations. They read on meanwhile, for as long as the slowest member takes to join. So they commit twice
(rule M8): before JoinGroup, since they might be put out while they wait; and, when what goes is paused, once more. What they own of
topics that they no longer subscribe to they give up before JoinGroup (`unwanted`), as eager members do with everything: when the
application has subscribed to other topics, and when SyncGroup's answer does not fit the subscription any more. That assignment is
dropped (rule J1): the member is STABLE with what it had, and another rebalance is due at once. Where a round is under way, or such
a revocation, its answer says what goes. The proposal has neither; published takes what it is given.

**Two profiles.** *published* is the proposal to the letter: the commit follows the callback, and the cooperative path has no
PREPARING_REBALANCE, so no JoinGroup is ever sent on it. *deployed* is what a broker accepts: the commit comes first, and
a cooperative member joins like any other. `differences.py` lists every such place with both statements and their sources.

**Losing the membership** is not in the proposal. Deployed: an answer UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION, fencing, or a
poll interval that ran out, take the identity away at once. Partitions still owned are then *lost*: nothing is committed for
them (rule C2), the callback is onPartitionsLost, and only after it does the member join again. If the callback onPartitionsRevoked
is queued but not begun, it becomes onPartitionsLost (rule P3); once begun it stays what it is, and what is still owned
afterwards is lost in a second one. The member id outlives a lost generation, to join again with; until it has, there is nothing to
leave, and who leaves forgets the id without a LeaveGroup (rule L1). Published: the member is UNJOINED, as in Kafka before KIP-429, and no callback says so.

**Who sees which event.** Answers and timers come to the background thread, callbacks' ends from the polling thread. From its
neighbours the machine reads `coordinator_known`, which holds JoinGroup and commits back, and hears when the coordinator is found
or lost, and `poll_limit_reached`, by which the timers say that the application has stalled. To the connection it says
`coordinator_needed`, `coordinator_needless`, `coordinator_gone` when an answer says so, and `rejoin_requested`; to the timers
`heartbeats_enabled` when a generation is joined and `heartbeats_disabled` when JoinGroup is sent or the identity is gone (rules
H1, H3); and to each partition that it concerns `partition_added`, `partition_enabled` when its listener has heard of it,
`revocation_pending` and `partition_removed`. Its other words it says to itself.

**Fenced** (KIP-345): another process has the instance id, and whoever joined again with an empty member id would take it back,
and be taken for the newer one: two such processes fence each other for ever. So fencing is final, whatever request says so. All
traffic ends, each poll throws the error again, and only the application can begin anew: unsubscribe(), and then subscribe().

**Three things that hold a JoinGroup back**: an application that has not polled since it subscribed, was thrown an error or
let its poll interval expire (`polled`, rule J7); a retry backoff (`join_backoff`, rule D3); an unknown coordinator (rule D4).
Whichever ends last raises `join_needed`. In PREPARING_REBALANCE a JoinGroup is out exactly if none of the three holds.

Rows T1 to T11 below are those of Kafka's AbstractCoordinator (see `KAFKA_TRANSITIONS`).

Sources: threading refactor proposal (Apache Kafka wiki), "Rebalance States", "Test Plan"; KIP-62; KIP-429; KIP-394; Kafka
AbstractCoordinator (JoinGroupResponseHandler, SyncGroupResponseHandler, HeartbeatResponseHandler, maybeLeaveGroup),
ConsumerCoordinator (onJoinPrepare, onJoinComplete, onLeavePrepare).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.machine import State, StateMachine, error, ignored, row


class Rebalance(StateMachine):
    """One member's way from announcement to assignment, and out of the group."""

    machine_name = "rebalance"

    UNJOINED = State(initial=True)
    PREPARE_REVOCATION = State()
    REVOKING_PARTITION = State()
    PARTITION_REVOKED = State()
    PREPARING_REBALANCE = State()
    COMPLETING_REBALANCE = State()
    ASSIGNING_PARTITIONS = State()
    STABLE = State()

    # fmt: off
    _CALLBACKS = (REVOKING_PARTITION, ASSIGNING_PARTITIONS)
    _COMMITTING = (PREPARE_REVOCATION, PARTITION_REVOKED, STABLE)
    _HOLDING = (PREPARE_REVOCATION, PARTITION_REVOKED, COMPLETING_REBALANCE, STABLE)
    _JOINED = (PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE)
    _GENERATION = (PREPARE_REVOCATION, PARTITION_REVOKED, COMPLETING_REBALANCE, STABLE)
    _NOT_JOINED = (UNJOINED, PREPARING_REBALANCE)
    _EVERY = (*_NOT_JOINED, *_JOINED)

    _JOIN_IS_OUT = "current and polled and coordinator_known and not join_backoff"

    _COMMIT_IS_OUT = "current and coordinator_known and (commit_step == 'out' or commit_step == 'none' and owned and identity == 'member')"

    _HEARTBEAT_ANSWERS = ("heartbeat_rebalance_in_progress", "heartbeat_unknown_member", "heartbeat_illegal_generation", "heartbeat_fenced")
    _COMMIT_ANSWERS = ("commit_settled", "commit_retriable", "commit_coordinator_gone", "commit_rebalance_in_progress", "commit_unknown_member", "commit_illegal_generation", "commit_fenced")
    _JOIN_ANSWERS = ("join_accepted", "join_member_id_required", "join_rebalance_in_progress", "join_unknown_member", "join_coordinator_loading", "join_coordinator_gone", "join_fenced", "join_fatal")
    _SYNC_ANSWERS = ("sync_accepted", "sync_rebalance_in_progress", "sync_unknown_member", "sync_illegal_generation", "sync_coordinator_gone", "sync_fenced", "sync_fatal")

    #   in state               on event                       goes to               when                                                                      do                                                                rules

    # -- wanting to be in the group --------------------------------------------------------------------------------------
    row(UNJOINED,              "subscribed_to_topics",        None,                 when="not subscribed",                                                    do=["subscribe"],                                                 rules="J7")
    row(UNJOINED,              "application_polled",          None,                 when="subscribed and not polled and not fenced",                          do=["note_poll", "need_coordinator", "join"],                     rules="J7 D1 P2")
    row(PREPARING_REBALANCE,   "application_polled",          None,                 when="not polled",                                                        do=["note_poll", "need_coordinator", "join"],                     rules="J2 P2")
    row(_GENERATION,           "application_polled",          None,                 when="not polled",                                                        do=["note_poll"],                                                 rules="P2")
    row(_CALLBACKS,            "application_polled",          None,                 when="not polled and not fenced",                                         do=["note_poll"],                                                 rules="P2")
    row((UNJOINED, *_CALLBACKS), "application_polled",        None,                 when="fenced",                                                            do=["throw"],                                                     rules="X2")
    row(UNJOINED,              "coordinator_found",           None,                 when="subscribed and polled and not join_backoff",                        do=["join"],                                                      rules="D1 J2")
    row(PREPARING_REBALANCE,   "coordinator_found",           None,                 when="polled and not join_backoff",                                       do=["join"],                                                      rules="D1 J2")
    row(PARTITION_REVOKED,     "coordinator_found",           None,                 when="polled and not join_backoff and commit_step == 'none'",             do=["join"],                                                      rules="D1 J2")
    row((UNJOINED, PARTITION_REVOKED, PREPARING_REBALANCE), "join_backoff_elapsed", None, when="join_backoff",                                                do=["end_join_backoff", "join"],                                  rules="D3 J2")
    row(REVOKING_PARTITION,    "join_backoff_elapsed",        None,                 when="join_backoff",                                                      do=["end_join_backoff"],                                          rules="D3")
    row((UNJOINED, PARTITION_REVOKED), "join_needed",         PREPARING_REBALANCE,  when="subscribed and polled and coordinator_known and not join_backoff",  do=["send_join_group"],                                           rules="J1 J7 D4 H3")
    row(PREPARING_REBALANCE,   "join_needed",                 None,                 when="polled and coordinator_known and not join_backoff",                 do=["send_join_group"],                                           rules="J1 J2 D4 H3")

    row(STABLE,                "coordinator_found",           None,                 when="preparing and commit_step == 'none'",                               do=["join"],                                                      rules="D1 J2")
    row(STABLE,                "join_needed",                 PREPARING_REBALANCE,  when="preparing and commit_step == 'none' and coordinator_known",         do=["send_join_group"],                                           rules="J1 J2 D4 H3 K1")

    # -- JoinGroup is answered -------------------------------------------------------------------------------------------
    row(PREPARING_REBALANCE,   "join_accepted",               COMPLETING_REBALANCE, when=f"{_JOIN_IS_OUT} and deployed",                                              do=["become_member", "enable_heartbeats", "send_sync_group"],     rules="J9 H1 S2")
    row(PREPARING_REBALANCE,   "join_accepted",               COMPLETING_REBALANCE, when=f"{_JOIN_IS_OUT} and published",                                             do=["become_member", "send_sync_group"],                          rules="J9 S2")
    row(PREPARING_REBALANCE,   "join_member_id_required",     None,                 when=_JOIN_IS_OUT,                                                           do=["keep_given_id", "send_join_group"],                          rules="J3")
    row(PREPARING_REBALANCE,   "join_rebalance_in_progress",  None,                 when=_JOIN_IS_OUT,                                                           do=["send_join_group"],                                           rules="J2 J4")
    row(PREPARING_REBALANCE,   "join_unknown_member",         UNJOINED,             when=f"{_JOIN_IS_OUT} and (published or not owned)",                              do=["forget_identity", "join"],                                   rules="J4 J2")
    row(PREPARING_REBALANCE,   "join_unknown_member",         REVOKING_PARTITION,   when=f"{_JOIN_IS_OUT} and deployed and owned",                                    do=["forget_identity", "lose"],                                   rules="J4 C2 K1")
    row(PREPARING_REBALANCE,   "join_coordinator_loading",    None,                 when=_JOIN_IS_OUT,                                                           do=["back_off_join"],                                             rules="D3 J2")
    row(PREPARING_REBALANCE,   "join_coordinator_gone",       None,                 when=_JOIN_IS_OUT,                                                           do=["back_off_join", "say_coordinator_gone"],                     rules="D1 D3 J2 J4")
    row(PREPARING_REBALANCE,   "join_fenced",                 UNJOINED,             when=f"{_JOIN_IS_OUT} and (published or not owned)",                              do=["forget_identity", "fence", "throw"],                    rules="X2")
    row(PREPARING_REBALANCE,   "join_fenced",                 REVOKING_PARTITION,   when=f"{_JOIN_IS_OUT} and deployed and owned",                                    do=["forget_identity", "fence", "throw", "lose"],            rules="X2 C2")
    row(PREPARING_REBALANCE,   "join_fatal",                  None,                 when=_JOIN_IS_OUT,                                                           do=["await_poll", "throw"],                                       rules="J2")
    row(PREPARING_REBALANCE,   "coordinator_lost",            None,                 when="polled and not join_backoff",                                       do=["back_off_join"],                                             rules="D1 D5 J2 J4")

    # -- SyncGroup is answered -------------------------------------------------------------------------------------------
    row(COMPLETING_REBALANCE,  "sync_accepted",               ASSIGNING_PARTITIONS, when="current and fits and deployed and not (cooperative and owned and takes)",    do=["take_assignment", "send_assign_partitions"],                 rules="J9 Q4 C3")
    row(COMPLETING_REBALANCE,  "sync_accepted",               PREPARE_REVOCATION,   when="current and fits and deployed and cooperative and owned and takes and auto_commit", do=["take_smaller_assignment", "pause_taken", "commit"],   rules="J9 M3 M8 Q4 Q5")
    row(COMPLETING_REBALANCE,  "sync_accepted",               PREPARE_REVOCATION,   when="current and fits and deployed and cooperative and owned and takes and not auto_commit", do=["take_smaller_assignment", "pause_taken", "skip_commit"], rules="J9 Q4 Q5")
    row(COMPLETING_REBALANCE,  "sync_accepted",               STABLE,               when="current and not fits and deployed",                                 do=["note_unwanted", "rejoin"],                                   rules="J1 J2")
    row(COMPLETING_REBALANCE,  "sync_accepted",               ASSIGNING_PARTITIONS, when="current and published",                                             do=["take_assignment", "enable_heartbeats", "send_assign_partitions"], rules="J9 C3")
    row(COMPLETING_REBALANCE,  "sync_rebalance_in_progress",  PREPARING_REBALANCE,  when="current",                                                           do=["send_join_group"],                                           rules="J2 J4")
    row(COMPLETING_REBALANCE,  "sync_unknown_member",         UNJOINED,             when="current and (published or not owned)",                              do=["forget_identity", "disable_heartbeats", "join"],             rules="J4 J2 H3")
    row(COMPLETING_REBALANCE,  "sync_unknown_member",         REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_identity", "lose"],                                   rules="J4 C2 H3")
    row(COMPLETING_REBALANCE,  "sync_illegal_generation",     UNJOINED,             when="current and (published or not owned)",                              do=["forget_generation", "disable_heartbeats", "join"],           rules="J4 J2 H3")
    row(COMPLETING_REBALANCE,  "sync_illegal_generation",     REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_generation", "lose"],                                 rules="J4 C2 H3")
    row(COMPLETING_REBALANCE,  "sync_coordinator_gone",       PREPARING_REBALANCE,  when="current",                                                           do=["back_off_join", "say_coordinator_gone"],                     rules="D1 D3 J2 J4")
    row(COMPLETING_REBALANCE,  "sync_fenced",                 UNJOINED,             when="current and (published or not owned)",                              do=["forget_identity", "disable_heartbeats", "fence", "throw"], rules="X2 H3")
    row(COMPLETING_REBALANCE,  "sync_fenced",                 REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_identity", "fence", "throw", "lose"],            rules="X2 C2 H3")
    row(COMPLETING_REBALANCE,  "sync_fatal",                  PREPARING_REBALANCE,  when="current",                                                           do=["await_poll", "throw"],                                       rules="J2")
    row(COMPLETING_REBALANCE,  "coordinator_lost",            PREPARING_REBALANCE,                                                                            do=["back_off_join"],                                             rules="D1 D5 J2 J4")

    # -- the callbacks begin and end -------------------------------------------------------------------------------------
    row(REVOKING_PARTITION,    "callback_started",            None,                 when="not callback_running",                                              do=["start_callback"],                                            rules="Q2 C5")
    row(REVOKING_PARTITION,    "partitions_revoked",          PARTITION_REVOKED,    when="callback_running and not leaving and not lost and identity == 'member' and published and auto_commit", do=["shrink", "commit"],       rules="C1 C3 Q2")
    row(REVOKING_PARTITION,    "partitions_revoked",          PARTITION_REVOKED,    when="callback_running and not leaving and not lost and identity == 'member' and (deployed or not auto_commit)", do=["shrink", "go_on"],    rules="C1 C3 Q2 Q4")
    row(REVOKING_PARTITION,    "partitions_revoked",          UNJOINED,             when="callback_running and not leaving and (lost or identity != 'member' and not keeps)", do=["shrink", "join"],                            rules="C1 C2 P3 J2")
    row(REVOKING_PARTITION,    "partitions_revoked",          None,                 when="callback_running and not lost and identity != 'member' and keeps",  do=["shrink", "lose"],                                            rules="C1 C2")
    row(REVOKING_PARTITION,    "partitions_revoked",          None,                 when="callback_running and not lost and identity == 'member' and keeps and leaving", do=["shrink", "pause_owned", "send_revoke_partitions"], rules="C1 C7")
    row(REVOKING_PARTITION,    "partitions_revoked",          UNJOINED,             when="callback_running and leaving and (lost or not keeps) and identity == 'member'", do=["shrink", "leave"],                               rules="C7 L1")
    row(REVOKING_PARTITION,    "partitions_revoked",          UNJOINED,             when="callback_running and leaving and (lost or not keeps) and identity != 'member'", do=["shrink", "forget_identity", "leave"],            rules="C7 L1")
    row(PARTITION_REVOKED,     "revocation_done",             None,                 when="eager or deployed and unwanted",                                                             do=["join"],                                                      rules="Q4 J2")
    row(PARTITION_REVOKED,     "revocation_done",             ASSIGNING_PARTITIONS, when="cooperative and deployed and not unwanted",                         do=["want_follow_up", "own_new", "send_assign_partitions"],       rules="Q4 C3 K2")
    row(PARTITION_REVOKED,     "revocation_done",             COMPLETING_REBALANCE, when="cooperative and published",                                         do=["want_follow_up", "send_sync_group"],                         rules="Q4")
    row(ASSIGNING_PARTITIONS,  "partitions_assigned",         STABLE,               when="identity == 'member' and not follow_up",            do=["enable_partitions"],                                         rules="C1 C3 Q2")
    row(ASSIGNING_PARTITIONS,  "partitions_assigned",         STABLE,               when="identity == 'member' and follow_up",                do=["enable_partitions", "rejoin"],                               rules="C1 K2 J2")
    row(ASSIGNING_PARTITIONS,  "partitions_assigned",         REVOKING_PARTITION,   when="identity != 'member' and owned",                                    do=["enable_partitions", "lose"],                                 rules="C1 C2 P3")
    row(ASSIGNING_PARTITIONS,  "partitions_assigned",         UNJOINED,             when="identity != 'member' and not owned",                do=["join"],                                                      rules="J2")

    # -- a rebalance is announced, or wanted -----------------------------------------------------------------------------
    row(STABLE,                "heartbeat_rebalance_in_progress", PREPARE_REVOCATION,   when="current and not preparing and deployed and eager and owned and auto_commit", do=["pause_owned", "commit"],                                     rules="H4 M2 M3 Q4 Q5")
    row(STABLE,                "commit_rebalance_in_progress", PREPARE_REVOCATION,   when=f"{_COMMIT_IS_OUT} and not preparing and deployed and eager and owned and auto_commit", do=["pause_owned", "commit"],                                     rules="H4 M2 M3 Q4 Q5")
    row(STABLE,                "heartbeat_rebalance_in_progress", PREPARE_REVOCATION,   when="current and not preparing and (published or eager and not (owned and auto_commit))", do=["pause_owned", "skip_commit"],                                rules="H4 M2 Q4 Q5")
    row(STABLE,                "commit_rebalance_in_progress", PREPARE_REVOCATION,   when=f"{_COMMIT_IS_OUT} and not preparing and (published or eager and not (owned and auto_commit))", do=["pause_owned", "skip_commit"],                                rules="H4 M2 Q4 Q5")
    row(STABLE,                "heartbeat_rebalance_in_progress", None,                 when="current and not preparing and deployed and cooperative and owned and auto_commit", do=["prepare_to_join", "commit"],                  rules="H4 M2 M3 Q4")
    row(STABLE,                "commit_rebalance_in_progress", None,                 when=f"{_COMMIT_IS_OUT} and not preparing and deployed and cooperative and owned and auto_commit", do=["prepare_to_join", "commit"],                  rules="H4 M2 M3 Q4")
    row(STABLE,                "heartbeat_rebalance_in_progress", None,                 when="current and not preparing and deployed and cooperative and not (owned and auto_commit)", do=["prepare_to_join", "join"],                                        rules="H4 M2 Q4 K1")
    row(STABLE,                "commit_rebalance_in_progress", None,                 when=f"{_COMMIT_IS_OUT} and not preparing and deployed and cooperative and not (owned and auto_commit)", do=["prepare_to_join", "join"],                                        rules="H4 M2 Q4 K1")
    row(STABLE,                "rejoin_requested",            PREPARE_REVOCATION,   when="not preparing and deployed and eager and owned and auto_commit",    do=["pause_owned", "commit"],                                     rules="J8 M3 Q4 Q5")
    row(STABLE,                "rejoin_requested",            PREPARE_REVOCATION,   when="not preparing and (published or eager and not (owned and auto_commit))", do=["pause_owned", "skip_commit"],                                rules="J8 Q4 Q5")
    row(STABLE,                "rejoin_requested",            None,                 when="not preparing and deployed and cooperative and owned and auto_commit and not unwanted", do=["prepare_to_join", "commit"],             rules="J8 M3 Q4")
    row(STABLE,                "rejoin_requested",            None,                 when="not preparing and deployed and cooperative and not (owned and auto_commit) and not unwanted", do=["prepare_to_join", "join"],                          rules="J8 Q4 K1")
    row(STABLE,                "rejoin_requested",            PREPARE_REVOCATION,   when="not preparing and deployed and cooperative and unwanted and auto_commit", do=["pause_taken", "commit"],                               rules="J2 M3 M8 Q4 Q5")
    row(STABLE,                "rejoin_requested",            PREPARE_REVOCATION,   when="not preparing and deployed and cooperative and unwanted and not auto_commit", do=["pause_taken", "skip_commit"],                      rules="J2 Q4 Q5")
    row(ASSIGNING_PARTITIONS,  "heartbeat_rebalance_in_progress", None,                 when="current and identity == 'member' and not follow_up",                do=["want_follow_up"],                                            rules="H4 M2 J2")
    row(ASSIGNING_PARTITIONS,  "commit_rebalance_in_progress", None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and not follow_up",                do=["want_follow_up"],                                            rules="H4 M2 J2")
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "rejoin_requested", None, when="not follow_up",                                    do=["want_follow_up"],                                            rules="J1 J2")

    # -- the application subscribes to other topics: a cooperative member gives up what it no longer wants before JoinGroup --
    row(STABLE,                "subscription_changed",        None,                 when="not preparing",                                                     do=["note_unwanted", "rejoin"],                                   rules="J2 Q4")
    row(STABLE,                "subscription_changed",        PREPARE_REVOCATION,   when="preparing and owned and takes and commit_step != 'none'",           do=["note_unwanted", "pause_taken"],                              rules="J2 Q4 Q5")
    row(STABLE,                "subscription_changed",        PREPARE_REVOCATION,   when="preparing and owned and takes and commit_step == 'none'",           do=["note_unwanted", "pause_taken", "skip_commit"],               rules="J2 Q4 Q5")
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE), "subscription_changed", None,   when="not follow_up",                                                     do=["want_follow_up"],                                            rules="J1 J2")
    row(ASSIGNING_PARTITIONS,  "subscription_changed",        None,                                                                                           do=["want_follow_up", "note_unwanted"],                           rules="J1 J2 Q4")

    # -- the commit before a rebalance -----------------------------------------------------------------------------------
    row(_COMMITTING,           "commit_needed",               None,                 when="commit_step == 'blocked' and coordinator_known",                    do=["send_offset_commit"],                                        rules="D4 M1 M3")
    row(PREPARE_REVOCATION,    "revocation_prepared",         REVOKING_PARTITION,                                                                             do=["send_revoke_partitions"],                                    rules="Q4")
    row(PREPARE_REVOCATION,    ("commit_settled", "commit_rebalance_in_progress"), REVOKING_PARTITION, when=f"{_COMMIT_IS_OUT} and commit_step == 'out'",              do=["end_commit", "send_revoke_partitions"],                      rules="M3 C3 Q4")
    row(STABLE,                ("commit_settled", "commit_rebalance_in_progress"), None,                when=f"{_COMMIT_IS_OUT} and preparing and commit_step == 'out'", do=["finish_commit", "join"],                                    rules="M3 Q4 K1")
    row(PARTITION_REVOKED,     ("commit_settled", "commit_rebalance_in_progress"), None, when=f"{_COMMIT_IS_OUT} and commit_step == 'out'",                            do=["end_commit", "go_on"],                                       rules="M3")
    row(_COMMITTING,           "commit_retriable",            None,                 when=f"{_COMMIT_IS_OUT} and commit_step == 'out'",                                  do=["back_off_commit"],                                           rules="D3 M3")
    row(_COMMITTING,           "commit_coordinator_gone",     None,                 when=f"{_COMMIT_IS_OUT} and commit_step == 'out'",                                  do=["back_off_commit", "say_coordinator_gone"],                   rules="D1 D3 M3")
    row(_COMMITTING,           "commit_coordinator_gone",     None,                 when=f"{_COMMIT_IS_OUT} and commit_step != 'out'",                                  do=["say_coordinator_gone"],                                      rules="D1")
    row(_CALLBACKS,            "commit_coordinator_gone",     None,                 when=_COMMIT_IS_OUT,                                                      do=["say_coordinator_gone"],                                      rules="D1")
    row(_COMMITTING,           "coordinator_lost",            None,                 when="commit_step == 'out'",                                              do=["back_off_commit"],                                           rules="D1 D5 M3")
    row(_COMMITTING,           "coordinator_found",           None,                 when="commit_step == 'blocked'",                                          do=["retry_commit"],                                              rules="D1 M3")
    row(_COMMITTING,           "commit_backoff_elapsed",      None,                 when="commit_step == 'backoff'",                                          do=["retry_commit"],                                              rules="D3 M3")
    row(PREPARE_REVOCATION,    "commit_deadline_expired",     REVOKING_PARTITION,   when="commit_step != 'none'",                                             do=["end_commit", "send_revoke_partitions"],                      rules="M3")
    row(STABLE,                "commit_deadline_expired",     None,                 when="preparing and commit_step != 'none'",                               do=["finish_commit", "join"],                                     rules="M3")
    row(PARTITION_REVOKED,     "commit_deadline_expired",     None,                 when="commit_step != 'none'",                                             do=["end_commit", "go_on"],                                       rules="M3")

    # -- the membership is lost ------------------------------------------------------------------------------------------
    row(_HOLDING,              "heartbeat_unknown_member",    REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_identity", "lose"],                                   rules="J4 H4 M2 C2 H3")
    row(_COMMITTING,           "commit_unknown_member",       REVOKING_PARTITION,   when=f"{_COMMIT_IS_OUT} and deployed and owned",                                    do=["forget_identity", "lose"],                                   rules="J4 H4 M2 C2 H3")
    row(_HOLDING,              "heartbeat_illegal_generation",REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_generation", "lose"],                                 rules="J4 H4 M2 C2 H3")
    row(_COMMITTING,           "commit_illegal_generation",   REVOKING_PARTITION,   when=f"{_COMMIT_IS_OUT} and deployed and owned",                                    do=["forget_generation", "lose"],                                 rules="J4 H4 M2 C2 H3")
    row(_HOLDING,              "heartbeat_fenced",            REVOKING_PARTITION,   when="current and deployed and owned",                                    do=["forget_identity", "fence", "throw", "lose"],            rules="X2 C2 H3")
    row(_COMMITTING,           "commit_fenced",               REVOKING_PARTITION,   when=f"{_COMMIT_IS_OUT} and deployed and owned",                                    do=["forget_identity", "fence", "throw", "lose"],            rules="X2 C2 H3")
    row(_HOLDING,              "poll_limit_reached",          REVOKING_PARTITION,   when="deployed and owned and not static",                                 do=["send_leave_group", "forget_identity", "await_poll", "lose"], rules="P1 C2 H3")
    row(_HOLDING,              "poll_limit_reached",          REVOKING_PARTITION,   when="deployed and owned and static",                                     do=["forget_identity", "await_poll", "lose"],                     rules="P1 L1 C2 H3")
    row(_HOLDING,              "heartbeat_unknown_member",    UNJOINED,             when="current and (published or not owned)",                              do=["forget_identity", "drop_rebalance", "join"],                 rules="J4 H4 M2 H3 J2")
    row(_COMMITTING,           "commit_unknown_member",       UNJOINED,             when=f"{_COMMIT_IS_OUT} and (published or not owned)",                              do=["forget_identity", "drop_rebalance", "join"],                 rules="J4 H4 M2 H3 J2")
    row(_HOLDING,              "heartbeat_illegal_generation",UNJOINED,             when="current and (published or not owned)",                              do=["forget_generation", "drop_rebalance", "join"],               rules="J4 H4 M2 H3 J2")
    row(_COMMITTING,           "commit_illegal_generation",   UNJOINED,             when=f"{_COMMIT_IS_OUT} and (published or not owned)",                              do=["forget_generation", "drop_rebalance", "join"],               rules="J4 H4 M2 H3 J2")
    row(_HOLDING,              "heartbeat_fenced",            UNJOINED,             when="current and (published or not owned)",                              do=["forget_identity", "fence", "throw", "drop_rebalance"],  rules="X2 H3")
    row(_COMMITTING,           "commit_fenced",               UNJOINED,             when=f"{_COMMIT_IS_OUT} and (published or not owned)",                              do=["forget_identity", "fence", "throw", "drop_rebalance"],  rules="X2 H3")
    row(_HOLDING,              "poll_limit_reached",          UNJOINED,             when="(published or not owned) and not static",                           do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"], rules="P1 H3")
    row(_HOLDING,              "poll_limit_reached",          UNJOINED,             when="(published or not owned) and static",                               do=["forget_identity", "await_poll", "drop_rebalance"],           rules="P1 L1 H3")
    # waiting to join again, heartbeats go on until JoinGroup is sent
    row(PREPARING_REBALANCE,   "heartbeat_unknown_member",    REVOKING_PARTITION,   when="current and identity == 'member' and (join_backoff or not polled) and deployed and owned",             do=["forget_identity", "lose"],                   rules="J4 H4 C2 H3")
    row(PREPARING_REBALANCE,   "heartbeat_illegal_generation",REVOKING_PARTITION,   when="current and identity == 'member' and (join_backoff or not polled) and deployed and owned",             do=["forget_generation", "lose"],                 rules="J4 H4 C2 H3")
    row(PREPARING_REBALANCE,   "heartbeat_fenced",            REVOKING_PARTITION,   when="current and identity == 'member' and (join_backoff or not polled) and deployed and owned",             do=["forget_identity", "fence", "throw", "lose"], rules="X2 C2 H3")
    row(PREPARING_REBALANCE,   "heartbeat_unknown_member",    UNJOINED,             when="current and identity == 'member' and (join_backoff or not polled) and (published or not owned)",       do=["forget_identity", "drop_rebalance", "join"],  rules="J4 H4 H3 J2")
    row(PREPARING_REBALANCE,   "heartbeat_illegal_generation",UNJOINED,             when="current and identity == 'member' and (join_backoff or not polled) and (published or not owned)",       do=["forget_generation", "drop_rebalance", "join"], rules="J4 H4 H3 J2")
    row(PREPARING_REBALANCE,   "heartbeat_fenced",            UNJOINED,             when="current and identity == 'member' and (join_backoff or not polled) and (published or not owned)",       do=["forget_identity", "fence", "throw", "drop_rebalance"], rules="X2 H3")
    row(PREPARING_REBALANCE,   "poll_limit_reached",          REVOKING_PARTITION,   when="identity == 'member' and deployed and owned and not static",          do=["send_leave_group", "forget_identity", "await_poll", "lose"], rules="P1 C2 H3")
    row(PREPARING_REBALANCE,   "poll_limit_reached",          REVOKING_PARTITION,   when="identity == 'member' and deployed and owned and static",              do=["forget_identity", "await_poll", "lose"],     rules="P1 L1 C2 H3")
    row(PREPARING_REBALANCE,   "poll_limit_reached",          UNJOINED,             when="identity == 'member' and (published or not owned) and not static",    do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"], rules="P1 H3")
    row(PREPARING_REBALANCE,   "poll_limit_reached",          UNJOINED,             when="identity == 'member' and (published or not owned) and static",        do=["forget_identity", "await_poll", "drop_rebalance"], rules="P1 L1 H3")
    # while a callback is due or running: it decides what the callback is, or what follows it
    row(REVOKING_PARTITION,    "heartbeat_unknown_member",    None,                 when="current and identity == 'member' and not callback_running",         do=["forget_identity", "lose_instead"],                           rules="J4 C2 P3 H3")
    row(REVOKING_PARTITION,    "commit_unknown_member",       None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and not callback_running",         do=["forget_identity", "lose_instead"],                           rules="J4 C2 P3 H3")
    row(REVOKING_PARTITION,    "heartbeat_illegal_generation",None,                 when="current and identity == 'member' and not callback_running",         do=["forget_generation", "lose_instead"],                         rules="J4 C2 P3 H3")
    row(REVOKING_PARTITION,    "commit_illegal_generation",   None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and not callback_running",         do=["forget_generation", "lose_instead"],                         rules="J4 C2 P3 H3")
    row(REVOKING_PARTITION,    "heartbeat_fenced",            None,                 when="current and identity == 'member' and not callback_running",         do=["forget_identity", "fence", "throw", "lose_instead"],    rules="X2 C2 P3 H3")
    row(REVOKING_PARTITION,    "commit_fenced",               None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and not callback_running",         do=["forget_identity", "fence", "throw", "lose_instead"],    rules="X2 C2 P3 H3")
    row(REVOKING_PARTITION,    "poll_limit_reached",          None,                 when="identity == 'member' and not leaving and not callback_running and not static",      do=["send_leave_group", "forget_identity", "await_poll", "lose_instead"], rules="P1 P3 C2 H3")
    row(REVOKING_PARTITION,    "poll_limit_reached",          None,                 when="identity == 'member' and not leaving and not callback_running and static",          do=["forget_identity", "await_poll", "lose_instead"],             rules="P1 P3 L1 C2 H3")
    row(REVOKING_PARTITION,    "heartbeat_unknown_member",    None,                 when="current and identity == 'member' and callback_running",             do=["forget_identity", "disable_heartbeats"],                     rules="J4 C2 H3")
    row(REVOKING_PARTITION,    "commit_unknown_member",       None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and callback_running",             do=["forget_identity", "disable_heartbeats"],                     rules="J4 C2 H3")
    row(REVOKING_PARTITION,    "heartbeat_illegal_generation",None,                 when="current and identity == 'member' and callback_running",             do=["forget_generation", "disable_heartbeats"],                   rules="J4 C2 H3")
    row(REVOKING_PARTITION,    "commit_illegal_generation",   None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and callback_running",             do=["forget_generation", "disable_heartbeats"],                   rules="J4 C2 H3")
    row(REVOKING_PARTITION,    "heartbeat_fenced",            None,                 when="current and identity == 'member' and callback_running",             do=["forget_identity", "fence", "throw", "disable_heartbeats"], rules="X2 C2 H3")
    row(REVOKING_PARTITION,    "commit_fenced",               None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member' and callback_running",             do=["forget_identity", "fence", "throw", "disable_heartbeats"], rules="X2 C2 H3")
    row(REVOKING_PARTITION,    "poll_limit_reached",          None,                 when="identity == 'member' and not leaving and callback_running and not static",          do=["send_leave_group", "forget_identity", "await_poll", "disable_heartbeats"], rules="P1 H3")
    row(REVOKING_PARTITION,    "poll_limit_reached",          None,                 when="identity == 'member' and not leaving and callback_running and static",              do=["forget_identity", "await_poll", "disable_heartbeats"],       rules="P1 L1 H3")
    row(ASSIGNING_PARTITIONS,  "heartbeat_unknown_member",    None,                 when="current and identity == 'member'",                                  do=["forget_identity", "disable_heartbeats"],                     rules="J4 C2 H3")
    row(ASSIGNING_PARTITIONS,  "commit_unknown_member",       None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member'",                                  do=["forget_identity", "disable_heartbeats"],                     rules="J4 C2 H3")
    row(ASSIGNING_PARTITIONS,  "heartbeat_illegal_generation",None,                 when="current and identity == 'member'",                                  do=["forget_generation", "disable_heartbeats"],                   rules="J4 C2 H3")
    row(ASSIGNING_PARTITIONS,  "commit_illegal_generation",   None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member'",                                  do=["forget_generation", "disable_heartbeats"],                   rules="J4 C2 H3")
    row(ASSIGNING_PARTITIONS,  "heartbeat_fenced",            None,                 when="current and identity == 'member'",                                  do=["forget_identity", "fence", "throw", "disable_heartbeats"], rules="X2 C2 H3")
    row(ASSIGNING_PARTITIONS,  "commit_fenced",               None,                 when=f"{_COMMIT_IS_OUT} and identity == 'member'",                                  do=["forget_identity", "fence", "throw", "disable_heartbeats"], rules="X2 C2 H3")
    row(ASSIGNING_PARTITIONS,  "poll_limit_reached",          None,                 when="identity == 'member' and not static",                               do=["send_leave_group", "forget_identity", "await_poll", "disable_heartbeats"], rules="P1 H3")
    row(ASSIGNING_PARTITIONS,  "poll_limit_reached",          None,                 when="identity == 'member' and static",                                   do=["forget_identity", "await_poll", "disable_heartbeats"],       rules="P1 L1 H3")

    # -- leaving ---------------------------------------------------------------------------------------------------------
    row((PREPARE_REVOCATION, PARTITION_REVOKED, STABLE), "leave_requested", REVOKING_PARTITION, when="owned",                                               do=["start_leaving", "pause_owned", "send_revoke_partitions"],    rules="C7 L2")
    row(ASSIGNING_PARTITIONS,  "leave_requested",             REVOKING_PARTITION,   when="owned and identity == 'member'",                                    do=["start_leaving", "pause_owned", "send_revoke_partitions"],    rules="C7 L2")
    row(ASSIGNING_PARTITIONS,  "leave_requested",             REVOKING_PARTITION,   when="owned and identity != 'member'",                                    do=["start_leaving", "lose_but_stay"],                            rules="C7 C2 L2")
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE), "leave_requested", REVOKING_PARTITION, when="owned",                                                     do=["start_leaving", "lose_but_stay"],                            rules="C7 L2 L3")
    row((PREPARING_REBALANCE, *_HOLDING), "leave_requested",  UNJOINED,             when="not owned",                                                         do=["leave"],                                                     rules="L1 L2 L3")
    row(ASSIGNING_PARTITIONS,  "leave_requested",             UNJOINED,             when="not owned and identity == 'member'",                                do=["leave"],                                                     rules="L1 L2 L3")
    row(ASSIGNING_PARTITIONS,  "leave_requested",             UNJOINED,             when="not owned and identity != 'member'",                                do=["forget_identity", "leave"],                                  rules="L1 L2 L3")
    row(UNJOINED,              "leave_requested",             None,                 when="subscribed or identity != 'none'",                                  do=["forget_identity", "leave"],                                  rules="L1 L2 L3")
    row(REVOKING_PARTITION,    "leave_requested",             None,                 when="not leaving",                                                       do=["start_leaving"],                                             rules="C7 L2")
    row(UNJOINED,              "leave_needed",                None,                 when="not static and identity != 'none' and coordinator_known",           do=["send_leave_group", "forget_identity", "disable_heartbeats", "need_no_coordinator"], rules="L1 H3")
    row(UNJOINED,              "leave_needed",                None,                 when="not (not static and identity != 'none' and coordinator_known)",     do=["forget_identity", "disable_heartbeats", "need_no_coordinator"], rules="L1 H3")

    # -- what changes nothing --------------------------------------------------------------------------------------------
    ignored(_EVERY,            (*_JOIN_ANSWERS, *_SYNC_ANSWERS, *_HEARTBEAT_ANSWERS, *_COMMIT_ANSWERS), because="late", when="not current")
    ignored(UNJOINED,          "subscribed_to_topics",        because="already",        when="subscribed")
    ignored((PREPARING_REBALANCE, *_JOINED), "subscribed_to_topics", because="already")
    ignored(UNJOINED,          "application_polled",          because="nothing_waits",  when="not fenced and (not subscribed or polled)")
    ignored((PREPARING_REBALANCE, *_GENERATION), "application_polled", because="nothing_waits", when="polled")
    ignored(_CALLBACKS,        "application_polled",          because="nothing_waits",  when="not fenced and polled")
    ignored(UNJOINED,          "coordinator_found",           because="waiting",        when="not (subscribed and polled and not join_backoff)")
    ignored(PREPARING_REBALANCE, "coordinator_found",         because="waiting",        when="not (polled and not join_backoff)")
    ignored(PARTITION_REVOKED, "coordinator_found",           because="waiting",        when="commit_step != 'blocked' and not (polled and not join_backoff and commit_step == 'none')")
    ignored(PREPARE_REVOCATION, "coordinator_found",          because="nothing_waits",  when="commit_step != 'blocked'")
    ignored(STABLE,            "coordinator_found",           because="nothing_waits",  when="commit_step != 'blocked' and not (preparing and commit_step == 'none')")
    ignored(STABLE,            "join_needed",                 because="waiting",        when="not (preparing and commit_step == 'none' and coordinator_known)")
    ignored((*_CALLBACKS, COMPLETING_REBALANCE), "coordinator_found", because="nothing_waits")
    ignored(_COMMITTING,       "coordinator_lost",            because="waiting",        when="commit_step != 'out'")
    ignored(PREPARING_REBALANCE, "coordinator_lost",          because="waiting",        when="not (polled and not join_backoff)")
    ignored((UNJOINED, *_CALLBACKS), "coordinator_lost",      because="nothing_waits")
    ignored((UNJOINED, PARTITION_REVOKED), "join_needed",     because="waiting",        when="not (subscribed and polled and coordinator_known and not join_backoff)")
    ignored(PREPARING_REBALANCE, "join_needed",               because="waiting",        when="not (polled and coordinator_known and not join_backoff)")
    ignored((UNJOINED, PARTITION_REVOKED, PREPARING_REBALANCE), "join_backoff_elapsed", because="timer_off", when="not join_backoff")
    ignored(REVOKING_PARTITION, "join_backoff_elapsed",       because="timer_off",      when="not join_backoff")
    ignored((PREPARE_REVOCATION, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE), "join_backoff_elapsed", because="timer_off")
    ignored(_COMMITTING,       "commit_needed",               because="waiting",        when="not (commit_step == 'blocked' and coordinator_known)")
    ignored(_COMMITTING,       "commit_backoff_elapsed",      because="timer_off",      when="commit_step != 'backoff'")
    ignored((*_NOT_JOINED, *_CALLBACKS, COMPLETING_REBALANCE), ("commit_backoff_elapsed", "commit_deadline_expired"), because="timer_off")
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "commit_deadline_expired", because="timer_off", when="commit_step == 'none'")
    ignored(STABLE,            "commit_deadline_expired",     because="timer_off",      when="not (preparing and commit_step != 'none')")
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), ("commit_settled", "commit_retriable"), because="nothing_waits", when=f"{_COMMIT_IS_OUT} and commit_step != 'out'")
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "commit_rebalance_in_progress", because="already", when=f"{_COMMIT_IS_OUT} and commit_step != 'out'")
    ignored(STABLE,            "commit_settled",              because="nothing_waits",  when=f"{_COMMIT_IS_OUT} and not (preparing and commit_step == 'out')")
    ignored(STABLE,            "commit_retriable",            because="nothing_waits",  when=f"{_COMMIT_IS_OUT} and commit_step != 'out'")
    ignored(_CALLBACKS,        ("commit_settled", "commit_retriable"), because="nothing_waits", when=_COMMIT_IS_OUT)
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "heartbeat_rebalance_in_progress", because="already", when="current")
    ignored(STABLE,            "heartbeat_rebalance_in_progress", because="already",    when="current and preparing")
    ignored(COMPLETING_REBALANCE,  "heartbeat_rebalance_in_progress", because="sync_will_tell", when="current")
    ignored(REVOKING_PARTITION,    "heartbeat_rebalance_in_progress", because="already",        when="current and identity == 'member'")
    ignored(REVOKING_PARTITION,    "commit_rebalance_in_progress", because="already",        when=f"{_COMMIT_IS_OUT} and identity == 'member'")
    ignored(ASSIGNING_PARTITIONS,  "heartbeat_rebalance_in_progress", because="already",        when="current and identity == 'member' and follow_up")
    ignored(ASSIGNING_PARTITIONS,  "commit_rebalance_in_progress", because="already",        when=f"{_COMMIT_IS_OUT} and identity == 'member' and follow_up")
    ignored(PREPARING_REBALANCE, "heartbeat_rebalance_in_progress", because="already",  when="current and identity == 'member' and (join_backoff or not polled)")
    ignored((UNJOINED, PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED), "rejoin_requested", because="already")
    ignored((PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "rejoin_requested", because="already", when="follow_up")
    ignored(STABLE,            "rejoin_requested",            because="already",        when="preparing")
    ignored((UNJOINED, PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED), "subscription_changed", because="already")
    ignored((PREPARING_REBALANCE, COMPLETING_REBALANCE), "subscription_changed", because="already", when="follow_up")
    ignored(STABLE,            "subscription_changed",        because="already",        when="preparing and not (owned and takes)")
    ignored(STABLE,            "commit_rebalance_in_progress", because="already",       when=f"{_COMMIT_IS_OUT} and preparing and commit_step != 'out'")
    ignored(UNJOINED,          "stopped",                     because="nothing_waits",  when="not subscribed and identity == 'none'")
    ignored(UNJOINED,          "leave_requested",             because="nothing_waits",  when="not subscribed and identity == 'none'")
    ignored(REVOKING_PARTITION, "leave_requested",            because="already",        when="leaving")
    ignored(REVOKING_PARTITION, "poll_limit_reached",         because="already",        when="identity == 'member' and leaving")

    ignored((PREPARE_REVOCATION, REVOKING_PARTITION, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "join_needed", because="nothing_waits")
    ignored((*_NOT_JOINED, *_CALLBACKS, COMPLETING_REBALANCE), "commit_needed", because="nothing_waits")
    ignored((*_NOT_JOINED, REVOKING_PARTITION, PARTITION_REVOKED, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE), "revocation_prepared", because="nothing_waits")
    ignored((*_NOT_JOINED, PREPARE_REVOCATION, *_CALLBACKS, COMPLETING_REBALANCE, STABLE), "revocation_done", because="nothing_waits")
    ignored((PREPARING_REBALANCE, *_JOINED), "leave_needed", because="nothing_waits")

    # -- what a correct peer, or the member's own other thread, never does -----------------------------------------------
    # an answer to a request that is not out
    error((UNJOINED, *_JOINED), _JOIN_ANSWERS, rule="J9", when="current")
    error(PREPARING_REBALANCE, _JOIN_ANSWERS, rule="J9", when="current and not (polled and coordinator_known and not join_backoff)")
    error((*_NOT_JOINED, PREPARE_REVOCATION, PARTITION_REVOKED, STABLE, *_CALLBACKS), _SYNC_ANSWERS, rule="J9", when="current")
    error(UNJOINED, _HEARTBEAT_ANSWERS, rule="J9", when="current")
    error(PREPARING_REBALANCE, _HEARTBEAT_ANSWERS, rule="H3", when="current and not (identity == 'member' and (join_backoff or not polled))")
    error(_CALLBACKS, _HEARTBEAT_ANSWERS, rule="J9", when="current and identity != 'member'")
    error(_CALLBACKS, ("commit_rebalance_in_progress", "commit_unknown_member", "commit_illegal_generation", "commit_fenced"), rule="M7", when=f"{_COMMIT_IS_OUT} and identity != 'member'")
    # an answer to a commit that is not out: none is sent between JoinGroup and SyncGroup, and none for what is not owned
    error((*_NOT_JOINED, COMPLETING_REBALANCE), _COMMIT_ANSWERS, rule="M7", when="current")
    error((*_COMMITTING, *_CALLBACKS), _COMMIT_ANSWERS, rule="M7", when=f"current and not ({_COMMIT_IS_OUT})")
    # the end of the background thread before the member has left
    error(UNJOINED, "stopped", rule="L1", when="subscribed or identity != 'none'")
    error((PREPARING_REBALANCE, *_JOINED), "stopped", rule="L1")
    # a poll interval that is not watched
    error(UNJOINED, "poll_limit_reached", rule="P1")
    error(PREPARING_REBALANCE, "poll_limit_reached", rule="P1", when="identity != 'member'")
    error(_CALLBACKS, "poll_limit_reached", rule="P1", when="identity != 'member'")
    # the end of a callback that was not asked for. Published: it was asked for, and then the membership was lost
    ignored((*_NOT_JOINED, *_HOLDING, ASSIGNING_PARTITIONS), ("callback_started", "partitions_revoked"), because="late", when="published")
    ignored((*_NOT_JOINED, *_HOLDING, REVOKING_PARTITION), "partitions_assigned", because="late")
    error((*_NOT_JOINED, *_HOLDING, ASSIGNING_PARTITIONS), ("callback_started", "partitions_revoked"), rule="Q1", when="deployed")
    error(REVOKING_PARTITION, "callback_started", rule="Q1", when="callback_running")
    error(REVOKING_PARTITION, "partitions_revoked", rule="Q1", when="not callback_running")
    # fmt: on


KAFKA_TRANSITIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "T1": ("UNJOINED.join_needed", "PARTITION_REVOKED.join_needed", "PREPARING_REBALANCE.join_needed"),
        "T2": ("PREPARING_REBALANCE.join_accepted",),
        "T3": ("UNJOINED.join_accepted", "COMPLETING_REBALANCE.join_accepted", "STABLE.join_accepted"),
        "T4": ("COMPLETING_REBALANCE.sync_accepted",),
        "T5": ("UNJOINED.sync_accepted", "PREPARING_REBALANCE.sync_accepted", "STABLE.sync_accepted"),
        "T6": (
            "PREPARING_REBALANCE.join_unknown_member",
            "COMPLETING_REBALANCE.sync_unknown_member",
            "STABLE.heartbeat_unknown_member",
            "STABLE.heartbeat_fenced",
        ),
        "T7": ("COMPLETING_REBALANCE.sync_illegal_generation", "STABLE.heartbeat_illegal_generation"),
        "T8": (
            "STABLE.commit_unknown_member",
            "STABLE.commit_illegal_generation",
            "PREPARE_REVOCATION.commit_unknown_member",
            "PREPARING_REBALANCE.commit_unknown_member",
        ),
        "T9": ("STABLE.poll_limit_reached", "STABLE.leave_requested", "UNJOINED.leave_needed"),
        "T10": ("ASSIGNING_PARTITIONS.heartbeat_unknown_member", "ASSIGNING_PARTITIONS.partitions_assigned"),
        "T11": ("PREPARING_REBALANCE.join_member_id_required",),
    }
)
"""Kafka's own member transitions, T1 to T11, and the cells that hold them.

T1 initiateJoinGroup. T2 JoinGroup NONE. T3 JoinGroup NONE that nobody waits for. T4 SyncGroup NONE. T5 SyncGroup NONE that
nobody waits for. T6 identity cleared. T7 generation cleared. T8 the same, from a commit. T9 maybeLeaveGroup. T10 a join that
succeeded, but whose identity is gone when it is applied. T11 MEMBER_ID_REQUIRED.
Source: Kafka AbstractCoordinator, MemberState.
"""
