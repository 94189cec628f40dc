"""More runs written by hand: what a client does because of an answer, how soon, and what only looks like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.tests.stories import (
    BOTH,
    GROUP,
    WireRun,
    expiry,
    expulsion,
    first_round,
    moved_coordinator,
)
from groupspec.conformance.wire.tests.stories_of_latecomers import loading, refused_in_passing
from groupspec.conformance.wire.tests.stories_of_leaders import Row, command
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedOffset,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicMetadata,
)


def own_loss() -> WireRun:
    """No heartbeat is answered for a session timeout: the client takes its membership for lost, and joins anew."""
    story = WireRun()
    first_round(story)
    story.polls(0, 2_500)
    story.heartbeats(110, 510, 1)
    story.callback(1_620, protocol.PartitionsLost)
    story.join(1_630, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(1_633, 2)
    story.sync(1_640, 2)
    story.callback(1_645, protocol.PartitionsAssigned)
    story.heartbeats(1_740, 2_490, 2)
    return story


def lost_with_its_topic(error: str = "TOPIC_AUTHORIZATION_FAILED") -> WireRun:
    """Metadata says that the topic may not be read: its partitions are lost, not the membership, and it joins again."""
    story = WireRun()
    first_round(story)
    story.polls(0, 2_000)
    story.heartbeats(110, 610, 1)
    told = MetadataResponse((), (TopicMetadata("orders", (), ErrorCode[error]),))
    story.exchange(560, "Metadata", MetadataRequest(("orders",)), told, error)
    story.callback(600, protocol.PartitionsLost)
    story.heartbeat(630, 1)
    story.join(640, 2)
    story.sync(643, 2)
    story.callback(660, protocol.PartitionsAssigned)
    story.heartbeats(740, 1_990, 2)
    return story


def refused_generation() -> WireRun:
    """A heartbeat's generation is refused, and then a commit that has no identity: the id is still the member's."""
    story = WireRun()
    first_round(story)
    story.heartbeat(190, 1, "ILLEGAL_GENERATION")
    story.commit(193, -1, {BOTH[0]: 6}, member_id="", error="UNKNOWN_MEMBER_ID")
    story.callback(195, protocol.PartitionsLost)
    story.join(205, 2)
    story.sync(210, 2)
    return story


def without_its_id(story: WireRun) -> None:
    """The JoinGroup carries none."""
    story.join(204, -1, member_id="", error="MEMBER_ID_REQUIRED")


def refused_commit() -> WireRun:
    """A commit is refused, and what the revocation commits besides."""
    story = WireRun()
    first_round(story)
    story.commit(100, 1, {BOTH[0]: 6}, error="ILLEGAL_GENERATION")
    story.commit(103, 1, {BOTH[0]: 6}, error="ILLEGAL_GENERATION")
    story.callback(106, protocol.PartitionsRevoked)
    story.join(112, 2)
    story.sync(115, 2)
    return story


def held_back(after_ms: float, by_ms: float) -> Callable[[WireRun], None]:
    """All that comes after that time comes so much later; the application polls on meanwhile."""

    def spoil(story: WireRun) -> None:
        polls = [e for e in story.entries if e.kind.startswith("poll_")]
        others = [e for e in story.entries if not e.kind.startswith("poll_")]
        later = [replace(e, at_us=e.at_us + int(by_ms * 1000)) if e.at_us > 1000 * after_ms else e for e in others]
        story.entries = [*polls, *later]

    return spoil


def joins_late() -> WireRun:
    """It declares its loss, and joins anew 300 ms later."""
    story = own_loss()
    held_back(1_626, 300)(story)
    return story


def polled(good: Callable[[], WireRun]) -> Callable[[], WireRun]:
    """The same, and the application polls throughout."""

    def story() -> WireRun:
        run = good()
        run.polls(0, 5_000)
        return run

    return story


def refused_sync() -> WireRun:
    """SyncGroup is answered REBALANCE_IN_PROGRESS: the next JoinGroup follows at once."""
    story = refused_in_passing()
    story.entries = [replace(e, error="REBALANCE_IN_PROGRESS") if e.at_us == 213_000 else e for e in story.entries]
    story.join(215, 3)
    story.sync(218, 3)
    return story


def positions_load() -> WireRun:
    """OffsetFetch finds the coordinator loading, and is sent again after the backoff."""
    story = WireRun()
    first_round(story)
    answer = OffsetFetchResponse(dict.fromkeys(BOTH, FetchedOffset(-1)), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    story.exchange(100, "OffsetFetch", OffsetFetchRequest(GROUP, BOTH), answer, "COORDINATOR_LOAD_IN_PROGRESS")
    story.committed(205, dict.fromkeys(BOTH, 3))
    return story


def loads_for_long(last_ms: float) -> WireRun:
    """Six JoinGroups are refused; pauses double, up to the greatest backoff."""
    story = WireRun()
    first_round(story)
    for at_ms in (200, 310, 520, 930, 1_740, 2_750, last_ms):
        story.join(at_ms, 2, error="COORDINATOR_LOAD_IN_PROGRESS" if at_ms < last_ms else "NONE")
    story.sync(last_ms + 5, 2)
    story.polls(0, 8_000)
    return story


def blocked_at_close() -> WireRun:
    """close() is asked for in the middle of a poll of 50 ms."""
    story = WireRun()
    first_round(story)
    story.poll(1_000, 50)
    command(story, 1_010, protocol.Close())
    story.close(1_051, 5_800)
    return story


def blocks_on(story: WireRun) -> None:
    """The poll returns only 500 ms later."""
    story.entries = [e for e in story.entries if e.at_us < 1_020_000]
    story.event(1_550, protocol.PollReturned(elapsed_ms=550))
    story.close(1_551, 5_800)


def told_by_an_error(raised: bool = True) -> WireRun:
    """The next poll raises that the poll interval is over, and the one after it says lost (librdkafka)."""
    story = expiry()
    gone = ("partitions_lost", "callback_returned", "poll_started", "poll_returned")
    story.entries = [e for e in story.entries if not (3_400_000 < e.at_us < 3_511_000 and e.kind in gone)]
    story.poll(3_500, 0.5)
    if raised:
        story.event(3_500.2, protocol.ErrorRaised(error="ClientError", message="_MAX_POLL_EXCEEDED", call="poll"))
    story.event(3_501, protocol.PollStarted(poll_ms=50))
    story.callback(3_502, protocol.PartitionsLost)
    return story


def at(story: WireRun, from_ms: float, to_ms: float) -> None:
    """The callback for lost partitions runs at another time."""
    for entry in [e for e in story.entries if e.kind in ("partitions_lost", "callback_returned")]:
        if abs(entry.at_us - 1000 * from_ms) < 10_000:
            story.entries.remove(entry)
    story.callback(to_ms, protocol.PartitionsLost)


def slow_to_lose(callback_ms: float) -> WireRun:
    """SyncGroup is answered UNKNOWN_MEMBER_ID: everything is lost, and the callback takes its time."""
    story = refused_in_passing()
    story.entries = [replace(e, error="UNKNOWN_MEMBER_ID") if e.at_us == 213_000 else e for e in story.entries]
    story.callback(214, protocol.PartitionsLost, ms=callback_ms)
    story.join(216 + callback_ms, 3, member_id="")
    story.polls(0, 5_000)
    return story


def not_polled() -> WireRun:
    """The coordinator loads while the application is busy for 2 s."""
    story = loading()
    held_back(205, 2_000)(story)
    story.polls(0, 200)
    story.polls(2_200, 5_000)
    return story


ROWS: Final[tuple[Row, ...]] = (
    ("H3", "again, right after the answer that refused the one before", expulsion,
     lambda s: s.heartbeat(614, 1, "UNKNOWN_MEMBER_ID")),
    ("H3", "without an id, 4 ms after the client has said that it lost its membership", own_loss,
     lambda s: s.heartbeat(1_624, -1, "UNKNOWN_MEMBER_ID", member_id="")),
    ("H3", "with its id, when the client has said that it lost its membership", joins_late,
     lambda s: s.heartbeat(1_700, 1, "UNKNOWN_MEMBER_ID")),
    ("H3", "the topic is gone, and it drops its id, too", lost_with_its_topic,
     lambda s: s.join(639, -1, member_id="", error="MEMBER_ID_REQUIRED")),
    ("C2", "a commit when the client has said that it lost its membership", joins_late,
     lambda s: s.commit(1_700, 1, {BOTH[0]: 6})),
    ("D4", "again, right after the answer that says that the coordinator is gone", moved_coordinator,
     lambda s: s.heartbeat(612, 1, "NOT_COORDINATOR")),
    ("J4", "it is dropped for the answer to a commit that had none", refused_generation, without_its_id),
    ("J4", "another id, at once", moved_coordinator, lambda s: s.heartbeat(612, 1, member_id="x")),
    ("M2", "refused twice, and sent a third time", refused_commit,
     lambda s: s.commit(104.5, 1, {BOTH[0]: 6}, error="ILLEGAL_GENERATION")),
    ("P3", "lost is said before the next poll", expiry, lambda s: at(s, 3_501, 3_400)),
    ("P3", "lost is said only by the poll after the next one", expiry, held_back(3_500.5, 60)),
    ("P3", "nor had the poll before raised anything", told_by_an_error, lambda s: setattr(
        s, "entries", told_by_an_error(raised=False).entries)),
    ("D3", "JoinGroup comes 2 s after a passing error", polled(loading), held_back(205, 2_000)),
    ("D3", "JoinGroup comes 700 ms after REBALANCE_IN_PROGRESS", polled(refused_in_passing), held_back(205, 700)),
    ("D3", "JoinGroup comes 700 ms after the SyncGroup that failed", polled(refused_sync), held_back(214, 700)),
    ("D3", "JoinGroup never comes", polled(loading), lambda s: setattr(
        s, "entries", [e for e in s.entries if e.source != "wire" or e.at_us < 205_000])),
    ("D3", "the next lookup comes 2 s after one that failed", moved_coordinator, held_back(650, 1_000)),
    ("D3", "OffsetFetch comes 2 s after a passing error", polled(positions_load), held_back(150, 2_000)),
    ("D3", "after six failures it waits for 3 s", lambda: loads_for_long(3_760), lambda s: setattr(
        s, "entries", loads_for_long(5_760).entries)),
    ("L2", "a poll that overruns is in its way", blocked_at_close, blocks_on),
)  # fmt: skip
"""Rule, what is wrong, the good run, and how it is spoiled."""
ALLOWED: Final[tuple[Row, ...]] = (
    # librdkafka rd_kafka_cgrp_metadata_update_check: lost are partitions of topics that are not there; a Heartbeat asks
    # for the group alone (Kafka KafkaApis.handleHeartbeatRequest: READ of GROUP), and is answered NONE
    ("H3", "its topic is gone, and lost with it: it is a member all the same", lost_with_its_topic, lambda s: None),
    ("H3", "so it is where the callback comes when the next round has ended", lost_with_its_topic,
     lambda s: at(s, 600, 650)),
    ("C2", "what it had read of that topic it commits as the member that it is", lost_with_its_topic,
     lambda s: s.commit(632, 1, {BOTH[0]: 6})),
    # its timer is over when a commit's refusal is on its way
    ("H3", "one that was due when something else was refused", expulsion,
     lambda s: s.commit(605, 1, {BOTH[0]: 6}, error="UNKNOWN_MEMBER_ID")),
    # kgo groupConsumer.revoke and krafka commit before their callback, with the identity that has just been refused
    ("M2", "what the revocation commits besides", refused_commit, lambda s: None),
    # librdkafka rd_kafka_cgrp_max_poll_interval_check_tmr_cb: the error is an event of its own, before the rebalance
    ("P3", "the next poll raises that the interval is over", told_by_an_error, lambda s: None),
    # JoinGroup waits for the callback of lost partitions (ConsumerCoordinator.onJoinPrepare)
    ("D3", "a callback of 1 s comes first", lambda: slow_to_lose(1_000), lambda s: None),
    # AbstractCoordinator.ensureActiveGroup runs in poll()
    ("D3", "the application does not poll for 2 s", not_polled, lambda s: None),
)  # fmt: skip
"""The same of what a client may do."""
