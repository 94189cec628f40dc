"""What exploration says about time.

For which configurations a member that lives, polls and is connected can be put out.

Each theorem is a question to a system of parts (`parts.py`): can some part come to the place `goal`? Its answer is a
condition over the parameters, written as a list of cases; each case is what must hold all together. The proof
(`proofs.py`) shows both directions for all whole numbers: where no case holds, the goal can't be reached; where one
holds, it can.

`expired(sum, limit)` means `sum >= limit` where clocks are non-strict (Kafka since 2.1), `sum > limit` where they are
strict (Kafka up to 2.0, kafka-python): each theorem is proved in both arithmetics, and they never differ by more than
one millisecond. `typical` is an example in small numbers, without `limit`: the setting that decides, whose largest
value that does not save the member is the boundary case; one more and it is safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from groupspec.spec.expiry.automata import Part
from groupspec.spec.expiry.parts import (
    ABANDONED,
    ANNOUNCING_WIRE,
    BEATS,
    BEATS_UNTIL_ANNOUNCED,
    BREAKING_WIRE,
    CRASHED,
    DOUBT,
    FIRST_BEAT_AFTER_COMPUTING,
    JOINS_AT_ONCE,
    JOINS_IN_POLL,
    LEADER,
    NEWS_READ_LATE,
    OLD_JOIN,
    OLD_MEMBER,
    OLD_MEMBER_TOLD,
    ONE_BEAT,
    RETRIED_BEATS,
    ROUND_FOR_THE_ABANDONED,
    ROUND_WITH_A_CRASH,
    SESSION,
    SESSION_BETWEEN_TWO,
    SESSION_COMPARED,
    SESSION_OF_LEADER,
    SILENT_WIRE,
    STUCK,
    SYNC_LIMIT,
    THE_NEXT_BEAT,
    WIRE,
    WIRE_READ_LATE,
    application,
    barrier,
    first_beat_from,
)

Cases: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Theorem:
    """One question about time, and its answer.

    Attributes:
        question: What is asked, in words.
        parts: The system that is explored.
        parameters: The limits, in the order in which they are told.
        assumptions: What is taken for granted; without it the answer may be another.
        goal: The place whose reachability is the question.
        cases: It can be reached iff all of one case hold. No case: never.
        meaning: What follows from it for people.
        sources: Where the question comes from.
        rules: Ids of rules.
        limit: The parameter that is a setting; `typical` has values for all others.
    """

    id: str
    question: str
    parts: tuple[Part, ...]
    parameters: tuple[str, ...]
    goal: str
    cases: Cases
    meaning: str
    sources: str
    rules: tuple[str, ...]
    limit: str
    typical: Mapping[str, int]
    assumptions: tuple[str, ...] = ()


_BEAT: Final = ("interval", "granularity", "latency", "session")
_KIP62: Final = "KIP-62, 'Proposed Changes'"
_SMALL: Final = {"interval": 4, "granularity": 1, "latency": 2}
_POLLS: Final = {**_SMALL, "processing": 5, "callback": 2}
_REBALANCE: Final = ("interval", "granularity", "latency", "processing", "callback", "max_poll")
_OLD_REBALANCE: Final = (
    ("expired(interval + 2 * latency + 2 * processing + callback, session)",),
    ("expired(3 * latency + 2 * processing + callback, session)",),
)

_THEOREMS: Final = (
    Theorem(
        "session-stable",
        "Can a connected member of a stable group be expelled by its session, when nothing is lost?",
        (BEATS, WIRE, SESSION),
        _BEAT,
        "EXPELLED",
        (
            ("expired(interval + granularity + latency, session)",),
            ("expired(granularity + 2 * latency, session)",),
        ),
        "A heartbeat interval below the session timeout, which is all that a client checks, does not "
        "suffice: what counts is "
        "interval + latency, and that its loop may look at the clock late. One heartbeat arrives at once, "
        "the next as late "
        "as can be. Where the latency exceeds the interval, a member that has one heartbeat out at a time "
        "beats once per "
        "latency.",
        f"{_KIP62}; Kafka Heartbeat.shouldHeartbeat; KafkaConsumer's check of heartbeat.interval.ms",
        ("H1", "H2", "H7"),
        "session",
        _SMALL,
    ),
    Theorem(
        "session-stable-pipelined",
        "The same of a member that sends a heartbeat at every interval, whether or not the last one was "
        "answered (Java)",
        (ONE_BEAT, THE_NEXT_BEAT, SESSION_BETWEEN_TWO),
        _BEAT,
        "EXPELLED",
        (("expired(interval + granularity + latency, session)",),),
        "Where the latency exceeds the interval, rule H7 has its price: with the defaults of KIP-62 a member "
        "that has one "
        "heartbeat out at a time bears a latency of 4,949 ms, one that does not 6,899 ms.",
        "Kafka Heartbeat.sentHeartbeat (the timer restarts at the send); "
        "AbstractCoordinator.HeartbeatThread.run (no test "
        "whether one is in flight)",
        ("H2", "H7"),
        "session",
        _SMALL,
    ),
    Theorem(
        "session-first-beat-deployed",
        "Can a leader be expelled before its first heartbeat, when heartbeats begin with the answer to "
        "JoinGroup, but none "
        "is sent while it computes (Java)?",
        (FIRST_BEAT_AFTER_COMPUTING, LEADER, WIRE, SESSION_OF_LEADER),
        ("interval", "granularity", "latency", "assignment", "session"),
        "EXPELLED",
        (
            ("expired(interval + granularity + latency, session)",),
            ("expired(assignment + 2 * latency, session)",),
        ),
        "A leader that computes for a session timeout is expelled while it computes, in Kafka's client too: "
        "its assignor runs "
        "in the monitor that every turn of the heartbeat thread needs. Only the leader is: a follower's "
        "SyncGroup is parked, "
        "and a parked request is a sign of life.",
        "Kafka 2.6.1 and later, AbstractCoordinator.JoinGroupResponseHandler.handle (onLeaderElected inside "
        "the monitor), "
        "HeartbeatThread.run; ClassicGroupMember.hasSatisfiedHeartbeat",
        ("H1", "H3", "G5"),
        "session",
        {**_SMALL, "assignment": 6},
    ),
    Theorem(
        "session-first-beat-beside",
        "The same of a member that would send heartbeats while its assignor computes",
        (first_beat_from("join_answered"), LEADER, WIRE, SESSION_OF_LEADER),
        ("interval", "granularity", "latency", "assignment", "session"),
        "EXPELLED",
        (
            ("expired(interval + granularity + latency, session)",),
            (
                "expired(interval + granularity + 2 * latency, session)",
                "expired(assignment + 2 * latency, session)",
            ),
        ),
        "It would be safe however long it computes: this is what rule H1 asks for, and what costs a thread "
        "that waits for "
        "nothing. The first heartbeat after a join stays the most endangered one: the coordinator's clock "
        "starts when the "
        "join completes, the member's when it hears of it.",
        "rule H1; KAFKA-10122",
        ("H1", "H3"),
        "session",
        {**_SMALL, "assignment": 6},
    ),
    Theorem(
        "session-first-beat-published",
        "The same when they begin with the answer to SyncGroup (the gate state != STABLE)",
        (first_beat_from("sync_answered"), LEADER, WIRE, SESSION_OF_LEADER),
        ("interval", "granularity", "latency", "assignment", "session"),
        "EXPELLED",
        (
            ("expired(interval + granularity + 2 * latency, session)",),
            ("expired(assignment + 2 * latency, session)",),
        ),
        "What the gate costs beyond the time of computing is a latency: after SyncGroup the first heartbeat "
        "is late for "
        "everybody.",
        "Chrząszcz, 'What does the heartbeat thread do in Kafka Consumer?'; Kafka up to 2.6.0, "
        "AbstractCoordinator.HeartbeatThread.run",
        ("H1", "H3"),
        "session",
        {**_SMALL, "assignment": 6},
    ),
    Theorem(
        "session-swallowed",
        "Can a connection that goes silent expel a member?",
        (RETRIED_BEATS, SILENT_WIRE, SESSION),
        ("interval", "granularity", "latency", "request", "backoff", "lookup", "session"),
        "EXPELLED",
        (
            ("expired(interval + 2 * granularity + request + backoff + latency, session)",),
            ("expired(interval + 2 * granularity + request + lookup + latency, session)",),
        ),
        "The request timeout decides, not the interval: with Kafka's defaults (30 s of 45 s) one swallowed "
        "heartbeat costs two "
        "thirds of a session, with the session of 10 s that KIP-62 proposes the membership. Having several "
        "out does not help: "
        "one TCP connection does not lose one request and deliver the next, and what Java sends behind the "
        "first is swallowed "
        "with it.",
        "KIP-62, 'Public Interfaces' (10 s); KIP-735 (45 s); Kafka NetworkClient.handleTimedOutRequests, "
        "InFlightRequests.completeNext (answers come in the order of the requests)",
        ("H7", "H2", "D1"),
        "session",
        {**_SMALL, "request": 6, "backoff": 1, "lookup": 2},
        ("latency <= interval", "latency <= request"),
    ),
    Theorem(
        "session-refused",
        "Can one heartbeat that fails visibly (the connection breaks, the coordinator has moved) expel a member?",
        (RETRIED_BEATS, BREAKING_WIRE, SESSION),
        ("interval", "granularity", "latency", "backoff", "lookup", "session"),
        "EXPELLED",
        (
            ("expired(interval + 2 * granularity + 2 * latency + backoff, session)",),
            ("expired(interval + 2 * granularity + 2 * latency + lookup, session)",),
        ),
        "A failure that is seen costs one more latency and the longer of backoff and lookup: the next "
        "heartbeat must not wait "
        "for the interval. The same bound holds when the coordinator moves, since the new one starts its clocks anew.",
        "Kafka Heartbeat.failHeartbeat; rules H4, D1",
        ("H4", "D1", "D3"),
        "session",
        {**_SMALL, "backoff": 1, "lookup": 2},
        ("latency <= interval",),
    ),
    Theorem(
        "doubt",
        "Can the member's own session clock expire, when nothing is lost?",
        (BEATS, WIRE, DOUBT),
        _BEAT,
        "IN_DOUBT",
        (("expired(interval + granularity + latency, session)",),),
        "Iff its coordinator's can, as long as the latency is below the interval. Where heartbeat.interval.ms equals "
        "session.timeout.ms and the network takes no time, the two arithmetics differ: non-strict clocks "
        "expire, strict ones "
        "never do.",
        "Kafka HeartbeatThread: session timer before poll timer; rule H5",
        ("H5",),
        "session",
        _SMALL,
    ),
    Theorem(
        "doubt-unread",
        "Can it, when the loop looks at its clocks before it reads what the network has brought?",
        (BEATS, WIRE_READ_LATE, DOUBT),
        _BEAT,
        "IN_DOUBT",
        (("expired(interval + 2 * granularity + latency, session)",),),
        "An answer that lies unread costs one more turn of the loop. Kafka's heartbeat thread reads the "
        "network first, in "
        "every turn, and so doubts no sooner than the first theorem says, however late it wakes.",
        "Kafka AbstractCoordinator.HeartbeatThread.run (client.pollNoWakeup before the checks)",
        ("H5",),
        "session",
        _SMALL,
    ),
    Theorem(
        "doubt-of-a-living-session",
        "Can the member's own session clock expire while the coordinator still counts it in, though nothing is lost?",
        (BEATS, WIRE, DOUBT, SESSION_COMPARED),
        _BEAT,
        "STILL_IN",
        (("expired(interval + granularity + latency, session)", "running(0, session)"),),
        "Always when it can expire at all: the heartbeat has arrived, its answer is on the way. So the "
        "member's own clock "
        "proves nothing about its membership: it may look for the coordinator, and must keep its identity (rule H5).",
        "Kafka HeartbeatThread: markCoordinatorUnknown, no reset of the generation; librdkafka resets it",
        ("H5",),
        "session",
        _SMALL,
    ),
    Theorem(
        "poll-limit",
        "Can a member leave although it polls (max.poll.interval.ms alone, as deployed)?",
        (application("max_poll"),),
        ("processing", "max_poll"),
        "LEFT",
        (("expired(processing, max_poll)",),),
        "Iff the application may take as long as max.poll.interval.ms. Nothing else matters: no latency, no loop.",
        "Kafka Heartbeat.pollTimeoutExpired",
        ("P1", "P2"),
        "max_poll",
        {"processing": 5},
    ),
    Theorem(
        "poll-limit-effective",
        "The same with the effective process timeout of KIP-62, the longer of session and poll timeout",
        (application("max_poll", "session"),),
        ("processing", "session", "max_poll"),
        "LEFT",
        (("expired(processing, max_poll)", "expired(processing, session)"),),
        "It differs from what is deployed only where max.poll.interval.ms is below session.timeout.ms, and "
        "there it is the "
        "more patient one.",
        _KIP62,
        ("P1", "P2"),
        "max_poll",
        {"processing": 5, "session": 3},
    ),
    Theorem(
        "poll-limit-stuck",
        "For how long after its last poll() can a stuck member still be in the group, by its own clock?",
        (STUCK,),
        ("max_poll", "granularity", "stuck"),
        "LATE",
        (("until(stuck, max_poll + granularity)",),),
        "For max.poll.interval.ms and one turn of its loop, and no longer.",
        _KIP62,
        ("P1",),
        "stuck",
        {"max_poll": 5, "granularity": 1},
    ),
    Theorem(
        "rebalance-in-poll",
        "Can a member that polls be expelled by a rebalance, when it rejoins in poll() and all have the same "
        "limit (KIP-62)?",
        (BEATS_UNTIL_ANNOUNCED, ANNOUNCING_WIRE, JOINS_IN_POLL, barrier("max_poll")),
        _REBALANCE,
        "EXPELLED",
        (
            ("expired(interval + granularity + 2 * latency + processing + callback, max_poll)",),
            ("expired(granularity + 3 * latency + processing + callback, max_poll)",),
        ),
        "Yes, and this is where KIP-62 errs: max.poll.interval.ms is not 'the maximum time before a consumer "
        "can be expected "
        "to rejoin'. The coordinator's clock starts when another member joins; this one hears of it up to a "
        "heartbeat interval "
        "and a latency later, may just have polled, and still has to revoke, to commit and to send its JoinGroup. An "
        "application that always polls in time must do so in max.poll.interval.ms less "
        "heartbeat.interval.ms, the commit, the "
        "callback and two latencies.",
        f"{_KIP62}: 'Decoupling the rebalance timeout'",
        ("P1", "J5", "G1"),
        "max_poll",
        _POLLS,
    ),
    Theorem(
        "rebalance-read-late",
        "The same when an answer is read once per turn of the loop (Java's heartbeat thread)",
        (NEWS_READ_LATE, JOINS_IN_POLL, barrier("max_poll")),
        _REBALANCE,
        "EXPELLED",
        (("expired(interval + 2 * granularity + 2 * latency + processing + callback, max_poll)",),),
        "One more turn: with Kafka's defaults and a latency of 50 ms an application must poll within 296,699 "
        "ms. A poll() does "
        "not shorten it: it asks whether to rejoin before it reads the network, and returns records of a "
        "buffer without "
        "asking again.",
        "Kafka AbstractCoordinator.HeartbeatThread.run (wait(retryBackoffMs)); ConsumerCoordinator.poll "
        "(rejoinNeededOrPending "
        "before the network is read)",
        ("P1", "J5", "G1"),
        "max_poll",
        _POLLS,
        ("latency <= interval",),
    ),
    Theorem(
        "rebalance-polite",
        "The same of a member that keeps to max.poll.interval.ms, and so is never put out by its own poll limit",
        (BEATS_UNTIL_ANNOUNCED, ANNOUNCING_WIRE, JOINS_IN_POLL, barrier("max_poll")),
        _REBALANCE,
        "EXPELLED",
        (
            ("expired(interval + granularity + 2 * latency + processing + callback, max_poll)",),
            ("expired(granularity + 3 * latency + processing + callback, max_poll)",),
        ),
        "For every positive heartbeat interval there are processing times below max.poll.interval.ms with "
        "which a rebalance "
        "expels a member that did nothing wrong.",
        f"{_KIP62}: 'Decoupling the rebalance timeout'",
        ("P1", "J5", "G1"),
        "max_poll",
        _POLLS,
        ("running(processing, max_poll)",),
    ),
    Theorem(
        "rebalance-two-limits",
        "The same when another member has another max.poll.interval.ms",
        (BEATS_UNTIL_ANNOUNCED, ANNOUNCING_WIRE, JOINS_IN_POLL, barrier("max_poll", "other_max_poll")),
        (*_REBALANCE[:-1], "other_max_poll", "max_poll"),
        "EXPELLED",
        (
            (
                "expired(interval + granularity + 2 * latency + processing + callback, max_poll)",
                "expired(interval + granularity + 2 * latency + processing + callback, other_max_poll)",
            ),
            (
                "expired(granularity + 3 * latency + processing + callback, max_poll)",
                "expired(granularity + 3 * latency + processing + callback, other_max_poll)",
            ),
        ),
        "The longest limit of the group protects everybody: one member with a limit that is longer by what "
        "the first theorem "
        "names (an interval, two latencies, the callback) makes it impossible to expel the polite.",
        f"{_KIP62}: the maximum rebalance timeout across all members",
        ("G1", "P1"),
        "max_poll",
        {**_POLLS, "other_max_poll": 9},
    ),
    Theorem(
        "rebalance-at-once",
        "Can a member be expelled by a rebalance when it rejoins by itself, asynchronously to poll (the "
        "refactored design)?",
        (BEATS_UNTIL_ANNOUNCED, ANNOUNCING_WIRE, JOINS_AT_ONCE, barrier("max_poll")),
        ("interval", "granularity", "latency", "max_poll"),
        "EXPELLED",
        (
            ("expired(interval + granularity + 2 * latency, max_poll)",),
            ("expired(granularity + 3 * latency, max_poll)",),
        ),
        "The processing time has gone from the condition: this is what moving the rebalance to the "
        "background thread buys a "
        "cooperative member. An eager one still has to wait for its callback, and so for poll().",
        "Threading refactor proposal (Apache Kafka wiki), 'Asynchronous Background Thread'; KIP-429",
        ("J7", "K1", "G1"),
        "max_poll",
        _SMALL,
    ),
    Theorem(
        "sync-limit",
        "Can a leader be expelled because its SyncGroup comes too late, though it beats?",
        (LEADER, SYNC_LIMIT),
        ("latency", "assignment", "max_poll"),
        "EXPELLED",
        (("expired(2 * latency + assignment, max_poll)",),),
        "Only by computing as long as a whole rebalance timeout.",
        "Kafka GroupMetadataManager, expiration of pending SyncGroup requests",
        ("G9",),
        "max_poll",
        {"latency": 2, "assignment": 6},
    ),
    Theorem(
        "rebalance-delayed-by-a-crash",
        "For how long can a crashed member delay a rebalance?",
        (CRASHED, ROUND_WITH_A_CRASH),
        ("latency", "session", "rebalance", "delay"),
        "LATE",
        (("until(delay, session + latency)", "until(delay, rebalance)"),),
        "For its session timeout and a latency (its last heartbeat may arrive after its death), or for the "
        "rebalance timeout, "
        "whichever is shorter: KIP-62's promise that a small session timeout makes rebalances survive a crash holds.",
        f"{_KIP62}: 'handle hard crashes more gracefully'",
        ("G5", "G1"),
        "delay",
        {"latency": 2, "session": 5, "rebalance": 9},
        ("latency <= session",),
    ),
    Theorem(
        "rebalance-delayed-by-the-abandoned",
        "For how long can a member that beats and never polls again delay a rebalance?",
        (ABANDONED, ROUND_FOR_THE_ABANDONED),
        ("granularity", "latency", "max_poll", "rebalance", "delay"),
        "LATE",
        (("until(delay, max_poll + granularity + latency)", "until(delay, rebalance)"),),
        "For its own max.poll.interval.ms, even where the rebalance timeout of the group is longer because "
        "of somebody else's; "
        "then it leaves by itself.",
        f"{_KIP62}: the maximum rebalance timeout across all members",
        ("P1", "G6"),
        "delay",
        {"granularity": 1, "latency": 2, "max_poll": 5, "rebalance": 12},
    ),
    Theorem(
        "old-session",
        "Can a member from before KIP-62, which beats only inside poll(), be expelled by its session?",
        (OLD_MEMBER, SESSION),
        ("interval", "latency", "processing", "session"),
        "EXPELLED",
        (
            ("expired(interval + latency + processing, session)",),
            ("expired(2 * latency + processing, session)",),
        ),
        "The processing time stands in the session's condition: this is what KIP-62 removes. Keeping the "
        "processing time below "
        "the session timeout was never enough; it had to be below the session less an interval and a latency.",
        "KIP-62, 'Motivation'",
        ("H1",),
        "session",
        {"interval": 4, "latency": 2, "processing": 5},
    ),
    Theorem(
        "old-rebalance",
        "Can it be expelled by a rebalance (JoinGroup v0: the session timeout is the rebalance timeout)?",
        (OLD_MEMBER_TOLD, OLD_JOIN, barrier("session")),
        ("interval", "latency", "processing", "callback", "session"),
        "EXPELLED",
        _OLD_REBALANCE,
        "Twice the processing time: one poll() late to send the heartbeat, and one late to read its answer.",
        "KIP-62, 'Motivation' and 'Compatibility' (JoinGroup v0)",
        ("G1",),
        "session",
        {"interval": 4, "latency": 2, "processing": 5, "callback": 2},
    ),
    Theorem(
        "old-rebalance-in-an-upgrade",
        "The same in a group that is being upgraded: another member sends JoinGroup v1 with its max.poll.interval.ms",
        (OLD_MEMBER_TOLD, OLD_JOIN, barrier("session", "other_max_poll")),
        ("interval", "latency", "processing", "callback", "other_max_poll", "session"),
        "EXPELLED",
        tuple((*case, case[0].replace("session", "other_max_poll")) for case in _OLD_REBALANCE),
        "The first upgraded member protects the others: the maximum counts, and with KIP-62's default of "
        "five minutes nobody "
        "is expelled by a rebalance any more.",
        "KIP-62, 'Compatibility' and 'Test Plan' (two members with conflicting values)",
        ("G1",),
        "session",
        {"interval": 4, "latency": 2, "processing": 5, "callback": 2, "other_max_poll": 12},
    ),
)


THEOREMS: Final[Mapping[str, Theorem]] = MappingProxyType({theorem.id: theorem for theorem in _THEOREMS})
"""Every theorem by its id."""
