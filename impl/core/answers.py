"""From an answer to what it says: which errors, and what each is about.

Most answers say one thing. In a commit or a committed-offsets answer the first failing partition decides; but a broker
answers a commit for topics that it does not know by itself, and the coordinator for the others, so that what the latter
says comes first (KafkaApis.handleOffsetCommitRequest). Fetches, listed offsets, ends of epochs and metadata say
something about each partition or topic by itself, and each group with the same error is taken by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from groupspec.impl.core.messages import (
    ErrorCode,
    FetchResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    OffsetForLeaderEpochResponse,
    Response,
    TopicPartition,
)
from groupspec.impl.core.requests import Sent


class Answer(Struct, frozen=True):
    """One thing that an answer says, about these partitions or topics (empty: about the request as a whole)."""

    sent: Sent
    response: Response
    error: ErrorCode
    partitions: tuple[TopicPartition, ...] = ()
    topics: tuple[str, ...] = ()


_MISSING = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)

ByPart = FetchResponse | ListOffsetsResponse | OffsetForLeaderEpochResponse | MetadataResponse


def answers_in(sent: Sent, response: Response) -> list[Answer]:
    """Everything that this answer says."""
    if isinstance(response, ByPart):
        if response.error is not ErrorCode.NONE:
            return [Answer(sent, response, response.error)]
        return _answers_by_part(sent, response)
    if isinstance(response, OffsetCommitResponse | OffsetFetchResponse) and response.error is ErrorCode.NONE:
        return [_answer_of_first_failure(sent, response)]
    return [Answer(sent, response, response.error)]


def _answer_of_first_failure(sent: Sent, response: OffsetCommitResponse | OffsetFetchResponse) -> Answer:
    errors: Mapping[TopicPartition, ErrorCode]
    if isinstance(response, OffsetCommitResponse):
        errors = response.errors
    else:
        errors = {partition: fetched.error for partition, fetched in response.offsets.items()}
    failed = (partition for partition in sorted(errors) if errors[partition] is not ErrorCode.NONE)
    deciding = min(failed, key=lambda partition: errors[partition] in _MISSING, default=None)
    code = ErrorCode.NONE if deciding is None else errors[deciding]
    return Answer(sent, response, code, tuple(p for p in sorted(errors) if errors[p] is code))


def _answers_by_part(sent: Sent, response: ByPart) -> list[Answer]:
    if isinstance(response, MetadataResponse):
        topics: dict[ErrorCode, list[str]] = {}
        for topic in response.topics:
            topics.setdefault(topic.error, []).append(topic.topic)
        topics.setdefault(ErrorCode.NONE, [])  # what is right is taken over last, and always
        in_order = sorted(topics.items(), key=lambda item: (item[0] is ErrorCode.NONE, item[0]))
        return [Answer(sent, response, code, topics=tuple(sorted(names))) for code, names in in_order]
    partitions: dict[ErrorCode, list[TopicPartition]] = {}
    for partition, error in _errors(response).items():
        partitions.setdefault(error, []).append(partition)
    return [Answer(sent, response, code, tuple(sorted(group))) for code, group in sorted(partitions.items())]


def _errors(
    response: FetchResponse | ListOffsetsResponse | OffsetForLeaderEpochResponse,
) -> Mapping[TopicPartition, ErrorCode]:
    if isinstance(response, FetchResponse):
        return {partition: part.error for partition, part in response.partitions.items()}
    if isinstance(response, ListOffsetsResponse):
        return {partition: part.error for partition, part in response.offsets.items()}
    return {partition: part.error for partition, part in response.ends.items()}
