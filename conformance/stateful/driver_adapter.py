"""Brings events about in the whole consumer: real threads, two queues, run to idle on a virtual clock.

The application calls its API, its listener stays inside callbacks until it is told to return, the coordinator answers
when told, and timers expire when told. What the background thread makes of all this passes the core's front door, and
the model follows that: one call of poll() may be three events to it. An event that this design can't bring about at the
moment (a second call while a callback runs, an answer to nothing, which would end the background thread) is not
offered.
"""

from __future__ import annotations

from collections.abc import Callable

from groupspec.conformance.stateful.answers import TOPICS
from groupspec.conformance.stateful.core_adapter import config_for
from groupspec.conformance.stateful.correspondence import Correspondence, api_answered_by, is_current
from groupspec.conformance.stateful.lockstep import Observation, probe
from groupspec.conformance.stateful.translation import ASKED, EVENTS_OF, MANUAL, TIMERS, Sent, Translation
from groupspec.impl.consumer import Consumer, Settings
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import Description
from groupspec.impl.core.messages import (
    ErrorCode,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetAndMetadata,
    OffsetFetchRequest,
    Request,
    Response,
)
from groupspec.impl.core.transport import Transport
from groupspec.impl.runtime import Runtime
from groupspec.impl.scripted import ScriptedCoordinator
from groupspec.impl.testing import DrivenConsumer, RecordedDriver
from groupspec.spec.compiler.member import Member, MemberState, Offer

_TIMER_OF = {event: timer for timer, event in TIMERS.items()}
_QUEUED = (
    "application_polled",
    "poll_raised",
    "leave_requested",
    "subscription_changed",
    "rejoin_requested",
    "commit_or_fetch_requested",
)
"""Events that can be put into the server event queue whatever the application does."""

_CALLS_POLL = ("application_polled", "callback_started", "partitions_assigned")


def settings_for(config: Config) -> Settings:
    """The same configuration, as the consumer's keyword arguments."""
    return {
        "group_id": config.group_id,
        "client_id": config.client_id,
        "group_instance_id": config.group_instance_id,
        "enable_auto_commit": config.enable_auto_commit,
        "partition_assignment_strategy": config.partition_assignment_strategy,
        "auto_offset_reset": config.auto_offset_reset,
        "auto_commit_interval_ms": config.auto_commit_interval_ms,
        "metadata_max_age_ms": config.metadata_max_age_ms,
    }


class ProbedConsumer(DrivenConsumer):
    """A driven consumer whose core is watched from its first event on."""

    def __init__(self, record: list[Observation], settings: Settings) -> None:
        self._record = record
        super().__init__(**settings)

    def _make_driver(self, core: Core, transport: Transport, runtime: Runtime) -> RecordedDriver:
        probe(core, self._record)
        return super()._make_driver(core, transport, runtime)


class DriverAdapter:
    """One consumer with its threads, and a coordinator that answers when told."""

    def __init__(self, member: Member, start: MemberState) -> None:
        self.member = member
        self.settings = settings_for(config_for(member, start))
        self.translation = Translation(member)
        self.coordinator = ScriptedCoordinator()
        self.correspondence = Correspondence(member, self.translation, self.coordinator)
        self.record: list[Observation] = []
        self.driven: ProbedConsumer | None = None
        self._offset = 10

    def pass_time(self) -> list[Observation]:
        """The clock jumps to the next deadline."""
        self.record.clear()
        if self.driven is not None:
            self.driven.runtime.advance_to_next_deadline()
        return list(self.record)

    def end(self) -> None:
        """Take the threads down."""
        if self.driven is not None:
            self.driven.close()

    @property
    def _now(self) -> Description:
        assert self.driven is not None
        return self.driven.describe()

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer, state: MemberState, illegal: bool) -> bool:
        """Whether a consumer with two threads could bring this about at this moment."""
        if self.driven is None or self.driven.core.leaving.closed:
            return offer.event == "started"
        if illegal or offer.event == "started":
            return False
        if offer.event in EVENTS_OF:
            return self.correspondence.can_answer(offer, state, self._now)
        if offer.event == "requests_settled":
            return bool(self.member.value_of(state, "request_pending")) and self.driven.core.timers.is_armed(
                "offsets_deadline"
            )
        if offer.event in _TIMER_OF:
            return self.driven.core.timers.is_armed(_TIMER_OF[offer.event])
        if offer.event == "subscription_changed" and not self.correspondence.can_change_topics(offer, state, self._now):
            return False
        return self._can_call(offer.event)

    def _can_call(self, event: str) -> bool:
        assert self.driven is not None
        inside = self.driven.listener.inside
        if event == "partitions_revoked":
            return inside is not None and inside.kind != "assigned"
        if event == "partitions_assigned" and inside is not None:
            return inside.kind == "assigned"
        if event in _QUEUED:
            return True
        if self.driven.is_busy():
            return False
        if event in ("callback_started", "partitions_assigned"):
            due = "REVOKING_PARTITION" if event == "callback_started" else "ASSIGNING_PARTITIONS"
            return self._now.rebalance == due
        return True

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> list[Observation]:
        """Bring the event about, let everything run until it is idle, and give what passed the core's front door."""
        self.record.clear()
        if offer.event == "started":
            self._start()
            return list(self.record)
        self._consume()
        if offer.event in EVENTS_OF:
            self._answer(offer, variant, state)
        elif offer.event in _TIMER_OF:
            self._expire(_TIMER_OF[offer.event])
        else:
            self._call(offer, variant)
        return list(self.record)

    def _start(self) -> None:
        self.end()
        self.translation.sent.clear()
        self.translation.topics = ()
        self.driven = ProbedConsumer(self.record, self.settings)
        self.driven.listener.park = True
        for kind in (MetadataRequest, ListOffsetsRequest, LeaveGroupRequest, OffsetFetchRequest):
            self.driven.transport.answer_always(kind, self._answer_by_itself)

    def _answer_by_itself(self, request: Request) -> Response | None:
        if isinstance(request, OffsetFetchRequest) and ASKED in request.partitions:
            return None
        return self.coordinator.answer(request, ErrorCode.NONE)

    def _consume(self) -> None:
        """The application reads on: of what is owned and not being revoked there is always something to commit."""
        assert self.driven is not None
        self._offset += 1
        for partition, described in self._now.partitions.items():
            if described.state != "PENDING_REVOCATION":
                self.driven.core.subscription.seek(partition, self._offset)

    def _expire(self, timer: str) -> None:
        assert self.driven is not None
        if timer == "offsets_deadline":
            self.driven.advance(2)
            if not self.driven.core.timers.is_armed(timer):
                return
        self.driven.expire(timer)

    def _call(self, offer: Offer, variant: int) -> None:
        """By a call of the application's; where one can't be made, or for an odd variant, by an event in its queue.

        An event may lie in the queue while a callback is due or runs: the polling thread is only the usual one to put
        it there.
        """
        assert self.driven is not None
        event, topics = offer.event, self.translation.topics or TOPICS
        if event == "subscription_changed":
            topics = self.correspondence.topics(offer, self._now) or TOPICS
        inside = self.driven.listener.inside
        queued = self.driven.is_busy() or variant % 2 == 1
        if queued and event == "leave_requested":
            self._ask(impl.Unsubscribe)
            return
        if queued and event == "subscription_changed":
            self.driven.submit(impl.Subscribe(topics))
            return
        if event == "application_polled" and (queued or self.driven.driver.has_consumer_events()):
            self.driven.core.subscription.poll_started()
            self.driven.submit(impl.Poll())
            return
        if event in ("partitions_revoked", "partitions_assigned") and inside is not None:
            self.driven.release()
        elif event in _CALLS_POLL:
            self._poll()
            inside = self.driven.listener.inside
            if event != "application_polled" and inside is not None and inside.kind == "assigned":
                self.driven.release()  # for a revocation: a callback that was due before it
        elif event == "poll_raised":
            self.driven.submit(impl.Poll(raises=True))
        elif event == "rejoin_requested":
            self.driven.submit(impl.EnforceRebalance("a test wants it"))
        elif event == "commit_or_fetch_requested":
            deadline_ms = self.driven.runtime.now_ms() + 1
            self._ask(lambda number: impl.FetchCommitted((ASKED,), number, deadline_ms))
        else:
            listener = self.driven.listener
            calls: dict[str, Callable[[Consumer], object]] = {
                "subscribed_to_topics": lambda consumer: consumer.subscribe(topics, listener),
                "subscription_changed": lambda consumer: consumer.subscribe(topics, listener),
                "leave_requested": lambda consumer: consumer.unsubscribe(),
                "stopped": lambda consumer: consumer.close(10_000),
            }
            self.driven.begin(calls[event])

    def _poll(self) -> None:
        """Poll until there is no error left to raise: the first poll may do nothing but that."""
        assert self.driven is not None
        for _ in range(3):
            call = self.driven.begin(lambda consumer: consumer.poll(0))
            if not call.done or call.error is None:
                return

    def _ask(self, event: Callable[[int], impl.ServerEvent]) -> None:
        assert self.driven is not None
        self.driven.driver.call(event)
        self.driven.settle()

    # Answers ----------------------------------------------------------------------------------------------------------

    def _answer(self, offer: Offer, variant: int, state: MemberState) -> None:
        assert self.driven is not None
        if topics := self.correspondence.topics_before(offer, self._now):
            self.driven.submit(impl.Subscribe(topics))
        now = self._now
        sent = self._request_to_answer(offer, state)
        self.driven.answer(sent.request_id, self.correspondence.response(sent, offer, variant, now))

    def _request_to_answer(self, offer: Offer, state: MemberState) -> Sent:
        api = api_answered_by(offer)
        if not is_current(offer):
            sent = self.correspondence.abandoned(api, state, self._now)
        else:
            sent = self.correspondence.waiting(api, state, self._now)
            if sent is None:
                self._have_sent(api)
                self.correspondence.register(self.record)
                sent = self.correspondence.waiting(api, state, self._now)
        assert sent is not None, f"nothing to answer for {offer}"
        return sent

    def _have_sent(self, api: str) -> None:
        """The application commits, or a question is asked again, so that there is something to answer."""
        assert self.driven is not None
        if api == "OffsetFetch":
            self.driven.expire("offsets_backoff")
        else:
            offsets = {self._now.owned[0]: OffsetAndMetadata(self._offset, MANUAL)}
            self._ask(lambda number: impl.Commit(offsets, number))
