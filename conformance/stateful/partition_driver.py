"""One partition of a whole consumer: the same machine, with both threads in between.

The application's calls do more at once than the machine's events: a poll runs callbacks, asks for records and returns
what it has. So what has happened to the partition is read off what passed the core's front door: answers and commands
by name, its coming and going by whether the member has it.
"""

from __future__ import annotations

from typing import Final

from groupspec.conformance.stateful.correspondence import TOPIC
from groupspec.conformance.stateful.driver_adapter import ProbedConsumer
from groupspec.conformance.stateful.partition import SUBJECT, PartitionAdapter
from groupspec.conformance.stateful.translation import Observation
from groupspec.impl.core import events as impl
from groupspec.impl.core.events import Description
from groupspec.impl.core.messages import (
    FetchResponse,
    ListOffsetsResponse,
    MetadataRequest,
    OffsetFetchResponse,
    TopicPartition,
)
from groupspec.impl.threads.designs import Design
from groupspec.impl.trace import TraceSink
from groupspec.spec.compiler.member import Member, MemberState, Offer

_DIRECTLY: Final = ("sought", "paused_by_user", "resumed_by_user", "topic_recreated")
"""Events that are not read off what passes the core's front door: they are what was done."""


class PartitionDriverAdapter(PartitionAdapter):
    """A consumer in a group of its own, of which one partition is watched."""

    def __init__(self, member: Member, start: MemberState, design: Design) -> None:
        self._design: Design = design
        super().__init__(member, start)

    def new_core(self, trace: TraceSink | None = None) -> None:
        """A consumer with both threads around its core."""
        self.record: list[Observation] = []
        self.returned: list[Offer] = []
        self.unanswered = []
        self._seen = 0
        self._silently = False  # callbacks are answered by events in the queue, and not inside a poll
        self.driven = ProbedConsumer(self.record, {**self.settings, "max_poll_records": 1}, self._design)
        self.driven.transport.answer_always(MetadataRequest, self.coordinator.answer)

    def can(self, offer: Offer) -> bool:
        """As for the core.

        But a poll needs a subscription, and only returns records if it has no callback to run first.
        """
        if offer.event == "records_returned" and not self._in_group:
            return False
        if offer.event == "records_returned" and self.driven.driver.has_consumer_events():
            return False
        return super().can(offer)

    def end(self) -> None:
        """Take the threads down."""
        self.driven.close()

    def perform(self, offer: Offer, variant: int) -> list[Offer]:
        """Bring the event about; what has happened to the partition by that, in order."""
        self.emitted.clear()
        self.record.clear()
        self.returned.clear()
        stale = set(self.given_up)
        self._silently = variant % 2 == 1
        self._act(offer, variant)
        directly = [offer] if offer.event in _DIRECTLY else []
        return [*directly, *self.returned, *(o for seen in self.record for o in self._named(seen, stale))]

    # What happened ----------------------------------------------------------------------------------------------------

    def _named(self, seen: Observation, stale: set[int]) -> list[Offer]:
        before, after = seen.before.partitions.get(SUBJECT), seen.after.partitions.get(SUBJECT)
        named = []
        if isinstance(seen.event, impl.Fetch):
            named.append(Offer("fetch_requested"))
        if isinstance(seen.event, impl.ResponseReceived):
            named += self._named_answer(seen.event, (("current", seen.event.request_id not in stale),))
        if before is None and after is not None:
            named.append(Offer("partition_added"))
        elif before is not None and after is None:
            named.append(Offer("partition_removed"))
        elif before is not None and after is not None:
            if before.state == "ASSIGNED" and after.state not in ("ASSIGNED", "PENDING_REVOCATION"):
                named.append(Offer("partition_enabled"))
            if before.state != after.state == "PENDING_REVOCATION":
                named.append(Offer("revocation_pending"))
        return named

    def _named_answer(self, event: impl.ResponseReceived, current: tuple[tuple[str, bool]]) -> list[Offer]:
        match event.response:
            case OffsetFetchResponse() if SUBJECT in event.response.offsets:
                found = event.response.offsets[SUBJECT].offset >= 0
                return [Offer("position_found", current)] if found else []
            case ListOffsetsResponse() if SUBJECT in event.response.offsets:
                return [Offer("position_found", current)]
            case FetchResponse() if SUBJECT in event.response.partitions:
                fetched = event.response.partitions[SUBJECT]
                if fetched.error:
                    return [Offer("fetch_out_of_range", current)]
                return [Offer("fetch_answered" if fetched.record_bytes else "fetch_failed", current)]
            case _:
                return []

    # The application and the network ----------------------------------------------------------------------------------

    def describe(self) -> Description:
        """The state of the consumer's core."""
        return self.driven.describe()

    def do(self, event: impl.InputEvent) -> list[impl.Output]:
        """One event, by whoever brings it about in a consumer; what came out of the core is in `record`."""
        match event:
            case impl.Subscribe():
                self.driven.call(lambda consumer: consumer.subscribe([TOPIC], self.driven.listener))
            case impl.CallbackStarted() | impl.PartitionsRevoked() | impl.PartitionsAssigned() if self._silently:
                self._drain()
                self.driven.submit(event)
            case impl.CallbackStarted() | impl.PartitionsAssigned():
                self._poll_consumer()
            case impl.Start() | impl.PartitionsRevoked():
                pass  # the consumer starts by itself; the poll that began the callback has ended it too
            case _:
                self.driven.take(event)
        self._note_sent()
        return []

    def _poll_consumer(self) -> None:
        described = self.observe()
        records = self.driven.call(lambda consumer: consumer.poll(0))
        if any(TopicPartition(r.topic, r.partition) == SUBJECT for r in records):
            more = described.buffered and self.driven.core.subscription.positions.describe()[SUBJECT].buffered
            self.returned.append(Offer("records_returned", (("more", more),)))

    def _drain(self) -> None:
        """Take the callbacks that are due out of the queue."""
        while self.driven.driver.next_consumer_event() is not None:
            pass

    def _return_records(self, more: bool) -> None:
        self._poll_consumer()

    def _seek(self) -> None:
        self.driven.call(lambda consumer: consumer.seek(SUBJECT, self._offset))

    def _pass_ms(self, duration_ms: int) -> None:
        self.driven.advance(duration_ms)

    def _pause(self, partition: TopicPartition) -> None:
        self.driven.call(lambda consumer: consumer.pause([partition]))

    def _resume(self) -> None:
        self.driven.call(lambda consumer: consumer.resume([SUBJECT]))

    def _note_sent(self) -> None:
        sent = self.driven.transport.sent
        for output in sent[self._seen :]:
            if not isinstance(output.request, MetadataRequest):
                self.unanswered.append(output)
            self.heard(output)
        self._seen = len(sent)
