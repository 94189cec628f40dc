"""More runs written by hand: a topic is made anew under its name while a client reads it; each good, and spoiled."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.tests.stories import BOTH, WireRun, first_round
from groupspec.conformance.wire.tests.stories_of_leaders import Row
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)

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


def led(story: WireRun, at_ms: float, node: int, epoch: int, version: int = 12) -> None:
    """Metadata, with this leader of orders-0."""
    leaders = (PartitionMetadata(BOTH[0].partition, node, leader_epoch=epoch),)
    answer = MetadataResponse((), (TopicMetadata("orders", leaders, topic_id=FIRST),))
    story.exchange(at_ms, "Metadata", MetadataRequest(("orders",)), answer)
    story.entries[-2:] = (replace(entry, version=version) for entry in story.entries[-2:])


def hears_of_the_former_leader(version: int = 12) -> WireRun:
    """orders-0 has another leader, and then a broker is asked that has not heard of it."""
    story = WireRun()
    first_round(story)
    led(story, 200, 1, 3, version)
    led(story, 300, 2, 4, version)
    led(story, 600, 1, 3, version)
    story.exchange(700, "Fetch", FetchRequest({BOTH[0]: 6}, 100, 1, 1000, 1000), FetchResponse({}), node=2)
    led(story, 900, 2, 4, version)
    return story


def back(story: WireRun) -> None:
    """It fetches from the former leader again."""
    story.fetch(800, {BOTH[0]: 6})


def returns(story: WireRun, at_ms: float, partition: TopicPartition, first: int, last: int) -> None:
    """A poll returns these records."""
    story.poll(at_ms - 10, 20)
    story.records(at_ms, partition, first, last)


def begins_anew() -> WireRun:
    """What it had of the old topic is gone, and each partition is read from its beginning."""
    story = reading()
    for number, partition in enumerate(BOTH):
        returns(story, 1_500 + 50 * number, partition, 0, 17)
    story.close(4_000, 100)
    return story


def begins_at_the_end() -> WireRun:
    """The same with `latest`: its end is asked for."""
    story = reading()
    story.settings = replace(story.settings, auto_offset_reset="latest")
    for number, partition in enumerate(BOTH):
        asks_for_the_end(story, 1_400 + number, partition, 18)
        returns(story, 1_500 + 50 * number, partition, 18, 23)
    story.close(2_000, 100)
    return story


def asks_for_the_end(story: WireRun, at_ms: float, partition: TopicPartition, end: int) -> None:
    """ListOffsets, with -1."""
    answer = ListOffsetsResponse({partition: ListedOffset(end)})
    story.exchange(at_ms, "ListOffsets", ListOffsetsRequest({partition: -1}), answer)


def is_told_by_fetch() -> WireRun:
    """A Fetch finds no topic of its id, and metadata tell which there is."""
    story = WireRun()
    metadata(story, 1, FIRST)
    first_round(story)
    fetch_of_another(story)
    metadata(story, TOLD_MS, SECOND)
    for number, partition in enumerate(BOTH):
        returns(story, 1_500 + 50 * number, partition, 0, 17)
    story.close(4_000, 100)
    return story


def fetch_of_another(story: WireRun) -> None:
    """No topic has the id that is asked for."""
    answer = FetchResponse({BOTH[0]: FetchedPartition(b"", -1, ErrorCode.UNKNOWN_TOPIC_ID)})
    story.exchange(
        TOLD_MS - 100, "Fetch", FetchRequest({BOTH[0]: 6}, 500, 1, 1_000, 1_000), answer, error="UNKNOWN_TOPIC_ID"
    )


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


def beginning(story: WireRun) -> None:
    """It reads the new one from its beginning."""
    nothing(story)
    returns(story, 1_500, BOTH[0], 0, 17)


def asks_nothing(story: WireRun) -> None:
    """It fetches by the old id for ever."""
    nothing(story)
    is_late = [entry.at_us > (TOLD_MS - 50) * 1000 and entry.api == "Metadata" for entry in story.entries]
    story.entries = [entry for entry, late in zip(story.entries, is_late, strict=True) if not late]


def nothing(story: WireRun) -> None:
    """It returns nothing any more."""
    story.entries = [entry for entry in story.entries if not _is_of_the_new(entry.at_us, entry.kind)]


def _is_of_the_new(at_us: int, kind: str) -> bool:
    return at_us > TOLD_MS * 1000 and kind == "records_consumed"


ROWS: Final[tuple[Row, ...]] = (
    ("O8", "the former leader is fetched from again", hears_of_the_former_leader, back),
    ("O7", "it reads on where it was in the old topic", begins_anew, read_on),
    ("O7", "a batch of the old topic comes first", begins_anew, batch_first),
    ("O7", "nothing of the new topic is returned", begins_anew, nothing),
    ("O7", "with latest it reads on where it was in the old topic", begins_at_the_end, read_on),
    ("O7", "with latest the new topic is read from its beginning", begins_at_the_end, beginning),
    ("O7", "a Fetch finds no topic of its id, and nobody asks which there is", is_told_by_fetch, asks_nothing),
)
"""Rule, what is wrong, the good run, and how it is spoiled."""
