"""A reference implementation of a consumer, written independently of the specification.

    from groupspec.impl import Consumer

    with Consumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        while True:
            for record in consumer.poll(timeout_ms=1000):
                print(record.partition, record.offset, record.value)

Settings have Kafka's names and are checked at once:

    >>> from groupspec.impl import Consumer
    >>> Consumer(group_id="billing", session_timeout_ms=1000, heartbeat_interval_ms=3000)
    Traceback (most recent call last):
    ...
    groupspec.impl.core.errors.ConfigError: heartbeat_interval_ms=3000 must be set lower than ...

What is named here is for users; the modules below it may change.
"""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupspec.impl.consumer import (
        ConcurrentUseError,
        Consumer,
        ConsumerRecord,
        ConsumerRecords,
        ForkedConsumerError,
        GroupMetadata,
        OffsetAndTimestamp,
        RebalanceListener,
        TopicPartition,
        WakeupError,
    )
    from groupspec.impl.core.errors import (
        CommitFailedError,
        ConfigError,
        ConsumerClosedError,
        FencedInstanceIdError,
        GroupAuthorizationError,
        IllegalStateError,
        KafkaError,
        KafkaTimeoutError,
        LogTruncationError,
        NoOffsetForPartitionError,
        OffsetOutOfRangeError,
        ProtocolError,
        RebalanceInProgressError,
        RecordDeserializationError,
        RetriableCommitFailedError,
        TopicAuthorizationError,
        UnreadableRecordsError,
    )
    from groupspec.impl.core.messages import OffsetAndMetadata

    __version__: str

__all__ = [
    "CommitFailedError",
    "ConcurrentUseError",
    "ConfigError",
    "Consumer",
    "ConsumerClosedError",
    "ConsumerRecord",
    "ConsumerRecords",
    "FencedInstanceIdError",
    "ForkedConsumerError",
    "GroupAuthorizationError",
    "GroupMetadata",
    "IllegalStateError",
    "KafkaError",
    "KafkaTimeoutError",
    "LogTruncationError",
    "NoOffsetForPartitionError",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetOutOfRangeError",
    "ProtocolError",
    "RebalanceInProgressError",
    "RebalanceListener",
    "RecordDeserializationError",
    "RetriableCommitFailedError",
    "TopicAuthorizationError",
    "TopicPartition",
    "UnreadableRecordsError",
    "WakeupError",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())  # as libraries do: the application chooses what it sees


def __getattr__(name: str) -> object:
    """Imported when it is first asked for: most modules below need no consumer."""
    if name == "__version__":
        from importlib.metadata import version  # only here: harnesses are to start quickly

        return version("groupspec")
    if name in __all__:
        from groupspec.impl import consumer
        from groupspec.impl.core import errors, messages

        return next(getattr(home, name) for home in (errors, messages, consumer) if hasattr(home, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
