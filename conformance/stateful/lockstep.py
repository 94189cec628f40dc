"""Model and implementation side by side: after every input both must be in the same state, and have said the same.

An *adapter* brings an event about in an implementation; a *probe* sits at the implementation's own front door and
writes down every input that passes it, what came out, and how the implementation then describes itself. The model
follows these inputs, not the intentions: when a driver with threads does something by itself, such as firing a
second timer, the model is told of that too.

What is compared after each input: the states of the member's three machines (rebalance, timeouts, connection),
ownership, identity, and which timers run; and after each event, what was sent. Everything observed comes from
`describe()` and from outputs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from groupspec.conformance.stateful.core_adapter import CoreAdapter
from groupspec.conformance.stateful.exploration import Goal
from groupspec.conformance.stateful.translation import Observation, is_manual_commit
from groupspec.impl.core import events as impl
from groupspec.impl.core.events import Description
from groupspec.impl.scripted import api_of
from groupspec.spec.compiler.member import IllegalEvent, Member, MemberState, Move, Offer
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import CONSUMER_EVENTS, REQUESTS


class Divergence(AssertionError):
    """The implementation did something else than the specification says."""


@dataclass
class LockstepRun:
    """One run of a machine beside an implementation.

    Attributes:
        state: Where the machine is.
        history: What has happened, to be read in a failure.
        moves: Every row that has fired.
    """

    member: Member
    state: MemberState
    history: list[str] = field(default_factory=list, init=False)
    moves: list[Move] = field(default_factory=list, init=False)

    def offer(self, offer: Offer, variant: int = 0) -> bool:
        """Let one event happen on both sides. False: it can't be brought about now, and nothing has happened."""
        raise NotImplementedError

    def react(self, offer: Offer) -> tuple[str, ...]:
        """The machine is told; what it emits.

        Raises:
            IllegalEvent: the machine says that this is impossible.
        """
        reaction = self.member.react(self.state, offer.event, dict(offer.inputs))
        self.state = reaction.state
        self.moves += reaction.moves
        return reaction.emitted

    def value(self, name: str) -> Value:
        """Of a variable."""
        return self.member.value_of(self.state, name)

    def compare(self, what: str, expected: object, observed: object) -> None:
        """Divergence: they differ."""
        if expected != observed:
            raise self.divergence(what, expected, observed)

    def divergence(self, what: str, expected: object, observed: object) -> Divergence:
        """A failure, with everything that has happened."""
        story = "\n  ".join(self.history)
        return Divergence(
            f"{what}\n the specification says: {expected}\n the implementation says: {observed}\n"
            f"after ({self.configuration()})\n  {story}"
        )

    def configuration(self) -> str:
        """Of the member."""
        return self.member.rebalance

    def time_passes(self) -> None:
        """No timer is this machine's, or its timers are events."""

    def end(self) -> None:
        """Take the implementation down, if there is anything to take down."""

    def fired(self) -> list[Goal]:
        """(machine, row) of every transition that has fired, in order."""
        return [(move.machine, move.row.id) for move in self.moves if move.row.kind == "transition"]


@dataclass
class Lockstep(LockstepRun):
    """One run of model and implementation together."""

    adapter: CoreAdapter

    def offer(self, offer: Offer, variant: int = 0, illegal: bool | None = None) -> bool:
        """Let one event happen on both sides. False: it can't be brought about now, and nothing has happened.

        `illegal`: bring it about as an answer to nothing; None leaves it to the model to say whether it is one.

        Raises:
            Divergence: they differ.
        """
        if illegal is None:
            illegal = self._is_illegal(offer)
        if not self.adapter.can(offer, self.state, illegal):
            return False
        self.history.append(str(offer) + (" (illegal)" if illegal else ""))
        self._follow_all(self.adapter.perform(offer, variant, self.state, illegal))
        return True

    def time_passes(self) -> None:
        """Let the timers that are due next expire, in their own order.

        Raises:
            Divergence: model and implementation make different things of it.
        """
        self.history.append("time passes")
        self._follow_all(self.adapter.pass_time())

    def _follow_all(self, seen: list[Observation]) -> None:
        said: list[str] = []
        expected: list[str] = []
        for observation in seen:
            said += said_of(observation.outputs)
            expected += self._follow(observation)
        if Counter(said) != Counter(expected):
            raise self.divergence("what was sent", expected, said)

    def _is_illegal(self, offer: Offer) -> bool:
        try:
            self.member.react(self.state, offer.event, dict(offer.inputs))
        except IllegalEvent:
            return True
        return False

    def _follow(self, observation: Observation) -> list[str]:
        if observation.refused:
            return self._follow_refusal(observation)
        named = self.adapter.translation.offers(self.state, observation)
        self.adapter.translation.note(observation)
        emitted: list[str] = []
        for offer in named:
            try:
                emitted += (word for word in self.react(offer) if word in COMPARED)
            except IllegalEvent as illegal:
                raise self.divergence(f"the answer to {offer}", f"refused: {illegal}", "accepted") from illegal
        if named:
            self._compare(observation.after, named[0])
        return emitted

    def _follow_refusal(self, observation: Observation) -> list[str]:
        named = self.adapter.translation.unsolicited
        assert named is not None, "only an answer to nothing is refused"
        try:
            self.member.react(self.state, named.event, dict(named.inputs))
        except IllegalEvent:
            if observation.before != observation.after:
                raise self.divergence(
                    f"{named} was refused, but changed", observation.before, observation.after
                ) from None
            return []
        raise self.divergence(f"the answer to {named}", "accepted", "refused as unsolicited")

    def _compare(self, description: Description, named: Offer) -> None:
        observed = observations(description)
        for what, wanted in expectations(self.member, self.state).items():
            self.compare(f"{what} after {named}", wanted, observed[what])

    def configuration(self) -> str:
        """The protocol, and the values of the configuration."""
        return f"{self.member.rebalance}, auto_commit={self.value('auto_commit')}, static={self.value('static')}"

    def end(self) -> None:
        """Take the implementation down."""
        self.adapter.end()


COMPARED = {*REQUESTS, *CONSUMER_EVENTS} - {"Fetch"}
"""Words that are compared: what leaves the core. A fetch is the partitions' affair."""


def said_of(outputs: tuple[impl.Output, ...]) -> list[str]:
    """Of what came out, the compared words."""
    said = []
    for output in outputs:
        if isinstance(output, impl.SendRequest):
            if not is_manual_commit(output.request) and (word := api_of(output.request)) in COMPARED:
                said.append(word)
        elif isinstance(output, impl.Error | impl.RevokePartitions | impl.AssignPartitions):
            said.append(output.type)
    return said


def expectations(member: Member, state: MemberState) -> dict[str, object]:
    """What the specification says about the state, in terms that an implementation can be asked about."""

    def value(name: str) -> object:
        return member.value_of(state, name)

    enabled = member.state_of(state, "timeouts") in ("IDLE", "IN_FLIGHT")
    return {
        "connection": member.state_of(state, "connection"),
        "rebalance": member.state_of(state, "rebalance"),
        "heartbeat": member.state_of(state, "timeouts"),
        "owned": value("owned"),
        "identity": value("identity"),
        "subscribed": value("subscribed"),
        "leaving": value("leaving"),
        "fenced": value("fenced"),
        "timer heartbeat": enabled and not value("heartbeat_overdue"),
        "timer poll_interval": enabled and not value("poll_overdue"),
        "timer join_backoff": value("join_backoff"),
        "timer lookup_backoff": value("discovery_wait") == "backoff",
        "timer commit_backoff": value("commit_step") == "backoff",
        "timer commit_deadline": value("commit_step") != "none",
    }


def observations(description: Description) -> dict[str, object]:
    """The same, as an implementation describes itself."""
    identity = "member" if description.generation >= 0 else "id" if description.member_id else "none"
    seen: dict[str, object] = {
        "connection": description.connection,
        "rebalance": description.rebalance,
        "heartbeat": description.heartbeat,
        "owned": bool(description.owned),
        "identity": identity,
        "subscribed": description.subscribed,
        "leaving": description.leaving,
        "fenced": description.fenced,
    }
    for timer in ("heartbeat", "poll_interval", "join_backoff", "lookup_backoff", "commit_backoff", "commit_deadline"):
        seen[f"timer {timer}"] = timer in description.timers_ms
    return seen
