"""A coordinator that is silent, and how long a client waits for it (rules D6, H5, J5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held, in_vain, within, within_polls
from groupspec.conformance.history.exchange import COORDINATOR_GONE, GROUP_APIS, Exchange
from groupspec.conformance.history.history import History
from groupspec.impl.broker.controls import CUT

ACTS_WITHIN_MS: Final = 1_500
"""After a timeout: its timer may be looked at once in a while only, and a connection has to be made again."""
NOTICED_WITHIN_MS: Final = 800
"""After a session has run out: less than is left of the request timeout, which would end the silence, too."""
ASKED_OF_COORDINATOR: Final = ("Heartbeat", "SyncGroup", "OffsetCommit", "OffsetFetch")
"""Not JoinGroup, which may take longer (rule J5), nor LeaveGroup, after which nobody needs an answer."""


@checks("D6")
def an_unanswered_request_is_given_up(history: History) -> Iterator[Finding]:
    """Whatever is asked of the coordinator has its deadline; then another lookup, or another connection.

    Who does that in poll() cannot while the application pauses (Java: ConsumerNetworkClient, but for heartbeats).
    """
    bound = history.settings.request_timeout_ms + ACTS_WITHIN_MS
    for exchange in history.of(*ASKED_OF_COORDINATOR):
        left = history.first("LeaveGroup", exchange.sent_us)
        end = min(
            history.until_close_us, exchange.told_us or history.ends_us, left.sent_us if left else history.ends_us
        )
        acted = gives_up_waiting(history, exchange)
        if acted is not None and acted <= end:
            took = history.took_ms(exchange.sent_us, acted)
            late = "only " if took > bound else ""
            reason = f"{exchange.api}, which was not answered, was given up {late}after {took:.0f} ms"
            judged = within if exchange.api == "Heartbeat" else within_polls
            yield judged(history, exchange.sent_us, acted, bound, reason)
            return
        took_ms = history.took_ms if exchange.api == "Heartbeat" else history.able_to_join_ms
        if took_ms(exchange.sent_us, end) > bound:
            reason = f"{exchange.api} was not answered, and nothing was done about it"
            yield in_vain(reason, exchange.sent_us, end)
            return


def left_us(history: History, after_us: int) -> int:
    """When the member leaves, or is closed; the end of the run if neither."""
    leave = history.first("LeaveGroup", after_us)
    return history.until_close_us if leave is None else min(history.until_close_us, leave.sent_us)


def gives_up_waiting(history: History, exchange: Exchange) -> int | None:
    """When the client closed the connection of a request without an answer, or turned to another; None if never.

    Only what is answered late, or never, counts: else the answer is what it had waited for.
    """
    connection, sent_us = exchange.request.connection, exchange.sent_us
    closed = (e.at_us for e in history.entries if e.kind == "disconnect" and e.connection == connection)
    moments = [at_us for at_us in closed if at_us > sent_us]
    elsewhere = (
        e.sent_us
        for e in history.of("FindCoordinator", "JoinGroup", *ASKED_OF_COORDINATOR)
        if e.sent_us > sent_us and (e.api == "FindCoordinator" or e.request.connection != connection)
    )
    moments += [at_us for at_us in [next(elsewhere, 0)] if at_us]
    first = min(moments, default=None)
    slow = exchange.answer is None or (first is not None and exchange.told_us > first)
    return first if slow else None


@checks("D6")
def a_lost_connection_is_made_again(history: History) -> Iterator[Finding]:
    """A coordinator that has hung up is looked for, or spoken to on a new connection, whether or not anybody asks.

    At the latest by its next heartbeat (Java: HeartbeatThread.run, which looks for a coordinator or sends one). Not
    while its node refuses connections: nobody sees how often that is tried.
    """
    bound = max(history.settings.request_timeout_ms, history.settings.heartbeat_interval_ms) + ACTS_WITHIN_MS
    for entry in history.entries:
        if entry.kind != "disconnect" or not history.before_close(entry.at_us):
            continue
        spoken = [e for e in history.of("Heartbeat", "SyncGroup") if e.request.connection == entry.connection]
        synced_us = max((sync.told_us for sync in history.syncs if sync.told_us < entry.at_us), default=None)
        if not spoken or synced_us is None:
            continue
        again = (
            e.sent_us
            for e in history.of("FindCoordinator", "JoinGroup", *ASKED_OF_COORDINATOR)
            if e.sent_us > entry.at_us and e.request.connection != entry.connection
        )
        back = next(again, None)
        by_us = min(entry.at_us + 1_000 * bound, history.ends_us if back is None else back)
        if history.gave_up(synced_us, by_us) or history.between(synced_us, by_us, "LeaveGroup"):
            continue
        if history.refuses_connections(entry.node, entry.at_us):
            if back is not None:
                yield held("the coordinator, whose node had refused connections, was turned to again", back)
            continue
        if back is not None:
            took = history.took_ms(entry.at_us, back)
            late = "only " if took > bound else ""
            reason = f"the coordinator was turned to again {late}{took:.0f} ms after it had hung up"
            yield within(history, entry.at_us, back, bound, reason)
        elif history.took_ms(entry.at_us, history.until_close_us) > bound:
            yield in_vain("nobody turned to the coordinator after it had hung up", entry.at_us, history.until_close_us)


@checks("H5")
def a_session_that_runs_out_is_noticed(history: History) -> Iterator[Finding]:
    """No heartbeat answered for a session timeout: the coordinator is looked for, or the membership doubted.

    REBALANCE_IN_PROGRESS is an answer, too (Java: HeartbeatResponseHandler, receiveHeartbeat); and there is nothing to
    be done while the coordinator is looked for anyhow. Who waits for a JoinGroup has no session that could run out
    (Java: AbstractCoordinator.initiateJoinGroup, disableHeartbeatThread).
    """
    session_ms = history.settings.session_timeout_ms
    bound = session_ms + NOTICED_WITHIN_MS
    for beat in history.of("Heartbeat"):
        alive = ("NONE", "REBALANCE_IN_PROGRESS")
        good = [e.told_us for e in history.of("JoinGroup", "SyncGroup", "Heartbeat") if e.error in alive]
        last_us = max((at_us for at_us in good if at_us <= beat.sent_us), default=None)
        join = history.first("JoinGroup", beat.sent_us)
        joins_us = history.ends_us if join is None else join.sent_us
        end = min(left_us(history, beat.sent_us), beat.told_us or history.ends_us, joins_us)
        if last_us is None or (end - last_us) / 1000 <= session_ms:
            continue
        if history.looks_for_coordinator(last_us + 1000 * session_ms):
            continue
        lost = (at_us for at_us in history.gave_up_us if at_us > last_us)
        moments = [at_us for at_us in (gives_up_waiting(history, beat), next(lost, None)) if at_us is not None]
        acted = min(moments, default=None)
        if acted is not None and acted <= end:
            took = history.took_ms(last_us, acted)
            late = "only " if took > bound else ""
            told = f"no heartbeat was answered, and the client acted on it {late}{took:.0f} ms after the last that was"
            yield within(history, last_us, acted, bound, f"{told} (session.timeout.ms={session_ms})")
        elif history.took_ms(last_us, end) > bound:
            what = f"no heartbeat was answered for {(end - last_us) / 1000:.0f} ms, and nothing was done about it"
            yield in_vain(f"{what} (session.timeout.ms={session_ms})", last_us, end)
        return


@checks("J5")
def a_join_is_waited_for(history: History) -> Iterator[Finding]:
    """JoinGroup waits for the other members: it is not given up before the rebalance timeout is over.

    Unless the application wants no topics any more, or the client has left, or another answer has told it that this is
    not the coordinator any more (Java: AbstractCoordinator.markCoordinatorUnknown disconnects), or another request on
    the connection has timed out (Java: NetworkClient.handleTimedOutRequests).
    """
    settings = history.settings
    least_ms = max(settings.max_poll_interval_ms, settings.request_timeout_ms) - history.exact.step_us / 1_000
    for join in history.of("JoinGroup"):
        end = join.told_us or history.until_close_us
        given_up = given_up_by_the_client(history, join, end)
        waited = history.took_ms(join.sent_us, end) if given_up is None else history.apart_ms(join.sent_us, given_up)
        limits = f"(rebalance timeout {settings.max_poll_interval_ms} ms)"
        if given_up is not None and is_given_up_for_another_reason(history, join, given_up):
            continue
        if given_up is not None and waited < least_ms:
            yield broken(f"JoinGroup was given up after {waited:.0f} ms {limits}", given_up)
        elif join.answer is not None and waited > settings.request_timeout_ms:
            yield held(f"JoinGroup was waited for for {waited:.0f} ms {limits}", end)


def is_given_up_for_another_reason(history: History, join: Exchange, at_us: int) -> bool:
    """Whether the client left, or gave the coordinator or the connection up."""
    others = history.of(*GROUP_APIS)
    told = (each.told_us for each in others if each.error in COORDINATOR_GONE)
    coordinator_gone = any(join.sent_us <= told_us <= at_us for told_us in told)
    timeout_ms = history.settings.request_timeout_ms - history.exact.step_us / 1_000
    timed_out = any(
        not each.ended_before(at_us) and history.apart_ms(each.sent_us, at_us) >= timeout_ms
        for each in others
        if each.api != "JoinGroup" and each.request.connection == join.request.connection and each.sent_us < at_us
    )
    return coordinator_gone or timed_out or history.left(join.sent_us, at_us)


def given_up_by_the_client(history: History, join: Exchange, end_us: int) -> int | None:
    """When the client hung up on a JoinGroup, or sent another, before the answer; None if it did not."""
    connection = join.request.connection
    notes = (e for e in history.of_kind("note") if e.connection == connection and join.sent_us <= e.at_us <= end_us)
    if any(CUT in note.text for note in notes):
        return None
    hung_up = [e.at_us for e in history.entries if e.kind == "disconnect" and e.connection == connection]
    again = [later.sent_us for later in history.of("JoinGroup")]
    return min((at_us for at_us in (*hung_up, *again) if join.sent_us < at_us < end_us), default=None)
