"""The book of differences: where the sources disagree, both statements, and what we made of it.

Four voices. *published*: the threading refactor proposal, to the letter. *deployed*: what brokers and KIP-429 allow, as the
shipped clients do it. *KIP-62* and *articles*: the other seeds of this project, which quote Kafka and kafka-python of their
day; *computed* is what exploration found where a source makes a claim. Where both sides are in the tables, `rows` names the
cells that differ between the two profiles; a test computes the difference of the tables and finds it equal to what stands here.
Where time decides, `theorems` names what was proved about it (`expiry/theorems.py`). Where the API decides, `seen_in` says where
the reference shows which side it takes. `tests` names the tests that show it: a test finds each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Statement:
    """What one source says, and which source it is."""

    voice: str
    says: str
    source: str


@dataclass(frozen=True)
class Difference:
    """One disagreement: who says what, why they differ, what shows it, and what this project does.

    `tests`: `path/of/test_file.py::test_name`, from the top of the repository.
    """

    id: str
    title: str
    statements: tuple[Statement, ...]
    reason: str
    choice: str
    rules: tuple[str, ...]
    rows: tuple[str, ...] = ()
    seen_in: str = ""
    theorems: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


_PROPOSAL: Final = "Threading refactor proposal (Apache Kafka wiki)"
_STATES: Final = f"{_PROPOSAL}, 'Rebalance States'"
_ARTICLE: Final = "Chrząszcz, 'What does the heartbeat thread do in Kafka Consumer?' (2019)"
_PYTHON: Final = "'Learning Kafka with Python: a deep dive into consumers and rebalancing' (kafka-python 2.0.1)"
_CHINESE: Final = "'Kafka heartbeat mechanism and repeated consumption' (article quoting Kafka's HeartbeatThread)"

_ENTRIES: Final = (
    Difference(
        "cooperative-join",
        "No JoinGroup on the published cooperative path",
        (
            Statement(
                "published",
                "STABLE, PREPARE_REVOCATION, REVOKING_PARTITION, PARTITION_REVOKED, COMPLETING_REBALANCE, ASSIGNING_PARTITIONS, STABLE, then rejoin",
                _STATES,
            ),
            Statement(
                "deployed",
                "STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, and only then, if the new assignment lacks something, the revocation",
                "KIP-429; Kafka ConsumerCoordinator.onJoinPrepare, onJoinComplete",
            ),
        ),
        "The published path has no PREPARING_REBALANCE, so no JoinGroup is sent: the coordinator waits for it, and a SyncGroup of the old generation is answered ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS. What is taken away is also unknown before SyncGroup is answered.",
        "The reference and the wire follow the deployed path; the published one can be explored.",
        ("Q4", "K1", "K2"),
        (
            "rebalance:STABLE.heartbeat_rebalance_in_progress",
            "rebalance:STABLE.commit_rebalance_in_progress",
            "rebalance:STABLE.rejoin_requested",
            "rebalance:COMPLETING_REBALANCE.sync_accepted",
            "rebalance:PARTITION_REVOKED.revocation_done",
        ),
        tests=(
            "spec/tests/test_paths.py::test_Q4_published_cooperative_never_sends_a_join",
            "spec/tests/test_paths.py::test_Q4_K2_M8_deployed_cooperative_that_loses_a_partition_rejoins",
        ),
    ),
    Difference(
        "commit-order",
        "Commit before or after the revoke callback",
        (
            Statement("published", "PARTITION_REVOKED: update the subscription; autocommit", _STATES),
            Statement(
                "published",
                "first discover the coordinator, second commit while pausing, revoke, and then continue",
                f"{_PROPOSAL}, 'Test Plan'",
            ),
            Statement(
                "deployed",
                "the commit is sent and awaited before onPartitionsRevoked runs",
                "Kafka ConsumerCoordinator.onJoinPrepare; AbstractMembershipManager (KIP-848)",
            ),
        ),
        "The proposal contradicts itself: its states commit after the callback, its test plan before. Both shipped consumers commit first, so that the application's own commit inside the callback is the last word.",
        "published follows the states, deployed the shipped clients.",
        ("Q4", "M3"),
        (
            "rebalance:STABLE.heartbeat_rebalance_in_progress",
            "rebalance:STABLE.commit_rebalance_in_progress",
            "rebalance:STABLE.rejoin_requested",
            "rebalance:REVOKING_PARTITION.partitions_revoked",
        ),
        tests=(
            "spec/tests/test_paths.py::test_Q4_published_eager",
            "spec/tests/test_paths.py::test_Q4_deployed_eager_commits_before_the_callback",
        ),
    ),
    Difference(
        "commit-after-sync",
        "Whether a cooperative member commits again before it gives up what SyncGroup takes away",
        (
            Statement(
                "deployed",
                "no: the automatic commit precedes JoinGroup, while nothing is paused; after SyncGroup onPartitionsRevoked is called at once",
                "Kafka ConsumerCoordinator.onJoinPrepare, onJoinComplete, maybeMarkPartitionsPendingRevocation (returns if not EAGER)",
            ),
            Statement(
                "deployed",
                "yes: what was stored of the partitions that go is committed when they are unassigned",
                "librdkafka rd_kafka_assignment_serve_removals",
            ),
            Statement(
                "deployed",
                "yes: partitions are marked as pending revocation, then what was consumed is committed, then they are revoked",
                "Kafka AbstractMembershipManager.maybeReconcile (KIP-848)",
            ),
        ),
        "A cooperative member reads on while it joins, and the join phase lasts as long as its slowest member takes. Without the second commit the next owner reads again what was read since the first: three members, one of them busy for 5 s, 300 records a second, 20 runs each: kafka-clients 4.3.1 doubled 12 to 388 records in every run, librdkafka and the reference none, and nobody had failed.",
        "The reference commits both times: before JoinGroup for the case that it is put out while it waits, and before the revocation. The rule is a should: Kafka's classic consumer delivers at least once, too.",
        ("M8", "Q4", "M3"),
        seen_in="the state machine `rebalance`: COMPLETING_REBALANCE.sync_accepted, deployed and cooperative",
        tests=(
            "spec/tests/test_paths.py::test_Q4_K2_M8_deployed_cooperative_that_loses_a_partition_rejoins",
            "impl/core/tests/test_promises.py::test_M8_what_was_read_while_the_others_joined_is_committed_before_the_partition_goes",
        ),
    ),
    Difference(
        "lost",
        "Partitions that are lost",
        (
            Statement(
                "published",
                "no such state or event; a member that lost its membership starts again from UNJOINED",
                _STATES,
            ),
            Statement(
                "deployed",
                "onPartitionsLost for everything owned, without a commit, before the member joins again",
                "KIP-429; Kafka ConsumerCoordinator.onJoinPrepare",
            ),
        ),
        "An omission of a draft: the proposal says 'We will use the existing implementation but with a few changes', that one already had onPartitionsLost, and it does not mention it. Without it, an owner that lost its membership is told nothing, and its callbacks no longer alternate.",
        "published goes to UNJOINED in silence; deployed goes through REVOKING_PARTITION with `lost`.",
        ("C1", "C2", "P3"),
        (
            "rebalance:*.heartbeat_unknown_member",
            "rebalance:*.heartbeat_illegal_generation",
            "rebalance:*.heartbeat_fenced",
            "rebalance:*.commit_unknown_member",
            "rebalance:*.commit_illegal_generation",
            "rebalance:*.commit_fenced",
            "rebalance:*.poll_limit_reached",
            "rebalance:COMPLETING_REBALANCE.sync_*",
            "rebalance:PREPARING_REBALANCE.join_unknown_member",
            "rebalance:PREPARING_REBALANCE.join_fenced",
            "rebalance:*.callback_started",
            "rebalance:*.partitions_revoked",
        ),
        tests=(
            "spec/tests/test_paths.py::test_C2_deployed_lost_runs_its_callback_before_the_next_join",
            "impl/core/tests/test_paths.py::test_C2_P3_lost_path_has_no_commit_and_begins_from_unjoined",
        ),
    ),
    Difference(
        "heartbeats-begin",
        "When heartbeats begin",
        (
            Statement(
                "articles",
                "the heartbeat loop disables itself while `state != STABLE`",
                f"{_ARTICLE}; {_CHINESE}; Kafka up to 2.6.0, AbstractCoordinator.HeartbeatThread.run",
            ),
            Statement(
                "deployed",
                "with the answer to JoinGroup: also while SyncGroup is out and while callbacks run",
                "Kafka 2.6.1 and later, AbstractCoordinator.JoinGroupResponseHandler.handle (KAFKA-10134)",
            ),
            Statement(
                "deployed",
                "but not while a leader computes: its assignor runs in the monitor that the heartbeat thread needs",
                "Kafka AbstractCoordinator.JoinGroupResponseHandler.handle, HeartbeatThread.run",
            ),
            Statement(
                "deployed",
                "kafka-python: only after SyncGroup; librdkafka: in steady and while callbacks are due",
                "kafka-python coordinator/base.py; librdkafka rdkafka_cgrp.c",
            ),
        ),
        "From the answer to JoinGroup on, the coordinator counts the session of whoever's SyncGroup it does not have: of the leader while it computes, of a member that is slow to send. A parked SyncGroup is a sign of life, so a slow leader endangers nobody but itself; and in Java the later gate does not save it, it only spares a latency after SyncGroup.",
        "deployed enables heartbeats at join_accepted; published, of which the proposal says nothing, at sync_accepted, as the articles have it.",
        ("H1", "H3"),
        (
            "rebalance:PREPARING_REBALANCE.join_accepted",
            "rebalance:COMPLETING_REBALANCE.sync_accepted",
            "timeouts:*.heartbeats_enabled",
        ),
        theorems=("session-first-beat-deployed", "session-first-beat-beside", "session-first-beat-published"),
        tests=(
            "impl/core/tests/test_heartbeats.py::test_H1_heartbeats_begin_when_the_join_is_accepted_not_when_it_is_synchronised",
            "spec/tests/test_differences.py::test_a_java_leader_that_computes_for_long_is_expelled_whenever_heartbeats_begin",
        ),
    ),
    Difference(
        "heartbeat-thread-start",
        "When the heartbeat thread starts",
        (
            Statement("KIP-62", "when the user calls subscribe()", "KIP-62, 'Proposed Changes'"),
            Statement("articles", "at the first poll that has to join", _ARTICLE),
            Statement("articles", "with each ConsumerCoordinator, at construction", _CHINESE),
            Statement(
                "published",
                "the background thread starts in the constructor",
                f"{_PROPOSAL}, 'Background thread and its lifecycle'",
            ),
        ),
        "Only the thread's existence differs; none of them lets it send before a generation is joined.",
        "The background design starts its thread in the constructor.",
        ("D7", "H6"),
        seen_in="the state machine `timeouts`: `started` leads to DISABLED",
        tests=(
            "impl/threads/tests/test_background.py::test_D7_the_thread_starts_with_the_consumer_and_needs_no_coordinator",
            "spec/tests/test_differences.py::test_H3_wherever_the_thread_starts_it_sends_nothing_before_a_generation",
        ),
    ),
    Difference(
        "expiry-arithmetic",
        "Strict or non-strict expiry",
        (
            Statement(
                "articles",
                "`now - last > timeout` for session and poll interval",
                f"{_CHINESE}; Kafka up to 2.0, Heartbeat.sessionTimeoutExpired; kafka-python coordinator/heartbeat.py",
            ),
            Statement("deployed", "`now >= deadline`", "Kafka 2.1 and later, Timer.isExpired"),
        ),
        "They differ in one instant, which matters where a timeout equals an interval: heartbeat.interval = session.timeout expires in one arithmetic and never in the other.",
        "The reference is non-strict.",
        ("H5", "P1"),
        seen_in="every theorem about time, which is proved in both; the reference's timers: a deadline equal to now has expired",
        theorems=("session-stable", "doubt", "poll-limit"),
        tests=(
            "spec/expiry/tests/test_theorems.py::test_a_heartbeat_per_session_expires_in_one_arithmetic_and_never_in_the_other",
            "impl/core/tests/test_ground.py::test_timers_expire_at_their_deadline_not_after_it",
            "conformance/tests/test_reference_keeps_time.py::test_p1_it_leaves_exactly_when_the_processing_time_reaches_the_poll_interval",
        ),
    ),
    Difference(
        "effective-poll-timeout",
        "What bounds the time between two polls",
        (
            Statement(
                "KIP-62",
                "the maximum of the session timeout and the process timeout is the effective process timeout",
                "KIP-62, 'Proposed Changes'",
            ),
            Statement("deployed", "max.poll.interval.ms alone", "Kafka Heartbeat.pollTimeoutExpired"),
        ),
        "The maximum was meant to spare users who had raised the session timeout before KIP-62; the code compares with max.poll.interval.ms only.",
        "The reference takes max.poll.interval.ms alone.",
        ("P1", "P2"),
        seen_in="the reference's timer `poll_interval`",
        theorems=("poll-limit", "poll-limit-effective"),
        tests=(
            "spec/expiry/tests/test_theorems.py::test_p1_the_effective_poll_timeout_differs_where_the_poll_limit_is_the_shorter_one",
            "conformance/tests/test_reference_keeps_time.py::test_p1_it_leaves_exactly_when_the_processing_time_reaches_the_poll_interval",
        ),
    ),
    Difference(
        "default-timeouts",
        "Default timeouts",
        (
            Statement("KIP-62", "session.timeout.ms 10 s, max.poll.interval.ms 5 min", "KIP-62, 'Public Interfaces'"),
            Statement("deployed", "session.timeout.ms 45 s since 3.0", "KIP-735"),
        ),
        "KIP-735 raised the default so that a short network fault does not cost the membership.",
        "The reference has 45 s, 3 s and 5 min.",
        ("H2", "P1"),
        seen_in="the reference's configuration",
        theorems=("session-swallowed",),
        tests=(
            "impl/core/tests/test_ground.py::test_the_default_configuration_is_kafkas",
            "spec/tests/test_differences.py::test_one_swallowed_heartbeat_expels_with_the_default_of_kip_62_only",
        ),
    ),
    Difference(
        "discovery",
        "Discovery on demand, or always",
        (
            Statement(
                "published",
                "if nothing needs a coordinator the background thread stays in initialized",
                f"{_PROPOSAL}, 'Background thread and its lifecycle'",
            ),
            Statement(
                "deployed",
                "the coordinator is looked for whenever it is unknown",
                "Kafka CoordinatorRequestManager.poll",
            ),
        ),
        "For a group member the two agree, since it always needs one; for a consumer with manual assignment that never commits, on demand sends nothing.",
        "Both profiles are on demand, and rule D7 is marked internal, so that no client is failed for it.",
        ("D7", "D8"),
        seen_in="the state machine `connection`: INITIALIZED is kept until something needs a coordinator",
        tests=(
            "impl/core/tests/test_connection.py::test_D7_discovery_is_on_demand",
            "impl/core/tests/test_connection.py::test_D8_manual_assignment_looks_a_coordinator_up_only_for_offsets",
        ),
    ),
    Difference(
        "rebalance-thread",
        "Who drives the rebalance",
        (
            Statement("KIP-62", "rebalancing and fetching stay in the calling thread", "KIP-62, 'Proposed Changes'"),
            Statement(
                "published",
                "the rebalance runs in the background, asynchronously to poll",
                f"{_PROPOSAL}, 'Asynchronous Background Thread'",
            ),
        ),
        "Both forbid a first join before a first poll; they differ in whether every later join needs one.",
        "Rule J7 states both; the background design rejoins by itself once the callbacks that are due have run.",
        ("J7",),
        seen_in="the state machine `rebalance`: `polled`, and `join` after partitions_revoked",
        theorems=("rebalance-in-poll", "rebalance-at-once"),
        tests=(
            "spec/tests/test_differences.py::test_who_rejoins_by_itself_is_expelled_by_no_processing_time",
            "impl/threads/tests/test_rebalances.py::test_C3_J7_eager_everything_is_revoked_inside_a_poll_before_the_join",
        ),
    ),
    Difference(
        "loop-backoff",
        "Backoff every turn of the loop, or until the next deadline",
        (
            Statement(
                "published",
                "the loop backs off for retryBackoffMs at each turn",
                f"{_PROPOSAL}, 'Background thread and its lifecycle'",
            ),
            Statement("articles", "wait(retryBackoffMs) in each idle turn of the heartbeat thread", _CHINESE),
            Statement(
                "deployed", "network poll bounded by the nearest deadline", "Kafka ConsumerNetworkThread.runOnce"
            ),
        ),
        "A literal backoff makes every answer up to 100 ms late, and wakes up for nothing.",
        "The reference waits for the next deadline, and is woken by events.",
        ("D3", "H2"),
        seen_in="the reference's background loop",
        theorems=("session-stable", "session-refused"),
        tests=(
            "spec/tests/test_differences.py::test_a_literal_backoff_costs_the_session_one_backoff",
            "conformance/tests/test_reference_keeps_time.py::test_the_reference_plays_the_boundary_case_to_the_millisecond",
        ),
    ),
    Difference(
        "close-order",
        "What close does last",
        (
            Statement(
                "published",
                "set closed, poll coordinator and network client, commit",
                f"{_PROPOSAL}, 'Background thread and its lifecycle'",
            ),
            Statement(
                "deployed",
                "commit, callbacks, LeaveGroup, drain, then the network",
                "Kafka ConsumerCoordinator.close, ClassicKafkaConsumer.close",
            ),
        ),
        "A commit after LeaveGroup is refused with UNKNOWN_MEMBER_ID.",
        "The reference commits first; `leave_requested` comes when that commit has settled.",
        ("L5", "C7", "L1"),
        seen_in="the reference's close sequence",
        tests=(
            "impl/core/tests/test_leaving.py::test_L5_close_commits_revokes_leaves_and_ends_in_this_order",
            "spec/tests/test_broker_group.py::test_G8_G13_the_matrix",
        ),
    ),
    Difference(
        "leave-with-a-kept-id",
        "LeaveGroup of who has lost its generation, and kept its id",
        (
            Statement(
                "deployed",
                "Java: who is UNJOINED sends none, whatever id it has; who has sent JoinGroup does, with an id that is only pending too",
                "Kafka AbstractCoordinator.shouldSendLeaveGroupRequest, maybeLeaveGroup",
            ),
            Statement(
                "deployed",
                "librdkafka, franz-go: whoever has a member id leaves with it; neither looks at the state of its join",
                "librdkafka rd_kafka_cgrp_leave; franz-go pkg/kgo/consumer_group.go (groupConsumer.leave)",
            ),
        ),
        "After ILLEGAL_GENERATION a member keeps its id to join again with it. The coordinator may still know that id, and waits its session timeout for whoever leaves without a word.",
        "The tables and the reference follow Java: the kept id is forgotten. Rule L1 demands a LeaveGroup of joined members only, so one that is sent all the same is no offence.",
        ("L1", "J4"),
        seen_in="the state machine `rebalance`: UNJOINED.leave_requested, and `partitions_revoked` while leaving",
        tests=(
            "spec/tests/test_paths.py::test_L1_an_id_kept_from_a_lost_generation_is_nothing_to_leave",
            "impl/core/tests/test_leaving.py::test_L1_an_id_kept_from_a_lost_generation_does_not_leave",
        ),
    ),
    Difference(
        "in-flight-before-join",
        "Waiting for requests in flight before JoinGroup",
        (
            Statement(
                "articles", "wait until no request to the coordinator is in flight, then send JoinGroup", _PYTHON
            ),
            Statement(
                "deployed",
                "no wait; the coordinator answers one connection in order",
                "Kafka AbstractCoordinator.initiateJoinGroup",
            ),
        ),
        "Answers of one connection come in order, so an answer to an older request can be recognised as late instead.",
        "The reference does not wait; late answers are ignored (rule J9).",
        ("J9", "H3"),
        seen_in="the state machine `rebalance`: ignored cells with the reason `late`",
        tests=(
            "spec/tests/test_answers.py::test_J9_every_answer_may_come_late_in_every_state_and_then_changes_nothing",
            "impl/core/tests/test_connection.py::test_J9_an_answer_to_a_join_that_timed_out_is_ignored",
        ),
    ),
    Difference(
        "listener-exceptions",
        "A listener that raises",
        (
            Statement("articles", "all exceptions raised by the listener are swallowed", _PYTHON),
            Statement(
                "deployed",
                "the protocol goes on; the exception is raised from poll()",
                "Kafka ConsumerCoordinator.onJoinComplete; KAFKA-8104",
            ),
        ),
        "Swallowing hides that an application did not prepare for its partitions.",
        "The reference raises it from poll() or close(), after the protocol has gone on.",
        ("C4",),
        seen_in="the reference's poll()",
        tests=(
            "impl/threads/tests/test_rebalances.py::test_C4_what_the_listener_raises_comes_out_of_the_poll_and_the_rebalance_goes_on",
            "impl/threads/tests/test_closing.py::test_C4_close_does_everything_before_it_raises_what_the_listener_raised",
        ),
    ),
    Difference(
        "blocking-poll",
        "Does poll() wait for the rebalance",
        (
            Statement("articles", "poll blocks until the rebalance is done", _PYTHON),
            Statement(
                "deployed",
                "since 2.5 poll returns within its timeout",
                "Kafka ConsumerCoordinator.poll (waitForJoinGroup = false)",
            ),
        ),
        "A poll that blocks cannot honour its timeout when another member is slow.",
        "The reference returns within the timeout.",
        ("P4",),
        seen_in="the reference's poll()",
        tests=(
            "impl/threads/tests/test_polling.py::test_P4_poll_returns_when_its_time_is_over_whatever_is_pending",
            "impl/threads/tests/test_rebalances.py::test_P4_a_long_poll_takes_part_in_the_rebalance_while_it_waits",
        ),
    ),
    Difference(
        "group-states",
        "Six group states, or five",
        (
            Statement("articles", "five states, six counting Unknown", _CHINESE),
            Statement(
                "deployed",
                "Empty, PreparingRebalance, CompletingRebalance, Stable, Dead; Unknown is what an older client prints for a state it does not know",
                "Kafka ClassicGroupState, ConsumerGroupState",
            ),
        ),
        "Unknown is a state of the client's enumeration, not of the coordinator.",
        "Five states, and Loading for the part of the log that the group lies in; Unknown only as a name for what a client cannot read (rule G13).",
        ("G13",),
        seen_in="rule G13",
        tests=(
            "spec/tests/test_broker_group.py::test_G13_states_follow_each_other_as_in_kafka",
            "spec/tests/test_differences.py::test_the_group_has_five_states_and_unknown_is_none",
        ),
    ),
    Difference(
        "session-expiry",
        "What the client's own session timer means",
        (
            Statement("articles", "the coordinator is marked unknown; the member stays", f"{_ARTICLE}; {_CHINESE}"),
            Statement(
                "deployed",
                "librdkafka: partitions are lost and the member rejoins",
                "librdkafka rdkafka_cgrp.c, session timeout",
            ),
        ),
        "Only the coordinator knows whether the session ended; but an owner that hears nothing for a session timeout is probably no owner any more.",
        "The reference forgets the coordinator and keeps its identity (rule H5, a should).",
        ("H5",),
        seen_in="the state machine `timeouts`: session_expired",
        theorems=("doubt", "doubt-unread", "doubt-of-a-living-session"),
        tests=(
            "spec/expiry/tests/test_theorems.py::test_it_holds_for_all_numbers",
            "conformance/tests/test_reference_keeps_time.py::test_h5_it_doubts_its_coordinator_exactly_when_the_theorem_says_and_keeps_its_identity",
        ),
    ),
    Difference(
        "rejoin-deadline",
        "How long a member that polls in time may take to rejoin",
        (
            Statement(
                "KIP-62",
                "max.poll.interval.ms is also the maximum time before a consumer can be expected to rejoin the group in the worst case; so it is the rebalance timeout",
                "KIP-62, 'Proposed Changes'",
            ),
            Statement(
                "computed",
                "a member that keeps to max.poll.interval.ms can be expelled by a rebalance: its processing time must stay below that limit less heartbeat.interval.ms, the turn of its loop, two latencies, its commit and its callback",
                "theorem rebalance-polite: necessary and sufficient, for all values",
            ),
        ),
        "The coordinator's clock starts when another member joins. This one hears of it with its next heartbeat (in Java when its thread next reads, a turn later), may have polled just before, and then has to revoke, to commit and to send. It is expelled only if it has the longest limit of the group: a longer one of another member protects it.",
        "The reference sends max.poll.interval.ms as Kafka does, and rejoins by itself where no callback is due.",
        ("P1", "J5", "G1"),
        theorems=(
            "rebalance-in-poll",
            "rebalance-read-late",
            "rebalance-polite",
            "rebalance-two-limits",
            "rebalance-at-once",
        ),
        tests=(
            "spec/expiry/tests/test_theorems.py::test_p1_a_member_that_keeps_to_the_poll_interval_can_still_be_expelled_by_a_rebalance",
            "conformance/tests/test_reference_keeps_time.py::test_p1_keeping_to_the_poll_interval_does_not_save_it_from_a_rebalance",
        ),
    ),
    Difference(
        "heartbeats-in-flight",
        "One heartbeat in flight, or one at every interval",
        (
            Statement(
                "deployed",
                "the interval restarts when a heartbeat is sent; the next goes out whether or not it was answered",
                f"Kafka Heartbeat.sentHeartbeat; {_CHINESE}",
            ),
            Statement("deployed", "librdkafka: none while one is in flight", "librdkafka rd_kafka_cgrp_heartbeat"),
        ),
        "They differ where the latency exceeds the interval: with the timeouts of KIP-62 who has one out at a time bears 4,949 ms, who has several 6,899 ms. A connection that goes silent costs both a request timeout, since it does not lose one request and deliver the next.",
        "The reference has one in flight (rule H7), and retries after the backoff what has visibly failed.",
        ("H7", "H2"),
        theorems=("session-stable", "session-stable-pipelined", "session-swallowed"),
        tests=(
            "spec/expiry/tests/test_theorems.py::test_h7_one_heartbeat_at_a_time_bears_less_latency_than_several",
            "impl/core/tests/test_heartbeats.py::test_H7_at_most_one_heartbeat_is_out_and_a_due_one_follows_the_answer",
            "conformance/tests/test_reference_keeps_time.py::test_the_reference_plays_the_boundary_case_to_the_millisecond",
        ),
    ),
    Difference(
        "poll-timer-reset",
        "What counts as a sign of life of the application",
        (
            Statement(
                "published",
                "it will still require a fetch event to poll heartbeat, as only the polling thread issues fetch events",
                f"{_PROPOSAL}, 'ConsumerCoordinator and AbstractCoordinator'",
            ),
            Statement("KIP-62", "calls to poll()", "KIP-62, 'Proposed Changes'"),
            Statement(
                "deployed",
                "every poll(), by an event of its own",
                "Kafka AsyncKafkaConsumer.poll, PollEvent; ConsumerCoordinator.poll",
            ),
        ),
        "The proposal's poll() sends a fetch event every time, also when all is paused; but after the wakeup flag and the waiting errors, each of which may raise. An application whose polls raise would count as stuck by the fetch event, and leave.",
        "The reference has an event POLL beside FETCH, and sends it first in every poll, also in one that only raises an error.",
        ("P2",),
        seen_in="the server event POLL",
        tests=(
            "impl/threads/tests/test_polling.py::test_P2_every_poll_reaches_the_core_even_one_that_raises",
            "impl/core/tests/test_heartbeats.py::test_P2_every_poll_puts_the_poll_interval_off",
        ),
    ),
)

DIFFERENCES: Final[Mapping[str, Difference]] = MappingProxyType({entry.id: entry for entry in _ENTRIES})
"""Every difference by its id."""
