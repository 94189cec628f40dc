"""More runs written by hand: a topic is made anew under its name while a client reads it; each good, and spoiled."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.tests.stories import BOTH, WireRun, first_round
from groupspec.conformance.wire.tests.stories_of_leaders import Row
from groupspec.impl.core.messages import MetadataRequest, MetadataResponse, TopicMetadata, TopicPartition

TOLD_MS: Final = 1_300
FIRST: Final = b"1" * 16
SECOND: Final = b"2" * 16


def metadata(story: WireRun, at_ms: float, topic_id: bytes, version: int = 12) -> None:
    """Metadata, with this id of the topic."""
    topics = (TopicMetadata("orders", (), topic_id=topic_id),)
    story.exchange(at_ms, "Metadata", MetadataRequest(("orders",)), MetadataResponse((), topics))
    story.entries[-2:] = (replace(entry, version=version) for entry in story.entries[-2:])


def reading(ids: tuple[bytes, bytes] = (FIRST, SECOND), version: int = 12) -> WireRun:
    """A member reads, and is told at TOLD_MS which id its topic has now."""
    story = WireRun()
    metadata(story, 1, ids[0], version)
    first_round(story)
    metadata(story, TOLD_MS, ids[1], version)
    return story


def returns(story: WireRun, at_ms: float, partition: TopicPartition, first: int, last: int) -> None:
    """A poll returns these records."""
    story.poll(at_ms - 10, 20)
    story.records(at_ms, partition, first, last)


def begins_anew() -> WireRun:
    """What it had of the old topic is gone, and each partition is read from its beginning."""
    story = reading()
    for number, partition in enumerate(BOTH):
        returns(story, 1_500 + 50 * number, partition, 0, 17)
    story.close(2_000, 100)
    return story


def gives_up() -> WireRun:
    """Every poll raises."""
    story = reading()
    story.event(1_500, protocol.ErrorRaised(error="UnknownTopicId", call="poll"))
    story.close(2_000, 100)
    return story


def knows_no_better(ids: tuple[bytes, bytes], version: int) -> WireRun:
    """It reads on where it was."""
    story = reading(ids, version)
    returns(story, 1_500, BOTH[0], 6, 17)
    story.close(2_000, 100)
    return story


def read_on(story: WireRun) -> None:
    """It goes on where it was, for good."""
    story.entries = [entry for entry in story.entries if not _is_of_the_new(entry.at_us, entry.kind)]
    returns(story, 1_500, BOTH[0], 6, 17)


def batch_first(story: WireRun) -> None:
    """First it returns what it had of the old one."""
    returns(story, 1_450, BOTH[0], 6, 11)


def nothing(story: WireRun) -> None:
    """It returns nothing any more."""
    story.entries = [entry for entry in story.entries if not _is_of_the_new(entry.at_us, entry.kind)]


def _is_of_the_new(at_us: int, kind: str) -> bool:
    return at_us > TOLD_MS * 1000 and kind == "records_consumed"


ROWS: Final[tuple[Row, ...]] = (
    ("O7", "it reads on where it was in the old topic", begins_anew, read_on),
    ("O7", "a batch of the old topic comes first", begins_anew, batch_first),
    ("O7", "nothing of the new topic is returned", begins_anew, nothing),
)
"""Rule, what is wrong, the good run, and how it is spoiled."""
