"""Brings events about in the reference's sans-IO core: commands, answers and timers, and no thread in between."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from groupspec.conformance.stateful.answers import PARTITIONS, TOPIC, Coordinator, assignment_for, error_named
from groupspec.conformance.stateful.lockstep import Observation, probe
from groupspec.conformance.stateful.routes import Offer
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
    TopicPartition,
)
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.spec.compiler.member import Member, MemberState

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
        self.coordinator = Coordinator()
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
            return self._can_answer(offer, state, illegal)
        if illegal:
            return False
        if offer.event == "stopped" and self.core.describe().connection == "DOWN":
            return False  # a consumer's background thread starts with it
        if offer.event == "asks_settled":
            return bool(self.member.value_of(state, "asked"))
        return True

    def _can_answer(self, offer: Offer, state: MemberState, illegal: bool) -> bool:
        api = EVENTS_OF[offer.event][0][0]
        if illegal:
            return True
        if not dict(offer.inputs)["current"]:
            return self._abandoned(api, state) is not None
        if offer.event == "sync_accepted":
            return self._assignment(offer) is not None
        if api == "OffsetFetch":
            return self._asked() is not None or self.core.timers.is_armed("offsets_backoff")
        return api != "OffsetCommit" or self._commit(state) is not None or self._could_commit(state)

    def _asked(self) -> Sent | None:
        """The question for a committed offset that waits for its answer."""
        return next(
            (s for s in self.translation.sent.values() if s.is_asked and not s.answered and not s.given_up), None
        )

    def _abandoned(self, api: str, state: MemberState) -> Sent | None:
        """A request that went out and is waited for no more."""
        now = self.core.describe()
        unanswered = [s for s in self.translation.sent.values() if s.api == api and not s.answered]
        if api == "OffsetFetch":
            unanswered = [s for s in unanswered if s.is_asked]
        return next((s for s in unanswered if not self.translation.is_waited_for(state, s, now)), None)

    def _commit(self, state: MemberState) -> Sent | None:
        """The commit whose answer is waited for: the one before a rebalance, else one of the application's."""
        now = self.core.describe()
        commits = [s for s in self.translation.sent.values() if s.api == "OffsetCommit"]
        return next((s for s in commits if self.translation.is_waited_for(state, s, now)), None)

    def _could_commit(self, state: MemberState) -> bool:
        """Whether the application could commit now, so that there is something to answer."""
        if not self.core.describe().owned:
            return False
        in_generation = self.member.state_of(state, "rebalance") in (
            "STABLE",
            "PREPARE_REVOCATION",
            "REVOKING_PARTITION",
            "ASSIGNING_PARTITIONS",
        )
        value = self.member.value_of
        return (
            in_generation
            and value(state, "identity") == "member"
            and bool(value(state, "coordinator_known"))
            and value(state, "commit_step") != "out"
        )

    def _assignment(self, offer: Offer) -> tuple[TopicPartition, ...] | None:
        told = dict(offer.inputs)
        return assignment_for(
            self.core.describe().owned,
            self.member.rebalance == "cooperative",
            bool(told["takes"]),
            bool(told["retains"]),
            bool(told["gains"]),
        )

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
            self._command(offer.event)
        return list(self.record)

    def _consume(self) -> None:
        """The application reads on, so that there is always something to commit of what is owned and not being taken."""
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

    def _command(self, event: str) -> None:
        self._futures += 1
        match event:
            case "started":
                if self.core.leaving.closed:
                    self._new_core()
                self._give(impl.Start())
            case "stopped":
                self._give(impl.Close(self._futures, self.now_ms + 10_000))
            case "subscribed_to_topics":
                self._give(impl.Subscribe((TOPIC,)))
            case "application_polled":
                self.subscription.poll_started()
                self._give(impl.Poll())
            case "poll_raised":
                self._give(impl.Poll(raises=True))
            case "rejoin_requested":
                self._give(impl.EnforceRebalance("a test wants it"))
            case "leave_requested":
                self._give(impl.Unsubscribe(self._futures))
            case "commit_or_fetch_asked":
                self._give(impl.FetchCommitted((ASKED,), self._futures, self.now_ms + 1))
            case "callback_started":
                self._give(impl.CallbackStarted())
            case "partitions_revoked":
                self._give(impl.PartitionsRevoked())
            case "partitions_assigned":
                self._give(impl.PartitionsAssigned())
            case _:
                raise ValueError(f"no command for {event}")

    def _expire(self, timer: str) -> None:
        if self.core.timers.is_armed(timer):
            self.core.timers.expire_now(timer, self.now_ms)
        self._give(impl.TimerExpired(timer))

    # Answers ----------------------------------------------------------------------------------------------------------

    def _answer(self, offer: Offer, variant: int, state: MemberState, illegal: bool) -> None:
        meanings = EVENTS_OF[offer.event]
        api, error_name = meanings[variant % len(meanings)]
        error = error_named(api, error_name)
        if illegal:
            self._answer_to_nothing(offer, api, error)
            return
        sent = self._request_to_answer(api, offer, state)
        assigned = self._assignment(offer) if offer.event == "sync_accepted" else ()
        response = self.coordinator.answer(sent.request, error, assigned or ())
        self._give(impl.ResponseReceived(sent.request_id, response))

    def _request_to_answer(self, api: str, offer: Offer, state: MemberState) -> Sent:
        if not dict(offer.inputs)["current"]:
            sent = self._abandoned(api, state)
        elif api == "OffsetFetch":
            if self._asked() is None:
                self._expire("offsets_backoff")
                self._register()
            sent = self._asked()
        elif api == "OffsetCommit":
            if self._commit(state) is None:
                self._give(
                    impl.Commit({self.core.describe().owned[0]: OffsetAndMetadata(self._offset, MANUAL)}, self._futures)
                )
                self._register()
            sent = self._commit(state)
        else:
            sent = self.translation.newest(api)
        assert sent is not None, f"nothing to answer for {offer}"
        return sent

    def _register(self) -> None:
        """Requests that were sent in this very event are not known to the lockstep yet."""
        for observation in self.record:
            for output in observation.outputs:
                if isinstance(output, SendRequest) and output.request_id not in self.translation.sent:
                    self.translation.note_sent(output, observation.after)

    def _answer_to_nothing(self, offer: Offer, api: str, error: ErrorCode) -> None:
        response = self.coordinator.answer(SAMPLE_REQUESTS[api], error)
        self.translation.unsolicited = offer
        with suppress(UnsolicitedResponse):
            self._give(impl.ResponseReceived(_NEVER_SENT, response))
