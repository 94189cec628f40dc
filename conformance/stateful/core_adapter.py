"""Brings events about in the reference's sans-IO core: commands, answers and timers, and no thread in between."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from groupspec.conformance.stateful.answers import PARTITIONS, TOPICS
from groupspec.conformance.stateful.correspondence import Correspondence, api_answered_by, is_current
from groupspec.conformance.stateful.lockstep import Observation, probe
from groupspec.conformance.stateful.translation import ASKED, EVENTS_OF, MANUAL, TIMERS, Sent, Translation
from groupspec.impl.core import events as impl
from groupspec.impl.core.config import Config
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import SendRequest, UnsolicitedResponse
from groupspec.impl.core.messages import (
    ErrorCode,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetAndMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Request,
    SyncGroupRequest,
)
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.scripted import ScriptedCoordinator
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

ANSWERED_BY_ITSELF = ("Metadata", "ListOffsets", "LeaveGroup", "OffsetFetch")
"""Requests that no event of the member's machines answers: the adapter answers them at once."""

_TIMER_OF = {event: timer for timer, event in TIMERS.items()}
NEVER_MS = 2**31 - 1
"""For timers that no event of the machines stands for."""

_NEVER_SENT = 10**9
_NOTHING_ASSIGNED = (
    ("current", True),
    ("revokes_any", False),
    ("retains_any", False),
    ("adds_any", False),
    ("fits_subscription", True),
)


def config_for(member: Member, start: MemberState) -> Config:
    """The implementation's configuration for one configuration of the model."""
    return Config(
        group_id="group",
        client_id="member",
        group_instance_id="instance" if member.value_of(start, "static") else None,
        enable_auto_commit=bool(member.value_of(start, "auto_commit")),
        partition_assignment_strategy=("cooperative-sticky",) if member.rebalance == "cooperative" else ("range",),
        auto_offset_reset="earliest",
        auto_commit_interval_ms=NEVER_MS,
        metadata_max_age_ms=NEVER_MS,
    )


class CoreAdapter:
    """One core, and a coordinator that answers when told."""

    def __init__(self, member: Member, start: MemberState) -> None:
        self.member = member
        self.config = config_for(member, start)
        self.translation = Translation(member)
        self.coordinator = ScriptedCoordinator()
        self.correspondence = Correspondence(member, self.translation, self.coordinator)
        self.record: list[Observation] = []
        self.now_ms = 1_000
        self._futures = 0
        self._offset = 10
        self._new_core()

    def _new_core(self) -> None:
        self.subscription = SubscriptionState()
        self.core = Core(self.config, self.subscription)
        self.translation.sent.clear()
        probe(self.core, self.record)

    def pass_time(self) -> list[Observation]:
        """The clock jumps to the next deadline."""
        self.record.clear()
        deadline_ms = self.core.next_deadline_ms()
        if deadline_ms is not None:
            self.now_ms = max(self.now_ms, deadline_ms)
            for output in self.core.advance(self.now_ms):
                self._serve(output)
        return list(self.record)

    def end(self) -> None:
        """There is nothing to take down."""

    # What can happen --------------------------------------------------------------------------------------------------

    def can(self, offer: Offer, state: MemberState, illegal: bool) -> bool:
        """Answers need a request that they can answer; a callback that nobody asked for can't end."""
        if offer.event in EVENTS_OF:
            return illegal or self.correspondence.can_answer(offer, state, self.core.describe())
        if illegal:
            return False
        if offer.event == "stopped" and self.core.describe().connection == "DOWN":
            return False  # a consumer's background thread starts with it
        if offer.event == "subscription_changed":
            return self.correspondence.can_change_topics(offer, state, self.core.describe())
        if offer.event == "requests_settled":
            return bool(self.member.value_of(state, "request_pending"))
        return True

    # Making it happen -------------------------------------------------------------------------------------------------

    def perform(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> list[Observation]:
        """Bring the event about, and give the record of what passed the core's front door."""
        self.record.clear()
        self.now_ms += 1
        self._consume()
        if offer.event in EVENTS_OF:
            self._answer(offer, variant, state, illegal)
        elif offer.event in _TIMER_OF:
            self._expire(_TIMER_OF[offer.event])
        else:
            self._command(offer)
        return list(self.record)

    def _consume(self) -> None:
        """The application reads on: of what is owned and not being revoked there is always something to commit."""
        self._offset += 1
        for partition, described in self.subscription.describe().items():
            if described.state != "PENDING_REVOCATION":
                self.subscription.seek(partition, self._offset)

    def _give(self, event: impl.InputEvent) -> None:
        for output in self.core.handle(event, self.now_ms):
            self._serve(output)

    def _serve(self, output: impl.Output) -> None:
        if isinstance(output, SendRequest):
            sent = Sent(output.request_id, output.request, "", -1)
            if sent.api in ANSWERED_BY_ITSELF and not sent.is_asked:
                response = self.coordinator.answer(output.request, ErrorCode.NONE)
                self._give(impl.ResponseReceived(output.request_id, response))

    def _command(self, offer: Offer) -> None:
        self._futures += 1
        match offer.event:
            case "started":
                if self.core.leaving.closed:
                    self._new_core()
                self._give(impl.Start())
            case "stopped":
                self._give(impl.Close(self._futures, self.now_ms + 10_000))
            case "subscribed_to_topics":
                self._give(impl.Subscribe(self.translation.topics or TOPICS))
            case "subscription_changed":
                self._give(impl.Subscribe(self.correspondence.topics(offer, self.core.describe()) or TOPICS))
            case "application_polled":
                self.subscription.poll_started()
                self._give(impl.Poll())
            case "poll_raised":
                self._give(impl.Poll(raises=True))
            case "rejoin_requested":
                self._give(impl.EnforceRebalance("a test wants it"))
            case "leave_requested":
                self._give(impl.Unsubscribe(self._futures))
            case "commit_or_fetch_requested":
                self._give(impl.FetchCommitted((ASKED,), self._futures, self.now_ms + 1))
            case "callback_started":
                self._give(impl.CallbackStarted())
            case "partitions_revoked":
                self._give(impl.PartitionsRevoked())
            case "partitions_assigned":
                self._give(impl.PartitionsAssigned())
            case _:
                raise ValueError(f"no command for {offer.event}")

    def _expire(self, timer: str) -> None:
        if self.core.timers.is_armed(timer):
            self.core.timers.expire_now(timer, self.now_ms)
        self._give(impl.TimerExpired(timer))

    # Answers ----------------------------------------------------------------------------------------------------------

    def _answer(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> None:
        if illegal:
            self._answer_to_nothing(offer, variant)
            return
        if topics := self.correspondence.topics_before(offer, self.core.describe()):
            self._give(impl.Subscribe(topics))
        now = self.core.describe()
        sent = self._request_to_answer(offer, state)
        response = self.correspondence.response(sent, offer, variant, now)
        self._give(impl.ResponseReceived(sent.request_id, response))

    def _request_to_answer(self, offer: Offer, state: MemberState) -> Sent:
        api, now = api_answered_by(offer), self.core.describe()
        if not is_current(offer):
            sent = self.correspondence.abandoned(api, state, now)
        else:
            sent = self.correspondence.waiting(api, state, now)
            if sent is None:
                self._have_sent(api)
                self.correspondence.register(self.record)
                sent = self.correspondence.waiting(api, state, self.core.describe())
        assert sent is not None, f"nothing to answer for {offer}"
        return sent

    def _have_sent(self, api: str) -> None:
        """The application commits, or a question is asked again, so that there is something to answer."""
        if api == "OffsetFetch":
            self._expire("offsets_backoff")
        else:
            owned = self.core.describe().owned
            self._give(impl.Commit({owned[0]: OffsetAndMetadata(self._offset, MANUAL)}, self._futures))

    def _answer_to_nothing(self, offer: Offer, variant: int) -> None:
        sample = Sent(_NEVER_SENT, SAMPLE_REQUESTS[api_answered_by(offer)], "", -1)
        told = offer if offer.event != "sync_accepted" else Offer(offer.event, _NOTHING_ASSIGNED)
        response = self.correspondence.response(sample, told, variant, self.core.describe())
        self.translation.unsolicited = offer
        with suppress(UnsolicitedResponse):
            self._give(impl.ResponseReceived(_NEVER_SENT, response))
