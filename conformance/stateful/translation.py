"""From what reaches the implementation to what the specification calls it.

The implementation has words of its own: it never imports the specification, and its events are commands, answers and
timers. This is the one place where the two vocabularies meet. Nothing is decided here: an input becomes the event that
the table of answers names, and `current` is settled by bookkeeping over request ids, never by asking the
implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from groupspec.conformance.stateful.routes import assignment_waits
from groupspec.impl.core import events as impl
from groupspec.impl.core.events import Description, SendRequest, UnsolicitedResponse
from groupspec.impl.core.messages import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    Request,
    SyncGroupResponse,
    TopicPartition,
)
from groupspec.impl.core.protocol import decode_assignment
from groupspec.impl.scripted import api_of
from groupspec.spec.compiler.member import Member, MemberState, Offer
from groupspec.spec.vocabulary import RESPONSES

ASKED: Final = TopicPartition("asked", 0)
"""A partition that no group assigns: its committed offset is asked for only to have something that needs a coordinator.
"""

MANUAL: Final = "committed by the application"
"""The metadata of the application's own commits, by which they are told from those before a rebalance."""

COMMANDS: Final[Mapping[type[impl.InputEvent], str]] = MappingProxyType(
    {
        impl.Start: "started",
        impl.Poll: "application_polled",
        impl.EnforceRebalance: "rejoin_requested",
        impl.Unsubscribe: "leave_requested",
        impl.CallbackStarted: "callback_started",
        impl.PartitionsRevoked: "partitions_revoked",
        impl.PartitionsAssigned: "partitions_assigned",
        impl.FetchCommitted: "commit_or_fetch_requested",
        impl.Commit: "commit_or_fetch_requested",
        impl.Close: "stopped",
    }
)
"""Commands of the implementation -> events of the specification. (Subscribe depends on whether there is a
subscription.)"""

TIMERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "heartbeat": "heartbeat_due",
        "session": "session_expired",
        "poll_interval": "poll_interval_expired",
        "join_backoff": "join_backoff_elapsed",
        "lookup_backoff": "discovery_backoff_elapsed",
        "commit_backoff": "commit_backoff_elapsed",
        "commit_deadline": "commit_deadline_expired",
        "offsets_deadline": "requests_settled",
    }
)
"""Timers of the implementation -> events of the specification."""

WAITING: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "FindCoordinator": ("connection", "COORDINATOR_DISCOVERY"),
        "JoinGroup": ("rebalance", "PREPARING_REBALANCE"),
        "SyncGroup": ("rebalance", "COMPLETING_REBALANCE"),
        "Heartbeat": ("timeouts", "IN_FLIGHT"),
    }
)
"""Where the answer to the newest request of each kind is waited for."""

EVENTS_OF: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        event: tuple(answer for answer, name in RESPONSES.items() if name == event)
        for event in dict.fromkeys(RESPONSES.values())
    }
)
"""Event of the specification -> every (request, error) that means it."""


@dataclass
class Sent:
    """A request that went out, and the identity of that moment."""

    request_id: int
    request: Request
    member_id: str
    generation: int
    answered: bool = False
    given_up: bool = False

    @property
    def api(self) -> str:
        """The name of the request."""
        return api_of(self.request)


@dataclass
class Question:
    """The application asked for the committed offset of `ASKED`; `sent`: the request under way for it, if one is."""

    future_id: int
    deadline_ms: int
    sent: Sent | None = None


def is_manual_commit(request: Request) -> bool:
    """Whether the application, not a rebalance, asked for this commit."""
    return isinstance(request, OffsetCommitRequest) and any(o.metadata == MANUAL for o in request.offsets.values())


def is_asked(request: Request) -> bool:
    """Whether this looks up the committed offset that only `ASKED` needs."""
    return isinstance(request, OffsetFetchRequest) and ASKED in request.partitions


@dataclass(frozen=True)
class Observation:
    """One input at the core's front door at `now_ms`, what came out, and the description before and after."""

    event: impl.InputEvent
    now_ms: int
    outputs: tuple[impl.Output, ...]
    before: Description
    after: Description
    refused: bool = False


def probe(core: object, record: list[Observation]) -> None:
    """Write every input of `core` down, with what comes out: `core.handle` is wrapped, nothing else is touched."""
    handle, describe = core.handle, core.describe  # type: ignore[attr-defined]

    def watched(event: impl.InputEvent, now_ms: int) -> list[impl.Output]:
        before = describe()
        try:
            outputs: list[impl.Output] = handle(event, now_ms)
        except UnsolicitedResponse:
            record.append(Observation(event, now_ms, (), before, describe(), refused=True))
            raise
        record.append(Observation(event, now_ms, tuple(outputs), before, describe()))
        return outputs

    core.handle = watched  # type: ignore[attr-defined]


@dataclass
class Translation:
    """Follows one member: remembers what it sent, and names what reaches it."""

    member: Member
    sent: dict[int, Sent] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    topics: tuple[str, ...] = ()
    assigned: tuple[TopicPartition, ...] = ()
    unsolicited: Offer | None = None

    def note(self, observation: Observation) -> None:
        """Keep the books: what was sent, and whether the coordinator was forgotten."""
        for output in observation.outputs:
            if isinstance(output, SendRequest):
                self.note_sent(output, observation.after)
            elif isinstance(output, impl.DisconnectCoordinator):  # what was under way to it has no answer any more
                for sent in self.sent.values():
                    sent.given_up |= sent.api != "FindCoordinator"
                for question in self.questions:
                    question.sent = None
            elif isinstance(output, impl.CompleteFuture):
                self.questions = [question for question in self.questions if question.future_id != output.future_id]

    def note_sent(self, output: SendRequest, description: Description) -> None:
        """The member sent a request."""
        sent = Sent(output.request_id, output.request, description.member_id, description.generation)
        self.sent[output.request_id] = sent
        if is_asked(sent.request) and (waiting := [q for q in self.questions if q.sent is None]):
            waiting[0].sent = sent

    def newest(self, api: str) -> Sent | None:
        """The newest request of a kind, answered or not; of commits, only those before a rebalance."""
        return next((s for s in reversed(self.sent.values()) if s.api == api and not is_manual_commit(s.request)), None)

    def is_waited_for(self, state: MemberState, sent: Sent, before: Description) -> bool:
        """Whether an answer to this request would be `current`: still waited for, and of the present identity."""
        if sent.answered or sent.given_up:
            return False
        if sent.api == "OffsetCommit":
            if is_manual_commit(sent.request):
                return (sent.member_id, sent.generation) == (before.member_id, before.generation)
            return sent is self.newest("OffsetCommit") and self.member.value_of(state, "commit_step") in (
                "out",
                "outdated",
            )
        if is_asked(sent.request):
            return bool(self.questions and self.member.value_of(state, "coordinator_known"))
        machine, waiting = WAITING[sent.api]
        if self.member.state_of(state, machine) != waiting or sent is not self.newest(sent.api):
            return False
        return sent.api != "JoinGroup" or self.join_is_out(state)

    def join_is_out(self, state: MemberState) -> bool:
        """Whether a JoinGroup is out, as `rebalance.py` defines it."""
        value = self.member.value_of
        return bool(value(state, "polled") and value(state, "coordinator_known") and not value(state, "join_backoff"))

    def offers(self, state: MemberState, observation: Observation) -> list[Offer]:
        """What the specification calls this input; nothing if it says nothing about it."""
        event, before = observation.event, observation.before
        if isinstance(event, impl.ResponseReceived):
            return self._answer(state, event, before)
        if isinstance(event, impl.TimerExpired):
            return self._expiry(event.timer, observation.now_ms)
        if isinstance(event, impl.Subscribe):
            topics, self.topics = self.topics, tuple(sorted(event.topics))
            if not self.member.value_of(state, "subscribed") or self.topics == topics:
                return [Offer("subscribed_to_topics")]
            return [Offer("subscription_changed", tuple(self.wants(self.in_question(state, before.owned)).items()))]
        if isinstance(event, impl.Poll) and event.raises:
            return [Offer("poll_raised")]
        if isinstance(event, impl.FetchCommitted):
            self.questions.append(Question(event.future_id, event.deadline_ms))
        return [Offer(COMMANDS[type(event)])] if type(event) in COMMANDS else []

    def _expiry(self, timer: str, now_ms: int) -> list[Offer]:
        if timer != "offsets_deadline":
            return [Offer(TIMERS[timer])] if timer in TIMERS else []
        expired = [question for question in self.questions if question.deadline_ms <= now_ms]
        self.questions = [question for question in self.questions if question not in expired]
        for question in expired:
            if question.sent is not None:
                question.sent.given_up = True
        return [Offer(TIMERS[timer])] if expired and not self.questions else []

    def _answer(self, state: MemberState, event: impl.ResponseReceived, before: Description) -> list[Offer]:
        sent = self.sent.get(event.request_id)
        if sent is None or not (sent.api in (*WAITING, "OffsetCommit") or is_asked(sent.request)):
            return []
        current = self.is_waited_for(state, sent, before)
        sent.answered = True
        for question in self.questions:
            if question.sent is sent:
                question.sent = None  # it is asked again
        error = _error(event)
        if is_asked(sent.request) and error is ErrorCode.NONE:
            return []
        name = RESPONSES.get((sent.api, error.name)) or RESPONSES[sent.api, "other"]
        if name != "sync_accepted":
            settled = [Offer("requests_settled")] if is_manual_commit(sent.request) and not self.questions else []
            return [Offer(name, (("current", current),)), *settled]
        assigned = _assigned(event)
        owned = set(before.owned)
        told = {
            "revokes_any": bool(owned - assigned),
            "retains_any": bool(owned & assigned),
            "adds_any": bool(assigned - owned),
        }
        fits = all(partition.topic in self.topics for partition in assigned)
        if fits and current:
            self.assigned = tuple(sorted(assigned))
        told |= {"fits_subscription": fits} if fits else {**self.wants(before.owned), "fits_subscription": fits}
        return [Offer(name, (("current", current), *told.items()))]

    def in_question(self, state: MemberState, owned: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
        """What a change of the subscription is about: an assignment that waits for a revocation, or what is owned."""
        return self.assigned if assignment_waits(self.member, state) else owned

    def wants(self, owned: tuple[TopicPartition, ...]) -> dict[str, bool]:
        """What the subscription takes and retains of what is owned."""
        wanted = [partition.topic in self.topics for partition in owned]
        return {"revokes_any": not all(wanted), "retains_any": any(wanted)}


def _error(event: impl.ResponseReceived) -> ErrorCode:
    response = event.response
    if isinstance(response, OffsetCommitResponse) and response.error is ErrorCode.NONE:
        return next((code for code in response.errors.values() if code is not ErrorCode.NONE), ErrorCode.NONE)
    error: ErrorCode = response.error
    return error


def _assigned(event: impl.ResponseReceived) -> set[TopicPartition]:
    assert isinstance(event.response, SyncGroupResponse)
    return set(decode_assignment(event.response.assignment).partitions) if event.response.assignment else set()
