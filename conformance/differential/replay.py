"""What a broker was sent and answered, held against the reference: the same requests at the same times.

What a broker leaves to chance (member ids, and who leads when several may) the reference takes from the broker's
answers. Everything else must be equal, and what was never answered must not be answered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from groupspec.conformance.differential.history import History
from groupspec.conformance.differential.reference import ReferenceGroup
from groupspec.impl.coordinator.context import GroupResponse, Handle
from groupspec.impl.coordinator.log import java_hash
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
    """The first difference, if there is one. `too_close`: a timer was due within the slack of a request or of another.

    From then on nothing is compared, since the broker's order is chance. `steps`: how many requests were compared.
    """

    steps: int
    difference: Difference | None = None
    too_close: bool = False


def replay(group_id: str, history: History, settings: Settings, slack_ms: int) -> Verdict:
    """The first difference between a broker's history and the reference's.

    `slack_ms` 0: no timer matters but those that are due at once. Otherwise nothing is said of what comes after two
    things that were closer to each other than this, plus the longest time that a request of the group took to be
    handled.
    """
    reference = ReferenceGroup(group_id, settings, _Ids(history).new_id, _Chance(history).choose)
    slowest_ms = 0
    for number, sent in enumerate(history.sent):
        handled_ms = history.handled_by_ms[sent.handle] - sent.at_ms
        slowest_ms = max(slowest_ms, handled_ms) if slack_ms else 0
        until_ms = _advance(reference, sent.at_ms, slack_ms + slowest_ms if slack_ms else 0)
        if until_ms < sent.at_ms:
            return Verdict(number, _difference(history, reference, until_ms), too_close=True)
        reference.send(sent)
        difference = _difference(history, reference, sent.at_ms)
        if difference is not None:
            return Verdict(number + 1, difference)
    until_ms = _advance(reference, history.ends_at_ms, slack_ms + slowest_ms if slack_ms else 0)
    difference = _difference(history, reference, until_ms)
    return Verdict(len(history.sent), difference, too_close=until_ms < history.ends_at_ms)


def _advance(reference: ReferenceGroup, until_ms: int, slack_ms: int) -> int:
    """Let timers run until then, or until something is too close to something else; until when both can be compared."""
    while (deadline_ms := reference.next_deadline_ms()) is not None and deadline_ms <= until_ms + slack_ms:
        if slack_ms and deadline_ms > until_ms - slack_ms:
            return min(deadline_ms, until_ms) - slack_ms
        reference.advance(deadline_ms)
        following_ms = reference.next_deadline_ms()
        if slack_ms and following_ms is not None and following_ms - deadline_ms < slack_ms:
            return deadline_ms - slack_ms
        if not slack_ms and following_ms is not None and following_ms > until_ms:
            break
    return until_ms


def _difference(history: History, reference: ReferenceGroup, now_ms: int) -> Difference | None:
    """Of what either has answered until now. A broker's answers come a little later."""
    for handle, answer in reference.history.answers.items():
        found = history.answers.get(handle)
        if reference.history.answered_at_ms[handle] > now_ms:
            continue
        if found is None or _plain(found) != _plain(answer):
            return Difference(handle, found, answer)
    for handle, answer in history.answers.items():
        if handle not in reference.history.answers and history.answered_at_ms[handle] < now_ms:
            return Difference(handle, answer, None)
    return None


def _plain(answer: GroupResponse) -> GroupResponse:
    """The leader gets the members in any order."""
    if isinstance(answer, messages.JoinGroupResponse):
        return replace(answer, members=tuple(sorted(answer.members, key=lambda member: member.member_id)))
    return answer


class _Ids:
    """Member ids, as the broker made them."""

    def __init__(self, history: History) -> None:
        self._answers = history.answers

    def new_id(self, prefix: str, handle: Handle) -> str:
        """The id that this JoinGroup brought, if it was ever told."""
        answer = self._answers.get(handle)
        told = answer.member_id if isinstance(answer, messages.JoinGroupResponse) else ""
        return told or f"{prefix}-{handle}-never-told"


class _Chance:
    """Who led each generation, as the broker answered first; of protocols with as many votes the one first in Java.

    A `HashMap` with few keys has them in the order of their hashes, folded and cut to four bits.
    """

    def __init__(self, history: History) -> None:
        self._led: dict[int, str] = {}
        self._members: dict[int, set[str]] = {}
        self._instances: dict[str, str | None] = {}
        for sent in history.sent:
            answer = history.answers.get(sent.handle)
            if isinstance(sent.request, messages.JoinGroupRequest) and isinstance(answer, messages.JoinGroupResponse):
                self._instances[answer.member_id] = sent.request.group_instance_id
        for answer in history.answers.values():
            if isinstance(answer, messages.JoinGroupResponse) and answer.error is ErrorCode.NONE:
                self._led.setdefault(answer.generation, answer.leader)
                if answer.members:
                    self._members.setdefault(answer.generation, {member.member_id for member in answer.members})

    def choose(self, what: str, generation: int, possible: tuple[str, ...]) -> str:
        """What the broker chose.

        A leader that was chosen before the generation began may be none by then. It may be the same static member under
        an earlier id, or somebody who was removed.
        """
        if what == "protocol":
            return min(possible, key=lambda name: (java_hash(name) ^ java_hash(name) >> 16) & 15)
        told = self._led.get(generation, "")
        if told in possible:
            return told
        instance = self._instances.get(told)
        earlier = [each for each in possible if instance is not None and self._instances.get(each) == instance]
        gone = [each for each in possible if each not in self._members.get(generation, possible)]
        return (earlier or gone or sorted(possible))[0]
