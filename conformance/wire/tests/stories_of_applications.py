"""More runs written by hand: an application that seeks, pauses, assigns, wakes its consumer; each good, and spoiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.harness_check.sessions import SETTINGS
from groupspec.conformance.wire.tests.stories import (
    BOTH,
    WireRun,
    cooperative_rebalance,
    eager_rebalance,
    expulsion,
    first_round,
    waited,
)
from groupspec.conformance.wire.tests.stories_of_leaders import Row, command, without
from groupspec.impl.core.messages import FetchedPartition, FetchRequest, FetchResponse
from groupspec.impl.network.records import Gaps, NewRecord, encode_records

Spoil = Callable[[WireRun], None]

ONE: Final = [protocol.Partition(BOTH[0].topic, BOTH[0].partition)]
LIMITED: Final = replace(SETTINGS, bootstrap="127.0.0.1:9001", more={"max.poll.records": "4"})


def done(story: WireRun, at_ms: float, asked: protocol.AnyCommand) -> None:
    """What the kit asks the harness for, and 5 ms later it is done."""
    command(story, at_ms, asked)
    story.event(at_ms + 5, protocol.CommandDone(command=protocol.name_of(type(asked))))


def sought() -> WireRun:
    """A stable member reads orders-0 again from offset 1 on, from 205 on."""
    story = WireRun()
    first_round(story)
    story.heartbeats(110, 990, 1)
    done(story, 200, protocol.Seek(topic=BOTH[0].topic, partition=BOTH[0].partition, offset=1))
    story.fetch(210, {BOTH[0]: 1, BOTH[1]: 6})
    story.records(220, BOTH[0], 1, 5)
    story.fetch(300, {BOTH[0]: 6, BOTH[1]: 6})
    story.commit(320, 1, {BOTH[0]: 6})
    story.close(1_000, 10)
    return story


def assigned_by_hand() -> WireRun:
    """A consumer reads what the application has assigned, and commits as it is closed."""
    story = WireRun()
    by_hand = [protocol.Partition(each.topic, each.partition) for each in BOTH]
    done(story, 1, protocol.Assign(partitions=by_hand))
    story.lookup(10)
    story.fetch(30, {BOTH[0]: 0, BOTH[1]: 0})
    story.records(40, BOTH[0], 0, 5)
    story.records(40, BOTH[1], 0, 5)
    story.close(1_000, 10)
    story.commit(1_002, -1, {BOTH[0]: 6, BOTH[1]: 6})
    return story


def limited() -> WireRun:
    """A stable member whose polls return four records at most, of both partitions."""
    story = WireRun()
    command(story, 0, LIMITED)
    first_round(story)
    story.heartbeats(110, 990, 1)
    story.poll(200, 10)
    part = [protocol.ConsumedRange(each.topic, each.partition, 2, 6, 7) for each in BOTH]
    story.event(205, protocol.RecordsConsumed(count=4, partitions=part))
    story.close(1_000, 10)
    return story


def has_gaps(named: bool = True) -> WireRun:
    """What is fetched of orders-0 has records at 7, 9 and 10, and the batch behind it one at 13; all are returned.

    `named`: by the Fetch that brings them; if not, by one before, which found the log at its end.
    """
    story = WireRun()
    first_round(story)
    story.heartbeats(110, 990, 1)
    if not named:
        story.fetch(208, {BOTH[0]: 6})
    gaps = Gaps((1, 3, 4), 7)
    batches = encode_records([NewRecord(b"kept")] * 3, 6, gaps=gaps) + encode_records([NewRecord(b"")], 13)
    answer = FetchResponse({BOTH[0]: FetchedPartition(batches, 14)})
    story.exchange(210, "Fetch", FetchRequest({BOTH[0]: 6} if named else {}, 100, 1, 1000, 1000), answer)
    story.records(220, BOTH[0], 7, 10)
    story.fetch(230, {BOTH[0]: 14})
    story.records(240, BOTH[0], 13, 13)
    story.close(1_000, 10)
    story.commit(1_002, 1, {BOTH[0]: 14, BOTH[1]: 6})
    story.leave(1_005)
    return story


def sought_before_a_position() -> WireRun:
    """A new member seeks while its committed offsets are asked for: the first Fetch is from where it sought."""
    story = WireRun()
    story.lookup(1)
    story.join(5, 1)
    story.sync(10, 1)
    story.callback(15, protocol.PartitionsAssigned)
    story.committed(21, {BOTH[0]: 3, BOTH[1]: 0})
    done(story, 21.5, protocol.Seek(topic=BOTH[0].topic, partition=BOTH[0].partition, offset=2))
    story.fetch(30, {BOTH[0]: 2, BOTH[1]: 0})
    story.records(40, BOTH[0], 2, 5)
    story.close(1_000, 10)
    return story


def sought_and_closed() -> WireRun:
    """A stable member seeks back to offset 1 of orders-0, and closes before a poll."""
    story = WireRun()
    first_round(story)
    done(story, 200, protocol.Seek(topic=BOTH[0].topic, partition=BOTH[0].partition, offset=1))
    story.close(300, 20)
    story.commit(305, 1, {BOTH[0]: 1, BOTH[1]: 6})
    story.leave(310)
    return story


def lost_and_begun_again() -> WireRun:
    """What has been read up to 6 is lost, begun anew at the committed offset 3, and closed at 4."""
    story = expulsion()
    story.committed(660, {BOTH[0]: 3, BOTH[1]: 0})
    story.fetch(665, {BOTH[0]: 3, BOTH[1]: 0})
    story.records(700, BOTH[0], 3, 3)
    story.close(2_000, 20)
    story.commit(2_005, 2, {BOTH[0]: 4})
    story.leave(2_010)
    return story


def paused() -> WireRun:
    """orders-0 is paused from 205 to 505."""
    story = WireRun()
    first_round(story)
    done(story, 200, protocol.Pause(partitions=ONE))
    story.fetch(220, {BOTH[0]: 6, BOTH[1]: 6})  # it may have been under way
    story.fetch(300, {BOTH[1]: 6})
    done(story, 500, protocol.Resume(partitions=ONE))
    story.fetch(510, {BOTH[0]: 6, BOTH[1]: 6})
    story.close(1_000, 10)
    return story


def paused_over_a_round() -> WireRun:
    """orders-0 is paused at 500, and retained by the rounds that end at 955 and 985."""
    story = cooperative_rebalance()
    without(lambda e: e.kind == "records_consumed" and e.at_us > 1_000_000)(story)
    done(story, 500, protocol.Pause(partitions=ONE))
    return story


def woken() -> WireRun:
    """A poll of a second is woken at 200 and ends at 210; the next ones take their time; close() at 3000."""
    story = WireRun()
    first_round(story)
    story.event(100, protocol.PollStarted(poll_ms=1_000))
    command(story, 200, protocol.Wakeup())
    story.event(201, protocol.CommandDone(command="wakeup"))
    error(story, 209, "poll")
    story.event(210, protocol.PollReturned(elapsed_ms=110))
    story.poll(260, 1_000, 1_000)
    story.poll(1_300, 1_000, 1_000)
    story.close(3_000, 10)
    return story


def raising() -> WireRun:
    """An eager rebalance, and at 645 the revoked callback raises: so does the poll, and the round goes on."""
    story = eager_rebalance()
    without(lambda e: e.kind == "callback_returned" and e.at_us == 645_000)(story)
    story.event(645, protocol.CallbackReturned(callback="partitions_revoked", raised=True))
    story.event(646, protocol.ErrorRaised(error="ListenerFailure", call="poll"))
    return story


def error(story: WireRun, at_ms: float, call: str) -> None:
    """A call is ended by a wakeup."""
    story.event(at_ms, protocol.ErrorRaised(error="WakeupException", call=call, woken=True))


def instead(test: Callable[[Entry], bool], then: Spoil) -> Spoil:
    """Takes entries out, and puts something else in."""

    def spoil(story: WireRun) -> None:
        without(test)(story)
        then(story)

    return spoil


ROWS: Final[tuple[Row, ...]] = (
    ("D8", "it joins the group", assigned_by_hand, lambda s: s.join(20, 1)),
    ("L5", "nothing, of who has assigned by hand", assigned_by_hand, without(lambda e: e.api == "OffsetCommit")),
    ("P5", "twice as many as the limit", limited, lambda s: s.records(207, BOTH[0], 8, 11)),
    ("O4", "a record behind a gap is left out", has_gaps,
     instead(lambda e: e.kind == "records_consumed" and 215_000 < e.at_us < 235_000, lambda _: None)),
    ("O4", "offsets are counted", has_gaps,
     instead(lambda e: e.kind == "records_consumed" and e.at_us > 235_000, lambda s: s.records(240, BOTH[0], 11, 11))),
    ("M4", "committed beyond the gap", has_gaps,
     instead(lambda e: e.kind == "records_consumed" and e.at_us > 235_000, lambda _: None)),
    ("L5", "records are counted", has_gaps, lambda s: s.commit(1_003, 1, {BOTH[0]: 10})),
    ("O3", "a late Fetch at the old position after a seek", sought,
     instead(lambda e: e.api == "Fetch" and e.at_us > 205_000, lambda s: s.fetch(300, {BOTH[0]: 6}))),
    ("O3", "the late answer takes the seek back", sought_before_a_position,
     instead(lambda e: e.api == "Fetch", lambda s: s.fetch(80, {BOTH[0]: 3}))),
    ("O4", "the records after a seek are left out", sought,
     instead(lambda e: e.kind == "records_consumed" and e.at_us > 205_000, lambda s: s.records(220, BOTH[0], 3, 5))),
    ("O5", "the records before a seek", sought_before_a_position, lambda s: s.records(39, BOTH[0], 1, 1)),
    ("L5", "not committed where it sought", sought_and_closed, lambda s: s.commit(307, 1, {BOTH[0]: 6})),
    ("L5", "not what it has read since the loss", lost_and_begun_again, lambda s: s.commit(2_007, 2, {BOTH[0]: 3})),
    ("L5", "nothing", lost_and_begun_again, without(lambda e: e.api == "OffsetCommit")),
    ("M6", "a commit goes back, and no seek", sought, lambda s: s.commit(310, 1, {BOTH[0]: 9})),
    ("O5", "fetched while it is paused", paused, lambda s: s.fetch(300, {BOTH[0]: 6})),
    ("O5", "returned while it is paused", paused, lambda s: s.records(300, BOTH[0], 6, 7)),
    ("O2", "fetched after the round that retained it", paused_over_a_round, lambda s: s.fetch(1_200, {BOTH[0]: 6})),
    ("C4", "nobody gets what a callback raised", raising, without(lambda e: e.kind == "error")),
    ("C4", "the member never joins again", raising,
     waited(without(lambda e: e.source == "wire" and e.at_us > 645_000))),
    ("T4", "no call is ended", woken, without(lambda e: e.kind == "error")),
    ("T4", "two calls are ended", woken, lambda s: error(s, 1_250, "poll")),
    ("T4", "close() is woken", woken, lambda s: error(s, 3_005, "close")),
    ("T4", "the poll goes on for long", woken,
     instead(lambda e: e.kind == "error", lambda s: error(s, 1_250, "poll"))),
)  # fmt: skip
"""Rule, what is wrong, the good run, and how it is spoiled."""
