"""The normative rules: what a client of the classic consumer-group protocol must and should do.

A rule says who it binds and how strictly. `applies_to` is *any* (it follows from the protocol), *java_style* (the contract
of an API like Java's: a pull consumer with poll() and a rebalance listener), *internal* (visible only inside the reference)
or *broker* (the group coordinator's side). `level` is *must* (breaking it is FAIL) or *should* (present-day behaviour that
older clients legitimately lack: DEVIATION).

The letters are the rule's chapter: D discovery, J join, S sync, H heartbeat, P poll interval, C callbacks, M commit,
O offsets and records, L leave and close, T threads, X static membership, K cooperative, Q queues, W the wire itself,
G the broker's group.
The known bugs of a rule are in `known_bugs.py`; they are its motivation and among its sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.terms import Rule

_RULES: Final = (
    Rule(
        id="D1",
        name="forget-coordinator",
        applies_to="any",
        level="must",
        statement=(
            "On a disconnect or request timeout of ANY coordinator-bound request, and on NOT_COORDINATOR or "
            "COORDINATOR_NOT_AVAILABLE in answer to a join, sync, heartbeat, commit or offset fetch, the "
            "client MUST forget the coordinator, and every path that needs one (auto-commit and assign-only "
            "mode too) MUST start a new lookup by itself. Whoever leaves needs none: the same errors in answer "
            "to LeaveGroup MAY be dropped (Java drops them). It MUST NOT forget the coordinator because of "
            "errors that say nothing about it (REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, "
            "FENCED_INSTANCE_ID, throttling)."
        ),
        sources=(
            "KAFKA-6362 (PR 4326)",
            "kafka-python #3082",
            "Kafka AbstractCoordinator.CoordinatorResponseHandler.onFailure",
            "Kafka AbstractCoordinator.LeaveGroupResponseHandler.handle (marks nothing unknown)",
        ),
        known_bugs=(
            "BUG-04",
            "BUG-06",
        ),
    ),
    Rule(
        id="D2",
        name="lookup-ends",
        applies_to="any",
        level="must",
        statement=(
            "Whatever way a lookup of the coordinator ends (found, error, no broker, caller cancelled), the "
            "pending-lookup marker MUST be cleared, so that a later need sends a new FindCoordinator. Whoever "
            "needs the coordinator meanwhile shares the lookup that is out; a client MAY give one up that is "
            "still unanswered, about once per retry backoff, with each of the application's polls and with each "
            "further answer that says that the coordinator is gone, and send another (Java's heartbeat thread does)."
        ),
        sources=(
            "KAFKA-10793 (PR 9671)",
            "KAFKA-4139",
            "KAFKA-13563 (PR 11631)",
            "Kafka AbstractCoordinator.HeartbeatThread.run (clearFindCoordinatorFuture)",
            "Kafka AbstractCoordinator.pollHeartbeat (notify)",
        ),
        known_bugs=(
            "BUG-01",
            "BUG-02",
            "BUG-83",
        ),
    ),
    Rule(
        id="D3",
        name="retry-with-backoff",
        applies_to="any",
        level="must",
        statement=(
            "What failed in a way that may pass (a lookup; a JoinGroup that found the coordinator loading, not "
            "available or not there; a synchronous commit; an offset fetch) MUST be tried again, about "
            "retry.backoff.ms later (KIP-580: give or take a fifth, and growing) or, if that is sooner, with "
            "the application's next call, and never in a spin. In answer to JoinGroup or SyncGroup, "
            "MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION ask for the "
            "next JoinGroup at once. COORDINATOR_LOAD_IN_PROGRESS MUST NOT end the membership; in answer to "
            "SyncGroup it MAY be raised before the member joins again (Java). No retry outlives the deadline "
            "of its call."
        ),
        sources=(
            "KAFKA-13917 (PR 12180)",
            "sarama #2058 / #2214; librdkafka 2.0.0",
            "KIP-580",
            "Kafka AbstractCoordinator.joinGroupIfNeeded",
            "Kafka AbstractCoordinator.ensureCoordinatorReady; Timer.sleep (no longer than the caller waits)",
        ),
        known_bugs=(
            "BUG-03",
            "BUG-22",
        ),
    ),
    Rule(
        id="D4",
        name="right-coordinator",
        applies_to="any",
        level="must",
        statement=(
            "A group request MUST be sent only to the node named by the latest successful FindCoordinator, "
            "and MUST NOT be sent while the coordinator is unknown."
        ),
        sources=("MINOR #14179 (async CommitRequestManager)",),
        known_bugs=("BUG-07",),
    ),
    Rule(
        id="D5",
        name="forget-before-failing",
        applies_to="internal",
        level="must",
        statement=(
            "When the coordinator is forgotten, the local state MUST become 'unknown' before its in-flight "
            "requests are failed, so that their callbacks see it and cannot forget it again recursively."
        ),
        sources=("KAFKA-6366 (PR 4349)",),
        known_bugs=("BUG-05",),
    ),
    Rule(
        id="D6",
        name="reconnect-coordinator",
        applies_to="any",
        level="must",
        statement=(
            "A known but disconnected coordinator MUST be reconnected (with backoff) or forgotten by the "
            "background side even if no group request is pending; every coordinator request MUST have a "
            "finite deadline."
        ),
        sources=("kafka-go #509",),
        known_bugs=("BUG-08",),
    ),
    Rule(
        id="D7",
        name="lookup-on-demand",
        applies_to="internal",
        level="must",
        statement=(
            "Discovery is on demand: while nothing that is asked for needs a coordinator the connection stays "
            "INITIALIZED; the first event that needs one starts COORDINATOR_DISCOVERY; a failed lookup "
            "returns to INITIALIZED and is tried again after the retry backoff for as long as something needs "
            "it."
        ),
        sources=("Threading refactor proposal (Apache Kafka wiki), 'Background thread and its lifecycle'",),
        known_bugs=(),
    ),
    Rule(
        id="D8",
        name="assign-without-group",
        applies_to="java_style",
        level="must",
        statement=(
            "With manual assignment there MUST be no join and no heartbeat; a coordinator is looked up only "
            "for commits and committed offsets."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "Chrząszcz, 'What does the heartbeat thread do in Kafka Consumer?' (2019)",
        ),
        known_bugs=(),
    ),
    Rule(
        id="J1",
        name="one-join-in-flight",
        applies_to="any",
        level="must",
        statement=(
            "At most one of JoinGroup/SyncGroup MUST be in flight per member; a subscription or metadata "
            "change in that window only sets rejoin-needed, acted on after the response; an assignment that "
            "no longer fits the changed subscription MUST be dropped and followed by a rejoin, not an "
            "exception."
        ),
        sources=(
            "KAFKA-3949; aiokafka #88",
            "KAFKA-7961 (PR 6304)",
            "librdkafka 1.8.0; kafka-python #798",
        ),
        known_bugs=(
            "BUG-15",
            "BUG-16",
            "BUG-17",
        ),
    ),
    Rule(
        id="J2",
        name="rejoin-not-forgotten",
        applies_to="any",
        level="must",
        statement=(
            "rejoin-needed MUST stay set from the moment a rebalance is required until a SyncGroup success "
            "has been applied; any failure, timeout, disconnect, identity reset or wakeup in between MUST "
            "lead to another JoinGroup."
        ),
        sources=(
            "KAFKA-5154; same in kafka-python #1691",
            "KAFKA-9815 (PR 8420)",
            "KAFKA-3949; aiokafka #88",
            "KAFKA-10870 (PR 9792)",
            "KAFKA-10134 follow-up (PR 9354)",
        ),
        known_bugs=(
            "BUG-09",
            "BUG-10",
            "BUG-15",
            "BUG-24",
            "BUG-27",
        ),
    ),
    Rule(
        id="J3",
        name="member-id-required",
        applies_to="any",
        level="should",
        statement=(
            "MEMBER_ID_REQUIRED MUST be answered by an immediate second JoinGroup carrying the given id (no "
            "backoff, no identity reset, no second revoke callback), and the id counts as membership for a "
            "later leave."
        ),
        sources=(
            "KIP-394",
            "sarama #2759; kafka-python #2598",
        ),
        known_bugs=("BUG-23",),
    ),
    Rule(
        id="J4",
        name="identity-after-errors",
        applies_to="any",
        level="should",
        statement=(
            "Identity after errors: UNKNOWN_MEMBER_ID clears member id and generation; ILLEGAL_GENERATION "
            "clears the generation but MUST keep the member id; REBALANCE_IN_PROGRESS, disconnects and "
            "retriable errors MUST keep the member id."
        ),
        sources=(
            "KAFKA-13214 (PR 11231)",
            "KAFKA-10870 (PR 9792)",
            "KAFKA-8487 (PR 6894); kafka-python #2614",
        ),
        known_bugs=(
            "BUG-11",
            "BUG-24",
            "BUG-44",
        ),
    ),
    Rule(
        id="J5",
        name="join-timeout",
        applies_to="any",
        level="must",
        statement=(
            "The JoinGroup request timeout MUST exceed the rebalance timeout (max.poll.interval), MUST NOT be "
            "below the ordinary request timeout, and MUST NOT overflow."
        ),
        sources=(
            "Kafka AbstractCoordinator.sendJoinGroupRequest (JOIN_GROUP_TIMEOUT_LAPSE)",
            "KAFKA-13126 (PR 11111)",
        ),
        known_bugs=("BUG-18",),
    ),
    Rule(
        id="J6",
        name="join-metadata",
        applies_to="any",
        level="should",
        statement=(
            "JoinGroup metadata MUST be canonical (same subscription and owned set give the same bytes) and "
            "list protocols in configured order."
        ),
        sources=("KAFKA-12898 (PR 10878)",),
        known_bugs=("BUG-21",),
    ),
    Rule(
        id="J7",
        name="join-needs-poll",
        applies_to="java_style",
        level="must",
        statement=(
            "subscribe() alone MUST NOT join: the first JoinGroup needs a first poll(). In the calling-thread "
            "design (KIP-62, kafka-python) every later JoinGroup needs a poll() too; in the background design "
            "(threading refactor) the background thread may rejoin by itself, but not before the revocation "
            "callbacks that are due have run inside a poll()."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "Threading refactor proposal (Apache Kafka wiki), 'Asynchronous Background Thread'",
            "KAFKA-17154 (PR 17165)",
        ),
        known_bugs=("BUG-20",),
    ),
    Rule(
        id="J8",
        name="leader-watches-metadata",
        applies_to="any",
        level="must",
        statement=(
            "The leader MUST compare the metadata its assignment was computed from with current metadata when "
            "the round ends and on every update, and rejoin if the partitions of subscribed topics differ, in "
            "a way that makes the broker rebalance."
        ),
        sources=("Kafka ConsumerCoordinator.rejoinNeededOrPending (assignmentSnapshot against metadataSnapshot)",),
        known_bugs=(),
    ),
    Rule(
        id="J9",
        name="late-answer-ignored",
        applies_to="any",
        level="must",
        statement=(
            "A join, sync, heartbeat or commit response MUST be judged against the identity it was sent with: "
            "if the identity changed meanwhile it MUST neither overwrite, reset nor complete the newer state. "
            "Identity, state and assignment of one round MUST be applied as one atomic step."
        ),
        sources=(
            "KAFKA-8104 (PR 7460)",
            "aiokafka #727 / PR 747",
            "KAFKA-9823 (PR 8445, 8548)",
            "MINOR #15362; librdkafka #4672",
            "librdkafka #4059 / #4908 (2.10.0)",
        ),
        known_bugs=(
            "BUG-12",
            "BUG-13",
            "BUG-28",
            "BUG-62",
            "BUG-81",
        ),
    ),
    Rule(
        id="J10",
        name="readable-member-data",
        applies_to="any",
        level="must",
        statement=(
            "What members tell each other MUST be readable in the version that it states: a Subscription has "
            "topics and user data, from version 1 on the owned partitions, from 2 the generation, from 3 the "
            "rack; an Assignment has partitions and user data. Whoever cannot read it throws (SchemaException "
            "in Java), and the group comes to no assignment."
        ),
        sources=(
            "Kafka ConsumerProtocol.deserializeSubscription, deserializeAssignment",
            "ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json",
        ),
        known_bugs=(),
    ),
    Rule(
        id="S1",
        name="stable-after-sync",
        applies_to="any",
        level="must",
        statement=(
            "A member MUST NOT count as stable, and MUST NOT fetch or return records of eagerly revoked "
            "partitions, until SyncGroup has succeeded."
        ),
        sources=("KAFKA-5154; same in kafka-python #1691",),
        known_bugs=("BUG-09",),
    ),
    Rule(
        id="S2",
        name="sync-names-every-member",
        applies_to="any",
        level="must",
        statement=(
            "The leader's SyncGroup MUST contain an entry for every member named in the JoinGroup response "
            "(possibly empty); an empty assignment is a valid stable membership: the member stays and keeps "
            "heartbeating."
        ),
        sources=("sarama #2290 / 034046e",),
        known_bugs=("BUG-19",),
    ),
    Rule(
        id="S3",
        name="assignment-restartable",
        applies_to="any",
        level="must",
        statement=(
            "Applying an assignment MUST be restartable: if interrupted (wakeup, listener error) the next "
            "poll MUST complete it exactly once from the same bytes."
        ),
        sources=(
            "KAFKA-7194 (PR 5417)",
            "KAFKA-9620 (PR 8187)",
        ),
        known_bugs=(
            "BUG-14",
            "BUG-39",
        ),
    ),
    Rule(
        id="H1",
        name="heartbeat-during-rebalance",
        applies_to="any",
        level="should",
        statement=(
            "Heartbeats MUST run from JoinGroup success until the next JoinGroup is sent or the member leaves "
            "or loses its identity: while waiting for SyncGroup, during listener callbacks, session teardown "
            "and user processing; REBALANCE_IN_PROGRESS does not stop them and counts as a sign of life. (A broker "
            "that has parked a member's JoinGroup or SyncGroup counts it as alive without them; those beside a "
            "parked SyncGroup tell the member that the next round has begun. A leader that is computing has "
            "nothing parked: in Java it holds the monitor that its heartbeat thread needs, and is silent until "
            "SyncGroup is sent.)"
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "KAFKA-10134 / 10122 (PR 8834)",
            "sarama #1608 / #2110",
            "KAFKA-4160; kafka-python #1438",
            "Kafka AbstractCoordinator.JoinGroupResponseHandler.handle (onLeaderElected in the monitor)",
            "Kafka ClassicGroupMember.hasSatisfiedHeartbeat",
        ),
        known_bugs=(
            "BUG-25",
            "BUG-26",
            "BUG-40",
        ),
    ),
    Rule(
        id="H2",
        name="heartbeat-interval",
        applies_to="any",
        level="must",
        statement=(
            "Heartbeats MUST be sent about every heartbeat.interval while the member is stable, measured from "
            "the previous send, with no spin; when one is due a sleeping thread MUST wake."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "KAFKA-10134 / 10122 (PR 8834)",
            "KAFKA-16215, KAFKA-16178 (PR 15311)",
        ),
        known_bugs=(
            "BUG-25",
            "BUG-29",
        ),
    ),
    Rule(
        id="H3",
        name="no-heartbeat-across-join",
        applies_to="any",
        level="must",
        statement=(
            "Heartbeats MUST be fenced off before a JoinGroup is sent; after a completed rebalance they MUST "
            "be running on every path (wakeup, join-loop retries) and not be disabled again by later loop "
            "turns; a member that has left, is fenced or unjoined MUST NOT send any."
        ),
        sources=(
            "KAFKA-3782",
            "KAFKA-16251 (PR 15392); aiokafka #372",
        ),
        known_bugs=(
            "BUG-31",
            "BUG-32",
        ),
    ),
    Rule(
        id="H4",
        name="heartbeat-error-handled",
        applies_to="any",
        level="must",
        statement=(
            "Every heartbeat error MUST have an effect: REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION and "
            "UNKNOWN_MEMBER_ID set rejoin-needed; NOT_COORDINATOR and COORDINATOR_NOT_AVAILABLE forget the "
            "coordinator; FENCED_INSTANCE_ID is raised by the next poll(); any other one schedules the next "
            "heartbeat after the retry backoff, and MAY be raised besides (Java raises none of them, "
            "GROUP_AUTHORIZATION_FAILED neither)."
        ),
        sources=(
            "KAFKA-10134 follow-up (PR 9354)",
            "KAFKA-16215, KAFKA-16178 (PR 15311)",
            "Kafka AbstractCoordinator.HeartbeatResponseHandler.handle; HeartbeatThread.run (its listener calls failHeartbeat)",
        ),
        known_bugs=(
            "BUG-27",
            "BUG-29",
        ),
    ),
    Rule(
        id="H5",
        name="session-timeout",
        applies_to="any",
        level="should",
        statement=(
            "If for session.timeout no heartbeat succeeds at a coordinator that counts as known, the client "
            "MUST act locally: forget the coordinator, or treat its ownership as doubtful. While none is known "
            "there is none to forget, and a coordinator that is found starts the session anew."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "Kafka AbstractCoordinator.HeartbeatThread.run (coordinatorUnknown before sessionTimeoutExpired)",
            "Kafka AbstractCoordinator.FindCoordinatorResponseHandler.onSuccess (resetSessionTimeout)",
        ),
        known_bugs=(),
    ),
    Rule(
        id="H6",
        name="thread-death-reported",
        applies_to="java_style",
        level="must",
        statement=(
            "The death of the heartbeat/background thread MUST be reported by the next poll(); poll() MUST "
            "NOT spin or pretend health, and the thread MUST be restartable."
        ),
        sources=(
            "Chrząszcz, 'What does the heartbeat thread do in Kafka Consumer?' (2019)",
            "KAFKA-14729 (PR 13270)",
        ),
        known_bugs=("BUG-30",),
    ),
    Rule(
        id="H7",
        name="heartbeat-unanswered",
        applies_to="any",
        level="should",
        statement=(
            "While a heartbeat is unanswered, the next SHOULD come an interval later (Java: its timer alone "
            "decides, so that several are in flight while answers are late) or not at all (librdkafka, the "
            "reference: one is in flight, explicit state that is set at send and cleared on every outcome); never "
            "sooner. A failed one SHOULD be retried after the retry backoff, not after the interval."
        ),
        sources=(
            "Kafka Heartbeat.shouldHeartbeat; AbstractCoordinator.HeartbeatThread.run (several in flight)",
            "librdkafka rd_kafka_cgrp_heartbeat (one in flight)",
        ),
        known_bugs=(),
    ),
    Rule(
        id="P1",
        name="poll-interval-exceeded",
        applies_to="java_style",
        level="must",
        statement=(
            "When max.poll.interval expires a dynamic member MUST send exactly one LeaveGroup and stop "
            "heartbeats (a static one stops heartbeats only); expiry MUST be ignored while the member is "
            "leaving, left or unjoined and MUST NOT prevent a first join."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "KAFKA-8104 (PR 7460)",
        ),
        known_bugs=("BUG-12",),
    ),
    Rule(
        id="P2",
        name="poll-resets-timer",
        applies_to="java_style",
        level="must",
        statement=(
            "Each application poll() (any timeout, any state of coordinator or records, any consuming entry "
            "point) MUST reset the poll timer, and being blocked inside poll() keeps it reset. Besides, it "
            "starts anew with the heartbeats, at the answer to JoinGroup; nothing else may reset it."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "MINOR #5308",
            "KAFKA-16243 (PR 15372)",
            "librdkafka #4176 / #4256 / #4431",
            "Kafka AbstractCoordinator.HeartbeatThread.enable; Heartbeat.resetTimeouts",
        ),
        known_bugs=(
            "BUG-33",
            "BUG-34",
            "BUG-35",
        ),
    ),
    Rule(
        id="P3",
        name="lost-after-expiry",
        applies_to="java_style",
        level="must",
        statement=(
            "After expiry the next poll() MUST deliver 'lost' for all owned partitions, drop their buffered "
            "records, and rejoin; a rebalance already in progress MUST NOT hide the loss."
        ),
        sources=("KAFKA-16258 (PR 15415)",),
        known_bugs=("BUG-36",),
    ),
    Rule(
        id="P4",
        name="poll-returns-in-time",
        applies_to="java_style",
        level="must",
        statement=(
            "poll(t) MUST return within about t whatever rebalance, commit or lookup is pending, and a long "
            "poll MUST notice a new assignment or revocation while it waits."
        ),
        sources=("KAFKA-13310 (PR 11340)",),
        known_bugs=("BUG-37",),
    ),
    Rule(
        id="C1",
        name="callbacks-alternate",
        applies_to="any",
        level="must",
        statement=(
            "For each partition the callbacks MUST alternate: assigned, then exactly one of revoked or lost. "
            "No repeated assigned, no double revoked, no revoked for a partition never assigned."
        ),
        sources=(
            "KIP-429",
            "franz-go v0.6.9",
        ),
        known_bugs=("BUG-41",),
    ),
    Rule(
        id="C2",
        name="lost-not-revoked",
        applies_to="java_style",
        level="must",
        statement=(
            "If membership was lost the callback MUST be 'lost', and the client MUST NOT commit for those partitions."
        ),
        sources=(
            "KIP-429, onPartitionsLost",
            "KAFKA-16258 (PR 15415)",
            "KAFKA-8972 (PR 7441)",
            "KAFKA-12983 (PR 10986)",
        ),
        known_bugs=(
            "BUG-36",
            "BUG-38",
            "BUG-78",
        ),
    ),
    Rule(
        id="C3",
        name="revoked-before-rejoin",
        applies_to="java_style",
        level="must",
        statement=(
            "Revoked (or lost) MUST run while the partitions still count as owned and MUST finish before the "
            "JoinGroup (eager) or the new assignment (cooperative) takes effect; assigned MUST run after the "
            "assignment is visible (positions obtainable) and before its records are fetched for return."
        ),
        sources=("KAFKA-16107 (PR 15215)",),
        known_bugs=("BUG-43",),
    ),
    Rule(
        id="C4",
        name="callback-error-raised",
        applies_to="java_style",
        level="must",
        statement=(
            "An exception from a listener or assignor hook MUST NOT stop the remaining protocol steps; it "
            "MUST then be raised from the application's poll()/close()."
        ),
        sources=("KAFKA-9620 (PR 8187)",),
        known_bugs=("BUG-39",),
    ),
    Rule(
        id="C5",
        name="callback-thread",
        applies_to="java_style",
        level="must",
        statement=(
            "Callbacks MUST run on the application's thread inside poll/close/unsubscribe with no internal "
            "lock held, so that commit, position, pause and seek work inside them and cannot start a nested "
            "rebalance."
        ),
        sources=("KAFKA-4160; kafka-python #1438",),
        known_bugs=("BUG-40",),
    ),
    Rule(
        id="C6",
        name="group-metadata",
        applies_to="java_style",
        level="must",
        statement=(
            "The group metadata (member id, generation) visible in callbacks, commits and transactions MUST be "
            "that of the latest completed round: in an eager *revoked* that of the assignment which ends, in a "
            "cooperative *revoked* and in *assigned* that of the one which begins."
        ),
        sources=(
            "KAFKA-9741 (PR 8325)",
            "Kafka ConsumerCoordinator.onJoinComplete (groupMetadata is set before invokePartitionsRevoked)",
        ),
        known_bugs=("BUG-42",),
    ),
    Rule(
        id="C7",
        name="callback-at-close",
        applies_to="java_style",
        level="must",
        statement=(
            "unsubscribe() and close() MUST run the callback for all owned partitions before the subscription "
            "state is cleared and before LeaveGroup."
        ),
        sources=(
            "KAFKA-8972 (PR 7441)",
            "node-rdkafka #330, FluidFramework #4160",
        ),
        known_bugs=(
            "BUG-38",
            "BUG-68",
        ),
    ),
    Rule(
        id="M1",
        name="commit-identity",
        applies_to="any",
        level="must",
        statement=(
            "An OffsetCommit MUST carry a member id and generation read together from a stable state; with "
            "manual assignment it MUST carry no member identity at all."
        ),
        sources=(
            "KAFKA-19242 (PR 19631)",
            "KAFKA-14201 (PR 12599)",
        ),
        known_bugs=(
            "BUG-49",
            "BUG-76",
        ),
    ),
    Rule(
        id="M2",
        name="commit-errors",
        applies_to="any",
        level="should",
        statement=(
            "Commit errors: REBALANCE_IN_PROGRESS fails the commit, requests a rejoin, keeps identity and "
            "(cooperative) assignment; ILLEGAL_GENERATION / UNKNOWN_MEMBER_ID fail the commit, reset as in J4 "
            "and rejoin at once; none of them may end the client."
        ),
        sources=(
            "KAFKA-8487 (PR 6894); kafka-python #2614",
            "kafkajs #1466 / #1474; aiokafka #611",
            "librdkafka #4059 / #4908 (2.10.0)",
        ),
        known_bugs=(
            "BUG-44",
            "BUG-55",
            "BUG-81",
        ),
    ),
    Rule(
        id="M3",
        name="commit-before-revocation",
        applies_to="any",
        level="must",
        statement=(
            "A commit required before revocation MUST be tried until success, fatal error or its time limit, "
            "then the rebalance MUST go on; it MUST NOT be re-issued on each poll nor hold back the JoinGroup "
            "beyond the rebalance timeout, nor abort the rebalance when it fails."
        ),
        sources=(
            "KAFKA-13310 (PR 11340)",
            "KAFKA-14024 (PR 12349)",
            "KAFKA-14196 (PR 12603)",
            "aiokafka #230",
        ),
        known_bugs=(
            "BUG-37",
            "BUG-45",
            "BUG-46",
            "BUG-54",
        ),
    ),
    Rule(
        id="M4",
        name="auto-commit-coverage",
        applies_to="java_style",
        level="must",
        statement=(
            "Auto-commit MUST cover only records of earlier poll() returns: never records still buffered, nor "
            "those of the poll in progress."
        ),
        sources=("KAFKA-2942",),
        known_bugs=("BUG-47",),
    ),
    Rule(
        id="M5",
        name="auto-commit-interval",
        applies_to="any",
        level="must",
        statement=(
            "The auto-commit timer MUST restart at send, so that auto-commits are an interval apart however "
            "late their answers are (after a retriable failure: the retry backoff). The next one MAY go out "
            "while one is unanswered; a client that keeps an in-flight mark MUST clear it on every outcome, "
            "including 'nothing to commit'."
        ),
        sources=(
            "KAFKA-6606 (PR 4641)",
            "Kafka ConsumerCoordinator.maybeAutoCommitOffsetsAsync (no in-flight guard)",
            "Kafka CommitRequestManager.AutoCommitState (in-flight mark of the async consumer)",
        ),
        known_bugs=("BUG-48",),
    ),
    Rule(
        id="M6",
        name="commit-order",
        applies_to="any",
        level="must",
        statement=(
            "Commits of one partition MUST reach the broker in call order and never rewind through the "
            "client's own reordering; callbacks of earlier async commits MUST run before a later sync commit "
            "or close returns."
        ),
        sources=(
            "KAFKA-5730; KAFKA-10337; KAFKA-16103",
            "sarama #2940 / #2947",
        ),
        known_bugs=(
            "BUG-50",
            "BUG-51",
        ),
    ),
    Rule(
        id="M7",
        name="commit-only-owned",
        applies_to="any",
        level="must",
        statement=(
            "No automatic commit MUST cover a partition that is not owned (stored offsets are cleared at revoke, "
            "loss and assign); what the application itself names is its own affair. No commit is sent between "
            "JoinGroup and the answer to SyncGroup, nor by one that is no member."
        ),
        sources=(
            "librdkafka #2782 (1.4.2) and 1.9.0 note",
            "librdkafka 1.7.0 note (timed auto commit)",
            "Kafka ConsumerCoordinator.sendOffsetCommitRequest (generationIfStable, and no test of ownership)",
        ),
        known_bugs=(
            "BUG-52",
            "BUG-53",
        ),
    ),
    Rule(
        id="M8",
        name="commit-when-paused",
        applies_to="any",
        level="should",
        statement=(
            "With auto-commit, what was consumed of partitions that go SHOULD be committed when they are paused "
            "and before the revoked callback: by a cooperative member after SyncGroup, in the new generation, "
            "although it has committed before JoinGroup. It reads on while the others join, and what it reads is "
            "read again by the next owner else."
        ),
        sources=(
            "librdkafka rd_kafka_assignment_serve_removals; franz-go consumer_group.go (defaultRevoke)",
            "Kafka AbstractMembershipManager.maybeReconcile (KIP-848: marks pending revocation, commits, revokes)",
            "Kafka ConsumerCoordinator.onJoinComplete (classic: revokes without a commit)",
            "KAFKA-14196 (PR 12603: paused before the commit, eager only)",
        ),
        known_bugs=(),
    ),
    Rule(
        id="O1",
        name="committed-offset",
        applies_to="any",
        level="must",
        statement=(
            "A newly assigned partition MUST start from its committed offset; the reset policy applies only "
            "if the broker answered that there is none, never because a lookup failed, timed out or did not "
            "include the partition."
        ),
        sources=("kafka-python #2629",),
        known_bugs=("BUG-59",),
    ),
    Rule(
        id="O2",
        name="retained-position",
        applies_to="any",
        level="must",
        statement=(
            "A partition retained over a cooperative rebalance MUST keep position, pause state and any offset "
            "lookup still in progress; paused partitions keep their position. (Eager retains nothing: what is "
            "assigned again begins at its committed offset.)"
        ),
        sources=(
            "KAFKA-4547",
            "franz-go #98 (v1.2.2, completed v1.3.4)",
            "Kafka SubscriptionState.assignFromSubscribed",
        ),
        known_bugs=(
            "BUG-57",
            "BUG-58",
        ),
    ),
    Rule(
        id="O3",
        name="late-fetch-dropped",
        applies_to="any",
        level="must",
        statement=(
            "Fetch or offset responses of an earlier assignment or position MUST be discarded, and poll() "
            "MUST NOT return records of partitions already revoked or lost, or awaiting their pre-revocation "
            "commit, wherever they were buffered."
        ),
        sources=(
            "KAFKA-14196 (PR 12603)",
            "KAFKA-2342",
            "librdkafka #3340 (1.7.0)",
        ),
        known_bugs=(
            "BUG-46",
            "BUG-56",
            "BUG-60",
        ),
    ),
    Rule(
        id="O4",
        name="records-returned",
        applies_to="java_style",
        level="must",
        statement=(
            "Once a position has advanced over records, those records MUST be returned to the application (no "
            "wakeup or error may drop them)."
        ),
        sources=("Kafka KafkaConsumer.poll javadoc; ClassicKafkaConsumer.poll (no wakeup once records are collected)",),
        known_bugs=(),
    ),
    Rule(
        id="O5",
        name="fetchable",
        applies_to="java_style",
        level="must",
        statement=(
            "A partition is fetchable only with a valid position, not paused, and with nothing of it "
            "buffered; the position moves when records are returned, not when they arrive; records whose "
            "offset is not the expected one are dropped."
        ),
        sources=(
            "'Learning Kafka with Python: a deep dive into consumers and rebalancing', 'High level overview of the consumer'",
            "Kafka Fetcher, SubscriptionState.isFetchable",
        ),
        known_bugs=(),
    ),
    Rule(
        id="O6",
        name="offset-reset",
        applies_to="any",
        level="must",
        statement=(
            "Without a committed offset the position comes from auto.offset.reset (earliest, latest, none: "
            "none raises)."
        ),
        sources=(
            "'Learning Kafka with Python: a deep dive into consumers and rebalancing', 'The consumers poll loop'",
            "Kafka configuration auto.offset.reset",
        ),
        known_bugs=(),
    ),
    Rule(
        id="L1",
        name="leave-group",
        applies_to="any",
        level="should",
        statement=(
            "By default close() and unsubscribe() of a joined dynamic member MUST send LeaveGroup once: also "
            "with a heartbeat in flight, a failing listener, a very short timeout, an only-pending member id, "
            "or the cooperative protocol; a static member MUST NOT send it. Where the application asked for "
            "it, a static member leaves and a dynamic one stays (KIP-1092; Kafka Streams' members stay). A "
            "member that is UNJOINED has nothing to leave, though it may have kept its id."
        ),
        sources=(
            "KAFKA-16639 (PR 16017)",
            "librdkafka 1.7.0 note (unsubscribe)",
            "KIP-1092",
            "Kafka AbstractCoordinator.shouldSendLeaveGroupRequest",
            "Kafka configuration internal.leave.group.on.close (Streams, up to 4.0)",
        ),
        known_bugs=(
            "BUG-61",
            "BUG-64",
        ),
    ),
    Rule(
        id="L2",
        name="close-in-time",
        applies_to="java_style",
        level="must",
        statement=(
            "close() MUST end within its timeout with no broker, no coordinator or an unanswered commit, MUST "
            "complete every pending future, and MUST turn a rebalance step in progress into a full release "
            "instead of waiting for an application action that can no longer come."
        ),
        sources=(
            "KAFKA-19357 (PR 19914); aiokafka #659",
            "node-rdkafka #330, FluidFramework #4160",
        ),
        known_bugs=(
            "BUG-65",
            "BUG-68",
        ),
    ),
    Rule(
        id="L3",
        name="nothing-after-leave",
        applies_to="any",
        level="must",
        statement=(
            "After the decision to leave, late heartbeat/join/sync responses and new assignments MUST be "
            "ignored and MUST NOT revive the identity."
        ),
        sources=("MINOR #15362; librdkafka #4672",),
        known_bugs=("BUG-62",),
    ),
    Rule(
        id="L4",
        name="close-idempotent",
        applies_to="java_style",
        level="must",
        statement=(
            "close() MUST be idempotent under concurrent calls, and MUST stop and join the background thread "
            "before the network objects it uses are torn down."
        ),
        sources=(
            "KAFKA-4786; kafka-python #1666/#1735",
            "MINOR 031da88 (close race)",
        ),
        known_bugs=(
            "BUG-63",
            "BUG-66",
        ),
    ),
    Rule(
        id="L5",
        name="commit-at-close",
        applies_to="java_style",
        level="must",
        statement=("close() with auto-commit MUST commit the last returned positions before LeaveGroup."),
        sources=(
            "KAFKA-7540 (PR 11898); kafkajs #874; kafka-go #715",
            "KAFKA-16167 (PR 15445)",
        ),
        known_bugs=(
            "BUG-67",
            "BUG-73",
        ),
    ),
    Rule(
        id="T1",
        name="lock-order",
        applies_to="internal",
        level="must",
        statement=(
            "No two threads may take the client's locks in opposite order; no lock needed by a completion "
            "callback may be held while waiting for that completion, during blocking I/O, or while leaving."
        ),
        sources=(
            "KAFKA-4160; kafka-python #1438",
            "kafka-python #1985 / #2064, #2077, #1464",
            "kafka-python #1626 / #1628",
            "KAFKA-6593 (PR 4625)",
        ),
        known_bugs=(
            "BUG-40",
            "BUG-69",
            "BUG-70",
            "BUG-71",
        ),
    ),
    Rule(
        id="T2",
        name="shared-state",
        applies_to="internal",
        level="must",
        statement=(
            "Shared state (state, identity, subscription, fetch session) MUST be read and written under its "
            "lock or by its one owner thread, and check-then-act steps MUST be one critical section."
        ),
        sources=(
            "KAFKA-8104 (PR 7460)",
            "franz-go v0.6.9",
            "KAFKA-19242 (PR 19631)",
            "sarama #2940 / #2947",
            "MINOR 031da88 (close race)",
            "KAFKA-12991 (PR 10879)",
        ),
        known_bugs=(
            "BUG-12",
            "BUG-41",
            "BUG-49",
            "BUG-51",
            "BUG-66",
            "BUG-72",
        ),
    ),
    Rule(
        id="T3",
        name="future-completes-once",
        applies_to="internal",
        level="must",
        statement=(
            "Every future MUST complete exactly once and be installed before a callback can complete it; "
            "cancelling one caller MUST NOT cancel or poison work shared with others."
        ),
        sources=(
            "KAFKA-10793 (PR 9671)",
            "kafka-python #1338",
        ),
        known_bugs=(
            "BUG-01",
            "BUG-75",
        ),
    ),
    Rule(
        id="T4",
        name="wakeup-once",
        applies_to="java_style",
        level="must",
        statement=(
            "wakeup() MUST interrupt exactly one user call (current or next, also if data is ready) and MUST "
            "NOT surface from async commits, background work, commits made inside callbacks, or close()."
        ),
        sources=(
            "KAFKA-7194 (PR 5417)",
            "KAFKA-16167 (PR 15445)",
            "KAFKA-4569",
        ),
        known_bugs=(
            "BUG-14",
            "BUG-73",
            "BUG-74",
        ),
    ),
    Rule(
        id="X1",
        name="static-instance-id",
        applies_to="any",
        level="must",
        statement=(
            "A static member MUST send its instance id in every group request (join, sync, heartbeat, commit, "
            "leave-like); a commit without member identity MUST NOT carry it."
        ),
        sources=(
            "KIP-345",
            "KAFKA-14201 (PR 12599)",
        ),
        known_bugs=("BUG-76",),
    ),
    Rule(
        id="X2",
        name="fenced-is-final",
        applies_to="any",
        level="should",
        statement=(
            "FENCED_INSTANCE_ID for the present identity SHOULD be final, on any request: it is raised to the "
            "application, also for an async commit without callback, and at each poll from then on; no group request is "
            "sent any more, above all no JoinGroup with the instance id and an empty member id, which takes the id back "
            "from the process that has it: two such members fence each other for ever. What the application can do is "
            "to close, or to leave and subscribe anew."
        ),
        sources=(
            "KIP-345",
            "KAFKA-16169 (PR 15437); franz-go #479",
            "Kafka ConsumerCoordinator.invokeCompletedOffsetCommitCallbacks (asyncCommitFenced is never cleared)",
            "Kafka AbstractCoordinator.JoinGroupResponseHandler, SyncGroupResponseHandler (always fatal, the id is kept)",
            "Kafka AbstractCoordinator.HeartbeatResponseHandler (forgets the id, so that the poll after the error joins with none)",
            "Kafka GroupMetadataManager.classicGroupJoinNewStaticMember (replaces the member that has the instance id)",
        ),
        known_bugs=("BUG-77",),
    ),
    Rule(
        id="K1",
        name="owned-partitions",
        applies_to="any",
        level="should",
        statement=(
            "ownedPartitions in JoinGroup MUST be what the member owns at that moment: nothing after its "
            "identity or generation was reset, nothing after an eager revocation, and whatever an unfinished "
            "round did not take away. The generation beside them MUST NOT be later than that of the last "
            "JoinGroup that was answered, and is -1 after a reset. (Java sends just that one, also when its "
            "SyncGroup then failed: the change that reset it, KAFKA-13891, was reverted; the reference sends "
            "that of the last completed round.)"
        ),
        sources=(
            "KIP-429",
            "KAFKA-12983 (PR 10986)",
            "KAFKA-13419 (PR 11451)",
            "KAFKA-13891 (PR 12140, reverted by PR 12794)",
            "Kafka ConsumerCoordinator.metadata",
        ),
        known_bugs=("BUG-78",),
    ),
    Rule(
        id="K2",
        name="rejoin-after-revocation",
        applies_to="any",
        level="must",
        statement=(
            "If a round revoked partitions the member MUST rejoin right after the revoked callback; rounds "
            "MUST terminate."
        ),
        sources=(
            "KIP-429, 'Consumer Incremental Rebalance Protocol'",
            "Kafka ConsumerCoordinator.onJoinComplete",
        ),
        known_bugs=(),
    ),
    Rule(
        id="K3",
        name="conflicting-claims",
        applies_to="any",
        level="must",
        statement=(
            "An assignor that leaves partitions where they are claimed (sticky, cooperative-sticky) MUST "
            "resolve conflicting claims by highest generation and drop claims that tie."
        ),
        sources=(
            "KAFKA-12984, KAFKA-14639 (PR 10985, 13550); librdkafka 2.1.1-2.2",
            "KAFKA-13406 (PR 11439)",
            "Kafka AbstractStickyAssignor.allSubscriptionsEqual",
        ),
        known_bugs=(
            "BUG-79",
            "BUG-80",
        ),
    ),
    Rule(
        id="K4",
        name="one-protocol",
        applies_to="any",
        level="must",
        statement=(
            "The rebalance protocol in use (eager/cooperative) MUST be one consistent fact for join, "
            "callbacks, assignment and close; ownership memory MUST be cleared when an eager revoke happens."
        ),
        sources=(
            "KIP-429",
            "franz-go v1.13.0 (mixed balancers)",
        ),
        known_bugs=("BUG-82",),
    ),
    Rule(
        id="Q1",
        name="no-event-lost",
        applies_to="internal",
        level="must",
        statement=(
            "No event between the polling thread and the background thread may be lost, doubled or reordered; "
            "at close every event left over is answered or cancelled, visibly."
        ),
        sources=("Threading refactor proposal (Apache Kafka wiki), 'Test Plan'",),
        known_bugs=(),
    ),
    Rule(
        id="Q2",
        name="callbacks-by-event",
        applies_to="internal",
        level="must",
        statement=(
            "User callbacks run only on the polling thread, on an event taken from the consumer-event queue; "
            "the background thread never runs user code."
        ),
        sources=("Threading refactor proposal (Apache Kafka wiki), 'Channel and Events'",),
        known_bugs=(),
    ),
    Rule(
        id="Q3",
        name="background-order",
        applies_to="internal",
        level="must",
        statement=(
            "The background thread processes one event at a time; an event that needs a coordinator waits for "
            "it without holding up events that don't."
        ),
        sources=("Threading refactor proposal (Apache Kafka wiki), 'Background thread and its lifecycle'",),
        known_bugs=(),
    ),
    Rule(
        id="Q4",
        name="rebalance-order",
        applies_to="internal",
        level="must",
        statement=(
            "Order of a rebalance: coordinator known; then pause, commit, revoke callback (published: the "
            "commit after the callback). Eager: all of this before JoinGroup. Deployed cooperative: auto-"
            "commit before JoinGroup, without pausing, but what is owned of topics no longer subscribed to is "
            "paused, committed and revoked first; after SyncGroup pause, commit again (M8) and revoke what is "
            "taken away. Then the assign callback, then fetching."
        ),
        sources=(
            "Threading refactor proposal (Apache Kafka wiki), 'Test Plan' and 'Rebalance States'",
            "Kafka ConsumerCoordinator.onJoinPrepare, onJoinComplete",
        ),
        known_bugs=(),
    ),
    Rule(
        id="Q5",
        name="pause-before-revocation",
        applies_to="java_style",
        level="must",
        statement=(
            "From PREPARE_REVOCATION on, partitions to be revoked are paused: not fetched, and not returned "
            "by poll(), until they are assigned again."
        ),
        sources=(
            "Threading refactor proposal (Apache Kafka wiki), 'Rebalance States'",
            "Kafka SubscriptionState.markPendingRevocation",
        ),
        known_bugs=(),
    ),
    Rule(
        id="Q6",
        name="poll-order",
        applies_to="internal",
        level="must",
        statement=(
            "In the background design poll() works in this order: wakeup flag, queued errors and callbacks, "
            "fetch request, records; poll() is also what moves the poll timer. (The calling-thread design "
            "keeps kafka-python's order: buffered records first.)"
        ),
        sources=(
            "Threading refactor proposal (Apache Kafka wiki), 'Consumer Poll Changes'",
            "'Learning Kafka with Python: a deep dive into consumers and rebalancing', 'The consumers poll loop'",
        ),
        known_bugs=(),
    ),
    Rule(
        id="W1",
        name="readable-request",
        applies_to="any",
        level="must",
        statement=(
            "Every request MUST be a frame that the broker can read: a length from 0 to "
            "socket.request.max.bytes, an API and a version that its ApiVersions names, and a body with every "
            "field of that version. The broker answers nothing else: it closes the connection, and with it "
            "goes whatever waits there."
        ),
        sources=(
            "Kafka NetworkReceive.readFrom (InvalidReceiveException)",
            "Kafka RequestContext.parseRequest; SocketServer.Processor.processCompletedReceives (closes the connection)",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G1",
        name="join-phase-ends",
        applies_to="broker",
        level="must",
        statement=(
            "PreparingRebalance ends when every member has a parked JoinGroup and no handed-out member id is "
            "still pending, or when the rebalance timeout (maximum over the members; JoinGroup v0 counts its "
            "session timeout) ends; dynamic members that have not rejoined are then removed, static ones "
            "stay."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "Kafka ClassicGroup.hasAllMembersJoined, GroupMetadataManager.completeClassicGroupJoin",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G2",
        name="generation-grows",
        applies_to="broker",
        level="must",
        statement=(
            "The generation grows by one exactly when a join phase completes, also when the group becomes Empty."
        ),
        sources=("Kafka ClassicGroup.initNextGeneration",),
        known_bugs=(),
    ),
    Rule(
        id="G3",
        name="initial-delay",
        applies_to="broker",
        level="must",
        statement=(
            "From Empty the join phase waits the initial rebalance delay, prolonged by newcomers up to the "
            "rebalance timeout."
        ),
        sources=(
            "KIP-134",
            "Kafka GroupMetadataManager.prepareRebalance",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G4",
        name="pending-member-id",
        applies_to="broker",
        level="must",
        statement=(
            "A new dynamic member (JoinGroup v4+) first gets MEMBER_ID_REQUIRED and an id; the id that never "
            "comes back holds the join phase up to its session timeout."
        ),
        sources=(
            "KIP-394",
            "Kafka ClassicGroup.addPendingMember",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G5",
        name="session-expiry",
        applies_to="broker",
        level="must",
        statement=(
            "A member is removed when its session timeout passes without a heartbeat, an accepted commit, or "
            "a parked join or sync; the group then rebalances. So a crash during a rebalance ends with the "
            "session timeout, not the rebalance timeout."
        ),
        sources=(
            "KIP-62, 'Proposed Changes'",
            "Kafka GroupMetadataManager.expireClassicGroupMemberHeartbeat",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G6",
        name="rebalance-timeout",
        applies_to="broker",
        level="must",
        statement=(
            "A member that keeps heartbeating but never rejoins holds the group in PreparingRebalance for the "
            "whole rebalance timeout, no longer."
        ),
        sources=(
            "Chrząszcz, 'What does the heartbeat thread do in Kafka Consumer?' (2019)",
            "KIP-62, 'Proposed Changes'",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G7",
        name="answers-by-state",
        applies_to="broker",
        level="must",
        statement=(
            "Heartbeat: NONE in Stable and CompletingRebalance, REBALANCE_IN_PROGRESS in PreparingRebalance. "
            "Commit with member and generation: accepted in Stable and PreparingRebalance, "
            "REBALANCE_IN_PROGRESS in CompletingRebalance."
        ),
        sources=("Kafka GroupMetadataManager.classicGroupHeartbeat; ClassicGroup.validateOffsetCommit",),
        known_bugs=(),
    ),
    Rule(
        id="G8",
        name="order-of-checks",
        applies_to="broker",
        level="must",
        statement=(
            "Checks run in this order. SyncGroup, Heartbeat, OffsetCommit: the coordinator gone or still "
            "loading, instance and member, generation, protocol (SyncGroup only), state. JoinGroup, which "
            "carries no generation: session timeout, coordinator, size of the group, protocol, instance and "
            "member, state."
        ),
        sources=(
            "Kafka CoordinatorRuntime.withActiveContextOrThrow",
            "Kafka ClassicGroup.validateMember",
            "Kafka GroupMetadataManager.classicGroupJoinToClassicGroup, classicGroupJoinExistingMember, validateSyncGroup, validateClassicGroupHeartbeat",
            "Kafka ClassicGroup.validateOffsetCommit",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G9",
        name="sync-phase",
        applies_to="broker",
        level="must",
        statement=(
            "SyncGroup is parked until the leader's arrives; in Stable it is answered at once; who has not "
            "synced within the rebalance timeout is removed, also from a Stable group."
        ),
        sources=("Kafka GroupMetadataManager.classicGroupSync, expirePendingSync",),
        known_bugs=(),
    ),
    Rule(
        id="G10",
        name="rejoin-in-stable",
        applies_to="broker",
        level="must",
        statement=(
            "In Stable a rejoin of the leader or of a member with changed metadata starts a rebalance; an "
            "unchanged follower is answered at once."
        ),
        sources=("Kafka GroupMetadataManager.classicGroupJoinExistingMember",),
        known_bugs=(),
    ),
    Rule(
        id="G11",
        name="static-return",
        applies_to="broker",
        level="must",
        statement=(
            "A static member that returns with a new id replaces the old one without a rebalance when the "
            "group is Stable and the protocol stays; every request of the old id then gets "
            "FENCED_INSTANCE_ID."
        ),
        sources=(
            "KIP-345",
            "Kafka GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G12",
        name="invalid-settings",
        applies_to="broker",
        level="must",
        statement=(
            "Session timeouts outside the broker's range get INVALID_SESSION_TIMEOUT; a protocol not shared "
            "by all members gets INCONSISTENT_GROUP_PROTOCOL; neither changes the group."
        ),
        sources=(
            "Kafka GroupCoordinatorService.joinGroup",
            "Kafka ClassicGroup.supportsProtocols",
        ),
        known_bugs=(),
    ),
    Rule(
        id="G13",
        name="not-coordinator",
        applies_to="broker",
        level="must",
        statement=(
            "Who does not coordinate a group answers every request NOT_COORDINATOR; who is still loading it "
            "COORDINATOR_LOAD_IN_PROGRESS, but a Heartbeat NONE; a group that nobody knows, or that was "
            "deleted, answers like an Empty one. DescribeGroups shows the states Empty, PreparingRebalance, "
            "CompletingRebalance, Stable, Dead and, to clients that know no better, Unknown."
        ),
        sources=(
            "'Kafka heartbeat mechanism and repeated consumption' (article, group states with Unknown)",
            "Kafka CoordinatorRuntime.contextOrThrow, withActiveContextOrThrow",
            "Kafka GroupCoordinatorService.heartbeat",
            "Kafka ConsumerGroupState, ClassicGroupState",
        ),
        known_bugs=(),
    ),
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in _RULES})
"""Every rule by its id, in the order of the chapters."""
