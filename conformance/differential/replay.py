"""What a broker was sent and answered, held against the reference: the same requests at the same times.

What a broker leaves to chance (member ids, and who leads when several may) the reference takes from the broker's
answers. Everything else must be equal, and what was never answered must not be answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from groupspec.conformance.differential.brokers import Broker, Has, Kind, Moment
from groupspec.conformance.differential.history import History, Sent
from groupspec.conformance.differential.reference import ReferenceGroup
from groupspec.impl.coordinator.context import GroupResponse, Handle
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages
from groupspec.impl.core.messages import ErrorCode


@dataclass(frozen=True, slots=True)
class Difference:
    """One answer that differs; None: there is none."""

    handle: Handle
    of_broker: GroupResponse | None
    of_reference: GroupResponse | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first difference, if there is one, and nothing is compared after it. `steps`: requests that were compared.

    Attributes:
        explained: The name of the broker's deviation that is why; "" if the difference has no explanation.
        too_close: A timer was due within the slack of a request or of another. The broker's order is chance from then
            on, and nothing is compared.
    """

    steps: int
    difference: Difference | None = None
    explained: str = ""
    too_close: bool = False


def replay(group_id: str, history: History, broker: Broker, settings: Settings, slack_ms: int) -> Verdict:
    """The first difference between a broker's history and the reference's.

    `slack_ms` 0: no timer matters but those that are due at once. Otherwise nothing is said of what comes after two
    things that were closer to each other than this, plus the longest time that a request of the group took to be
    handled.
    """
    return _Replay(group_id, history, broker, settings, slack_ms).verdict()


class _Replay:
    """One group's requests once more, at the same times, to the reference."""

    def __init__(self, group_id: str, history: History, broker: Broker, settings: Settings, slack_ms: int) -> None:
        self._history = history
        self._broker = broker
        self._slack_ms = slack_ms
        self._chance = Chance(history, broker.order)
        self._reference = ReferenceGroup(group_id, settings, Ids(history).new_id, self._chance.choose)
        self._node, self._is_loading = 1, False
        self._explained = ""  # the latest of the broker's deviations that held

    def verdict(self) -> Verdict:
        """Of all requests, or of those before the first difference."""
        slowest_ms = 0
        for number, sent in enumerate(self._history.sent):
            self._move(number)
            handled_ms = self._history.handled_by_ms[sent.handle] - sent.at_ms
            slowest_ms = max(slowest_ms, handled_ms)
            until_ms = self._advance(sent.at_ms, slowest_ms)
            if until_ms < sent.at_ms:
                return self._verdict(number, until_ms, too_close=True)
            self._send(sent)
            if first_difference(self._history, self._reference.history, sent.at_ms) is not None:
                return self._verdict(number + 1, sent.at_ms)
        ends_at_ms = self._history.ends_at_ms
        until_ms = self._advance(ends_at_ms, slowest_ms)
        return self._verdict(len(self._history.sent), until_ms, too_close=until_ms < ends_at_ms)

    def _verdict(self, steps: int, until_ms: int, too_close: bool = False) -> Verdict:
        difference = first_difference(self._history, self._reference.history, until_ms)
        return Verdict(steps, difference, self._explained if difference is not None else "", too_close)

    def _move(self, before: int) -> None:
        """What has moved the group before the request of this number."""
        for move in self._history.moves:
            if move.before == before:
                self._advance(move.at_ms, 0)
                with self._noted(Kind.MOVE):
                    self._reference.begin_move(move.node, move.at_ms)
                    if not move.is_loading:
                        self._reference.end_move(move.at_ms)
                self._chance.moves += 1
                self._node, self._is_loading = move.node, move.is_loading

    def _send(self, sent: Sent) -> None:
        kind = Kind.ASTRAY if sent.node != self._node else Kind.UNREAD if self._is_loading else Kind.REQUEST
        with self._noted(kind, sent):
            self._reference.send(sent)

    def _run_timer(self, deadline_ms: int) -> None:
        with self._noted(Kind.PHASE_OVER if self._reference.phase_deadline_ms() == deadline_ms else Kind.TIMER):
            self._reference.advance(deadline_ms)

    @contextmanager
    def _noted(self, kind: Kind, sent: Sent | None = None) -> Iterator[None]:
        """Whether what happens inside is where the broker does otherwise."""
        before = Has.of(self._reference.group)
        yield
        answer = self._reference.history.answers.get(sent.handle) if sent is not None else None
        moment = Moment(kind, before, Has.of(self._reference.group), sent, answer)
        for deviation in self._broker.deviations:
            if deviation.holds(moment):
                self._explained = deviation.name

    def _advance(self, until_ms: int, slowest_ms: int) -> int:
        """Let timers run until then, or until something is too close to another; until when both can be compared."""
        slack_ms = self._slack_ms + slowest_ms if self._slack_ms else 0
        reference = self._reference
        while (deadline_ms := reference.next_deadline_ms()) is not None and deadline_ms <= until_ms + slack_ms:
            if slack_ms and deadline_ms > until_ms - slack_ms:
                return min(deadline_ms, until_ms) - slack_ms
            self._run_timer(deadline_ms)
            following_ms = reference.next_deadline_ms()
            if slack_ms and following_ms is not None and following_ms - deadline_ms < slack_ms:
                return deadline_ms - slack_ms
            if not slack_ms and following_ms is not None and following_ms > until_ms:
                break
        return until_ms


def first_difference(history: History, expected: History, now_ms: int) -> Difference | None:
    """Of what either has answered until now. A broker's answers come a little later."""
    for handle, answer in expected.answers.items():
        found = history.answers.get(handle)
        if expected.answered_at_ms[handle] > now_ms:
            continue
        if found is None or plain(found) != plain(answer):
            return Difference(handle, found, answer)
    for handle, answer in history.answers.items():
        if handle not in expected.answers and history.answered_at_ms[handle] < now_ms:
            return Difference(handle, answer, None)
    return None


def plain(answer: GroupResponse) -> GroupResponse:
    """The leader gets the members in any order."""
    if isinstance(answer, messages.JoinGroupResponse):
        return replace(answer, members=tuple(sorted(answer.members, key=lambda member: member.member_id)))
    return answer


class Ids:
    """Member ids, as the broker made them."""

    def __init__(self, history: History) -> None:
        self._answers = history.answers

    def new_id(self, prefix: str, handle: Handle) -> str:
        """The id that this JoinGroup brought, if it was ever told."""
        answer = self._answers.get(handle)
        told = answer.member_id if isinstance(answer, messages.JoinGroupResponse) else ""
        return told or f"{prefix}-{handle}-never-told"


class Chance:
    """Who led each generation, as the broker answered first; of protocols with as many votes the first in its order.

    A generation that was lost when the group moved comes again. `moves`: how often the group has moved. Without an
    `order` the protocol is any that the broker says.
    """

    def __init__(self, history: History, order: Callable[[str], int] | None = None) -> None:
        self.moves = 0
        self._order = order
        self._protocols: dict[tuple[int, int], str] = {}
        self._led: dict[tuple[int, int], str] = {}
        self._members: dict[tuple[int, int], set[str]] = {}
        self._instances: dict[str, str | None] = {}
        for sent in history.sent:
            answer = history.answers.get(sent.handle)
            if not isinstance(sent.request, messages.JoinGroupRequest):
                continue
            if isinstance(answer, messages.JoinGroupResponse) and answer.error is ErrorCode.NONE:
                self._instances[answer.member_id] = sent.request.group_instance_id
        for handle, answer in history.answers.items():
            if isinstance(answer, messages.JoinGroupResponse) and answer.error is ErrorCode.NONE:
                at_ms = history.answered_at_ms[handle]
                key = sum(move.at_ms <= at_ms for move in history.moves), answer.generation
                self._led.setdefault(key, answer.leader)
                self._protocols.setdefault(key, answer.protocol_name)
                if answer.members:
                    self._members.setdefault(key, {member.member_id for member in answer.members})

    def choose(self, what: str, generation: int, possible: tuple[str, ...]) -> str:
        """What the broker chose.

        A leader that was chosen before the generation began may be none by then. It may be the same static member under
        an earlier id, or else somebody who was removed: sooner one whom no process of the same static member has
        followed, since that would lead in its place, unless it joined as a new member.
        """
        if what == "protocol":
            if self._order is not None:
                return min(possible, key=self._order)
            chosen = self._protocols.get((self.moves, generation), "")
            return chosen if chosen in possible else min(possible)
        told = self._led.get((self.moves, generation), "")
        if told in possible:
            return told
        instance = self._instances.get(told)
        earlier = [each for each in possible if instance is not None and self._instances.get(each) == instance]
        members = self._members.get((self.moves, generation), set(possible))
        theirs = {self._instances.get(each) for each in members} - {None}
        removed = [each for each in possible if each not in members]
        gone = [each for each in removed if self._instances.get(each) not in theirs]
        return (earlier or gone or removed or sorted(possible))[0]
