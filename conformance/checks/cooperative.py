"""Chapter K: the cooperative protocol, where a round takes away only what moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.checks.callbacks import lost_stretches
from groupspec.conformance.checks.checker import Finding, broken, checks, held, held_if, missing
from groupspec.conformance.checks.held_up import REJOIN_WITHIN_MS, held_up_until
from groupspec.conformance.checks.joining import chose_anew, join_of, was_told
from groupspec.conformance.history.exchange import GROUP_APIS, Exchange, assigned_by, names, subscription_of
from groupspec.conformance.history.harness_protocol import Subscribe
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse, MetadataRequest, MetadataResponse

ENDLESS: Final = 3
"""So many rounds in a row that nothing asked for are no coincidence."""


@checks("K1", needs="cooperative", rebalance="cooperative")
def owned_partitions_are_true(history: History) -> Iterator[Finding]:
    """What JoinGroup says that is owned, is what the last completed round left and the member has not given up.

    An assignment that came when there was a reason to join again already may be thrown away: then it is what the
    callbacks have left.
    """
    for join in history.of("JoinGroup"):
        subscription = subscription_of(join.asked(JoinGroupRequest))
        if subscription is None:
            continue
        done = [sync for sync in history.syncs if sync.told_us < join.sent_us]
        lost = any(known.told_us <= join.sent_us <= end for known, end, _ in lost_stretches(history))
        lost = lost or (bool(done) and history.surely_gave_up(done[-1].told_us, join.sent_us))
        expected = left_by(history, done[-1], join.sent_us) if done and not lost else frozenset()
        said = names(subscription.owned)
        if done and not said and history.gave_up(done[-1].told_us, join.sent_us):
            expected = said
        if said == history.owned_at(join.sent_us) and bool(done) and may_be_dropped(history, done[-1], join.sent_us):
            expected = said
        true = f"JoinGroup says that it owns {', '.join(sorted(said)) or 'nothing'}, which is so"
        untrue = f"JoinGroup says that it owns {sorted(said)}, the last round left {sorted(expected)}"
        yield held_if(said == expected, true, untrue, join.sent_us)


def may_be_dropped(history: History, sync: Exchange, until_us: int) -> bool:
    """Whether there was a reason to drop an assignment, and nothing shows that it was applied."""
    unheard = not any(sync.told_us < callback.started_us < until_us for callback in history.callbacks)
    return (unheard and was_told(history, sync, until_us)) or chose_anew(history, sync, until_us)


def left_by(history: History, sync: Exchange, until_us: int) -> frozenset[str]:
    """What a round assigned, less what revoked callbacks have given up since."""
    ended = (each for each in history.callbacks if sync.told_us < (each.ended_us or history.ends_us) <= until_us)
    revoked = (each.partitions for each in ended if each.name == "partitions_revoked")
    return assigned_by(sync).difference(*revoked)


@checks("K2", needs="cooperative", rebalance="cooperative")
def who_gave_up_joins_again(history: History) -> Iterator[Finding]:
    """A round that took something away is followed by another one, right after the callback.

    Who has no listener has no callback to wait for. Who is closed before the callback returns need not join.
    """
    for before, sync in pairwise(history.syncs):
        had = left_by(history, before, sync.told_us)
        if "listener" in history.settings.features:
            had &= history.owned_at(sync.told_us)  # not what came of an assignment that was dropped (rule J1)
        taken = ", ".join(sorted(had - assigned_by(sync)))
        if not taken or not same_membership(history, before, sync):
            continue
        told = sync.told_us
        if "listener" not in history.settings.features:
            yield from joined_again(history, told, f"{taken} had been taken away", history.first("JoinGroup", told))
            continue
        revoked = (c for c in history.callbacks if c.name == "partitions_revoked")
        callback = next((c for c in revoked if c.started_us >= told - history.slack_us), None)
        if callback is None or callback.ended_us is None:
            yield from missing(history, f"{taken}: taken away, and no revoked callback", told, joins=True)
            continue
        if not history.before_close(callback.ended_us):
            continue
        join = history.first("JoinGroup", told)
        if join is not None and join.sent_us < callback.ended_us - history.slack_us:
            yield broken("JoinGroup was sent before the revoked callback had returned", join.sent_us)
        else:
            yield from joined_again(history, callback.ended_us, "what was taken away had been revoked", join)


def joined_again(history: History, since_us: int, what: str, join: Exchange | None) -> Iterator[Finding]:
    """Whether the first JoinGroup after a round came right after what it had to wait for."""
    if join is None:
        yield from missing(history, f"no JoinGroup right after {what}", since_us, joins=True)
        return
    from_us = held_up_until(history, since_us, join.sent_us)
    if history.able_to_join_ms(from_us, join.sent_us) > REJOIN_WITHIN_MS:
        yield broken(f"no JoinGroup right after {what}", since_us)
    else:
        yield held(f"JoinGroup {history.took_ms(since_us, join.sent_us):.0f} ms after {what}", join.sent_us)


@checks("K2", needs="cooperative", rebalance="cooperative")
def rounds_come_to_an_end(history: History) -> Iterator[Finding]:
    """A round that took nothing away is the last, unless another is announced.

    A member may have reasons for one that the wire does not show (rules J1 and J8, enforceRebalance()), but not for one
    after the other.
    """
    in_a_row, earlier = 0, frozenset[str]()
    for before, sync in pairwise(history.syncs):
        in_a_row = in_a_row + 1 if is_unasked(history, earlier, before, sync) else 0
        earlier = assigned_by(before)
        if in_a_row == ENDLESS:
            yield broken(f"{ENDLESS} rounds in a row that nothing had asked for", sync.sent_us)
    for last in history.syncs[-1:]:
        join = history.first("JoinGroup", last.told_us)
        beats = (e for e in history.of("Heartbeat") if e.sent_us > last.sent_us)
        if join is None or was_told(history, last, join.sent_us) or earlier - assigned_by(last):
            continue
        if history.gave_up(last.told_us, join.sent_us) or history.left(last.told_us, join.sent_us):
            continue
        if topics_of(join_of(history, last)) != topics_of(join):
            continue  # as where another topic matches the pattern
        if all(e.error in ("NONE", "") for e in beats):
            yield broken("JoinGroup again after a round that had taken nothing away", join.sent_us)


def topics_of(join: Exchange | None) -> frozenset[str]:
    """The topics that a JoinGroup subscribes to."""
    subscription = None if join is None else subscription_of(join.asked(JoinGroupRequest))
    return frozenset(() if subscription is None else subscription.topics)


def is_unasked(history: History, earlier: frozenset[str], before: Exchange, sync: Exchange) -> bool:
    """Whether nothing is to be seen that this round is for: the one before took nothing away, and no answer said so."""
    if earlier - assigned_by(before) or was_told(history, before, sync.sent_us):
        return False
    told = (e for e in history.of(*GROUP_APIS) if before.told_us <= e.told_us <= sync.sent_us)
    return same_membership(history, before, sync) and all(e.error == "NONE" for e in told)


def same_membership(history: History, before: Exchange, after: Exchange) -> bool:
    """Whether the member kept its id from one round to the next, and was not lost in between."""
    joins = (e for e in history.answers("JoinGroup", "NONE") if before.sent_us - 1 <= e.told_us <= after.sent_us)
    ids = {answer.member_id for join in joins if (answer := join.answered(JoinGroupResponse))}
    told = any(before.sent_us < known.told_us < after.sent_us for known, _, _ in lost_stretches(history))
    ended = told or history.gave_up(before.sent_us, after.sent_us) or history.left(before.sent_us, after.sent_us)
    return len(ids) <= 1 and not ended


@checks("K4", needs="listener")
def one_protocol_throughout(history: History) -> Iterator[Finding]:
    """Eager gives up everything at every round; cooperative only what the new assignment lacks."""
    for before, sync in pairwise(history.syncs):
        if not same_membership(history, before, sync):
            continue
        start, end = before.told_us, sync.told_us
        revoked = [c for c in history.callbacks if c.name == "partitions_revoked" and start <= c.started_us <= end]
        given_up = frozenset[str]().union(*(callback.partitions for callback in revoked))
        if history.settings.rebalance == "cooperative":
            kept = given_up & assigned_by(before) & assigned_by(sync)
            too_much = ", ".join(sorted(name for name in kept if not was_unwanted(history, name, start, end)))
            wrong = f"a cooperative member gave up {too_much}, which it keeps"
            yield held_if(not too_much, "a cooperative member gave up only what it had to", wrong, end)
            continue
        owned = history.owned_at(next((callback.started_us for callback in revoked), end))
        if owned or given_up:
            wrong = f"an eager member gave up {sorted(given_up)}, not {sorted(owned)}"
            yield held_if(given_up == owned, "an eager member gave up everything before it joined", wrong, end)


def was_unwanted(history: History, partition: str, from_us: int, to_us: int) -> bool:
    """Whether the application gave up the partition's topic in between, or it was gone: it goes before JoinGroup.

    Kafka ConsumerCoordinator.onJoinPrepare. The topic may be wanted again before the round ends.
    """
    topic = partition.rpartition("-")[0]
    chosen = (each.topics for at_us, each in history.commands(Subscribe) if from_us <= at_us <= to_us and each.topics)
    if any(topic not in topics for topics in chosen):
        return True
    told = (e for e in history.of("Metadata") if e.answer is not None and from_us <= e.told_us <= to_us)
    listed = (e.answered(MetadataResponse) for e in told if topic in (e.asked(MetadataRequest).topics or (topic,)))
    return any(topic not in {each.topic for each in answer.topics} for answer in listed if answer is not None)


@checks("K4", needs="listener", rebalance="eager")
def what_an_eager_member_gave_up_is_forgotten(history: History) -> Iterator[Finding]:
    """JoinGroup claims nothing that callbacks have given up."""
    revoked = [
        c for c in history.callbacks if c.name == "partitions_revoked" and c.partitions and c.ended_us is not None
    ]
    for join in history.of("JoinGroup"):
        subscription = subscription_of(join.asked(JoinGroupRequest))
        if subscription is None or all(join.sent_us < (callback.ended_us or 0) for callback in revoked):
            continue
        claimed = ", ".join(sorted(names(subscription.owned) - history.owned_at(join.sent_us)))
        wrong = f"JoinGroup of an eager member claims {claimed}, which it had given up"
        yield held_if(not claimed, "JoinGroup of an eager member claims nothing that it gave up", wrong, join.sent_us)
