"""Chapter K: the cooperative protocol, where a round takes away only what moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.wire.history import Exchange, History, assigned_by, names, subscription_of
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held
from groupspec.conformance.wire.rules.callbacks import lost_stretches
from groupspec.impl.core.messages import JoinGroupRequest, JoinGroupResponse

REJOIN_WITHIN_MS: Final = 1_000


def rounds(history: History) -> Iterator[tuple[Exchange, Exchange]]:
    """Completed rounds that follow another one: the SyncGroup before, and the one that completed this round."""
    return pairwise(history.syncs)


@checks("K1", needs="cooperative")
def owned_partitions_are_true(history: History) -> Iterator[Finding]:
    """What JoinGroup says that is owned, is what the last completed round left to the member."""
    if history.settings.rebalance != "cooperative":
        return
    for join in history.of("JoinGroup"):
        subscription = subscription_of(join.asked(JoinGroupRequest))
        if subscription is None:
            continue
        done = [sync for sync in history.syncs if (sync.answered_us or 0) < join.sent_us]
        lost = any(known.told_us <= join.sent_us <= end for known, end, _ in lost_stretches(history))
        lost = lost or (bool(done) and history.gave_up(done[-1].answered_us or 0, join.sent_us))
        expected = assigned_by(done[-1]) if done and not lost else frozenset()
        said = names(subscription.owned)
        if said == expected:
            yield held(f"JoinGroup says that it owns {', '.join(sorted(said)) or 'nothing'}, which is so", join.sent_us)
        else:
            yield broken(
                f"JoinGroup says that it owns {sorted(said)}, the last round left {sorted(expected)}", join.sent_us
            )


@checks("K2", needs="cooperative")
def who_gave_up_joins_again(history: History) -> Iterator[Finding]:
    """A round that took something away is followed by another one, right after the callback.

    Who has no listener has no callback to wait for.
    """
    if history.settings.rebalance != "cooperative":
        return
    for before, sync in rounds(history):
        taken = assigned_by(before) - assigned_by(sync)
        if not taken or not same_membership(history, before, sync):
            continue
        answered = sync.answered_us or 0
        if "listener" not in history.settings.features:
            yield joined_again(history, answered, f"{', '.join(sorted(taken))} had been taken away")
            continue
        callback = next(
            (
                c
                for c in history.callbacks
                if c.name == "partitions_revoked" and c.started_us >= answered - history.slack_us
            ),
            None,
        )
        if callback is None or callback.ended_us is None:
            yield broken(f"{', '.join(sorted(taken))}: taken away, and no revoked callback", answered)
            continue
        join = history.first("JoinGroup", answered)
        if join is not None and join.sent_us < callback.ended_us - history.slack_us:
            yield broken("JoinGroup was sent before the revoked callback had returned", join.sent_us)
        else:
            yield joined_again(history, callback.ended_us, "what was taken away had been revoked", answered)


def joined_again(history: History, since_us: int, what: str, round_us: int | None = None) -> Finding:
    """Whether the first JoinGroup after a round came right after what it had to wait for."""
    join = history.first("JoinGroup", since_us if round_us is None else round_us)
    if join is None or history.took_ms(since_us, join.sent_us) > REJOIN_WITHIN_MS:
        return broken(f"no JoinGroup right after {what}", since_us)
    return held(f"JoinGroup {history.took_ms(since_us, join.sent_us):.0f} ms after {what}", join.sent_us)


@checks("K2", needs="cooperative")
def rounds_come_to_an_end(history: History) -> Iterator[Finding]:
    """A round that took nothing away is the last, unless another is announced."""
    if history.settings.rebalance != "cooperative" or not history.syncs:
        return
    last = history.syncs[-1]
    join = history.first("JoinGroup", last.answered_us or 0)
    if join is not None and not any(
        e.error not in ("NONE", "") for e in history.of("Heartbeat") if e.sent_us > last.sent_us
    ):
        yield broken("JoinGroup again after a round that had taken nothing away", join.sent_us)


def same_membership(history: History, before: Exchange, after: Exchange) -> bool:
    """Whether the member kept its id from one round to the next, and was not lost in between."""
    ids = {
        answer.member_id
        for exchange in history.answers("JoinGroup", "NONE")
        if before.sent_us - 1 <= (exchange.answered_us or 0) <= after.sent_us
        and (answer := exchange.answered(JoinGroupResponse))
    }
    told = any(before.sent_us < known.told_us < after.sent_us for known, _, _ in lost_stretches(history))
    return len(ids) <= 1 and not told and not history.gave_up(before.sent_us, after.sent_us)


@checks("K4", needs="listener")
def one_protocol_throughout(history: History) -> Iterator[Finding]:
    """Eager gives up everything at every round; cooperative only what the new assignment lacks."""
    for before, sync in rounds(history):
        if not same_membership(history, before, sync):
            continue
        start, end = before.answered_us or 0, sync.answered_us or 0
        revoked = [c for c in history.callbacks if c.name == "partitions_revoked" and start <= c.started_us <= end]
        given_up = frozenset[str]().union(*(callback.partitions for callback in revoked))
        if history.settings.rebalance == "cooperative":
            too_much = given_up & assigned_by(sync)
            if too_much:
                yield broken(f"a cooperative member gave up {', '.join(sorted(too_much))}, which it keeps", end)
            else:
                yield held("a cooperative member gave up only what it had to", end)
            continue
        began = next((callback.started_us for callback in revoked), end)
        owned = history.owned_at(began)
        if given_up != owned:
            yield broken(f"an eager member gave up {sorted(given_up)}, not {sorted(owned)}", end)
        elif owned:
            yield held("an eager member gave up everything before it joined", end)
