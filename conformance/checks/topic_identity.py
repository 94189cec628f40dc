"""Rule O7: a topic that was deleted and made anew under its name is another one.

The id is in the Metadata that the client was answered, from version 10 on; who asks in an older one is not told. Who
fetches by id is told by an answer to Fetch that there is another topic, and has to ask which. Whether it reads the new
one from where auto.offset.reset says is seen from what polls return.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held, missing
from groupspec.conformance.history.calls import Returned
from groupspec.conformance.history.harness_protocol import ErrorRaised
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import (
    NO_TOPIC_ID,
    ErrorCode,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)

NAMES_IDS_FROM: Final = 10
"""Metadata, KIP-516."""

EARLIEST, LATEST = -2, -1
"""The timestamps that ask for the beginning and for the end of a partition."""

OF_ANOTHER_ID: Final = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)


@once
def recreations(history: History) -> Iterator[tuple[int, str]]:
    """When the client was told that another topic has the name of one that it knew, and the name."""
    known: dict[str, bytes] = {}
    told = (
        each for each in history.of("Metadata") if each.request.version >= NAMES_IDS_FROM and each.answer is not None
    )
    for exchange in sorted(told, key=lambda each: each.told_us):
        answer = exchange.answered(MetadataResponse)
        for topic in answer.topics if answer is not None else ():
            if topic.topic_id != NO_TOPIC_ID:
                if known.get(topic.topic, topic.topic_id) != topic.topic_id:
                    yield exchange.told_us, topic.topic
                known[topic.topic] = topic.topic_id


def was_recreated(history: History, topic: str, from_us: int, to_us: int) -> bool:
    """Whether the client was told so in between."""
    return any(name == topic and from_us <= told_us <= to_us for told_us, name in recreations(history))


@checks("O7")
def another_topic_is_read_from_its_beginning(history: History) -> Iterator[Finding]:
    """Once it is told, the client returns nothing more of the old one, and reads the new one from its beginning.

    With `latest` from its end: where an answer to ListOffsets says, which it has asked since.
    """
    for told_us, topic in recreations(history):
        refused = _refused_us(history, told_us)
        for partition in sorted({each.partition for each in history.returned if each.at_us < told_us}):
            if partition.rpartition("-")[0] == topic:
                yield from _read_from_its_beginning(history, partition, told_us, refused)


@checks("O7")
def whose_fetch_names_no_topic_asks_for_metadata(history: History) -> Iterator[Finding]:
    """A Fetch by an id that no topic has tells the client that its topic is gone, or another one: it asks which."""
    for fetch in history.of("Fetch"):
        answer = fetch.answered(FetchResponse)
        if answer is None or not any(each.error in OF_ANOTHER_ID for each in answer.partitions.values()):
            continue
        what = f"a Fetch was answered {fetch.error}"
        asked = next((each for each in history.of("Metadata") if each.sent_us > fetch.told_us), None)
        if asked is not None:
            yield held(f"{what}, and the client asked for metadata", asked.sent_us)
        elif _refused_us(history, fetch.told_us) is None:
            yield from missing(history, f"{what}, and the client asked for no metadata", fetch.told_us)


def _refused_us(history: History, told_us: int) -> int | None:
    return next((at_us for at_us, _ in history.events(ErrorRaised) if at_us > told_us), None)


def _read_from_its_beginning(history: History, partition: str, told_us: int, refused: int | None) -> Iterator[Finding]:
    later = [each for each in history.returned if each.partition == partition and each.at_us > told_us]
    earliest = history.settings.auto_offset_reset == "earliest"
    end, where = (EARLIEST, "beginning") if earliest else (LATEST, "end")
    right = _listed(history, partition, told_us, end) | ({0} if earliest else set())
    begins = next((each for each in later if each.first in right), None)
    read_on = next((each for each in later if each.first not in right and _knew(history, told_us, each)), None)
    what = f"the topic of {partition} was made anew"
    if read_on is not None and (begins is None or read_on.at_us < begins.at_us):
        lost = f", and never from the new one's {where} on" if begins is None else ""
        yield broken(f"{what}, and poll returned offset {read_on.first} after the client was told{lost}", read_on.at_us)
    elif begins is not None:
        yield held(f"{what}, and it was read from its {where}", begins.at_us)
    elif refused is not None:
        yield held(f"{what}, and the application was told that the client does not go on", refused)
    else:
        yield from missing(history, f"{what}, and nothing of the new one was returned", told_us, joins=True)


def _listed(history: History, partition: str, since_us: int, end: int) -> set[int]:
    """Where the partition begins or ends, as answers to ListOffsets have said that the client asked for since."""
    found: set[int] = set()
    for exchange in history.of("ListOffsets"):
        answer = exchange.answered(ListOffsetsResponse) if exchange.sent_us >= since_us else None
        for where, timestamp in exchange.asked(ListOffsetsRequest).timestamps.items():
            if answer is not None and str(where) == partition and timestamp == end:
                found.add(answer.offsets[where].offset)
    return found


def _knew(history: History, told_us: int, returned: Returned) -> bool:
    """Whether the client surely knew when it chose these records: it may do so when the poll begins."""
    began = [poll.started_us for poll in history.polls if poll.started_us <= returned.at_us]
    at_us = began[-1] if began else returned.at_us
    return at_us - history.busy_us(told_us, at_us) > told_us + history.exact.in_flight_us
