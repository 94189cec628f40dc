"""Which request an answer would answer, and what it would say: errors by their names, assignments and subscriptions.

Which requests wait for their answer, which were given up, and what can be answered at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, islice

from groupspec.conformance.stateful.translation import EVENTS_OF, Observation, Sent, Translation, is_asked
from groupspec.impl.core.events import Description, SendRequest
from groupspec.impl.core.messages import ErrorCode, Response, TopicPartition
from groupspec.impl.scripted import ScriptedCoordinator
from groupspec.spec.compiler.member import Member, MemberState, Offer

TOPIC = "orders"
TOPICS = (TOPIC, "bills", "trips", "users")
"""What a member subscribes to: several, so that it can go on without some of them."""
PARTITIONS = tuple(TopicPartition(TOPIC, number) for number in range(64))
ELSEWHERE = TopicPartition("elsewhere", 0)
"""Of a topic that nobody subscribes to."""
GAINED_AT_ONCE = 4
OTHER = {
    "FindCoordinator": ErrorCode.UNKNOWN_SERVER_ERROR,
    "JoinGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "SyncGroup": ErrorCode.UNKNOWN_SERVER_ERROR,
    "Heartbeat": ErrorCode.INVALID_REQUEST,
    "OffsetCommit": ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""An error that the request's table does not name, for each request."""

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
        """An assignment that takes, retains and gains as the event says; None if there is none.

        One partition can't be halved, and what is of a topic no longer subscribed to can't be kept.
        """
        told, owned, topics = dict(offer.inputs), now.owned, self.translation.topics
        if not told["fits_subscription"]:
            return (ELSEWHERE,) if self.topics(offer, now.owned) is not None else None
        every = (TopicPartition(topic, p.partition) for p in PARTITIONS for topic in topics)
        gained = tuple(islice((p for p in every if p not in owned), GAINED_AT_ONCE)) if told["adds_any"] else ()
        wanted = tuple(partition for partition in owned if partition.topic in topics)
        if not owned:
            return gained
        if not told["revokes_any"]:
            return (*owned, *gained) if wanted == owned else None
        if not told["retains_any"]:
            return gained
        kept = wanted[1:] if wanted == owned else wanted
        return (*kept, *gained) if kept else None

    def topics(self, offer: Offer, owned: tuple[TopicPartition, ...]) -> tuple[str, ...] | None:
        """Other topics than before, which take and retain of `owned` as the event says; None if there are none.

        Nothing is taken: no topic goes, for one whose first partition is only being assigned would be taken later.
        """
        told, before = dict(offer.inputs), self.translation.topics
        have = {partition.topic for partition in owned}
        spare = next(name for number in count() if (name := f"spare-{number}") not in {*before, *have})
        if not told["revokes_any"] or not have:
            return tuple(sorted({*TOPICS, *before, *have, spare}))
        if told["retains_any"] and len(have) == 1:
            return None
        return tuple(sorted({*TOPICS, spare} - ({min(have)} if told["retains_any"] else have)))

    def can_change_topics(self, offer: Offer, state: MemberState, now: Description) -> bool:
        """Whether there is a subscription, and another one that takes and retains as the event says."""
        return bool(self.member.value_of(state, "subscribed")) and self.changed_topics(offer, state, now) is not None

    def changed_topics(self, offer: Offer, state: MemberState, now: Description) -> tuple[str, ...] | None:
        """Other topics than before, for a change of the subscription."""
        return self.topics(offer, self.translation.in_question(state, now.owned))

    def topics_before(self, offer: Offer, now: Description) -> tuple[str, ...] | None:
        """The topics to subscribe to before the answer, so that an assignment that does not fit revokes as stated."""
        told = dict(offer.inputs)
        if offer.event != "sync_accepted" or told["fits_subscription"] or not is_current(offer) or not now.owned:
            return None
        wants = self.translation.wants(now.owned)
        so = told["revokes_any"] == wants["revokes_any"] and (
            not told["revokes_any"] or told["retains_any"] == wants["retains_any"]
        )
        return None if so else self.topics(offer, now.owned)

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


def error_named(api: str, name: str) -> ErrorCode:
    """The error code of a name in the table of answers; "other" stands for one that has no name there."""
    return OTHER[api] if name == "other" else ErrorCode[name]
