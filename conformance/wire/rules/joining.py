"""Chapters J and S: joining, the identity that joining gives, and the assignment that SyncGroup brings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.bounds import IN_FLIGHT_US
from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.history import (
    Exchange,
    History,
    assigned_by,
    identities,
    names,
    subscription_of,
)
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held, in_vain, within
from groupspec.impl.core.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)

IMMEDIATELY: Final = 0.6  # of the retry backoff, which the scenarios that judge this make long
APPLIED_WITHIN_MS: Final = 1_000
REBALANCE: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")


def rejoin_triggers(history: History) -> Iterator[Exchange]:
    """Answers that oblige the member to join again, before the application asked for the end."""
    asked = history.events(protocol.ShutdownRequested)
    end = asked[0][0] if asked else history.ends_us
    for exchange in history.of("Heartbeat", "SyncGroup", "OffsetCommit"):
        in_time = exchange.answered_us is not None and exchange.answered_us < end
        if exchange.error in REBALANCE and in_time and not joined_meanwhile(history, exchange):
            yield exchange


def joined_meanwhile(history: History, exchange: Exchange) -> bool:
    """Whether a JoinGroup was sent before the answer was written: then the answer is no news."""
    return any(exchange.sent_us < join.sent_us <= (exchange.answered_us or 0) for join in history.of("JoinGroup"))


@checks("J1")
def one_round_at_a_time(history: History) -> Iterator[Finding]:
    """JoinGroup and SyncGroup never overlap."""
    rounds = history.of("JoinGroup", "SyncGroup")
    for earlier, later in pairwise(rounds):
        if earlier.ended_before(later.sent_us) or history.connections_closed(earlier.sent_us, later.sent_us):
            yield held(f"{later.api} was sent after the answer to {earlier.api}", later.sent_us)
        else:
            yield broken(f"{later.api} was sent while a {earlier.api} was unanswered", later.sent_us)


@checks("J2")
def a_rebalance_is_seen_through(history: History) -> Iterator[Finding]:
    """Once a rebalance is required there is a JoinGroup, and another, until a SyncGroup has succeeded."""
    for exchange in rejoin_triggers(history):
        answered = exchange.answered_us or 0
        join = history.first("JoinGroup", answered)
        done = next((sync for sync in history.syncs if (sync.answered_us or 0) > answered), None)
        if join is None:
            reason = f"no JoinGroup after {exchange.api} was answered {exchange.error}"
            yield in_vain(reason, answered, history.ends_us)
        elif done is None:
            reason = f"no SyncGroup succeeded after {exchange.api} was answered {exchange.error}"
            yield in_vain(reason, answered, history.ends_us)
        else:
            yield held(f"after {exchange.error}: JoinGroup, and SyncGroup succeeded", done.answered_us or 0)


@checks("J2")
def the_first_round_is_seen_through(history: History) -> Iterator[Finding]:
    """A member that has begun to join goes on until it has an assignment."""
    join = history.first("JoinGroup", 0)
    if join is not None and history.syncs:
        yield held("the first round ended with a SyncGroup that succeeded", history.syncs[0].answered_us or 0)


@checks("J3")
def member_id_is_taken_at_once(history: History) -> Iterator[Finding]:
    """MEMBER_ID_REQUIRED: the next JoinGroup carries the id, without waiting, without a callback."""
    bound_ms = history.settings.retry_backoff_ms * IMMEDIATELY
    for exchange in filter(history.was_read, history.answers("JoinGroup", "MEMBER_ID_REQUIRED")):
        answered = exchange.answered_us or 0
        given = exchange.answered(JoinGroupResponse)
        again = history.first("JoinGroup", answered)
        assert given is not None
        if again is None:
            yield in_vain("no second JoinGroup after MEMBER_ID_REQUIRED", answered, history.ends_us)
            continue
        took = history.took_ms(answered, again.sent_us)
        if again.asked(JoinGroupRequest).member_id != given.member_id:
            yield broken("the second JoinGroup does not carry the member id that was given", again.sent_us)
        elif took > bound_ms:
            reason = f"the second JoinGroup came only after {took:.0f} ms, not at once"
            yield within(history, answered, again.sent_us, bound_ms, reason)
        elif any(answered <= callback.started_us <= again.sent_us for callback in history.callbacks):
            yield broken("a callback ran between MEMBER_ID_REQUIRED and the second JoinGroup", again.sent_us)
        else:
            yield held(f"JoinGroup with the given id {took:.0f} ms after MEMBER_ID_REQUIRED", again.sent_us)


@checks("J4")
def identity_after_errors(history: History) -> Iterator[Finding]:
    """UNKNOWN_MEMBER_ID clears the member id, REBALANCE_IN_PROGRESS and ILLEGAL_GENERATION keep it."""
    triggers = [exchange for exchange in rejoin_triggers(history) if history.was_read(exchange)]
    for exchange in triggers:
        answered = exchange.answered_us or 0
        join = history.first("JoinGroup", answered)
        known = [identity for identity in identities(history) if identity.from_us <= answered]
        if join is None or not known or any(answered < (e.answered_us or 0) <= join.sent_us for e in triggers):
            continue  # the last answer before it decides
        expected = "" if exchange.error == "UNKNOWN_MEMBER_ID" else known[-1].member_id
        sent = join.asked(JoinGroupRequest).member_id
        wanted = "no member id" if not expected else "the same member id"
        if sent == expected:
            yield held(f"after {exchange.error} JoinGroup carries {wanted}", join.sent_us)
        else:
            yield broken(
                f"after {exchange.error} JoinGroup carries {sent or 'no member id'!r}, not {wanted}", join.sent_us
            )


@checks("J4")
def identity_after_a_moved_coordinator(history: History) -> Iterator[Finding]:
    """NOT_COORDINATOR says nothing about the member.

    It goes on with its id, unless it gives up hope before it is heard again.
    """
    for exchange in history.answers("Heartbeat", "NOT_COORDINATOR"):
        answered = exchange.answered_us or 0
        before = exchange.asked(HeartbeatRequest).member_id
        after = next((e for e in history.of("Heartbeat", "JoinGroup") if e.sent_us > answered + IN_FLIGHT_US), None)
        if after is None or history.says_lost(answered, after.sent_us):
            continue
        message = after.request.message
        assert isinstance(message, (HeartbeatRequest, JoinGroupRequest))
        if message.member_id == before:
            yield held("the member keeps its id after NOT_COORDINATOR", answered)
        else:
            yield broken(
                f"after NOT_COORDINATOR the member id is {message.member_id!r}, no longer {before!r}", answered
            )


@checks("J6")
def metadata_is_canonical(history: History) -> Iterator[Finding]:
    """The same subscription and owned partitions give the same bytes."""
    joins = [exchange.asked(JoinGroupRequest) for exchange in history.of("JoinGroup")]
    times = [exchange.sent_us for exchange in history.of("JoinGroup")]
    for index, (earlier, later) in enumerate(pairwise(joins)):
        one, two = subscription_of(earlier), subscription_of(later)
        if one is None or two is None:
            continue
        same = (set(one.topics), set(one.owned), one.generation, one.user_data) == (
            set(two.topics),
            set(two.owned),
            two.generation,
            two.user_data,
        )
        if not same:
            continue
        if earlier.protocols == later.protocols:
            yield held("two JoinGroups with the same content are the same bytes", times[index + 1])
        else:
            yield broken("two JoinGroups with the same content differ in their bytes", times[index + 1])


@checks("J7", needs="join_needs_poll")
def nothing_joins_before_the_first_poll(history: History) -> Iterator[Finding]:
    """subscribe() alone does not join."""
    join = history.first("JoinGroup", 0)
    if join is None:
        return
    if history.polls and history.polls[0].started_us <= join.sent_us:
        yield held("the first JoinGroup came after the first poll", join.sent_us)
    else:
        yield broken("JoinGroup was sent before the application had polled", join.sent_us)


@checks("S1")
def nothing_is_fetched_during_an_eager_round(history: History) -> Iterator[Finding]:
    """What was given up is neither fetched nor returned until SyncGroup has succeeded."""
    if history.settings.rebalance != "eager":
        return
    for join, sync in rejoined(history):
        start, end = join.sent_us + IN_FLIGHT_US, sync.answered_us or 0
        if end <= start:
            continue
        for fetch in history.of("Fetch"):
            fetched = fetch.asked(FetchRequest).offsets
            if start < fetch.sent_us < end - history.slack_us and fetched:
                yield broken(
                    f"Fetch of {', '.join(sorted(names(fetched)))} between JoinGroup and the answer to SyncGroup",
                    fetch.sent_us,
                )
        for returned in history.returned:
            if start < returned.at_us < end - history.slack_us:
                yield broken(
                    f"poll returned records of {returned.partition} before SyncGroup succeeded", returned.at_us
                )
        yield held("nothing was fetched or returned between JoinGroup and the answer to SyncGroup", end)


def rejoined(history: History) -> Iterator[tuple[Exchange, Exchange]]:
    """Later rounds: the JoinGroup, and the SyncGroup that completed it."""
    for earlier, sync in pairwise(history.syncs):
        join = history.first("JoinGroup", earlier.answered_us or 0)
        if join is not None and join.sent_us < sync.sent_us:
            yield join, sync


@checks("S2")
def the_leader_names_everybody(history: History) -> Iterator[Finding]:
    """The leader's SyncGroup has an entry for every member that JoinGroup named."""
    for join in history.of("JoinGroup"):
        answer = join.answered(JoinGroupResponse)
        if answer is None or not answer.members or answer.leader != answer.member_id or join.answered_us is None:
            continue
        sync = history.first("SyncGroup", join.answered_us)
        if sync is None:
            continue
        members = {member.member_id for member in answer.members}
        missing = members - {member_id for member_id, _ in sync.asked(SyncGroupRequest).assignments}
        if missing:
            yield broken(f"the leader's SyncGroup lacks {len(missing)} of {len(members)} members", sync.sent_us)
        else:
            yield held(f"the leader's SyncGroup has all {len(members)} members", sync.sent_us)


@checks("S3", needs="listener pull")
def an_assignment_is_applied(history: History) -> Iterator[Finding]:
    """Each SyncGroup answer with new partitions is followed by their assigned callback, at the next poll or soon."""
    for sync, added in new_partitions(history):
        if not added:
            continue
        arrived = sync.answered_us or 0
        following = next((e for e in history.of("JoinGroup", "LeaveGroup") if e.sent_us > arrived), None)
        until = following.sent_us if following is not None else history.ends_us
        told = [
            c
            for c in history.callbacks
            if c.name == "partitions_assigned" and arrived - history.slack_us <= c.started_us
        ]
        polled = [p for p in history.polls if p.ended_us is not None and arrived < p.ended_us < until]
        reason = f"{', '.join(sorted(added))}: assigned by SyncGroup, and never handed to the listener"
        if any(added <= callback.partitions and callback.started_us <= until for callback in told):
            yield held("the assignment was handed to the listener", arrived)
        elif following is not None and following.api == "JoinGroup" and not was_told(history, sync, until):
            yield broken(f"{reason} before the next JoinGroup, for which there was no reason", until)
        elif polled and history.took_ms(arrived, polled[-1].ended_us or 0) > APPLIED_WITHIN_MS:
            yield in_vain(f"{reason} in {len(polled)} polls", arrived, polled[-1].ended_us or 0)


def was_told(history: History, sync: Exchange, until_us: int) -> bool:
    """Whether anything after this round gave a reason to join again.

    An error in an answer, or a connection that broke.
    """
    answers = [e for e in history.of("Heartbeat", "OffsetCommit") if sync.sent_us <= (e.answered_us or 0) <= until_us]
    return any(e.error != "NONE" for e in answers) or history.connections_closed(sync.sent_us, until_us)


def new_partitions(history: History) -> Iterator[tuple[Exchange, frozenset[str]]]:
    """Each assignment with what it added.

    For an eager member everything, for a cooperative one what it did not hold.
    """
    before: frozenset[str] = frozenset()
    for sync in history.syncs:
        if history.settings.rebalance == "eager" or lost_before(history, sync):
            before = frozenset()
        yield sync, assigned_by(sync) - before
        before = assigned_by(sync)


def lost_before(history: History, sync: Exchange) -> bool:
    """Whether the membership was lost between this round and the one before."""
    earlier = [e.answered_us or 0 for e in history.syncs if (e.answered_us or 0) < sync.sent_us]
    since = earlier[-1] if earlier else 0
    gone = [e for e in history.exchanges if e.api == "LeaveGroup" or e.error == "UNKNOWN_MEMBER_ID"]
    return any(since < e.sent_us < sync.sent_us for e in gone) or history.gave_up(since, sync.sent_us)
