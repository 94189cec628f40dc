"""Chapter O: where a partition is read from, and which records poll may return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, held_if
from groupspec.conformance.checks.joining import lost_before, new_partitions
from groupspec.conformance.checks.topic_identity import EARLIEST, LATEST, was_recreated
from groupspec.conformance.history.exchange import Exchange, assigned_by, names
from groupspec.conformance.history.harness_protocol import Assign, Seek, Unsubscribe, joins_no_classic_group
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    TopicPartition,
)

POLICIES: Final = {"earliest": EARLIEST, "latest": LATEST}
"""By auto.offset.reset; with any other one the application chooses."""


@once
def first_fetches(history: History) -> Iterator[tuple[TopicPartition, int, Exchange, int]]:
    """The first Fetch of each new partition: partition, offset, Fetch, and when it was assigned.

    None for a partition that is assigned anew before it is read.
    """
    rounds = list(assigned(history))
    for number, (assigned_us, new) in enumerate(rounds, 1):
        fetches = [each for each in history.fetches if each[0].sent_us >= assigned_us]
        for name in sorted(new):
            anew_us = next((at_us for at_us, later in rounds[number:] if name in later), history.ends_us + 1)
            in_time = (each for each in fetches if each[0].sent_us < anew_us)
            asked = ((*each, fetch) for fetch, offsets in in_time for each in offsets.items())
            first = next((one for one in asked if str(one[0]) == name), None)
            if first is not None:
                yield *first, assigned_us


@once
def assigned(history: History) -> Iterator[tuple[int, frozenset[str]]]:
    """When a member was told of new partitions, and of which: by SyncGroup, or in a consumer group by its callback."""
    if joins_no_classic_group(history.settings.features):
        yield from ((c.started_us, c.partitions) for c in history.callbacks if c.name == "partitions_assigned")
    else:
        yield from ((sync.told_us, new) for sync, new in new_partitions(history))


def committed(history: History, partition: TopicPartition, from_us: int, to_us: int) -> int | None:
    """What OffsetFetch said about a partition in between; None if nothing was said."""
    for exchange in history.of("OffsetFetch"):
        answer = exchange.answered(OffsetFetchResponse)
        said = answer.offsets.get(partition) if answer is not None and exchange.error == "NONE" else None
        if said is not None and from_us <= exchange.told_us <= to_us:
            return said.offset
    return None


def has_returned_up_to(history: History, partition: TopicPartition, first: int, end: int, since_us: int) -> bool:
    """Whether what poll has returned since then begins at one offset and goes on, without a gap, to another."""
    for returned in history.returned:
        if returned.partition == str(partition) and returned.at_us > since_us and first < end:
            if returned.first not in (first, history.next_record(returned.partition, first)):
                return False
            first = returned.last + 1
    return first <= end <= history.next_record(str(partition), first)


def began_at(
    history: History, partition: TopicPartition, offset: int, fetch: Exchange, assigned_us: int
) -> tuple[int, int]:
    """Where a new partition begins to be read, and when: at its first Fetch, or with the first records before it.

    Its first records may come of a Fetch that was still out, at the very offset that is committed: Java takes them, as
    the position is the same again (SubscriptionState.position, FetchCollector.fetchRecords). Then the next Fetch goes
    on behind them, and may be sent before poll returns them (ClassicKafkaConsumer.poll, "we can send off the next round
    of fetches").

    Who has not asked for the committed offset (rule O1) may have kept its position, and what it had fetched: then it
    goes on where the last poll ended, whatever its next Fetch asks for.
    """
    known = committed(history, partition, assigned_us, fetch.sent_us)
    if known is None:
        kept = kept_position(history, str(partition), assigned_us)
        begins = offset if kept is None else kept
    else:
        begins = known if has_returned_up_to(history, partition, known, offset, assigned_us) else offset
    later = (r.at_us for r in history.returned if r.partition == str(partition) and r.at_us > assigned_us)
    return begins, fetch.sent_us if begins == offset else min(fetch.sent_us, next(later, fetch.sent_us))


def kept_position(history: History, partition: str, assigned_us: int) -> int | None:
    """The end of what poll had returned before an assignment, if it goes on right there after it; None if not."""
    returned = [each for each in history.returned if each.partition == partition]
    ended = next((each.last + 1 for each in reversed(returned) if each.at_us <= assigned_us), None)
    first = next((each.first for each in returned if each.at_us > assigned_us), None)
    goes_on = ended is not None and first in (ended, history.next_record(partition, ended))
    return ended if goes_on else None


def was_under_way(history: History, partition: TopicPartition, assigned_us: int, fetch: Exchange) -> bool:
    """Whether a Fetch may be one of the assignment before, sent when the new one was written (rule S1 has that).

    Not what was sent after the listener had been told of the new one.
    """
    earlier = (offsets for e, offsets in history.fetches if e.sent_us < assigned_us)
    told = (c for c in history.callbacks if c.name == "partitions_assigned" and c.started_us >= assigned_us)
    known = Known.by(assigned_us, next(told, None))
    return not known.before(fetch, history) and any(partition in offsets for offsets in earlier)


@checks("O1")
def new_partitions_start_from_the_committed_offset(history: History) -> Iterator[Finding]:
    """A newly assigned partition is read from its committed offset."""
    for partition, offset, fetch, assigned_us in first_fetches(history):
        known = committed(history, partition, assigned_us, fetch.sent_us)
        if history.seeks(str(partition), assigned_us, fetch.sent_us):
            continue  # the application's position counts: rules O4 and O5 have its records
        if is_of_no_epoch(history, partition, assigned_us, fetch.sent_us):
            continue
        if known is None and was_under_way(history, partition, assigned_us, fetch):
            continue
        if known is None:
            yield broken(f"{partition} was fetched without asking for its committed offset", fetch.sent_us)
        elif known >= 0:
            right = f"{partition} was fetched from its committed offset {known}"
            wrong = f"{partition} was fetched from {offset}, committed is {known}"
            begins, _ = began_at(history, partition, offset, fetch, assigned_us)
            right_one = begins in (known, log_end(history, partition, known, assigned_us, fetch.sent_us))
            yield held_if(right_one, right, wrong, fetch.sent_us)


def is_of_no_epoch(history: History, partition: TopicPartition, from_us: int, to_us: int) -> bool:
    """Whether a leader knew no epoch as early as the position's in between: then the policy applies.

    KIP-320 (SubscriptionState.maybeCompleteValidation: UNDEFINED_EPOCH_OFFSET).
    """
    told = (e for e in history.answers("OffsetForLeaderEpoch", "NONE") if from_us <= e.told_us <= to_us)
    answers = (each.answered(OffsetForLeaderEpochResponse) for each in told)
    ends = (answer.ends.get(partition) for answer in answers if answer is not None)
    return any(end is not None and end.end_offset < 0 for end in ends)


def log_end(history: History, partition: TopicPartition, offset: int, from_us: int, to_us: int) -> int:
    """Where a position ends up that is validated in between: where its leader's log ends, if that is before it.

    KIP-320 (SubscriptionState.maybeCompleteValidation).
    """
    for exchange in history.of("OffsetForLeaderEpoch"):
        answer = exchange.answered(OffsetForLeaderEpochResponse)
        end = answer.ends.get(partition) if answer is not None and from_us <= exchange.told_us <= to_us else None
        if end is not None and 0 <= end.end_offset < offset:
            offset = end.end_offset
    return offset


@checks("O6")
def without_a_commit_the_policy_applies(history: History) -> Iterator[Finding]:
    """Without a committed offset: auto.offset.reset, earliest or latest, as ListOffsets says.

    Who has fetched the partition before knows its beginning: each Fetch answer says it (librdkafka
    rd_kafka_offset_reset).
    """
    policy = history.settings.auto_offset_reset
    for partition, offset, fetch, assigned_us in first_fetches(history) if policy in POLICIES else ():
        if committed(history, partition, assigned_us, fetch.sent_us) != -1:
            continue
        if history.seeks(str(partition), assigned_us, fetch.sent_us):
            continue
        done = (each.asked(FetchRequest).offsets for each in history.of("Fetch") if each.ended_before(assigned_us))
        since_us = 0 if any(partition in offsets for offsets in done) else assigned_us
        listed = listed_offset(history, partition, since_us, fetch.sent_us, POLICIES[policy])
        what = f"{partition} has no committed offset"
        if listed is None:
            yield broken(f"{what}, and was fetched without asking for the {policy}", fetch.sent_us)
        else:
            right = f"{what} and was fetched from the {policy}, {listed}"
            wrong = f"{partition} was fetched from {offset}, the {policy} offset is {listed}"
            yield held_if(offset == listed, right, wrong, fetch.sent_us)


def listed_offset(history: History, partition: TopicPartition, from_us: int, to_us: int, end: int) -> int | None:
    """What ListOffsets said last in between about an end of a partition: EARLIEST or LATEST."""
    for exchange in reversed(history.of("ListOffsets")):
        answer = exchange.answered(ListOffsetsResponse)
        asked = exchange.asked(ListOffsetsRequest).timestamps.get(partition)
        in_between = from_us <= exchange.sent_us and exchange.told_us <= to_us
        told = answer.offsets.get(partition) if answer is not None and asked == end and in_between else None
        if told is not None and told.error is ErrorCode.NONE:
            return told.offset
    return None


@checks("O2", needs="cooperative", rebalance="cooperative")
def retained_partitions_go_on(history: History) -> Iterator[Finding]:
    """What a cooperative member keeps over a round is not looked up again, and goes on where it was."""
    added = [new for _, new in new_partitions(history)]
    for number, (previous, sync) in enumerate(pairwise(history.syncs)):
        retained = assigned_by(sync) & assigned_by(previous) - added[number + 1]
        if not retained or lost_before(history, sync):
            continue
        until = {name: kept_until(history, name, sync, history.syncs[number + 2 :]) for name in retained}
        for exchange in history.of("OffsetFetch"):
            asked = names(exchange.asked(OffsetFetchRequest).partitions) & retained & known_before(history, exchange)
            kept = (name for name in asked if sync.told_us <= exchange.sent_us < until[name])
            again = ", ".join(sorted(name for name in kept if not is_anew(history, name, exchange.sent_us)))
            if again:
                what = f"the committed offset of {again}, which was retained, was looked up again"
                yield broken(what, exchange.sent_us)
        yield from fetched_backwards(history, until, previous.told_us)
        yield held(f"{', '.join(sorted(retained))} went on over the rebalance", sync.told_us)


def moved(history: History, partition: str, from_us: int, to_us: int) -> bool:
    """Whether the client had a reason to read the partition from elsewhere in between."""
    validations = (e for e in history.of("OffsetForLeaderEpoch") if e.sent_us <= to_us and e.told_us >= from_us)
    asked = any(partition in names(e.asked(OffsetForLeaderEpochRequest).epochs) for e in validations)
    gave_up = any(partition in c.partitions and from_us < c.started_us <= to_us for c in history.callbacks)
    gave_up |= any(from_us < at_us <= to_us for at_us, _ in history.commands(Assign))
    is_another = is_anew(history, partition, to_us, from_us)
    return asked or gave_up or is_another or out_of_range(history, partition, from_us, to_us)


def is_anew(history: History, partition: str, before_us: int, since_us: int = 0) -> bool:
    """Whether the client was told in between that the partition's topic is another one (rule O7)."""
    return was_recreated(history, partition.rpartition("-")[0], since_us, before_us)


def out_of_range(history: History, partition: str, from_us: int, to_us: int) -> bool:
    """Whether a Fetch of the partition was answered OFFSET_OUT_OF_RANGE in between."""
    return any(from_us <= at_us <= to_us for at_us in history.out_of_range_us.get(partition, ()))


def known_before(history: History, lookup: Exchange) -> frozenset[str]:
    """The partitions whose committed offsets the client had been told since they were new, before it asked here."""
    since_us: dict[str, int] = {}
    for sync, new in new_partitions(history):
        if sync.told_us <= lookup.sent_us:
            since_us |= dict.fromkeys(new, sync.told_us)
    earlier = (e for e in history.answers("OffsetFetch", "NONE") if e.told_us < lookup.sent_us)
    answers = ((e.sent_us, e.answered(OffsetFetchResponse)) for e in earlier)
    told = ((sent_us, str(where)) for sent_us, answer in answers if answer is not None for where in answer.offsets)
    return frozenset(name for sent_us, name in told if sent_us >= since_us.get(name, 0))


def kept_until(history: History, partition: str, sync: Exchange, later: Sequence[Exchange]) -> int:
    """When a member has no longer what a round left it: a later one takes it away, or the membership is lost.

    Or its callback says so, as where the application has given up the topic. Who is given it back then begins anew.
    """
    taken = (each.told_us for each in later if partition not in assigned_by(each))
    lost = (at_us for at_us in history.gave_up_us if at_us >= sync.told_us)
    left = (leave.sent_us for leave in history.of("LeaveGroup") if leave.sent_us >= sync.told_us)
    gone = (c for c in history.callbacks if c.name != "partitions_assigned" and c.started_us >= sync.told_us)
    said = (c.started_us for c in gone if partition in c.partitions)
    return min([*taken, *lost, *left, *said, history.ends_us + 1])


def fetched_backwards(history: History, until_us: Mapping[str, int], since_us: int) -> Iterator[Finding]:
    """Records of a retained partition that poll returned twice, or skipped."""
    following: dict[str, tuple[int, int]] = {}
    for returned in history.returned:
        if since_us <= returned.at_us < until_us.get(returned.partition, 0):
            expected, last_us = following.get(returned.partition, (returned.first, returned.at_us))
            following[returned.partition] = returned.last + 1, returned.at_us
            if moved(history, returned.partition, last_us, returned.at_us):
                expected = returned.first
            for _, offset in history.sought(returned.partition, last_us, returned.at_us):
                expected = offset
            if returned.first not in (expected, history.next_record(returned.partition, expected)):
                what = f"{returned.partition}: poll returned offset {returned.first}, {expected} was next"
                yield broken(what, returned.at_us)


@checks("O3", needs="listener")
def no_records_of_what_is_not_owned(history: History) -> Iterator[Finding]:
    """poll() returns nothing of a partition that was revoked or lost."""
    for returned in history.returned:
        owned = returned.partition in history.owned_at(returned.at_us)
        wrong = f"poll returned records of {returned.partition}, which was not owned"
        yield held_if(owned, "records were returned of owned partitions only", wrong, returned.at_us)


@checks("O3", needs="seek")
def what_was_out_when_the_application_sought_is_dropped(history: History) -> Iterator[Finding]:
    """The next Fetch is from the offset that was asked for, whatever Fetch or lookup of a position was still out."""
    for asked_us, done_us, seek in history.carried_out(Seek):
        where, target = TopicPartition(seek.topic, seek.partition), history.target(seek)
        sent = ((e, e.asked(FetchRequest).offsets.get(where)) for e in history.of("Fetch") if e.sent_us >= asked_us)
        counts = (
            (e.sent_us, offset)
            for e, offset in sent
            if offset == target or (offset is not None and Known(done_us).before(e, history))
        )
        first = next(counts, None)
        if first is None:
            continue
        since = (c for c in history.callbacks if done_us < c.started_us < first[0])
        if any(str(where) in callback.partitions for callback in since):
            continue
        if len(history.sought(str(where), asked_us, first[0])) > 1:
            continue  # another one followed, which is looked at by itself
        if was_recreated(history, seek.topic, done_us, first[0]) or is_of_no_epoch(history, where, done_us, first[0]):
            continue
        anew = (*history.commands(Assign), *history.commands(Unsubscribe))
        if any(done_us <= at_us <= first[0] for at_us, _ in anew):
            continue  # what is assigned again begins at its committed offset
        right = f"{where} was fetched from {target}, as the application had asked"
        wrong = f"{where} was fetched from {first[1]}, the application had asked for {target}"
        yield held_if(first[1] == target, right, wrong, first[0])
