"""Chapter W: a client over its quota (KIP-219)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, within
from groupspec.conformance.history.entry import silences
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.history import History, once

CLOCK_US: Final = 10_000
"""Clients count in milliseconds, and their timers may ring a few too early."""
CAUSED: Final = {
    ("FindCoordinator", "NONE"): "JoinGroup",
    ("JoinGroup", "MEMBER_ID_REQUIRED"): "JoinGroup",
    ("JoinGroup", "NONE"): "SyncGroup",
    ("SyncGroup", "NONE"): "OffsetFetch",
    ("Heartbeat", "REBALANCE_IN_PROGRESS"): "JoinGroup",
    ("Fetch", "NONE"): "Fetch",
}
"""What nobody sends before having read such an answer, however soon it comes."""
MUST_FOLLOW: Final = {"JoinGroup": "SyncGroup", "Heartbeat": "Heartbeat"}
"""What a member sends soon after such an answer, whatever else it does; after others perhaps nothing is due there."""


@once
def throttled(history: History) -> Iterator[tuple[Exchange, int]]:
    """What was answered so, and for how long, in us."""
    for exchange in history.exchanges:
        if exchange.answer is not None and exchange.answer.throttle_ms:
            yield exchange, 1000 * exchange.answer.throttle_ms


def next_on(history: History, connection: int, after_us: int, api: str = "") -> list[Exchange]:
    """What was sent on a connection from then on, of one API or of any."""
    found = (e for e in history.exchanges if e.sent_us > after_us and e.request.connection == connection)
    return [e for e in found if api in ("", e.api)]


@checks("W2")
def who_is_over_its_quota_is_silent(history: History) -> Iterator[Finding]:
    """Nothing on that connection until the time is over; judged where something follows, or close() was called."""
    for exchange, duration_us in throttled(history):
        if exchange.answer is None or not silences(exchange.answer):
            continue
        told = exchange.told_us
        later = next_on(history, exchange.request.connection, told)
        caused = CAUSED.get((exchange.api, exchange.error), "")
        knows = Known.by(told, history.first(caused, told) if caused else None)
        early = [
            e
            for e in later
            if e.sent_us < told + duration_us - CLOCK_US and (e.api == caused or knows.before(e, history))
        ]
        which = f"the answer to {exchange.api}, over its quota for {duration_us // 1000} ms"
        if early:
            waited = f"{early[0].api} {(early[0].sent_us - told) / 1000:.0f} ms after {which}"
            yield broken(f"{waited} ({len(early)} requests in that time)", early[0].sent_us)
        elif last := [e for e in later if e.sent_us >= told + duration_us - CLOCK_US]:
            yield held(f"nothing was sent after {which}", last[0].sent_us)
        elif history.close_us is not None and told < history.close_us < told + duration_us:
            yield held(f"nothing was sent after {which}, not even by close()", history.ends_us)


@checks("W2")
def what_the_broker_has_waited_is_not_waited_again(history: History) -> Iterator[Finding]:
    """After an older answer, which may have been held back as long, what follows comes before half the time is over.

    Less the time in which something else was out on that connection: the broker does not read it before that is over.
    """
    for exchange, duration_us in throttled(history):
        if exchange.answer is None or silences(exchange.answer):
            continue
        told, follows, half_ms = exchange.told_us, MUST_FOLLOW.get(exchange.api, ""), duration_us / 2000
        later = next_on(history, exchange.request.connection, told, follows)
        if exchange.error == "NONE" and later:
            between = (e for e in next_on(history, exchange.request.connection, told) if e.sent_us < later[0].sent_us)
            told += sum(each.told_us - each.sent_us for each in between)
            reason = f"{later[0].api} after {exchange.api}, whose time over its quota is the broker's to keep"
            finding = within(history, told, later[0].sent_us, half_ms, reason, half_ms)
            if finding.held or (follows and half_ms >= 2 * history.settings.heartbeat_interval_ms):
                yield finding
