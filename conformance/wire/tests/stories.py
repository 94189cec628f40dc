"""Runs written by hand: one that keeps every rule, in milliseconds, and the means to spoil it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.history.harness_protocol import FEATURES, Partition
from groupspec.conformance.history.history import History
from groupspec.conformance.history.settings import Settings
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import Assignment, Subscription, encode_assignment, encode_subscription

ME = "under-test-1"
GROUP = "orders-readers"
BOTH = (TopicPartition("orders", 0), TopicPartition("orders", 1))


class WireRun:
    """A log in the making. Times are milliseconds; requests and answers are one millisecond apart unless said."""

    def __init__(self, rebalance: str = "eager", retry_backoff_ms: int = 100) -> None:
        self.entries: list[Entry] = []
        self.settings = Settings(
            rebalance=rebalance,
            session_timeout_ms=1_000,
            heartbeat_interval_ms=100,
            max_poll_interval_ms=1_000,
            retry_backoff_ms=retry_backoff_ms,
            close_within_ms=6_000,
            features=frozenset(FEATURES),
        )
        self._correlation = 0
        self._connections = 0

    def history(self) -> History:
        """The run as the rules see it."""
        return History(sorted(self.entries, key=lambda entry: entry.at_us), self.settings)

    # Wire -------------------------------------------------------------------------------------------------------------

    def exchange(
        self,
        at_ms: float,
        api: str,
        request: object,
        answer: object,
        error: str = "NONE",
        *,
        ms: float = 1,
        node: int = 1,
    ) -> None:
        """A request and its answer."""
        self._correlation += 1
        both = Entry(int(at_ms * 1000), "wire", "request", api=api, message=request, node=node)
        sent = replace(both, connection=node + self._connections, correlation_id=self._correlation)
        self.entries.append(sent)
        answered = int((at_ms + ms) * 1000)
        self.entries.append(replace(sent, at_us=answered, kind="response", message=answer, error=error))

    def reconnect(self) -> None:
        """What is sent from now on goes over new connections."""
        self._connections += 10

    def lookup(self, at_ms: float, node: int = 1, error: str = "NONE", ms: float = 1) -> None:
        """FindCoordinator."""
        answer = FindCoordinatorResponse(ErrorCode[error], node, "127.0.0.1", 9000 + node)
        self.exchange(at_ms, "FindCoordinator", FindCoordinatorRequest(GROUP), answer, error, ms=ms)

    def join(
        self,
        at_ms: float,
        generation: int,
        *,
        member_id: str = ME,
        ms: float = 1,
        error: str = "NONE",
        owned: Sequence[TopicPartition] = (),
        members: Sequence[str] = (ME,),
    ) -> None:
        """JoinGroup."""
        metadata = encode_subscription(
            Subscription(("orders",), None, tuple(owned), generation - 1 if owned else -1), 1
        )
        request = JoinGroupRequest(GROUP, 1_000, 1_000, member_id, None, (("range", metadata),))
        joined = tuple(JoinedMember(member, None, metadata) for member in members)
        answer = JoinGroupResponse(ErrorCode[error], generation, "range", ME, ME, joined)
        self.exchange(at_ms, "JoinGroup", request, answer, error, ms=ms)

    def sync(
        self,
        at_ms: float,
        generation: int,
        assigned: Sequence[TopicPartition] = BOTH,
        *,
        ms: float = 1,
        members: Sequence[str] = (ME,),
    ) -> None:
        """SyncGroup."""
        data = encode_assignment(Assignment(tuple(assigned)), 1)
        shares = tuple((member, data) for member in members)
        request = SyncGroupRequest(GROUP, generation, ME, None, "range", shares)
        self.exchange(at_ms, "SyncGroup", request, SyncGroupResponse(ErrorCode.NONE, data), ms=ms)

    def heartbeat(
        self, at_ms: float, generation: int, error: str = "NONE", *, ms: float = 1, node: int = 1, member_id: str = ME
    ) -> None:
        """Heartbeat."""
        request = HeartbeatRequest(GROUP, generation, member_id, None)
        self.exchange(at_ms, "Heartbeat", request, HeartbeatResponse(ErrorCode[error]), error, ms=ms, node=node)

    def heartbeats(self, from_ms: int, to_ms: int, generation: int, node: int = 1) -> None:
        """One every 100 ms."""
        for at_ms in range(from_ms, to_ms, 100):
            self.heartbeat(at_ms, generation, node=node)

    def leave(self, at_ms: float) -> None:
        """LeaveGroup."""
        self.exchange(at_ms, "LeaveGroup", LeaveGroupRequest(GROUP, ME, None), LeaveGroupResponse(ErrorCode.NONE))

    def commit(
        self,
        at_ms: float,
        generation: int,
        offsets: dict[TopicPartition, int],
        *,
        member_id: str = ME,
        ms: float = 1,
        error: str = "NONE",
    ) -> None:
        """OffsetCommit."""
        positions = {partition: OffsetAndMetadata(offset) for partition, offset in offsets.items()}
        request = OffsetCommitRequest(GROUP, generation, member_id, None, positions)
        answer = OffsetCommitResponse(dict.fromkeys(offsets, ErrorCode[error]))
        self.exchange(at_ms, "OffsetCommit", request, answer, ms=ms, error=error)

    def committed(self, at_ms: float, offsets: dict[TopicPartition, int]) -> None:
        """OffsetFetch."""
        answer = OffsetFetchResponse({partition: FetchedOffset(offset) for partition, offset in offsets.items()})
        self.exchange(at_ms, "OffsetFetch", OffsetFetchRequest(GROUP, tuple(offsets)), answer)

    def earliest(self, at_ms: float, partition: TopicPartition, offset: int) -> None:
        """ListOffsets."""
        answer = ListOffsetsResponse({partition: ListedOffset(offset)})
        self.exchange(at_ms, "ListOffsets", ListOffsetsRequest({partition: -2}), answer)

    def fetch(self, at_ms: float, offsets: dict[TopicPartition, int], *, brings: Sequence[TopicPartition] = ()) -> None:
        """Fetch."""
        answer = FetchResponse(dict.fromkeys(brings, FetchedPartition(b"", 100)))
        self.exchange(at_ms, "Fetch", FetchRequest(offsets, 100, 1, 1000, 1000), answer)

    # Client -----------------------------------------------------------------------------------------------------------

    def event(self, at_ms: float, event: protocol.AnyEvent) -> None:
        """What the harness says, with its stamp."""
        event = msgspec.structs.replace(event, at_us=int(at_ms * 1000))
        self.entries.append(Entry(int(at_ms * 1000), "client", protocol.name_of(type(event)), event=event))

    def callback(
        self,
        at_ms: float,
        kind: type[protocol.PartitionsAssigned] | type[protocol.PartitionsRevoked] | type[protocol.PartitionsLost],
        partitions: Sequence[TopicPartition] = BOTH,
        *,
        ms: float = 5,
        here: bool = True,
        owned: Sequence[TopicPartition] | None = None,
    ) -> None:
        """A call of the listener."""
        moved = [Partition(each.topic, each.partition) for each in partitions]
        has = [Partition(each.topic, each.partition) for each in (partitions if owned is None else owned)]
        self.event(at_ms, kind(partitions=moved, application_thread=here, owned=has))
        name = protocol.name_of(kind)
        assert name in ("partitions_assigned", "partitions_revoked", "partitions_lost")
        self.event(at_ms + ms, protocol.CallbackReturned(callback=name))  # type: ignore[arg-type]  # just asserted

    def poll(self, at_ms: float, ms: float, timeout_ms: int = 50) -> None:
        """One poll."""
        self.event(at_ms, protocol.PollStarted(poll_ms=timeout_ms))
        self.event(at_ms + ms, protocol.PollReturned(elapsed_ms=int(ms)))

    def polls(self, from_ms: int, to_ms: int) -> None:
        """One poll of 50 ms after the other."""
        for at_ms in range(from_ms, to_ms, 50):
            self.poll(at_ms + 0.01, 49.9)

    def records(self, at_ms: float, partition: TopicPartition, first: int, last: int) -> None:
        """What a poll returned."""
        part = protocol.ConsumedRange(partition.topic, partition.partition, last - first + 1, first, last)
        self.event(at_ms, protocol.RecordsConsumed(count=last - first + 1, partitions=[part]))

    def close(self, at_ms: float, ms: float) -> None:
        """The application closes."""
        self.event(at_ms, protocol.ShutdownRequested())
        self.event(at_ms + ms, protocol.ShutdownComplete(elapsed_ms=int(ms)))


def assigned_and_read(story: WireRun, at_ms: float, generation: int) -> None:
    """After SyncGroup: the callback, the positions, the first records."""
    story.callback(at_ms, protocol.PartitionsAssigned)
    story.committed(at_ms + 6, {BOTH[0]: 3, BOTH[1]: -1})
    story.earliest(at_ms + 8, BOTH[1], 0)
    story.fetch(at_ms + 10, {BOTH[0]: 3, BOTH[1]: 0})
    story.records(at_ms + 40, BOTH[0], 3, 5)
    story.records(at_ms + 41, BOTH[1], 0, 5)


def first_round(story: WireRun) -> None:
    """From the first poll at 0 to a stable member in generation 1 at about 60."""
    story.lookup(1)
    story.join(5, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(8, 1)
    story.sync(10, 1)
    assigned_and_read(story, 15, 1)


def waited(spoil: Callable[[WireRun], None]) -> Callable[[WireRun], None]:
    """What is taken out had the time to come: all that is after 1,100 ms comes 1.5 s later."""

    def spoiled(story: WireRun) -> None:
        spoil(story)
        story.entries = [replace(e, at_us=e.at_us + 1_500_000) if e.at_us > 1_100_000 else e for e in story.entries]

    return spoiled


def eager_rebalance() -> WireRun:
    """Stable, announced at 600, done at 1000, closed at 2000."""
    story = WireRun()
    first_round(story)
    story.polls(0, 2_000)
    story.heartbeats(110, 510, 1)
    story.heartbeat(610, 1, "REBALANCE_IN_PROGRESS")
    story.commit(615, 1, {BOTH[0]: 6, BOTH[1]: 6}, ms=20)
    story.callback(640, protocol.PartitionsRevoked)
    story.join(650, 2, ms=300)
    story.sync(955, 2)
    story.callback(960, protocol.PartitionsAssigned)
    story.committed(970, {BOTH[0]: 6, BOTH[1]: 6})
    story.fetch(975, {BOTH[0]: 6, BOTH[1]: 6})
    story.heartbeats(1_050, 1_990, 2)
    story.callback(2_001, protocol.PartitionsRevoked)
    story.close(2_000.5, 20)
    story.commit(2_010, 2, {BOTH[0]: 6, BOTH[1]: 6})
    story.leave(2_015)
    return story


def cooperative_rebalance() -> WireRun:
    """Stable, announced at 600; orders-1 is taken away; two rounds; more records of orders-0."""
    story = WireRun("cooperative")
    first_round(story)
    story.polls(0, 2_000)
    story.heartbeats(110, 510, 1)
    story.heartbeat(610, 1, "REBALANCE_IN_PROGRESS")
    story.join(650, 2, ms=300, owned=BOTH)
    story.sync(955, 2, BOTH[:1])
    story.callback(960, protocol.PartitionsRevoked, BOTH[1:], owned=BOTH)
    story.callback(966, protocol.PartitionsAssigned, ())
    story.join(980, 3, owned=BOTH[:1])
    story.sync(985, 3, BOTH[:1])
    story.callback(990, protocol.PartitionsAssigned, ())
    story.records(1_100, BOTH[0], 6, 7)
    story.heartbeats(1_080, 1_990, 3)
    return story


def expulsion() -> WireRun:
    """Stable, unknown at 610, lost, joined as a new member."""
    story = WireRun()
    first_round(story)
    story.polls(0, 2_000)
    story.heartbeats(110, 510, 1)
    story.heartbeat(610, 1, "UNKNOWN_MEMBER_ID")
    story.callback(620, protocol.PartitionsLost)
    story.join(630, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(633, 2)
    story.sync(640, 2)
    story.callback(645, protocol.PartitionsAssigned)
    story.heartbeats(740, 1_990, 2)
    return story


def moved_coordinator() -> WireRun:
    """Stable, NOT_COORDINATOR at 610, found at node 2 after a failed lookup."""
    story = WireRun()
    first_round(story)
    story.polls(0, 2_000)
    story.heartbeats(110, 510, 1)
    story.heartbeat(610, 1, "NOT_COORDINATOR")
    story.lookup(615, error="COORDINATOR_NOT_AVAILABLE")
    story.lookup(720, node=2)
    story.heartbeats(730, 1_990, 1, node=2)
    return story


def looked_up_twice(again_ms: int = 740, beats_ms: int = 1_130) -> WireRun:
    """The same, and another lookup, answered after 220 ms, when it has been found; heartbeats from `beats_ms` on."""
    story = moved_coordinator()
    story.entries = [e for e in story.entries if e.api != "Heartbeat" or e.at_us < 725_000]
    story.lookup(again_ms, node=2, ms=220)
    story.heartbeats(beats_ms, 1_990, 1, node=2)
    return story


def expiry() -> WireRun:
    """Polling, one poll of 1500 ms, then none until 3500."""
    story = WireRun()
    first_round(story)
    story.polls(0, 300)
    story.poll(310, 1_500, 1_500)
    story.entries.append(Entry(1_811_000, "kit", "milestone", "stopped polling"))
    story.heartbeats(110, 2_790, 1)
    story.leave(2_810)
    story.entries.append(Entry(3_300_000, "kit", "milestone", "waited for expiry"))
    story.polls(3_500, 4_500)
    story.callback(3_501, protocol.PartitionsLost)
    story.join(3_510, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(3_513, 2)
    story.sync(3_520, 2)
    story.callback(3_525, protocol.PartitionsAssigned)
    story.heartbeats(3_620, 4_490, 2)
    return story


def held_heartbeat_at_close() -> WireRun:
    """A heartbeat is unanswered from 610 on; close at 1000; its answer comes after LeaveGroup."""
    story = WireRun()
    story.settings = replace(story.settings, auto_commit=False)
    first_round(story)
    story.polls(0, 1_000)
    story.heartbeats(110, 511, 1)
    story.heartbeat(610, 1, "REBALANCE_IN_PROGRESS", ms=420)
    story.callback(1_001, protocol.PartitionsRevoked)
    story.close(1_000.5, 40)
    story.leave(1_020)
    return story
