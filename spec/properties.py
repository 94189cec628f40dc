"""What is claimed of the machines when they run: safety, liveness, and what must be possible at all.

An *assertion* is checked where something happens (a request leaves, a callback is queued; `composition/monitor.py` and
`composition/group.py` say where); the first one that fails is kept in the variable `fault`. An *invariant* is checked
in every state. Both are safety. *Recoverable* means that from every state the good one can still be reached, whatever
has gone wrong. *Leads to* is liveness, under the fairness of the model's actions: the explorer and TLC look for fair
circles that break it. *Reachable* guards the rest against holding in a model in which nothing happens.
"""

from __future__ import annotations

from dataclasses import replace

from groupspec.spec.compiler.model import ModelProperty

FAULT = "fault"
"""The variable that keeps the first assertion that failed."""


def assertion(name: str, statement: str, sources: tuple[str, ...], rules: str) -> ModelProperty:
    """What is claimed where something happens. `rules`: their ids, separated by spaces."""
    return ModelProperty(name, "invariant", f"{FAULT} != '{name}'", "", statement, sources, tuple(rules.split()))


_PROPOSAL = "Threading refactor proposal (Apache Kafka wiki)"

MEMBER_ASSERTIONS = (
    assertion("illegal-event", "Nothing happens that a correct peer never does: no error row fires.",
              ("the error rows of the tables",), "J9 Q1"),
    assertion("late-changes-nothing",
              "An answer to a request that was given up, or of an identity that is gone, changes nothing.",
              ("KAFKA-8104", "KAFKA-9823"), "J9 L3"),
    assertion("one-lookup", "At most one FindCoordinator is in flight.", ("KAFKA-10793",), "D2"),
    assertion("lookup-is-needed", "A coordinator is looked for only while somebody needs one.",
              (f"{_PROPOSAL}, 'Background thread and its lifecycle'",), "D7"),
    assertion("lookup-waits",
              "After a lookup that failed the next waits for the retry backoff, or, if only the application can mend "
              "it, for the application.", ("KAFKA-6829", "Kafka AbstractCoordinator.FindCoordinatorResponseHandler"),
              "D2 D3"),
    assertion("forget-with-reason",
              "The coordinator is forgotten only because an answer, a broken connection or an expired session says so.",
              ("Kafka AbstractCoordinator.markCoordinatorUnknown",), "D1 H5"),
    assertion("suspect-is-forgotten", "Whatever says that the coordinator is gone makes the member forget it at once.",
              ("KAFKA-6362", "kafka-python #3082"), "D1 H5"),
    assertion("leaves-only-if-stalled", "Only a poll interval that has expired is taken for a stalled application.",
              ("KIP-62, 'Proposed Changes'",), "P1 P2"),
    assertion("one-call", "At most one JoinGroup or SyncGroup is in flight.", ("KAFKA-3949", "KAFKA-7961"), "J1"),
    assertion("one-heartbeat", "At most one heartbeat is in flight.", ("librdkafka rd_kafka_cgrp_heartbeat",), "H7"),
    assertion("one-commit", "At most one commit before a rebalance is in flight.", ("KAFKA-13310", "KAFKA-14024"),
              "M5 M3"),
    assertion("to-a-known-coordinator", "A group request is sent only while the coordinator is known.",
              ("MINOR #14179",), "D4"),
    assertion("callbacks-before-join", "No JoinGroup is sent while a callback is due or running.",
              (f"{_PROPOSAL}, 'Rebalance States'", "Kafka ConsumerCoordinator.onJoinPrepare"), "C3 J7 Q4"),
    assertion("join-needs-a-poll",
              "No JoinGroup is sent before the application has polled: since it subscribed, was thrown an error, or "
              "let its poll interval expire.", ("KIP-62, 'Proposed Changes'", "KAFKA-17154"), "J7 P3 X2"),
    assertion("fenced-says-nothing",
              "Who was fenced sends nothing more, and above all no JoinGroup, until it has left and subscribed anew.",
              ("KIP-345", "Kafka ConsumerCoordinator.invokeCompletedOffsetCommitCallbacks"), "X2"),
    assertion("join-waits",
              "After a JoinGroup or SyncGroup that the coordinator did not take, the next JoinGroup waits for the "
              "retry backoff.", ("Kafka AbstractCoordinator.JoinGroupResponseHandler", "KAFKA-6829"), "D3 J2"),
    assertion("commit-comes-first",
              "With auto-commit, what was consumed is committed before the listener hears that partitions go, and "
              "before JoinGroup: until it is answered or has run out of time. What was committed before JoinGroup does "
              "not count after SyncGroup.",
              (f"{_PROPOSAL}, 'Test Plan'", "Kafka ConsumerCoordinator.onJoinPrepare",
               "librdkafka rd_kafka_assignment_serve_removals"), "M3 M8 Q4"),
    assertion("sync-after-join",
              "A SyncGroup uses the generation of an answered JoinGroup, and each generation is used once.",
              ("Kafka AbstractCoordinator.JoinGroupResponseHandler",), "J1 Q4 S1"),
    assertion("heartbeat-as-member",
              "Heartbeats are sent by members only: not before JoinGroup is answered, not while the next is out, not "
              "after leaving or losing the identity.", ("KAFKA-3782", "KAFKA-16251"), "H3 L3"),
    assertion("heartbeat-when-due",
              "A heartbeat is sent when the interval since the last one is over, or the retry backoff after one that "
              "failed.", ("Kafka AbstractCoordinator.HeartbeatThread",), "H2 D3"),
    assertion("leaves-if-asked", "Who does not stall leaves only because the application wants to.",
              ("KIP-62, 'Proposed Changes'", "Kafka AbstractCoordinator.maybeLeaveGroup"), "L1 P1"),
    assertion("leave-once",
              "LeaveGroup is sent once, by who is a member or has sent JoinGroup with the id that it has.",
              ("KAFKA-16639", "Kafka AbstractCoordinator.shouldSendLeaveGroupRequest"), "L1 P1"),
    assertion("static-stays", "A static member never sends LeaveGroup.", ("KIP-345",), "L1 P1"),
    assertion("commit-what-is-owned",
              "The commit before a rebalance is sent by a member that owns something and has not lost it.",
              ("KIP-429", "KAFKA-12983"), "C2 M1 M7"),
    assertion("no-commit-in-a-rebalance", "No commit is sent between JoinGroup and the answer to SyncGroup.",
              ("librdkafka 1.7.0",), "M7"),
    assertion("callbacks-alternate", "The listener is told of an assignment once, and of its end once, in turn.",
              ("KIP-429",), "C1"),
    assertion("commit-if-configured",
              "The commit before a rebalance is sent only with auto-commit: else committing is the application's own "
              "affair.", ("Kafka ConsumerCoordinator.onJoinPrepare",), "M3 M7"),
    assertion("commit-waits", "After a commit that failed the next try waits for the retry backoff.", ("KAFKA-13310",),
              "D3 M3"),
    assertion("commit-ends-once",
              "A commit before a rebalance that was answered, or has run out of time, is not sent again.",
              ("KAFKA-13310", "KAFKA-14024"), "M3 M7"),
    assertion("lost-was-owned",
              "The listener is told of a loss, and called by who leaves, only if something was owned.",
              ("KIP-429, onPartitionsLost",), "C1 C2 C7"),
    assertion("lost-by-losing",
              "A member that has its assignment is told of its end, not of a loss, as long as nobody has disowned it.",
              ("KIP-429, onPartitionsLost",), "C2 C7"),
    assertion("paused-before-revoked",
              "Partitions are paused before the listener hears that they go, and before they are removed.",
              (f"{_PROPOSAL}, 'Rebalance States'",), "Q5 O3"),
    assertion("added-before-assigned", "The listener hears of an assignment that the subscription has.",
              ("Kafka ConsumerCoordinator.onJoinComplete",), "C3"),
    assertion("revoked-for-cause",
              "The listener hears that partitions go only if the assignment takes some, a rebalance is due, they are "
              "lost, or the member leaves.",
              ("KIP-429, 'Consumer Incremental Rebalance Protocol'", "Kafka ConsumerCoordinator.onJoinComplete"),
              "C1 C3"),
    assertion("unwanted-goes-first",
              "A cooperative member sends no JoinGroup while it owns something of a topic that it does not subscribe "
              "to any more, unless it learned of that after the last JoinGroup had become due.",
              ("Kafka ConsumerCoordinator.onJoinPrepare",), "Q4"),
    assertion("taken-is-revoked",
              "What an assignment takes, the listener hears of before it hears of what the assignment brings.",
              ("KIP-429, 'Consumer Incremental Rebalance Protocol'", "Kafka ConsumerCoordinator.onJoinComplete"),
              "C3 K1"),
    assertion("goodbye-is-said",
              "Who leaves says so, if the coordinator is known: a dynamic member, or who has sent JoinGroup with the "
              "id that it has.",
              ("KAFKA-16639", "Kafka AbstractCoordinator.maybeLeaveGroup, shouldSendLeaveGroupRequest"), "L1"),
    assertion("revoked-is-removed",
              "When the listener has heard that partitions go, the subscription loses them at once.",
              (f"{_PROPOSAL}, 'Rebalance States'",), "C3 O3"),
    assertion("assigned-is-enabled",
              "When the listener has heard of an assignment, its partitions are enabled at once, whatever comes next.",
              (f"{_PROPOSAL}, 'Rebalance States'",), "C3"),
    assertion("forget-then-fail", "The coordinator is unknown before requests under way to it fail.", ("KAFKA-6366",),
              "D5"),
    assertion("errors-are-told", "An error that only the application can mend is raised.", ("KAFKA-10134", "KIP-345"),
              "H4 X2"),
    assertion("stalled-member-leaves",
              "When the poll interval expires and the coordinator is known, the member is no member any more.",
              ("KIP-62, 'Proposed Changes'",), "P1"),
)  # fmt: skip


def of_a_member(rebalance: str) -> tuple[ModelProperty, ...]:
    """What is claimed of one member in any environment."""
    kept = (p for p in _ALONE if rebalance == "eager" or p.id != "eager-gives-up-first")
    return (*MEMBER_ASSERTIONS, *kept)


_ALONE = (
    # what the machines believe, and what the monitor has seen
    ModelProperty("lookup-is-out", "invariant", "(connection == 'COORDINATOR_DISCOVERY') == lookup_out", "",
                  "COORDINATOR_DISCOVERY is the state in which a FindCoordinator is in flight.",
                  (f"{_PROPOSAL}, 'Background thread and its lifecycle'",), ("D2", "D7")),
    ModelProperty("need-is-pursued", "invariant",
                  "not (connection == 'INITIALIZED' and (member_needs or asked)) or lookup_wait != 'none'", "",
                  "While something needs a coordinator and none is known, a lookup is out, or its backoff runs, or it "
                  "waits for a poll.", ("KAFKA-6362", "kafka-python #3082"), ("D1", "D3")),
    ModelProperty("question-is-kept", "invariant", "asked == asks_open", "",
                  "A question of the application needs the coordinator until it is answered.", ("KAFKA-6362",),
                  ("D1", "D7")),
    ModelProperty("lookup-rest-is-kept", "invariant", "connection != 'INITIALIZED' or lookup_wait == lookup_rests", "",
                  "What the next lookup waits for is kept until it ends, and no longer.",
                  ("Kafka AbstractCoordinator.ensureCoordinatorReady",), ("D1", "D3")),
    ModelProperty("due-heartbeat-is-kept", "invariant",
                  "timeouts != 'IDLE' and timeouts != 'IN_FLIGHT' or heartbeat_overdue == beat_due", "",
                  "A heartbeat that fell due and could not be sent is remembered until one is sent, or the retry "
                  "backoff begins.", ("KAFKA-16215",), ("H2", "D3")),
    ModelProperty("late-poll-is-kept", "invariant",
                  "timeouts != 'IDLE' and timeouts != 'IN_FLIGHT' or poll_overdue == poll_late", "",
                  "A poll interval that has expired is remembered until the application polls or the member has left.",
                  ("KIP-62, 'Proposed Changes'",), ("P1", "P2")),
    ModelProperty("no-need-outside", "invariant",
                  "not member_needs or subscribed or identity != 'none' or rebalance != 'UNJOINED'", "",
                  "Who has left needs no coordinator.", (f"{_PROPOSAL}, 'Background thread and its lifecycle'",),
                  ("D7",)),
    ModelProperty("fenced-needs-nothing", "invariant", "not fenced or not member_needs", "",
                  "Who was fenced needs no coordinator until it has subscribed anew.",
                  ("KIP-345", "Kafka ConsumerCoordinator.invokeCompletedOffsetCommitCallbacks"), ("X2", "D7")),
    ModelProperty("coordinator-is-known", "invariant", "(connection == 'STABLE') == coordinator_known", "",
                  "connection.STABLE is the state in which the coordinator is known.",
                  (f"{_PROPOSAL}, 'Background thread and its lifecycle'",), ("D4",)),
    ModelProperty("member-needs-it", "invariant", "not (subscribed and polled) or member_needs", "",
                  "A subscribed member whose application polls needs a coordinator.",
                  ("Kafka AbstractCoordinator.ensureActiveGroup",), ("D1",)),
    ModelProperty("join-is-out", "invariant",
                  "rebalance != 'PREPARING_REBALANCE' or (call_out == 'JoinGroup') == (polled and coordinator_known "
                  "and not join_backoff)", "",
                  "In PREPARING_REBALANCE a JoinGroup is in flight, or exactly one of three things holds it back: no "
                  "poll, no coordinator, a backoff.", ("KAFKA-5154", "KAFKA-9815"), ("J2", "D3")),
    ModelProperty("sync-is-out", "invariant", "rebalance != 'COMPLETING_REBALANCE' or call_out == 'SyncGroup'", "",
                  "In COMPLETING_REBALANCE a SyncGroup is in flight.", ("KAFKA-5154",), ("J2",)),
    ModelProperty("wants-to-join", "invariant",
                  "rebalance != 'UNJOINED' or not (subscribed and polled and coordinator_known) or join_backoff", "",
                  "Whoever is subscribed, polls and knows the coordinator does not stay outside.",
                  ("KAFKA-5154", "KAFKA-9815"), ("J2",)),
    ModelProperty("join-backoff-is-kept", "invariant", "join_backoff == join_rests", "",
                  "The backoff before the next JoinGroup runs from a failure of the coordinator's until it ends, or "
                  "the member leaves.", ("Kafka AbstractCoordinator.joinGroupIfNeeded",), ("D3", "J2")),
    ModelProperty("announced-is-pursued", "invariant", "preparing == (rebalance == 'STABLE' and rejoin_due)", "",
                  "A member that is stable and knows that a rebalance is due is on its way to it: it commits, and then "
                  "joins.", ("KAFKA-5154", "Kafka ConsumerCoordinator.rejoinNeededOrPending"),
                  ("J2", "J8", "K2", "H4")),
    ModelProperty("prepared-joins", "invariant",
                  "rebalance != 'STABLE' or not preparing or commit_step != 'none' or not coordinator_known", "",
                  "A member that keeps its partitions while it joins sends JoinGroup as soon as its commit has ended: "
                  "only a coordinator can be wanting.", ("Kafka ConsumerCoordinator.onJoinPrepare", "KAFKA-13310"),
                  ("J2", "K1")),
    ModelProperty("follow-up-is-kept", "invariant",
                  "rebalance == 'UNJOINED' or (follow_up == rejoin_due if call_out == 'JoinGroup' or rebalance == "
                  "'COMPLETING_REBALANCE' or rebalance == 'ASSIGNING_PARTITIONS' else not follow_up or rejoin_due and "
                  "rebalance != 'STABLE')", "",
                  "What makes another rebalance necessary while one is under way is kept until the next JoinGroup, and "
                  "nothing else makes one follow.", ("KIP-429", "KAFKA-5154"), ("J2", "K2")),
    ModelProperty("revoked-goes-on", "invariant",
                  "rebalance != 'PARTITION_REVOKED' or commit_step != 'none' or not (polled and coordinator_known) or "
                  "join_backoff", "",
                  "When the listener has heard what goes, nothing holds the JoinGroup back but a commit, a poll, a "
                  "coordinator or a backoff.", (f"{_PROPOSAL}, 'Rebalance States'",), ("J2", "Q4")),
    ModelProperty("commit-ends", "invariant", "rebalance != 'PREPARE_REVOCATION' or commit_step != 'none'", "",
                  "PREPARE_REVOCATION lasts only as long as the commit before the revocation.",
                  ("KAFKA-13310", "KAFKA-14024"), ("M3",)),
    ModelProperty("commit-is-out", "invariant", "(commit_step == 'out') == commit_out", "",
                  "A commit is believed to be in flight when it is.", ("KAFKA-14024",), ("M3", "M5")),
    ModelProperty("commit-backoff-is-kept", "invariant", "(commit_step == 'backoff') == commit_rests", "",
                  "The backoff before the next try of a commit runs until it ends, or the commit has run out of time.",
                  ("KAFKA-13310",), ("D3", "M3")),
    ModelProperty("commit-is-pursued", "invariant", "commit_step != 'blocked' or not coordinator_known", "",
                  "A commit waits for nothing but a coordinator, a backoff or its answer.", ("KAFKA-13310",),
                  ("M3", "D1")),
    ModelProperty("revoke-is-due", "invariant", "rebalance != 'REVOKING_PARTITION' or revoke_due", "",
                  "REVOKING_PARTITION lasts as long as the listener's call.", (f"{_PROPOSAL}, 'Rebalance States'",),
                  ("Q2", "C3")),
    ModelProperty("assign-is-due", "invariant", "rebalance != 'ASSIGNING_PARTITIONS' or assign_due", "",
                  "ASSIGNING_PARTITIONS lasts as long as the listener's call.", (f"{_PROPOSAL}, 'Rebalance States'",),
                  ("Q2", "C3")),
    ModelProperty("told-is-enabled", "invariant", "rebalance != 'STABLE' or not added_said", "",
                  "When a rebalance is over, every partition that it brought is enabled.",
                  (f"{_PROPOSAL}, 'Rebalance States'",), ("C3",)),
    ModelProperty("heartbeats-run", "invariant", "(timeouts == 'IDLE' or timeouts == 'IN_FLIGHT') == in_group", "",
                  "Heartbeats run exactly while the member is in the group: from JoinGroup's answer until the next is "
                  "sent or the membership ends.", ("KAFKA-10134", "KIP-62, 'Proposed Changes'"), ("H1", "H3")),
    ModelProperty("heartbeat-is-out", "invariant", "(timeouts == 'IN_FLIGHT') == heartbeat_out", "",
                  "A heartbeat is believed to be in flight when it is.", ("librdkafka rd_kafka_cgrp_heartbeat",),
                  ("H7",)),
    ModelProperty("overdue-heartbeat-waits", "invariant",
                  "not heartbeat_overdue or timeouts == 'IN_FLIGHT' or not coordinator_known", "",
                  "A heartbeat that is due is held back by nothing but an unanswered one or an unknown coordinator.",
                  ("KAFKA-16215",), ("H2",)),
    ModelProperty("overdue-poll-waits", "invariant",
                  "not poll_overdue or not coordinator_known or not in_group or leaving", "",
                  "A poll interval that has expired is acted on as soon as the coordinator is known.",
                  ("KIP-62, 'Proposed Changes'",), ("P1",)),
    ModelProperty("may-join", "invariant", "may_join == polled", "",
                  "What holds a join back for want of a poll ends with the poll, and with nothing else.",
                  ("KAFKA-17154",), ("J7", "P2")),
    ModelProperty("fencing-is-final", "invariant", "fenced == replaced", "",
                  "Who was fenced stays so until it has left.",
                  ("KIP-345", "Kafka ConsumerCoordinator.invokeCompletedOffsetCommitCallbacks"), ("X2",)),
    ModelProperty("identity-is-given", "invariant", "given == identity", "",
                  "The member keeps the id and the generation that it was given until the coordinator disowns them or "
                  "it leaves; a generation that is disowned leaves it the id.", ("KAFKA-13214", "KAFKA-10870"),
                  ("J4", "J3")),
    ModelProperty("lost-without-id", "invariant",
                  "not (rebalance == 'REVOKING_PARTITION' and not callback_running and identity != 'member') or lost",
                  "", "A callback that has not begun when the membership is lost says lost.",
                  ("KIP-429, onPartitionsLost",), ("C2", "P3")),
    ModelProperty("leave-is-pursued", "invariant", "leaving == leave_asked", "",
                  "Who has been asked to leave has left, or is waiting for its last callback.", ("KAFKA-19357",),
                  ("L1", "L2", "C7")),
    ModelProperty("callback-is-running", "invariant", "callback_running == (callback != 'none')", "",
                  "A callback is believed to run while it does.", (f"{_PROPOSAL}, 'Rebalance States'",), ("Q2",)),
    ModelProperty("callback-stays", "invariant", "callback == 'none' or (callback == 'lost') == lost", "",
                  "What the listener has been told while it runs stays so: revoked does not become lost.",
                  ("KIP-429, onPartitionsLost",), ("C2", "P3")),
    ModelProperty("owns-what-it-has", "invariant", "owned == has", "",
                  "What is counted as owned is what the last assignment gave, or what the last revocation left.",
                  ("KIP-429, 'Consumer Incremental Rebalance Protocol'", "Kafka ConsumerCoordinator.onJoinComplete"),
                  ("C3", "K2")),
    ModelProperty("owns-nothing-outside", "invariant", "rebalance != 'UNJOINED' or not owned", "",
                  "Outside the group nothing is owned: every end of ownership goes through the listener.",
                  ("KIP-429, onPartitionsLost",), ("C1", "C2", "C7")),
    ModelProperty("eager-gives-up-first", "invariant",
                  "rebalance != 'PREPARING_REBALANCE' and rebalance != 'COMPLETING_REBALANCE' or not owned", "",
                  "An eager member owns nothing while it joins.", (f"{_PROPOSAL}, 'Rebalance States'",), ("C3", "Q4")),
    ModelProperty("lost-is-told", "invariant", "not lost or rebalance == 'REVOKING_PARTITION'", "",
                  "What is lost is told, and then forgotten.", ("KIP-429",), ("C2",)),
    # what can always be reached again
    ModelProperty("can-be-stable", "recoverable", "rebalance == 'STABLE' or fault != 'none'", "",
                  "Whatever has happened, a rebalance can still be completed.", ("KAFKA-5154",), ("J2", "K2")),
    ModelProperty("can-be-closed", "recoverable", "connection == 'DOWN' and configured or fault != 'none'", "",
                  "Whatever has happened, the consumer can still be closed.", ("KAFKA-19357",), ("L2",)),
    # what must be possible at all
    ModelProperty("reaches-assigning", "reachable", "rebalance == 'ASSIGNING_PARTITIONS' and owned", "",
                  "A member is assigned something.", (), ()),
    ModelProperty("reaches-lost", "reachable", "rebalance == 'REVOKING_PARTITION' and lost", "",
                  "A member loses something.", (), ()),
    ModelProperty("reaches-leaving", "reachable", "rebalance == 'REVOKING_PARTITION' and leaving", "",
                  "A member leaves with something owned.", (), ()),
    ModelProperty("reaches-second-loss", "reachable",
                  "rebalance == 'REVOKING_PARTITION' and callback_running and identity != 'member' and not lost", "",
                  "The membership is lost while the listener runs.", (), ()),
    ModelProperty("reaches-blocked-commit", "reachable", "commit_step == 'blocked'", "",
                  "A commit waits for a coordinator.", (), ()),
    ModelProperty("reaches-poll-while-lost", "reachable", "poll_overdue and not coordinator_known", "",
                  "The poll interval expires while no coordinator is known.", (), ()),
)  # fmt: skip
"""Of one member in any environment."""

ASSERTIONS = tuple(p.id for p in MEMBER_ASSERTIONS)


GROUP_ASSERTIONS = (ASSERTIONS[0], ASSERTIONS[1])

_VALID = "identity[{i}] == 'member' and registered[{i}] != 'absent'{told}"
_GROUP = (
    ModelProperty("knows-its-members", "invariant",
                  "broker_group != 'Empty' or all(registered[i] == 'absent' or registered[i] == 'pending' for i in "
                  "members)", "", "An Empty group has no members.", ("Kafka ClassicGroupState",), ("G2", "G13")),
    ModelProperty("joins-are-parked-in-the-join-phase", "invariant",
                  "broker_group == 'PreparingRebalance' or all(registered[i] != 'parked_join' for i in members)", "",
                  "A JoinGroup is parked in PreparingRebalance only: when the phase ends, each is answered.",
                  ("Kafka GroupMetadataManager.completeClassicGroupJoin",), ("G1",)),
    ModelProperty("syncs-are-parked-in-the-sync-phase", "invariant",
                  "broker_group == 'CompletingRebalance' or all(registered[i] != 'parked_sync' for i in members)", "",
                  "A SyncGroup is parked in CompletingRebalance only: the assignment, or the next rebalance, answers "
                  "each.", ("Kafka GroupMetadataManager.classicGroupSync",), ("G9",)),
    ModelProperty("somebody-has-not-synced", "invariant",
                  "broker_group != 'CompletingRebalance' or any(registered[i] == 'unsynced' or forgotten[i] != "
                  "'absent' or leader == i for i in members) or leader == 0", "",
                  "CompletingRebalance ends when the leader has synced.",
                  ("Kafka GroupMetadataManager.classicGroupSync",), ("G9",)),
    ModelProperty("parked-call-is-parked", "invariant",
                  "all(call[i] != 'parked'{late} or registered[i] == 'parked_join' or registered[i] == 'parked_sync' "
                  "for i in members)", "",
                  "A request that its member believes to be with the coordinator is there: none is forgotten "
                  "unanswered.", ("Kafka GroupMetadataManager",), ("G1", "G9")),
    ModelProperty("leader-is-a-member", "invariant",
                  "broker_group == 'Dead' or all(leader != i or registered[i] != 'absent' and registered[i] != "
                  "'pending' for i in members)", "", "The leader is a member.",
                  ("Kafka ClassicGroup.maybeElectNewJoinedLeader",), ("G1",)),
    ModelProperty("given-once", "invariant",
                  "all(all(not (share[i][p] and registered[i] != 'absent' and any(share[j][p] and registered[j] != "
                  "'absent' for j in members if j != i)) for p in partitions) for i in members)", "",
                  "An assignment gives each partition to one member.", ("Kafka ConsumerPartitionAssignor",), ("K3",)),
    ModelProperty("member-has-its-share", "invariant",
                  "all(rebalance[i] != 'ASSIGNING_PARTITIONS' or identity[i] != 'member' or registered[i] == 'absent' "
                  "or all(owns[i][p] == share[i][p] for p in partitions) for i in members)", "",
                  "When the listener is told of an assignment, what is owned is what the leader assigned.",
                  ("Kafka ConsumerCoordinator.onJoinComplete",), ("C3", "K2")),
    ModelProperty("owns-nothing-outside", "invariant",
                  "all(rebalance[i] != 'UNJOINED' or all(not owns[i][p] for p in partitions) for i in members)", "",
                  "Outside the group nothing is owned: every end of ownership goes through the listener.",
                  ("KIP-429, onPartitionsLost",), ("C1", "C2", "C7")),
    ModelProperty("can-settle", "recoverable",
                  "fault != 'none' or broker_group == 'Stable' and all(rebalance[i] == 'STABLE' and registered[i] == "
                  "'member' and identity[i] == 'member' for i in members) and all(any(owns[i][p] for i in members) for "
                  "p in partitions)", "",
                  "Whatever has happened, all members can still become stable, with every partition owned.",
                  ("KAFKA-5154",), ("J2", "K2")),
    ModelProperty("can-be-empty", "recoverable",
                  "fault != 'none' or broker_group == 'Empty' and all(rebalance[i] == 'UNJOINED' and not subscribed[i] "
                  "for i in members)", "", "Whatever has happened, everybody can still leave, and the group knows.",
                  ("KAFKA-16639",), ("L1", "G5")),
    ModelProperty("reaches-two-members", "reachable",
                  "broker_group == 'Stable' and all(rebalance[i] == 'STABLE' and registered[i] == 'member' for i in "
                  "members)", "", "All members are stable together.", (), ()),
    ModelProperty("reaches-follow-up", "reachable",
                  "any(rebalance[i] == 'ASSIGNING_PARTITIONS' and follow_up[i] for i in members)", "",
                  "A rebalance is followed by another.", (), ()),
    ModelProperty("reaches-zombie", "reachable",
                  "any(identity[i] == 'member' and registered[i] == 'absent' and any(owns[i][p] for p in partitions) "
                  "for i in members)", "",
                  "A member that was expelled does not know it yet, and counts partitions as its own.",
                  ("Martin Kleppmann, on fencing",), ()),
    ModelProperty("reaches-forgotten-leader", "reachable",
                  "broker_group == 'CompletingRebalance' and any(forgotten[i] != 'absent' for i in members)", "",
                  "The process of a member dies in the middle of a rebalance.", (), ("G5",)),
    ModelProperty("reaches-loss", "reachable", "any(rebalance[i] == 'REVOKING_PARTITION' and lost[i] for i in members)",
                  "", "A member loses its partitions.", (), ("C2",)),
)  # fmt: skip


_IN_GENERATION = " and told[{i}] == 'current'"
_HAS_SHARE = "rebalance[i] != 'ASSIGNING_PARTITIONS' or identity[i] != 'member' or registered[i] == 'absent'"
_STATIC = (
    ModelProperty("returns-to-its-share", "invariant",
                  "all(all(not (share[i][p] and registered[i] != 'absent' and broker_group == 'Stable' and "
                  "any(owns[j][p] and identity[j] == 'member' and registered[j] != 'absent' and told[j] == 'current' "
                  "for j in members if j != i)) for p in partitions) for i in members)", "",
                  "What a Stable group keeps for a static member, nobody else owns: whoever returns with its instance "
                  "id takes it over as it was.", ("KIP-345, 'Server Behavior'",), ("G11", "K3")),
    ModelProperty("reaches-restart-without-rebalance", "reachable",
                  "broker_group == 'Stable' and any(identity[i] == 'none' and call[i] == 'join_accepted' and "
                  "registered[i] == 'member' and any(rebalance[j] == 'STABLE' and told[j] == 'current' for j in "
                  "members if j != i) for i in members)", "",
                  "A static member that has been restarted is let in again, and the others go on.", ("KIP-345",),
                  ("G11",)),
    ModelProperty("reaches-survivor", "reachable",
                  "broker_group == 'CompletingRebalance' and any(registered[i] == 'unsynced' and rebalance[i] == "
                  "'STABLE' for i in members)", "",
                  "A static member that has missed the join phase is in the next generation all the same, and does not "
                  "know it yet.", ("KIP-345",), ("G11", "G6")),
)  # fmt: skip
"""What is claimed besides, where all members are static."""


def _of_static_members(claimed: ModelProperty) -> ModelProperty:
    """The claim, said of records that stay when their process is gone, and of members that have missed a generation."""
    match claimed.id:
        case "member-has-its-share":
            return replace(claimed, holds=claimed.holds.replace(_HAS_SHARE, f"{_HAS_SHARE} or told[i] != 'current'"))
        case "reaches-forgotten-leader":
            gone = "any(registered[i] != 'absent' and identity[i] == 'none' for i in members)"
            return replace(claimed, holds=f"broker_group == 'CompletingRebalance' and {gone}")
        case _:
            return claimed


def _one_owner(features: frozenset[str]) -> ModelProperty:
    told = " and told[{i}] == generation" if "log" in features else _IN_GENERATION if "static" in features else ""
    one, other = _VALID.replace("{told}", told).format(i="i"), _VALID.replace("{told}", told).format(i="j")
    holds = (
        f"all(not ({one} and any({other} and any(owns[i][p] and owns[j][p] for p in partitions) for j in "
        "members if j != i)) for i in members)"
    )
    return ModelProperty(
        "one-owner",
        "invariant",
        holds,
        "",
        "No two members of one generation own the same partition.",
        ("KIP-429, 'Consumer Incremental Rebalance Protocol'",),
        ("C3", "K1", "K2", "S1"),
    )


_SETTLED = (
    "(broker_group == 'Stable' or broker_group == 'Empty') and all(rebalance[i] == 'STABLE' and registered[i] "
    "== 'member' and not preparing[i] or rebalance[i] == 'UNJOINED' and not subscribed[i] for i in members)"
)
_LIVELY = (
    ModelProperty("stable-after-faults", "leads_to", _SETTLED, "faults_stopped",
                  "Once faults stop, the group becomes stable: everybody who is subscribed is a member, and the group "
                  "is Stable, or Empty if nobody is.", (f"{_PROPOSAL}, 'Test Plan'", "KAFKA-5154"), ("J2", "K2", "G1")),
    ModelProperty("closing-ends", "leads_to", "not leaving[1]", "leaving[1]",
                  "A member that leaves has left in the end, whatever is disturbed meanwhile.", ("KAFKA-19357",),
                  ("L2", "C7")),
    ModelProperty("parked-is-answered", "leads_to", "call[1] != 'parked'", "call[1] == 'parked'",
                  "A JoinGroup or SyncGroup that the coordinator has parked is answered, or its connection breaks.",
                  ("KIP-62, 'Proposed Changes'",), ("G1", "G9", "T3")),
    ModelProperty("the-dead-are-forgotten", "leads_to", "forgotten[1] == 'absent'", "forgotten[1] != 'absent'",
                  "An id that nobody uses any more holds the group up for no longer than its session.",
                  ("KIP-62, 'Proposed Changes'",), ("G5",)),
    ModelProperty("the-expelled-learn-it", "leads_to", "not (identity[1] == 'member' and registered[1] == 'absent')",
                  "faults_stopped and identity[1] == 'member' and registered[1] == 'absent'",
                  "A member that was expelled learns it, once faults have stopped.",
                  ("Kafka AbstractCoordinator.HeartbeatResponseHandler",), ("H4", "M2")),
    ModelProperty("callbacks-end", "leads_to",
                  "rebalance[1] != 'REVOKING_PARTITION' and rebalance[1] != 'ASSIGNING_PARTITIONS'",
                  "rebalance[1] == 'REVOKING_PARTITION' or rebalance[1] == 'ASSIGNING_PARTITIONS'",
                  "A rebalance that waits for the listener goes on, if the application polls.",
                  (f"{_PROPOSAL}, 'Rebalance States'",), ("C3", "Q2")),
)  # fmt: skip
"""Under the fairness that the actions name: messages arrive or are lost, timers run out, listeners return."""


def of_a_group(features: frozenset[str]) -> tuple[ModelProperty, ...]:
    """What is claimed of members, group and network together."""
    late = " or call_late[i]" if "late" in features else ""
    lively = _LIVELY if "faults-stop" in features else ()
    claimed = [p for p in _GROUP if not (lively and p.kind == "recoverable")]
    held = [replace(p, holds=p.holds.replace("{late}", late)) for p in claimed]
    if "static" in features:
        held = [*map(_of_static_members, held), *_STATIC]
    return (*MEMBER_ASSERTIONS[:2], _one_owner(features), *lively, *held)
