"""One partition in the consumer that may own it.

- ASSIGNED: the partition is in the assignment, and the listener has not been called for it yet;
- AWAITING_POSITION: its position is looked up: the committed offset or, if the group has none, what auto.offset.reset
  gives (rules O1, O6);
- FETCHABLE: it has a position, and is fetched;
- PAUSED: the same, paused by the application;
- PENDING_REVOCATION: a rebalance will take it away. It is neither fetched nor returned, and its buffered records are
  dropped (rule Q5).

A poll that returns nothing requests records (`demanded`), until some have come. A fetch is sent in FETCHABLE if nothing
is buffered and no fetch is in flight, not even one for an earlier position (rule O5). Fetched records are buffered;
**the position moves when records are returned**, not when they arrive. Records for a position that is no longer the
requested one (after seek(), a revocation, a reset) are dropped wherever they are (rule O3).

A topic that was deleted and made anew under its name is another one, with another id (`topic_recreated`, rule O7). What
is kept of the old one ends with it: the position, also one that seek() has set and no fetch has confirmed; records that
no poll has returned; the fetch and the lookup under way, whose answers are late from then on. A position is looked up
anew, and only then something is fetched; the pause stays, which the application asked for. An answer that says no more
than that the id is unknown (UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID) is a fetch that has failed: the event comes with
the metadata that are asked for then. Java's SubscriptionState has no such transition: it stays FETCHING at the old
position, and only one that is out of range is reset (AWAIT_RESET); Metadata.updateLatestMetadata lets no more than
leader epochs end.

A partition that is retained over a rebalance gets no event here: it keeps its position, its pause and its fetch
(rule O2).

One such machine runs for each partition; the rebalance emits events to those that it concerns.

Sources: "Learning Kafka with Python: a deep dive into consumers and rebalancing" (subscription state, fetcher); Kafka
SubscriptionState, Fetcher; threading refactor proposal, "Rebalance States" (pause); KIP-516, KAFKA-12257 (topic ids).
"""

from __future__ import annotations

from typing import Final

from groupspec.spec.machine import Guard, State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Variable

# fmt: off
VARIABLES: Final = (
    Variable("position", NO_YES, False, "state", "subscription", doc="the next offset is known"),
    Variable("user_paused", NO_YES, False, "state", "subscription", doc="the application paused it"),
    Variable("buffered", NO_YES, False, "state", "subscription", doc="fetched records wait to be returned"),
    Variable("fetch_out", NO_YES, False, "state", "subscription", doc="a fetch of it is in flight"),
    Variable("old_fetch", NO_YES, False, "state", "subscription",
             doc="a fetch for an earlier position or assignment is in flight still: its leader is busy"),
    Variable("demanded", NO_YES, False, "state", "subscription", doc="a poll wants records, and none have come yet"),
)

EFFECTS: Final = (
    Effect("demand", {"demanded": "True"}),
    Effect("find_position",
           {"position": "True", "buffered": "False", "old_fetch": "old_fetch or fetch_out", "fetch_out": "False"}),
    Effect("lose_position", {"position": "False", "buffered": "False", "fetch_out": "False"}),
    Effect("end_with_topic",
           {"position": "False", "buffered": "False", "old_fetch": "old_fetch or fetch_out", "fetch_out": "False"},
           doc="nothing that is known of the old topic holds for the new one"),
    Effect("fetch", {"fetch_out": "True"}, ("Fetch",)),
    Effect("buffer", {"fetch_out": "False", "buffered": "True", "demanded": "False"}),
    Effect("end_old_fetch", {"old_fetch": "False"}),
    Effect("end_fetch", {"fetch_out": "False"}),
    Effect("return_records", {"buffered": "more"}),
    Effect("pause", {"user_paused": "True"}),
    Effect("resume", {"user_paused": "False"}),
    Effect("begin_anew",
           {"position": "False", "user_paused": "False", "buffered": "False", "old_fetch": "old_fetch or fetch_out",
            "fetch_out": "False"}),
)

MAY_FETCH: Final = Guard("demanded and not buffered and not fetch_out and not old_fetch")
"""A fetch is sent in FETCHABLE."""
# fmt: on


class Subscription(StateMachine):
    """From assigned to fetchable, and away."""

    machine_name = "subscription"

    UNASSIGNED = State(initial=True)
    ASSIGNED = State()
    AWAITING_POSITION = State()
    FETCHABLE = State()
    PAUSED = State()
    PENDING_REVOCATION = State()

    # fmt: off
    OWNED = (ASSIGNED, AWAITING_POSITION, FETCHABLE, PAUSED, PENDING_REVOCATION)
    EVERY = (UNASSIGNED, *OWNED)
    LIVE = (AWAITING_POSITION, FETCHABLE, PAUSED)
    POSITIONED = (FETCHABLE, PAUSED)
    FETCH_ANSWERS = ("fetch_answered", "fetch_failed", "fetch_out_of_range")

    # -- the partition comes and goes ----------------------------------------------------------------------------------
    row(UNASSIGNED,         "partition_added",    ASSIGNED,           rules="C3 O1", do=["begin_anew"])
    row(ASSIGNED,           "partition_enabled",  AWAITING_POSITION,  rules="C3 O1", when="not position")
    row(ASSIGNED,           "partition_enabled",  FETCHABLE,          rules="C3 C5",
        when="position and not user_paused")
    row(ASSIGNED,           "partition_enabled",  PAUSED,             rules="C3 C5", when="position and user_paused")
    row(PENDING_REVOCATION, "partition_removed",  UNASSIGNED,         rules="O3 C3", do=["begin_anew"])
    row((ASSIGNED, *LIVE),  "revocation_pending", PENDING_REVOCATION, rules="Q5 O3")

    # -- its position --------------------------------------------------------------------------------------------------
    row(AWAITING_POSITION, "position_found", FETCHABLE, rules="O1 O6",
        when="current and not user_paused", do=["find_position"])
    row(AWAITING_POSITION, "position_found", PAUSED,    rules="O1 O2 O6",
        when="current and user_paused",     do=["find_position"])
    row(AWAITING_POSITION, "sought",         FETCHABLE, rules="O3",
        when="not user_paused",             do=["find_position"])
    row(AWAITING_POSITION, "sought",         PAUSED,    rules="O3",
        when="user_paused",                 do=["find_position"])
    row((ASSIGNED, *POSITIONED), "sought",   None,      rules="O3 C5", do=["find_position"])

    # -- its topic is another one --------------------------------------------------------------------------------------
    row(POSITIONED,            "topic_recreated", AWAITING_POSITION, rules="O7 O3 O6", do=["end_with_topic"])
    row((ASSIGNED, AWAITING_POSITION, PENDING_REVOCATION), "topic_recreated", None, rules="O7 O3",
        do=["end_with_topic"])

    # -- the application pauses and resumes it -------------------------------------------------------------------------
    row((ASSIGNED, AWAITING_POSITION), "paused_by_user", None, when="not user_paused", do=["pause"],  rules="C5 O2")
    row((ASSIGNED, AWAITING_POSITION), "resumed_by_user", None, when="user_paused",     do=["resume"], rules="C5 O2")
    row(FETCHABLE, "paused_by_user",  PAUSED,                            do=["pause"],  rules="O2 O5")
    row(PAUSED,    "resumed_by_user", FETCHABLE,                         do=["resume"], rules="O2 O5")

    # -- records are fetched and returned ------------------------------------------------------------------------------
    row(EVERY,              "fetch_requested",    None,              rules="O5 Q6",
        when="not demanded",              do=["demand"])
    row(FETCHABLE,          "turn_ended",         None,              rules="O5",
        when=MAY_FETCH,                   do=["fetch"])
    row(POSITIONED,         "fetch_answered",     None,              rules="O5",
        when="current and fetch_out",     do=["buffer"])
    row(POSITIONED,         "fetch_failed",       None,              rules="O5",
        when="current and fetch_out",     do=["end_fetch"])
    row(PENDING_REVOCATION, ("fetch_answered", "fetch_failed"), None, rules="O3 Q5",
        when="current and fetch_out",     do=["end_fetch"])
    row(PENDING_REVOCATION, "fetch_out_of_range", None,              rules="O3 O6",
        when="current and fetch_out",     do=["lose_position"])
    row(POSITIONED,         "fetch_out_of_range", AWAITING_POSITION, rules="O6",
        when="current and fetch_out",     do=["lose_position"])
    row(EVERY,              FETCH_ANSWERS,        None,              rules="O3",
        when="not current and old_fetch", do=["end_old_fetch"])
    row(FETCHABLE,          "records_returned",   None,              rules="O4 O5",
        when="buffered",                  do=["return_records"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored(OWNED, "partition_added", because="already")
    ignored((*LIVE, PENDING_REVOCATION), "partition_enabled", because="already")
    ignored(PENDING_REVOCATION, "revocation_pending", because="already")
    ignored(UNASSIGNED,
        ("partition_enabled", "partition_removed", "revocation_pending", "sought", "topic_recreated", "paused_by_user",
         "resumed_by_user"),
        because="not_assigned")
    ignored((UNASSIGNED, ASSIGNED, *POSITIONED, PENDING_REVOCATION), "position_found", because="late", when="current")
    ignored((UNASSIGNED, *OWNED), "position_found", because="late", when="not current")
    ignored(PENDING_REVOCATION, ("sought", "paused_by_user", "resumed_by_user"), because="nothing_waits")
    ignored((ASSIGNED, AWAITING_POSITION), "paused_by_user", because="already", when="user_paused")
    ignored((ASSIGNED, AWAITING_POSITION), "resumed_by_user", because="already", when="not user_paused")
    ignored(PAUSED, "paused_by_user", because="already")
    ignored(FETCHABLE, "resumed_by_user", because="already")
    ignored(EVERY, "fetch_requested", because="already", when="demanded")
    ignored(FETCHABLE, "turn_ended", because="nothing_waits", when=~MAY_FETCH)
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION, PAUSED, PENDING_REVOCATION), "turn_ended",
        because="nothing_waits")
    ignored(POSITIONED, FETCH_ANSWERS, because="late", when="current and not fetch_out")
    ignored(PENDING_REVOCATION, FETCH_ANSWERS, because="late", when="current and not fetch_out")
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION), FETCH_ANSWERS, because="late", when="current")
    ignored(EVERY, FETCH_ANSWERS, because="late", when="not current and not old_fetch")
    ignored(FETCHABLE, "records_returned", because="nothing_waits", when="not buffered")
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION, PAUSED, PENDING_REVOCATION), "records_returned",
        because="nothing_waits")

    # -- what a correct member never does: take a partition away that was not paused first -----------------------------
    error((ASSIGNED, *LIVE), "partition_removed", rule="Q5")
    # fmt: on
