"""The rebalance of one member.

A member never rebalances alone: the coordinator announces it, in the answer to a heartbeat or a commit, and every
member answers with a JoinGroup. From JoinGroup's answer the member knows its generation; from SyncGroup's, its
partitions. What the threading refactor adds to Kafka's four states are those in which the application is at work:

- PREPARE_REVOCATION: partitions that will be taken away are paused, and what was consumed of them is committed;
- REVOKING_PARTITION: the listener runs, or waits for a poll to run in. It ends when the polling thread says so;
- PARTITION_REVOKED: the subscription no longer has them;
- ASSIGNING_PARTITIONS: the listener is told of the new ones.

**Eager** members give up everything before they join. **Cooperative** members (KIP-429) keep what they own while they
join, give up after SyncGroup only what the new assignment lacks, and then rejoin, so that somebody else can have it: a
partition that moves needs two generations. They read on meanwhile, for as long as the slowest member takes to join. So
they commit twice (rule M8): before JoinGroup, since they might be put out while they wait; and, when what goes is
paused, once more. What they own of topics that they no longer subscribe to they give up before JoinGroup (`unwanted`),
as eager members do with everything: when the application has subscribed to other topics, and when SyncGroup's answer
does not fit the subscription any more. If the commit before JoinGroup is out by then (`outdated`), or over, another one
follows it. An assignment that does not fit is dropped (rule J1): the member is STABLE with what it had, and another
rebalance is due at once. Where a round is under way, or such a revocation, its answer says what goes. Where the new
assignment waits for a revocation, another rebalance is due anyway: it takes away what is unwanted by then
(`unwanted_later`).

This file is what deployed clients do. What the threading refactor proposal, taken to the letter, says instead is in
`published/rebalance.py`, and the book of differences says why (`differences.py`).

**Losing the membership** is not in the proposal. An answer UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION, fencing, or a poll
interval that ran out, take the identity away at once. Partitions still owned are then *lost*: nothing is committed for
them (rule C2), the callback is onPartitionsLost, and only after it does the member join again. If the callback
onPartitionsRevoked is queued but not begun, it becomes onPartitionsLost (rule P3); once begun it stays what it is, and
what is still owned afterwards is lost in a second one. If onPartitionsAssigned is queued but not begun, the listener is
not called (Kafka AbstractCoordinator.joinGroupIfNeeded), and `partitions_assigned` comes all the same. The member id
outlives a lost generation, to join again with; until it has, there is nothing to leave, and who leaves forgets the id
without a LeaveGroup (rule L1).

**Which thread gets which event.** Answers and timers come to the background thread, the ends of callbacks from the
polling thread. Of its neighbours the machine reads `coordinator_known`, which holds back JoinGroup and commits, and
gets `coordinator_found`, `coordinator_lost` and `poll_limit_reached` (the application has stalled). It emits
`coordinator_needed`, `coordinator_needless`, `coordinator_gone` (an answer says so) and `rejoin_requested` to the
connection; `heartbeats_enabled` (a generation is joined) and `heartbeats_disabled` (JoinGroup is sent, or the identity
is gone; rules H1, H3) to the timers; and to each partition concerned `partition_added`, `partition_enabled` (its
callback has returned), `revocation_pending` and `partition_removed`. Its other events it emits to itself.

**Fenced** (KIP-345): another process has the instance id. A member that joined again with an empty member id would take
it back as the newer process, and two such processes would fence each other for ever. So fencing is final, whichever
request is answered with it: all requests end, each poll throws the error again, and only the application can begin
anew, with unsubscribe() and then subscribe().

**Three things hold a JoinGroup back**: the application has not polled since it subscribed, was thrown an error or let
its poll interval expire (`polled`, rule J7); a retry backoff runs (`join_backoff`, rule D3); the coordinator is unknown
(rule D4). When the last of them ends, `join_needed` is emitted. In PREPARING_REBALANCE a JoinGroup is in flight exactly
if none of the three holds.

`KAFKA_TRANSITIONS`, at the end, names the cells of Kafka's AbstractCoordinator's own transitions.

Sources: threading refactor proposal (Apache Kafka wiki), "Rebalance States", "Test Plan"; KIP-62; KIP-429; KIP-394;
Kafka AbstractCoordinator (JoinGroupResponseHandler, SyncGroupResponseHandler, HeartbeatResponseHandler,
maybeLeaveGroup), ConsumerCoordinator (onJoinPrepare, onJoinComplete, onLeavePrepare).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.machine import Guard, State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Variable

# fmt: off
VARIABLES: Final = (
    Variable("subscribed", NO_YES, False, "state", "rebalance", doc="there is a subscription"),
    Variable("polled", NO_YES, False, "state", "rebalance",
             doc="the application has polled since it subscribed, was thrown an error, or let the poll interval "
                 "expire"),
    Variable("fenced", NO_YES, False, "state", "rebalance",
             doc="another process has the instance id: nothing is sent until the application has left, and subscribes "
                 "anew"),
    Variable("identity", ("none", "id", "member"), "none", "state", "rebalance",
             doc="nothing; a member id without a generation; both"),
    Variable("owned", NO_YES, False, "state", "rebalance", doc="partitions are assigned"),
    Variable("will_own", NO_YES, False, "state", "rebalance", doc="the assignment in hand is not empty"),
    Variable("unwanted", NO_YES, False, "state", "rebalance",
             doc="cooperative: something that is owned is of a topic no longer subscribed to, and goes before "
                 "JoinGroup"),
    Variable("unwanted_later", ("none", "some", "all"), "none", "state", "rebalance",
             doc="cooperative: how much of the assignment in hand is of topics no longer subscribed to: it goes in the "
                 "next rebalance"),
    Variable("keeps", NO_YES, False, "state", "rebalance",
             doc="of what is owned, something stays when the revocation in progress is done"),
    Variable("join_backoff", NO_YES, False, "state", "rebalance",
             doc="the retry backoff before the next JoinGroup runs"),
    Variable("preparing", NO_YES, False, "state", "rebalance",
             doc="cooperative: the commit before JoinGroup is under way, still in STABLE"),
    Variable("commit_step", ("none", "out", "outdated", "backoff", "blocked"), "none", "state", "rebalance",
             doc="the commit before a rebalance: none; sent; sent before the application gave a topic up, of which it "
                 "may have read on; waiting for its backoff; waiting for a coordinator"),
    Variable("lost", NO_YES, False, "state", "rebalance",
             doc="the callback of REVOKING_PARTITION is onPartitionsLost, not onPartitionsRevoked"),
    Variable("callback_running", NO_YES, False, "state", "rebalance",
             doc="the polling thread has taken REVOKE_PARTITIONS: its kind is settled"),
    Variable("follow_up", NO_YES, False, "state", "rebalance",
             doc="another rebalance is due as soon as this one is done"),
    Variable("leaving", NO_YES, False, "state", "rebalance",
             doc="unsubscribe() or close() waits for the last callback"),
)

EFFECTS: Final = (
    # what may hold a JoinGroup back
    Effect("subscribe", {"subscribed": "True", "polled": "False"}),
    Effect("note_poll", {"polled": "True"}),
    Effect("await_poll", {"polled": "False"}),
    Effect("fence", {"fenced": "True", "polled": "False"}, ("coordinator_needless",)),
    Effect("need_coordinator", {}, ("coordinator_needed",)),
    Effect("need_no_coordinator", {}, ("coordinator_needless",)),
    Effect("back_off_join", {"join_backoff": "True"}),
    Effect("end_join_backoff", {"join_backoff": "False"}),
    Effect("join", {}, ("join_needed",)),
    # requests
    Effect("send_join_group",
           {"preparing": "False", "follow_up": "False", "join_backoff": "False", "unwanted": "False", "keeps": "False"},
           ("heartbeats_disabled", "JoinGroup")),
    Effect("send_sync_group", {}, ("SyncGroup",)),
    Effect("send_leave_group", {}, ("LeaveGroup",)),
    Effect("send_offset_commit", {"commit_step": "'out'"}, ("OffsetCommit",)),
    # identity
    Effect("keep_given_id", {"identity": "'id'"}),
    Effect("become_member", {"identity": "'member'"}),
    Effect("forget_identity", {"identity": "'none'", "unwanted": "False", "unwanted_later": "'none'"}),
    Effect("forget_generation",
           {"identity": "'id' if identity != 'none' else 'none'", "unwanted": "False", "unwanted_later": "'none'"}),
    Effect("enable_heartbeats", {}, ("heartbeats_enabled",)),
    Effect("disable_heartbeats", {}, ("heartbeats_disabled",)),
    # partitions, and the callbacks about them
    Effect("take_assignment",
           {"owned": "adds_any or (cooperative and owned and (retains_any or not revokes_any))", "keeps": "False"},
           ("partition_added",)),
    Effect("take_smaller_assignment",
           {"will_own": "adds_any or retains_any", "unwanted_later": "'none'", "keeps": "retains_any"}),
    Effect("note_unwanted_later",
           {"unwanted_later": "'none' if not revokes_any else 'some' if retains_any else 'all'"}),
    Effect("own_new",
           {"owned": "will_own", "will_own": "False", "unwanted": "unwanted_later != 'none'",
            "keeps": "unwanted_later == 'some'", "unwanted_later": "'none'"}, ("partition_added",)),
    Effect("shrink", {"owned": "keeps", "lost": "False", "callback_running": "False"}, ("partition_removed",)),
    Effect("enable_partitions", {}, ("partition_enabled",)),
    Effect("note_unwanted",
           {"unwanted": "deployed and cooperative and owned and revokes_any",
            "keeps": "deployed and cooperative and owned and revokes_any and retains_any", "preparing": "False"},
           doc="what is owned of topics no longer subscribed to goes before JoinGroup"),
    Effect("pause_owned", {"keeps": "False"}, ("revocation_pending",)),
    Effect("pause_taken", {}, ("revocation_pending",)),
    Effect("send_revoke_partitions", {"lost": "False", "callback_running": "False"}, ("REVOKE_PARTITIONS",)),
    Effect("send_assign_partitions", {}, ("ASSIGN_PARTITIONS",)),
    Effect("start_callback", {"callback_running": "True"}),
    Effect("go_on", {}, ("revocation_done",)),
    # the commit before a rebalance
    Effect("commit", {"commit_step": "'blocked'"}, ("commit_needed",)),
    Effect("retry_commit", {"commit_step": "'blocked'"}, ("commit_needed",)),
    Effect("outdate_commit", {"commit_step": "'outdated'"}, doc="another one follows it"),
    Effect("skip_commit", {}, ("revocation_prepared",)),
    Effect("back_off_commit", {"commit_step": "'backoff'"}),
    Effect("end_commit", {"commit_step": "'none'", "preparing": "False"}),
    Effect("finish_commit", {"commit_step": "'none'"}),
    Effect("prepare_to_join", {"preparing": "True"}),
    # the rebalance as a whole
    Effect("want_follow_up", {"follow_up": "True"}),
    Effect("rejoin", {"follow_up": "False"}, ("rejoin_requested",)),
    Effect("lose",
           {"lost": "True", "callback_running": "False", "keeps": "False", "commit_step": "'none'",
            "preparing": "False", "follow_up": "False", "will_own": "False"},
           ("heartbeats_disabled", "revocation_pending", "REVOKE_PARTITIONS"),
           doc="everything owned is lost: the callback says so, nothing is committed"),
    Effect("lose_instead", {"lost": "True", "keeps": "False", "follow_up": "False", "will_own": "False"},
           ("heartbeats_disabled",), doc="the callback that is due becomes onPartitionsLost"),
    Effect("drop_rebalance", {"commit_step": "'none'", "preparing": "False", "follow_up": "False"},
           ("heartbeats_disabled",)),
    Effect("start_leaving",
           {"leaving": "True", "unwanted": "False", "unwanted_later": "'none'", "commit_step": "'none'",
            "preparing": "False", "follow_up": "False", "join_backoff": "False"}),
    Effect("lose_but_stay",
           {"lost": "True", "callback_running": "False", "keeps": "False", "join_backoff": "False",
            "will_own": "False"}, ("revocation_pending", "REVOKE_PARTITIONS"),
           doc="a rebalance is given up to leave: its partitions count as lost"),
    Effect("leave",
           {"leaving": "False", "subscribed": "False", "polled": "False", "fenced": "False", "join_backoff": "False",
            "follow_up": "False", "commit_step": "'none'", "preparing": "False", "will_own": "False",
            "keeps": "False"}, ("leave_needed",)),
)
# fmt: on

MAY_JOIN: Final = Guard("polled and coordinator_known and not join_backoff")
"""Nothing holds a JoinGroup back: in PREPARING_REBALANCE one is in flight."""
JOIN_IN_FLIGHT: Final = Guard("current") & MAY_JOIN
"""An answer to JoinGroup that is waited for."""
WAITING_TO_JOIN: Final = Guard("current and identity == 'member' and (join_backoff or not polled)")
"""An answer to a heartbeat of a member that waits to join again: heartbeats go on until JoinGroup is sent."""
COMMIT_IN_FLIGHT: Final = Guard(
    "current and coordinator_known and "
    "(commit_step == 'out' or commit_step == 'outdated' or commit_step == 'none' and owned and identity == 'member')"
)
"""An answer to a commit that is waited for: the one before a rebalance, or another of a member that owns something."""
SENT: Final = Guard("commit_step == 'out' or commit_step == 'outdated'")
"""The commit before a rebalance has been sent, and is not answered."""
COMMITS: Final = Guard("owned and auto_commit")
"""A commit comes before the rebalance."""


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
    NOT_JOINED = (UNJOINED, PREPARING_REBALANCE)
    CALLBACKS = (REVOKING_PARTITION, ASSIGNING_PARTITIONS)
    COMMITTING = (PREPARE_REVOCATION, PARTITION_REVOKED, STABLE)
    IN_REVOCATION = (PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED)
    HOLDING = (PREPARE_REVOCATION, PARTITION_REVOKED, COMPLETING_REBALANCE, STABLE)
    JOINED = (*HOLDING, *CALLBACKS)
    EVERY = (*NOT_JOINED, *JOINED)

    HEARTBEAT_ANSWERS = ("heartbeat_rebalance_in_progress", "heartbeat_unknown_member", "heartbeat_illegal_generation",
                         "heartbeat_fenced")
    COMMIT_ANSWERS = ("commit_settled", "commit_retriable", "commit_coordinator_gone", "commit_rebalance_in_progress",
                      "commit_unknown_member", "commit_illegal_generation", "commit_fenced")
    JOIN_ANSWERS = ("join_accepted", "join_member_id_required", "join_rebalance_in_progress", "join_unknown_member",
                    "join_coordinator_loading", "join_coordinator_gone", "join_fenced", "join_fatal")
    SYNC_ANSWERS = ("sync_accepted", "sync_rebalance_in_progress", "sync_unknown_member", "sync_illegal_generation",
                    "sync_coordinator_gone", "sync_fenced", "sync_fatal")

    # -- UNJOINED: outside the group -----------------------------------------------------------------------------------
    row(UNJOINED, "subscribed_to_topics", None, rules="J7",
        when="not subscribed",                                          do=["subscribe"])
    row(UNJOINED, "application_polled",   None, rules="J7 D1 P2",
        when="subscribed and not polled and not fenced",                do=["note_poll", "need_coordinator", "join"])
    row(UNJOINED, "coordinator_found",    None, rules="D1 J2",
        when="subscribed and polled and not join_backoff",              do=["join"])
    row(UNJOINED, "leave_requested",      None, rules="L1 L2 L3",
        when="subscribed or identity != 'none'",                        do=["forget_identity", "leave"])
    row(UNJOINED, "leave_needed",         None, rules="L1 H3",
        when="not static and identity != 'none' and coordinator_known",
        do=["send_leave_group", "forget_identity", "disable_heartbeats", "need_no_coordinator"])
    row(UNJOINED, "leave_needed",         None, rules="L1 H3",
        when="not (not static and identity != 'none' and coordinator_known)",
        do=["forget_identity", "disable_heartbeats", "need_no_coordinator"])

    # -- what holds a JoinGroup back ends, in several states -----------------------------------------------------------
    row((UNJOINED, *CALLBACKS), "application_polled", None, rules="X2",
        when="fenced",                do=["throw"])
    row((UNJOINED, PARTITION_REVOKED, PREPARING_REBALANCE), "join_backoff_elapsed", None, rules="D3 J2",
        when="join_backoff",          do=["end_join_backoff", "join"])
    row((UNJOINED, PARTITION_REVOKED), "join_needed", PREPARING_REBALANCE, rules="J1 J7 D4 H3",
        when="subscribed" & MAY_JOIN, do=["send_join_group"])

    # -- PREPARING_REBALANCE: JoinGroup is in flight, or held back -----------------------------------------------------
    row(PREPARING_REBALANCE, "application_polled",           None,                 rules="J2 P2",
        when="not polled",                                 do=["note_poll", "need_coordinator", "join"])
    row(PREPARING_REBALANCE, "coordinator_found",            None,                 rules="D1 J2",
        when="polled and not join_backoff",                do=["join"])
    row(PREPARING_REBALANCE, "join_needed",                  None,                 rules="J1 J2 D4 H3",
        when=MAY_JOIN,                                     do=["send_join_group"])
    row(PREPARING_REBALANCE, "join_accepted",                COMPLETING_REBALANCE, rules="J9 H1 S2",
        when=JOIN_IN_FLIGHT,                               do=["become_member", "enable_heartbeats", "send_sync_group"])
    row(PREPARING_REBALANCE, "join_member_id_required",      None,                 rules="J3",
        when=JOIN_IN_FLIGHT,                               do=["keep_given_id", "send_join_group"])
    row(PREPARING_REBALANCE, "join_rebalance_in_progress",   None,                 rules="J2 J4",
        when=JOIN_IN_FLIGHT,                               do=["send_join_group"])
    row(PREPARING_REBALANCE, "join_unknown_member",          UNJOINED,             rules="J4 J2",
        when=JOIN_IN_FLIGHT & "not owned",                 do=["forget_identity", "join"])
    row(PREPARING_REBALANCE, "join_unknown_member",          REVOKING_PARTITION,   rules="J4 C2 K1",
        when=JOIN_IN_FLIGHT & "owned",                     do=["forget_identity", "lose"])
    row(PREPARING_REBALANCE, "join_coordinator_loading",     None,                 rules="D3 J2",
        when=JOIN_IN_FLIGHT,                               do=["back_off_join"])
    row(PREPARING_REBALANCE, "join_coordinator_gone",        None,                 rules="D1 D3 J2 J4",
        when=JOIN_IN_FLIGHT,                               do=["back_off_join", "report_coordinator_gone"])
    row(PREPARING_REBALANCE, "join_fenced",                  UNJOINED,             rules="X2",
        when=JOIN_IN_FLIGHT & "not owned",                 do=["forget_identity", "fence", "throw"])
    row(PREPARING_REBALANCE, "join_fenced",                  REVOKING_PARTITION,   rules="X2 C2",
        when=JOIN_IN_FLIGHT & "owned",                     do=["forget_identity", "fence", "throw", "lose"])
    row(PREPARING_REBALANCE, "join_fatal",                   None,                 rules="J2",
        when=JOIN_IN_FLIGHT,                               do=["await_poll", "throw"])
    row(PREPARING_REBALANCE, "coordinator_lost",             None,                 rules="D1 D5 J2 J4",
        when="polled and not join_backoff",                do=["back_off_join"])
    row(PREPARING_REBALANCE, "heartbeat_unknown_member",     REVOKING_PARTITION,   rules="J4 H4 C2 H3",
        when=WAITING_TO_JOIN & "owned",                    do=["forget_identity", "lose"])
    row(PREPARING_REBALANCE, "heartbeat_illegal_generation", REVOKING_PARTITION,   rules="J4 H4 C2 H3",
        when=WAITING_TO_JOIN & "owned",                    do=["forget_generation", "lose"])
    row(PREPARING_REBALANCE, "heartbeat_fenced",             REVOKING_PARTITION,   rules="X2 C2 H3",
        when=WAITING_TO_JOIN & "owned",                    do=["forget_identity", "fence", "throw", "lose"])
    row(PREPARING_REBALANCE, "heartbeat_unknown_member",     UNJOINED,             rules="J4 H4 H3 J2",
        when=WAITING_TO_JOIN & "not owned",                do=["forget_identity", "drop_rebalance", "join"])
    row(PREPARING_REBALANCE, "heartbeat_illegal_generation", UNJOINED,             rules="J4 H4 H3 J2",
        when=WAITING_TO_JOIN & "not owned",                do=["forget_generation", "drop_rebalance", "join"])
    row(PREPARING_REBALANCE, "heartbeat_fenced",             UNJOINED,             rules="X2 H3",
        when=WAITING_TO_JOIN & "not owned",                do=["forget_identity", "fence", "throw", "drop_rebalance"])
    row(PREPARING_REBALANCE, "poll_limit_reached",           REVOKING_PARTITION,   rules="P1 C2 H3",
        when="identity == 'member' and owned and not static",
        do=["send_leave_group", "forget_identity", "await_poll", "lose"])
    row(PREPARING_REBALANCE, "poll_limit_reached",           REVOKING_PARTITION,   rules="P1 L1 C2 H3",
        when="identity == 'member' and owned and static",  do=["forget_identity", "await_poll", "lose"])
    row(PREPARING_REBALANCE, "poll_limit_reached",           UNJOINED,             rules="P1 H3",
        when="identity == 'member' and not owned and not static",
        do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"])
    row(PREPARING_REBALANCE, "poll_limit_reached",           UNJOINED,             rules="P1 L1 H3",
        when="identity == 'member' and not owned and static", do=["forget_identity", "await_poll", "drop_rebalance"])

    # -- COMPLETING_REBALANCE: SyncGroup is in flight ------------------------------------------------------------------
    row(COMPLETING_REBALANCE, "sync_accepted",              ASSIGNING_PARTITIONS, rules="J9 Q4 C3",
        when="current and fits_subscription and not (cooperative and owned and revokes_any)",
        do=["take_assignment", "send_assign_partitions"])
    row(COMPLETING_REBALANCE, "sync_accepted",              PREPARE_REVOCATION,   rules="J9 M3 M8 Q4 Q5",
        when="current and fits_subscription and cooperative and owned and revokes_any and auto_commit",
        do=["take_smaller_assignment", "pause_taken", "commit"])
    row(COMPLETING_REBALANCE, "sync_accepted",              PREPARE_REVOCATION,   rules="J9 Q4 Q5",
        when="current and fits_subscription and cooperative and owned and revokes_any and not auto_commit",
        do=["take_smaller_assignment", "pause_taken", "skip_commit"])
    row(COMPLETING_REBALANCE, "sync_accepted",              STABLE,               rules="J1 J2",
        when="current and not fits_subscription",        do=["note_unwanted", "rejoin"])
    row(COMPLETING_REBALANCE, "sync_rebalance_in_progress", PREPARING_REBALANCE,  rules="J2 J4",
        when="current",                                  do=["send_join_group"])
    row(COMPLETING_REBALANCE, "sync_unknown_member",        UNJOINED,             rules="J4 J2 H3",
        when="current and not owned",                    do=["forget_identity", "disable_heartbeats", "join"])
    row(COMPLETING_REBALANCE, "sync_unknown_member",        REVOKING_PARTITION,   rules="J4 C2 H3",
        when="current and owned",                        do=["forget_identity", "lose"])
    row(COMPLETING_REBALANCE, "sync_illegal_generation",    UNJOINED,             rules="J4 J2 H3",
        when="current and not owned",                    do=["forget_generation", "disable_heartbeats", "join"])
    row(COMPLETING_REBALANCE, "sync_illegal_generation",    REVOKING_PARTITION,   rules="J4 C2 H3",
        when="current and owned",                        do=["forget_generation", "lose"])
    row(COMPLETING_REBALANCE, "sync_coordinator_gone",      PREPARING_REBALANCE,  rules="D1 D3 J2 J4",
        when="current",                                  do=["back_off_join", "report_coordinator_gone"])
    row(COMPLETING_REBALANCE, "sync_fenced",                UNJOINED,             rules="X2 H3",
        when="current and not owned",                    do=["forget_identity", "disable_heartbeats", "fence", "throw"])
    row(COMPLETING_REBALANCE, "sync_fenced",                REVOKING_PARTITION,   rules="X2 C2 H3",
        when="current and owned",                        do=["forget_identity", "fence", "throw", "lose"])
    row(COMPLETING_REBALANCE, "sync_fatal",                 PREPARING_REBALANCE,  rules="J2",
        when="current",                                  do=["await_poll", "throw"])
    row(COMPLETING_REBALANCE, "coordinator_lost",           PREPARING_REBALANCE,  rules="D1 D5 J2 J4",
        do=["back_off_join"])

    # -- ASSIGNING_PARTITIONS: the listener is told of its partitions --------------------------------------------------
    row(ASSIGNING_PARTITIONS, "partitions_assigned",             STABLE,             rules="C1 C3 Q2",
        when="identity == 'member' and not follow_up",   do=["enable_partitions"])
    row(ASSIGNING_PARTITIONS, "partitions_assigned",             STABLE,             rules="C1 K2 J2",
        when="identity == 'member' and follow_up",       do=["enable_partitions", "rejoin"])
    row(ASSIGNING_PARTITIONS, "partitions_assigned",             REVOKING_PARTITION, rules="C1 C2 P3",
        when="identity != 'member' and owned",           do=["enable_partitions", "lose"])
    row(ASSIGNING_PARTITIONS, "partitions_assigned",             UNJOINED,           rules="J2",
        when="identity != 'member' and not owned",       do=["join"])
    row(ASSIGNING_PARTITIONS, "heartbeat_rebalance_in_progress", None,               rules="H4 M2 J2",
        when="current and identity == 'member' and not follow_up", do=["want_follow_up"])
    row(ASSIGNING_PARTITIONS, "commit_rebalance_in_progress",    None,               rules="H4 M2 J2",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and not follow_up", do=["want_follow_up"])
    row(ASSIGNING_PARTITIONS, "subscription_changed",            None,               rules="J1 J2 Q4",
        do=["want_follow_up", "note_unwanted"])
    row(ASSIGNING_PARTITIONS, "heartbeat_unknown_member",        None,               rules="J4 C2 H3",
        when="current and identity == 'member'",         do=["forget_identity", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "commit_unknown_member",           None,               rules="J4 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member'",  do=["forget_identity", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "heartbeat_illegal_generation",    None,               rules="J4 C2 H3",
        when="current and identity == 'member'",         do=["forget_generation", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "commit_illegal_generation",       None,               rules="J4 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member'",  do=["forget_generation", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "heartbeat_fenced",                None,               rules="X2 C2 H3",
        when="current and identity == 'member'",         do=["forget_identity", "fence", "throw", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "commit_fenced",                   None,               rules="X2 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member'",  do=["forget_identity", "fence", "throw", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "poll_limit_reached",              None,               rules="P1 H3",
        when="identity == 'member' and not static",
        do=["send_leave_group", "forget_identity", "await_poll", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "poll_limit_reached",              None,               rules="P1 L1 H3",
        when="identity == 'member' and static",          do=["forget_identity", "await_poll", "disable_heartbeats"])
    row(ASSIGNING_PARTITIONS, "leave_requested",                 REVOKING_PARTITION, rules="C7 L2",
        when="owned and identity == 'member'",           do=["start_leaving", "pause_owned", "send_revoke_partitions"])
    row(ASSIGNING_PARTITIONS, "leave_requested",                 REVOKING_PARTITION, rules="C7 C2 L2",
        when="owned and identity != 'member'",           do=["start_leaving", "lose_but_stay"])
    row(ASSIGNING_PARTITIONS, "leave_requested",                 UNJOINED,           rules="L1 L2 L3",
        when="not owned and identity == 'member'",       do=["leave"])
    row(ASSIGNING_PARTITIONS, "leave_requested",                 UNJOINED,           rules="L1 L2 L3",
        when="not owned and identity != 'member'",       do=["forget_identity", "leave"])

    # -- STABLE: a rebalance is announced, or wanted -------------------------------------------------------------------
    row(STABLE, "coordinator_found",               None,                rules="D1 J2",
        when="preparing and commit_step == 'none'",                     do=["join"])
    row(STABLE, "join_needed",                     PREPARING_REBALANCE, rules="J1 J2 D4 H3 K1",
        when="preparing and commit_step == 'none' and coordinator_known", do=["send_join_group"])
    row(STABLE, "heartbeat_rebalance_in_progress", PREPARE_REVOCATION,  rules="H4 M2 M3 Q4 Q5",
        when="current and not preparing and eager" & COMMITS,           do=["pause_owned", "commit"])
    row(STABLE, "commit_rebalance_in_progress",    PREPARE_REVOCATION,  rules="H4 M2 M3 Q4 Q5",
        when=COMMIT_IN_FLIGHT & "not preparing and eager" & COMMITS,    do=["pause_owned", "commit"])
    row(STABLE, "heartbeat_rebalance_in_progress", PREPARE_REVOCATION,  rules="H4 M2 Q4 Q5",
        when="current and not preparing and eager" & ~COMMITS,          do=["pause_owned", "skip_commit"])
    row(STABLE, "commit_rebalance_in_progress",    PREPARE_REVOCATION,  rules="H4 M2 Q4 Q5",
        when=COMMIT_IN_FLIGHT & "not preparing and eager" & ~COMMITS,   do=["pause_owned", "skip_commit"])
    row(STABLE, "heartbeat_rebalance_in_progress", None,                rules="H4 M2 M3 Q4",
        when="current and not preparing and cooperative" & COMMITS,     do=["prepare_to_join", "commit"])
    row(STABLE, "commit_rebalance_in_progress",    None,                rules="H4 M2 M3 Q4",
        when=COMMIT_IN_FLIGHT & "not preparing and cooperative" & COMMITS, do=["prepare_to_join", "commit"])
    row(STABLE, "heartbeat_rebalance_in_progress", None,                rules="H4 M2 Q4 K1",
        when="current and not preparing and cooperative" & ~COMMITS,    do=["prepare_to_join", "join"])
    row(STABLE, "commit_rebalance_in_progress",    None,                rules="H4 M2 Q4 K1",
        when=COMMIT_IN_FLIGHT & "not preparing and cooperative" & ~COMMITS, do=["prepare_to_join", "join"])
    row(STABLE, "rejoin_requested",                PREPARE_REVOCATION,  rules="J8 M3 Q4 Q5",
        when="not preparing and eager" & COMMITS,                       do=["pause_owned", "commit"])
    row(STABLE, "rejoin_requested",                PREPARE_REVOCATION,  rules="J8 Q4 Q5",
        when="not preparing and eager" & ~COMMITS,                      do=["pause_owned", "skip_commit"])
    row(STABLE, "rejoin_requested",                None,                rules="J8 M3 Q4",
        when="not preparing and cooperative and owned and auto_commit and not unwanted",
        do=["prepare_to_join", "commit"])
    row(STABLE, "rejoin_requested",                None,                rules="J8 Q4 K1",
        when="not preparing and cooperative and not (owned and auto_commit) and not unwanted",
        do=["prepare_to_join", "join"])
    row(STABLE, "rejoin_requested",                PREPARE_REVOCATION,  rules="J2 M3 M8 Q4 Q5",
        when="not preparing and cooperative and unwanted and auto_commit", do=["pause_taken", "commit"])
    row(STABLE, "rejoin_requested",                PREPARE_REVOCATION,  rules="J2 Q4 Q5",
        when="not preparing and cooperative and unwanted and not auto_commit", do=["pause_taken", "skip_commit"])
    row(STABLE, "subscription_changed",            None,                rules="J2 Q4",
        when="not preparing",                                           do=["note_unwanted", "rejoin"])
    row(STABLE, "subscription_changed",            PREPARE_REVOCATION,  rules="J2 M8 Q4 Q5",
        when="preparing and owned and revokes_any" & SENT,
        do=["note_unwanted", "pause_taken", "outdate_commit"])
    row(STABLE, "subscription_changed",            PREPARE_REVOCATION,  rules="J2 Q4 Q5",
        when="preparing and owned and revokes_any and (commit_step == 'backoff' or commit_step == 'blocked')",
        do=["note_unwanted", "pause_taken"])
    row(STABLE, "subscription_changed",            PREPARE_REVOCATION,  rules="J2 M3 M8 Q4 Q5",
        when="preparing and owned and revokes_any and commit_step == 'none' and auto_commit",
        do=["note_unwanted", "pause_taken", "commit"])
    row(STABLE, "subscription_changed",            PREPARE_REVOCATION,  rules="J2 Q4 Q5",
        when="preparing and owned and revokes_any and commit_step == 'none' and not auto_commit",
        do=["note_unwanted", "pause_taken", "skip_commit"])
    row(STABLE, ("commit_settled", "commit_rebalance_in_progress"), None, rules="M3 Q4 K1",
        when=COMMIT_IN_FLIGHT & "preparing" & SENT,                     do=["finish_commit", "join"])
    row(STABLE, "commit_deadline_expired",         None,                rules="M3",
        when="preparing and commit_step != 'none'",                     do=["finish_commit", "join"])

    # -- PREPARE_REVOCATION: what was consumed is committed ------------------------------------------------------------
    row(PREPARE_REVOCATION, "revocation_prepared",     REVOKING_PARTITION, rules="Q4", do=["send_revoke_partitions"])
    row(PREPARE_REVOCATION, "commit_settled",          REVOKING_PARTITION, rules="M3 C3 Q4",
        when=COMMIT_IN_FLIGHT & "commit_step == 'out'", do=["end_commit", "send_revoke_partitions"])
    row(PREPARE_REVOCATION, "commit_settled",          None,               rules="M3 M8",
        when=COMMIT_IN_FLIGHT & "commit_step == 'outdated'", do=["commit"])
    row(PREPARE_REVOCATION, "commit_rebalance_in_progress", REVOKING_PARTITION, rules="M3 C3 Q4",
        when=COMMIT_IN_FLIGHT & SENT,                   do=["end_commit", "send_revoke_partitions"])
    row(PREPARE_REVOCATION, "commit_deadline_expired", REVOKING_PARTITION, rules="M3",
        when="commit_step != 'none'",                   do=["end_commit", "send_revoke_partitions"])

    # -- REVOKING_PARTITION: the listener is told which partitions go --------------------------------------------------
    row(REVOKING_PARTITION, "join_backoff_elapsed",         None,              rules="D3",
        when="join_backoff",                                            do=["end_join_backoff"])
    row(REVOKING_PARTITION, "callback_started",             None,              rules="Q2 C5",
        when="not callback_running",                                    do=["start_callback"])
    row(REVOKING_PARTITION, "partitions_revoked",           PARTITION_REVOKED, rules="C1 C3 Q2 Q4",
        when="callback_running and not leaving and not lost and identity == 'member'", do=["shrink", "go_on"])
    row(REVOKING_PARTITION, "partitions_revoked",           UNJOINED,          rules="C1 C2 P3 J2",
        when="callback_running and not leaving and (lost or identity != 'member' and not keeps)", do=["shrink", "join"])
    row(REVOKING_PARTITION, "partitions_revoked",           None,              rules="C1 C2",
        when="callback_running and not lost and identity != 'member' and keeps", do=["shrink", "lose"])
    row(REVOKING_PARTITION, "partitions_revoked",           None,              rules="C1 C7",
        when="callback_running and not lost and identity == 'member' and keeps and leaving",
        do=["shrink", "pause_owned", "send_revoke_partitions"])
    row(REVOKING_PARTITION, "partitions_revoked",           UNJOINED,          rules="C7 L1",
        when="callback_running and leaving and (lost or not keeps) and identity == 'member'", do=["shrink", "leave"])
    row(REVOKING_PARTITION, "partitions_revoked",           UNJOINED,          rules="C7 L1",
        when="callback_running and leaving and (lost or not keeps) and identity != 'member'",
        do=["shrink", "forget_identity", "leave"])
    row(REVOKING_PARTITION, "heartbeat_unknown_member",     None,              rules="J4 C2 P3 H3",
        when="current and identity == 'member' and not callback_running", do=["forget_identity", "lose_instead"])
    row(REVOKING_PARTITION, "commit_unknown_member",        None,              rules="J4 C2 P3 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and not callback_running", do=["forget_identity", "lose_instead"])
    row(REVOKING_PARTITION, "heartbeat_illegal_generation", None,              rules="J4 C2 P3 H3",
        when="current and identity == 'member' and not callback_running", do=["forget_generation", "lose_instead"])
    row(REVOKING_PARTITION, "commit_illegal_generation",    None,              rules="J4 C2 P3 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and not callback_running",
        do=["forget_generation", "lose_instead"])
    row(REVOKING_PARTITION, "heartbeat_fenced",             None,              rules="X2 C2 P3 H3",
        when="current and identity == 'member' and not callback_running",
        do=["forget_identity", "fence", "throw", "lose_instead"])
    row(REVOKING_PARTITION, "commit_fenced",                None,              rules="X2 C2 P3 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and not callback_running",
        do=["forget_identity", "fence", "throw", "lose_instead"])
    row(REVOKING_PARTITION, "poll_limit_reached",           None,              rules="P1 P3 C2 H3",
        when="identity == 'member' and not leaving and not callback_running and not static",
        do=["send_leave_group", "forget_identity", "await_poll", "lose_instead"])
    row(REVOKING_PARTITION, "poll_limit_reached",           None,              rules="P1 P3 L1 C2 H3",
        when="identity == 'member' and not leaving and not callback_running and static",
        do=["forget_identity", "await_poll", "lose_instead"])
    row(REVOKING_PARTITION, "heartbeat_unknown_member",     None,              rules="J4 C2 H3",
        when="current and identity == 'member' and callback_running",   do=["forget_identity", "disable_heartbeats"])
    row(REVOKING_PARTITION, "commit_unknown_member",        None,              rules="J4 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and callback_running",
        do=["forget_identity", "disable_heartbeats"])
    row(REVOKING_PARTITION, "heartbeat_illegal_generation", None,              rules="J4 C2 H3",
        when="current and identity == 'member' and callback_running",   do=["forget_generation", "disable_heartbeats"])
    row(REVOKING_PARTITION, "commit_illegal_generation",    None,              rules="J4 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and callback_running",
        do=["forget_generation", "disable_heartbeats"])
    row(REVOKING_PARTITION, "heartbeat_fenced",             None,              rules="X2 C2 H3",
        when="current and identity == 'member' and callback_running",
        do=["forget_identity", "fence", "throw", "disable_heartbeats"])
    row(REVOKING_PARTITION, "commit_fenced",                None,              rules="X2 C2 H3",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and callback_running",
        do=["forget_identity", "fence", "throw", "disable_heartbeats"])
    row(REVOKING_PARTITION, "poll_limit_reached",           None,              rules="P1 H3",
        when="identity == 'member' and not leaving and callback_running and not static",
        do=["send_leave_group", "forget_identity", "await_poll", "disable_heartbeats"])
    row(REVOKING_PARTITION, "poll_limit_reached",           None,              rules="P1 L1 H3",
        when="identity == 'member' and not leaving and callback_running and static",
        do=["forget_identity", "await_poll", "disable_heartbeats"])
    row(REVOKING_PARTITION, "leave_requested",              None,              rules="C7 L2",
        when="not leaving",                                             do=["start_leaving"])

    # -- PARTITION_REVOKED: they are gone ------------------------------------------------------------------------------
    row(PARTITION_REVOKED, "coordinator_found",       None,                 rules="D1 J2",
        when="polled and not join_backoff and commit_step == 'none'", do=["join"])
    row(PARTITION_REVOKED, "revocation_done",         None,                 rules="Q4 J2",
        when="eager or unwanted",                            do=["join"])
    row(PARTITION_REVOKED, "revocation_done",         ASSIGNING_PARTITIONS, rules="Q4 C3 K2",
        when="cooperative and not unwanted",                 do=["want_follow_up", "own_new", "send_assign_partitions"])
    row(PARTITION_REVOKED, ("commit_settled", "commit_rebalance_in_progress"), None, rules="M3",
        when=COMMIT_IN_FLIGHT & SENT,                        do=["end_commit", "go_on"])
    row(PARTITION_REVOKED, "commit_deadline_expired", None,                 rules="M3",
        when="commit_step != 'none'",                        do=["end_commit", "go_on"])

    # -- the commit before a rebalance, in PREPARE_REVOCATION, PARTITION_REVOKED and STABLE ----------------------------
    row(COMMITTING, "commit_needed",           None, rules="D4 M1 M3",
        when="commit_step == 'blocked' and coordinator_known", do=["send_offset_commit"])
    row(COMMITTING, "commit_retriable",        None, rules="D3 M3",
        when=COMMIT_IN_FLIGHT & SENT,                          do=["back_off_commit"])
    row(COMMITTING, "commit_coordinator_gone", None, rules="D1 D3 M3",
        when=COMMIT_IN_FLIGHT & SENT,                          do=["back_off_commit", "report_coordinator_gone"])
    row(COMMITTING, "commit_coordinator_gone", None, rules="D1",
        when=COMMIT_IN_FLIGHT & ~SENT,                         do=["report_coordinator_gone"])
    row(CALLBACKS,  "commit_coordinator_gone", None, rules="D1",
        when=COMMIT_IN_FLIGHT,                                 do=["report_coordinator_gone"])
    row(COMMITTING, "coordinator_lost",        None, rules="D1 D5 M3",
        when=SENT,                                             do=["back_off_commit"])
    row(COMMITTING, "coordinator_found",       None, rules="D1 M3",
        when="commit_step == 'blocked'",                       do=["retry_commit"])
    row(COMMITTING, "commit_backoff_elapsed",  None, rules="D3 M3",
        when="commit_step == 'backoff'",                       do=["retry_commit"])

    # -- the membership is lost ----------------------------------------------------------------------------------------
    row(HOLDING,    "heartbeat_unknown_member",     REVOKING_PARTITION, rules="J4 H4 M2 C2 H3",
        when="current and owned",            do=["forget_identity", "lose"])
    row(COMMITTING, "commit_unknown_member",        REVOKING_PARTITION, rules="J4 H4 M2 C2 H3",
        when=COMMIT_IN_FLIGHT & "owned",     do=["forget_identity", "lose"])
    row(HOLDING,    "heartbeat_illegal_generation", REVOKING_PARTITION, rules="J4 H4 M2 C2 H3",
        when="current and owned",            do=["forget_generation", "lose"])
    row(COMMITTING, "commit_illegal_generation",    REVOKING_PARTITION, rules="J4 H4 M2 C2 H3",
        when=COMMIT_IN_FLIGHT & "owned",     do=["forget_generation", "lose"])
    row(HOLDING,    "heartbeat_fenced",             REVOKING_PARTITION, rules="X2 C2 H3",
        when="current and owned",            do=["forget_identity", "fence", "throw", "lose"])
    row(COMMITTING, "commit_fenced",                REVOKING_PARTITION, rules="X2 C2 H3",
        when=COMMIT_IN_FLIGHT & "owned",     do=["forget_identity", "fence", "throw", "lose"])
    row(HOLDING,    "poll_limit_reached",           REVOKING_PARTITION, rules="P1 C2 H3",
        when="owned and not static",         do=["send_leave_group", "forget_identity", "await_poll", "lose"])
    row(HOLDING,    "poll_limit_reached",           REVOKING_PARTITION, rules="P1 L1 C2 H3",
        when="owned and static",             do=["forget_identity", "await_poll", "lose"])
    row(HOLDING,    "heartbeat_unknown_member",     UNJOINED,           rules="J4 H4 M2 H3 J2",
        when="current and not owned",        do=["forget_identity", "drop_rebalance", "join"])
    row(COMMITTING, "commit_unknown_member",        UNJOINED,           rules="J4 H4 M2 H3 J2",
        when=COMMIT_IN_FLIGHT & "not owned", do=["forget_identity", "drop_rebalance", "join"])
    row(HOLDING,    "heartbeat_illegal_generation", UNJOINED,           rules="J4 H4 M2 H3 J2",
        when="current and not owned",        do=["forget_generation", "drop_rebalance", "join"])
    row(COMMITTING, "commit_illegal_generation",    UNJOINED,           rules="J4 H4 M2 H3 J2",
        when=COMMIT_IN_FLIGHT & "not owned", do=["forget_generation", "drop_rebalance", "join"])
    row(HOLDING,    "heartbeat_fenced",             UNJOINED,           rules="X2 H3",
        when="current and not owned",        do=["forget_identity", "fence", "throw", "drop_rebalance"])
    row(COMMITTING, "commit_fenced",                UNJOINED,           rules="X2 H3",
        when=COMMIT_IN_FLIGHT & "not owned", do=["forget_identity", "fence", "throw", "drop_rebalance"])
    row(HOLDING,    "poll_limit_reached",           UNJOINED,           rules="P1 H3",
        when="not owned and not static",     do=["send_leave_group", "forget_identity", "await_poll", "drop_rebalance"])
    row(HOLDING,    "poll_limit_reached",           UNJOINED,           rules="P1 L1 H3",
        when="not owned and static",         do=["forget_identity", "await_poll", "drop_rebalance"])

    # -- the application polls, wants another rebalance, or leaves, in several states ----------------------------------
    row(HOLDING,   "application_polled",   None,               rules="P2",
        when="not polled",                do=["note_poll"])
    row(CALLBACKS, "application_polled",   None,               rules="P2",
        when="not polled and not fenced", do=["note_poll"])
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "rejoin_requested", None, rules="J1 J2",
        when="not follow_up",             do=["want_follow_up"])
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE), "subscription_changed", None, rules="J1 J2",
        when="not follow_up",             do=["want_follow_up"])
    row(IN_REVOCATION, "subscription_changed", None, rules="J1 J2 Q4",
        when="will_own and not unwanted and not leaving and identity == 'member'", do=["note_unwanted_later"])
    row((PREPARE_REVOCATION, PARTITION_REVOKED, STABLE), "leave_requested", REVOKING_PARTITION, rules="C7 L2",
        when="owned",                     do=["start_leaving", "pause_owned", "send_revoke_partitions"])
    row((PREPARING_REBALANCE, COMPLETING_REBALANCE), "leave_requested", REVOKING_PARTITION, rules="C7 L2 L3",
        when="owned",                     do=["start_leaving", "lose_but_stay"])
    row((PREPARING_REBALANCE, *HOLDING), "leave_requested", UNJOINED, rules="L1 L2 L3",
        when="not owned",                 do=["leave"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored(EVERY, (*JOIN_ANSWERS, *SYNC_ANSWERS, *HEARTBEAT_ANSWERS, *COMMIT_ANSWERS), because="late",
        when="not current")
    ignored(UNJOINED, "subscribed_to_topics", because="already", when="subscribed")
    ignored((PREPARING_REBALANCE, *JOINED), "subscribed_to_topics", because="already")
    ignored(UNJOINED, "application_polled", because="nothing_waits", when="not fenced and (not subscribed or polled)")
    ignored((PREPARING_REBALANCE, *HOLDING), "application_polled", because="nothing_waits", when="polled")
    ignored(CALLBACKS, "application_polled", because="nothing_waits", when="not fenced and polled")
    ignored(UNJOINED, "coordinator_found", because="waiting", when="not (subscribed and polled and not join_backoff)")
    ignored(PREPARING_REBALANCE, "coordinator_found", because="waiting", when="not (polled and not join_backoff)")
    ignored(PARTITION_REVOKED, "coordinator_found", because="waiting",
        when="commit_step != 'blocked' and not (polled and not join_backoff and commit_step == 'none')")
    ignored(PREPARE_REVOCATION, "coordinator_found", because="nothing_waits", when="commit_step != 'blocked'")
    ignored(STABLE, "coordinator_found", because="nothing_waits",
        when="commit_step != 'blocked' and not (preparing and commit_step == 'none')")
    ignored(STABLE, "join_needed", because="waiting",
        when="not (preparing and commit_step == 'none' and coordinator_known)")
    ignored((*CALLBACKS, COMPLETING_REBALANCE), "coordinator_found", because="nothing_waits")
    ignored(COMMITTING, "coordinator_lost", because="waiting", when=~SENT)
    ignored(PREPARING_REBALANCE, "coordinator_lost", because="waiting", when="not (polled and not join_backoff)")
    ignored((UNJOINED, *CALLBACKS), "coordinator_lost", because="nothing_waits")
    ignored((UNJOINED, PARTITION_REVOKED), "join_needed", because="waiting",
        when="not (subscribed and polled and coordinator_known and not join_backoff)")
    ignored(PREPARING_REBALANCE, "join_needed", because="waiting",
        when="not (polled and coordinator_known and not join_backoff)")
    ignored((UNJOINED, PARTITION_REVOKED, PREPARING_REBALANCE), "join_backoff_elapsed", because="timer_off",
        when="not join_backoff")
    ignored(REVOKING_PARTITION, "join_backoff_elapsed", because="timer_off", when="not join_backoff")
    ignored((PREPARE_REVOCATION, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE), "join_backoff_elapsed",
        because="timer_off")
    ignored(COMMITTING, "commit_needed", because="waiting", when="not (commit_step == 'blocked' and coordinator_known)")
    ignored(COMMITTING, "commit_backoff_elapsed", because="timer_off", when="commit_step != 'backoff'")
    ignored((*NOT_JOINED, *CALLBACKS, COMPLETING_REBALANCE), ("commit_backoff_elapsed", "commit_deadline_expired"),
        because="timer_off")
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "commit_deadline_expired", because="timer_off",
        when="commit_step == 'none'")
    ignored(STABLE, "commit_deadline_expired", because="timer_off", when="not (preparing and commit_step != 'none')")
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), ("commit_settled", "commit_retriable"), because="nothing_waits",
        when=COMMIT_IN_FLIGHT & ~SENT)
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "commit_rebalance_in_progress", because="already",
        when=COMMIT_IN_FLIGHT & ~SENT)
    ignored(STABLE, "commit_settled", because="nothing_waits",
        when=COMMIT_IN_FLIGHT & ~("preparing" & SENT))
    ignored(STABLE, "commit_retriable", because="nothing_waits", when=COMMIT_IN_FLIGHT & ~SENT)
    ignored(CALLBACKS, ("commit_settled", "commit_retriable"), because="nothing_waits", when=COMMIT_IN_FLIGHT)
    ignored((PREPARE_REVOCATION, PARTITION_REVOKED), "heartbeat_rebalance_in_progress", because="already",
        when="current")
    ignored(STABLE, "heartbeat_rebalance_in_progress", because="already", when="current and preparing")
    ignored(COMPLETING_REBALANCE, "heartbeat_rebalance_in_progress", because="sync_answer_decides", when="current")
    ignored(REVOKING_PARTITION, "heartbeat_rebalance_in_progress", because="already",
        when="current and identity == 'member'")
    ignored(REVOKING_PARTITION, "commit_rebalance_in_progress", because="already",
        when=COMMIT_IN_FLIGHT & "identity == 'member'")
    ignored(ASSIGNING_PARTITIONS, "heartbeat_rebalance_in_progress", because="already",
        when="current and identity == 'member' and follow_up")
    ignored(ASSIGNING_PARTITIONS, "commit_rebalance_in_progress", because="already",
        when=COMMIT_IN_FLIGHT & "identity == 'member' and follow_up")
    ignored(PREPARING_REBALANCE, "heartbeat_rebalance_in_progress", because="already", when=WAITING_TO_JOIN)
    ignored((UNJOINED, *IN_REVOCATION), "rejoin_requested", because="already")
    ignored((PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "rejoin_requested", because="already",
        when="follow_up")
    ignored(STABLE, "rejoin_requested", because="already", when="preparing")
    ignored(UNJOINED, "subscription_changed", because="already")
    ignored(IN_REVOCATION, "subscription_changed", because="already",
        when="not will_own or unwanted or leaving or identity != 'member'")
    ignored((PREPARING_REBALANCE, COMPLETING_REBALANCE), "subscription_changed", because="already", when="follow_up")
    ignored(STABLE, "subscription_changed", because="already", when="preparing and not (owned and revokes_any)")
    ignored(STABLE, "commit_rebalance_in_progress", because="already",
        when=COMMIT_IN_FLIGHT & "preparing" & ~SENT)
    ignored(UNJOINED, "stopped", because="nothing_waits", when="not subscribed and identity == 'none'")
    ignored(UNJOINED, "leave_requested", because="nothing_waits", when="not subscribed and identity == 'none'")
    ignored(REVOKING_PARTITION, "leave_requested", because="already", when="leaving")
    ignored(REVOKING_PARTITION, "poll_limit_reached", because="already", when="identity == 'member' and leaving")
    ignored((PREPARE_REVOCATION, REVOKING_PARTITION, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS), "join_needed",
        because="nothing_waits")
    ignored((*NOT_JOINED, *CALLBACKS, COMPLETING_REBALANCE), "commit_needed", because="nothing_waits")
    ignored((*NOT_JOINED, REVOKING_PARTITION, PARTITION_REVOKED, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE),
        "revocation_prepared", because="nothing_waits")
    ignored((*NOT_JOINED, PREPARE_REVOCATION, *CALLBACKS, COMPLETING_REBALANCE, STABLE), "revocation_done",
        because="nothing_waits")
    ignored((PREPARING_REBALANCE, *JOINED), "leave_needed", because="nothing_waits")

    # -- what a correct peer, or the member's own other thread, never does ---------------------------------------------
    error((UNJOINED, *JOINED), JOIN_ANSWERS, rule="J9", when="current")
    error(PREPARING_REBALANCE, JOIN_ANSWERS, rule="J9",
        when="current and not (polled and coordinator_known and not join_backoff)")
    error((*NOT_JOINED, PREPARE_REVOCATION, PARTITION_REVOKED, STABLE, *CALLBACKS), SYNC_ANSWERS, rule="J9",
        when="current")
    error(UNJOINED, HEARTBEAT_ANSWERS, rule="J9", when="current")
    error(PREPARING_REBALANCE, HEARTBEAT_ANSWERS, rule="H3",
        when="current and not (identity == 'member' and (join_backoff or not polled))")
    error(CALLBACKS, HEARTBEAT_ANSWERS, rule="J9", when="current and identity != 'member'")
    error(CALLBACKS,
        ("commit_rebalance_in_progress", "commit_unknown_member", "commit_illegal_generation", "commit_fenced"),
        rule="M7", when=COMMIT_IN_FLIGHT & "identity != 'member'")
    error((*NOT_JOINED, COMPLETING_REBALANCE), COMMIT_ANSWERS, rule="M7", when="current")
    error((*COMMITTING, *CALLBACKS), COMMIT_ANSWERS, rule="M7", when="current" & ~COMMIT_IN_FLIGHT)
    error(UNJOINED, "stopped", rule="L1", when="subscribed or identity != 'none'")
    error((PREPARING_REBALANCE, *JOINED), "stopped", rule="L1")
    error(UNJOINED, "poll_limit_reached", rule="P1")
    error(PREPARING_REBALANCE, "poll_limit_reached", rule="P1", when="identity != 'member'")
    error(CALLBACKS, "poll_limit_reached", rule="P1", when="identity != 'member'")
    ignored((*NOT_JOINED, *HOLDING, REVOKING_PARTITION), "partitions_assigned", because="late")
    error((*NOT_JOINED, *HOLDING, ASSIGNING_PARTITIONS), ("callback_started", "partitions_revoked"), rule="Q1")
    error(REVOKING_PARTITION, "callback_started", rule="Q1", when="callback_running")
    error(REVOKING_PARTITION, "partitions_revoked", rule="Q1", when="not callback_running")
    # fmt: on


KAFKA_TRANSITIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "initiateJoinGroup": (
            "UNJOINED.join_needed",
            "PARTITION_REVOKED.join_needed",
            "PREPARING_REBALANCE.join_needed",
        ),
        "JoinGroup NONE": ("PREPARING_REBALANCE.join_accepted",),
        "JoinGroup NONE, too late": (
            "UNJOINED.join_accepted",
            "COMPLETING_REBALANCE.join_accepted",
            "STABLE.join_accepted",
        ),
        "SyncGroup NONE": ("COMPLETING_REBALANCE.sync_accepted",),
        "SyncGroup NONE, too late": (
            "UNJOINED.sync_accepted",
            "PREPARING_REBALANCE.sync_accepted",
            "STABLE.sync_accepted",
        ),
        "identity cleared": (
            "PREPARING_REBALANCE.join_unknown_member",
            "COMPLETING_REBALANCE.sync_unknown_member",
            "STABLE.heartbeat_unknown_member",
            "STABLE.heartbeat_fenced",
        ),
        "generation cleared": ("COMPLETING_REBALANCE.sync_illegal_generation", "STABLE.heartbeat_illegal_generation"),
        "generation cleared by a commit": (
            "STABLE.commit_unknown_member",
            "STABLE.commit_illegal_generation",
            "PREPARE_REVOCATION.commit_unknown_member",
            "PREPARING_REBALANCE.commit_unknown_member",
        ),
        "maybeLeaveGroup": ("STABLE.poll_limit_reached", "STABLE.leave_requested", "UNJOINED.leave_needed"),
        "cleared before the join is applied": (
            "ASSIGNING_PARTITIONS.heartbeat_unknown_member",
            "ASSIGNING_PARTITIONS.partitions_assigned",
        ),
        "MEMBER_ID_REQUIRED": ("PREPARING_REBALANCE.join_member_id_required",),
    }
)
"""Kafka's own transitions of a member, and the cells that hold them.

NONE is the answer that succeeded; it is too late where nobody waits for it any more. An error clears the member's
identity (id and generation) or its generation alone. Source: Kafka AbstractCoordinator, MemberState.
"""
