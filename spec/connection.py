"""The connection to the group coordinator.

A group has one broker that coordinates it, and any broker can say which. The proposal gives the background thread four
states. DOWN: it does not run. INITIALIZED: it runs, and nobody needs a coordinator, or the last lookup failed and its
backoff runs. COORDINATOR_DISCOVERY: a FindCoordinator is out. STABLE: the coordinator is known. (The rebalance has a STABLE
of its own: always say `connection.STABLE`.)

Discovery is **on demand**: the first event that needs a coordinator starts it (rule D7). Shipped clients differ from the
proposal here: Java's async consumer looks for a coordinator whenever it has none. A group member always needs one, so for a
member the two come to the same.

**Forgetting** the coordinator is the other half. Any answer that says "not me" or "not now", any disconnect and any
request without an answer, and a session that ran out, make the coordinator unknown (rules D1, H5); errors about the member
(REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID) do not. The order matters: first it is
unknown, then what is under way to it fails (rule D5), so that those failures find nothing left to forget.

**A failed lookup** is tried again after the retry backoff for as long as something needs it; one that only the application
can mend (not authorised) is thrown, and tried again when the application polls again.

The connection tells its neighbours `coordinator_found` and `coordinator_lost`, and hears from the rebalance whether one is needed
and, from it and from the timers, that the coordinator is gone.

Sources: threading refactor proposal (Apache Kafka wiki), "Background thread and its lifecycle"; Kafka
AbstractCoordinator.ensureCoordinatorReady, FindCoordinatorResponseHandler, markCoordinatorUnknown.
"""

from __future__ import annotations

from groupspec.spec.machine import State, StateMachine, error, ignored, row


class Connection(StateMachine):
    """How one member finds its coordinator, and forgets it."""

    machine_name = "connection"

    DOWN = State(initial=True)
    INITIALIZED = State()
    COORDINATOR_DISCOVERY = State()
    STABLE = State()

    # fmt: off
    _RUNNING = (INITIALIZED, COORDINATOR_DISCOVERY, STABLE)
    _IDLE = (DOWN, INITIALIZED, STABLE)
    _CALLS = ("subscribed_to_topics", "subscription_changed", "rejoin_requested", "leave_requested")

    #   in state               on event                 goes to                when                                       do                                            rules
    row(DOWN,                  "started",               INITIALIZED,                                                                                                    rules="D7")
    row(_RUNNING,              "stopped",               DOWN,                                                             do=["forget_coordinator", "need_nothing"],    rules="L4")

    row(INITIALIZED,           "coordinator_needed",    COORDINATOR_DISCOVERY, when="lookup_wait == 'none'",              do=["note_need", "look_up"],                  rules="D7 D2")
    row(INITIALIZED,           "commit_or_fetch_asked", COORDINATOR_DISCOVERY, when="lookup_wait != 'backoff'",           do=["note_ask", "look_up"],                   rules="D7 D2")
    row(INITIALIZED,           "coordinator_needed",    None,                  when="lookup_wait != 'none'",              do=["note_need"],                             rules="D3")
    row(INITIALIZED,           "commit_or_fetch_asked", None,                  when="lookup_wait == 'backoff'",           do=["note_ask"],                              rules="D3")
    row((COORDINATOR_DISCOVERY, STABLE), "coordinator_needed", None,                                                      do=["note_need"],                             rules="D2 D4")
    row((COORDINATOR_DISCOVERY, STABLE), "commit_or_fetch_asked", None,                                                   do=["note_ask"],                              rules="D2 D4")
    row(_RUNNING,              "coordinator_needless",  None,                                                             do=["end_need"],                              rules="D7")
    row(_RUNNING,              "asks_settled",          None,                  when="asked",                              do=["end_asks"],                              rules="D7")

    row(COORDINATOR_DISCOVERY, "lookup_found",          STABLE,                when="current",                            do=["know_coordinator"],                      rules="D2 D4")
    row(COORDINATOR_DISCOVERY, "lookup_retriable",      INITIALIZED,           when="current",                            do=["back_off_lookup"],                       rules="D2 D3 D7")
    row(COORDINATOR_DISCOVERY, "lookup_fatal",          INITIALIZED,           when="current",                            do=["await_poll_to_look_up", "end_asks", "throw"], rules="D2 H4")
    row(INITIALIZED,           "lookup_backoff_elapsed", COORDINATOR_DISCOVERY, when="lookup_wait == 'backoff' and (member_needs or asked)",     do=["look_up"],            rules="D1 D3 D7")
    row(INITIALIZED,           "lookup_backoff_elapsed", None,                 when="lookup_wait == 'backoff' and not (member_needs or asked)", do=["end_lookup_wait"],    rules="D7")
    row(INITIALIZED,           "application_polled",    COORDINATOR_DISCOVERY, when="lookup_wait == 'poll' and (member_needs or asked)",         do=["look_up"],            rules="D1 D7")
    row(INITIALIZED,           "application_polled",    None,                  when="lookup_wait == 'poll' and not (member_needs or asked)",     do=["end_lookup_wait"],    rules="D7")

    row(STABLE,                "coordinator_gone",      COORDINATOR_DISCOVERY, when="member_needs or asked",                 do=["forget_coordinator", "look_up"],         rules="D1 D5")
    row(STABLE,                "coordinator_gone",      INITIALIZED,           when="not (member_needs or asked)",             do=["forget_coordinator"],                    rules="D1 D5 D7")

    row(STABLE,                "ask_coordinator_gone",  COORDINATOR_DISCOVERY, when="current and asked",                  do=["forget_coordinator", "look_up"],         rules="D1 D5")

    # what changes nothing
    ignored(_RUNNING,          "started",               because="already")
    ignored(DOWN,              "stopped",               because="already")
    ignored(DOWN,              ("coordinator_needed", "coordinator_needless", "coordinator_gone", "asks_settled"), because="nothing_waits")
    ignored(_RUNNING,          _CALLS,                  because="nothing_waits")
    ignored(_RUNNING,          "asks_settled",          because="nothing_waits", when="not asked")
    ignored((INITIALIZED, COORDINATOR_DISCOVERY), "coordinator_gone", because="already")
    ignored(INITIALIZED,       "application_polled",    because="nothing_waits", when="lookup_wait != 'poll'")
    ignored((COORDINATOR_DISCOVERY, STABLE), "application_polled", because="nothing_waits")
    ignored(INITIALIZED,       "lookup_backoff_elapsed", because="timer_off", when="lookup_wait != 'backoff'")
    ignored((DOWN, COORDINATOR_DISCOVERY, STABLE), "lookup_backoff_elapsed", because="timer_off")
    ignored((DOWN, *_RUNNING), ("lookup_found", "lookup_retriable", "lookup_fatal", "ask_coordinator_gone"), because="late", when="not current")
    # what a correct application never does: ask a consumer that is closed
    error(DOWN,                (*_CALLS, "application_polled", "commit_or_fetch_asked"), rule="L4")
    # what a correct peer never does: answer a lookup that is not out
    error(_IDLE,               ("lookup_found", "lookup_retriable", "lookup_fatal"), rule="D2", when="current")
    error((DOWN, INITIALIZED, COORDINATOR_DISCOVERY), "ask_coordinator_gone", rule="J9", when="current")
    error(STABLE,              "ask_coordinator_gone",  rule="J9", when="current and not asked")
    # fmt: on
