"""Heartbeats and the three timers of KIP-62.

Before KIP-62 one timeout had three meanings: the process is alive, the application makes progress, and the group waits
this long for a rebalance. KIP-62 separates them. The *session timeout* is about the process: heartbeats from a
background thread renew the session. The *poll interval* is about the application, and the client enforces it itself: a
member that does not poll leaves. The *rebalance timeout* is the coordinator's (JoinGroup v1 carries it), so it is no
timer of this machine.

Heartbeats run from the answer to JoinGroup until the next JoinGroup is sent or the identity is gone (rules H1, H3):
while SyncGroup is in flight, and during every callback. While a JoinGroup is in flight the coordinator counts it as a
sign of life, and nothing is evaluated here.

The order of the checks is KIP-62's, one turn of the loop after another: coordinator unknown, session expired, poll
interval expired, heartbeat not due, send. So a session that runs out, or an application that stalls, while no
coordinator is known (`coordinator_known`) has no effect before one is found. What fell due meanwhile takes effect then:
the poll interval as soon as the coordinator is found, a heartbeat when the loop has done everything else
(`turn_ended`), unless a JoinGroup is sent first.

- **Session expired**: the coordinator is suspect, not the membership. It is forgotten (`coordinator_gone`) and
  discovered anew (rule H5); only the coordinator itself can expel the member. (librdkafka differs: it revokes.)
- **Poll interval expired** (`poll_limit_reached`): a dynamic member leaves; a static one sends nothing more, and the
  coordinator keeps it as a member until the session runs out (rules P1, L1). Either way the identity is gone, see
  `rebalance.py`.
- **One heartbeat in flight** at most (rule H7; Java allows several). The next falls due an interval after the last was
  *sent*; if that is before the answer, it is sent after the answer. A failed one is tried again after the retry
  backoff.

Both arithmetics of expiry are deployed: `now - last > timeout` (the seeds, kafka-python, Java before 2.1) and `>=`
(Java since). Time is not in these tables, so the difference is not either: `differences.py` has it, and for which
lengths of the timeouts a member that lives and polls is put out, in either arithmetic, is proved in
`expiry/theorems.py`.

Sources: KIP-62, "Proposed Changes"; Chrząszcz, "What does the heartbeat thread do in Kafka Consumer?" (2019); Kafka
AbstractCoordinator.HeartbeatThread, Heartbeat.
"""

from __future__ import annotations

from typing import Final

from groupspec.spec.machine import State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Variable

# fmt: off
VARIABLES: Final = (
    Variable("heartbeat_overdue", NO_YES, False, "state", "timeouts",
             doc="a heartbeat fell due while one was in flight or no coordinator known"),
    Variable("poll_overdue", NO_YES, False, "state", "timeouts",
             doc="the poll interval has expired, and nothing has restarted it"),
)

EFFECTS: Final = (
    Effect("send_heartbeat", {"heartbeat_overdue": "False"}, ("Heartbeat",)),
    Effect("note_overdue_heartbeat", {"heartbeat_overdue": "True"}),
    Effect("schedule_retry", {"heartbeat_overdue": "False"},
           doc="the next heartbeat falls due after the retry backoff"),
    Effect("note_overdue_poll", {"poll_overdue": "True"}),
    Effect("restart_poll_interval", {"poll_overdue": "False"}, doc="max.poll.interval.ms from now on"),
    Effect("restart_timers", {"heartbeat_overdue": "False", "poll_overdue": "False"},
           doc="heartbeat, session and poll interval, all from now on"),
    Effect("report_poll_limit", {"poll_overdue": "True"}, ("poll_limit_reached",)),
)
# fmt: on


class Timeouts(StateMachine):
    """When a member sends heartbeats, and what follows from its timers."""

    machine_name = "timeouts"

    STOPPED = State(initial=True)
    DISABLED = State()
    IDLE = State()
    IN_FLIGHT = State()

    # fmt: off
    ENABLED = (IDLE, IN_FLIGHT)
    OFF = (STOPPED, DISABLED)
    EVERY = (*OFF, *ENABLED)
    ALIVE = ("heartbeat_ok", "heartbeat_rebalance_in_progress")
    REFUSED = ("heartbeat_unknown_member", "heartbeat_illegal_generation", "heartbeat_fenced")
    ANSWERS = (*ALIVE, *REFUSED, "heartbeat_retriable", "heartbeat_error", "heartbeat_coordinator_gone")

    # -- heartbeats begin and end --------------------------------------------------------------------------------------
    row(STOPPED,  "started",             DISABLED,                        rules="D7")
    row(DISABLED, "stopped",             STOPPED,                         rules="H3 L4")
    row(DISABLED, "heartbeats_enabled",  IDLE,     do=["restart_timers"], rules="H1 P2")
    row(ENABLED,  "heartbeats_disabled", DISABLED, do=["restart_timers"], rules="H3")

    # -- heartbeats ----------------------------------------------------------------------------------------------------
    row(IDLE,      "heartbeat_due",              IN_FLIGHT, rules="H2 D4",
        when="coordinator_known and not heartbeat_overdue",     do=["send_heartbeat"])
    row(IDLE,      "heartbeat_due",              None,      rules="H2 D4",
        when="not coordinator_known and not heartbeat_overdue", do=["note_overdue_heartbeat"])
    row(IN_FLIGHT, "heartbeat_due",              None,      rules="H7",
        when="not heartbeat_overdue",                           do=["note_overdue_heartbeat"])
    row(IDLE,      "turn_ended",                 IN_FLIGHT, rules="H2 D1",
        when="heartbeat_overdue and coordinator_known",         do=["send_heartbeat"])
    row(IN_FLIGHT, ALIVE,                        IDLE,      rules="H1 H7", when="current")
    row(IN_FLIGHT, REFUSED,                      IDLE,      rules="H4 H7", when="current")
    row(IN_FLIGHT, "heartbeat_retriable",        IDLE,      rules="H4 H7 D3",
        when="current",                                         do=["schedule_retry"])
    row(IN_FLIGHT, "heartbeat_error",            IDLE,      rules="H4 H7",
        when="current",                                         do=["schedule_retry", "throw"])
    row(IN_FLIGHT, "heartbeat_coordinator_gone", IDLE,      rules="D1 H4",
        when="current",                                         do=["schedule_retry", "report_coordinator_gone"])
    row(IN_FLIGHT, "coordinator_lost",           IDLE,      rules="D5 H4", do=["schedule_retry"])

    # -- session and poll interval -------------------------------------------------------------------------------------
    row(ENABLED, "session_expired",       None, rules="H5 D1",
        when="coordinator_known",                          do=["report_coordinator_gone"])
    row(ENABLED, "poll_interval_expired", None, rules="P1",
        when="coordinator_known and not poll_overdue",     do=["report_poll_limit"])
    row(ENABLED, "poll_interval_expired", None, rules="P1",
        when="not coordinator_known and not poll_overdue", do=["note_overdue_poll"])
    row(ENABLED, "coordinator_found",     None, rules="P1",
        when="poll_overdue",                               do=["report_poll_limit"])
    row(ENABLED, "poll_raised",           None, rules="P2 X2", do=["restart_poll_interval"])
    row(ENABLED, "application_polled",    None, rules="P2", do=["restart_poll_interval"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored((DISABLED, *ENABLED), "started", because="already")
    ignored(STOPPED, "stopped", because="already")
    ignored(OFF, "heartbeats_disabled", because="already")
    ignored(STOPPED, "heartbeats_enabled", because="nothing_waits")
    ignored(OFF, ("heartbeat_due", "session_expired", "poll_interval_expired", "application_polled", "poll_raised"),
        because="timer_off")
    ignored(ENABLED, "session_expired", because="waiting", when="not coordinator_known")
    ignored(ENABLED, "poll_interval_expired", because="already", when="poll_overdue")
    ignored(ENABLED, "coordinator_found", because="nothing_waits", when="not poll_overdue")
    ignored(OFF, "coordinator_found", because="nothing_waits")
    ignored(ENABLED, "heartbeat_due", because="already", when="heartbeat_overdue")
    ignored(IDLE, "turn_ended", because="waiting", when="not (heartbeat_overdue and coordinator_known)")
    ignored((*OFF, IN_FLIGHT), "turn_ended", because="nothing_waits")
    ignored((*OFF, IDLE), "coordinator_lost", because="nothing_waits")
    ignored(EVERY, ANSWERS, because="late", when="not current")

    # -- what a correct peer never does: answer a heartbeat that is not out --------------------------------------------
    error((*OFF, IDLE), ANSWERS, rule="J9", when="current")

    # -- what a correct member never does: end without having left; join twice without a JoinGroup between -------------
    error(ENABLED, "stopped", rule="H3")
    error(ENABLED, "heartbeats_enabled", rule="H3")
    # fmt: on
