"""What the application asks about the log: where partitions begin and end, what was written when, which topics exist.

Nobody else acts on these answers, so they come here whole, and not through the table of `dispatch`. A question is asked
again, after the backoff, until everything in it is answered, a broker refuses, or its time is over. The core itself
keeps nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from groupspec.impl.core.answers import Answer
from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import ConsumerClosedError, KafkaError, KafkaTimeoutError, error_for
from groupspec.impl.core.events import ANY_NODE, CompleteFuture, ListOffsets, ListTopics
from groupspec.impl.core.messages import (
    ErrorCode,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    Response,
    TopicPartition,
)
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.requests import Requests, Sent

PASSING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.DISCONNECTED,
        ErrorCode.TIMED_OUT,
    }
)
"""After these the question is asked again (as Java's OffsetFetcherUtils and TopicMetadataFetcher)."""


UNREACHABLE = "can bootstrap_servers be reached?"


@dataclass(slots=True, eq=False)
class _Question:
    """One call of the application's. Of offsets: what is still open, what is being asked, what was found."""

    future_id: int
    deadline_ms: int | None
    offsets: dict[TopicPartition, int] | None = None
    topics: tuple[str, ...] | None = None
    found: dict[TopicPartition, ListedOffset | None] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    trouble: str = f"no broker has answered ({UNREACHABLE})"


class Questions:
    """Those that are not answered yet."""

    def __init__(self, context: Context, requests: Requests, metadata: Metadata) -> None:
        self._context = context
        self._requests = requests
        self._metadata = metadata
        self._open: list[_Question] = []

    def list_offsets(self, event: ListOffsets) -> None:
        """Where these partitions have these timestamps: a time, -2 the beginning, -1 the end."""
        self._ask(_Question(event.future_id, event.deadline_ms, offsets=dict(event.timestamps)))

    def list_topics(self, event: ListTopics) -> None:
        """What the cluster says about these topics; None: about all that this client may know of."""
        self._ask(_Question(event.future_id, event.deadline_ms, topics=event.topics))

    def _ask(self, question: _Question) -> None:
        self._open.append(question)
        self._watch_deadlines()

    # Asking ----------------------------------------------------------------------------------------------------------

    def progress(self) -> None:
        """Ask what is not being asked."""
        if not self._open or self._context.timers.is_armed("questions_backoff"):
            return
        for question in list(self._open):
            if question.offsets is not None:
                self._ask_leaders(question, question.offsets)
            elif not question.sent:
                self._send(question, MetadataRequest(question.topics, self._creates(question)), ANY_NODE)

    def _ask_leaders(self, question: _Question, wanted: Mapping[TopicPartition, int]) -> None:
        asked = {partition for sent in question.sent for partition in _asked(sent)}
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for partition, timestamp in wanted.items():
            if partition in question.found or partition in asked:
                continue
            leader = self._metadata.leader(partition)
            if leader is None:
                question.trouble = f"the leader of {partition} is not known (is there such a topic? {UNREACHABLE})"
            else:
                by_leader.setdefault(leader, {})[partition] = timestamp
        for leader, timestamps in by_leader.items():
            epochs = self._metadata.leader_epochs(timestamps)
            self._send(question, ListOffsetsRequest(timestamps, self._context.config.read_committed, epochs), leader)
        if len(question.found) == len(wanted):
            self._end(question, question.found)

    def _send(self, question: _Question, request: ListOffsetsRequest | MetadataRequest, node: str | int) -> None:
        question.sent.append(self._requests.send(request, node, self._context.config.request_timeout_ms))

    def _creates(self, question: _Question) -> bool:
        return question.topics is not None and self._context.config.allow_auto_create_topics

    # Answers ---------------------------------------------------------------------------------------------------------

    def answered(self, sent: Sent, response: Response, parts: list[Answer]) -> bool:
        """Take an answer, if its request is one of these."""
        question = next((each for each in self._open if sent in each.sent), None)
        if question is None:
            return False
        question.sent.remove(sent)
        wrong = [part for part in parts if part.error is not ErrorCode.NONE]
        refused = next((part for part in wrong if part.error not in PASSING), None)
        if refused is not None:
            about = ", ".join(map(str, refused.partitions or refused.topics)) or "the cluster"
            self._end(question, error=error_for(refused.error, f"Question about {about} refused"))
        elif isinstance(response, MetadataResponse):
            self._take_topics(question, response, wrong)
        else:
            self._take_offsets(question, response, wrong)
        return True

    def _take_topics(self, question: _Question, response: MetadataResponse, wrong: list[Answer]) -> None:
        """That a topic does not exist is an answer, too; that it has no leader yet is none."""
        if all(part.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and part.topics for part in wrong):
            self._end(question, tuple(topic for topic in response.topics if topic.error is ErrorCode.NONE))
        else:
            self._try_again(question, wrong)

    def _take_offsets(self, question: _Question, response: Response, wrong: list[Answer]) -> None:
        if isinstance(response, ListOffsetsResponse):
            for partition, listed in response.offsets.items():
                if listed.error is ErrorCode.NONE:
                    question.found[partition] = listed if listed.offset >= 0 else None
        if wrong:  # also of topics that nobody subscribes to: it is asked who leads them
            self._metadata.refresh({partition.topic for part in wrong for partition in part.partitions})
            self._try_again(question, wrong)

    def _try_again(self, question: _Question, wrong: list[Answer]) -> None:
        question.trouble = ", ".join(
            f"{', '.join(map(str, part.partitions or part.topics)) or 'the last try'}: {part.error.name}"
            for part in wrong
        )
        self._context.arm("questions_backoff", self._context.config.retry_backoff_ms)

    # Ends ------------------------------------------------------------------------------------------------------------

    def deadline_over(self) -> None:
        """The earliest time limit has passed."""
        for question in self._context.overdue(self._open):
            self._end(question, error=KafkaTimeoutError(f"Not answered in time: {question.trouble}"))
        self._watch_deadlines()

    def stop(self) -> None:
        """The end: everybody gets an answer (rule L2)."""
        for question in list(self._open):
            self._end(question, error=ConsumerClosedError("The consumer was closed before this was answered"))
        self._context.timers.disarm("questions_backoff", "questions_deadline")

    def _end(self, question: _Question, result: object = None, error: KafkaError | None = None) -> None:
        self._open.remove(question)
        for sent in question.sent:
            self._requests.give_up(sent)
        self._watch_deadlines()
        self._context.emit(CompleteFuture(question.future_id, result, error))

    def _watch_deadlines(self) -> None:
        self._context.arm_earliest("questions_deadline", self._open)


def _asked(sent: Sent) -> Mapping[TopicPartition, int]:
    return sent.request.timestamps if isinstance(sent.request, ListOffsetsRequest) else {}
