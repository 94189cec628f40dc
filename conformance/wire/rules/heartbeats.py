"""Chapter H: heartbeats, when they run, when they don't, and that each answer has an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from groupspec.conformance.bounds import heartbeat_bound_ms
from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.history import Callback, Exchange, History, Known
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held, in_vain, within
from groupspec.conformance.wire.rules.discovery import COORDINATOR_GONE
from groupspec.conformance.wire.rules.joining import REBALANCE, joined_meanwhile

Stretch = tuple[int, int]
SOONER = 0.5  # of the interval: clearly sooner than a timer that was late once
HELD_BACK_MS = 50  # an answer that took longer was held back by the scenario


def bound_ms(history: History) -> float:
    """How late "about every heartbeat.interval" may be in this run."""
    return heartbeat_bound_ms(history.settings.heartbeat_interval_ms)


def length_ms(stretch: Stretch) -> float:
    """How long it was by the clock: long enough to tell anything?"""
    return (stretch[1] - stretch[0]) / 1000


def silences(history: History, stretch: Stretch) -> Iterator[tuple[float, Stretch]]:
    """Each time within a stretch in which no heartbeat was sent and none was out: how long (ms), from when to when.

    Answers keep the order of the requests, so a heartbeat may have to wait behind a SyncGroup; a client that has one
    out need not send another (rule H7).
    """
    start, end = stretch
    quiet_from = start
    for beat in history.of("Heartbeat"):
        answered = history.ends_us if beat.answered_us is None else beat.answered_us
        if answered < start or beat.sent_us > end:
            continue
        quiet_to = max(quiet_from, beat.sent_us)
        yield history.took_ms(quiet_from, quiet_to), (quiet_from, quiet_to)
        quiet_from = max(quiet_from, answered)
    if quiet_from < end:
        yield history.took_ms(quiet_from, end), (quiet_from, end)


def leaving(history: History) -> int:
    """When close() was called; the end of the run if it was not.

    It ends the heartbeats (Java: AbstractCoordinator.close).
    """
    asked = history.events(protocol.ShutdownRequested)
    return asked[0][0] if asked else history.ends_us


@checks("H1")
def heartbeats_while_waiting_for_sync(history: History) -> Iterator[Finding]:
    """A late SyncGroup does not silence the member.

    A leader is silent while it computes (Java: onLeaderElected holds the monitor that HeartbeatThread needs), until
    SyncGroup is sent.
    """
    for join in history.answers("JoinGroup", "NONE"):
        sync = history.first("SyncGroup", join.answered_us or 0)
        if sync is None or sync.answered_us is None:
            continue
        stretch = (sync.sent_us, min(sync.answered_us, leaving(history)))
        yield from judge_silence(history, stretch, "while SyncGroup was unanswered")


@checks("H1")
def heartbeats_during_callbacks(history: History) -> Iterator[Finding]:
    """A callback, however long, does not silence the member; the one for lost partitions has no member to speak for."""
    for callback in history.callbacks:
        if (
            callback.name != "partitions_lost"
            and callback.ended_us is not None
            and callback.ended_us <= leaving(history)
            and still_member(history, callback.ended_us)
        ):
            yield from judge_silence(history, (callback.started_us, callback.ended_us), f"during {callback.name}")


@checks("H1")
def heartbeats_after_an_announcement(history: History) -> Iterator[Finding]:
    """REBALANCE_IN_PROGRESS does not stop them: they go on until the JoinGroup."""
    for beat in history.answers("Heartbeat", "REBALANCE_IN_PROGRESS"):
        join = history.first("JoinGroup", beat.answered_us or 0)
        if join is not None and join.sent_us <= leaving(history):
            stretch = (beat.answered_us or 0, join.sent_us)
            yield from judge_silence(history, stretch, "between REBALANCE_IN_PROGRESS and JoinGroup")


def still_member(history: History, at_us: int) -> bool:
    """Whether the last word of the round before that time was success, and the member has not left."""
    gone = [e.answered_us or e.sent_us for e in history.of("LeaveGroup")]
    gone += [e.answered_us or 0 for e in history.answers("Heartbeat", "UNKNOWN_MEMBER_ID")]
    joined = [e.answered_us or 0 for e in history.answers("JoinGroup", "NONE") if (e.answered_us or 0) <= at_us]
    return bool(joined) and not any(joined[-1] <= left <= at_us for left in gone)


def judge_silence(history: History, stretch: Stretch, when: str) -> Iterator[Finding]:
    """No finding for a stretch too short to tell."""
    if length_ms(stretch) < bound_ms(history):
        return
    worst, quiet = max(silences(history, stretch), default=(0.0, (stretch[1], stretch[1])))
    if worst > bound_ms(history):
        yield within(history, *quiet, bound_ms(history), f"no heartbeat for {worst:.0f} ms {when}")
    else:
        yield within(history, *quiet, bound_ms(history), f"heartbeats went on {when}")


def stable_stretches(history: History) -> Iterator[Stretch]:
    """From SyncGroup's success, or from a coordinator found again, until something changes; without the callbacks."""
    joined_us = history.syncs[0].sent_us if history.syncs else history.ends_us
    found = [lookup for lookup in history.answers("FindCoordinator", "NONE") if lookup.sent_us > joined_us]
    for began in (*history.syncs, *found):
        start = began.answered_us or 0
        end = min((at_us for at_us in disturbances(history) if at_us > start), default=history.ends_us)
        for callback in history.callbacks:
            if start <= callback.started_us < end:
                if callback.started_us > start:
                    yield start, callback.started_us
                start = callback.ended_us or end
        if start < end:
            yield start, end


def disturbances(history: History) -> Iterator[int]:
    """Whatever ends a stable time."""
    yield from (exchange.sent_us for exchange in history.of("JoinGroup", "LeaveGroup"))
    for beat in history.of("Heartbeat"):
        held_back = history.took_ms(beat.sent_us, beat.answered_us or 0) > HELD_BACK_MS
        if beat.error != "NONE" or held_back:
            yield beat.sent_us
    for at_us, _ in history.events(protocol.ShutdownRequested):
        yield at_us
    for entry in history.entries:
        if entry.kind == "disconnect" or entry.kind == "client_ended":
            yield entry.at_us


@checks("H2")
def heartbeats_are_regular(history: History) -> Iterator[Finding]:
    """About every interval while the member is stable."""
    interval = history.settings.heartbeat_interval_ms
    for stretch in stable_stretches(history):
        if length_ms(stretch) < 2 * bound_ms(history):
            continue
        worst, quiet = max(silences(history, stretch), default=(0.0, (stretch[1], stretch[1])))
        if worst > bound_ms(history):
            reason = f"no heartbeat for {worst:.0f} ms in a stable member (interval {interval} ms)"
        else:
            reason = f"never more than {worst:.0f} ms without a heartbeat (interval {interval} ms)"
        yield within(history, *quiet, bound_ms(history), reason)


@checks("H2")
def heartbeats_do_not_spin(history: History) -> Iterator[Finding]:
    """No more than the interval asks for; twice as many is the line."""
    interval = history.settings.heartbeat_interval_ms
    for start, end in stable_stretches(history):
        beats = [e for e in history.of("Heartbeat") if start <= e.sent_us <= end]
        most = 2 * ((end - start) / 1000 / interval) + 3
        if len(beats) > most:
            yield broken(f"{len(beats)} heartbeats in {(end - start) / 1000:.0f} ms (interval {interval} ms)", end)


@checks("H3")
def no_heartbeat_while_joining(history: History) -> Iterator[Finding]:
    """Heartbeats are fenced off before JoinGroup is sent: the coordinator counts a waiting JoinGroup as life."""
    for join in history.of("JoinGroup"):
        if join.answered_us is None:
            continue
        during = [e for e in history.of("Heartbeat") if join.sent_us < e.sent_us < join.answered_us]
        if during:
            yield broken("Heartbeat was sent while a JoinGroup was unanswered", during[0].sent_us)
        else:
            yield held("no Heartbeat while JoinGroup was unanswered", join.answered_us)


@checks("H3")
def heartbeats_run_after_the_round(history: History) -> Iterator[Finding]:
    """Whatever way the round took, heartbeats run at its end."""
    for sync in history.syncs:
        start = sync.answered_us or 0
        end = min((at_us for at_us in disturbances(history) if at_us > start), default=history.ends_us)
        beat = history.first("Heartbeat", start)
        if length_ms((start, end)) < 2 * bound_ms(history):
            continue
        if beat is None or beat.sent_us > end:
            took = history.took_ms(start, end)
            if took > bound_ms(history):
                yield in_vain(f"no heartbeat in {took:.0f} ms after the round had ended", start, end)
        else:
            yield held("heartbeats ran after the round", beat.sent_us)


@checks("H3")
def no_heartbeat_without_membership(history: History) -> Iterator[Finding]:
    """A member that has left, or was answered UNKNOWN_MEMBER_ID, sends no heartbeat until it has joined again."""
    for known, how in memberships_lost(history):
        joined = (e.answered_us or 0 for e in history.answers("JoinGroup", "NONE"))
        back = next((at_us for at_us in joined if at_us > known.told_us), history.ends_us)
        later = [e for e in history.of("Heartbeat") if known.told_us < e.sent_us < back]
        beats = [e for e in later if known.before(e, history)]
        if beats:
            yield broken(f"Heartbeat after {how}, before joining again", beats[0].sent_us)
        else:
            yield held(f"no heartbeat after {how}", back)


def memberships_lost(history: History) -> Iterator[tuple[Known, str]]:
    """From when on the client knows that its membership has ended, and how it ended."""
    for exchange in history.of("LeaveGroup"):
        yield Known.by(exchange.sent_us, exchange), "LeaveGroup"
    for exchange in history.answers("Heartbeat", "UNKNOWN_MEMBER_ID"):
        told_us = exchange.answered_us or 0
        if not history.was_read(exchange):
            continue
        yield Known.by(told_us, gives_up(history, told_us), history.first("JoinGroup", told_us)), "UNKNOWN_MEMBER_ID"


def gives_up(history: History, after_us: int) -> Callback | None:
    """The first callback at or after that time that takes partitions away."""
    callbacks = (c for c in history.callbacks if c.name != "partitions_assigned" and c.started_us >= after_us)
    return next(callbacks, None)


@checks("H4")
def every_error_has_an_effect(history: History) -> Iterator[Finding]:
    """A heartbeat's error is acted on: JoinGroup for the member's sake, a lookup for the coordinator's."""
    asked = history.events(protocol.ShutdownRequested)
    end = asked[0][0] if asked else history.ends_us
    beats: Sequence[Exchange] = history.of("Heartbeat")
    for beat in beats:
        if beat.answered_us is None or beat.answered_us >= end or joined_meanwhile(history, beat):
            continue
        effect = "JoinGroup" if beat.error in REBALANCE else "FindCoordinator" if beat.error in COORDINATOR_GONE else ""
        if not effect:
            continue
        seen = history.first(effect, beat.answered_us)
        if seen is None:
            yield in_vain(f"no {effect} after Heartbeat was answered {beat.error}", beat.answered_us, end)
        else:
            took = history.took_ms(beat.answered_us, seen.sent_us)
            yield held(f"{effect} {took:.0f} ms after Heartbeat was answered {beat.error}", seen.sent_us)


@checks("H7")
def unanswered_heartbeats_are_not_repeated(history: History) -> Iterator[Finding]:
    """While one is unanswered the next comes an interval later, or not at all; never sooner.

    Java has no in-flight guard: `Heartbeat.shouldHeartbeat` knows only its timer, so that a late answer does not
    silence the member. librdkafka has one (rd_kafka_cgrp_heartbeat). Both keep the rule; who repeats an unanswered one
    sooner does not.
    """
    beats = history.of("Heartbeat")
    least_ms = SOONER * history.settings.heartbeat_interval_ms
    slow_us = 1500 * history.settings.heartbeat_interval_ms
    for earlier, later in pairwise(beats):
        apart = history.apart_ms(earlier.sent_us, later.sent_us)
        if earlier.answer is not None and not earlier.ended_before(later.sent_us) and apart < least_ms:
            yield broken(f"a second Heartbeat {apart:.0f} ms after one that was still unanswered", later.sent_us)
    for beat in beats:
        if beat.answered_us is not None and beat.answered_us - beat.sent_us > slow_us:
            yield held("no Heartbeat was repeated within its interval while its answer was late", beat.answered_us)
