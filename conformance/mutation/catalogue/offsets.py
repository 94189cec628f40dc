"""Mutants of the chapters M and O: commits, positions, records."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import force_setattr

from groupspec.conformance.mutation.mutant import (
    Method,
    Seam,
    after,
    answered_like,
    before,
    instead,
    left_out,
    mutant,
    nothing,
)
from groupspec.impl.callbacks import Callbacks
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.commits import Commits, Operation, Purpose
from groupspec.impl.core.context import Identity
from groupspec.impl.core.events import CallbackKind, Commit, CompleteFuture, Fetch
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import OffsetCommitRequest, TopicMetadata, TopicPartition
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import TIMESTAMPS, Offsets
from groupspec.impl.core.partition_state import Buffered, PartitionState, Position, Shared
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.records import ConsumerRecord, Records, _Opened

# fmt: off
answered_like("BUG-44", "M2", "OffsetCommit", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS in answer to a commit is taken for UNKNOWN_MEMBER_ID.")
answered_like("BUG-55", "M2 H3", "OffsetCommit", "UNKNOWN_MEMBER_ID ILLEGAL_GENERATION", "GROUP_AUTHORIZATION_FAILED",
    "UNKNOWN_MEMBER_ID and ILLEGAL_GENERATION only fail the commit; the member keeps its identity.",
    scenarios="commit-refused commit-refused-cooperative")
answered_like("O1-reset-by-election", "O1", "Fetch",
    "NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH", "OFFSET_OUT_OF_RANGE",
    "A partition that has another leader is read from where the reset policy says.", scenarios="leader-changes")
answered_like("BUG-84", "M3", "OffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_LOAD_IN_PROGRESS",
    "The commit before a rebalance is tried until its time limit although its topic is gone.",
    scenarios="commit-before-the-round-fails")
instead("BUG-81", "J9", Commits._is_judged_by_membership, lambda _, self: not self._is_standalone(),
    "ILLEGAL_GENERATION for a commit takes effect although a JoinGroup is in flight.",
    scenarios="refused-too-late")
instead("L5-members-only", "L5", Commits.commit_before_close,
    lambda original, self, deadline_ms: None if self._subscription.is_manual() else original(self, deadline_ms),
    "close() with partitions that the application has assigned commits nothing.", scenarios="closed-without-a-group")
instead("M3-endless", "M3", Commits.deadline_over, lambda _, self: self._context.timers.disarm("commit_deadline"),
    "The commit before the rebalance has no time limit.")
instead("BUG-51", "M6", Commits._next,
    lambda _, self: next((o for o in reversed(self._queue) if o.sent is None and not self._awaits_poll(o)), None),
    "A commit is sent although an earlier one is unanswered.")
instead("M1-commit-as-nobody", "M1", Commits._is_standalone, lambda _, self: True,
    "A member's commit carries neither member id nor generation.", scenarios="old-broker")
instead("M1-any-membership", "M1", Commits._standing, lambda _, self: (False, 0),
    "What has waited until its member had left is sent as nobody, or in the next membership.")
instead("O6-none-is-silent", "O6", Offsets._report_missing, lambda _, self: self._to_reset.clear(),
    "auto.offset.reset is \"none\": no error is raised, and the partition is not fetched.")
instead("O7-name-is-all", "O7", Metadata._identify,
    lambda _, self, topic, topic_id: self._ids.update({topic: topic_id}),
    "A topic that was made anew is read on where the old one was left.",
    scenarios="topic-recreated topic-recreated-cooperative")
instead("O7-committed-first", "O7", Positions.of_recreated_topics, lambda *_: (),
    "Who has read of the old topic begins in the new one at what is committed, which may be of the old one.")
instead("O7-late-commits", "O7", Positions.recreated_since, lambda *_: set(),
    "A commit that waited while its topic was made anew is sent all the same.")
# fmt: on


@before("O7-old-broker", "O7", Metadata._take)
def no_id_is_taken_for_one(self: Metadata, topic: TopicMetadata) -> None:
    """A broker that names no ids is taken for one whose topics were made anew."""
    self._identify(topic.topic, topic.topic_id)


@after("O7-back-and-forth", "O7", Metadata._identify)
def a_broker_that_is_behind_brings_the_old_topic_back(self: Metadata, topic: str, topic_id: bytes) -> None:
    """The id of a topic that is gone is taken for the next one's."""
    self._past_ids.clear()


@after("O7-any-topic", "O7", Positions.topic_recreated)
def all_topics_end_with_one(self: Positions, topic: str) -> None:
    """Where one topic was made anew all partitions begin anew."""
    for partition in self._shared.partitions.values():
        partition.topic_recreated(self._shared.new_epoch())


@mutant("O7-batch-in-hand", "O7", PartitionState.topic_recreated, scenarios="topic-recreated")
def a_batch_in_hand_is_returned_first(original: Method, self: PartitionState, epoch: int) -> None:
    """What was fetched of a topic that was made anew since is returned all the same, and read on behind it."""
    if self.buffered is None:
        original(self, epoch)


@mutant("BUG-49", "M1", Commits._identity, scenarios="commit-in-a-callback")
def a_commit_has_the_identity_of_yesterday(original: Method, self: Commits) -> Identity:
    """A commit carries the present member id, and the generation that was read when the first commit was made."""
    present: Identity = original(self)
    generation = self.__dict__.setdefault("_read", present.generation)
    return Identity(present.member_id, generation, present.protocol_name)


@after("BUG-76", "M1 X1", Commits._send)
def a_commit_without_membership_carries_the_instance_id(self: Commits, operation: object, offsets: object) -> None:
    """With manual assignment a commit carries the configured instance id."""
    for output in self._context.outputs:
        request = getattr(output, "request", None)
        if isinstance(request, OffsetCommitRequest):
            force_setattr(request, "group_instance_id", self._context.config.group_instance_id)


@before("BUG-54", "M3", Commits._finish, scenarios="commit-before-the-round-fails")
def a_refused_commit_stops_the_rebalance(self: Commits, operation: Operation, error: object = None) -> None:
    """When the commit before the rebalance fails, the rebalance does not go on."""
    if error is not None and operation.purpose is Purpose.REBALANCE:
        operation.purpose = Purpose.TIMED


@after("BUG-45", "M3", Membership.polled)
def every_poll_commits_again(self: Membership) -> None:
    """The commit before the rebalance is repeated at each poll."""
    for operation in self._commits._queue:
        if operation.purpose is Purpose.REBALANCE:
            operation.sent = None
            self._context.timers.disarm("commit_backoff")


@mutant("BUG-47", "M4", Positions.to_commit)
def records_in_hand_are_committed(original: Method, self: Positions) -> object:
    """An automatic commit covers the records that poll() returned last and that are still being processed."""
    for partition in self._shared.partitions.values():
        partition.safe_position = partition.position
    return original(self)


@mutant("BUG-48", "M5")
def the_interval_begins_with_the_answer(seam: Seam) -> None:
    """The interval between automatic commits begins with the answer: until then one follows the other."""
    seam.replace(Commits._has_automatic, lambda *_: False)
    seam.replace(
        Commits._next,
        lambda _, self: next((o for o in self._queue if o.sent is None and not self._awaits_poll(o)), None),
    )

    @seam.replacing(Commits.interval_over)
    def interval_over(original: Method, self: Commits) -> None:
        original(self)
        self._context.arm("auto_commit", 1)


@mutant("M5-mark-stays", "M5", scenarios="commits-in-order")
def an_ended_commit_still_counts_as_under_way(seam: Seam) -> None:
    """After the first automatic commit there is no second one."""
    seam.replace(Commits._has_automatic, lambda _, self: bool(self.__dict__.get("_ever")))

    @seam.replacing(Commits._append)
    def append(original: Method, self: Commits, operation: Operation, recreations: int | None = None) -> None:
        if operation.purpose is Purpose.TIMED:
            self.__dict__["_ever"] = True
        original(self, operation, recreations)


@mutant("M6-newest-first", "M6", Commits._next)
def the_newest_commit_goes_first(_: Method, self: Commits) -> Operation | None:
    """Of the commits that wait the one that was made last is sent first."""
    if any(operation.sent is not None for operation in self._queue):
        return None
    return next((o for o in reversed(self._queue) if not self._awaits_poll(o)), None)


@mutant("BUG-50", "M6", Commits.commit)
def an_empty_commit_overtakes(original: Method, self: Commits, event: Commit) -> None:
    """A commit of nothing is done at once, before the asynchronous ones that were made earlier."""
    if event.offsets:
        original(self, event)
    else:
        self._context.emit(CompleteFuture(event.future_id, {}))


@mutant("M6-callbacks-later", "M6", Consumer._await)
def commit_callbacks_wait_for_the_next_poll(original: Method, self: Consumer, *arguments: object) -> object:
    """A commit that waits returns before the callbacks of earlier asynchronous ones have run."""
    with left_out(Callbacks.run_commit_callbacks):
        return original(self, *arguments)


@mutant("BUG-52", "M7", Positions.to_commit, scenarios="two-members")
def what_was_stored_survives_the_revocation(original: Method, self: Positions) -> dict[object, object]:
    """An automatic commit covers what was consumed of partitions that have gone since."""
    stored = self.__dict__.setdefault("_stored", {})
    stored.update(original(self))
    return dict(stored)


@mutant("BUG-53", "M7", scenarios="commit-while-rebalancing")
def the_interval_commits_in_a_round(seam: Seam) -> None:
    """Automatic commits go on between JoinGroup and SyncGroup."""
    seam.replace(Commits._may_commit_automatically, lambda *_: True)
    seam.replace(Commits._refusal, nothing)


@mutant("M8-committed-once", "M8", Membership._prepare_revocation)
def a_cooperative_member_revokes_without_a_commit(original: Method, self: Membership, partitions: object) -> None:
    """After SyncGroup what is taken away goes without another commit, as in Kafka's classic consumer."""
    if self._next_assignment is None:
        original(self, partitions)
    else:
        self.revoke(CallbackKind.REVOKED, partitions)  # type: ignore[arg-type]


@mutant("M8-committed-before", "M8", Commits.commit_what_goes_now)
def what_was_sent_before_is_enough(_: Method, self: Commits) -> None:
    """A topic that is given up as a rebalance begins goes with the commit that was sent before, or is over."""
    if not self.holds_rebalance():
        self._membership.commit_settled()


@after("M2-raised-by-poll", "M2", Commits._fail)
def a_refused_commit_is_raised_by_the_poll(self: Commits, sent: object, error: Exception) -> None:
    """An error of the commit before a rebalance comes out of the next poll."""
    self._context.report(error)


@mutant("M4-buffered", "M4 O5", Positions.buffer)
def positions_move_when_records_arrive(original: Method, self: Positions, buffered: object) -> bool:
    """The position moves over records as soon as they are buffered."""
    taken = bool(original(self, buffered))
    partition = self._shared.partitions.get(getattr(buffered, "partition", None))  # type: ignore[arg-type]
    if taken and partition is not None and partition.position is not None:
        partition.position = partition.safe_position = partition.position + 1
    return taken


@mutant("BUG-59", "O1", Offsets.retriable)
def a_failed_lookup_resets(_: Method, self: Offsets, sent: object) -> None:
    """A committed offset that can't be looked up is taken for none: the reset policy applies."""
    question = self._question(sent)  # type: ignore[arg-type]
    if question is not None:
        self._questions.remove(question)
        for partition, epoch in question.epochs.items():
            self.reset(partition, epoch)


@mutant("O1-left-out", "O1", Offsets.committed)
def what_the_answer_leaves_out_is_reset(original: Method, self: Offsets, sent: object, response: object) -> None:
    """A partition that OffsetFetch's answer does not mention is taken to have no committed offset."""
    question = self._question(sent)  # type: ignore[arg-type]
    asked = dict(question.epochs)
    original(self, sent, response)
    for partition, epoch in asked.items():
        if partition not in response.offsets:  # type: ignore[attr-defined]
            self.reset(partition, epoch)


@mutant("BUG-58", "O2", Shared.replace, scenarios="seek-while-rebalancing")
def what_is_kept_begins_anew(_: Method, self: Shared, partitions: object, callback_pending: bool) -> None:
    """After a rebalance every partition is as new: position, pause and lookup are forgotten."""
    self.partitions = {
        tp: PartitionState(self.new_epoch(), callback_pending=callback_pending)
        for tp in sorted(set(partitions))  # type: ignore[call-overload]
    }


@after("BUG-57", "O2", Positions._set_paused, scenarios="pause-over-a-rebalance-cooperative")
def a_paused_partition_loses_its_position(self: Positions, partitions: object, paused: bool) -> None:
    """pause() forgets the position, and resume() looks it up anew."""
    for partition in self._shared.partitions.values():
        if partition.paused:
            partition.position = partition.safe_position = partition.buffered = None


@mutant("BUG-56", "O3", Positions.buffer, scenarios="seek-while-fetching")
def any_fetch_is_taken(_: Method, self: Positions, buffered: Buffered) -> bool:
    """Records are taken if their partition is assigned, whatever position they were fetched for."""
    partition = self._shared.partitions.get(buffered.partition)
    if partition is None or partition.pending_revocation:
        return False
    partition.buffered = buffered
    return True


@mutant("O3-marked-anew", "O3", Positions.begin_fetch)
def a_fetch_is_marked_for_a_position_of_the_past(
    _: Method, self: Positions, fetchable: dict[TopicPartition, Position], leaders: object
) -> object:
    """A seek between the look at a position and its fetch: the new position counts as being fetched, and never is."""
    with self._lock:
        for partition in fetchable:
            if partition in self._shared.partitions:
                self._shared.partitions[partition].fetch_in_flight = True
    return fetchable


@mutant("BUG-60", "O3", scenarios="revoked-between-polls")
def records_of_revoked_partitions_are_returned(seam: Seam) -> None:
    """What was buffered of a partition is returned although it is being revoked."""
    seam.replace(
        Positions.next_buffered,
        lambda _, self: next((p.buffered for p in self._shared.partitions.values() if p.buffered is not None), None),
    )

    @seam.replacing(Positions.advance)
    def advance(
        _: Method,
        self: Positions,
        buffered: Buffered,
        from_offset: int,
        to_offset: int,
        exhausted: bool,
        leader_epoch: int = -1,
        empty: bool = False,
    ) -> bool:
        partition = self._shared.partitions.get(buffered.partition)
        if partition is None or partition.buffered is not buffered:
            return False
        partition.position, partition.leader_epoch = to_offset, leader_epoch
        if exhausted:
            partition.buffered = None
        return True


@mutant("O3-stale-position", "O3", Positions.set_position, scenarios="seek-before-a-position")
def a_late_position_is_taken(
    _: Method,
    self: Positions,
    partition: TopicPartition,
    epoch: int,
    offset: int,
    committed: bool,
    leader_epoch: int = -1,
) -> bool:
    """An offset that was asked for in an earlier assignment, or before a seek, becomes the position."""
    found = self._shared.partitions.get(partition)
    if found is None:
        return False
    found.position = found.safe_position = offset
    found.leader_epoch = leader_epoch
    return True


@mutant("O4-dropped-by-wakeup", "O4 T4", Consumer._poll_until, scenarios="wakeup-between-polls")
def a_wakeup_drops_records(_: Method, self: Consumer, deadline_ms: int, at_most: int) -> object:
    """poll() looks whether it was woken up after it has taken records, and raises instead of returning them."""
    self._callbacks.serve()
    self._callbacks.raise_first()

    self._driver.submit(Fetch())
    while True:
        records = self._records.take(self._config.max_poll_records)
        self._call_guard.check_interrupted()
        if records or self._runtime.now_ms() >= deadline_ms:
            return records
        self._wait_for_news(deadline_ms)
        self._callbacks.serve()
        self._callbacks.raise_first()
        self._driver.submit(Fetch())


@mutant("O4-dropped-by-error", "O4", Records.take)
def an_unreadable_partition_costs_the_others(_: Method, self: Records, at_most: int) -> object:
    """Bytes that can't be read raise although records of another partition were taken already."""
    taken: list[object] = []
    while len(taken) < at_most and (buffered := self._positions.next_buffered()) is not None:
        opened = self._open(buffered)
        if opened.problem is not None and not opened.has_more():
            raise opened.problem
        taken += self._take_from(opened, at_most - len(taken))
    return taken


@mutant(
    "O5-paused-fetched",
    "O5",
    PartitionState.state,
    scenarios="pause-over-a-rebalance positions-in-a-callback calls-on-the-way",
)
def paused_partitions_are_fetched(_: Method, self: PartitionState) -> str:
    """A partition that the application has paused is fetched and returned."""
    if self.pending_revocation:
        return "PENDING_REVOCATION"
    if self.callback_pending:
        return "ASSIGNED"
    return "AWAITING_POSITION" if self.position is None else "FETCHABLE"


@mutant("O5-fetched-again", "O5")
def what_is_buffered_is_fetched_again(seam: Seam) -> None:
    """A partition is fetched although records of it wait to be returned, or a fetch of it is under way."""

    @seam.replacing(Positions.fetchable)
    def fetchable(_: Method, self: Positions) -> object:
        return {
            tp: Position(p.epoch, p.position, p.leader_epoch, p.read_from)
            for tp, p in sorted(self._shared.partitions.items())
            if p.state() == "FETCHABLE" and p.position is not None
        }

    seam.replace(Positions.returnable, lambda *_: ())

    @seam.replacing(Fetching.received)
    def received(original: Method, self: Fetching, *arguments: object) -> None:
        original(self, *arguments)
        self._demand = True


@mutant("O6-always-latest", "O6", Offsets._ask_for_resets)
def without_an_offset_it_is_always_the_end(original: Method, self: Offsets) -> None:
    """auto.offset.reset is not looked at: a partition without a committed offset begins at its end."""
    before = dict(TIMESTAMPS)
    TIMESTAMPS.update(earliest=-1, none=-1)
    try:
        original(self)
    finally:
        TIMESTAMPS.clear()
        TIMESTAMPS.update(before)


@mutant(
    "O5-position-counts",
    "O5 L5",
    _Opened.next,
    scenarios="few-records-at-a-time few-records-at-a-time-cooperative log-with-gaps",
)
def the_position_counts_records(
    original: Method, self: _Opened, at_most: int
) -> tuple[Sequence[ConsumerRecord], int, bool]:
    """The position moves by as many as there are records, whatever their offsets."""
    batch, _, last = original(self, at_most)
    return batch, self.position + len(batch), last


@mutant("P5-limit-for-each", "P5", scenarios="few-records-at-a-time")
def each_partition_has_the_whole_limit(seam: Seam) -> None:
    """max_poll_records is a limit for each partition: a poll returns up to so many of several."""
    limits: list[int] = []

    @seam.replacing(Records.take)
    def take(original: Method, self: Records, at_most: int) -> object:
        limits.append(at_most)
        return original(self, at_most)

    @seam.replacing(Records._take_from)
    def take_from(original: Method, self: Records, opened: _Opened, _: int) -> object:
        return original(self, opened, limits[-1])


@mutant("O3-sought-is-committed", "O3", Offsets._look_for_positions, scenarios="seek-to-the-beginning")
def what_is_sought_by_time_begins_where_it_is_committed(original: Method, self: Offsets) -> None:
    """A seek to the beginning, or to the end, goes to the committed offset."""
    with self._positions._lock:
        for partition in self._positions._shared.partitions.values():
            partition.reset_to = None
    original(self)


@before("O8-last-heard", "O8", Metadata._take, scenarios="metadata-is-behind")
def who_leads_is_what_was_heard_last(self: Metadata, topic: TopicMetadata) -> None:
    """Metadata with an earlier leader epoch bring the former leader back."""
    for place in [each for each in self._epochs if each.topic == topic.topic]:
        del self._epochs[place]


@mutant("BUG-46", "O3 Q5", Membership._begin_rebalance)
def partitions_are_read_until_the_commit_is_answered(_: Method, self: Membership) -> None:
    """From PREPARE_REVOCATION to the callback the partitions are still fetched and returned."""
    if self.preparing:
        return
    self.preparing = True
    if not self._context.config.cooperative:
        self.enter(RebalanceState.PREPARE_REVOCATION)
    self._commits.commit_before_rebalance()


@mutant("D8-heartbeats", "D8")
def manual_assignment_looks_for_a_coordinator(seam: Seam) -> None:
    """With manual assignment every poll needs a coordinator, and looks one up."""
    seam.replace(Parts.needs_coordinator, lambda original, self: original(self) or self.subscription.is_manual())
    seam.replace(Offsets.needs_coordinator, lambda *_: True)
