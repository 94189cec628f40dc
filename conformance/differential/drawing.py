"""What the members of one group send, drawn from a seed: mostly what a client would do next, and all that it must not.

An actor is one client, or what is left of one: it remembers ids that it had, and sends old requests again. What it does
depends on the answers, so the same seed and the same answers give the same requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Protocol

from msgspec import structs

from groupspec.impl.coordinator.context import Caller, GroupRequest, GroupResponse, Handle
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode, LeavingMember, OffsetAndMetadata, TopicPartition

PLACE: Final = TopicPartition("drawn", 0)
"""What commits are for where nobody says otherwise; the topic has to exist."""

PROTOCOLS: Final = (
    (("range", b"\1"), ("roundrobin", b"\2")),
    (("range", b"\1"), ("roundrobin", b"\2")),
    (("range", b"\3"), ("roundrobin", b"\4")),
    (("roundrobin", b"\2"), ("range", b"\1")),
    (("range", b"\1"),),
    (("roundrobin", b"\2"),),
)
STRANGE: Final = ((("sticky", b"\5"),), ())
_REJOINS: Final = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)
_FORGETS: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)


@dataclass(frozen=True, slots=True)
class Pace:
    """How time passes. Between steps `step_ms`; timeouts are drawn from these, plus a little of each actor's own.

    `astray`: the share of requests that go to a node that has not the group.
    """

    step_ms: int = 10
    sessions_ms: tuple[int, ...] = (600_000,)
    rebalances_ms: tuple[int, ...] = (1_200_000,)
    apart_ms: int = 0
    astray: float = 0.0
    outside_ms: int = 1_800_001


@dataclass(eq=False)
class Actor:
    """One client. `is_lazy`: as a follower it does not send SyncGroup."""

    name: str
    instance: str | None
    version: int
    session_ms: int
    rebalance_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    is_lazy: bool
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leads: bool = False
    members: tuple[str, ...] = ()
    is_joined: bool = False
    is_synced: bool = False
    old_ids: list[str] = field(default_factory=list)


class Draws(Protocol):
    """Where a group's requests come from."""

    def draw(self) -> tuple[Handle, GroupRequest, Caller]:
        """The next one; its handle is new."""

    def goes_astray(self) -> bool:
        """Whether it goes to a node that has not the group."""

    def learn(self, handle: Handle, response: GroupResponse) -> None:
        """An answer has come."""


class Drawer:
    """Draws the requests of one group; commits are for `place`."""

    def __init__(self, group_id: str, seed: int, pace: Pace, actors: int = 4, place: TopicPartition = PLACE) -> None:
        self._group_id = group_id
        self._place = place
        self._random = Random(seed)
        self._pace = pace
        self._handles = 0
        self._asked: dict[Handle, Actor] = {}
        self._actors = [self._new_actor(number) for number in range(actors)]
        self._order = 0.0  # how often a client does what it should: differs between groups
        self._order = self._random.choice((0.5, 0.75, 0.9))

    def _new_actor(self, number: int) -> Actor:
        random = self._random
        instance = random.choice((None, None, None, "i", "j"))
        apart_ms = self._pace.apart_ms * (number + 1)
        return Actor(
            f"c{number}",
            instance,
            random.randint(5 if instance else 0, 9),
            random.choice(self._pace.sessions_ms) + apart_ms,
            random.choice(self._pace.rebalances_ms),
            random.choice(PROTOCOLS[:4]),
            random.random() < 0.15,
        )

    # Requests --------------------------------------------------------------------------------------------------------

    def draw(self) -> tuple[Handle, GroupRequest, Caller]:
        """The next request; its handle is new. Where timeouts are short, some ask for an id and never come back."""
        if self._pace.apart_ms and self._random.random() < 0.06:
            actor = replace(self._new_actor(0), name="passer-by", instance=None, version=9)
            request = self._join(actor)
        else:
            actor = self._random.choice(self._actors)
            orderly = self._random.random() < self._order
            request = self._next_of(actor) if orderly else self._any_of(actor)
        self._handles += 1
        self._asked[self._handles] = actor
        return self._handles, request, Caller(self._version(request, actor), actor.name)

    def goes_astray(self) -> bool:
        """Whether the request that was drawn goes to a node that has not the group."""
        return self._pace.astray > 0 and self._random.random() < self._pace.astray

    def _next_of(self, actor: Actor) -> GroupRequest:
        """What a client would do now, and what clears up after it."""
        if actor.old_ids and self._random.random() < 0.2:
            return messages.LeaveGroupRequest(self._group_id, actor.old_ids.pop(0), None)
        if not actor.is_joined:
            return self._join(actor)
        if not actor.is_synced:
            return self._heartbeat(actor) if actor.is_lazy and not actor.leads else self._sync(actor)
        drawn = self._random.random()
        if drawn < 0.55:
            return self._heartbeat(actor)
        if drawn < 0.75:
            return self._commit(actor)
        if drawn < 0.85:
            return self._join(actor)
        return self._leave(actor) if drawn < 0.92 else self._sync(actor)

    def _any_of(self, actor: Actor) -> GroupRequest:
        """Any request, with anything in it that a broker must look at."""
        makers = (self._join, self._join, self._sync, self._heartbeat, self._commit, self._leave, self._fetch)
        request = self._random.choice(makers)(actor)
        if isinstance(request, messages.OffsetFetchRequest):
            return request
        if self._random.random() < 0.4:
            request = structs.replace(request, member_id=self._some_id(actor))
        if self._random.random() < 0.15:
            request = structs.replace(request, group_instance_id=self._random.choice((None, "i", "j", "k")))
        with_generation = (messages.SyncGroupRequest, messages.HeartbeatRequest, messages.OffsetCommitRequest)
        if isinstance(request, with_generation) and self._random.random() < 0.25:
            request = structs.replace(request, generation=actor.generation + self._random.choice((-1, 1, 7)))
        return request

    def _some_id(self, actor: Actor) -> str:
        known = [each.member_id for each in self._actors if each.member_id]
        return self._random.choice(["", "stranger", *known, *actor.old_ids[-2:]])

    def _join(self, actor: Actor) -> GroupRequest:
        if self._random.random() < 0.1:
            actor.protocols = self._random.choice(PROTOCOLS)
        protocols, session_ms, protocol_type = actor.protocols, actor.session_ms, "consumer"
        strange = self._random.random()
        if strange < 0.02:
            protocols = self._random.choice(STRANGE)
        elif strange < 0.04:
            session_ms = self._pace.outside_ms
        elif strange < 0.05:
            protocol_type = "connect"
        return messages.JoinGroupRequest(
            self._group_id, session_ms, actor.rebalance_ms, actor.member_id, actor.instance, protocols,
            protocol_type=protocol_type,
        )  # fmt: skip

    def _sync(self, actor: Actor) -> GroupRequest:
        protocol: str | None = actor.protocol or "range"
        if self._random.random() < 0.03:
            protocol = self._random.choice(("sticky", "", None))
        chosen = [each for each in actor.members if self._random.random() < 0.9]
        assignments = tuple((each, bytes((number, actor.generation % 256))) for number, each in enumerate(chosen))
        return messages.SyncGroupRequest(
            self._group_id, actor.generation, actor.member_id, actor.instance, protocol, assignments
        )

    def _heartbeat(self, actor: Actor) -> GroupRequest:
        return messages.HeartbeatRequest(self._group_id, actor.generation, actor.member_id, actor.instance)

    def _commit(self, actor: Actor) -> GroupRequest:
        offsets = {self._place: OffsetAndMetadata(self._random.randrange(1000), "m")}
        if self._random.random() < 0.1:
            return messages.OffsetCommitRequest(self._group_id, -1, "", None, offsets)
        return messages.OffsetCommitRequest(self._group_id, actor.generation, actor.member_id, actor.instance, offsets)

    def _fetch(self, actor: Actor) -> GroupRequest:
        return messages.OffsetFetchRequest(self._group_id, (self._place,), require_stable=False)

    def _leave(self, actor: Actor) -> GroupRequest:
        request = messages.LeaveGroupRequest(self._group_id, actor.member_id, actor.instance)
        drawn = self._random.random()
        if drawn < 0.1:
            request = structs.replace(request, member_id="", group_instance_id=self._random.choice(("i", "j", None)))
        elif drawn < 0.2:
            other = self._random.choice(self._actors)
            request = structs.replace(request, others=(LeavingMember(other.member_id, other.instance),))
        elif drawn < 0.5:
            everybody = (LeavingMember(each.member_id, None) for each in self._actors if each is not actor)
            request = structs.replace(request, others=tuple(everybody))
        return request

    def _version(self, request: GroupRequest, actor: Actor) -> int:
        """A version that has the fields that the request needs."""
        static = getattr(request, "group_instance_id", None) is not None
        match request:
            case messages.JoinGroupRequest():
                return max(actor.version, 5 if static else 0)
            case messages.SyncGroupRequest():
                return self._random.randint(3 if static else 0, 5)
            case messages.HeartbeatRequest():
                return self._random.randint(3 if static else 0, 4)
            case messages.LeaveGroupRequest():
                return self._random.randint(3 if static or request.others else 0, 5)
            case messages.OffsetCommitRequest():
                return self._random.randint(7 if static else 2, 9)
            case _:
                return self._random.randint(1, 7)

    # Answers ---------------------------------------------------------------------------------------------------------

    def learn(self, handle: Handle, response: GroupResponse) -> None:
        """An answer: what its actor makes of it."""
        actor = self._asked[handle]
        error = response.error
        if isinstance(response, messages.OffsetCommitResponse):
            error = next(iter(response.errors.values()), error)
        if isinstance(response, messages.JoinGroupResponse):
            self._learn_join(actor, response)
        elif isinstance(response, messages.SyncGroupResponse) and error is ErrorCode.NONE:
            actor.is_synced = True
        elif isinstance(response, messages.LeaveGroupResponse) and error is ErrorCode.NONE:
            self._forget(actor)
        if error in _FORGETS and not isinstance(response, messages.LeaveGroupResponse):
            self._forget(actor)
        elif error in _REJOINS:
            actor.is_joined = actor.is_synced = False

    def _learn_join(self, actor: Actor, response: messages.JoinGroupResponse) -> None:
        if response.member_id and response.error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            if actor.member_id and actor.member_id != response.member_id:
                actor.old_ids.append(actor.member_id)
            actor.member_id = response.member_id
        if response.error is ErrorCode.NONE:
            actor.generation, actor.protocol = response.generation, response.protocol_name
            actor.leads = response.leader == response.member_id
            actor.members = tuple(sorted(member.member_id for member in response.members))
            actor.is_joined, actor.is_synced = True, False

    @staticmethod
    def _forget(actor: Actor) -> None:
        if actor.member_id:
            actor.old_ids.append(actor.member_id)
        actor.member_id, actor.is_joined, actor.is_synced = "", False, False
