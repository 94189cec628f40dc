"""Which request an answer would answer: what a member has sent, seen from the coordinator's side of the table.

Which requests wait for their answer, which were given up, and what can be answered at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.conformance.stateful.answers import (
    ELSEWHERE,
    assignment_for,
    error_named,
    topics_for,
)
from groupspec.conformance.stateful.translation import EVENTS_OF, Observation, Sent, Translation, is_asked
from groupspec.impl.core.events import Description, SendRequest
from groupspec.impl.core.messages import Response, TopicPartition
from groupspec.impl.scripted import ScriptedCoordinator
from groupspec.spec.compiler.member import Member, MemberState, Offer

_MAY_COMMIT = ("STABLE", "PREPARE_REVOCATION", "REVOKING_PARTITION", "ASSIGNING_PARTITIONS")


@dataclass
class Correspondence:
    """The requests of one member, and the coordinator that answers them."""

    member: Member
    translation: Translation
    coordinator: ScriptedCoordinator

    def can_answer(self, offer: Offer, state: MemberState, now: Description) -> bool:
        """Whether there is, or could be, a request that this answers."""
        api = api_answered_by(offer)
        if not is_current(offer):
            return self.abandoned(api, state, now) is not None
        if offer.event == "sync_accepted":
            return self.assignment(offer, now) is not None
        if api == "OffsetFetch":
            return self.asked() is not None or "offsets_backoff" in now.timers_ms
        return api != "OffsetCommit" or self.commit(state, now) is not None or self._could_commit(state, now)

    def waiting(self, api: str, state: MemberState, now: Description) -> Sent | None:
        """The request whose answer is waited for."""
        if api == "OffsetFetch":
            return self.asked()
        return self.commit(state, now) if api == "OffsetCommit" else self.translation.newest(api)

    def asked(self) -> Sent | None:
        """The question for a committed offset that waits for its answer."""
        sent = self.translation.sent.values()
        return next((s for s in sent if is_asked(s.request) and not s.answered and not s.given_up), None)

    def commit(self, state: MemberState, now: Description) -> Sent | None:
        """The commit whose answer is waited for: the one before a rebalance, else one of the application's."""
        commits = [s for s in self.translation.sent.values() if s.api == "OffsetCommit"]
        return next((s for s in commits if self.translation.is_waited_for(state, s, now)), None)

    def abandoned(self, api: str, state: MemberState, now: Description) -> Sent | None:
        """A request that went out and is waited for no more."""
        unanswered = [s for s in self.translation.sent.values() if s.api == api and not s.answered]
        if api == "OffsetFetch":
            unanswered = [s for s in unanswered if is_asked(s.request)]
        return next((s for s in unanswered if not self.translation.is_waited_for(state, s, now)), None)

    def _could_commit(self, state: MemberState, now: Description) -> bool:
        """Whether the application could commit now, so that there is something to answer."""
        value = self.member.value_of
        is_free = value(state, "commit_step") == "none" and bool(value(state, "coordinator_known"))
        is_member = value(state, "identity") == "member" and bool(now.owned)
        return is_free and is_member and now.rebalance in _MAY_COMMIT

    def assignment(self, offer: Offer, now: Description) -> tuple[TopicPartition, ...] | None:
        """An assignment that takes, retains and gains as the event says; None if there is none."""
        told = dict(offer.inputs)
        if not told["fits_subscription"]:
            return (ELSEWHERE,) if self.topics(offer, now) is not None else None
        topics = self.translation.topics
        return assignment_for(
            now.owned, topics, bool(told["revokes_any"]), bool(told["retains_any"]), bool(told["adds_any"])
        )

    def topics(self, offer: Offer, now: Description) -> tuple[str, ...] | None:
        """Other topics than before, which take and retain of what is owned as the event says.

        None if there are none.
        """
        told = dict(offer.inputs)
        return topics_for(now.owned, self.translation.topics, bool(told["revokes_any"]), bool(told["retains_any"]))

    def can_change_topics(self, offer: Offer, state: MemberState, now: Description) -> bool:
        """Whether there is a subscription, and another one that takes and retains as the event says."""
        return bool(self.member.value_of(state, "subscribed")) and self.topics(offer, now) is not None

    def topics_before(self, offer: Offer, now: Description) -> tuple[str, ...] | None:
        """The topics to subscribe to before the answer, so that an assignment that does not fit revokes as stated."""
        told = dict(offer.inputs)
        if offer.event != "sync_accepted" or told["fits_subscription"] or not is_current(offer) or not now.owned:
            return None
        wants = self.translation.wants(now.owned)
        so = told["revokes_any"] == wants["revokes_any"] and (
            not told["revokes_any"] or told["retains_any"] == wants["retains_any"]
        )
        return None if so else self.topics(offer, now)

    def response(self, sent: Sent, offer: Offer, variant: int, now: Description) -> Response:
        """The answer to a request that means this event; `variant` picks one of the errors that do."""
        meanings = EVENTS_OF[offer.event]
        api, error_name = meanings[variant % len(meanings)]
        assigned = self.assignment(offer, now) if offer.event == "sync_accepted" else ()
        return self.coordinator.answer(sent.request, error_named(api, error_name), assigned or ())

    def register(self, record: list[Observation]) -> None:
        """Requests that were sent in this very event are not known to the lockstep yet."""
        for observation in record:
            for output in observation.outputs:
                if isinstance(output, SendRequest) and output.request_id not in self.translation.sent:
                    self.translation.note_sent(output, observation.after)


def api_answered_by(offer: Offer) -> str:
    """The request that this event answers."""
    return EVENTS_OF[offer.event][0][0]


def is_current(offer: Offer) -> bool:
    """Whether the answer comes in time."""
    return bool(dict(offer.inputs)["current"])
