"""The reference coordinators, fed with a history, or driven by a drawer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupspec.conformance.differential.drawing import Draws
from groupspec.conformance.differential.history import History, Sent, as_received, as_sent
from groupspec.impl.broker.coordinators import Answers, Coordinators
from groupspec.impl.coordinator.context import Choose, Handle
from groupspec.impl.coordinator.group import Group
from groupspec.impl.coordinator.settings import Settings

NODES: Final = 2


NewId = Callable[[str, Handle], str]
"""The member id that a JoinGroup gets: of its client id or instance id, and its handle."""


def numbered(prefix: str, handle: Handle) -> str:
    """An id that depends on the request alone."""
    return f"{prefix}-{handle}"


def smallest(what: str, generation: int, possible: tuple[str, ...]) -> str:
    """A choice that does not depend on any order."""
    del what, generation
    return min(possible)


class ReferenceGroup:
    """One group, alone on a cluster of two nodes, at first on node 1; in virtual time. Answers go into `history`."""

    def __init__(
        self,
        group_id: str,
        settings: Settings,
        new_id: NewId = numbered,
        choose: Choose = smallest,
    ) -> None:
        self.history = History()
        self._group_id = group_id
        self._coordinators = Coordinators(NODES, settings, lambda topic: 1, new_id=new_id, choose=choose)
        self._sent: dict[Handle, Sent] = {}

    @property
    def group(self) -> Group | None:
        """The group as its coordinator has it."""
        return self._coordinators.group(self._group_id)

    def phase_deadline_ms(self) -> int | None:
        """When the join phase or the sync phase ends at the latest."""
        return self._coordinators.phase_deadline_ms(self._group_id)

    def next_deadline_ms(self) -> int | None:
        """The next timer's."""
        return self._coordinators.next_deadline_ms()

    def send(self, sent: Sent) -> list[Handle]:
        """A request; which requests are answered by it, in order."""
        self.history.sent.append(sent)
        self._sent[sent.handle] = sent
        answers = self._coordinators.ask(sent.handle, sent.request, sent.node, sent.caller, sent.at_ms)
        return self._take(answers, sent.at_ms)

    def advance(self, now_ms: int) -> list[Handle]:
        """Run the timers that are due, each at its time; which requests are answered by it."""
        answered = []
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now_ms:
            answered += self._take(self._coordinators.advance(deadline_ms), deadline_ms)
        self.history.ends_at_ms = now_ms
        return answered

    def begin_move(self, node: int, now_ms: int) -> list[Handle]:
        """This node begins to read the groups; which requests are answered by it."""
        return self._take(self._coordinators.begin_move(node, now_ms), now_ms)

    def end_move(self, now_ms: int) -> list[Handle]:
        """The node has the groups; which requests are answered by it."""
        return self._take(self._coordinators.end_move(now_ms), now_ms)

    def _take(self, answers: Answers, now_ms: int) -> list[Handle]:
        for handle, response in answers.items():
            sent = self._sent[handle]
            self.history.answer(handle, as_received(sent.request, response, sent.caller), now_ms)
        return list(answers)


def next_sent(drawer: Draws, at_ms: int, coordinator: int = 1) -> Sent:
    """What the drawer draws, as it arrives at this node, or at another one."""
    handle, request, caller = drawer.draw()
    node = NODES + 1 - coordinator if drawer.goes_astray() else coordinator
    return Sent(at_ms, handle, as_sent(request, caller), caller, node)
