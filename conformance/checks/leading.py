"""The leader of a group: it watches the topics, and believes the right claims (rules J8, K3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held, in_vain, within_polls
from groupspec.conformance.checks.held_up import held_up_until
from groupspec.conformance.history.exchange import Exchange, names, subscription_of
from groupspec.conformance.history.harness_protocol import Subscribe
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse, MetadataResponse, SyncGroupRequest
from groupspec.impl.core.protocol import (
    MalformedProtocolData,
    Subscription,
    decode_assignment,
    decode_subscription,
)

REJOINS_WITHIN_MS: Final = 2_000
CLAIMS_BY_GENERATION: Final = 2
"""From this version on a Subscription says in which generation its owned partitions were assigned."""


@once
def rounds_led(history: History) -> Iterator[tuple[Exchange, JoinGroupResponse, Exchange]]:
    """JoinGroups whose answer made the client the leader, that answer, and its SyncGroup."""
    for join in history.answers("JoinGroup", "NONE"):
        answer = join.answered(JoinGroupResponse)
        sync = history.first("SyncGroup", join.told_us)
        if answer is None or not answer.members or answer.leader != answer.member_id or sync is None:
            continue
        if sync.asked(SyncGroupRequest).generation == answer.generation:  # who had left meanwhile does not send its own
            yield join, answer, sync


def partition_counts(history: History, topics: frozenset[str]) -> list[tuple[int, dict[str, int]]]:
    """What Metadata said of these topics, where it said something of each without an error."""
    found = []
    for exchange in history.of("Metadata"):
        answer = exchange.answered(MetadataResponse)
        told = {} if answer is None else {t.topic: len(t.partitions) for t in answer.topics if t.error.name == "NONE"}
        if topics <= set(told):
            found.append((exchange.told_us, {topic: told[topic] for topic in topics}))
    return found


@checks("J8")
def the_leader_watches_the_topics(history: History) -> Iterator[Finding]:
    """A leader that is told of new partitions joins again, so that somebody gets them."""
    for join, _, sync in rounds_led(history):
        subscription = subscription_of(join.asked(JoinGroupRequest))
        if subscription is None or not subscription.topics:
            continue
        told = partition_counts(history, frozenset(subscription.topics))
        known = [counts for at_us, counts in told if at_us <= sync.sent_us]
        later = ((at_us, counts) for at_us, counts in told if sync.sent_us < at_us < history.until_close_us)
        grown = (at_us for at_us, counts in later if known and any(counts[t] > n for t, n in known[-1].items()))
        at_us = next(grown, None)
        if at_us is None:
            continue
        yield from joined_again(history, sync, at_us, "new partitions")


@checks("J8")
def the_leader_watches_for_topics_that_match(history: History) -> Iterator[Finding]:
    """The same of a topic that matches the pattern which the application subscribed to."""
    patterns = [(at_us, command.pattern) for at_us, command in history.commands(Subscribe)]
    for join, _, sync in rounds_led(history):
        subscription = subscription_of(join.asked(JoinGroupRequest))
        if subscription is None:
            continue
        for exchange in history.of("Metadata"):
            answer = exchange.answered(MetadataResponse)
            # internal ones only if the application asks for them (exclude.internal.topics)
            told = () if answer is None else answer.topics
            there = (topic.topic for topic in told if topic.error.name == "NONE" and not topic.is_internal)
            pattern = next((each for at_us, each in reversed(patterns) if at_us <= exchange.told_us), "")
            if not pattern:
                continue
            more = [topic for topic in there if re.match(pattern, topic) and topic not in subscription.topics]
            if more and sync.sent_us < exchange.told_us < history.until_close_us:
                yield from joined_again(history, sync, exchange.told_us, f"{more[0]}, which matches")
                break


def joined_again(history: History, sync: Exchange, at_us: int, what: str) -> Iterator[Finding]:
    """Whether the leader of this round, which was told of something at that time, has joined again soon.

    A client that joins in poll() can't do it before the next call, nor before what has to come first.
    """
    again = history.first("JoinGroup", sync.sent_us)
    end_us = history.until_close_us
    if history.is_fenced(end_us) or (again is None and history.looks_for_coordinator(end_us)):
        return
    since_us = history.next_poll_us(at_us) if "join_needs_poll" in history.settings.features else at_us
    if again is not None:
        since_us = held_up_until(history, min(since_us, again.sent_us), again.sent_us)
        reason = f"JoinGroup {history.took_ms(since_us, again.sent_us):.0f} ms after Metadata had told of {what}"
        yield within_polls(history, since_us, again.sent_us, REJOINS_WITHIN_MS, reason)
    elif history.took_ms(since_us, history.until_close_us) > REJOINS_WITHIN_MS:
        reason = f"Metadata told the leader of {what}, and it did not join again"
        yield in_vain(reason, since_us, history.until_close_us)


@checks("K3", rebalance="cooperative")
def claims_of_the_latest_generation_count(history: History) -> Iterator[Finding]:
    """What one member owns by the latest generation that claims it, no other member is given in that round."""
    for _, answer, sync in rounds_led(history):
        owner = valid_claims(answer)
        if owner is None:
            continue
        for member_id, data in sync.asked(SyncGroupRequest).assignments:
            given = assigned_in(data)
            taken = sorted(partition for partition in given if owner.get(partition, member_id) != member_id)
            if taken:
                what = f"{taken[0]} was given to one member while another owned it by a later generation"
                yield broken(what, sync.sent_us)
        yield held("nothing was given to anybody that another member owned", sync.sent_us)


def valid_claims(answer: JoinGroupResponse) -> dict[str, str] | None:
    """Partition -> who owns it by the highest generation; claims that tie are dropped. None if a version has none."""
    best: dict[str, tuple[int, str]] = {}
    for member in answer.members:
        subscription = _subscription(member.metadata)
        if subscription is None or int.from_bytes(member.metadata[:2], "big") < CLAIMS_BY_GENERATION:
            return None
        for partition in names(subscription.owned):
            generation, _ = best.get(partition, (-2, ""))
            if subscription.generation == generation:
                best[partition] = generation, ""
            elif subscription.generation > generation:
                best[partition] = subscription.generation, member.member_id
    return {partition: holder for partition, (_, holder) in best.items() if holder}


def _subscription(data: bytes) -> Subscription | None:
    try:
        return decode_subscription(data)
    except MalformedProtocolData:
        return None


def assigned_in(data: bytes) -> frozenset[str]:
    """The partitions in an assignment; none if it cannot be read (rule J10)."""
    try:
        return names(decode_assignment(data).partitions)
    except MalformedProtocolData:
        return frozenset()
