"""The findings: what exploration says about the proposal, sentence by sentence.

Every property that a model of the published profile breaks stands in exactly one of them, with each model in which it does; a
test counts. Then what is no violation: a dead end that is none, sentences that say two things, what no client can avoid, and time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.conformance.findings.finding import Finding
from groupspec.conformance.findings.runs import Run

_PROPOSAL: Final = "Threading refactor proposal (Apache Kafka wiki)"
_STATES: Final = f"{_PROPOSAL}, 'Rebalance States'"
_TESTS: Final = "conformance/findings/tests/test_findings.py"
_ON_REFERENCE: Final = f"{_TESTS}::test_the_reference_does_not_show_what_the_published_profile_breaks"
_COOPERATIVE: Final = "(COOPERATIVE) STABLE → PREPARE_REVOCATION → REVOKING_PARTITION → PARTITION_REVOKED → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE → //rejoin"
_EAGER: Final = "(EAGER) Starting from STABLE: STABLE → PREPARE_REVOCATION → REVOKING_PARTITION → PARTITION_REVOKED → PREPARING_REBALANCE → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE"

_ENTRIES: Final = (
    Finding(
        "sync-without-join",
        "violation",
        "The cooperative path has no JoinGroup",
        _COOPERATIVE,
        _STATES,
        "A general property, that each SyncGroup uses the generation of an answered JoinGroup and uses it once, holds of the deployed profile and fails here: PARTITION_REVOKED goes to COMPLETING_REBALANCE, which sends SyncGroup, and PREPARING_REBALANCE, where JoinGroup would be sent, is not on the path. The generation was used by the SyncGroup before. A coordinator that prepares a rebalance answers REBALANCE_IN_PROGRESS and goes on waiting for a JoinGroup that never comes.",
        "STABLE goes to PREPARING_REBALANCE and sends JoinGroup while everything is still owned; what is taken away is known from the answer to SyncGroup, is revoked after it, and a second rebalance follows (rules Q4, K1, K2).",
        "cooperative-join",
        f"{_TESTS}::test_Q4_the_missing_join_comes_out_of_a_general_property",
        (Run("alone-cooperative-published", "sync-after-join"),),
    ),
    Finding(
        "sync-to-nobody",
        "violation",
        "SyncGroup while no coordinator is known",
        _COOPERATIVE,
        _STATES,
        "The coordinator is lost while the revocation callback runs. When the callback has returned, the path demands COMPLETING_REBALANCE at once, and its SyncGroup has no coordinator to go to. On the eager path the next state is PREPARING_REBALANCE, which waits until one is found.",
        "After a callback the member waits in PREPARING_REBALANCE until a coordinator is known, and sends JoinGroup then (rule D4).",
        "cooperative-join",
        _ON_REFERENCE,
        (Run("alone-cooperative-published", "to-a-known-coordinator"),),
    ),
    Finding(
        "commit-of-nothing",
        "violation",
        "The commit after the callback commits what is owned no more",
        "PARTITION_REVOKED: Update the subscription. Autocommit.",
        _STATES,
        "In this order the subscription has shrunk before the commit is sent: there is nothing left to commit, or positions of partitions that the application has already given up in its callback. The application's own commit inside the callback is no longer the last word. The shortest run needs no partition at all: the commit is sent whatever was owned.",
        "The commit is sent and settled before the callback runs, by both shipped consumers (rules M1, M3).",
        "commit-order",
        _ON_REFERENCE,
        (Run("alone-eager-published", "commit-what-is-owned"), Run("alone-cooperative-published", "commit-what-is-owned")),
    ),
    Finding(
        "callback-before-commit",
        "violation",
        "The listener hears that partitions go before what was read of them is committed",
        "PREPARE_REVOCATION → REVOKING_PARTITION → PARTITION_REVOKED",
        _STATES,
        "The commit belongs to PARTITION_REVOKED, so on both paths the listener is called while nothing of what was consumed since the last periodic commit is stored. If the member dies in its callback, or the coordinator cannot be reached after it, the next owner reads those records again. The proposal's own test plan has the other order.",
        "With enable.auto.commit the commit is sent first, and is answered or has run out of time when the listener is called; cooperative members do so before JoinGroup (rules M3, Q4).",
        "commit-order",
        _ON_REFERENCE,
        (Run("alone-eager-published", "commit-comes-first"), Run("alone-cooperative-published", "commit-comes-first")),
    ),
    Finding(
        "lost-in-silence",
        "violation",
        "Who loses its membership goes on counting partitions as its own",
        "Starting from UNJOINED: UNJOINED → PREPARING_REBALANCE → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE",
        _STATES,
        "No state and no event of the proposal ends ownership when the coordinator disowns the member or the poll interval expires: the member starts again from UNJOINED, and nobody has told the listener. It goes on delivering records of partitions that another member may have by now.",
        "onPartitionsLost for everything owned, without a commit, before the member joins again (rules C2, P3).",
        "lost",
        _ON_REFERENCE,
        (
            Run("base-eager-published-2", "owns-nothing-outside"),
            Run("base-cooperative-published-2", "owns-nothing-outside"),
            Run("alone-eager-published", "owns-nothing-outside"),
            Run("alone-cooperative-published", "owns-nothing-outside"),
        ),
    ),
    Finding(
        "joins-with-what-it-lost",
        "violation",
        "An eager member joins with partitions that it should have given up",
        _EAGER,
        _STATES,
        "The eager path gives everything up before JoinGroup. A member that learns from a commit that it is not known any more is not on this path: it joins from UNJOINED, with all that it had.",
        "A lost membership goes through REVOKING_PARTITION with onPartitionsLost, and only then to JoinGroup (rules C2, C3).",
        "lost",
        _ON_REFERENCE,
        (Run("alone-eager-published", "eager-gives-up-first"),),
    ),
    Finding(
        "taken-in-silence",
        "violation",
        "An assignment that takes partitions from its member says so to nobody",
        "Starting from UNJOINED: UNJOINED → PREPARING_REBALANCE → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE",
        _STATES,
        "On both paths the states of revocation come before SyncGroup is answered, when nobody knows yet what the assignment takes; after the answer there is only ASSIGNING_PARTITIONS. A cooperative member that joins with partitions of its own, as it may, and is given fewer, has no state in which its listener could hear of the difference. In the shortest run it joins anew, because a commit was told that nobody knows it.",
        "The answer to SyncGroup of a cooperative member is compared with what it owns: what is taken is paused, told to the listener and removed, and only then it hears of what has come (rules C3, K1).",
        "cooperative-join",
        _ON_REFERENCE,
        (Run("alone-cooperative-published", "taken-is-revoked"),),
    ),
    Finding(
        "two-owners",
        "violation",
        "Two members of one generation own the same partition",
        "Starting from UNJOINED: UNJOINED → PREPARING_REBALANCE → COMPLETING_REBALANCE → ASSIGNING_PARTITIONS → STABLE",
        _STATES,
        "What comes of a loss that nobody is told: member 1 lets its poll interval expire, is forgotten, and joins again with what it had. The new generation gives a partition of it to member 2, and both own it at once, both as members of that generation. Fencing by generation does not help, because theirs is valid.",
        "Nothing is owned when JoinGroup is sent by a member without an id, so that what a generation owns is what its leader gave (rules C2, S1, K1).",
        "lost",
        _ON_REFERENCE,
        (Run("base-eager-published-2", "one-owner"), Run("base-cooperative-published-2", "one-owner")),
    ),
    Finding(
        "silent-while-it-waits",
        "violation",
        "No heartbeats between JoinGroup and SyncGroup",
        "if (state != MemberState.STABLE) { // the group is not stable (perhaps because we left the group or because the coordinator kicked us out), so disable heartbeats and wait for the main thread to rejoin. disable(); }",
        "Kafka's HeartbeatThread up to 2.5, as the articles of this project quote it; the proposal keeps it: 'we will use the existing implementation but with a few changes'",
        "With the answer to JoinGroup the coordinator counts the session, and the member is silent until SyncGroup is answered. A leader that computes an assignment for longer than a session costs every member its place.",
        "Heartbeats begin with the answer to JoinGroup (KAFKA-10134, Kafka 2.6 and later; rules H1, H3).",
        "heartbeats-begin",
        _ON_REFERENCE,
        (Run("alone-eager-published", "heartbeats-run"), Run("alone-cooperative-published", "heartbeats-run")),
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
        "spec/tests/test_paths.py::test_Q4_K2_deployed_cooperative_that_loses_a_partition_rejoins",
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
        "spec/tests/test_paths.py::test_Q4_K2_deployed_cooperative_that_loses_a_partition_rejoins",
    ),
    Finding(
        "heartbeat-by-fetch",
        "ambiguity",
        "A sign of life that an idle application does not give",
        "It will still require a fetch event to poll heartbeat.  As only polling thread issues fetch events, and we want to respect the existing implementation.",
        f"{_PROPOSAL}, 'ConsumerCoordinator and AbstractCoordinator'",
        "The existing implementation counts polls. An application that has no partition, or has paused all, polls and fetches nothing: by the sentence it stalls, by the implementation that it wants to respect it lives.",
        "Every poll() counts, by an event of its own (rule P2).",
        "poll-timer-reset",
        "impl/threads/tests/test_polling.py::test_P2_every_poll_reaches_the_core_even_one_that_raises",
    ),
    Finding(
        "zombie",
        "reachable",
        "A member that was expelled does not know it yet",
        "No two members of one generation own the same partition.",
        "spec/properties.py, one-owner, which is as much as can be claimed; Martin Kleppmann, on fencing",
        "The coordinator's clock expels a member whose heartbeats are lost or late. Until an answer tells it so, it counts its partitions as its own, also under the deployed profile, and the group may give them to another. No client can avoid that: it cannot know. So the property speaks of members of one generation, and says nothing of one that is expelled.",
        "Commits carry member id and generation, and the coordinator refuses those of an expelled member (rules S1, M2); whatever else a member writes must be fenced by the application.",
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
        "Kafka sends max.poll.interval.ms as the rebalance timeout all the same; an application must poll in that time less the heartbeat interval, the commit, the callback and the latencies.",
        "rejoin-deadline",
        "spec/expiry/tests/test_theorems.py::test_p1_a_member_that_keeps_to_the_poll_interval_can_still_be_expelled_by_a_rebalance",
        theorem="rebalance-in-poll",
    ),
)  # fmt: skip

FINDINGS: Final[Mapping[str, Finding]] = MappingProxyType({entry.id: entry for entry in _ENTRIES})
"""Every finding by its id."""
