"""Chapter H: heartbeats, when they run, when they don't, and that each answer has an effect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.bounds import heartbeat_bound_ms
from groupspec.conformance.checks.checker import (
    Finding,
    Known,
    broken,
    checks,
    held,
    in_vain,
    missing,
    none_of,
    within,
)
from groupspec.conformance.checks.joining import joined_meanwhile
from groupspec.conformance.history.calls import Callback
from groupspec.conformance.history.exchange import (
    COORDINATOR_GONE,
    GROUP_APIS,
    NO_MEMBER,
    REBALANCE,
    Exchange,
    is_of_nobody,
)
from groupspec.conformance.history.harness_protocol import ErrorRaised
from groupspec.conformance.history.history import SOONER, History, once
from groupspec.impl.core.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    MetadataResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)

Stretch = tuple[int, int]
SAID_LOST = "partitions_lost was called"
NOT_THERE: Final = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "TOPIC_AUTHORIZATION_FAILED")
RAISED_WITHIN_MS: Final = 1_000
CATCHES_UP: Final = 2
"""So many intervals late a heartbeat may be that the next ones follow sooner."""
NO_REFUSAL: Final = ("", "NONE")
HELD_BACK_MS = 50  # an answer that took longer was held back by the scenario


def bound_ms(history: History) -> float:
    """How late "about every heartbeat.interval" may be in this run."""
    return heartbeat_bound_ms(history.settings.heartbeat_interval_ms)


def slack_ms(history: History) -> float:
    """How much of that is more than the interval."""
    return bound_ms(history) - history.settings.heartbeat_interval_ms


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
        answered = beat.told_us or history.ends_us
        if answered < start or beat.sent_us > end:
            continue
        quiet_to = max(quiet_from, beat.sent_us)
        yield history.took_ms(quiet_from, quiet_to), (quiet_from, quiet_to)
        quiet_from = max(quiet_from, answered)
    if quiet_from < end:
        yield history.took_ms(quiet_from, end), (quiet_from, end)


def longest_silence(history: History, stretch: Stretch) -> tuple[float, Stretch]:
    """The longest of them."""
    return max(silences(history, stretch), default=(0.0, (stretch[1], stretch[1])))


def judge_silence(history: History, stretch: Stretch, when: str) -> Iterator[Finding]:
    """No finding for a stretch too short to tell."""
    if length_ms(stretch) >= bound_ms(history):
        worst, quiet = longest_silence(history, stretch)
        silent = f"no heartbeat for {worst:.0f} ms" if worst > bound_ms(history) else "heartbeats went on"
        yield within(history, *quiet, bound_ms(history), f"{silent} {when}", slack_ms(history))


@checks("H1")
def heartbeats_while_waiting_for_sync(history: History) -> Iterator[Finding]:
    """A late SyncGroup does not silence the member.

    A leader is silent while it computes (Java: onLeaderElected holds the monitor that HeartbeatThread needs), until
    SyncGroup is sent. close() ends the heartbeats (Java: AbstractCoordinator.close).
    """
    for join in history.answers("JoinGroup", "NONE"):
        sync = history.first("SyncGroup", join.told_us)
        if sync is not None and sync.answer is not None and not history.left(sync.sent_us, sync.told_us):
            stretch = (sync.sent_us, min(sync.told_us, history.until_close_us))
            yield from judge_silence(history, stretch, "while SyncGroup was unanswered")


@checks("H1")
def heartbeats_during_callbacks(history: History) -> Iterator[Finding]:
    """A callback, however long, does not silence the member; the one for lost partitions has no member to speak for."""
    for callback in (each for each in history.callbacks if each.name != "partitions_lost"):
        ended = callback.ended_us
        if ended is not None and ended <= history.until_close_us and still_member(history, ended):
            yield from judge_silence(history, (callback.started_us, ended), f"during {callback.name}")


@checks("H1")
def heartbeats_after_an_announcement(history: History) -> Iterator[Finding]:
    """REBALANCE_IN_PROGRESS does not stop them: they go on until the JoinGroup, or until there is no coordinator."""
    gone = [exchange.told_us for exchange in history.of(*GROUP_APIS) if exchange.error in COORDINATOR_GONE]
    for beat in history.answers("Heartbeat", "REBALANCE_IN_PROGRESS"):
        join = history.first("JoinGroup", beat.told_us)
        if join is None or joined_meanwhile(history, beat):
            continue
        if join.sent_us <= history.until_close_us and still_member(history, join.sent_us):
            stretch = (beat.told_us, min([join.sent_us, *(at_us for at_us in gone if at_us > beat.told_us)]))
            yield from judge_silence(history, stretch, "between REBALANCE_IN_PROGRESS and JoinGroup")


def still_member(history: History, at_us: int) -> bool:
    """Whether the last word of the round before that time was success, and the member has not left."""
    gone = [e.told_us or e.sent_us for e in history.of("LeaveGroup")]
    gone += [e.told_us for e in history.of("Heartbeat") if e.error in NO_MEMBER]
    joined = [e.told_us for e in history.answers("JoinGroup", "NONE") if e.told_us <= at_us]
    return bool(joined) and not any(joined[-1] <= left <= at_us for left in [*gone, *history.expired_us])


@once
def stable_stretches(history: History) -> Iterator[Stretch]:
    """From SyncGroup's success, or from a coordinator found again, until something changes; without the callbacks.

    A lookup is such a change: while it is out the client may have no coordinator to heartbeat to, for all that the wire
    shows, and the trace check takes it so. librdkafka sends a second one just after the first has found it.
    """
    rounds = [(join.sent_us, end_of_round(history, join)) for join in history.of("JoinGroup")]
    joined_us = history.syncs[0].sent_us if history.syncs else history.ends_us
    lookups = (e for e in history.answers("FindCoordinator", "NONE") if e.sent_us > joined_us)
    found = [e for e in lookups if not any(start <= e.told_us <= end for start, end in rounds)]
    for began in (each for each in (*history.syncs, *found) if not history.left(each.sent_us, each.told_us)):
        start, lookup = began.told_us, history.first("FindCoordinator", began.told_us)
        end = min(next_disturbance(history, start), history.ends_us if lookup is None else lookup.sent_us)
        for callback in history.callbacks:
            if start <= callback.started_us < end:
                if callback.started_us > start:
                    yield start, callback.started_us
                start = callback.ended_us or end
        if start < end:
            yield start, end


def end_of_round(history: History, join: Exchange) -> int:
    """When the SyncGroup that followed succeeded; the end of the run if none did."""
    return next((sync.told_us for sync in history.syncs if sync.told_us > join.sent_us), history.ends_us)


def next_disturbance(history: History, after_us: int) -> int:
    """What ends a stable time; the end of the run if nothing does."""
    return min((at_us for at_us in disturbances(history) if at_us > after_us), default=history.ends_us)


@once
def disturbances(history: History) -> Iterator[int]:
    """Whatever ends a stable time; of the connections that end, those that carried a request of the group."""
    connections = {exchange.request.connection for exchange in history.of(*GROUP_APIS)}
    yield from (exchange.sent_us for exchange in history.of("JoinGroup", "LeaveGroup"))
    for beat in history.of("Heartbeat"):
        if beat.error != "NONE":
            yield from (beat.sent_us, beat.told_us)
        elif history.took_ms(beat.sent_us, beat.told_us) > HELD_BACK_MS:
            yield beat.sent_us
    yield history.until_close_us
    yield from history.expired_us
    for entry in history.entries:
        if entry.kind == "client_ended" or (entry.kind == "disconnect" and entry.connection in connections):
            yield entry.at_us


@checks("H2")
def heartbeats_are_regular(history: History) -> Iterator[Finding]:
    """About every interval while the member is stable."""
    bound, interval = bound_ms(history), f"(interval {history.settings.heartbeat_interval_ms} ms)"
    for stretch in stable_stretches(history):
        if length_ms(stretch) >= bound:
            worst, quiet = longest_silence(history, stretch)
            late = f"no heartbeat for {worst:.0f} ms in a stable member {interval}"
            in_time = f"never more than {worst:.0f} ms without a heartbeat {interval}"
            yield within(history, *quiet, bound, late if worst > bound else in_time, slack_ms(history))


@checks("H2")
def heartbeats_do_not_spin(history: History) -> Iterator[Finding]:
    """No more than the interval asks for; twice as many is the line."""
    interval = history.settings.heartbeat_interval_ms
    for start, end in stable_stretches(history):
        beats = [e for e in history.of("Heartbeat") if start <= e.sent_us <= end]
        bound = 2 * ((end - start) / 1000 / interval) + 3
        if len(beats) > bound:
            told = f"{len(beats)} heartbeats in {(end - start) / 1000:.0f} ms"
            yield broken(f"{told} (interval {interval} ms; bound {bound:.0f}, twice as many as are due and 3)", end)


@checks("H3")
def no_heartbeat_while_joining(history: History) -> Iterator[Finding]:
    """Heartbeats are fenced off before JoinGroup is sent: the coordinator counts a waiting JoinGroup as life."""
    for join in history.of("JoinGroup"):
        if join.answer is not None:
            during = history.between(join.sent_us, join.told_us, "Heartbeat")
            wrong = "Heartbeat was sent while a JoinGroup was unanswered"
            yield none_of(during, wrong, "no Heartbeat while JoinGroup was unanswered", join.told_us)


@checks("H3")
def heartbeats_run_after_the_round(history: History) -> Iterator[Finding]:
    """Whatever way the round took, heartbeats run at its end."""
    for sync in (each for each in history.syncs if not history.left(each.sent_us, each.told_us)):
        start, end = sync.told_us, next_disturbance(history, sync.told_us)
        beat = history.first("Heartbeat", start)
        took = history.took_ms(start, end)
        if length_ms((start, end)) < 2 * bound_ms(history):
            continue
        if beat is not None and beat.sent_us <= end:
            yield held("heartbeats ran after the round", beat.sent_us)
        elif took > bound_ms(history):
            yield in_vain(f"no heartbeat in {took:.0f} ms after the round had ended", start, end)


@checks("H3")
def no_heartbeat_without_membership(history: History) -> Iterator[Finding]:
    """A member that has left, or was told that it is none, sends no heartbeat until it has joined again."""
    for known, back_us, how in memberships_lost(history):
        later = history.between(known.told_us, back_us, "Heartbeat")
        beats = [e for e in later if known.before(e, history) or is_of_nobody(e)]
        yield none_of(beats, f"Heartbeat after {how}, before joining again", f"no heartbeat after {how}", back_us)


def is_of_topics_that_are_gone(history: History, lost: Callback) -> bool:
    """Whether that may be all that is lost: the topics, of which Metadata have told so since they were assigned.

    So librdkafka says it in the cooperative protocol (rd_kafka_cgrp_metadata_update_check); to the group it is a member
    as before, and goes on as one. Whose next JoinGroup has no member id takes its membership for lost as well.
    """
    earlier = (c for c in history.callbacks if c.name == "partitions_assigned" and c.started_us < lost.started_us)
    since_us = max((c.started_us for c in earlier if c.partitions & lost.partitions), default=0)
    gone = set()
    for exchange in history.of("Metadata"):
        answer = exchange.answered(MetadataResponse)
        if answer is not None and since_us <= exchange.told_us <= lost.started_us:
            gone |= {topic.topic for topic in answer.topics if topic.error.name in NOT_THERE}
    again = history.first("JoinGroup", lost.started_us)
    keeps_its_id = again is None or again.asked(JoinGroupRequest).member_id != ""
    return keeps_its_id and {each.rpartition("-")[0] for each in lost.partitions} <= gone


@once
def memberships_lost(history: History) -> Iterator[tuple[Known, int, str]]:
    """From when on the client knows that its membership has ended, until it has joined again, and how it ended.

    It may take it for lost by itself, as when no heartbeat was answered for a session timeout. Partitions that are lost
    since Metadata said that their topic is not there are no such sign.
    """
    joined = [e.told_us for e in history.answers("JoinGroup", "NONE")]
    lost = [(Known.by(leave.sent_us, leave), "LeaveGroup") for leave in history.of("LeaveGroup")]
    for told in filter(history.was_read, ends_of_membership(history)):
        signs = gives_up(history, told.told_us), history.first("JoinGroup", told.told_us)
        lost.append((Known.of(told, *signs), told.error))
    said = (c for c in history.callbacks if c.name == "partitions_lost" and c.partitions)
    lost += [(Known.by(c.started_us, c), SAID_LOST) for c in said if not is_of_topics_that_are_gone(history, c)]
    for known, how in lost:
        yield known, next((at_us for at_us in joined if at_us > known.told_us), history.ends_us), how


@once
def ends_of_membership(history: History) -> Iterator[Exchange]:
    """What was answered that the sender is no member; not of an earlier identity than its present one (rule J9).

    A Heartbeat's answer says so of the member id, whatever the generation; but ILLEGAL_GENERATION of one that the
    member has left behind says nothing: the Heartbeat waited behind the JoinGroup (KAFKA-9823).
    """
    for exchange in history.of("Heartbeat", "SyncGroup", "OffsetCommit"):
        known = [each for each in history.identities if each.from_us <= exchange.told_us]
        message = exchange.request.message
        assert isinstance(message, HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest)
        present = known and (known[-1].member_id, known[-1].generation) == (message.member_id, message.generation)
        is_late = history.is_stale(exchange) and exchange.error == "ILLEGAL_GENERATION"
        if exchange.error in NO_MEMBER and (present or (exchange.api == "Heartbeat" and not is_late)):
            yield exchange


def gives_up(history: History, after_us: int) -> Callback | None:
    """The first callback at or after that time that takes partitions away."""
    callbacks = (c for c in history.callbacks if c.name != "partitions_assigned" and c.started_us >= after_us)
    return next(callbacks, None)


@checks("H4")
def every_error_has_an_effect(history: History) -> Iterator[Finding]:
    """A heartbeat's error is acted on: JoinGroup for the member's sake, a lookup for the coordinator's.

    Any other one, such as GROUP_AUTHORIZATION_FAILED, ends nothing: the next heartbeat follows.
    """
    effects = dict.fromkeys(REBALANCE, "JoinGroup") | dict.fromkeys(COORDINATOR_GONE, "FindCoordinator")
    for beat in (each for each in history.of("Heartbeat") if each.error not in (*NO_REFUSAL, "FENCED_INSTANCE_ID")):
        late = joined_meanwhile(history, beat) or history.is_stale(beat) or history.left(beat.sent_us, beat.told_us)
        if beat.told_us >= history.until_close_us or late:
            continue
        effect, why = effects.get(beat.error, "Heartbeat"), f"after Heartbeat was answered {beat.error}"
        seen, expelled_us = history.first(effect, beat.told_us), expelled_after(history, beat)
        if expelled_us < history.until_close_us and (seen is None or seen.sent_us > expelled_us):
            waits = "join_needs_poll" in history.settings.features and history.next_poll_us(beat.told_us) >= expelled_us
            if not waits and history.able_to_join_ms(beat.told_us, expelled_us) > history.exact.step_us / 1000:
                yield in_vain(f"no {effect} {why}", beat.told_us, expelled_us)
        elif seen is None or seen.sent_us > expelled_us:
            yield from missing(history, f"no {effect} {why}", beat.told_us, joins=True)
        else:
            yield held(f"{effect} {history.took_ms(beat.told_us, seen.sent_us):.0f} ms {why}", seen.sent_us)


@checks("H4")
def a_fenced_heartbeat_is_raised(history: History) -> Iterator[Finding]:
    """FENCED_INSTANCE_ID comes out of the next poll, or is reported."""
    for beat in history.answers("Heartbeat", "FENCED_INSTANCE_ID"):
        if history.before_close(beat.told_us) and not history.is_stale(beat) and not joined_meanwhile(history, beat):
            yield from is_raised(history, beat)
            return


def is_raised(history: History, refused: Exchange) -> Iterator[Finding]:
    """Whether the application hears of this error before it closes: a call raises it, or the client reports it."""
    told, why = refused.told_us, f"after {refused.api} was answered {refused.error}"
    raised = [at_us for at_us, _ in history.events(ErrorRaised) if at_us >= told - history.slack_us]
    if raised and history.before_close(raised[0]):
        yield held(f"the application was told {history.took_ms(told, raised[0]):.0f} ms {why}", raised[0])
    elif history.took_ms(history.next_poll_us(told), history.until_close_us) > RAISED_WITHIN_MS:
        yield in_vain(f"nothing was raised {why}", told, history.until_close_us)


def expelled_after(history: History, beat: Exchange) -> int:
    """When a member that was told of a rebalance is told that it is out: a JoinGroup after that comes too late.

    Not for who was giving up its partitions then, whichever answer had told it so first: its callback may take as long
    as a rebalance may. Nor for whom the commit that goes before the JoinGroup told it so first (rules M2 and J4).
    """
    beats = history.answers("Heartbeat", "UNKNOWN_MEMBER_ID") if beat.error == "REBALANCE_IN_PROGRESS" else ()
    out_us = next((each.told_us for each in beats if each.told_us > beat.told_us), history.until_close_us)
    giving_up = (callback for callback in history.callbacks if callback.name != "partitions_assigned")
    busy = any(each.started_us < out_us <= (each.ended_us or history.ends_us) for each in giving_up)
    commits = history.answers("OffsetCommit", "UNKNOWN_MEMBER_ID")
    told_before = any(beat.told_us < each.told_us <= out_us for each in commits)
    return history.until_close_us if busy or told_before else out_us


@checks("H7")
def unanswered_heartbeats_are_not_repeated(history: History) -> Iterator[Finding]:
    """While one is unanswered the next comes an interval later, or not at all; never sooner.

    Java has no in-flight guard: `Heartbeat.shouldHeartbeat` knows only its timer, so that a late answer does not
    silence the member. librdkafka has one (rd_kafka_cgrp_heartbeat). Both keep the rule; who repeats an unanswered one
    sooner does not. One that was itself late may be followed sooner, by what it was late: Java 3.9.1 was seen to do so
    while it closes; not sure why, perhaps since its thread waits for the lock of ConsumerNetworkClient.poll.
    """
    beats = history.of("Heartbeat")
    interval_us = 1000 * history.settings.heartbeat_interval_ms
    due_us = history.sent_from_us(beats[0].sent_us) if beats else 0
    for earlier, later in pairwise(beats):
        too_soon = later.sent_us - due_us < SOONER * interval_us
        if earlier.answer is not None and not earlier.ended_before(later.sent_us) and too_soon:
            apart = history.apart_ms(earlier.sent_us, later.sent_us)
            yield broken(f"a second Heartbeat {apart:.0f} ms after one that was still unanswered", later.sent_us)
        due_us = max(due_us + interval_us, later.sent_us - CATCHES_UP * interval_us)
        if later.sent_us - due_us < SOONER * interval_us:  # in time
            due_us = history.sent_from_us(later.sent_us)
    for beat in beats:
        if beat.told_us - beat.sent_us > 1.5 * interval_us:
            yield held("no Heartbeat was repeated within its interval while its answer was late", beat.told_us)
