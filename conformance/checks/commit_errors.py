"""Commits that fail, and the order of commits (rules M2, M6)."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, missing
from groupspec.conformance.checks.commits import asked_for, commits
from groupspec.conformance.checks.joining import joined_meanwhile
from groupspec.conformance.checks.positions import is_anew, is_of_no_epoch, log_end, out_of_range
from groupspec.conformance.history.exchange import REBALANCE, Exchange, is_of_nobody
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import FetchRequest, OffsetCommitRequest, OffsetFetchResponse, TopicPartition


@checks("M2")
def a_refused_commit_ends_in_a_rejoin(history: History) -> Iterator[Finding]:
    """The member joins again; what was refused for its identity is not sent again with the same."""
    for exchange in history.of("OffsetCommit"):
        told = exchange.told_us
        if exchange.error not in REBALANCE or not history.before_close(told) or joined_meanwhile(history, exchange):
            continue
        if history.left(exchange.sent_us, told):
            continue  # it says nothing of the member that it is now
        join = history.first("JoinGroup", told)
        why = f"after OffsetCommit was answered {exchange.error}"
        if join is None and is_of_nobody(exchange):
            continue  # nor of any member
        if join is None:
            yield from missing(history, f"no JoinGroup {why}", told, joins=True)
        elif again := refused_again(history, exchange, join.sent_us):
            yield broken(f"the same identity in another OffsetCommit {why}", again.sent_us)
        else:
            yield held(f"JoinGroup {why}", join.sent_us)


def refused_again(history: History, refused: Exchange, until_us: int) -> Exchange | None:
    """A commit with an identity that an answer has ended; REBALANCE_IN_PROGRESS ends none."""
    if refused.error == "REBALANCE_IN_PROGRESS":
        return None
    first = refused.asked(OffsetCommitRequest)
    for later in history.between(refused.told_us, until_us, "OffsetCommit"):
        commit = later.asked(OffsetCommitRequest)
        same = (commit.member_id, commit.generation) == (first.member_id, first.generation)
        if same and Known.of(refused).before(later, history):
            return later
    return None


@checks("M6")
def commits_do_not_go_back(history: History) -> Iterator[Finding]:
    """Of one partition no commit is behind an earlier one, unless the client has read it from further back since.

    What an application commits itself may be anything.
    """
    if asked_for(history):
        return
    last: dict[TopicPartition, tuple[int, int]] = {}
    for exchange, commit in commits(history):
        for partition, committed in commit.offsets.items():
            before, since_us = last.get(partition, (0, 0))
            if committed.offset < before and not went_back(history, partition, before, since_us, exchange.sent_us):
                what = f"{partition}: offset {committed.offset} was committed after {before}"
                yield broken(what, exchange.sent_us)
            last[partition] = committed.offset, exchange.sent_us
    if last:
        yield held("no commit was behind an earlier one", history.ends_us)


def went_back(history: History, partition: TopicPartition, offset: int, from_us: int, to_us: int) -> bool:
    """Whether a partition was fetched from before that offset in between, or its position was read or sought there.

    Or its topic was made anew, whose offsets are others (rule O7), or its log was cut (rule O8).
    """
    fetches = (fetch.asked(FetchRequest).offsets for fetch in history.between(from_us, to_us, "Fetch"))
    sought = any(position < offset for _, position in history.sought(str(partition), from_us, to_us))
    answers = (e.answered(OffsetFetchResponse) for e in history.of("OffsetFetch") if from_us < e.told_us < to_us)
    read = (answer.offsets.get(partition) for answer in answers if answer is not None)
    told = any(each is not None and 0 <= each.offset < offset for each in read)
    changed = is_anew(history, str(partition), to_us, from_us) or out_of_range(history, str(partition), from_us, to_us)
    changed = changed or is_of_no_epoch(history, partition, from_us, to_us)
    changed = changed or log_end(history, partition, offset, from_us, to_us) < offset
    return changed or sought or told or any(partition in offsets and offsets[partition] < offset for offsets in fetches)
