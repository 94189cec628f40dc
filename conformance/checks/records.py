"""Which records the application gets, in which order, and what is fetched for it (rules O4, O5, Q5)."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, sent_knowing
from groupspec.conformance.checks.positions import began_at, first_fetches, moved
from groupspec.conformance.checks.topic_identity import EARLIEST
from groupspec.conformance.history.calls import Returned
from groupspec.conformance.history.exchange import names
from groupspec.conformance.history.harness_protocol import BEGINNING, Pause, Resume, Seek
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import FetchRequest, ListOffsetsRequest


@once
def successions(history: History) -> Iterator[tuple[int, Returned]]:
    """What polls returned, with the offset that was due: of an assignment's first records, that at which it began.

    Who has looked its position up anew, or was told that it is out of range, may go on wherever the answer said.
    """
    began = [(str(first[0]), *began_at(history, *first)) for first in first_fetches(history)]
    following: dict[str, tuple[int, int]] = {}
    for each in history.returned:
        due, since_us = following.get(each.partition, (-1, 0))
        firsts = [one for one in began if one[0] == each.partition and since_us < one[2] <= each.at_us]
        if firsts:
            due, since_us = firsts[-1][1:]
        for sought_us, offset in history.sought(each.partition, since_us, each.at_us):
            due, since_us = offset, sought_us
        if due >= 0 and not moved(history, each.partition, since_us, each.at_us):
            yield due, each
        following[each.partition] = each.last + 1, each.at_us


@checks("O1")
def nothing_is_reset_without_a_reason(history: History) -> Iterator[Finding]:
    """While a partition is read, its beginning is asked for only if its position was out of range, or its log cut."""
    for lookup in history.of("ListOffsets"):
        at_us = lookup.sent_us
        for where, timestamp in lookup.asked(ListOffsetsRequest).timestamps.items():
            read = [e for e in history.between(0, at_us, "Fetch") if where in e.asked(FetchRequest).offsets]
            if timestamp != EARLIEST or not read or asked_for_beginning(history, str(where), at_us):
                continue
            since_us = max((sync.told_us for sync in history.syncs if sync.told_us < at_us), default=0)
            is_of_now = Known(since_us).before(read[-1], history)
            if is_of_now and not moved(history, str(where), read[-1].sent_us, at_us):
                yield broken(f"the earliest offset of {where} was asked for while it was read", at_us)


def asked_for_beginning(history: History, partition: str, before_us: int) -> bool:
    """Whether the application has sought the beginning of a partition, or its call is under way."""
    return any(
        str(seek) == partition and seek.offset == BEGINNING and asked_us <= before_us
        for asked_us, seek in history.commands(Seek)
    )


@checks("O4", needs="listener pull")
def no_record_is_left_out(history: History) -> Iterator[Finding]:
    """What poll returns of a partition goes on where it ended, and begins where the position was."""
    for due, each in successions(history):
        if each.first > due and each.first > (there := history.next_record(each.partition, due)):
            what = f"{each.partition}: poll returned offset {each.first}, and never {there}"
            yield broken(what, each.at_us)
        else:
            yield held(f"{each.partition}: no record up to {each.last} was left out", each.at_us)


@checks("O4", needs="pull")
def what_is_returned_is_in_the_log(history: History) -> Iterator[Finding]:
    """A record has the offset at which it stands: who counts instead is wrong where offsets have no record."""
    for each in history.returned:
        made_up = next((at for at in (each.first, each.last) if history.next_record(each.partition, at) != at), None)
        if made_up is not None:
            yield broken(f"{each.partition}: poll returned offset {made_up}, which has no record", each.at_us)


@checks("O5", needs="listener pull")
def no_record_comes_twice(history: History) -> Iterator[Finding]:
    """Records that are behind the position are dropped, also of a batch that begins before it."""
    for due, each in successions(history):
        if each.first < due:
            what = f"{each.partition}: poll returned offset {each.first}, the position was {due}"
            yield broken(what, each.at_us)
        else:
            yield held(f"{each.partition}: no record up to {each.last} came twice", each.at_us)


@checks("O5", needs="pause listener")
def what_is_paused_is_left_alone(history: History) -> Iterator[Finding]:
    """Nothing is fetched of a partition that the application has paused, and poll returns nothing of it."""
    for partition, since_us, until_us in paused(history):
        fetches = sent_knowing(history, since_us, until_us, "Fetch")
        fetched = next((f.sent_us for f in fetches if partition in names(f.asked(FetchRequest).offsets)), None)
        polls = (r for r in history.returned if r.partition == partition and since_us < r.at_us < until_us)
        returned = next((each.at_us for each in polls), None)
        if fetched is not None:
            yield broken(f"{partition} was fetched while it was paused", fetched)
        elif returned is not None:
            yield broken(f"poll returned records of {partition}, which was paused", returned)
        else:
            yield held(f"{partition} was neither fetched nor returned while it was paused", until_us)


@checks("O2", needs="cooperative pause listener", rebalance="cooperative")
def what_is_retained_stays_paused(history: History) -> Iterator[Finding]:
    """A partition that a round leaves to the member is paused after it as it was before."""
    for partition, since_us, until_us in paused(history):
        for sync in (each for each in history.syncs if since_us < each.told_us < until_us):
            fetches = sent_knowing(history, sync.told_us, until_us, "Fetch")
            fetched = next((f.sent_us for f in fetches if partition in names(f.asked(FetchRequest).offsets)), None)
            if fetched is not None:
                yield broken(f"{partition} was paused and retained, and is fetched after the round", fetched)
            else:
                yield held(f"{partition} stayed paused over the rebalance", sync.told_us)


@once
def paused(history: History) -> Iterator[tuple[str, int, int]]:
    """Each partition that was paused: from when on, and until it was resumed or given up, or close() was called."""
    resumed = [(asked, names(command.partitions)) for asked, _, command in history.carried_out(Resume)]
    gone = [c for c in history.callbacks if c.name != "partitions_assigned"]
    given_up = [(c.ended_us or c.started_us, c.partitions) for c in gone]
    ends = sorted([*resumed, *given_up], key=lambda end: end[0])
    for _, done_us, command in history.carried_out(Pause):
        for partition in sorted(names(command.partitions)):
            later = (at_us for at_us, named in ends if at_us >= done_us and partition in named)
            yield partition, done_us, next(later, history.until_close_us)


@checks("Q5", needs="listener_in_poll")
def what_is_taken_away_is_not_fetched(history: History) -> Iterator[Finding]:
    """From the revoked callback on they are not fetched until they are assigned again; what is lost is gone at once."""
    for callback in history.callbacks:
        if callback.name != "partitions_revoked" or not callback.partitions:
            continue
        start = callback.started_us
        for partition in sorted(callback.partitions):
            again = (
                c.started_us
                for c in history.callbacks
                if c.name == "partitions_assigned" and c.started_us >= start and partition in c.partitions
            )
            end = next(again, history.ends_us)
            fetches = sent_knowing(history, start, end, "Fetch")
            early = next((f for f in fetches if partition in names(f.asked(FetchRequest).offsets)), None)
            if early is not None:
                yield broken(f"{partition} was fetched after {callback.name} had been called", early.sent_us)
        yield held(f"nothing was fetched of what {callback.name} took away", start)
