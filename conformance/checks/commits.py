"""Chapter M: commits, of what, by whom, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, held_if, missing
from groupspec.conformance.checks.heartbeats import gives_up
from groupspec.conformance.checks.joining import joined_meanwhile
from groupspec.conformance.history.exchange import REBALANCE, Exchange, assigned_by, names
from groupspec.conformance.history.harness_protocol import Commit, OffsetsCommitted, Seek
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import (
    FetchRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.network.topic_ids import is_unknown

MAX_TRIES: Final = 3
INTERVAL_OVER: Final = 800
"""Microseconds of each millisecond of the interval: a timer may be a fifth early."""


def commits(history: History) -> Iterator[tuple[Exchange, OffsetCommitRequest]]:
    """Every OffsetCommit."""
    return ((exchange, exchange.asked(OffsetCommitRequest)) for exchange in history.of("OffsetCommit"))


def granted_at(history: History, commit: Exchange) -> frozenset[str]:
    """What the coordinator let the member hold at this commit: assignments, until JoinGroup, LeaveGroup or a loss.

    A cooperative member still holds what is taken from it until it joins again: nobody else has it yet. And the commit
    that is itself answered UNKNOWN_MEMBER_ID, or was under way when another request was, comes from who cannot know.
    """
    at_us = commit.sent_us
    granted: frozenset[str] = frozenset()
    for exchange in changes_of_grants(history):
        if exchange.sent_us > at_us:
            break
        if exchange.api == "SyncGroup" and exchange.error == "NONE" and exchange.told_us <= at_us + history.slack_us:
            granted |= assigned_by(exchange)
        elif exchange.api == "JoinGroup":
            granted &= kept_over_join(history, exchange)
        elif exchange.api == "LeaveGroup":
            granted = frozenset()
        elif exchange.error == "UNKNOWN_MEMBER_ID":
            loss = Known.of(exchange, gives_up(history, exchange.told_us))
            if without_identity(commit) or loss.before(commit, history):
                granted = frozenset()
    return granted


@once
def changes_of_grants(history: History) -> Iterator[Exchange]:
    """Rounds, departures, and what tells a member that it is none."""
    for exchange in history.exchanges:
        changes = exchange.api in ("JoinGroup", "LeaveGroup") or (exchange.api, exchange.error) == ("SyncGroup", "NONE")
        if changes or (exchange.error == "UNKNOWN_MEMBER_ID" and history.was_read(exchange)):
            yield exchange


def kept_over_join(history: History, join: Exchange) -> frozenset[str]:
    """What the round before this JoinGroup left to the member: to an eager one, nothing."""
    done = [sync for sync in history.syncs if sync.told_us <= join.sent_us]
    return assigned_by(done[-1]) if done and history.settings.rebalance == "cooperative" else frozenset()


def without_identity(commit: Exchange) -> bool:
    """Whether it carries no member id: the sender has given up its identity."""
    return commit.asked(OffsetCommitRequest).generation < 0


@checks("M1")
def commits_carry_the_identity(history: History) -> Iterator[Finding]:
    """Member id and generation of one and the same round, the latest one.

    Not of who reads partitions that the application has assigned itself: it is nobody's member (rule D8).
    """
    for exchange, commit in [] if history.assigned_by_hand else commits(history):
        known = [identity for identity in history.identities if identity.from_us <= exchange.sent_us]
        if not known:
            yield broken("OffsetCommit before the member had joined", exchange.sent_us)
            continue
        said = f"generation {commit.generation}, member id {commit.member_id!r}"
        yield held_if(
            (commit.member_id, commit.generation) == (known[-1].member_id, known[-1].generation),
            f"OffsetCommit with the member's id and generation {commit.generation}",
            f"OffsetCommit with {said}; the member is in generation {known[-1].generation}",
            exchange.sent_us,
        )


@checks("M3", needs="auto_commit")
def the_commit_does_not_hold_the_rebalance(history: History) -> Iterator[Finding]:
    """Before giving up partitions: one commit, not one a poll, and then the JoinGroup.

    Who commits each partition by itself, as kafkajs does, makes no more of them by that. What the application commits
    itself is not counted.
    """
    for beat in history.answers("Heartbeat", "REBALANCE_IN_PROGRESS"):
        join = history.first("JoinGroup", beat.told_us)
        before = history.between(beat.told_us, join.sent_us if join else history.ends_us + 1, "OffsetCommit")
        if not before or joined_meanwhile(history, beat):
            continue
        if join is None and before[0].sent_us >= history.until_close_us:
            continue  # close() has begun: its commit, which LeaveGroup follows
        if join is None:
            reason = "no JoinGroup after the commit that precedes it"
            yield from missing(history, reason, before[0].sent_us, joins=True)
        elif (most := _most_tries(before)) > MAX_TRIES + _asked_for_between(history, beat.told_us, join.sent_us):
            yield broken(f"{most} OffsetCommits of one partition before one JoinGroup", before[-1].sent_us)
        else:
            yield held("the commit before the rebalance was made, and the rebalance went on", join.sent_us)


def _asked_for_between(history: History, from_us: int, to_us: int) -> int:
    return sum(from_us <= at_us <= to_us for at_us, _ in history.commands(Commit))


def _most_tries(sent: Sequence[Exchange]) -> int:
    tries = Counter(partition for each in sent for partition in each.asked(OffsetCommitRequest).offsets)
    return max(tries.values(), default=len(sent))


@checks("M4", needs="auto_commit pull")
def only_returned_records_are_committed(history: History) -> Iterator[Finding]:
    """No offset beyond the records that earlier polls returned, or beyond where it was told to begin."""
    for exchange, commit in commits(history):
        closing = history.how_closed.another_thread and exchange.sent_us >= history.until_close_us
        until_us = history.ends_us if closing else exchange.sent_us  # a poll that is under way then has counted already
        returned = [each for each in history.returned if each.at_us <= until_us]
        for partition, committed in commit.offsets.items():
            start = start_of(history, partition, exchange.sent_us)
            positions = [r.last + 1 for r in returned if r.partition == str(partition)]
            seeks = (s for asked_us, _, s in history.carried_out(Seek) if asked_us <= exchange.sent_us)  # done already?
            positions += [history.target(seek) for seek in seeks if str(seek) == str(partition)]
            positions += looked_up(history, partition, exchange.sent_us)
            most = max(positions, default=start)
            what = f"{partition}: offset {committed.offset}"
            right = f"{what}, not beyond what polls had returned"
            wrong = f"{what} was committed, polls had returned up to {most}"
            behind = most is None or committed.offset <= history.next_record(str(partition), most)
            yield held_if(behind, right, wrong, exchange.sent_us)


def looked_up(history: History, partition: TopicPartition, before_us: int) -> list[int]:
    """The positions that answers have given for a partition: who is given it anew begins there."""
    found = []
    for exchange in history.of("OffsetFetch", "ListOffsets"):
        answer = exchange.answer.message if exchange.answer is not None and exchange.told_us <= before_us else None
        if isinstance(answer, OffsetFetchResponse | ListOffsetsResponse) and partition in answer.offsets:
            found.append(answer.offsets[partition].offset)
    return found


def start_of(history: History, partition: TopicPartition, before_us: int) -> int | None:
    """Where the first Fetch of a partition began; None if there was none."""
    fetches = (fetch.asked(FetchRequest).offsets for fetch in history.of("Fetch") if fetch.sent_us <= before_us)
    return next((offsets[partition] for offsets in fetches if partition in offsets), None)


@checks("M5", needs="auto_commit")
def an_unanswered_commit_is_not_sent_again(history: History) -> Iterator[Finding]:
    """Commits may overlap, but each has a reason: its interval is over, a rebalance was announced, close() was called.

    Java's ConsumerCoordinator.maybeAutoCommitOffsetsAsync has no in-flight guard: the timer alone decides, and a
    revocation or close() commits whatever is still out. Who sends the same again while it is unanswered has no reason.
    A commit that was due leaves what had been announced by then to the next one: Java's poll commits before it reads
    that the group rebalances, and in the next poll for that.
    """
    if asked_for(history):
        return
    reasons = [] if history.close_us is None else [history.close_us]
    reasons += [exchange.told_us for exchange in history.exchanges if exchange.error in REBALANCE]
    reasons += [callback.started_us for callback in history.callbacks if callback.name != "partitions_assigned"]
    if "listener" not in history.settings.features:  # nothing tells when it gives up what a round has taken away
        reasons += [sync.told_us for sync in history.syncs]
    interval_us = INTERVAL_OVER * history.settings.auto_commit_interval_ms
    sent = history.of("OffsetCommit")
    before_us = history.syncs[0].told_us if history.syncs else 0
    for earlier, later in pairwise(sent):
        ended = earlier.ended_before(later.sent_us) or history.connections_closed(earlier.sent_us, later.sent_us)
        apart = history.apart_ms(earlier.sent_us, later.sent_us)
        was_due = 1000 * history.apart_ms(before_us, earlier.sent_us) >= interval_us
        since_us = (before_us if was_due else earlier.sent_us) - history.slack_us
        before_us = earlier.sent_us
        if not ended and 1000 * apart < interval_us and not any(since_us < at <= later.sent_us for at in reasons):
            what = f"an OffsetCommit {apart:.0f} ms after one that was still unanswered, without a reason"
            yield broken(what, later.sent_us)
    if sent:
        yield held(f"{len(sent)} OffsetCommits, each with a reason of its own", sent[-1].sent_us)


def asked_for(history: History) -> bool:
    """Whether the application itself committed: what, and how often, is its affair then."""
    return bool(history.commands(Commit)) or bool(history.events(OffsetsCommitted))


@checks("M7")
def only_owned_partitions_are_committed(history: History) -> Iterator[Finding]:
    """Nothing is committed for what the member does not hold, nor between JoinGroup and SyncGroup.

    The first goes for what the client commits by itself; an application may commit what it likes (Java's
    sendOffsetCommitRequest looks at no ownership), and has it refused in mid-round (generationIfStable). An id that the
    broker knows no more may be that of a partition which the member holds: its topic was made anew.
    """
    for exchange, commit in [] if asked_for(history) or history.assigned_by_hand else commits(history):
        known = names(each for each in commit.offsets if not is_unknown(each.topic))
        foreign = ", ".join(sorted(known - granted_at(history, exchange)))
        wrong = f"OffsetCommit of {foreign}, which the member does not hold"
        yield held_if(not foreign, "OffsetCommit of partitions that the member holds", wrong, exchange.sent_us)
    for join in history.answers("JoinGroup", "NONE"):
        answered = (sync.told_us for sync in history.of("SyncGroup") if sync.sent_us >= join.told_us and sync.answer)
        end = next(answered, history.ends_us)
        during = history.between(join.sent_us, end - history.slack_us, "OffsetCommit")
        if during:
            what = f"OffsetCommit between JoinGroup and the answer to SyncGroup{_on_whose_behalf(history, during[0])}"
            yield broken(what, during[0].sent_us)
        elif asked_for(history):
            yield held("no OffsetCommit between JoinGroup and the answer to SyncGroup", join.sent_us)


def _on_whose_behalf(history: History, sent: Exchange) -> str:
    """The application's, if it has asked for a commit that is not over: then it is told what the broker answers.

    What it says is of one generation too few, or too many, all the same: Java refuses it at once (generationIfStable).
    """
    asked = [at_us for at_us, _ in history.commands(Commit) if at_us <= sent.sent_us]
    if not asked or any(asked[-1] <= at_us <= sent.sent_us for at_us, _ in history.events(OffsetsCommitted)):
        return ""
    return f", for a commit() of the application's; answered {sent.error or 'never'}"
