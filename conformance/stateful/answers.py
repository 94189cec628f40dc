"""What answers say, as a coordinator would: errors by their names, assignments and subscriptions that could be."""

from __future__ import annotations

from itertools import count, islice

from groupspec.impl.core.messages import ErrorCode, TopicPartition

TOPIC = "orders"
TOPICS = (TOPIC, "bills", "trips", "users")
"""What a member subscribes to: several, so that it can go on without some of them."""
PARTITIONS = tuple(TopicPartition(TOPIC, number) for number in range(64))
ELSEWHERE = TopicPartition("elsewhere", 0)
"""Of a topic that nobody subscribes to."""
GAINED_AT_ONCE = 4
OTHER = {
    "FindCoordinator": ErrorCode.UNKNOWN_SERVER_ERROR,
    "JoinGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "SyncGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "Heartbeat": ErrorCode.INVALID_REQUEST,
    "OffsetCommit": ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""An error that the request's table does not name, for each request."""


def error_named(api: str, name: str) -> ErrorCode:
    """The error code of a name in the table of answers; "other" stands for one that has no name there."""
    return OTHER[api] if name == "other" else ErrorCode[name]


def assignment_for(
    owned: tuple[TopicPartition, ...], topics: tuple[str, ...], takes: bool, retains: bool, gains: bool
) -> tuple[TopicPartition, ...] | None:
    """An assignment of subscribed topics that takes, retains and gains as told; None if there is none.

    One partition can't be halved, and what is of a topic no longer subscribed to can't be kept.
    """
    every = (TopicPartition(topic, p.partition) for p in PARTITIONS for topic in topics)
    gained = tuple(islice((p for p in every if p not in owned), GAINED_AT_ONCE)) if gains else ()
    wanted = tuple(partition for partition in owned if partition.topic in topics)
    if not owned:
        return gained
    if not takes:
        return (*owned, *gained) if wanted == owned else None
    if not retains:
        return gained
    kept = wanted[1:] if wanted == owned else wanted
    return (*kept, *gained) if kept else None


def topics_for(
    owned: tuple[TopicPartition, ...], before: tuple[str, ...], takes: bool, retains: bool
) -> tuple[str, ...] | None:
    """Other topics than before, that take and retain of what is owned as told; None if there are none.

    Nothing is taken: no topic goes, for one whose first partition is only being assigned would be taken later.
    """
    have = {partition.topic for partition in owned}
    spare = next(name for number in count() if (name := f"spare-{number}") not in {*before, *have})
    if not takes or not have:
        return tuple(sorted({*TOPICS, *before, *have, spare}))
    if retains and len(have) == 1:
        return None
    return tuple(sorted({*TOPICS, spare} - ({min(have)} if retains else have)))
