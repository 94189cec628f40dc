"""The findings: what exploration says about the proposal, sentence by sentence.

Every property that a model of the published profile breaks stands in exactly one of them, with each model in which it does; a
test counts. There are nine such properties and four causes, one finding each: a path that is drawn wrong, an order that the test
plan has otherwise, what a draft leaves out, and a gate that Kafka has given up. Then what is no violation: a dead end that is none,
sentences that say two things, what no client can avoid, and time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.conformance.findings.finding import Finding
from groupspec.conformance.findings.runs import Run

_PROPOSAL: Final = "Threading refactor proposal (Apache Kafka wiki)"
_STATES: Final = f"{_PROPOSAL}, 'Rebalance States'"
_CHINESE: Final = "'Kafka heartbeat mechanism and repeated consumption' (article quoting Kafka's HeartbeatThread)"
_TESTS: Final = "conformance/findings/tests/test_findings.py"
_ON_REFERENCE: Final = f"{_TESTS}::test_the_reference_does_not_show_what_the_published_profile_breaks"
_COOPERATIVE: Final = "(COOPERATIVE) STABLE → PREPARE_REVOCATION → REVOKING_PARTITION → PARTITION_REVOKED → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE → //rejoin"

_ENTRIES: Final = (
    Finding(
        "sync-without-join",
        "violation",
        "The cooperative path revokes before anybody knows what, and has no JoinGroup",
        _COOPERATIVE,
        _STATES,
        "A general property, that each SyncGroup uses the generation of an answered JoinGroup and uses it once, holds of the deployed profile and fails here: PARTITION_REVOKED goes to COMPLETING_REBALANCE, which sends SyncGroup, and PREPARING_REBALANCE, where JoinGroup would be sent, is not on the path. The generation was used by the SyncGroup before. A coordinator that prepares a rebalance answers REBALANCE_IN_PROGRESS and goes on waiting for a JoinGroup that never comes. Two more claims fail for the same reason. PREPARING_REBALANCE is also where a member waits for a coordinator: if it is lost while the callback runs, SyncGroup has nobody to go to. And after the answer to SyncGroup, the first to say what is taken away, there is only ASSIGNING_PARTITIONS: what an assignment takes is told to no listener.",
        "STABLE goes to PREPARING_REBALANCE, which waits until a coordinator is known, and sends JoinGroup while everything is still owned; what is taken away is known from the answer to SyncGroup, is revoked after it, and a second rebalance follows (rules Q4, K1, K2, D4).",
        "cooperative-join",
        f"{_TESTS}::test_Q4_the_missing_join_comes_out_of_a_general_property",
        (
            Run("open-member-cooperative-published", "sync-after-join"),
            Run("open-member-cooperative-published", "to-a-known-coordinator"),
            Run("open-member-cooperative-published", "taken-is-revoked"),
        ),
    ),
    Finding(
        "commit-after-callback",
        "violation",
        "The commit comes after the callback, and after what it would have to commit",
        "PARTITION_REVOKED: Update the subscription. Autocommit.",
        _STATES,
        "In this order the subscription has shrunk before the commit is sent: there is nothing left to commit, or positions of partitions that the application has already given up in its callback, whose own commit is no longer the last word. And the listener is called while nothing of what was consumed since the last periodic commit is stored: if the member dies in its callback, the next owner reads those records again. The proposal's own test plan has the other order.",
        "With enable.auto.commit the commit is sent first, and is answered or has run out of time when the listener is called; cooperative members do so before JoinGroup (rules M1, M3, Q4).",
        "commit-order",
        _ON_REFERENCE,
        (
            Run("open-member-eager-published", "commit-what-is-owned"),
            Run("open-member-cooperative-published", "commit-what-is-owned"),
            Run("open-member-eager-published", "commit-comes-first"),
            Run("open-member-cooperative-published", "commit-comes-first"),
        ),
    ),
    Finding(
        "lost-in-silence",
        "omission",
        "Nothing is said of partitions that are lost",
        "Starting from UNJOINED: UNJOINED → PREPARING_REBALANCE → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE",
        _STATES,
        "A draft that says 'We will use the existing implementation but with a few changes' need not repeat what that has: onPartitionsLost, since Kafka 2.4. To the letter, no state and no event ends ownership when the coordinator disowns the member or the poll interval expires: it starts again from UNJOINED, and nobody has told the listener. What comes of that is one omission seen three times: it counts as its own what another may have by now; an eager member joins with all that it had; and two members of one generation own the same partition, which fencing by generation does not notice.",
        "onPartitionsLost for everything owned, without a commit, before the member joins again, so that what a generation owns is what its leader gave (rules C2, P3, S1, K1).",
        "lost",
        _ON_REFERENCE,
        (
            Run("base-eager-published-2", "one-owner"),
            Run("base-cooperative-published-2", "one-owner"),
            Run("base-eager-published-2", "owns-nothing-outside"),
            Run("base-cooperative-published-2", "owns-nothing-outside"),
            Run("open-member-eager-published", "owns-nothing-outside"),
            Run("open-member-cooperative-published", "owns-nothing-outside"),
            Run("open-member-eager-published", "eager-gives-up-first"),
        ),
    ),
    Finding(
        "silent-while-it-waits",
        "violation",
        "No heartbeats between JoinGroup and SyncGroup",
        "if (state != MemberState.STABLE) { // the group is not stable (perhaps because we left the group or because the coordinator kicked us out), so disable heartbeats and wait for the main thread to rejoin. disable(); }",
        f"{_CHINESE}; Kafka up to 2.6.0, AbstractCoordinator.HeartbeatThread.run",
        "With the answer to JoinGroup the coordinator counts the session, and the member is silent until SyncGroup is answered. Whoever has sent its SyncGroup is safe, since a parked request is a sign of life; who has not (a leader that computes, a member that is slow to send) loses its place after a session. The published profile has the gate from the articles: the proposal says nothing of it, and cites KAFKA-13563, of 2022, when it was gone.",
        "Heartbeats begin with the answer to JoinGroup (KAFKA-10134, Kafka 2.6.1 and later; rules H1, H3). A Java leader is silent while it computes all the same: its assignor runs in the monitor that the heartbeat thread needs.",
        "heartbeats-begin",
        _ON_REFERENCE,
        (Run("open-member-eager-published", "heartbeats-run"), Run("open-member-cooperative-published", "heartbeats-run")),
    ),
    Finding(
        "no-dead-ends",
        "dead end",
        "The published profile has no dead ends of its own",
        "These \"loop until done or timeout\" mechanisms will piggyback on the background thread loop and take advantage of the state machine to advance the progress",
        f"{_PROPOSAL}, 'ConsumerCoordinator and AbstractCoordinator'",
        "Exploration finds states in which nothing can happen, and each is one in which an assertion has just failed: a run is not followed beyond that. With one action more, that does nothing once an assertion has failed, none is left. What can go wrong goes wrong by doing something, not by getting stuck.",
        "The models of the deployed profile have no state in which nothing can happen, and from each a rebalance can still be completed and the consumer closed.",
        "",
        f"{_TESTS}::test_every_state_in_which_nothing_can_happen_is_a_failed_assertion",
    ),
    Finding(
        "two-orders",
        "ambiguity",
        "Its states commit after the callback, its test plan before",
        "We need to first discover the coordinator, second, commit the offset while pausing the partition for being fetched, revoke the partition, and then continue onto rest of the rebalance process.",
        f"{_PROPOSAL}, 'Test Plan'",
        "The states say: REVOKING_PARTITION, then 'PARTITION_REVOKED: Update the subscription. Autocommit.' Both cannot be. The published profile follows the states, and is what breaks commit-what-is-owned; the test plan's order is what the deployed profile does.",
        "Commit, then the callback (rule M3).",
        "commit-order",
        "spec/tests/test_paths.py::test_Q4_deployed_eager_commits_before_the_callback",
    ),
    Finding(
        "rejoin-in-a-comment",
        "ambiguity",
        "What makes a cooperative member rejoin stands in a comment",
        "ASSIGNING_PARTITIONS → STABLE → //rejoin",
        _STATES,
        "Who rejoins, when, and by which state is open: from STABLE the only way that is drawn begins with a revocation, so read to the letter the follow-up revokes a second time and sends no JoinGroup either.",
        "Who gave something up rejoins at once, by itself, through PREPARING_REBALANCE (rule K2).",
        "cooperative-join",
        "spec/tests/test_paths.py::test_Q4_K2_M8_deployed_cooperative_that_loses_a_partition_rejoins",
    ),
    Finding(
        "paused-before-it-is-known",
        "ambiguity",
        "It pauses partitions of which nobody knows yet that they will be revoked",
        "PREPARE_REVOCATION: Pause partitions that will be reovked",
        _STATES,
        "On the eager path that is everything. On the cooperative path what will be revoked is in the answer to SyncGroup, which comes three states later.",
        "Cooperative members pause and revoke when SyncGroup has been answered, and only what the assignment lacks (rule K2).",
        "cooperative-join",
        "spec/tests/test_paths.py::test_Q4_K2_M8_deployed_cooperative_that_loses_a_partition_rejoins",
    ),
    Finding(
        "heartbeat-by-fetch",
        "ambiguity",
        "A sign of life that a poll() which raises does not give",
        "It will still require a fetch event to poll heartbeat.  As only polling thread issues fetch events, and we want to respect the existing implementation.",
        f"{_PROPOSAL}, 'ConsumerCoordinator and AbstractCoordinator'",
        "Every poll() that comes so far sends a FetchEvent, also when all is paused: step 3 of 'Consumer Poll Changes'. Steps 1 and 2, the wakeup flag and what waits in the queue, come before it and may raise: such a poll() sends none, though the application is alive and polled. The existing implementation, which the sentence wants to respect, counts it.",
        "Every poll() counts, by an event of its own (rule P2).",
        "poll-timer-reset",
        "impl/threads/tests/test_polling.py::test_P2_every_poll_reaches_the_core_even_one_that_raises",
    ),
    Finding(
        "zombie",
        "reachable",
        "A member that was expelled does not know it yet",
        "No two members of one generation own the same partition.",
        "property one-owner; 'How to do distributed locking' (Martin Kleppmann, 2016)",
        "The coordinator's clock expels a member whose heartbeats are lost or late. Until an answer tells it so, it counts its partitions as its own, also under the deployed profile, and the group may give them to another. No client can avoid that: it cannot know. So the property speaks of members of one generation, and says nothing of one that is expelled.",
        "Commits carry member id and generation, and Kafka's coordinator refuses those of an expelled member (ClassicGroup.validateOffsetCommit; rules M1, M2), which no model here shows: those with two members have no commits. Whatever else a member writes must be fenced by the application.",
        "",
        f"{_TESTS}::test_S1_a_zombie_is_reachable_and_there_are_words_for_refusing_its_commits",
        (Run("base-cooperative-deployed-2", "reaches-zombie"),),
    ),
    Finding(
        "expelled-though-it-polls",
        "time",
        "A member that always polls in time can be expelled by a rebalance",
        "Since we give the client as much as max.poll.interval.ms to handle a batch of records, this is also the maximum time before a consumer can be expected to rejoin the group in the worst case.",
        "KIP-62, 'Proposed Changes'",
        "Proved for all values, in both arithmetics: the coordinator's clock starts when another member joins; this one hears of it up to a heartbeat interval and a latency later, may just have polled, and still has to revoke, to commit and to send its JoinGroup.",
        "Kafka sends max.poll.interval.ms as the rebalance timeout all the same; an application must poll in that time less the heartbeat interval, the commit, the callback, the latencies and a turn of its loop: with Kafka's defaults and a latency of 50 ms 296,799 ms, and in Java, which reads an answer once per turn, 296,699 ms.",
        "rejoin-deadline",
        "spec/expiry/tests/test_theorems.py::test_p1_a_member_that_keeps_to_the_poll_interval_can_still_be_expelled_by_a_rebalance",
        theorem="rebalance-in-poll",
    ),
)  # fmt: skip

FINDINGS: Final[Mapping[str, Finding]] = MappingProxyType({entry.id: entry for entry in _ENTRIES})
"""Every finding by its id."""
