"""Mutants of the chapter O: positions, fetching, records."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, after, instead, mutant
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.events import Fetch
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.offsets import TIMESTAMPS, Offsets
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.rebalance import RebalanceState
from groupspec.impl.core.subscription import Buffered, SubscriptionState, _Partition
from groupspec.impl.records import Records

# fmt: off
instead("O6-none-is-silent", "O6", Offsets._report_missing, lambda _, self: self._to_reset.clear(),
    "auto.offset.reset is \"none\": no error is raised, and the partition is not fetched.")
# fmt: on


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
    asked = dict(question.epochs) if question is not None else {}
    original(self, sent, response)
    for partition, epoch in asked.items():
        if partition not in response.offsets:  # type: ignore[attr-defined]
            self.reset(partition, epoch)


@mutant("BUG-58", "O2", SubscriptionState._replace)
def what_is_kept_begins_anew(_: Method, self: SubscriptionState, partitions: object, callback_pending: bool) -> None:
    """After a rebalance every partition is as new: position, pause and lookup are forgotten."""
    self._shared.partitions = {
        tp: _Partition(self._new_epoch(), callback_pending=callback_pending)
        for tp in sorted(set(partitions))  # type: ignore[call-overload]
    }


@after("BUG-57", "O2", SubscriptionState._set_paused)
def a_paused_partition_loses_its_position(self: SubscriptionState, partitions: object, paused: bool) -> None:
    """pause() forgets the position, and resume() looks it up anew."""
    for partition in self._shared.partitions.values():
        if partition.paused:
            partition.position = partition.safe_position = partition.buffered = None


@mutant("BUG-56", "O3")
def any_fetch_is_taken(seam: Seam) -> None:
    """Records are taken if their partition is assigned, whatever position they were fetched for."""

    @seam.replacing(SubscriptionState.buffer)
    def buffer(_: Method, self: SubscriptionState, buffered: Buffered) -> bool:
        partition = self._shared.partitions.get(buffered.partition)
        if partition is None or partition.pending_revocation:
            return False
        partition.buffered = buffered
        return True

    @seam.replacing(SubscriptionState.fetch_ended)
    def fetch_ended(_: Method, self: SubscriptionState, partition: TopicPartition, epoch: int) -> bool:
        found = self._shared.partitions.get(partition)
        if found is None:
            return False
        found.fetch_in_flight = False
        return True


@mutant("O3-marked-anew", "O3", SubscriptionState.begin_fetch)
def a_fetch_is_marked_for_a_position_of_the_past(
    _: Method, self: SubscriptionState, fetchable: dict[TopicPartition, tuple[int, int]]
) -> object:
    """A seek between the look at a position and its fetch: the new position counts as being fetched, and never is."""
    for partition in fetchable:
        self._shared.partitions[partition].fetch_in_flight = True
    return fetchable


@mutant("BUG-60", "O3")
def records_of_revoked_partitions_are_returned(seam: Seam) -> None:
    """What was buffered of a partition is returned although it is being revoked."""
    seam.replace(
        SubscriptionState.next_buffered,
        lambda _, self: next((p.buffered for p in self._shared.partitions.values() if p.buffered is not None), None),
    )

    @seam.replacing(SubscriptionState.advance)
    def advance(
        _: Method, self: SubscriptionState, buffered: Buffered, from_offset: int, to_offset: int, exhausted: bool
    ) -> bool:
        partition = self._shared.partitions.get(buffered.partition)
        if partition is None or partition.buffered is not buffered:
            return False
        partition.position = to_offset
        if exhausted:
            partition.buffered = None
        return True


@mutant("O3-stale-position", "O3", SubscriptionState.set_position)
def a_late_position_is_taken(
    _: Method, self: SubscriptionState, partition: TopicPartition, epoch: int, offset: int, committed: bool
) -> bool:
    """An offset that was asked for in an earlier assignment, or before a seek, becomes the position."""
    found = self._shared.partitions.get(partition)
    if found is None:
        return False
    found.position = found.safe_position = offset
    return True


@mutant("O4-dropped-by-wakeup", "O4 T4", Consumer._poll_until)
def a_wakeup_drops_records(_: Method, self: Consumer, deadline_ms: int) -> object:
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
    while len(taken) < at_most and (buffered := self._subscription.next_buffered()) is not None:
        opened = self._open(buffered)
        if opened.problem is not None and not opened.has_more():
            raise opened.problem
        taken += self._take_from(opened, at_most - len(taken))
    return taken


@mutant("O5-paused-fetched", "O5", _Partition.state)
def paused_partitions_are_fetched(_: Method, self: _Partition) -> str:
    """A partition that the application has paused is fetched and returned."""
    if self.pending_revocation:
        return "PENDING_REVOCATION"
    if self.callback_pending:
        return "ASSIGNED"
    return "AWAITING_POSITION" if self.position is None else "FETCHABLE"


@mutant("O5-fetched-again", "O5")
def what_is_buffered_is_fetched_again(seam: Seam) -> None:
    """A partition is fetched although records of it wait to be returned, or a fetch of it is under way."""

    @seam.replacing(SubscriptionState.fetchable)
    def fetchable(_: Method, self: SubscriptionState) -> object:
        return {
            tp: (p.epoch, p.position)
            for tp, p in sorted(self._shared.partitions.items())
            if p.state() == "FETCHABLE" and p.position is not None
        }

    seam.replace(SubscriptionState.returnable, lambda *_: ())

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
