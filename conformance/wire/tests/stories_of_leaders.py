"""More runs written by hand: static members, leaders, silence, unsubscribe(); each good, and spoiled in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from msgspec import structs

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.tests.stories import BOTH, GROUP, ME, WireRun, eager_rebalance, first_round, waited
from groupspec.impl.core.messages import (
    Broker,
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicMetadata,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, Subscription, encode_assignment, encode_subscription

INSTANCE: Final = "instance-1"
OTHER: Final = "phantom-1"


def static(story: WireRun, at_ms: float, instance: str | None = INSTANCE, error: str = "NONE") -> None:
    """A heartbeat of a static member, in a version that has a place for the instance id."""
    request = HeartbeatRequest(GROUP, 1, ME, instance)
    story.exchange(at_ms, "Heartbeat", request, HeartbeatResponse(ErrorCode[error]), error)
    story.entries[-2] = replace(story.entries[-2], version=4)


def fenced() -> WireRun:
    """A static member is fenced at 600, says so, and is closed at 2000."""
    story = WireRun()
    first_round(story)
    story.settings = replace(story.settings, instance_id=INSTANCE)
    for at_ms in range(110, 510, 100):
        static(story, at_ms)
    static(story, 600, error="FENCED_INSTANCE_ID")
    story.event(620, protocol.ErrorRaised(error="FencedInstanceIdError", call="poll"))
    story.callback(630, protocol.PartitionsLost)
    story.close(2_000, 10)
    return story


def without(test: Callable[[Entry], bool]) -> Callable[[WireRun], None]:
    """Takes entries out."""

    def spoil(story: WireRun) -> None:
        story.entries = [entry for entry in story.entries if not test(entry)]

    return spoil


def joined_with_it(story: WireRun, version: int) -> None:
    """JoinGroup is of this version, and has the instance id."""
    for number, entry in enumerate(story.entries):
        if isinstance(entry.message, JoinGroupRequest):
            message = structs.replace(entry.message, group_instance_id=INSTANCE)
            story.entries[number] = replace(entry, message=message, version=version)


def static_close() -> WireRun:
    """A static member is closed at 1000."""
    story = WireRun()
    first_round(story)
    story.settings = replace(story.settings, instance_id=INSTANCE)
    story.callback(1_001, protocol.PartitionsRevoked)
    story.close(1_000.5, 20)
    return story


def unsubscribed() -> WireRun:
    """unsubscribe() at 1000, subscribe() at 2000."""
    story = WireRun()
    first_round(story)
    story.heartbeats(110, 990, 1)
    command(story, 1_000, protocol.Unsubscribe())
    story.callback(1_001, protocol.PartitionsRevoked)
    story.leave(1_010)
    command(story, 2_000, protocol.Subscribe(topics=["orders"]))
    story.close(3_000, 10)
    return story


def resubscribed() -> WireRun:
    """The same with subscribe() at 1300 already, and a JoinGroup as on the first day."""
    story = WireRun()
    first_round(story)
    command(story, 1_000, protocol.Unsubscribe())
    story.callback(1_001, protocol.PartitionsRevoked)
    story.leave(1_010)
    command(story, 1_300, protocol.Subscribe(topics=["orders"]))
    story.join(1_310, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.close(3_000, 10)
    return story


def not_left(story: WireRun) -> None:
    """It sends no LeaveGroup, joins as the member that it still is, and leaves when it is closed."""
    without(lambda e: e.api in ("LeaveGroup", "JoinGroup") and 1_000_000 < e.at_us < 2_000_000)(story)
    story.join(1_310, 2)
    story.leave(3_005)


def command(story: WireRun, at_ms: float, asked: protocol.AnyCommand) -> None:
    """What the kit asks the harness for."""
    story.entries.append(Entry(int(at_ms * 1000), "kit", "command", protocol.encode(asked).decode()))


def unanswered(story: WireRun, at_ms: float, api: str = "Heartbeat") -> None:
    """A request that is never answered."""
    story.heartbeat(at_ms, 1)
    story.entries[-2] = replace(story.entries[-2], api=api)
    del story.entries[-1]


def silent_coordinator(session_ms: int = 6_000) -> WireRun:
    """A heartbeat is not answered from 600 on; another connection at 1500 brings the member back."""
    story = WireRun()
    story.settings = replace(story.settings, session_timeout_ms=session_ms)
    first_round(story)
    story.heartbeats(110, 590, 1)
    unanswered(story, 600)
    story.reconnect()
    story.lookup(1_500)
    story.heartbeats(1_600, 5_900, 1)
    story.close(6_000, 10)
    return story


def without_end(story: WireRun) -> None:
    """Nothing follows the heartbeat that is not answered, for as long as the run goes on."""
    story.entries = [entry for entry in story.entries if entry.at_us <= 600_000]
    story.close(9_000, 10)


def hung_up() -> WireRun:
    """The coordinator closes the connection at 600, and is spoken to again at 700."""
    story = WireRun()
    first_round(story)
    story.heartbeats(110, 590, 1)
    story.entries.append(Entry(600_000, "wire", "disconnect", node=1, connection=1))
    story.reconnect()
    story.heartbeats(700, 5_900, 1)
    story.close(6_000, 10)
    return story


def long_join() -> WireRun:
    """JoinGroup is answered after 3 s, of a rebalance timeout of 6."""
    story = WireRun()
    story.settings = replace(story.settings, max_poll_interval_ms=6_000, session_timeout_ms=6_000)
    story.lookup(1)
    story.join(5, 1, ms=3_000)
    story.sync(3_010, 1)
    return story


def metadata(story: WireRun, at_ms: float, partitions: int, *more: str) -> None:
    """Metadata of the topic, and of more of one partition each."""
    parts = tuple(PartitionMetadata(number, 1) for number in range(partitions))
    topics = TopicMetadata("orders", parts), *(TopicMetadata(topic, parts[:1]) for topic in more)
    answer = MetadataResponse((Broker(1, "127.0.0.1", 9001),), topics)
    story.exchange(at_ms, "Metadata", MetadataRequest(("orders",)), answer)


def grown() -> WireRun:
    """The topic has two partitions, and three from 600 on; the leader joins again."""
    story = WireRun()
    metadata(story, 0.5, 2)
    first_round(story)
    story.heartbeats(110, 590, 1)
    metadata(story, 600, 3)
    story.callback(605, protocol.PartitionsRevoked)
    story.join(620, 2)
    story.sync(625, 2)
    story.close(4_000, 10)
    return story


def matched() -> WireRun:
    """The application subscribes by a pattern; from 600 on there is another topic that matches, and it joins again."""
    story = grown()
    without(lambda e: e.api == "Metadata")(story)
    command(story, 0, protocol.Subscribe(topics=[], pattern="^orders.*"))
    metadata(story, 0.5, 2, "payments")
    metadata(story, 600, 2, "payments", "orders-more")
    return story


def claims(share: tuple[TopicPartition, ...] = (), generation: int = 7) -> WireRun:
    """The client leads; another member claims orders-1 by that generation; the leader gives it `share`."""
    story = WireRun("cooperative")
    blobs = {
        ME: encode_subscription(Subscription(("orders",), None, BOTH, 1), 3),
        OTHER: encode_subscription(Subscription(("orders",), None, BOTH[1:], generation), 3),
    }
    request = JoinGroupRequest(GROUP, 1_000, 1_000, ME, None, (("cooperative-sticky", blobs[ME]),))
    members = tuple(JoinedMember(member, None, blob) for member, blob in blobs.items())
    answer = JoinGroupResponse(ErrorCode.NONE, 2, "cooperative-sticky", ME, ME, members)
    story.exchange(5, "JoinGroup", request, answer)
    mine = tuple(partition for partition in BOTH if partition not in share)
    shares = tuple((member, encode_assignment(Assignment(each), 1)) for member, each in ((ME, mine), (OTHER, share)))
    sync = SyncGroupRequest(GROUP, 2, ME, None, "cooperative-sticky", shares)
    story.exchange(10, "SyncGroup", sync, SyncGroupResponse(ErrorCode.NONE, shares[0][1]))
    return story


def refused_commit() -> WireRun:
    """A commit at 600 is answered UNKNOWN_MEMBER_ID; the member joins again."""
    story = WireRun()
    first_round(story)
    story.heartbeats(110, 590, 1)
    story.commit(600, 1, {BOTH[0]: 6}, error="UNKNOWN_MEMBER_ID")
    story.callback(610, protocol.PartitionsLost)
    story.join(700, 2, member_id="")
    story.sync(710, 2)
    story.close(2_000, 10)
    return story


Row = tuple[str, str, Callable[[], WireRun], Callable[[WireRun], None]]
ROWS: Final[tuple[Row, ...]] = (
    ("X1", "a heartbeat without the instance id", fenced, lambda s: static(s, 550, None)),
    ("X1", "a version that has no place for it", fenced, lambda s: joined_with_it(s, 5)),
    ("X2", "joined again with the instance id", fenced, lambda s: s.join(900, 2, member_id="")),
    ("X2", "nothing is raised", fenced, without(lambda e: e.kind == "error")),
    ("L1", "a static member leaves", static_close, lambda s: s.leave(1_010)),
    ("L1", "two LeaveGroups at unsubscribe()", unsubscribed, lambda s: s.leave(1_020)),
    ("L1", "no LeaveGroup at unsubscribe()", unsubscribed,
     without(lambda e: e.api == "LeaveGroup")),
    ("L1", "no LeaveGroup at unsubscribe(), and joined again with the id of then", resubscribed, not_left),
    ("L3", "a heartbeat after unsubscribe()", unsubscribed, lambda s: s.heartbeat(1_200, 1)),
    ("C7", "no callback at unsubscribe()", unsubscribed,
     without(lambda e: 1_000_500 < e.at_us < 1_009_000)),
    ("D6", "an unanswered heartbeat is waited for", silent_coordinator, without_end),
    ("D6", "nobody comes back after the end of a connection", hung_up,
     without(lambda e: e.at_us > 600_000 and e.source == "wire")),
    ("H5", "the session runs out without a word", lambda: silent_coordinator(1_000), without_end),
    ("J5", "another JoinGroup after the request timeout", long_join, lambda s: s.join(2_100, 1)),
    ("J5", "hung up after the request timeout", long_join,
     lambda s: s.entries.append(Entry(2_100_000, "wire", "disconnect", node=1, connection=1))),
    ("J8", "new partitions are not noticed", grown,
     without(lambda e: e.at_us >= 605_000 and e.source == "wire")),
    ("J8", "a topic that matches is not noticed", matched,
     without(lambda e: e.at_us >= 605_000 and e.source == "wire")),
    ("K3", "what another one owns by a later generation is kept", lambda: claims(BOTH[1:]),
     lambda s: s.entries.__setitem__(slice(None), claims().entries)),
    ("M2", "no rejoin after a refused commit", refused_commit,
     waited(without(lambda e: e.at_us >= 700_000 and e.source == "wire"))),
    ("M2", "the same identity again", refused_commit, lambda s: s.commit(690, 1, {BOTH[0]: 6})),
    ("M6", "a commit that goes back", eager_rebalance, lambda s: s.commit(1_500, 2, {BOTH[0]: 4})),
    ("O4", "a record is left out", eager_rebalance, lambda s: s.records(1_200, BOTH[0], 7, 8)),
    ("O5", "records come again", eager_rebalance, lambda s: s.records(1_200, BOTH[0], 4, 8)),
    ("Q5", "fetched after the callback", eager_rebalance, lambda s: s.fetch(800, {BOTH[0]: 6})),
)  # fmt: skip
"""Rule, what is wrong, the good run, and how it is spoiled."""
