"""Committed offsets, and the position that a new partition starts from.

A position comes from the committed offset; the reset policy applies only if the coordinator has answered that there is
none (rules O1, O6), or the broker that the position does not exist: never because a question failed. Each answer
belongs to the assignment and position that it was asked for (`epoch`), and is dropped if those have changed (rule O3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import (
    ConsumerClosedError,
    KafkaError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    error_for,
)
from groupspec.impl.core.events import COORDINATOR, CompleteFuture, FetchCommitted
from groupspec.impl.core.messages import (
    ErrorCode,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetAndMetadata,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.requests import Requests, Sent

TIMESTAMPS = {"earliest": -2, "latest": -1}
"""What ListOffsets calls the beginning and the end of a partition."""


@dataclass(slots=True, eq=False)
class Question:
    """One OffsetFetch: the application's (it has a future), or for positions (it has the epochs)."""

    partitions: tuple[TopicPartition, ...]
    future_id: int | None = None
    deadline_ms: int | None = None
    epochs: dict[TopicPartition, int] = field(default_factory=dict)
    sent: Sent | None = None


class Offsets:
    """Questions about offsets, and what becomes of the answers."""

    def __init__(self, context: Context, requests: Requests, connection: Connection, metadata: Metadata) -> None:
        self._context = context
        self._positions = context.positions
        self._requests = requests
        self._connection = connection
        self._metadata = metadata
        self._questions: list[Question] = []
        self._to_reset: dict[TopicPartition, int] = {}  # no committed offset, or it does not exist: with the epoch
        self._resets: dict[int, dict[TopicPartition, int]] = {}  # ListOffsets under way, by request id
        self._ends: dict[TopicPartition, tuple[int, int]] = {}  # while a time is looked for: epoch, end before that
        self._refused = False  # until the application polls again
        self._may_report = False  # that there is no position: only to an application that has asked for records or it

    # What is asked for ------------------------------------------------------------------------------------------------

    def demanded(self) -> None:
        """The application wants records, or a position: if there is none it gets an error, each time that it asks."""
        self._may_report = True
        self._refused = False

    def assignment_changed(self) -> None:
        """Partitions were chosen by hand: seek() may still come, before anything is asked for."""
        self._may_report = False

    def fetch_committed(self, event: FetchCommitted) -> None:
        """The application asks."""
        self._connection.asked()
        if self._context.config.group_id is None:
            error = error_for(ErrorCode.INVALID_GROUP_ID, "Committed offsets without a group")
            self._context.emit(CompleteFuture(event.future_id, error=error))
        elif not event.partitions:
            self._context.emit(CompleteFuture(event.future_id, {}))
        else:
            self._questions.append(Question(event.partitions, event.future_id, event.deadline_ms))
            self._watch_deadlines()

    def reset(self, partition: TopicPartition, epoch: int) -> None:
        """This partition has no usable position: take the one that the policy says."""
        self._to_reset[partition] = epoch

    def needs_coordinator(self) -> bool:
        """Whether a request for committed offsets waits for a coordinator."""
        return any(question.sent is None for question in self._questions)

    # Asking ----------------------------------------------------------------------------------------------------------

    def progress(self) -> None:
        """Ask for what is missing."""
        if self._to_reset or self._questions or self._ends:
            self._forget_outdated()
        if not self._refused:
            self._look_for_positions()
        if not (self._to_reset or self._questions) or self._context.timers.is_armed("offsets_backoff"):
            return
        if self._connection.is_known:
            for question in self._questions:
                if question.sent is None:
                    self._ask(question)
        self._ask_for_resets()

    def _look_for_positions(self) -> None:
        if not (waiting := self._positions.without_position()):
            return
        missing = {p: epoch for p, epoch in waiting.items() if not self._is_being_looked_up(p, epoch)}
        if not missing:
            return
        if self._context.config.group_id is not None:
            elsewhere = {*self._positions.resets(), *self._positions.of_recreated_topics()}
            committed = {partition: epoch for partition, epoch in missing.items() if partition not in elsewhere}
            if committed:
                self._questions.append(Question(tuple(committed), epochs=committed))
            missing = {partition: epoch for partition, epoch in missing.items() if partition in elsewhere}
        self._to_reset.update(missing)

    def _is_being_looked_up(self, partition: TopicPartition, epoch: int) -> bool:
        return (
            self._to_reset.get(partition) == epoch
            or any(question.epochs.get(partition) == epoch for question in self._questions)
            or any(asked.get(partition) == epoch for asked in self._resets.values())
        )

    def _forget_outdated(self) -> None:
        """What is not assigned any more, or has got a position otherwise, needs no reset."""
        waiting = self._positions.without_position()
        self._to_reset = {p: epoch for p, epoch in self._to_reset.items() if waiting.get(p) == epoch}
        self._ends = {p: known for p, known in self._ends.items() if self._positions.is_current(p, known[0])}
        for question in [q for q in self._questions if q.epochs and q.sent is None]:
            question.epochs = {p: epoch for p, epoch in question.epochs.items() if self._positions.is_current(p, epoch)}
            question.partitions = tuple(question.epochs)
            if not question.partitions:
                self._questions.remove(question)

    def _ask(self, question: Question) -> None:
        """By id; but by name if a topic is away, or the question would be refused all the time."""
        config, partitions = self._context.config, question.partitions
        exist = self._metadata.exist(partition.topic for partition in partitions)
        topic_ids = self._metadata.topic_ids(partitions) if exist else {}
        question.sent = self._requests.send(
            OffsetFetchRequest(config.group_id or "", partitions, topic_ids=topic_ids),
            COORDINATOR,
            config.request_timeout_ms,
        )

    def _ask_for_resets(self) -> None:
        """One ListOffsets for each leader that is known: where the application has said, or else the reset policy."""
        if not self._to_reset:
            return
        config = self._context.config
        timestamps = {p: self._policy(p, epoch) for p, epoch in self._to_reset.items()} | self._positions.resets()
        if None in timestamps.values():
            self._report_missing()
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for partition, epoch in self._to_reset.items():
            leader = None if timestamps[partition] is None else self._metadata.leader(partition)
            if leader is not None:
                by_leader.setdefault(leader, {})[partition] = epoch
        for leader, asked in by_leader.items():
            wanted = {partition: timestamp for partition in asked if (timestamp := timestamps[partition]) is not None}
            sent = self._requests.send(
                ListOffsetsRequest(wanted, config.read_committed, self._metadata.leader_epochs(wanted)),
                leader,
                config.request_timeout_ms,
            )
            self._resets[sent.request_id] = asked
            for partition in asked:
                del self._to_reset[partition]

    def _policy(self, partition: TopicPartition, epoch: int) -> int | None:
        """Where the reset policy has it begin; None: nowhere.

        By age (KIP-1106) there may be no record that is young enough. Then it begins at the end, as that was before the
        records were looked at: what is written in between is not lost. So that is asked first.
        """
        age_ms = self._context.config.reset_age_ms
        if age_ms is None:
            return TIMESTAMPS.get(self._context.config.auto_offset_reset)
        if self._ends.get(partition, (-1, 0))[0] != epoch:
            return TIMESTAMPS["latest"]
        return max(0, self._context.epoch_ms + self._context.now_ms - age_ms)

    def _report_missing(self) -> None:
        """auto.offset.reset is "none": the application has to say where to begin, by its next poll (rule O6)."""
        missing = sorted(set(self._to_reset) - set(self._positions.resets()))
        if missing and self._may_report and not self._refused:
            self._refused = True
            recreated = ", ".join(map(str, sorted({*missing} & {*self._positions.of_recreated_topics()})))
            why = f" (deleted and made anew, so that nothing read before counts: {recreated})" if recreated else ""
            self._context.report(
                NoOffsetForPartitionError(
                    f"No committed offset for {', '.join(map(str, missing))}{why}, and auto_offset_reset is "
                    "'none': seek(), or choose 'earliest' or 'latest'"
                )
            )
            for partition in missing:
                del self._to_reset[partition]

    # OffsetFetch's answers -------------------------------------------------------------------------------------------

    def committed(self, sent: Sent, response: OffsetFetchResponse) -> None:
        """The answer: to the application as it is, or as positions."""
        question = self._question(sent)
        if question.future_id is not None:
            if set(question.partitions) <= response.offsets.keys():
                self._end(question, _as_result(response))
            else:  # as below
                self.retriable(sent)
            return
        self._questions.remove(question)
        for partition, epoch in question.epochs.items():
            found = response.offsets.get(partition)
            if found is None:  # not even mentioned: that is no answer (rule O1)
                self._wait_for_backoff()
            elif found.offset >= 0:
                self._metadata.heard_of(partition, found.leader_epoch)
                if self._positions.set_position(partition, epoch, found.offset, True, found.leader_epoch):
                    self._say_whose(partition, found.offset)
            else:
                self.reset(partition, epoch)

    def _say_whose(self, partition: TopicPartition, offset: int) -> None:
        """Of which topic a committed offset is, is not guessed where it is not known (rule O7)."""
        if self._metadata.has_no_id(partition.topic):
            why = "the brokers name no topic ids (before Kafka 2.8)"
        elif partition.topic in self._positions.recreated_since(0):
            why = "the topic was made anew, and the coordinator may have no topic ids (before Kafka 4.2)"
        else:
            return
        begins = f"{partition} begins at its committed offset, {offset}"
        self._context.journal.say(__name__, f"{begins}, which may be of an older topic of that name: {why}")

    def retriable(self, sent: Sent) -> None:
        """A passing failure: again after the backoff."""
        self._question(sent).sent = None
        self._wait_for_backoff()

    def topic_gone(self, sent: Sent) -> None:
        """No topic has the id: again after the backoff, when Metadata has said what has become of it (rule O7)."""
        self._metadata.refresh(partition.topic for partition in self._question(sent).partitions)
        self.retriable(sent)

    def coordinator_gone(self, sent: Sent, code: ErrorCode) -> None:
        """The same, after finding the coordinator anew."""
        self.retriable(sent)
        self._connection.forget(f"OffsetFetch: {code.name}")

    def refused(self, sent: Sent, code: ErrorCode, partitions: tuple[TopicPartition, ...]) -> None:
        """For good: the caller gets the error."""
        question = self._question(sent)
        what = ", ".join(map(str, partitions or question.partitions))
        error = error_for(code, f"Committed offset of {what} refused")
        if question.future_id is None:
            self._refused = True
            self._context.report(error)
        self._end(question, error=error)

    # ListOffsets' answers ---------------------------------------------------------------------------------------------

    def listed(self, sent: Sent, response: ListOffsetsResponse, partitions: tuple[TopicPartition, ...]) -> None:
        """Beginnings or ends: positions, unless something else has set them meanwhile."""
        asked = self._resets.get(sent.request_id, {})
        for partition in partitions:
            if partition in asked:
                listed = response.offsets[partition]
                self._metadata.heard_of(partition, listed.leader_epoch)
                self._found(partition, asked[partition], listed.offset)

    def _found(self, partition: TopicPartition, epoch: int, offset: int) -> None:
        by_age = self._context.config.reset_age_ms is not None and partition not in self._positions.resets()
        if by_age and self._ends.get(partition, (-1, 0))[0] != epoch:
            self._ends[partition] = (epoch, offset)
            self._to_reset[partition] = epoch  # again, for the time
            return
        _, end = self._ends.pop(partition, (-1, 0))
        self._positions.set_position(partition, epoch, offset if offset >= 0 else end, committed=False)

    def leader_moved(self, sent: Sent, partitions: tuple[TopicPartition, ...]) -> None:
        """This node does not lead them (any more), or did not answer: look the leader up, and ask again."""
        asked = self._resets.get(sent.request_id, {})
        self._to_reset.update({p: asked[p] for p in (partitions or asked) if p in asked})
        self._metadata.refresh()
        self._wait_for_backoff()

    def reset_refused(self, sent: Sent, code: ErrorCode, partitions: tuple[TopicPartition, ...]) -> None:
        """For good: the application gets an error; its next poll tries again."""
        self._refused = True
        about = partitions or sorted(self._resets.get(sent.request_id, ()))
        self._context.report(error_for(code, f"Offsets of {', '.join(map(str, about))} refused"))

    def reset_ended(self, sent: Sent) -> None:
        """All of this ListOffsets has been dealt with."""
        self._resets.pop(sent.request_id, None)

    # Ends ------------------------------------------------------------------------------------------------------------

    def deadline_over(self) -> None:
        """The earliest time limit has passed."""
        for question in self._context.overdue(self._questions):
            why = self._connection.why_unknown()
            self._end(question, error=KafkaTimeoutError(f"The committed offsets were not answered in time{why}"))
        self._watch_deadlines()

    def lookup_refused(self, error: KafkaError) -> None:
        """No coordinator at all."""
        for question in list(self._questions):
            if question.future_id is not None and question.sent is None:
                self._end(question, error=error)

    def stop(self) -> None:
        """The end: everybody gets an answer (rule L2)."""
        for question in list(self._questions):
            self._end(question, error=ConsumerClosedError("The consumer was closed before the offsets were answered"))
        self._context.timers.disarm("offsets_backoff", "offsets_deadline")

    def _question(self, sent: Sent) -> Question:
        """What this was sent for: it waits for the answer, or the answer would be late."""
        return next(question for question in self._questions if question.sent is sent)

    def _end(
        self,
        question: Question,
        result: Mapping[TopicPartition, OffsetAndMetadata | None] | None = None,
        error: KafkaError | None = None,
    ) -> None:
        self._questions.remove(question)
        self._requests.give_up(question.sent)
        self._watch_deadlines()
        if question.future_id is not None:
            self._context.emit(CompleteFuture(question.future_id, result, error))

    def _wait_for_backoff(self) -> None:
        self._context.arm("offsets_backoff", self._context.config.retry_backoff_ms)

    def _watch_deadlines(self) -> None:
        self._context.arm_earliest("offsets_deadline", self._questions)


def _as_result(response: OffsetFetchResponse) -> dict[TopicPartition, OffsetAndMetadata | None]:
    return {
        partition: OffsetAndMetadata(found.offset, found.metadata, found.leader_epoch) if found.offset >= 0 else None
        for partition, found in response.offsets.items()
    }
