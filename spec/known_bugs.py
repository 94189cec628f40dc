"""Real bugs of real clients: each one broke a rule, and a change of a few lines re-creates it.

`source` is the public origin (a JIRA key, a pull request, an issue). `shows_on`: W requests on the wire, C callbacks,
A results and exceptions of the API, P positions and records, T threads, CPU, liveness. `mutation` is the change that
brings the bug back in a correct implementation; the conformance suite is measured by which of them it notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.terms import KnownBug

_BUGS: Final = (
    KnownBug(
        id="BUG-01",
        source="KAFKA-10793 (PR 9671)",
        client="Java classic",
        versions="first fixed in 2.6.2 / 2.7.1 / 2.8.0",
        severity="STUCK",
        rules=(
            "D2",
            "T3",
        ),
        symptom=(
            "Consumer waits for ever for a coordinator lookup it believes is running; no more FindCoordinator "
            "on the wire."
        ),
        trigger=(
            "Lookup fails; the failure listener (heartbeat thread) clears the marker before the caller (poll "
            "thread) stores the future, or between test and use, so a failed future stays stored."
        ),
        shows_on=("W (no FindCoordinator after first failure), T"),
        mutation=(
            "Clear `lookup` in the completion callback of the request rather than in the place that waits for "
            "it; let the two threads interleave."
        ),
    ),
    KnownBug(
        id="BUG-02",
        source="KAFKA-4139",
        client="Java classic",
        versions="0.10.1.0",
        severity="STUCK",
        rules=("D2",),
        symptom=("After an outage of all brokers the consumer never looks the coordinator up again."),
        trigger=(
            "lookup() is called while no node is available: the immediate 'no brokers' failure is stored as "
            "the pending lookup and has no completion that clears it."
        ),
        shows_on=("W, T"),
        mutation=(
            "In lookup(): when there is no usable node, still assign the failed future to `lookup` (return it "
            "instead of a throw-away one)."
        ),
    ),
    KnownBug(
        id="BUG-03",
        source="KAFKA-13917 (PR 12180)",
        client="Java classic",
        versions="3.2.1 / 3.3.0",
        severity="STORM, CPU",
        rules=("D3",),
        symptom=("CPU and broker load jump while the coordinator is unavailable."),
        trigger=(
            "Coordinator unknown in the heartbeat loop: the loop backs off only if a lookup was already "
            "pending or failed at once; when the lookup was just started (marker cleared by another path) it "
            "turns round immediately and calls lookup again."
        ),
        shows_on=("W (FindCoordinator rate), T (CPU)"),
        mutation=(
            "In the heartbeat loop's 'coordinator unknown' branch wait(backoff) only if lookup() failed immediately."
        ),
    ),
    KnownBug(
        id="BUG-04",
        source="KAFKA-6362 (PR 4326)",
        client="Java classic",
        versions="1.1.0 / 2.0.0",
        severity="DUP after restart",
        rules=("D1",),
        symptom=("Auto-commit warnings go on for ever; nothing is committed with assign() + auto-commit."),
        trigger=(
            "Coordinator becomes unknown (disconnect); the timed async auto-commit only checks 'coordinator "
            "unknown -> fail' and never starts a lookup; no other request path would."
        ),
        shows_on=("W (no FindCoordinator / OffsetCommit)"),
        mutation=(
            "In maybe_autocommit_async(): return early when the coordinator is unknown without calling lookup()."
        ),
    ),
    KnownBug(
        id="BUG-05",
        source="KAFKA-6366 (PR 4349)",
        client="Java classic",
        versions="1.0.1 / 1.1.0",
        severity="CRASH",
        rules=("D5",),
        symptom=("StackOverflowError / consumer dies when the coordinator disconnects with many commits in flight."),
        trigger=(
            "N async commits in flight; disconnect; cancelling each one runs a callback which still sees the "
            "coordinator as known and marks it dead again, which cancels the rest ... recursion depth N."
        ),
        shows_on=("A (fatal error), T"),
        mutation=("Fail the in-flight requests first and set `coord=None` afterwards."),
    ),
    KnownBug(
        id="BUG-06",
        source="kafka-python #3082",
        client="kafka-python",
        versions="3.0.0-3.0.2, fixed 3.0.3",
        severity="DELAY, STORM",
        rules=("D1",),
        symptom=(
            "Every rebalance costs a coordinator lookup and a reconnect; log says coordinator dead although it answers."
        ),
        trigger=(
            "Heartbeat response with REBALANCE_IN_PROGRESS / ILLEGAL_GENERATION / UNKNOWN_MEMBER_ID is raised "
            "as an exception inside the try block whose handler treats any Kafka error as 'request failed', "
            "i.e. marks the coordinator dead."
        ),
        shows_on=("W (FindCoordinator after HB code 27/22/25)"),
        mutation=("Call forget_coordinator() for every non-zero heartbeat error code."),
    ),
    KnownBug(
        id="BUG-07",
        source="MINOR #14179 (async CommitRequestManager)",
        client="Java async prototype",
        versions="3.6.0",
        severity="DELAY / commit lost",
        rules=("D4",),
        symptom=("Commits fail now and then with NOT_COORDINATOR right after start or after a coordinator loss."),
        trigger=(
            "Commit manager enqueues an OffsetCommit with an empty target while the coordinator is unknown; "
            "the network layer sends it to any node."
        ),
        shows_on=("W (OffsetCommit on a wrong broker)"),
        mutation=("Remove the 'coordinator known' guard in the commit sender and fall back to least-loaded node."),
    ),
    KnownBug(
        id="BUG-08",
        source="kafka-go #509",
        client="kafka-go",
        versions="< 0.3.9",
        severity="STUCK",
        rules=("D6",),
        symptom=("Reader hangs for ever after the coordinator host crashes without closing TCP."),
        trigger=(
            "Request to the coordinator is written, no answer, no FIN; no deadline on the connection; "
            "join/heartbeat wait indefinitely."
        ),
        shows_on=("W (silence), T"),
        mutation=("Send join/heartbeat/commit with timeout=None."),
    ),
    KnownBug(
        id="BUG-09",
        source="KAFKA-5154; same in kafka-python #1691",
        client="Java classic / kafka-python",
        versions="0.11.0.0 / 1.0.0 (Java); 1.4.5 (kafka-python)",
        severity="DUP, STUCK",
        rules=(
            "J2",
            "S1",
        ),
        symptom=("Consumer goes on fetching partitions it has revoked and never rejoins."),
        trigger=(
            "HB says rebalance; revoked callback runs; JoinGroup ok and rejoin-needed is cleared there; "
            "SyncGroup is lost (disconnect or timeout); next poll sees nothing to do, state is unjoined, and "
            "fetches the old partitions."
        ),
        shows_on=("W (Fetch, no JoinGroup after failed Sync), P"),
        mutation=("Set rejoin_needed=False in the JoinGroup handler instead of after SyncGroup success."),
    ),
    KnownBug(
        id="BUG-10",
        source="KAFKA-9815 (PR 8420)",
        client="Java classic",
        versions="2.5.0 / 2.6.0",
        severity="STUCK",
        rules=("J2",),
        symptom=("Consumer without partitions for ever after a metadata flap."),
        trigger=(
            "Metadata change triggers revoke + JoinGroup; before the answer the metadata goes back to the old "
            "value; JoinGroup fails with a retriable error; the need is recomputed by comparing snapshots -> "
            "equal -> no second JoinGroup."
        ),
        shows_on=("W (no JoinGroup retry), C (revoked without assigned)"),
        mutation=("Derive 'need rejoin' from snapshot inequality each time rather than from a sticky flag."),
    ),
    KnownBug(
        id="BUG-11",
        source="KAFKA-13214 (PR 11231)",
        client="Java classic",
        versions="2.7.2 / 2.8.1 / 3.0.0",
        severity="DELAY",
        rules=("J4",),
        symptom=("Rebalance takes a whole session timeout after a coordinator bounce."),
        trigger=(
            "Disconnect / NOT_COORDINATOR / retriable error during Join or Sync; client wipes its member id "
            "and joins as new; the broker waits for the ghost of the old id."
        ),
        shows_on=("W (JoinGroup with empty member id after a retriable error)"),
        mutation=("Call reset_identity() in the retriable branch of the join loop."),
    ),
    KnownBug(
        id="BUG-12",
        source="KAFKA-8104 (PR 7460)",
        client="Java classic",
        versions="2.4.0 / 2.5.0",
        severity="CRASH, STUCK",
        rules=(
            "J9",
            "T2",
            "P1",
        ),
        symptom=(
            "IllegalState/NullPointer in poll, or consumer that cannot rejoin, when processing is near "
            "max.poll.interval."
        ),
        trigger=(
            "Poll thread starts a join after a long gap; JoinGroup response stores the new generation; "
            "heartbeat thread then sees poll timeout expired, leaves and clears identity; poll thread "
            "completes the join with the cleared identity."
        ),
        shows_on=("A (exception), W (LeaveGroup between Join and Sync), C"),
        mutation=(
            "Let the heartbeat thread test the poll timer and clear `ident` without the lock held across "
            "JoinGroup-response..join-complete; read `ident` again at completion."
        ),
    ),
    KnownBug(
        id="BUG-13",
        source="aiokafka #727 / PR 747",
        client="aiokafka",
        versions="0.7.0 and before; 0.7.1",
        severity="STORM",
        rules=("J9",),
        symptom=("Endless rebalances; log 'Successfully synced group with generation -1'."),
        trigger=(
            "A commit (other task) fails with UNKNOWN_MEMBER_ID while Join/Sync of the new round is in "
            "flight; its handler resets generation and member id; the Sync success then keeps -1/''; the next "
            "heartbeat fails."
        ),
        shows_on=("W (Heartbeat with generation -1), C (loop of revoke/assign)"),
        mutation=("Handle a commit error by reset_identity() without comparing the identity it was sent with."),
    ),
    KnownBug(
        id="BUG-14",
        source="KAFKA-7194 (PR 5417)",
        client="Java classic",
        versions="2.0.0 / 2.1.0",
        severity="CRASH",
        rules=(
            "S3",
            "T4",
        ),
        symptom=("BufferUnderflow from poll() after a wakeup."),
        trigger=(
            "wakeup() fires inside completion of the join; next poll retries with the same assignment buffer, "
            "whose read position is already at the end."
        ),
        shows_on=("A"),
        mutation=("Parse the assignment from a shared cursor; on retry continue from the old cursor."),
    ),
    KnownBug(
        id="BUG-15",
        source="KAFKA-3949; aiokafka #88",
        client="Java classic / aiokafka",
        versions="0.10.1.0 / aiokafka 0.2.1",
        severity="STUCK (partial)",
        rules=(
            "J1",
            "J2",
        ),
        symptom=(
            "After subscribe() to a changed topic list (or a pattern match change) during a rebalance, new "
            "topics are never consumed."
        ),
        trigger=(
            "Subscription changes after JoinGroup was sent and before SyncGroup completes; completion clears "
            "the need to rejoin although the assignment was computed from the old subscription."
        ),
        shows_on=("W (no second JoinGroup), C"),
        mutation=("At completion set rejoin_needed=False without comparing joined subscription with the current one."),
    ),
    KnownBug(
        id="BUG-16",
        source="KAFKA-7961 (PR 6304)",
        client="Java classic",
        versions="2.3.0",
        severity="CRASH",
        rules=("J1",),
        symptom=("IllegalStateException from poll() when the subscription is changed while a rebalance runs."),
        trigger=(
            "subscribe({t2}) while Join/Sync for {t1} in flight; the assignment arrives for t1; the check "
            "'assigned topic must be subscribed' throws."
        ),
        shows_on=("A"),
        mutation=("Replace 'mismatch and subscription changed -> rejoin' by an unconditional raise."),
    ),
    KnownBug(
        id="BUG-17",
        source="librdkafka 1.8.0; kafka-python #798",
        client="librdkafka / kafka-python",
        versions="< 1.8.0 / < 1.3.0",
        severity="CRASH, STORM",
        rules=("J1",),
        symptom=("Crash or odd state: two JoinGroups outstanding, the first answer completes the second round."),
        trigger=(
            "Matching topics or subscription change (or a wakeup) while JoinGroup/SyncGroup is unanswered; "
            "client sends another JoinGroup at once."
        ),
        shows_on=("W (2 JoinGroup in flight on one connection)"),
        mutation=("Drop the `join_future is None` test before sending."),
    ),
    KnownBug(
        id="BUG-18",
        source="KAFKA-13126 (PR 11111)",
        client="Java classic",
        versions="3.1.0",
        severity="STORM",
        rules=("J5",),
        symptom=("With max.poll.interval = max int the member drops out at each rebalance."),
        trigger=(
            "JoinGroup timeout = rebalance timeout + 5 s wraps negative; the code falls back to "
            "request.timeout (30 s), shorter than other members' poll gap; join is aborted and retried."
        ),
        shows_on=("W (JoinGroup repeated every request.timeout while the broker is still waiting)"),
        mutation=("Compute the timeout in 32-bit arithmetic (or take min() instead of max())."),
    ),
    KnownBug(
        id="BUG-19",
        source="sarama #2290 / 034046e",
        client="sarama (as leader)",
        versions="< 1.35.0",
        severity="STORM",
        rules=("S2",),
        symptom=("Members that got nothing are treated badly in mixed-client groups; group keeps rebalancing."),
        trigger=(
            "More members than partitions; leader's SyncGroup lists only members with partitions; the rest "
            "get no encoded assignment (effect on them inferred: zero bytes, which some clients treat as an "
            "error)."
        ),
        shows_on=("W (SyncGroup of leader misses members)"),
        mutation=("Build the SyncGroup entries from the plan only."),
    ),
    KnownBug(
        id="BUG-20",
        source="KAFKA-17154 (PR 17165)",
        client="Java async",
        versions="trunk Sep 2024 (4.0 line)",
        severity="STORM, DELAY",
        rules=("J7",),
        symptom=("Group rebalances although the application only called subscribe()."),
        trigger=("subscribe() posts an event; the background thread goes straight to joining; no poll() has happened."),
        shows_on=("W (JoinGroup before first poll)"),
        mutation=("Start joining in the subscribe event handler."),
    ),
    KnownBug(
        id="BUG-21",
        source="KAFKA-12898 (PR 10878)",
        client="Java classic",
        versions="2.8.1 / 3.0.0",
        severity="STORM",
        rules=("J6",),
        symptom=("Static or rejoining members trigger needless rebalances."),
        trigger=(
            "Same topics and owned partitions, but iteration order of a set differs; broker compares metadata "
            "bytes and sees a change."
        ),
        shows_on=("W (JoinGroup metadata bytes differ for same content)"),
        mutation=("Encode subscription and owned partitions in hash order."),
    ),
    KnownBug(
        id="BUG-22",
        source="sarama #2058 / #2214; librdkafka 2.0.0",
        client="sarama / librdkafka",
        versions="< 1.33.0 / < 2.0.0",
        severity="CRASH / STORM",
        rules=("D3",),
        symptom=("Consumer stops with an error, or hammers, while the coordinator loads the offsets topic."),
        trigger=("JoinGroup or SyncGroup answered COORDINATOR_LOAD_IN_PROGRESS."),
        shows_on=("W (no retry, or retry without delay), A"),
        mutation=("Treat COORDINATOR_LOAD_IN_PROGRESS in the Join handler as fatal."),
    ),
    KnownBug(
        id="BUG-23",
        source="sarama #2759; kafka-python #2598",
        client="sarama / kafka-python",
        versions="< 1.42.2 / < 2.2.0",
        severity="DELAY, STORM",
        rules=("J3",),
        symptom=("First join is slow, or fails, on brokers with KIP-394."),
        trigger=(
            "JoinGroup with empty id -> MEMBER_ID_REQUIRED + id; client waits a backoff, or drops the id and "
            "asks again (a new pending member each time)."
        ),
        shows_on=("W (delay or empty id in second JoinGroup)"),
        mutation=("On MEMBER_ID_REQUIRED: reset_identity(); sleep(backoff); retry."),
    ),
    KnownBug(
        id="BUG-24",
        source="KAFKA-10870 (PR 9792)",
        client="Java classic",
        versions="2.8.0",
        severity="CRASH",
        rules=(
            "J2",
            "J4",
        ),
        symptom=("Unexpected-error exception thrown from poll() during a broker hiccup."),
        trigger=(
            "JoinGroup answered REBALANCE_IN_PROGRESS (broker could not persist the group); handler has no case for it."
        ),
        shows_on=("A"),
        mutation=("Remove REBALANCE_IN_PROGRESS from the retriable cases of the JoinGroup handler."),
    ),
    KnownBug(
        id="BUG-25",
        source="KAFKA-10134 / 10122 (PR 8834)",
        client="Java classic",
        versions="2.6.1 / 2.7.0 (poll spin part 2.5.1 / 2.6.0)",
        severity="STORM, CPU",
        rules=(
            "H1",
            "H2",
        ),
        symptom=("Group with a slow leader assignment loses its leader; CPU at 100% while a rebalance waits."),
        trigger=(
            "(a) heartbeats are off until SyncGroup completes: a member whose SyncGroup is not yet with the "
            "coordinator (the leader while it computes; who is slow to send) is evicted after "
            "session.timeout; a parked SyncGroup is alive; (b) with HB off its timer stays expired, so "
            "time-to-next-poll is 0 and poll spins."
        ),
        shows_on=("W (no Heartbeat between Join response and Sync response), T"),
        mutation=(
            "Enable heartbeats at SyncGroup success instead of JoinGroup success; use the HB timer in poll's "
            "wait in every state."
        ),
    ),
    KnownBug(
        id="BUG-26",
        source="sarama #1608 / #2110",
        client="sarama",
        versions="< 1.31.1",
        severity="STORM, DUP",
        rules=("H1",),
        symptom=("Slow cleanup at a rebalance makes the member be evicted and triggers another rebalance."),
        trigger=(
            "HB answers REBALANCE_IN_PROGRESS; heartbeat loop ends at once; handler cleanup lasts longer than "
            "session.timeout; the later JoinGroup gets UNKNOWN_MEMBER_ID."
        ),
        shows_on=("W (heartbeats stop at code 27 before JoinGroup)"),
        mutation=("Stop the heartbeat timer on REBALANCE_IN_PROGRESS."),
    ),
    KnownBug(
        id="BUG-27",
        source="KAFKA-10134 follow-up (PR 9354)",
        client="Java classic",
        versions="2.6.1 / 2.7.0",
        severity="STUCK, DUP",
        rules=(
            "H4",
            "J2",
        ),
        symptom=("Member keeps consuming but never rejoins after being kicked out."),
        trigger=(
            "HB answered ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID in stable state: identity is reset, but "
            "rejoin-needed is not set (a refactoring lost it); subscription unchanged."
        ),
        shows_on=("W (no JoinGroup after HB code 22/25), P (records of lost partitions)"),
        mutation=("reset_identity() without rejoin_needed=True."),
    ),
    KnownBug(
        id="BUG-28",
        source="KAFKA-9823 (PR 8445, 8548)",
        client="Java classic",
        versions="2.6.0",
        severity="STORM",
        rules=("J9",),
        symptom=("A second, needless rebalance right after a finished one; commits fail with generation unknown."),
        trigger=(
            "HB or commit sent with generation n; rebalance completes with n+1; the late error for n arrives "
            "and resets the identity of n+1."
        ),
        shows_on=("W (JoinGroup soon after Sync success; late reply injected)"),
        mutation=("Handle ILLEGAL_GENERATION/UNKNOWN_MEMBER_ID without comparing the sent identity."),
    ),
    KnownBug(
        id="BUG-29",
        source="KAFKA-16215, KAFKA-16178 (PR 15311)",
        client="Java async",
        versions="3.8.0",
        severity="STUCK",
        rules=(
            "H2",
            "H4",
        ),
        symptom=("After one failed heartbeat no more heartbeats and no rejoin."),
        trigger=(
            "HB response carries an error (fenced, not coordinator); 'response received' time is updated only "
            "on success, so the request still counts as in flight."
        ),
        shows_on=("W (heartbeats stop)"),
        mutation=("Clear hb.inflight only in the success branch."),
    ),
    KnownBug(
        id="BUG-30",
        source="KAFKA-14729 (PR 13270)",
        client="Java classic",
        versions="3.5.0",
        severity="STUCK, CPU",
        rules=("H6",),
        symptom=("poll() burns CPU and returns nothing; the log shows the heartbeat thread died."),
        trigger=(
            "Heartbeat thread ends with an unexpected error; poll computes its wait time from a heartbeat "
            "timer nobody resets -> 0, again and again inside one long poll; the stored failure is looked at "
            "only in another call."
        ),
        shows_on=("A (no exception), T (CPU), W (no heartbeats)"),
        mutation=("Store the thread's failure and never re-raise it in poll; keep using the dead timer."),
    ),
    KnownBug(
        id="BUG-31",
        source="KAFKA-3782",
        client="Java classic",
        versions="0.10.0.1 / 0.10.1.0 / 0.10.2.0 (in steps)",
        severity="STORM, DUP",
        rules=("H3",),
        symptom=("Consumer falls out of the group after a wakeup during a rebalance."),
        trigger=(
            "poll is woken while the join is pending; the join finishes in the background; the code that "
            "turns heartbeats back on is only in the path that waited."
        ),
        shows_on=("W (no heartbeat after Sync success)"),
        mutation=("Disable HB on each entry to the join loop; enable it only where the waiting caller sees success."),
    ),
    KnownBug(
        id="BUG-32",
        source="KAFKA-16251 (PR 15392); aiokafka #372",
        client="Java async / aiokafka",
        versions="3.8.0 / 0.5.1",
        severity="STORM",
        rules=("H3",),
        symptom=("Fenced member bombards the coordinator with heartbeats that cannot succeed; state oscillates."),
        trigger=(
            "HB answered UNKNOWN_MEMBER_ID / FENCED epoch; while the lost-callback runs (or after identity "
            "reset) the heartbeat task keeps going with the old or an empty member id."
        ),
        shows_on=("W (Heartbeat after 25 before JoinGroup)"),
        mutation=("Do not stop the heartbeat when the identity is reset."),
    ),
    KnownBug(
        id="BUG-33",
        source="MINOR #5308",
        client="Java classic",
        versions="2.1.0 (2.0)",
        severity="STORM, DUP",
        rules=("P2",),
        symptom=("Consumer leaves the group though poll() is called all the time."),
        trigger=(
            "Coordinator unknown while the member is active; poll returns early with timeout 0 before the "
            "line that records the poll time; later the heartbeat thread sees max.poll.interval exceeded."
        ),
        shows_on=("W (LeaveGroup in spite of polling), C (lost)"),
        mutation=("Update poll_timer after ensure_coordinator_ready() succeeded rather than first."),
    ),
    KnownBug(
        id="BUG-34",
        source="KAFKA-16243 (PR 15372)",
        client="Java async",
        versions="3.8.0",
        severity="STORM",
        rules=("P2",),
        symptom=("Idle consumer with a long poll timeout leaves and rejoins periodically."),
        trigger=(
            "poll(1h) on an empty topic with max.poll.interval 5 min; the poll event is sent once at entry, "
            "so the background timer expires while the application is inside poll."
        ),
        shows_on=("W (LeaveGroup during a blocked poll)"),
        mutation=("Post the poll event only at poll() entry."),
    ),
    KnownBug(
        id="BUG-35",
        source="librdkafka #4176 / #4256 / #4431",
        client="librdkafka",
        versions="2.1.0, 2.1.1, 2.3.0",
        severity="STUCK / STORM",
        rules=("P2",),
        symptom=(
            "(a) stuck consumer never leaves; (b) opposite: member evicted while its app polls through "
            "another entry point."
        ),
        trigger=(
            "(a) polling ANY queue (e.g. logs) reset the timer, so dead processing went unnoticed; (b) after "
            "the first fix some legitimate consuming calls (queue obtained directly, poll with consume_cb) no "
            "longer reset it."
        ),
        shows_on=("W (LeaveGroup absent / present)"),
        mutation=(
            "(a) reset poll_timer in every API call (commit, position, metrics); (b) reset it only in one of "
            "the consuming entry points."
        ),
    ),
    KnownBug(
        id="BUG-36",
        source="KAFKA-16258 (PR 15415)",
        client="Java async",
        versions="3.8.0",
        severity="DUP (app level)",
        rules=(
            "P3",
            "C2",
        ),
        symptom=("After max.poll.interval the app keeps state of partitions it lost; no lost callback."),
        trigger=(
            "Timer expires, leave is sent, the assignment is cleared internally without calling the listener; "
            "the next poll rejoins."
        ),
        shows_on=("C (no lost)"),
        mutation=("On expiry clear `owned` without queueing the lost callback."),
    ),
    KnownBug(
        id="BUG-37",
        source="KAFKA-13310 (PR 11340)",
        client="Java classic",
        versions="3.2.0 (its fix caused KAFKA-14024 and KAFKA-14196)",
        severity="STUCK, STORM",
        rules=(
            "P4",
            "M3",
        ),
        symptom=("poll(duration) blocks far longer than asked, with commit traffic going round."),
        trigger=(
            "Rebalance needed; the pre-revoke auto-commit keeps failing with a retriable error (for instance "
            "a deleted topic); join-prepare commits synchronously with the whole rebalance timeout inside "
            "poll."
        ),
        shows_on=("A (poll duration), W (commit storm)"),
        mutation=(
            "In join-prepare use a blocking commit with the rebalance timeout instead of the poll's remaining time."
        ),
    ),
    KnownBug(
        id="BUG-38",
        source="KAFKA-8972 (PR 7441)",
        client="Java classic",
        versions="2.4.0 / 2.5.0",
        severity="LEAK, DUP",
        rules=(
            "C7",
            "C2",
        ),
        symptom=("After unsubscribe() the listener is never told; application keeps its tasks."),
        trigger=(
            "unsubscribe clears the assignment first and computes 'what to revoke' afterwards -> empty -> no "
            "callback; also 'revoked' was used where the generation was already lost."
        ),
        shows_on=("C (missing revoked/lost)"),
        mutation=("Swap: subscription.clear() before on_leave_prepare()."),
    ),
    KnownBug(
        id="BUG-39",
        source="KAFKA-9620 (PR 8187)",
        client="Java classic",
        versions="2.6.0",
        severity="STUCK, CRASH",
        rules=(
            "C4",
            "S3",
        ),
        symptom=("Task/assignment state inconsistent after a listener or assignor threw."),
        trigger=(
            "cooperative completion: revoked callback, assignor.on_assignment, set assignment, assigned "
            "callback; on_assignment throws -> rest skipped; next poll thinks the rebalance is done."
        ),
        shows_on=("C (assigned missing), P, A"),
        mutation=("Let the first exception leave join-complete immediately."),
    ),
    KnownBug(
        id="BUG-40",
        source="KAFKA-4160; kafka-python #1438",
        client="Java classic / kafka-python",
        versions="0.10.1.0 / 2.1.x",
        severity="STUCK, STORM",
        rules=(
            "C5",
            "T1",
            "H1",
        ),
        symptom=(
            "Deadlock when the rebalance listener waits for another thread that uses the consumer; heartbeats "
            "stop during the callback."
        ),
        trigger=(
            "Listener is run while the coordinator lock is held; heartbeat thread (needs that lock) blocks "
            "for the whole callback -> session expiry or deadlock."
        ),
        shows_on=("W (no heartbeat during a long callback), T"),
        mutation=("Call the listener inside `with coord_lock:`."),
    ),
    KnownBug(
        id="BUG-41",
        source="franz-go v0.6.9",
        client="franz-go",
        versions="< 0.6.9",
        severity="LEAK / app errors",
        rules=(
            "C1",
            "T2",
        ),
        symptom=("onRevoked called twice for the same partitions at close."),
        trigger=(
            "A slow revoke (heartbeat side) is in progress; LeaveGroup makes the manage loop also revoke, "
            "without waiting for the first."
        ),
        shows_on=("C (revoked, revoked)"),
        mutation=("Leave path computes the revoke set from `owned` without waiting for a running callback."),
    ),
    KnownBug(
        id="BUG-42",
        source="KAFKA-9741 (PR 8325)",
        client="Java classic",
        versions="2.5.0 / 2.6.0",
        severity="CRASH (app abort)",
        rules=("C6",),
        symptom=("Transactional commit inside onPartitionsRevoked is fenced (old generation)."),
        trigger=(
            "Cooperative completion runs revoked before the group metadata object is updated to the new generation."
        ),
        shows_on=("A (group_metadata() in callback), W (generation in TxnOffsetCommit)"),
        mutation=("Update group metadata after the revoked callback."),
    ),
    KnownBug(
        id="BUG-43",
        source="KAFKA-16107 (PR 15215)",
        client="Java async",
        versions="3.8.0",
        severity="DUP / LOSS",
        rules=("C3",),
        symptom=(
            "Records or reset positions appear while onPartitionsAssigned is still running; user's seek in "
            "the callback is ignored."
        ),
        trigger=(
            "Assignment becomes visible to the fetcher (background thread) before the callback (application "
            "thread) has returned."
        ),
        shows_on=("W (Fetch/OffsetFetch before callback end), P"),
        mutation=("Do not mark new partitions 'pending assigned callback'."),
    ),
    KnownBug(
        id="BUG-44",
        source="KAFKA-8487 (PR 6894); kafka-python #2614",
        client="Java classic / kafka-python",
        versions="2.4.0 / 2.2.4",
        severity="STORM, DUP",
        rules=(
            "M2",
            "J4",
        ),
        symptom=("A commit in the wrong moment costs the membership: member rejoins as new, all partitions move."),
        trigger=(
            "OffsetCommit answered REBALANCE_IN_PROGRESS (between join and sync); client resets generation/member id."
        ),
        shows_on=("W (JoinGroup with empty id after commit code 27)"),
        mutation=("Put REBALANCE_IN_PROGRESS into the reset branch of the commit handler."),
    ),
    KnownBug(
        id="BUG-45",
        source="KAFKA-14024 (PR 12349)",
        client="Java classic",
        versions="caused by 3.2.0; fixed 3.2.1 / 3.3.0",
        severity="STORM, DUP",
        rules=("M3",),
        symptom=("Existing members are thrown out when a new one joins."),
        trigger=(
            "Each poll() in join-prepare starts a new async auto-commit and returns when the poll time is "
            "over; with short poll timeouts no commit is ever awaited to the end, JoinGroup is never sent."
        ),
        shows_on=("W (OffsetCommit repeated, no JoinGroup)"),
        mutation=("Do not remember the pending pre-revoke commit between polls."),
    ),
    KnownBug(
        id="BUG-46",
        source="KAFKA-14196 (PR 12603)",
        client="Java classic",
        versions="caused by 3.2.0; fixed 3.2.3 / 3.3.0",
        severity="DUP",
        rules=(
            "O3",
            "M3",
        ),
        symptom=("Duplicates at every rebalance with auto-commit."),
        trigger=(
            "Pre-revoke commit is async; during it poll continues to return records beyond the committed "
            "offset; then the partition is revoked."
        ),
        shows_on=("P (records after commit was sent), W"),
        mutation=("Do not mark partitions non-fetchable while the pre-revoke commit is pending."),
    ),
    KnownBug(
        id="BUG-47",
        source="KAFKA-2942",
        client="Java classic",
        versions="0.9.0.1 / 0.10.0.0",
        severity="LOSS",
        rules=("M4",),
        symptom=("Message loss after a crash with auto-commit."),
        trigger=(
            "poll has taken records from the buffer (positions advanced) and, before returning them, does a "
            "quick network poll; a due auto-commit timer fires there and commits positions of records the "
            "user has not seen."
        ),
        shows_on=("W (committed offset > last record of previous poll)"),
        mutation=("Run the auto-commit timer after advancing positions and before returning records."),
    ),
    KnownBug(
        id="BUG-48",
        source="KAFKA-6606 (PR 4641)",
        client="Java classic",
        versions="1.1.0 / 2.0.0",
        severity="STORM",
        rules=("M5",),
        symptom=("Commit flood from auto-commit."),
        trigger=(
            "Auto-commit deadline is moved only when the response arrives, so each poll while it is in flight "
            "sends another commit."
        ),
        shows_on=("W (OffsetCommit rate, > 1 in flight)"),
        mutation=("Move the timer reset from send to the response callback and drop the in-flight test."),
    ),
    KnownBug(
        id="BUG-49",
        source="KAFKA-19242 (PR 19631)",
        client="Java classic",
        versions="merged 2025",
        severity="LOSS / DUP",
        rules=(
            "M1",
            "T2",
        ),
        symptom=(
            "Commit sent with the wrong membership, or dropped, around the end of a rebalance; records "
            "skipped or repeated."
        ),
        trigger=(
            "Poll thread reads the generation while COMPLETING (gets none), heartbeat thread handles "
            "SyncGroup success and sets STABLE, poll thread then tests 'rebalance in progress?' -> no -> "
            "takes the wrong branch."
        ),
        shows_on=("W (OffsetCommit generation/member), A (callback error)"),
        mutation=("Read `ident` and `state` in two separate lock sections in send_commit()."),
    ),
    KnownBug(
        id="BUG-50",
        source="KAFKA-5730; KAFKA-10337; KAFKA-16103",
        client="Java classic / async",
        versions="1.0.0; 3.6.0; 3.8.0",
        severity="DUP (app bookkeeping)",
        rules=("M6",),
        symptom=("Callbacks of earlier async commits are missing when commitSync or close has returned."),
        trigger=(
            "commit_async; commit_sync (possibly with an empty map, possibly in close) returns as soon as its "
            "own request is done."
        ),
        shows_on=("A (callback order)"),
        mutation=("Return from commit_sync early if offsets is empty / do not wait for earlier async futures."),
    ),
    KnownBug(
        id="BUG-51",
        source="sarama #2940 / #2947",
        client="sarama",
        versions="< 1.43.3",
        severity="DUP, rewind",
        rules=(
            "M6",
            "T2",
        ),
        symptom=("Committed offset goes backwards."),
        trigger=(
            "Two goroutines flush: A builds a request with offset 10, B builds with 12 and sends first, then A sends."
        ),
        shows_on=("W (offset sequence per partition decreases)"),
        mutation=("Build the commit map outside the lock and send later."),
    ),
    KnownBug(
        id="BUG-52",
        source="librdkafka #2782 (1.4.2) and 1.9.0 note",
        client="librdkafka",
        versions="< 1.4.2; hardened 1.9.0",
        severity="DUP, rewind",
        rules=("M7",),
        symptom=("Offsets 'reset' to old values after partitions come back."),
        trigger=(
            "Partition revoked from A, progressed by B, assigned to A again; A still has its old stored "
            "offset and the auto-committer sends it before a new record is consumed; or the app stores an "
            "offset after revoke."
        ),
        shows_on=("W (commit lower than fetched committed offset)"),
        mutation=("Keep `stored_offsets[tp]` across revoke/assign."),
    ),
    KnownBug(
        id="BUG-53",
        source="librdkafka 1.7.0 note (timed auto commit)",
        client="librdkafka",
        versions="< 1.7.0",
        severity="DELAY",
        rules=("M7",),
        symptom=("'Illegal generation' errors from the timed auto-commit."),
        trigger=("Timer fires between JoinGroup and SyncGroup."),
        shows_on=("W (OffsetCommit between Join and Sync)"),
        mutation=("Let the timer run in every join state."),
    ),
    KnownBug(
        id="BUG-54",
        source="aiokafka #230",
        client="aiokafka",
        versions="< 0.4.0",
        severity="STUCK",
        rules=("M3",),
        symptom=("Consumer cannot rejoin: poll/coordinator task dies in join-prepare."),
        trigger=(
            "Membership expired; the last auto-commit before revocation raises "
            "CommitFailed/UNKNOWN_MEMBER_ID; exception aborts join-prepare each time."
        ),
        shows_on=("W (no JoinGroup after failing commit), A"),
        mutation=("Let the exception of the pre-revoke commit leave join_prepare()."),
    ),
    KnownBug(
        id="BUG-55",
        source="kafkajs #1466 / #1474; aiokafka #611",
        client="kafkajs / aiokafka",
        versions="< 2.2.4 / < 0.6.0",
        severity="CRASH",
        rules=("M2",),
        symptom=("Consumer crashes instead of rejoining."),
        trigger=(
            "OffsetCommit answered ILLEGAL_GENERATION (or UNKNOWN_MEMBER_ID); the error class is 'non- "
            "retriable' and ends the runner."
        ),
        shows_on=("A (fatal), W (no JoinGroup)"),
        mutation=("Raise the commit error out of the poll loop/background task."),
    ),
    KnownBug(
        id="BUG-56",
        source="KAFKA-2342",
        client="Java classic",
        versions="0.9.0.0",
        severity="LOSS / DUP",
        rules=("O3",),
        symptom=("Consumer restarts at a wrong offset, or throws, after a rebalance."),
        trigger=(
            "Fetch in flight for tp; revoke + reassign with another committed offset; old response arrives; "
            "its end is taken as the fetch position without checking that the fetch began at the current "
            "position."
        ),
        shows_on=("P (position after late Fetch response)"),
        mutation=("Accept a fetch response if tp is assigned, without comparing the fetch offset with the position."),
    ),
    KnownBug(
        id="BUG-57",
        source="KAFKA-4547",
        client="Java classic",
        versions="0.10.2.0 / 0.11.0.0",
        severity="DUP",
        rules=("O2",),
        symptom=("Paused partitions jump back to the committed offset."),
        trigger=(
            "Position update for some partition runs over all assigned ones and tests 'fetchable' (false for "
            "paused) instead of 'has position'."
        ),
        shows_on=("P"),
        mutation=("Use is_fetchable() where has_position() is meant."),
    ),
    KnownBug(
        id="BUG-58",
        source="franz-go #98 (v1.2.2, completed v1.3.4)",
        client="franz-go",
        versions="< 1.3.4",
        severity="STUCK (partial)",
        rules=("O2",),
        symptom=("Retained partitions are never consumed."),
        trigger=(
            "Cooperative; OffsetFetch for new partitions is cancelled by the next rebalance; these partitions "
            "are retained, only newly added ones are looked up afterwards (first fix: only if there was "
            "something new)."
        ),
        shows_on=("W (no OffsetFetch/Fetch for retained tp), P"),
        mutation=("Cancel the offset lookup at a rebalance and afterwards look up `added` only."),
    ),
    KnownBug(
        id="BUG-59",
        source="kafka-python #2629",
        client="kafka-python",
        versions="< 2.2.9",
        severity="LOSS / DUP",
        rules=("O1",),
        symptom=("Offsets jump to latest/earliest after a slow coordinator."),
        trigger=(
            "Committed-offset lookup times out; the timeout is swallowed and the code continues with "
            "'positions missing -> reset policy'."
        ),
        shows_on=("P, W (ListOffsets after OffsetFetch timeout)"),
        mutation=("Swallow the timeout in update_positions()."),
    ),
    KnownBug(
        id="BUG-60",
        source="librdkafka #3340 (1.7.0)",
        client="librdkafka",
        versions="< 1.7.0",
        severity="DUP",
        rules=("O3",),
        symptom=("Batch contains records of partitions that were revoked meanwhile."),
        trigger=("A rebalance is served during a batch call after part of the batch has been collected."),
        shows_on=("P (records of non-owned tp)"),
        mutation=("Do not filter already collected records when the assignment changes inside poll."),
    ),
    KnownBug(
        id="BUG-61",
        source="KAFKA-16639 (PR 16017)",
        client="Java async",
        versions="3.8.0",
        severity="DELAY",
        rules=("L1",),
        symptom=("Closed consumer stays in the group until session timeout."),
        trigger=(
            "close() right after start: a heartbeat is in flight, the leave message is skipped because 'one "
            "in flight', and not retried."
        ),
        shows_on=("W (no leave)"),
        mutation=("Guard the leave with `not hb.inflight`."),
    ),
    KnownBug(
        id="BUG-62",
        source="MINOR #15362; librdkafka #4672",
        client="Java async / librdkafka",
        versions="3.8.0 / 2.12.0",
        severity="DELAY",
        rules=(
            "L3",
            "J9",
        ),
        symptom=("Consumer that left is still listed as member."),
        trigger=(
            "Leave decided (epoch/identity cleared), then the response of an earlier heartbeat (or join) is "
            "processed and restores the identity; the leave goes out with the wrong one or not at all."
        ),
        shows_on=("W (heartbeats or no leave after close)"),
        mutation=("Process responses regardless of state LEAVING."),
    ),
    KnownBug(
        id="BUG-63",
        source="KAFKA-4786; kafka-python #1666/#1735",
        client="Java classic / kafka-python",
        versions="0.10.2.1 / 0.11.0.0; kafka-python 1.4.5",
        severity="CRASH, LEAK",
        rules=("L4",),
        symptom=("Exceptions from the heartbeat thread or hang at close."),
        trigger=("close() signals the heartbeat thread and goes on to close sockets; the thread is still using them."),
        shows_on=("A/T (errors in logs, thread alive after close)"),
        mutation=("Do not join the thread in close()."),
    ),
    KnownBug(
        id="BUG-64",
        source="librdkafka 1.7.0 note (unsubscribe)",
        client="librdkafka",
        versions="< 1.7.0",
        severity="DELAY",
        rules=("L1",),
        symptom=("Others wait up to session.timeout after an unsubscribe."),
        trigger=("cooperative-sticky: unsubscribe unassigns incrementally and never reaches the leave step."),
        shows_on=("W (no LeaveGroup)"),
        mutation=("Skip LeaveGroup when protocol is cooperative."),
    ),
    KnownBug(
        id="BUG-65",
        source="KAFKA-19357 (PR 19914); aiokafka #659",
        client="Java async / aiokafka",
        versions="2025 / 0.7.1",
        severity="STUCK",
        rules=("L2",),
        symptom=("close() hangs when there is no coordinator."),
        trigger=(
            "Brokers down or coordinator unknown at close; coordinator search is switched off (or runs for "
            "ever); pending commits wait for it."
        ),
        shows_on=("A (close duration), T"),
        mutation=(
            "Wait for pending commits in close() without failing them when the coordinator is unknown (or "
            "loop lookup while not found)."
        ),
    ),
    KnownBug(
        id="BUG-66",
        source="MINOR 031da88 (close race)",
        client="Java classic",
        versions="1.0.0",
        severity="CRASH",
        rules=(
            "L4",
            "T2",
        ),
        symptom=("Two threads closing produce errors / double leave."),
        trigger=("closed flag tested without the lock by two callers."),
        shows_on=("W (two LeaveGroup), A"),
        mutation=("Test-and-set `closed` outside the lock."),
    ),
    KnownBug(
        id="BUG-67",
        source="KAFKA-7540 (PR 11898); kafkajs #874; kafka-go #715",
        client="Java / kafkajs / kafka-go",
        versions="3.2.0 / 1.14.0 / 0.4.27",
        severity="DUP",
        rules=("L5",),
        symptom=("Last batch is consumed again after a clean shutdown."),
        trigger=(
            "stop/close right after a batch: the final commit is async or skipped because the loop has ended; "
            "connection closes first."
        ),
        shows_on=("W (no OffsetCommit before LeaveGroup)"),
        mutation=("Use the async commit in close() and do not wait."),
    ),
    KnownBug(
        id="BUG-68",
        source="node-rdkafka #330, FluidFramework #4160",
        client="node-rdkafka + apps",
        versions="< 2.x",
        severity="STUCK",
        rules=(
            "L2",
            "C7",
        ),
        symptom=("disconnect() hangs for ever with rebalance_cb."),
        trigger=(
            "Close triggers a revoke callback and waits for the application's unassign; the wrapper refuses "
            "unassign because 'not connected any more'."
        ),
        shows_on=("A (close never ends), T"),
        mutation=("Set `closed` before running the revoke callback and reject API calls when closed."),
    ),
    KnownBug(
        id="BUG-69",
        source="kafka-python #1985 / #2064, #2077, #1464",
        client="kafka-python",
        versions="1.4.x-2.0.1, fixed 2.0.2",
        severity="STUCK",
        rules=("T1",),
        symptom=("Consumer freezes about daily in containers; heartbeat thread and main thread wait for each other."),
        trigger=(
            "Heartbeat thread holds the coordinator lock and wants the client lock (network poll); main "
            "thread holds the client lock, processes a timed-out heartbeat, whose error callback wants the "
            "coordinator lock."
        ),
        shows_on=("T (deadlock), W (silence)"),
        mutation=(
            "Call network.poll() with the coordinator lock held; run completion callbacks under the network lock."
        ),
    ),
    KnownBug(
        id="BUG-70",
        source="kafka-python #1626 / #1628",
        client="kafka-python",
        versions="1.4.0-1.4.3, fixed 1.4.4",
        severity="STUCK",
        rules=("T1",),
        symptom=("poll() never returns after a broker restart."),
        trigger=(
            "Main thread holds the coordinator lock and waits for the lookup future; heartbeat thread "
            "receives that response and needs the same lock to complete it."
        ),
        shows_on=("T"),
        mutation=(
            "Wait for `lookup` inside the coordinator lock while the other thread is allowed to do network reads."
        ),
    ),
    KnownBug(
        id="BUG-71",
        source="KAFKA-6593 (PR 4625)",
        client="Java classic",
        versions="1.0.2 / 1.1.0 / 2.0.0",
        severity="STUCK",
        rules=("T1",),
        symptom=("commitSync makes no progress though responses arrive."),
        trigger=(
            "Heartbeat thread and caller compete for an unfair network lock; the completion of the commit "
            "sits with the thread that does not get to run it."
        ),
        shows_on=("A (commit latency), T"),
        mutation=("Queue completions to be run only by the thread that holds the network lock; use an unfair lock."),
    ),
    KnownBug(
        id="BUG-72",
        source="KAFKA-12991 (PR 10879)",
        client="Java classic",
        versions="2.8.1 / 3.0.0",
        severity="DUP / STUCK",
        rules=("T2",),
        symptom=("Rare wrong decisions (commit dropped, rejoin missed) around rebalances."),
        trigger=(
            "Response handlers decide by `state` (heartbeat code 27: rejoin or ignore; commit code 22/25: "
            "reset or report rebalance) reading it without the lock while the other thread changes it."
        ),
        shows_on=("W, T (trace: decision inconsistent with state)"),
        mutation=(
            "Read `state` (and compare identities) outside the lock in the heartbeat and commit response handlers."
        ),
    ),
    KnownBug(
        id="BUG-73",
        source="KAFKA-16167 (PR 15445)",
        client="Java async",
        versions="3.8.0",
        severity="DUP",
        rules=(
            "T4",
            "L5",
        ),
        symptom=("Final commit lost when wakeup() was called before close()."),
        trigger=("wakeup flag is pending; close()'s synchronous auto-commit consumes it and gives up."),
        shows_on=("W (no final OffsetCommit / not awaited), A"),
        mutation=("Leave wakeups enabled in close()."),
    ),
    KnownBug(
        id="BUG-74",
        source="KAFKA-4569",
        client="Java classic",
        versions="0.11.0.0",
        severity="STUCK (shutdown)",
        rules=("T4",),
        symptom=("wakeup() is ignored while records are available, shutdown loop never ends."),
        trigger=(
            "Data is buffered, so poll returns before it reaches the place that tests the flag; later calls the same."
        ),
        shows_on=("A (no WakeupError)"),
        mutation=("Test the wakeup flag only in the blocking wait."),
    ),
    KnownBug(
        id="BUG-75",
        source="kafka-python #1338",
        client="kafka-python",
        versions="< 1.4.0",
        severity="CRASH",
        rules=("T3",),
        symptom=("AttributeError / lost join when the answer is immediate."),
        trigger=(
            "join future is stored after the callbacks were attached; with an already finished future the "
            "callback sets it to None and the later line uses it."
        ),
        shows_on=("A"),
        mutation=("Attach callbacks before assigning self.join_future."),
    ),
    KnownBug(
        id="BUG-76",
        source="KAFKA-14201 (PR 12599)",
        client="Java classic",
        versions="3.3.0 / 3.4.0",
        severity="CRASH / no commits",
        rules=(
            "X1",
            "M1",
        ),
        symptom=("commit with assign() fails with UNKNOWN_MEMBER_ID when group.instance.id is set."),
        trigger=("Manual assignment: member id empty, generation -1, but instance id is put into OffsetCommit."),
        shows_on=("W (OffsetCommit fields)"),
        mutation=("Always fill group_instance_id from the configuration."),
    ),
    KnownBug(
        id="BUG-77",
        source="KAFKA-16169 (PR 15437); franz-go #479",
        client="Java async / franz-go",
        versions="3.8.0 / injected into poll since 1.13.0",
        severity="STUCK, DUP",
        rules=("X2",),
        symptom=("Fenced static consumer goes on silently."),
        trigger=(
            "FENCED_INSTANCE_ID arrives on an async commit without callback, or on join: only logged / only "
            "seen in hooks."
        ),
        shows_on=("A (no exception), W (traffic after code 82)"),
        mutation=("Raise FENCED_INSTANCE_ID only from commit callbacks."),
    ),
    KnownBug(
        id="BUG-78",
        source="KAFKA-12983 (PR 10986)",
        client="Java classic",
        versions="2.7.2 / 2.8.1 / 3.0.0",
        severity="DUP, STUCK",
        rules=(
            "K1",
            "C2",
        ),
        symptom=("Two members own a partition; or group stuck in invalid assignment errors."),
        trigger=(
            "Member loses its id during a rebalance; join-prepare has already run, so it is not run again and "
            "the owned set is not given up; next JoinGroup claims the old partitions."
        ),
        shows_on=("W (ownedPartitions non-empty after UNKNOWN_MEMBER_ID), C (no lost)"),
        mutation=("Do not reset `join_prepared` in reset_identity()."),
    ),
    KnownBug(
        id="BUG-79",
        source="KAFKA-12984, KAFKA-14639 (PR 10985, 13550); librdkafka 2.1.1-2.2",
        client="Java assignor / librdkafka",
        versions="3.0.0 / 3.1.0; 14639: 3.4.1 / 3.5.0; librdkafka 2.2.0",
        severity="DUP, STUCK",
        rules=("K3",),
        symptom=("Same partition given to two members, or revoked and assigned in one round."),
        trigger=(
            "Two members claim p: one with an older generation (missed a round), or both with the same "
            "generation; assignor keeps a wrong claim (librdkafka: kept the LOWEST generation) or only "
            "validated the highest."
        ),
        shows_on=("W (leader's SyncGroup content for crafted JoinGroup response)"),
        mutation=("Ignore generation when building the owner map (last writer wins), or invert the comparison."),
    ),
    KnownBug(
        id="BUG-80",
        source="KAFKA-13406 (PR 11439)",
        client="Java assignor",
        versions="2.8.2 / 3.0.1 / 3.1.0",
        severity="DUP, STUCK",
        rules=("K3",),
        symptom=("Stuck rebalances: cooperative assignment validation fails."),
        trigger=(
            "Gen 1 owned {p}; gen 2: JoinGroup ok but SyncGroup answered REBALANCE_IN_PROGRESS (others got "
            "gen 2's assignment, {p} with it); member joins gen 3 claiming {p} as if from gen 2, which Kafka's "
            "clients still do (KAFKA-13891 was reverted); the leader takes its own resolution of the two claims for "
            "a breach of the cooperative protocol."
        ),
        shows_on=("W (no SyncGroup of the leader for crafted JoinGroup response), A"),
        mutation=(
            "Check the finished cooperative assignment against the claims as they came, instead of against what the "
            "assignor made of them, and raise."
        ),
    ),
    KnownBug(
        id="BUG-81",
        source="librdkafka #4059 / #4908 (2.10.0)",
        client="librdkafka",
        versions="1.6.0-2.8, fixed 2.10.0",
        severity="STORM, DUP",
        rules=(
            "M2",
            "J9",
        ),
        symptom=("Cooperative member loses everything because of a commit."),
        trigger=(
            "Commit during incremental revoke gets ILLEGAL_GENERATION since a second JoinGroup already bumped "
            "the generation; client treats it as lost membership."
        ),
        shows_on=("C (lost), W (JoinGroup as new)"),
        mutation=("On commit code 22 during a rebalance call assignment_lost()."),
    ),
    KnownBug(
        id="BUG-82",
        source="franz-go v1.13.0 (mixed balancers)",
        client="franz-go",
        versions="< 1.13.0",
        severity="STUCK",
        rules=("K4",),
        symptom=("Partitions stuck after a rebalance with both cooperative and eager balancers configured."),
        trigger=(
            "Protocol is decided in several places from different data (first configured balancer vs "
            "negotiated one): revoke as eager, assign as cooperative."
        ),
        shows_on=("C, P"),
        mutation=(
            "Decide eager/cooperative from config[0] in join-prepare and from the negotiated protocol in join-complete."
        ),
    ),
    KnownBug(
        id="BUG-83",
        source="KAFKA-13563 (PR 11631)",
        client="Java classic",
        versions="2.6.2-3.1.0 (the fix of BUG-01 brought it); fixed 3.1.1 / 3.2.0",
        severity="STUCK",
        rules=("D2",),
        symptom=("With assign() and a group id, commits fail for ever once the coordinator has moved or gone."),
        trigger=(
            "The marker of a pending lookup is cleared by the heartbeat thread and by whoever waits for the coordinator; "
            "with manual assignment there is no such thread, and only the first position waits: the second lookup's "
            "marker stays."
        ),
        shows_on=("W (no FindCoordinator, no OffsetCommit after the second loss)"),
        mutation=("Clear the marker only where somebody waits for the lookup, and send a commit without waiting."),
    ),
)

KNOWN_BUGS: Final[Mapping[str, KnownBug]] = MappingProxyType({bug.id: bug for bug in _BUGS})
"""Every known bug by its id."""
