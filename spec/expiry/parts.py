"""Who runs a clock: members, wires and coordinators, one automaton for each.

The limits are parameters, all in whole milliseconds:

    interval        heartbeat.interval.ms
    session         session.timeout.ms
    max_poll        max.poll.interval.ms, which is also the rebalance timeout that a member sends with JoinGroup v1
    backoff         retry.backoff.ms
    request         request.timeout.ms
    latency         the longest from sending a request until its answer is there; the broker has it somewhere in between
    granularity     how late the member may look at a clock that is due. A loop that sleeps for retry.backoff.ms when
                    nothing is due, as the heartbeat thread of the articles does, has granularity = backoff; one that
                    is woken by the next deadline has 0
    processing      the longest from one poll() to the next
    callback        the longest that the application's revocation callback and the commit before it take
    assignment      the longest that a leader computes
    lookup          the longest that finding the coordinator anew takes

What a limit of the *network* or the *application* bounds may always be shorter, down to nothing. What a *timeout*
bounds is exact, but for the two arithmetics: `expired(clock, limit)` is `clock >= limit` or `clock > limit`.

    who                     sees                                        decides
    heartbeat thread        its own clock since the last heartbeat      when to send the next
    wire                    nothing                                     when the broker has it, when the answer is there
    coordinator, session    heartbeats as they arrive                   that the member is dead
    coordinator, round      the first join of a rebalance               that who has not joined is out
    application             nothing                                     when to call poll()
    member, poll interval   calls of poll()                             to leave the group

Two things that look alike are kept apart on purpose: the session clock of the coordinator, which starts when a
heartbeat *arrives*, and the member's own, which starts when its answer *arrives*. The whole arithmetic of KIP-62 hangs
on who can see what when.

Sources: KIP-62, 'Proposed Changes'; Kafka AbstractCoordinator.HeartbeatThread, Heartbeat and Timer (0.10 to 4.0);
coordinator: ClassicGroup, GroupMetadataManager (4.0); rules H1, H2, H5, H7, P1, P2, G1, G5, G6, G9.
"""

from __future__ import annotations

from groupspec.spec.expiry.automata import Edge, Part

# The heartbeat thread -----------------------------------------------------------------------------------------------

_ASKED = "beat <= interval + granularity"

BEATS = Part(
    "heartbeats, one at a time (rule H7)",
    {"IDLE": (_ASKED,), "OUT": (), "OVERDUE": ("idle <= granularity",)},
    (
        Edge("IDLE", "beat_sent", "OUT", ("beat >= interval",), ("beat",)),
        Edge("OUT", "beat_answered", "IDLE", ("beat <= interval",)),
        Edge("OUT", "beat_answered", "OVERDUE", ("beat >= interval",), ("idle",)),
        Edge("OVERDUE", "beat_sent", "OUT", (), ("beat",)),
    ),
)

ONE_BEAT = Part(
    "one of the heartbeats that go out at every interval, answered or not (Kafka's Java client)",
    {"DUE": (), "GOING": ("beat <= latency",), "THERE": ()},
    (Edge("DUE", "beat_sent", "GOING", (), ("beat",)), Edge("GOING", "beat_arrives", "THERE")),
)

THE_NEXT_BEAT = Part(
    "the heartbeat after it; one connection keeps their order, and never drops one to deliver the other",
    {"BEFORE": (), "IDLE": (_ASKED,), "GOING": ("wire <= latency",), "THERE": ()},
    (
        Edge("BEFORE", "beat_sent", "IDLE"),
        Edge("IDLE", "next_sent", "GOING", ("beat >= interval",), ("wire",)),
        Edge("GOING", "next_arrives", "THERE"),
    ),
)

RETRIED_BEATS = Part(
    "heartbeats, one at a time; one that fails is tried again after the backoff, when the coordinator is found again",
    {
        "IDLE": (_ASKED,),
        "OUT": (),
        "LOOKING": ("idle <= lookup",),
        "WAITING": ("idle <= backoff + granularity",),
        "OVERDUE": ("idle <= granularity",),
    },
    (
        *BEATS.edges,
        Edge("OUT", "beat_failed", "LOOKING", (), ("idle",)),
        Edge("LOOKING", "found", "WAITING", ("idle <= backoff",)),
        Edge("LOOKING", "found", "OVERDUE", ("idle >= backoff",), ("idle",)),
        Edge("WAITING", "beat_sent", "OUT", ("idle >= backoff",), ("beat",)),
    ),
)


def first_beat_from(event: str) -> Part:
    """The first heartbeat after an event, whatever else the member does: an answered JoinGroup, or SyncGroup."""
    return Part(
        f"the first heartbeat after {event}",
        {"OFF": (), "IDLE": (_ASKED,), "SENT": ()},
        (Edge("OFF", event, "IDLE", (), ("beat",)), Edge("IDLE", "beat_sent", "SENT", ("beat >= interval",))),
    )


FIRST_BEAT_AFTER_COMPUTING = Part(
    "the first heartbeat after join_answered, but none while the assignor computes: it holds the monitor that the "
    "heartbeat thread needs",
    {"OFF": (), "HELD": (), "IDLE": (_ASKED,), "OVERDUE": ("idle <= granularity",), "SENT": ()},
    (
        Edge("OFF", "join_answered", "HELD", (), ("beat",)),
        Edge("HELD", "sync_sent", "IDLE", ("beat <= interval",)),
        Edge("HELD", "sync_sent", "OVERDUE", ("beat >= interval",), ("idle",)),
        Edge("IDLE", "beat_sent", "SENT", ("beat >= interval",)),
        Edge("OVERDUE", "beat_sent", "SENT"),
    ),
)

# The wire -----------------------------------------------------------------------------------------------------------

WIRE = Part(
    "a wire for heartbeats: each arrives, and is answered within the latency",
    {"EMPTY": (), "GOING": ("wire <= latency",), "BACK": ("wire <= latency",)},
    (
        Edge("EMPTY", "beat_sent", "GOING", (), ("wire",)),
        Edge("GOING", "beat_arrives", "BACK"),
        Edge("BACK", "beat_answered", "EMPTY"),
    ),
)


WIRE_READ_LATE = Part(
    "a wire for heartbeats whose answers lie unread until the next turn of the loop",
    {**WIRE.places, "UNREAD": ("unread <= granularity",)},
    (
        *(edge for edge in WIRE.edges if edge.action != "beat_answered"),
        Edge("BACK", "waits_unread", "UNREAD", (), ("unread",)),
        Edge("UNREAD", "beat_answered", "EMPTY"),
    ),
)

SILENT_WIRE = Part(
    "a wire that goes silent: it swallows a heartbeat, and whatever is sent behind it, until the request "
    "times out and the "
    "connection is given up",
    {**WIRE.places, "SWALLOWED": ("wire <= request",), "EMPTY_AGAIN": (), "GOING_AGAIN": ("wire <= latency",)},
    (
        *WIRE.edges,
        Edge("GOING", "swallowed", "SWALLOWED"),
        Edge("SWALLOWED", "beat_failed", "EMPTY_AGAIN", ("wire >= request",)),
        Edge("EMPTY_AGAIN", "beat_sent", "GOING_AGAIN", (), ("wire",)),
        Edge("GOING_AGAIN", "beat_arrives", "BACK"),
    ),
)

BREAKING_WIRE = Part(
    "a wire that once breaks, or a broker that once answers 'not here': the member knows within the latency",
    {**WIRE.places, "EMPTY_AGAIN": (), "GOING_AGAIN": ("wire <= latency",)},
    (
        *WIRE.edges,
        Edge("GOING", "beat_failed", "EMPTY_AGAIN"),
        Edge("EMPTY_AGAIN", "beat_sent", "GOING_AGAIN", (), ("wire",)),
        Edge("GOING_AGAIN", "beat_arrives", "BACK"),
    ),
)

# The session, on both sides -------------------------------------------------------------------------------------------

SESSION = Part(
    "the coordinator's session clock for this member",
    {"ALIVE": (), "EXPELLED": ()},
    (
        Edge("ALIVE", "beat_arrives", "ALIVE", (), ("heard",)),
        Edge("ALIVE", "session_expires", "EXPELLED", ("expired(heard, session)",)),
    ),
)

SESSION_BETWEEN_TWO = Part(
    "the coordinator's session clock, from one heartbeat until the next",
    {"BEFORE": (), "ALIVE": (), "STILL_ALIVE": (), "EXPELLED": ()},
    (
        Edge("BEFORE", "beat_arrives", "ALIVE", (), ("heard",)),
        Edge("ALIVE", "next_arrives", "STILL_ALIVE"),
        Edge("ALIVE", "session_expires", "EXPELLED", ("expired(heard, session)",)),
    ),
)

DOUBT = Part(
    "the member's own session clock (rule H5)",
    {"SURE": (), "IN_DOUBT": ()},
    (
        Edge("SURE", "beat_answered", "SURE", (), ("told",)),
        Edge("SURE", "doubts", "IN_DOUBT", ("expired(told, session)",)),
    ),
)

SESSION_COMPARED = Part(
    "the coordinator's session clock, looked at when the member doubts",
    {"ALIVE": (), "STILL_IN": ()},
    (
        Edge("ALIVE", "beat_arrives", "ALIVE", (), ("heard",)),
        Edge("ALIVE", "doubts", "STILL_IN", ("running(heard, session)",)),
    ),
)

# The application ------------------------------------------------------------------------------------------------------


def application(*limits: str) -> Part:
    """Calls of poll(), and a member that leaves once each of `limits` has passed without one."""
    return Part(
        "poll() and its limit (rule P1)",
        {"POLLING": ("polled <= processing",), "LEFT": ()},
        (
            Edge("POLLING", "polls", "POLLING", (), ("polled",)),
            Edge("POLLING", "leaves", "LEFT", tuple(f"expired(polled, {limit})" for limit in limits)),
        ),
    )


STUCK = Part(
    "an application that never polls again; the member leaves no later than its loop looks at the clock",
    {"STUCK": ("until(polled, max_poll + granularity)",), "LATE": (), "LEFT": ()},
    (
        Edge("STUCK", "leaves", "LEFT", ("expired(polled, max_poll)",), ("polled",)),
        Edge("STUCK", "is_seen", "LATE", ("polled >= stuck",)),
    ),
)

# A rebalance ----------------------------------------------------------------------------------------------------------

ANNOUNCING_WIRE = Part(
    "a wire for heartbeats, whose answers announce a rebalance that the coordinator knew of",
    {**WIRE.places, "BACK_WITH_NEWS": ("wire <= latency",), "SILENT": ()},
    (
        *WIRE.edges,
        Edge("GOING", "beat_arrives_in_rebalance", "BACK_WITH_NEWS"),
        Edge("BACK_WITH_NEWS", "announced", "SILENT"),
    ),
)

BEATS_UNTIL_ANNOUNCED = Part(
    "heartbeats, until one announces a rebalance; later ones change nothing here",
    {**BEATS.places, "TOLD": ()},
    (*BEATS.edges, Edge("OUT", "announced", "TOLD")),
)

NEWS_READ_LATE = Part(
    "a heartbeat that comes just before the other member joins, and the next one, whose answer lies unread "
    "until the next "
    "turn of the loop",
    {
        "DUE": (),
        "EARLY": ("beat <= latency",),
        "IDLE": (_ASKED,),
        "GOING": ("wire <= latency",),
        "BACK_WITH_NEWS": ("wire <= latency",),
        "UNREAD": ("unread <= granularity",),
        "SILENT": (),
    },
    (
        Edge("DUE", "beat_sent", "EARLY", (), ("beat",)),
        Edge("EARLY", "beat_arrives", "IDLE"),
        Edge("IDLE", "another_joins", "IDLE"),
        Edge("IDLE", "next_sent", "GOING", ("beat >= interval",), ("wire",)),
        Edge("GOING", "another_joins", "GOING"),
        Edge("GOING", "beat_arrives_in_rebalance", "BACK_WITH_NEWS"),
        Edge("BACK_WITH_NEWS", "waits_unread", "UNREAD", (), ("unread",)),
        Edge("UNREAD", "announced", "SILENT"),
    ),
)

JOINS_IN_POLL = Part(
    "the application's thread: it rejoins in the first poll() after it was told (KIP-62). Its last poll() "
    "before that may "
    "have been at any time, even a moment ago",
    {
        "POLLING": (),
        "DUE": ("working <= processing",),
        "REVOKING": ("working <= callback",),
        "JOINING": ("working <= latency",),
        "JOINED": (),
    },
    (
        Edge("POLLING", "announced", "DUE", (), ("working",)),
        Edge("DUE", "polls", "REVOKING", (), ("working",)),
        Edge("REVOKING", "join_sent", "JOINING", (), ("working",)),
        Edge("JOINING", "join_arrives", "JOINED"),
    ),
)

JOINS_AT_ONCE = Part(
    "the background thread: it rejoins when it is told (the refactored design; nothing to revoke)",
    {"STABLE": (), "JOINING": ("working <= latency",), "JOINED": ()},
    (
        Edge("STABLE", "announced", "JOINING", (), ("working",)),
        Edge("JOINING", "join_arrives", "JOINED"),
    ),
)


def barrier(*limits: str) -> Part:
    """The coordinator's rebalance: out is who has not joined when each of `limits` has passed, the longest of them."""
    return Part(
        "the coordinator's rebalance timeout (rule G1)",
        {"STABLE": (), "PREPARING": (), "COMPLETE": (), "EXPELLED": ()},
        (
            Edge("STABLE", "beat_arrives", "STABLE"),
            Edge("STABLE", "another_joins", "PREPARING", (), ("round",)),
            Edge("PREPARING", "beat_arrives_in_rebalance", "PREPARING"),
            Edge("PREPARING", "join_arrives", "COMPLETE"),
            Edge("PREPARING", "round_expires", "EXPELLED", tuple(f"expired(round, {limit})" for limit in limits)),
        ),
    )


# Joining --------------------------------------------------------------------------------------------------------------

LEADER = Part(
    "the leader, from the completed join until its SyncGroup is answered",
    {
        "JOIN_BACK": ("phase <= latency",),
        "COMPUTING": ("phase <= assignment",),
        "SYNC_GOING": ("phase <= latency",),
        "SYNC_BACK": ("phase <= latency",),
        "STABLE": (),
    },
    (
        Edge("JOIN_BACK", "join_answered", "COMPUTING", (), ("phase",)),
        Edge("COMPUTING", "sync_sent", "SYNC_GOING", (), ("phase",)),
        Edge("SYNC_GOING", "sync_arrives", "SYNC_BACK", (), ("phase",)),
        Edge("SYNC_BACK", "sync_answered", "STABLE"),
    ),
)

SESSION_OF_LEADER = Part(
    "the coordinator's session clock: it starts when the join completes, and anew when the SyncGroup is answered",
    {**SESSION.places, "HEARD": ()},
    (
        Edge("ALIVE", "sync_arrives", "ALIVE", (), ("heard",)),
        Edge("ALIVE", "beat_arrives", "HEARD"),
        Edge("HEARD", "sync_arrives", "HEARD"),
        Edge("ALIVE", "session_expires", "EXPELLED", ("expired(heard, session)",)),
    ),
)

SYNC_LIMIT = Part(
    "the coordinator's limit for SyncGroup, as long as the rebalance timeout",
    {"COMPLETING": (), "STABLE": (), "EXPELLED": ()},
    (
        Edge("COMPLETING", "sync_arrives", "STABLE", (), ("round",)),
        Edge("COMPLETING", "round_expires", "EXPELLED", ("expired(round, max_poll)",)),
    ),
)

# Before KIP-62 --------------------------------------------------------------------------------------------------------

_WORKS = "working <= processing"


_BACK = "wire <= latency"

OLD_MEMBER = Part(
    "a member from before KIP-62, with its wire: it sends, and reads answers, only inside poll(). P or W: in "
    "poll(), or "
    "working; then no heartbeat out, one on its way, its answer on its way, its answer unread",
    {
        "P_IDLE": ("beat <= interval",),
        "W_IDLE": (_WORKS,),
        "P_GOING": (_BACK,),
        "W_GOING": (_BACK, _WORKS),
        "P_BACK": (_BACK,),
        "W_BACK": (_BACK, _WORKS),
        "W_UNREAD": (_WORKS,),
    },
    (
        # poll() sends a heartbeat as soon as one is due
        Edge("P_IDLE", "beat_sent", "P_GOING", ("beat >= interval",), ("beat", "wire")),
        Edge("W_IDLE", "polls_and_beats", "P_GOING", ("beat >= interval",), ("beat", "wire")),
        Edge("W_IDLE", "polls", "P_IDLE", ("beat <= interval",)),
        Edge("P_IDLE", "returns", "W_IDLE", (), ("working",)),
        # the wire
        Edge("P_GOING", "returns", "W_GOING", (), ("working",)),
        Edge("W_GOING", "polls", "P_GOING"),
        Edge("P_GOING", "beat_arrives", "P_BACK"),
        Edge("W_GOING", "beat_arrives", "W_BACK"),
        # an answer: poll() reads it when it comes, or the next poll() does
        Edge("P_BACK", "returns", "W_BACK", (), ("working",)),
        Edge("W_BACK", "polls", "P_BACK"),
        Edge("W_BACK", "waits_unread", "W_UNREAD"),
        Edge("P_BACK", "beat_answered", "P_IDLE", ("beat <= interval",)),
        Edge("P_BACK", "beat_answered", "P_GOING", ("beat >= interval",), ("beat", "wire")),
        Edge("W_UNREAD", "polls_and_reads", "P_IDLE", ("beat <= interval",)),
        Edge("W_UNREAD", "polls_and_reads", "P_GOING", ("beat >= interval",), ("beat", "wire")),
    ),
)

OLD_MEMBER_TOLD = Part(
    "the same, to whom an answer announces a rebalance",
    {**OLD_MEMBER.places, "P_NEWS": (_BACK,), "W_NEWS": (_BACK, _WORKS), "W_NEWS_UNREAD": (_WORKS,), "TOLD": ()},
    (
        *OLD_MEMBER.edges,
        Edge("P_GOING", "beat_arrives_in_rebalance", "P_NEWS"),
        Edge("W_GOING", "beat_arrives_in_rebalance", "W_NEWS"),
        Edge("P_NEWS", "returns", "W_NEWS", (), ("working",)),
        Edge("W_NEWS", "polls", "P_NEWS"),
        Edge("W_NEWS", "waits_unread", "W_NEWS_UNREAD"),
        Edge("P_NEWS", "announced", "TOLD"),
        Edge("W_NEWS_UNREAD", "announced", "TOLD"),
    ),
)

OLD_JOIN = Part(
    "what a member from before KIP-62 does once it is told: revoke and join, in that very poll()",
    {
        "STABLE": (),
        "REVOKING": ("joining <= callback",),
        "JOINING": ("joining <= latency",),
        "JOINED": (),
    },
    (
        Edge("STABLE", "announced", "REVOKING", (), ("joining",)),
        Edge("REVOKING", "join_sent", "JOINING", (), ("joining",)),
        Edge("JOINING", "join_arrives", "JOINED"),
    ),
)

# A crash
# ----------------------------------------------------------------------------------------------------------------

CRASHED = Part(
    "a member that crashes; a heartbeat that it has just sent may still arrive",
    {"ALIVE": (), "LAST_BEAT_GOING": ("since_crash <= latency",), "SILENT": ()},
    (
        Edge("ALIVE", "crashes", "LAST_BEAT_GOING", (), ("since_crash",)),
        Edge("LAST_BEAT_GOING", "last_beat_arrives", "SILENT"),
        Edge("LAST_BEAT_GOING", "nothing_was_out", "SILENT"),
        Edge("LAST_BEAT_GOING", "is_waited_for", "SILENT", ("since_crash >= delay",)),
        Edge("SILENT", "is_waited_for", "SILENT", ("since_crash >= delay",)),
    ),
)

_UNTIL_SESSION = "until(heard, session)"
_UNTIL_ROUND = "until(round, rebalance)"

ROUND_WITH_A_CRASH = Part(
    "a rebalance that all but one have joined; it ends when that one's session or the round itself expires, "
    "and waits no "
    "longer. The coordinator has heard of the member as late as can be: in the moment of its crash, or after it",
    {
        "STABLE": (),
        "PREPARING": (_UNTIL_ROUND,),
        "STABLE_WITH_DEAD": (_UNTIL_SESSION,),
        "WAITING_FOR_DEAD": (_UNTIL_SESSION, _UNTIL_ROUND),
        "LATE": (),
    },
    (
        Edge("STABLE", "another_joins", "PREPARING", (), ("round",)),
        Edge("STABLE", "crashes", "STABLE_WITH_DEAD", (), ("heard",)),
        Edge("PREPARING", "crashes", "WAITING_FOR_DEAD", (), ("heard",)),
        Edge("STABLE_WITH_DEAD", "another_joins", "WAITING_FOR_DEAD", (), ("round",)),
        Edge("STABLE_WITH_DEAD", "last_beat_arrives", "STABLE_WITH_DEAD", (), ("heard",)),
        Edge("WAITING_FOR_DEAD", "last_beat_arrives", "WAITING_FOR_DEAD", (), ("heard",)),
        Edge("WAITING_FOR_DEAD", "is_waited_for", "LATE", ("round >= delay",)),
    ),
)

ABANDONED = Part(
    "a member that beats and never polls again: it leaves when its own poll limit has passed",
    {"STUCK": ("until(polled, max_poll + granularity)",), "LEAVING": ("wire <= latency",), "GONE": ()},
    (
        Edge("STUCK", "leaves", "LEAVING", ("expired(polled, max_poll)",), ("polled", "wire")),
        Edge("LEAVING", "leave_arrives", "GONE"),
    ),
)

ROUND_FOR_THE_ABANDONED = Part(
    "a rebalance that all but one have joined: it ends when that one leaves, or when the round expires",
    {"STABLE": (), "PREPARING": (_UNTIL_ROUND,), "COMPLETE": (), "LATE": ()},
    (
        Edge("STABLE", "another_joins", "PREPARING", (), ("round",)),
        Edge("STABLE", "leave_arrives", "COMPLETE"),
        Edge("PREPARING", "leave_arrives", "COMPLETE"),
        Edge("PREPARING", "is_waited_for", "LATE", ("round >= delay",)),
    ),
)
