"""Mutants that show in rare circumstances only: a call between two polls, a slow answer, several failures in a row.

Each is a real bug of a client of other people's, named by its issue.
"""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, Seam, answer, instead, mutant
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import OffsetAndMetadata, TopicPartition
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.positions import Positions
from groupspec.impl.core.rebalance import IN_A_ROUND, RebalanceState
from groupspec.impl.core.requests import Sent
from groupspec.impl.core.subscription import SubscriptionState

# fmt: off
instead("P3-still-revoked", "P3 C2", SubscriptionState.turn_callback_into_lost,
    lambda _, self: self.pending_callback() is not None,
    "When the membership is lost while the revoked callback is due, that says revoked all the same (librdkafka #5604).",
    scenarios="expires-with-a-callback-due")
# fmt: on


@mutant("M7-commits-in-a-round", "M7", scenarios="commits-in-a-long-round-cooperative")
def the_interval_goes_on_in_a_round(seam: Seam) -> None:
    """Timed commits go on in a round, and one that is refused there begins the round anew (platformatic/kafka #370)."""
    seam.replace(Commits._may_commit_automatically, lambda *_: True)

    @seam.replacing(Commits._refusal_of_subscriber)
    def refusal(original: Method, self: Commits) -> object:
        return None if self._membership.state in IN_A_ROUND else original(self)

    @seam.replacing(answer("OffsetCommit", "REBALANCE_IN_PROGRESS"))
    def refused(original: Method, core: Parts, happening: object) -> None:
        original(core, happening)
        if core.membership.state in IN_A_ROUND:
            core.joining.start_over()


@mutant("L1-close-waits-for-assigned", "L1", Leaving._release, scenarios="closed-between-polls")
def close_waits_for_an_assigned_callback(original: Method, self: Leaving) -> None:
    """close() waits for an assigned callback that is due, which no poll will run (librdkafka #4527)."""
    if not self._closing or self._membership.state is not RebalanceState.ASSIGNING_PARTITIONS:
        original(self)


@mutant("L1-unsubscribe-is-put-off", "L1", Leaving._release, scenarios="unsubscribed-between-polls")
def unsubscribe_waits_for_the_end_of_the_round(original: Method, self: Leaving) -> None:
    """unsubscribe() is put off until a rebalance is over, which takes a poll (scality/backbeat #2838)."""
    if self._closing or self._membership.state is not RebalanceState.ASSIGNING_PARTITIONS:
        original(self)


@mutant("O3-fetched-before-the-seek", "O3", Positions.seek, scenarios="seek-between-polls")
def what_was_fetched_goes_before_a_seek(
    original: Method, self: Positions, partition: TopicPartition, offset: int, leader_epoch: int = -1
) -> None:
    """Records that had been fetched before a seek are returned, and the seek is forgotten (Dekaf #1722)."""
    if self._shared.assigned(partition).buffered is None:
        original(self, partition, offset, leader_epoch)


@mutant("O4-paused-away", "O4", Positions._set_paused, scenarios="pause-between-polls")
def what_was_fetched_is_paused_away(original: Method, self: Positions, partitions: object, paused: bool) -> None:
    """Records that had been fetched before a pause are dropped: the position is behind them (kafka-python #2011)."""
    found = list(partitions)  # type: ignore[call-overload]
    original(self, found, paused)
    for state in (self._shared.assigned(partition) for partition in found):
        if paused and state.buffered is not None:
            state.buffered, state.position = None, state.high_watermark


@mutant("M4-fetched-counts", "M4", Positions.returned_positions, scenarios="commit-between-polls")
def what_was_fetched_is_committed(original: Method, self: Positions) -> dict[TopicPartition, OffsetAndMetadata]:
    """commit() covers what was fetched, though no poll has returned it."""
    found: dict[TopicPartition, OffsetAndMetadata] = original(self)
    states = self._shared.partitions
    return {
        partition: OffsetAndMetadata(states[partition].high_watermark or 0) if states[partition].buffered else returned
        for partition, returned in found.items()
    }


@mutant("M5-put-off-by-records", "M5", scenarios="commits-while-polling")
def records_put_the_commit_off(seam: Seam) -> None:
    """Every poll that returns records starts the commit interval anew (as KAFKA-3627, where its time did not come)."""

    @seam.replacing(Positions.advance)
    def advance(original: Method, self: Positions, *arguments: object, **named: object) -> object:
        self.__dict__["_advanced"] = True
        return original(self, *arguments, **named)

    @seam.replacing(Parts.demand)
    def demand(original: Method, self: Parts) -> None:
        if self.subscription.positions.__dict__.pop("_advanced", False):
            self.commits.assignment_changed()
        original(self)


@mutant("J2-begun-without-coordinator", "J2", Membership._begin_rebalance, scenarios="subscribe-between-polls")
def a_round_that_begins_without_a_coordinator_ends_there(original: Method, self: Membership) -> None:
    """A rebalance that begins while the coordinator is unknown gets no further than its commit (aiokafka #44)."""
    if self._connection.is_known or self.preparing:
        original(self)
    else:
        self.preparing = True


@mutant("H2-behind-metadata", "H2", Heartbeats.progress, scenarios="several-silent")
def a_heartbeat_waits_for_metadata(original: Method, self: Heartbeats) -> None:
    """No heartbeat is sent while a question for metadata is unanswered (kafka-python #583)."""
    if not self._requests.pending("Metadata"):
        original(self)


@mutant("O1-reset-after-retries", "O1", Offsets.retriable, scenarios="fails-many-times")
def the_third_failure_in_passing_resets_the_position(original: Method, self: Offsets, sent: Sent) -> None:
    """When two retries have failed the reset policy applies, though nobody has answered (librdkafka #3455)."""
    failures = self.__dict__["_failures"] = self.__dict__.get("_failures", 0) + 1
    question = self._question(sent)
    original(self, sent)
    if failures > 2 and question.future_id is None:
        self._questions.remove(question)
        for partition, epoch in question.epochs.items():
            self.reset(partition, epoch)
