"""Breakers of the chapter O: positions, fetching, records."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, around, breaker, instead
from groupspec.impl.consumer import Consumer
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.offsets import TIMESTAMPS, Offsets
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.subscription import Buffered, SubscriptionState, _Partition


@breaker("BUG-59", "O1")
def a_failed_lookup_resets() -> None:
    """A committed offset that can't be looked up is taken for none: the reset policy applies."""

    def retriable(self: Offsets, sent: object) -> None:
        question = self._question(sent)  # type: ignore[arg-type]
        if question is not None:
            self._questions.remove(question)
            for partition, epoch in question.epochs.items():
                self.reset(partition, epoch)

    instead(Offsets, "retriable", retriable)


@breaker("O1-left-out", "O1")
def what_the_answer_leaves_out_is_reset() -> None:
    """A partition that OffsetFetch's answer does not mention is taken to have no committed offset."""

    def make(original: Method) -> Method:
        def committed(self: Offsets, sent: object, response: object) -> None:
            question = self._question(sent)  # type: ignore[arg-type]
            asked = dict(question.epochs) if question is not None else {}
            original(self, sent, response)
            for partition, epoch in asked.items():
                if partition not in response.offsets:  # type: ignore[attr-defined]
                    self.reset(partition, epoch)

        return committed

    around(Offsets, "committed", make)


@breaker("BUG-58", "O2")
def what_is_kept_begins_anew() -> None:
    """After a rebalance every partition is as new: position, pause and lookup are forgotten."""

    def replace(self: SubscriptionState, partitions: object, callback_pending: bool) -> None:
        self._shared.partitions = {
            tp: _Partition(self._new_epoch(), callback_pending=callback_pending)
            for tp in sorted(set(partitions))  # type: ignore[call-overload]
        }

    instead(SubscriptionState, "_replace", replace)


@breaker("BUG-57", "O2")
def a_paused_partition_loses_its_position() -> None:
    """pause() forgets the position, and resume() looks it up anew."""

    def make(original: Method) -> Method:
        def set_paused(self: SubscriptionState, partitions: object, paused: bool) -> None:
            original(self, partitions, paused)
            for partition in self._shared.partitions.values():
                if partition.paused:
                    partition.position = partition.safe_position = partition.buffered = None

        return set_paused

    around(SubscriptionState, "_set_paused", make)


@breaker("BUG-56", "O3")
def any_fetch_is_taken() -> None:
    """Records are taken if their partition is assigned, whatever position they were fetched for."""

    def buffer(self: SubscriptionState, buffered: Buffered) -> bool:
        partition = self._shared.partitions.get(buffered.partition)
        if partition is None or partition.pending_revocation:
            return False
        partition.buffered = buffered
        return True

    def fetch_ended(self: SubscriptionState, partition: TopicPartition, epoch: int) -> bool:
        found = self._shared.partitions.get(partition)
        if found is None:
            return False
        found.fetch_in_flight = False
        return True

    instead(SubscriptionState, "buffer", buffer)
    instead(SubscriptionState, "fetch_ended", fetch_ended)


@breaker("O3-marked-anew", "O3")
def a_fetch_is_marked_for_a_position_of_the_past() -> None:
    """A seek between the look at a position and its fetch: the new position counts as being fetched, and never is."""

    def begin_fetch(self: SubscriptionState, fetchable: dict[TopicPartition, tuple[int, int]]) -> object:
        for partition in fetchable:
            self._shared.partitions[partition].fetch_in_flight = True
        return fetchable

    instead(SubscriptionState, "begin_fetch", begin_fetch)


@breaker("BUG-60", "O3")
def records_of_revoked_partitions_are_returned() -> None:
    """What was buffered of a partition is returned although it is being revoked."""

    def next_buffered(self: SubscriptionState) -> Buffered | None:
        return next((p.buffered for p in self._shared.partitions.values() if p.buffered is not None), None)

    def advance(self: SubscriptionState, buffered: Buffered, from_offset: int, to_offset: int, exhausted: bool) -> bool:
        partition = self._shared.partitions.get(buffered.partition)
        if partition is None or partition.buffered is not buffered:
            return False
        partition.position = to_offset
        if exhausted:
            partition.buffered = None
        return True

    instead(SubscriptionState, "next_buffered", next_buffered)
    instead(SubscriptionState, "advance", advance)


@breaker("O3-stale-position", "O3")
def a_late_position_is_taken() -> None:
    """An offset that was asked for in an earlier assignment, or before a seek, becomes the position."""

    def set_position(
        self: SubscriptionState, partition: TopicPartition, epoch: int, offset: int, committed: bool
    ) -> bool:
        found = self._shared.partitions.get(partition)
        if found is None:
            return False
        found.position = found.safe_position = offset
        return True

    instead(SubscriptionState, "set_position", set_position)


@breaker("O4-dropped-by-wakeup", "O4 T4")
def a_wakeup_drops_records() -> None:
    """poll() looks whether it was woken up after it has taken records, and raises instead of returning them."""

    def poll_until(self: Consumer, deadline_ms: int) -> object:
        self._callbacks.serve()
        self._callbacks.raise_first()
        from groupspec.impl.core.events import Fetch

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

    instead(Consumer, "_poll_until", poll_until)


@breaker("O4-dropped-by-error", "O4")
def an_unreadable_partition_costs_the_others() -> None:
    """Bytes that can't be read raise although records of another partition were taken already."""
    from groupspec.impl.records import Records

    def take(self: Records, at_most: int) -> object:
        taken: list[object] = []
        while len(taken) < at_most and (buffered := self._subscription.next_buffered()) is not None:
            opened = self._open(buffered)
            if opened.problem is not None and not opened.has_more():
                raise opened.problem
            taken += self._take_from(opened, at_most - len(taken))
        return taken

    instead(Records, "take", take)


@breaker("O5-paused-fetched", "O5")
def paused_partitions_are_fetched() -> None:
    """A partition that the application has paused is fetched and returned."""

    def state(self: _Partition) -> str:
        if self.pending_revocation:
            return "PENDING_REVOCATION"
        if self.callback_pending:
            return "ASSIGNED"
        return "AWAITING_POSITION" if self.position is None else "FETCHABLE"

    instead(_Partition, "state", state)


@breaker("O5-fetched-again", "O5")
def what_is_buffered_is_fetched_again() -> None:
    """A partition is fetched although records of it wait to be returned, or a fetch of it is under way."""

    def fetchable(self: SubscriptionState) -> object:
        return {
            tp: (p.epoch, p.position)
            for tp, p in sorted(self._shared.partitions.items())
            if p.state() == "FETCHABLE" and p.position is not None
        }

    instead(SubscriptionState, "fetchable", fetchable)
    instead(SubscriptionState, "returnable", lambda self: ())

    def make(original: Method) -> Method:
        def received(self: Fetching, *arguments: object) -> None:
            original(self, *arguments)
            self._demand = True

        return received

    around(Fetching, "received", make)


@breaker("O6-always-latest", "O6")
def without_an_offset_it_is_always_the_end() -> None:
    """auto.offset.reset is not looked at: a partition without a committed offset begins at its end."""

    def make(original: Method) -> Method:
        def ask_for_resets(self: Offsets) -> None:
            before = dict(TIMESTAMPS)
            TIMESTAMPS.update(earliest=-1, none=-1)
            try:
                original(self)
            finally:
                TIMESTAMPS.clear()
                TIMESTAMPS.update(before)

        return ask_for_resets

    around(Offsets, "_ask_for_resets", make)


@breaker("O6-none-is-silent", "O6")
def without_a_policy_nobody_is_told() -> None:
    """auto.offset.reset is "none": the partition just stands still."""
    instead(Offsets, "_report_missing", lambda self: self._to_reset.clear())


@breaker("BUG-46", "O3 Q5")
def partitions_are_read_until_the_commit_is_answered() -> None:
    """From PREPARE_REVOCATION to the callback the partitions are still fetched and returned."""
    from groupspec.impl.core.membership import Membership
    from groupspec.impl.core.rebalance import RebalanceState

    def begin_rebalance(self: Membership) -> None:
        if self.preparing:
            return
        self.preparing = True
        if not self._context.config.cooperative:
            self.enter(RebalanceState.PREPARE_REVOCATION)
        self._commits.commit_before_rebalance()

    instead(Membership, "_begin_rebalance", begin_rebalance)


@breaker("D8-heartbeats", "D8")
def manual_assignment_looks_for_a_coordinator() -> None:
    """With manual assignment a coordinator is kept for nothing: every poll looks one up."""

    def make(original: Method) -> Method:
        def needs_coordinator(self: Parts) -> bool:
            return bool(original(self)) or self.subscription.is_manual()

        return needs_coordinator

    around(Parts, "needs_coordinator", make)
    from groupspec.impl.core.offsets import Offsets as _Offsets

    instead(_Offsets, "needs_coordinator", lambda self: True)
