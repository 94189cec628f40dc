"""The connection of one member to the group coordinator.

One broker coordinates the group, and any broker answers which one it is. The proposal gives the background thread four
states:

- DOWN: the thread does not run;
- INITIALIZED: it runs, and no coordinator is needed, or the backoff after a failed discovery runs;
- COORDINATOR_DISCOVERY: a FindCoordinator is in flight;
- STABLE: the coordinator is known. (The rebalance has a STABLE of its own: always write `connection.STABLE`.)

**Discovery is on demand**: the first event that needs a coordinator starts it (rule D7). Shipped clients differ from
the proposal: Java's async consumer looks for a coordinator whenever it has none. A group member always needs one, so
for a member both come to the same.

**The coordinator is forgotten** after any answer that says that the broker is not the coordinator or not available, a
disconnect, a request without an answer, and an expired session (rules D1, H5). Errors about the member
(REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID) leave it known. The coordinator is
unknown before the requests in flight to it fail (rule D5), so their failures find nothing left to forget.

**A failed discovery** is repeated after the retry backoff for as long as a coordinator is needed. One that only the
application can resolve (not authorised) is thrown, and repeated when the application polls again.

Emits `coordinator_found` and `coordinator_lost` to the other machines. The rebalance says whether a coordinator is
needed; the rebalance and the timers say that it is gone.

Sources: threading refactor proposal (Apache Kafka wiki), "Background thread and its lifecycle"; Kafka
AbstractCoordinator.ensureCoordinatorReady, FindCoordinatorResponseHandler, markCoordinatorUnknown.
"""

from __future__ import annotations

from typing import Final

from groupspec.spec.machine import Guard, State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Variable

# fmt: off
VARIABLES: Final = (
    Variable("coordinator_known", NO_YES, False, "state", "connection",
             doc="the last lookup found it, and nothing since said otherwise"),
    Variable("member_needs", NO_YES, False, "state", "connection", doc="the rebalance needs a coordinator"),
    Variable("request_pending", NO_YES, False, "state", "connection",
             doc="a commit, or a question for committed offsets, needs a coordinator"),
    Variable("discovery_wait", ("none", "backoff", "poll"), "none", "state", "connection",
             doc="what the next lookup waits for: nothing, the retry backoff, or (after a fatal error) a poll"),
)

EFFECTS: Final = (
    Effect("note_need", {"member_needs": "True"}),
    Effect("end_need", {"member_needs": "False"}),
    Effect("note_request", {"request_pending": "True"}),
    Effect("end_requests", {"request_pending": "False"}),
    Effect("send_find_coordinator", {"discovery_wait": "'none'"}, ("FindCoordinator",)),
    Effect("know_coordinator", {"coordinator_known": "True"}, ("coordinator_found",)),
    Effect("forget_coordinator", {"coordinator_known": "False"}, ("coordinator_lost",)),
    Effect("back_off_discovery", {"discovery_wait": "'backoff'"}),
    Effect("await_poll_to_discover", {"discovery_wait": "'poll'"}),
    Effect("end_discovery_wait", {"discovery_wait": "'none'"}),
    Effect("need_nothing", {"member_needs": "False", "request_pending": "False", "discovery_wait": "'none'"}),
)

NEEDED: Final = Guard("member_needs or request_pending")
"""Somebody needs a coordinator."""
# fmt: on


class Connection(StateMachine):
    """How one member finds its coordinator, and forgets it."""

    machine_name = "connection"

    DOWN = State(initial=True)
    INITIALIZED = State()
    COORDINATOR_DISCOVERY = State()
    STABLE = State()

    # fmt: off
    RUNNING = (INITIALIZED, COORDINATOR_DISCOVERY, STABLE)
    IDLE = (DOWN, INITIALIZED, STABLE)
    CALLS = ("subscribed_to_topics", "subscription_changed", "rejoin_requested", "leave_requested")

    # -- the background thread begins and ends -------------------------------------------------------------------------
    row(DOWN,    "started", INITIALIZED,                                            rules="D7")
    row(RUNNING, "stopped", DOWN,        do=["forget_coordinator", "need_nothing"], rules="L4")

    # -- a coordinator is needed, or not -------------------------------------------------------------------------------
    row(INITIALIZED, "coordinator_needed",        COORDINATOR_DISCOVERY, rules="D7 D2",
        when="discovery_wait == 'none'",    do=["note_need", "send_find_coordinator"])
    row(INITIALIZED, "commit_or_fetch_requested", COORDINATOR_DISCOVERY, rules="D7 D2",
        when="discovery_wait != 'backoff'", do=["note_request", "send_find_coordinator"])
    row(INITIALIZED, "coordinator_needed",        None,                  rules="D3",
        when="discovery_wait != 'none'",    do=["note_need"])
    row(INITIALIZED, "commit_or_fetch_requested", None,                  rules="D3",
        when="discovery_wait == 'backoff'", do=["note_request"])
    row((COORDINATOR_DISCOVERY, STABLE), "coordinator_needed", None,     rules="D2 D4", do=["note_need"])
    row((COORDINATOR_DISCOVERY, STABLE), "commit_or_fetch_requested", None, rules="D2 D4", do=["note_request"])
    row(RUNNING,     "coordinator_needless",      None,                  rules="D7", do=["end_need"])
    row(RUNNING,     "requests_settled",          None,                  rules="D7",
        when="request_pending",             do=["end_requests"])

    # -- a lookup is answered, or tried again --------------------------------------------------------------------------
    row(COORDINATOR_DISCOVERY, "discovery_succeeded",       STABLE,                rules="D2 D4",
        when="current",                               do=["know_coordinator"])
    row(COORDINATOR_DISCOVERY, "discovery_retriable",       INITIALIZED,           rules="D2 D3 D7",
        when="current",                               do=["back_off_discovery"])
    row(COORDINATOR_DISCOVERY, "discovery_fatal",           INITIALIZED,           rules="D2 H4",
        when="current",                               do=["await_poll_to_discover", "end_requests", "throw"])
    row(INITIALIZED,           "discovery_backoff_elapsed", COORDINATOR_DISCOVERY, rules="D1 D3 D7",
        when="discovery_wait == 'backoff'" & NEEDED,  do=["send_find_coordinator"])
    row(INITIALIZED,           "discovery_backoff_elapsed", None,                  rules="D7",
        when="discovery_wait == 'backoff'" & ~NEEDED, do=["end_discovery_wait"])
    row(INITIALIZED,           "application_polled",        COORDINATOR_DISCOVERY, rules="D1 D7",
        when="discovery_wait == 'poll'" & NEEDED,     do=["send_find_coordinator"])
    row(INITIALIZED,           "application_polled",        None,                  rules="D7",
        when="discovery_wait == 'poll'" & ~NEEDED,    do=["end_discovery_wait"])

    # -- the coordinator is gone ---------------------------------------------------------------------------------------
    row(STABLE, "coordinator_gone", COORDINATOR_DISCOVERY, rules="D1 D5",
        when=NEEDED,            do=["forget_coordinator", "send_find_coordinator"])
    row(STABLE, "coordinator_gone", INITIALIZED,           rules="D1 D5 D7",
        when=~NEEDED,           do=["forget_coordinator"])

    row(STABLE, "offset_fetch_coordinator_gone", COORDINATOR_DISCOVERY, rules="D1 D5",
        when="current and request_pending", do=["forget_coordinator", "send_find_coordinator"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored(RUNNING, "started", because="already")
    ignored(DOWN, "stopped", because="already")
    ignored(DOWN, ("coordinator_needed", "coordinator_needless", "coordinator_gone", "requests_settled"),
        because="nothing_waits")
    ignored(RUNNING, CALLS, because="nothing_waits")
    ignored(RUNNING, "requests_settled", because="nothing_waits", when="not request_pending")
    ignored((INITIALIZED, COORDINATOR_DISCOVERY), "coordinator_gone", because="already")
    ignored(INITIALIZED, "application_polled", because="nothing_waits", when="discovery_wait != 'poll'")
    ignored((COORDINATOR_DISCOVERY, STABLE), "application_polled", because="nothing_waits")
    ignored(INITIALIZED, "discovery_backoff_elapsed", because="timer_off", when="discovery_wait != 'backoff'")
    ignored((DOWN, COORDINATOR_DISCOVERY, STABLE), "discovery_backoff_elapsed", because="timer_off")
    ignored((DOWN, *RUNNING),
        ("discovery_succeeded", "discovery_retriable", "discovery_fatal", "offset_fetch_coordinator_gone"),
        because="late", when="not current")

    # -- what a correct application never does: ask a consumer that is closed ------------------------------------------
    error(DOWN, (*CALLS, "application_polled", "commit_or_fetch_requested"), rule="L4")

    # -- what a correct peer never does: answer a lookup that is not out -----------------------------------------------
    error(IDLE, ("discovery_succeeded", "discovery_retriable", "discovery_fatal"), rule="D2", when="current")
    error((DOWN, INITIALIZED, COORDINATOR_DISCOVERY), "offset_fetch_coordinator_gone", rule="J9", when="current")
    error(STABLE, "offset_fetch_coordinator_gone", rule="J9", when="current and not request_pending")
    # fmt: on
