"""Chapter O: where a partition is read from, and which records poll may return."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.wire.history import Exchange, History, assigned_by
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held
from groupspec.conformance.wire.rules.joining import lost_before, new_partitions
from groupspec.impl.core.messages import (
    FetchRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetFetchResponse,
    TopicPartition,
)

EARLIEST = -2


def first_fetches(history: History) -> Iterator[tuple[TopicPartition, int, Exchange, int]]:
    """Each partition's first Fetch after an assignment made it new.

    Partition, offset, the Fetch, and the assignment's time.
    """
    for sync, new in new_partitions(history):
        assigned_us = sync.answered_us or 0
        for name in sorted(new):
            for fetch in history.of("Fetch"):
                offsets = {str(partition): partition for partition in fetch.asked(FetchRequest).offsets}
                if fetch.sent_us >= assigned_us and name in offsets:
                    partition = offsets[name]
                    yield partition, fetch.asked(FetchRequest).offsets[partition], fetch, assigned_us
                    break


def committed(history: History, partition: TopicPartition, from_us: int, to_us: int) -> int | None:
    """What OffsetFetch said about a partition in between; None if nothing was said."""
    for exchange in history.of("OffsetFetch"):
        answer = exchange.answered(OffsetFetchResponse)
        if answer is not None and from_us <= (exchange.answered_us or 0) <= to_us and partition in answer.offsets:
            return answer.offsets[partition].offset
    return None


@checks("O1")
def new_partitions_start_from_the_committed_offset(history: History) -> Iterator[Finding]:
    """A newly assigned partition is read from its committed offset."""
    for partition, offset, fetch, assigned_us in first_fetches(history):
        known = committed(history, partition, assigned_us, fetch.sent_us)
        if known is None:
            yield broken(f"{partition} was fetched without asking for its committed offset", fetch.sent_us)
        elif known >= 0 and offset != known:
            yield broken(f"{partition} was fetched from {offset}, committed is {known}", fetch.sent_us)
        elif known >= 0:
            yield held(f"{partition} was fetched from its committed offset {known}", fetch.sent_us)


@checks("O6")
def without_a_commit_the_policy_applies(history: History) -> Iterator[Finding]:
    """Without a committed offset: auto.offset.reset, here earliest, as ListOffsets says.

    Who has fetched the partition before knows its beginning: each Fetch answer says it (librdkafka
    rd_kafka_offset_reset).
    """
    for partition, offset, fetch, assigned_us in first_fetches(history):
        if committed(history, partition, assigned_us, fetch.sent_us) != -1:
            continue
        since_us = 0 if fetched_before(history, partition, assigned_us) else assigned_us
        listed = listed_offset(history, partition, since_us, fetch.sent_us)
        if listed is None:
            yield broken(
                f"{partition} has no committed offset, and was fetched without asking for the earliest", fetch.sent_us
            )
        elif offset != listed:
            yield broken(f"{partition} was fetched from {offset}, the earliest offset is {listed}", fetch.sent_us)
        else:
            yield held(
                f"{partition} has no committed offset and was fetched from the earliest, {listed}", fetch.sent_us
            )


def fetched_before(history: History, partition: TopicPartition, at_us: int) -> bool:
    """Whether a Fetch of the partition has been answered by then."""
    return any(
        each.ended_before(at_us) and partition in each.asked(FetchRequest).offsets for each in history.of("Fetch")
    )


def listed_offset(history: History, partition: TopicPartition, from_us: int, to_us: int) -> int | None:
    """What ListOffsets said about the beginning of a partition in between."""
    for exchange in history.of("ListOffsets"):
        answer = exchange.answered(ListOffsetsResponse)
        asked = exchange.asked(ListOffsetsRequest).timestamps.get(partition)
        if (
            answer is not None
            and asked == EARLIEST
            and from_us <= exchange.sent_us
            and (exchange.answered_us or 0) <= to_us
        ):
            return answer.offsets[partition].offset
    return None


@checks("O2", needs="cooperative")
def retained_partitions_go_on(history: History) -> Iterator[Finding]:
    """What a cooperative member keeps over a round is not looked up again, and goes on where it was."""
    if history.settings.rebalance != "cooperative":
        return
    previous: Exchange | None = None
    for sync in history.syncs:
        retained = assigned_by(sync) & assigned_by(previous) if previous is not None else frozenset()
        retained = frozenset() if lost_before(history, sync) else retained
        since, previous = (previous.answered_us or 0 if previous is not None else 0), sync
        if not retained:
            continue
        until = next((at for at in history.gave_up_us if at >= (sync.answered_us or 0)), history.ends_us + 1)
        for exchange in history.of("OffsetFetch"):
            asked = frozenset(map(str, getattr(exchange.request.message, "partitions", ())))
            if (sync.answered_us or 0) <= exchange.sent_us < until and asked & retained:
                again = ", ".join(sorted(asked & retained))
                yield broken(
                    f"the committed offset of {again}, which was retained, was looked up again", exchange.sent_us
                )
        yield from fetched_backwards(history, retained, since, until)
        yield held(f"{', '.join(sorted(retained))} went on over the rebalance", sync.answered_us or 0)


def fetched_backwards(history: History, retained: frozenset[str], since_us: int, until_us: int) -> Iterator[Finding]:
    """Records of a retained partition that poll returned twice, or skipped."""
    following: dict[str, int] = {}
    for returned in history.returned:
        if returned.partition not in retained or not since_us <= returned.at_us < until_us:
            continue
        expected = following.get(returned.partition)
        if expected is not None and returned.first != expected:
            yield broken(
                f"{returned.partition}: poll returned offset {returned.first}, {expected} was next", returned.at_us
            )
        following[returned.partition] = returned.last + 1


@checks("O3", needs="listener")
def no_records_of_what_is_not_owned(history: History) -> Iterator[Finding]:
    """poll() returns nothing of a partition that was revoked or lost."""
    for returned in history.returned:
        if returned.partition in history.owned_at(returned.at_us):
            yield held("records were returned of owned partitions only", returned.at_us)
        else:
            yield broken(f"poll returned records of {returned.partition}, which was not owned", returned.at_us)
