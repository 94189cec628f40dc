"""Chapters J and S: joining, the identity that joining gives, and the assignment that SyncGroup brings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from groupspec.conformance.checks.checker import (
    Finding,
    Known,
    broken,
    checks,
    held,
    held_if,
    in_vain,
    missing,
    sent_knowing,
    within_polls,
)
from groupspec.conformance.checks.leading import partition_counts
from groupspec.conformance.checks.silence import gives_up_waiting
from groupspec.conformance.history.exchange import (
    NO_MEMBER,
    REBALANCE,
    Exchange,
    assigned_by,
    is_of_nobody,
    names,
    subscription_of,
)
from groupspec.conformance.history.harness_protocol import CommandDone, Subscribe
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
)

IMMEDIATELY: Final = 0.6  # of the retry backoff, which the scenarios that judge this make long
FAILS_IN_PASSING: Final = (
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "REBALANCE_IN_PROGRESS",
)
APPLIED_WITHIN_MS: Final = 1_000
JOIN_LAPSE_MS: Final = 5_000


@once
def rejoin_triggers(history: History) -> Iterator[Exchange]:
    """Answers that oblige the member to join again, before the application asked for the end."""
    for exchange in history.of("Heartbeat", "SyncGroup", "OffsetCommit"):
        in_time = exchange.error in REBALANCE and exchange.told_us < history.until_close_us
        of_nobody = exchange.api == "OffsetCommit" and is_of_nobody(exchange)
        if in_time and not of_nobody and not joined_meanwhile(history, exchange):
            yield exchange


def joined_meanwhile(history: History, exchange: Exchange) -> bool:
    """Whether a JoinGroup was sent before the answer was written: then the answer is no news."""
    return any(exchange.sent_us < join.sent_us <= exchange.told_us for join in history.of("JoinGroup"))


@checks("J1")
def one_round_at_a_time(history: History) -> Iterator[Finding]:
    """JoinGroup and SyncGroup never overlap; one that is never answered may be given up for another connection."""
    for earlier, later in pairwise(history.of("JoinGroup", "SyncGroup")):
        given_up = earlier.answer is None and later.request.connection != earlier.request.connection
        ended = (
            given_up
            or earlier.ended_before(later.sent_us)
            or history.connections_closed(earlier.sent_us, later.sent_us)
        )
        right = f"{later.api} was sent after the answer to {earlier.api}"
        wrong = f"{later.api} was sent while a {earlier.api} was unanswered"
        yield held_if(ended, right, wrong, later.sent_us)


@checks("J2")
def a_rebalance_is_seen_through(history: History) -> Iterator[Finding]:
    """Once a rebalance is required there is a JoinGroup, and another, until a SyncGroup has succeeded."""
    for exchange in (each for each in rejoin_triggers(history) if not history.is_stale(each)):
        told, why = exchange.told_us, f"after {exchange.api} was answered {exchange.error}"
        done = next((sync for sync in history.syncs if sync.told_us > told), None)
        if history.first("JoinGroup", told) is None:
            yield from missing(history, f"no JoinGroup {why}", told, joins=True)
        elif done is None:
            latest = history.of("JoinGroup", "SyncGroup")[-1]
            since_us = max(told, latest.told_us or waits_until(history, latest))
            yield from missing(history, f"no SyncGroup succeeded {why}", since_us, joins=True)
        else:
            yield held(f"after {exchange.error}: JoinGroup, and SyncGroup succeeded", done.told_us)


def waits_until(history: History, asked: Exchange) -> int:
    """Until when a client may wait for a JoinGroup or SyncGroup that is not answered, or did.

    A coordinator answers a JoinGroup when the last member has joined, or the rebalance timeout is over; a client gives
    it 5 s more (Java: AbstractCoordinator.sendJoinGroupRequest, JOIN_GROUP_TIMEOUT_LAPSE).
    """
    limit_ms = history.settings.request_timeout_ms
    if asked.api == "JoinGroup":
        limit_ms = max(limit_ms, history.settings.max_poll_interval_ms + JOIN_LAPSE_MS)
    return min(asked.sent_us + 1_000 * limit_ms, gives_up_waiting(history, asked) or history.ends_us)


@checks("J2")
def the_first_round_is_seen_through(history: History) -> Iterator[Finding]:
    """A member that has begun to join goes on until it has an assignment."""
    if history.of("JoinGroup") and history.syncs:
        yield held("the first round ended with a SyncGroup that succeeded", history.syncs[0].told_us)


@checks("J3")
def member_id_is_taken_at_once(history: History) -> Iterator[Finding]:
    """MEMBER_ID_REQUIRED: the next JoinGroup carries the id, without waiting, without a callback."""
    bound_ms = history.settings.retry_backoff_ms * IMMEDIATELY
    for exchange in filter(history.was_read, history.answers("JoinGroup", "MEMBER_ID_REQUIRED")):
        told = exchange.told_us
        given = exchange.answered(JoinGroupResponse)
        again = history.first("JoinGroup", told)
        assert given is not None
        if history.left(exchange.sent_us, told if again is None else again.sent_us):
            continue  # who joins after that is another member
        if again is None:
            yield from missing(history, "no second JoinGroup after MEMBER_ID_REQUIRED", told, joins=True)
            continue
        took = history.took_ms(told, again.sent_us)
        if again.asked(JoinGroupRequest).member_id != given.member_id:
            yield broken("the second JoinGroup does not carry the member id that was given", again.sent_us)
        elif took > bound_ms:
            reason = f"the second JoinGroup came only after {took:.0f} ms, not at once"
            yield within_polls(history, told, again.sent_us, bound_ms, reason, bound_ms)
        else:
            ran = any(told <= callback.started_us <= again.sent_us for callback in history.callbacks)
            right = f"JoinGroup with the given id {took:.0f} ms after MEMBER_ID_REQUIRED"
            wrong = "a callback ran between MEMBER_ID_REQUIRED and the second JoinGroup"
            yield held_if(not ran, right, wrong, again.sent_us)


@checks("J4")
def identity_after_errors(history: History) -> Iterator[Finding]:
    """UNKNOWN_MEMBER_ID clears the member id, REBALANCE_IN_PROGRESS and ILLEGAL_GENERATION keep it.

    A JoinGroup that an earlier answer called for may have been sent before the last one was read.
    """
    triggers = [e for e in rejoin_triggers(history) if history.was_read(e) and not is_of_nobody(e)]
    for exchange in triggers:
        join = history.first("JoinGroup", exchange.told_us)
        known = [identity for identity in history.identities if identity.from_us <= exchange.told_us]
        if join is None or not known or any(exchange.told_us < e.told_us <= join.sent_us for e in triggers):
            continue  # the last answer before it decides
        if any(exchange.told_us <= at_us <= join.sent_us for at_us in history.expired_us):
            continue
        if history.left(exchange.told_us, join.sent_us):
            continue
        expected = "" if exchange.error == "UNKNOWN_MEMBER_ID" else known[-1].member_id
        wanted = "no member id" if not expected else "the same member id"
        sent = join.asked(JoinGroupRequest).member_id
        carries = f"after {exchange.error} JoinGroup carries"
        wrong = f"{carries} {sent or 'no member id'!r}, not {wanted}"
        if sent == expected or not is_called_for_before(history, join, exchange, triggers):
            yield held_if(sent == expected, f"{carries} {wanted}", wrong, join.sent_us)


def is_called_for_before(history: History, join: Exchange, told: Exchange, triggers: Sequence[Exchange]) -> bool:
    """Whether an earlier answer that leaves the id called for this JoinGroup, and nothing shows that this one was read.

    Java's heartbeat thread may be told that the member is unknown while its poll joins for what it was told before.
    """
    before = [
        e for e in triggers if e.told_us < told.told_us and not history.between(e.told_us, told.told_us, "JoinGroup")
    ]
    keeps_its_id = bool(before) and all(e.error != "UNKNOWN_MEMBER_ID" for e in before)
    return keeps_its_id and not Known.of(told).before(join, history)


@checks("J4")
def identity_after_a_moved_coordinator(history: History) -> Iterator[Finding]:
    """NOT_COORDINATOR says nothing about the member: it keeps its id, unless it gives up hope before it is heard."""
    for exchange in history.answers("Heartbeat", "NOT_COORDINATOR"):
        told, before = exchange.told_us, exchange.asked(HeartbeatRequest).member_id
        sent = ((e, member_id_of(e)) for e in history.of("Heartbeat", "JoinGroup") if e.sent_us > told)
        known = Known.of(exchange)
        tells = ((e, member_id) for e, member_id in sent if member_id != before or known.before(e, history))
        after, member_id = next(tells, (None, ""))
        if after is None or history.says_lost(told, after.sent_us):
            continue
        if any(e.error == "UNKNOWN_MEMBER_ID" and told < e.told_us <= after.sent_us for e in history.exchanges):
            continue  # it was heard, and is unknown
        wrong = f"after NOT_COORDINATOR the member id is {member_id!r}, no longer {before!r}"
        yield held_if(member_id == before, "the member keeps its id after NOT_COORDINATOR", wrong, told)


def member_id_of(exchange: Exchange) -> str:
    """What a Heartbeat or JoinGroup says."""
    message = exchange.request.message
    assert isinstance(message, HeartbeatRequest | JoinGroupRequest)
    return message.member_id


@checks("J4")
def identity_after_a_join_in_vain(history: History) -> Iterator[Finding]:
    """A JoinGroup that failed in passing is repeated with its member id, unless the client gives its membership up.

    For that REBALANCE_IN_PROGRESS is no ground: it comes from the coordinator of a group that goes on.
    """
    for join, again in pairwise(history.of("JoinGroup")):
        before, after = join.asked(JoinGroupRequest).member_id, again.asked(JoinGroupRequest).member_id
        gave_up = join.error != "REBALANCE_IN_PROGRESS" and history.gave_up(join.sent_us, again.sent_us - 1)
        if join.error in FAILS_IN_PASSING and before and not gave_up:
            others = [e for e in rejoin_triggers(history) if join.sent_us < e.told_us <= again.sent_us]
            if not others:
                wrong = f"after {join.error} JoinGroup carries {after!r}, no longer {before!r}"
                yield held_if(after == before, f"JoinGroup keeps its id after {join.error}", wrong, again.sent_us)


@checks("J1", needs="listener")
def what_no_longer_fits_is_dropped(history: History) -> Iterator[Finding]:
    """An assignment of topics that the application no longer subscribes to is not handed to it."""
    done = [at_us for at_us, event in history.events(CommandDone) if event.command == "subscribe"]
    wanted = [command for _, command in history.commands(Subscribe)]
    for command, done_us, until_us in list(zip(wanted, done, [*done[1:], history.ends_us + 1], strict=False))[1:]:
        assigned = [c for c in history.callbacks if c.name == "partitions_assigned"]
        assigned = [c for c in assigned if done_us < c.started_us < until_us]
        old = {p: c.started_us for c in assigned for p in c.partitions if not _covers(command, p.rpartition("-")[0])}
        right = "only partitions of the topics that are subscribed to were handed over"
        wrong = f"{', '.join(sorted(old))} assigned to an application that no longer subscribes to that topic"
        yield held_if(not old, right, wrong, min(old.values(), default=done_us))


def _covers(wanted: Subscribe, topic: str) -> bool:
    return bool(re.match(wanted.pattern, topic)) if wanted.pattern else topic in wanted.topics


def asked_as_given(request: Exchange, join: Exchange) -> bool:
    """Whether a Heartbeat or OffsetCommit was sent after a JoinGroup's answer, and with the member id from there."""
    given, asked = join.answered(JoinGroupResponse), request.request.message
    assert given is not None
    assert isinstance(asked, (HeartbeatRequest, OffsetCommitRequest))
    return request.sent_us >= join.told_us and asked.member_id == given.member_id


@checks("J9")
def a_late_refusal_is_about_the_past(history: History) -> Iterator[Finding]:
    """Something was refused while a JoinGroup was out that was sent after it: the answer to that JoinGroup counts.

    Nothing can be said where what the client then sent with the id from that answer was refused as well.
    """
    for join in history.of("JoinGroup"):
        earlier = history.of("Heartbeat", "OffsetCommit")
        late = [e for e in earlier if e.sent_us < join.sent_us <= e.told_us <= join.told_us and e.error in NO_MEMBER]
        then = next((e for e in history.of("JoinGroup", "SyncGroup") if e.sent_us >= join.told_us), None)
        if not late or then is None or join.error not in ("NONE", "MEMBER_ID_REQUIRED"):
            continue
        if any(e.error in NO_MEMBER and asked_as_given(e, join) and e.told_us <= then.sent_us for e in earlier):
            continue
        if join.error == "NONE":
            counts = then.api == "SyncGroup"
        else:
            counts = then.api == "JoinGroup" and bool(then.asked(JoinGroupRequest).member_id)
        what = f"the answer {join.error} to JoinGroup"
        late_one = f"the late {late[0].error} to {late[0].api}"
        yield held_if(counts, f"{what} counted, and not {late_one}", f"{what} was dropped for {late_one}", then.sent_us)


@checks("J6")
def metadata_is_canonical(history: History) -> Iterator[Finding]:
    """The same subscription and owned partitions give the same bytes."""
    for earlier, later in pairwise(history.of("JoinGroup")):
        requests = earlier.asked(JoinGroupRequest), later.asked(JoinGroupRequest)
        one, two = (
            said and (set(said.topics), set(said.owned), said.generation, said.user_data)
            for said in map(subscription_of, requests)
        )
        if one is not None and one == two:
            what = "two JoinGroups with the same content"
            same = requests[0].protocols == requests[1].protocols
            yield held_if(same, f"{what} are the same bytes", f"{what} differ in their bytes", later.sent_us)


@checks("J7", needs="join_needs_poll")
def nothing_joins_before_the_first_poll(history: History) -> Iterator[Finding]:
    """subscribe() alone does not join."""
    for join in history.of("JoinGroup")[:1]:
        polled = bool(history.polls) and history.polls[0].started_us <= join.sent_us
        right = "the first JoinGroup came after the first poll"
        yield held_if(polled, right, "JoinGroup was sent before the application had polled", join.sent_us)


@checks("S1", rebalance="eager")
def nothing_is_fetched_during_an_eager_round(history: History) -> Iterator[Finding]:
    """What was given up is neither fetched nor returned until SyncGroup has succeeded."""
    for join, sync in rejoined(history):
        start, end = join.sent_us + history.exact.in_flight_us, sync.told_us
        if end <= start:
            continue
        too_soon = [each for each in history.returned if start < each.at_us < end - history.slack_us]
        then = "" if too_soon else "; poll returned none of it before SyncGroup succeeded"
        for fetch in sent_knowing(history, join.sent_us, end - history.slack_us, "Fetch"):
            fetched = ", ".join(sorted(names(fetch.asked(FetchRequest).offsets)))
            if fetched:
                yield broken(f"Fetch of {fetched} between JoinGroup and the answer to SyncGroup{then}", fetch.sent_us)
        for returned in too_soon:
            reason = f"poll returned records of {returned.partition} before SyncGroup succeeded"
            yield broken(reason, returned.at_us)
        yield held("nothing was fetched or returned between JoinGroup and the answer to SyncGroup", end)


@once
def rejoined(history: History) -> Iterator[tuple[Exchange, Exchange]]:
    """Later rounds: the JoinGroup, and the SyncGroup that completed it."""
    for earlier, sync in pairwise(history.syncs):
        join = history.first("JoinGroup", earlier.told_us)
        if join is not None and join.sent_us < sync.sent_us:
            yield join, sync


@checks("S2")
def the_leader_names_everybody(history: History) -> Iterator[Finding]:
    """The leader's SyncGroup has an entry for every member that JoinGroup named.

    Not where it was told that the members keep what they have (KIP-814: skip_assignment).
    """
    for join in history.of("JoinGroup"):
        answer = join.answered(JoinGroupResponse)
        sync = history.first("SyncGroup", join.told_us)
        if answer is None or not answer.members or answer.leader != answer.member_id or sync is None:
            continue
        if sync.asked(SyncGroupRequest).generation != answer.generation:
            continue
        if answer.skip_assignment or history.between(join.told_us, sync.sent_us, "JoinGroup"):
            continue  # the round was given up, as by who has left meanwhile: the SyncGroup is a later one's
        members = {member.member_id for member in answer.members}
        missing = members - {member_id for member_id, _ in sync.asked(SyncGroupRequest).assignments}
        wrong = f"the leader's SyncGroup lacks {len(missing)} of {len(members)} members"
        yield held_if(not missing, f"the leader's SyncGroup has all {len(members)} members", wrong, sync.sent_us)


@checks("S3", needs="listener pull")
def an_assignment_is_applied(history: History) -> Iterator[Finding]:
    """Each SyncGroup answer with new partitions is followed by their assigned callback, at the next poll or soon."""
    assigned = [c for c in history.callbacks if c.name == "partitions_assigned"]
    for sync, added in new_partitions(history):
        told = sync.told_us
        if not added or history.left(sync.sent_us, told):  # who leaves takes nothing more
            continue
        following = next((e for e in history.of("JoinGroup", "LeaveGroup") if e.sent_us > told), None)
        until = following.sent_us if following is not None else history.ends_us
        polled = [p.ended_us for p in history.polls if p.ended_us is not None and told < p.ended_us < until]
        reason = f"{', '.join(sorted(added))}: assigned by SyncGroup, and never handed to the listener"
        if any(added <= c.partitions and told - history.slack_us <= c.started_us <= until for c in assigned):
            yield held("the assignment was handed to the listener", told)
        elif history.gave_up(told, until) or is_no_member_now(history, told, until):
            continue  # what the listener is not told of yet it is not told of any more
        elif following is not None and following.api == "JoinGroup" and not was_told(history, sync, until):
            yield broken(f"{reason} before the next JoinGroup, for which there was no reason", until)
        elif chose_anew(history, sync, until):
            continue  # it may fit no more (rule J1)
        elif polled and history.able_to_join_ms(told, polled[-1]) > APPLIED_WITHIN_MS:
            yield in_vain(f"{reason} in {len(polled)} polls", told, polled[-1])


def is_no_member_now(history: History, from_us: int, until_us: int) -> bool:
    """Whether the client was told so in between: then an assignment that waits for a poll is not applied any more.

    As in Java's AbstractCoordinator.joinGroupIfNeeded, which looks whether the generation was reset.
    """
    told = (e for e in history.of("Heartbeat", "OffsetCommit") if from_us <= e.told_us <= until_us)
    return any(e.error in (*NO_MEMBER, "FENCED_INSTANCE_ID") and not history.is_stale(e) for e in told)


def join_of(history: History, sync: Exchange) -> Exchange | None:
    """The JoinGroup of a round."""
    return next((join for join in reversed(history.of("JoinGroup")) if join.sent_us < sync.sent_us), None)


def begun_us(history: History, sync: Exchange) -> int:
    """When a round began, at the earliest."""
    join = join_of(history, sync)
    return (0 if join is None else join.sent_us) - history.exact.in_flight_us


def chose_anew(history: History, sync: Exchange, until_us: int) -> bool:
    """Whether the application has chosen other topics than those of its JoinGroup since a round began."""
    join, since_us = join_of(history, sync), begun_us(history, sync)
    subscription = None if join is None else subscription_of(join.asked(JoinGroupRequest))
    topics = None if subscription is None else set(subscription.topics)
    chosen = (each for at_us, each in history.commands(Subscribe) if since_us <= at_us <= until_us)
    return any(each.pattern or set(each.topics) != topics for each in chosen)


def was_told(history: History, sync: Exchange, until_us: int) -> bool:
    """Whether there was a reason to join again: an error in an answer, a connection that broke, another subscription.

    One that came when the round had begun (rule J1): its assignment may fit no more. So may one of which Metadata have
    told that the topic has other partitions (rule J8; rd_kafka_cgrp_metadata_update_check waits for no SyncGroup).
    """
    if chose_anew(history, sync, until_us):
        return True
    if any(begun_us(history, sync) <= at_us <= until_us for at_us in history.enforced_us):
        return True
    join = join_of(history, sync)
    subscription = None if join is None else subscription_of(join.asked(JoinGroupRequest))
    told = partition_counts(history, frozenset(subscription.topics)) if subscription is not None else []
    known = [counts for at_us, counts in told if at_us <= sync.sent_us]
    if known and any(counts != known[-1] for at_us, counts in told if sync.sent_us < at_us <= until_us):
        return True
    answers = [e for e in history.of("Heartbeat", "OffsetCommit") if sync.sent_us <= e.told_us <= until_us]
    return any(e.error != "NONE" for e in answers) or history.connections_closed(sync.sent_us, until_us)


@once
def new_partitions(history: History) -> Iterator[tuple[Exchange, frozenset[str]]]:
    """Each assignment with what it added: for an eager member all, for a cooperative one what it did not hold.

    It does not hold what its callbacks have given up since, nor an assignment that was dropped (rule J1): of a client
    that has callbacks they say what it holds.
    """
    before: frozenset[str] = frozenset()
    tells = "listener" in history.settings.features
    for sync in history.syncs:
        if tells:
            before = history.owned_at(sync.told_us)
        if history.settings.rebalance == "eager" or (lost_before(history, sync) and not tells):
            before = frozenset()
        yield sync, assigned_by(sync) - before
        before = assigned_by(sync)


def lost_before(history: History, sync: Exchange) -> bool:
    """Whether the membership was lost between this round and the one before."""
    since = max((e.told_us for e in history.syncs if e.told_us < sync.sent_us), default=0)
    gone = [e for e in history.exchanges if e.api == "LeaveGroup" or (e.error in NO_MEMBER and not history.is_stale(e))]
    return any(since < e.sent_us < sync.sent_us for e in gone) or history.surely_gave_up(since, sync.sent_us)
