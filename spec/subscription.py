"""One partition, as the consumer that may own it sees it.

An assigned partition is not yet a fetchable one. First the listener must have heard of it (ASSIGNED); then a position must be
found (AWAITING_POSITION): the committed offset, or, if the group has none, what auto.offset.reset says (rules O1, O6). Only then
it is FETCHABLE, unless the application paused it (PAUSED). A partition that a rebalance will take away is PENDING_REVOCATION:
neither fetched nor returned from then on (rule Q5); what was buffered of it goes with it.

A poll that finds nothing to return asks for records (`demanded`), and goes on asking until some have come. A fetch is sent when
the partition is FETCHABLE, nothing of it is buffered, and none is in flight, not even one for an earlier position (rule O5). What
arrives is buffered; **the position moves when records are returned**, not when they arrive. Records for a position that is no longer
the one asked for (after seek(), a revocation, a reset) are dropped, wherever they were (rule O3).

A partition that is retained over a rebalance goes through nothing here: it keeps its position, its pause and its fetch
(rule O2).

One such machine runs for each partition; the rebalance speaks to those it concerns.

Sources: "Learning Kafka with Python: a deep dive into consumers and rebalancing" (subscription state, fetcher); Kafka
SubscriptionState, Fetcher; threading refactor proposal, "Rebalance States" (pause).
"""

from __future__ import annotations

from groupspec.spec.machine import State, StateMachine, error, ignored, row


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
    _OWNED = (ASSIGNED, AWAITING_POSITION, FETCHABLE, PAUSED, PENDING_REVOCATION)
    _EVERY = (UNASSIGNED, *_OWNED)
    _LIVE = (AWAITING_POSITION, FETCHABLE, PAUSED)
    _POSITIONED = (FETCHABLE, PAUSED)
    _FETCH_ANSWERS = ("fetch_answered", "fetch_failed", "fetch_out_of_range")

    #   in state            on event              goes to             when                                        do                        rules
    row(UNASSIGNED,         "partition_added",    ASSIGNED,                                                       do=["begin_anew"],        rules="C3 O1")
    row(ASSIGNED,           "partition_enabled",  AWAITING_POSITION,  when="not position",                                                  rules="C3 O1")
    row(ASSIGNED,           "partition_enabled",  FETCHABLE,          when="position and not user_paused",                                  rules="C3 C5")
    row(ASSIGNED,           "partition_enabled",  PAUSED,             when="position and user_paused",                                      rules="C3 C5")
    row(PENDING_REVOCATION, "partition_removed",  UNASSIGNED,                                                     do=["begin_anew"],        rules="O3 C3")
    row((ASSIGNED, *_LIVE), "revocation_pending", PENDING_REVOCATION,                                                                       rules="Q5 O3")

    row(AWAITING_POSITION,  "position_found",     FETCHABLE,          when="current and not user_paused",         do=["find_position"],     rules="O1 O6")
    row(AWAITING_POSITION,  "position_found",     PAUSED,             when="current and user_paused",             do=["find_position"],     rules="O1 O2 O6")
    row(AWAITING_POSITION,  "sought",             FETCHABLE,          when="not user_paused",                     do=["find_position"],     rules="O3")
    row(AWAITING_POSITION,  "sought",             PAUSED,             when="user_paused",                         do=["find_position"],     rules="O3")
    row((ASSIGNED, *_POSITIONED), "sought",       None,                                                           do=["find_position"],     rules="O3 C5")

    row((ASSIGNED, AWAITING_POSITION), "paused_by_user", None,        when="not user_paused",                     do=["pause"],             rules="C5 O2")
    row((ASSIGNED, AWAITING_POSITION), "resumed_by_user", None,       when="user_paused",                         do=["resume"],            rules="C5 O2")
    row(FETCHABLE,          "paused_by_user",     PAUSED,                                                         do=["pause"],             rules="O2 O5")
    row(PAUSED,             "resumed_by_user",    FETCHABLE,                                                      do=["resume"],            rules="O2 O5")

    row(_EVERY,             "fetch_requested",    None,               when="not demanded",                        do=["demand"],            rules="O5 Q6")
    row(FETCHABLE,          "turn_ended",         None,               when="demanded and not buffered and not fetch_out and not old_fetch", do=["fetch"], rules="O5")
    row(_POSITIONED,        "fetch_answered",     None,               when="current and fetch_out",               do=["buffer"],            rules="O5")
    row(_POSITIONED,        "fetch_failed",       None,               when="current and fetch_out",               do=["end_fetch"],         rules="O5")
    row(PENDING_REVOCATION, ("fetch_answered", "fetch_failed"), None, when="current and fetch_out",               do=["end_fetch"],         rules="O3 Q5")
    row(PENDING_REVOCATION, "fetch_out_of_range", None,               when="current and fetch_out",               do=["lose_position"],     rules="O3 O6")
    row(_POSITIONED,        "fetch_out_of_range", AWAITING_POSITION,  when="current and fetch_out",               do=["lose_position"],     rules="O6")
    row(_EVERY,             _FETCH_ANSWERS,       None,               when="not current and old_fetch",           do=["end_old_fetch"],     rules="O3")
    row(FETCHABLE,          "records_returned",   None,               when="buffered",                            do=["return_records"],    rules="O4 O5")

    # what changes nothing
    ignored(_OWNED,         "partition_added",    because="already")
    ignored((*_LIVE, PENDING_REVOCATION), "partition_enabled", because="already")
    ignored(PENDING_REVOCATION, "revocation_pending", because="already")
    ignored(UNASSIGNED,     ("partition_enabled", "partition_removed", "revocation_pending", "sought", "paused_by_user", "resumed_by_user"), because="not_assigned")
    ignored((UNASSIGNED, ASSIGNED, *_POSITIONED, PENDING_REVOCATION), "position_found", because="late", when="current")
    ignored((UNASSIGNED, *_OWNED), "position_found", because="late", when="not current")
    ignored(PENDING_REVOCATION, ("sought", "paused_by_user", "resumed_by_user"), because="nothing_waits")
    ignored((ASSIGNED, AWAITING_POSITION), "paused_by_user", because="already", when="user_paused")
    ignored((ASSIGNED, AWAITING_POSITION), "resumed_by_user", because="already", when="not user_paused")
    ignored(PAUSED,         "paused_by_user",     because="already")
    ignored(FETCHABLE,      "resumed_by_user",    because="already")
    ignored(_EVERY,         "fetch_requested",    because="already", when="demanded")
    ignored(FETCHABLE,      "turn_ended",         because="nothing_waits", when="not (demanded and not buffered and not fetch_out and not old_fetch)")
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION, PAUSED, PENDING_REVOCATION), "turn_ended", because="nothing_waits")
    ignored(_POSITIONED,    _FETCH_ANSWERS,       because="late", when="current and not fetch_out")
    ignored(PENDING_REVOCATION, _FETCH_ANSWERS,   because="late", when="current and not fetch_out")
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION), _FETCH_ANSWERS, because="late", when="current")
    ignored(_EVERY,         _FETCH_ANSWERS,       because="late", when="not current and not old_fetch")
    ignored(FETCHABLE,      "records_returned",   because="nothing_waits", when="not buffered")
    ignored((UNASSIGNED, ASSIGNED, AWAITING_POSITION, PAUSED, PENDING_REVOCATION), "records_returned", because="nothing_waits")
    # what a correct member never does: take a partition away that was not paused first
    error((ASSIGNED, *_LIVE), "partition_removed", rule="Q5")
    # fmt: on
