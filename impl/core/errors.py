"""The errors that reach the application, named as in Kafka's clients without their "Exception".

Every one says what happened; where the application can do something about it, it also says what to do next. The core
never raises these to its driver: it puts them into `events.Error` or `events.CompleteFuture`, and the polling thread
raises them there, from a call of the application's.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupspec.impl.core.messages import ErrorCode, OffsetAndMetadata, TopicPartition


class KafkaError(Exception):
    """Base of all errors that a consumer reports."""


class ConfigError(KafkaError, ValueError):
    """The configuration contradicts itself or asks for something that does not exist."""


class IllegalStateError(KafkaError):
    """The call makes no sense now: for example a position of a partition that is not assigned."""


class ConsumerClosedError(IllegalStateError):
    """The consumer is closed, or was closed before the call could be answered."""


class ProtocolError(KafkaError):
    """A broker answered something that no rule of the protocol foresees, or refused for good. `code` says what."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.code = code


class GroupAuthorizationError(ProtocolError):
    """This client may not use this group."""


class TopicAuthorizationError(ProtocolError):
    """This client may not read these topics."""


class FencedInstanceIdError(ProtocolError):
    """Another member took over this group.instance.id. Two processes have the same one: end one of them."""


class RebalanceInProgressError(ProtocolError):
    """The group rebalances: poll() so that this member takes part, then commit again what it still owns."""


class CommitFailedError(ProtocolError):
    """The commit came too late: the partitions may belong to another member already. Nothing was committed."""


class RetriableCommitFailedError(ProtocolError):
    """The commit failed for a passing reason. It was not tried again: a later commit covers it."""


class KafkaTimeoutError(KafkaError, TimeoutError):
    """No answer within the time that the application allowed."""


class NoOffsetForPartitionError(KafkaError):
    """No committed offset, and auto.offset.reset is "none": seek(), or choose "earliest" or "latest"."""


class UnreadableRecordsError(KafkaError):
    """A batch of records that is corrupt, or compressed in a way that can't be undone here.

    `partition` and `offset` say where it begins, `next_offset` where to seek() to leave it out.
    """

    def __init__(self, partition: TopicPartition, offset: int, next_offset: int, cause: str) -> None:
        super().__init__(
            f"{partition} at offset {offset}: {cause}. seek({partition}, {next_offset}) to go on behind this batch, or "
            f"seek({partition}, {offset}) to fetch it again"
        )
        self.partition = partition
        self.offset = offset
        self.next_offset = next_offset


class RecordDeserializationError(KafkaError):
    """The application's deserialiser raised, as `__cause__` says; records before this one were returned.

    `partition` and `offset` say which record; seek() to the next offset to leave it out.
    """

    def __init__(self, partition: TopicPartition, offset: int, part: str, cause: str) -> None:
        super().__init__(
            f"{partition} at offset {offset}: the {part}_deserializer raised {cause}. "
            f"seek({partition}, {offset + 1}) to leave this record out"
        )
        self.partition = partition
        self.offset = offset


class OffsetOutOfRangeError(KafkaError):
    """The position does not exist (any more), and auto.offset.reset is "none": seek() to one that does."""


class LogTruncationError(OffsetOutOfRangeError):
    """Records that were read are not in the log of the present leader (KIP-320), and auto.offset.reset is "none".

    `divergent_offsets` says of each partition from where on its log is another one than the one that was read, with the
    leader epoch before that: seek() there to read what stands there now. None: nobody knows; seek_to_beginning().
    """

    def __init__(self, divergent_offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        where = ", ".join(
            f"{partition} (from offset {parts.offset} on)" if parts else f"{partition} (from where on is not known)"
            for partition, parts in divergent_offsets.items()
        )
        super().__init__(
            f"The leader has not the records that were read of {where}: its log was truncated, and auto_offset_reset "
            "is 'none'. seek() to those offsets to read what stands there now"
        )
        self.divergent_offsets = dict(divergent_offsets)


_CLASSES: dict[ErrorCode, type[ProtocolError]] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationError,
    ErrorCode.FENCED_INSTANCE_ID: FencedInstanceIdError,
    ErrorCode.REBALANCE_IN_PROGRESS: RebalanceInProgressError,
}

_ADVICE: dict[ErrorCode, str] = {
    ErrorCode.INVALID_SESSION_TIMEOUT: (
        "set session_timeout_ms within the broker's group.min.session.timeout.ms and group.max.session.timeout.ms"
    ),
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: (
        "give all members of the group at least one assignor in common (partition_assignment_strategy)"
    ),
    ErrorCode.FENCED_INSTANCE_ID: (
        "give each process its own group_instance_id; this consumer sends nothing more: close it, or unsubscribe() "
        "and subscribe() anew, which takes the id back"
    ),
    ErrorCode.GROUP_MAX_SIZE_REACHED: "raise the broker's group.max.size or start fewer members",
    ErrorCode.UNSUPPORTED_VERSION: (
        "the broker speaks no version in which that can be said; one before 2.3 knows no group_instance_id: unset it"
    ),
    ErrorCode.INVALID_GROUP_ID: "set a group_id that is not empty",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "grant READ on the group",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "grant READ on the topic",
    ErrorCode.CORRUPT_MESSAGE: "the broker's log is damaged there: seek() past it",
    ErrorCode.UNKNOWN_SERVER_ERROR: "the broker's log says why",
}
_UNKNOWN = "this client does not know that code: look it up among the error codes of Kafka's protocol guide"


def error_for(code: ErrorCode, what: str) -> ProtocolError:
    """The exception for an error code; `what` says what was tried and where."""
    advice = _ADVICE.get(code) if code.is_known else _UNKNOWN
    message = f"{what}: {code.name}" + (f"; {advice}" if advice else "")
    return _CLASSES.get(code, ProtocolError)(message, code)
