"""Brings events about in the reference's sans-IO core: commands, answers and timers, and no thread in between."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.correspondence import (
    PARTITIONS,
    TOPICS,
    Correspondence,
    api_answered_by,
    is_current,
)
from groupspec.conformance.stateful.translation import (
    ASKED,
    EVENTS_OF,
    MANUAL,
    TIMERS,
    Observation,
    Sent,
    Translation,
    is_asked,
    probe,
)
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config, Settings
from groupspec.impl.core.events import SendRequest, UnsolicitedResponse
from groupspec.impl.core.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
)
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore
from groupspec.impl.trace import TraceSink
from groupspec.spec.compiler.member import Member, MemberState, Offer

SAMPLE_REQUESTS: Mapping[str, Request] = MappingProxyType(
    {
        "FindCoordinator": FindCoordinatorRequest("group"),
        "JoinGroup": JoinGroupRequest("group", 1, 1, "nobody", None, (("range", b""),)),
        "SyncGroup": SyncGroupRequest("group", 1, "nobody", None, "range"),
        "Heartbeat": HeartbeatRequest("group", 1, "nobody", None),
        "OffsetFetch": OffsetFetchRequest("group", (ASKED,)),
        "OffsetCommit": OffsetCommitRequest("group", 1, "nobody", None, {PARTITIONS[0]: OffsetAndMetadata(0)}),
    }
)
"""A request of each kind, to make the answer to a request that was never sent."""

ANSWERED_BY_ITSELF: Final = (MetadataRequest, ListOffsetsRequest, LeaveGroupRequest, OffsetFetchRequest)
"""Requests that no event of the member's machines answers, but for the lookup of `ASKED`: they are answered at once."""

TIMER_OF: Final = {event: timer for timer, event in TIMERS.items()}
NEVER_MS = 2**31 - 1
"""The interval of timers that no event of the machines stands for: time never passes so far."""

_NEVER_SENT = 10**9
_NOTHING_ASSIGNED = (
    ("current", True),
    ("revokes_any", False),
    ("retains_any", False),
    ("adds_any", False),
    ("fits_subscription", True),
)


def settings_for(member: Member, start: MemberState) -> Settings:
    """The consumer's keyword arguments for one configuration of the model."""
    return {
        "group_id": "group",
        "client_id": "member",
        "group_instance_id": "instance" if member.value_of(start, "static") else None,
        "enable_auto_commit": bool(member.value_of(start, "auto_commit")),
        "partition_assignment_strategy": ("cooperative-sticky" if member.rebalance == "cooperative" else "range",),
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": NEVER_MS,
        "metadata_max_age_ms": NEVER_MS,
    }


def config_for(member: Member, start: MemberState) -> Config:
    """The same as the core has it."""
    return Config(**settings_for(member, start))


class CoreAdapter(ScriptedCore):
    """One core, and a coordinator that answers when told.

    Attributes:
        record: What has passed the core's front door since the last event.
    """

    def __init__(self, member: Member, start: MemberState) -> None:
        self.member = member
        self.start = start
        self.translation = Translation(member)
        self.record: list[Observation] = []
        self._futures = 0
        self._offset = 10
        super().__init__(config_for(member, start), ScriptedCoordinator())
        self.correspondence = Correspondence(member, self.translation, self.coordinator)

    def new_core(self, trace: TraceSink | None = None) -> None:
        """A core before its first event, whose inputs and outputs are recorded."""
        super().new_core(trace)
        self.translation.sent.clear()
        probe(self.core, self.record)

    def pass_time(self) -> list[Observation]:
        """The timers that are due next expire, in their own order."""
        self.record.clear()
        deadline_ms = self.core.next_deadline_ms()
        if deadline_ms is not None and deadline_ms < NEVER_MS:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.timers_fire()
        return list(self.record)

    def end(self) -> None:
        """Take everything down: nothing, here."""

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer, state: MemberState, illegal: bool) -> bool:
        """Whether this event can be brought about now; an illegal one is an answer to nothing.

        Answers need a request that they can answer; a callback that nobody asked for can't end.
        """
        if offer.event in EVENTS_OF:
            return illegal or self.correspondence.can_answer(offer, state, self.describe())
        if illegal:
            return False
        if offer.event == "stopped" and self.describe().connection == "DOWN":
            return False  # a consumer's background thread starts with it
        if offer.event == "subscription_changed":
            return self.correspondence.can_change_topics(offer, state, self.describe())
        if offer.event == "requests_settled":
            return bool(self.member.value_of(state, "request_pending"))
        return True

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> list[Observation]:
        """Bring the event about, and give the record of what passed the core's front door.

        `variant` picks one of several errors that mean the same.
        """
        self.record.clear()
        if offer.event == "started":
            self._start()
            return list(self.record)
        self._tick()
        self._consume()
        if offer.event in EVENTS_OF:
            self._answer(offer, variant, state, illegal)
        elif offer.event in TIMER_OF:
            self._timer_expires(TIMER_OF[offer.event])
        else:
            self._command(offer, variant, state)
        return list(self.record)

    def _start(self) -> None:
        self._tick()
        if self.core.leaving.closed:
            self.new_core()
        self.do(impl.Start())

    def _tick(self) -> None:
        self.now_ms += 1

    def _consume(self) -> None:
        """The application reads on: of what is owned and not being revoked there is always something to commit."""
        self._offset += 1
        for partition, described in self.subscription.positions.describe().items():
            if described.state != "PENDING_REVOCATION":
                self.subscription.positions.seek(partition, self._offset)

    def reactions(self, output: impl.Output) -> list[impl.InputEvent]:
        """What no event of the member's machines answers is answered at once."""
        if isinstance(output, SendRequest) and isinstance(output.request, ANSWERED_BY_ITSELF):
            return [] if is_asked(output.request) else [self.answered(output)]
        return []

    def _command(self, offer: Offer, variant: int, state: MemberState) -> None:
        """What the application does, as an event in the queue to the core."""
        self._futures += 1
        match offer.event:
            case "stopped":
                self.do(impl.Close(self._futures, self.now_ms + 10_000))
            case "subscribed_to_topics" | "subscription_changed":
                self.do(impl.Subscribe(self._topics(offer, state)))
            case "application_polled":
                self.subscription.positions.poll_started()
                self.do(impl.Poll())
            case "poll_raised":
                self.do(impl.Poll(raises=True))
            case "rejoin_requested":
                self.do(impl.EnforceRebalance("a test wants it"))
            case "leave_requested":
                self.do(impl.Unsubscribe(self._futures))
            case "commit_or_fetch_requested":
                self.do(impl.FetchCommitted((ASKED,), self._futures, self.now_ms + 1))
            case "callback_started":
                self.do(impl.CallbackStarted())
            case "partitions_revoked":
                self.do(impl.PartitionsRevoked())
            case "partitions_assigned":
                self.do(impl.PartitionsAssigned())
            case _:
                raise ValueError(f"no command for {offer.event}")

    def _topics(self, offer: Offer, state: MemberState) -> tuple[str, ...]:
        if offer.event == "subscription_changed":
            return self.correspondence.changed_topics(offer, state, self.describe()) or TOPICS
        return self.translation.topics or TOPICS

    def _timer_expires(self, timer: str) -> None:
        if self.core.timers.is_armed(timer):
            self.core.timers.expire_now(timer, self.now_ms)
        self.do(impl.TimerExpired(timer))

    # Answers ----------------------------------------------------------------------------------------------------------

    def _answer(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> None:
        if illegal:
            self._answer_to_nothing(offer, variant)
            return
        if topics := self.correspondence.topics_before(offer, self.describe()):
            self.do(impl.Subscribe(topics))
        now = self.describe()
        sent = self._request_to_answer(offer, state)
        response = self.correspondence.response(sent, offer, variant, now)
        self.do(impl.ResponseReceived(sent.request_id, response))

    def _request_to_answer(self, offer: Offer, state: MemberState) -> Sent:
        api, now = api_answered_by(offer), self.describe()
        if not is_current(offer):
            sent = self.correspondence.abandoned(api, state, now)
        else:
            sent = self.correspondence.waiting(api, state, now)
            if sent is None:
                self._have_sent(api)
                self.correspondence.register(self.record)
                sent = self.correspondence.waiting(api, state, self.describe())
        assert sent is not None, f"nothing to answer for {offer}"
        return sent

    def _have_sent(self, api: str) -> None:
        """The application commits, or a question is asked again, so that there is something to answer."""
        if api == "OffsetFetch":
            self._timer_expires("offsets_backoff")
        else:
            owned = self.describe().owned
            self._futures += 1
            self.do(impl.Commit({owned[0]: OffsetAndMetadata(self._offset, MANUAL)}, self._futures))

    def _answer_to_nothing(self, offer: Offer, variant: int) -> None:
        sample = Sent(_NEVER_SENT, SAMPLE_REQUESTS[api_answered_by(offer)], "", -1)
        told = offer if offer.event != "sync_accepted" else Offer(offer.event, _NOTHING_ASSIGNED)
        response = self.correspondence.response(sample, told, variant, self.describe())
        self.translation.unsolicited = offer
        with suppress(UnsolicitedResponse):
            self.do(impl.ResponseReceived(_NEVER_SENT, response))
