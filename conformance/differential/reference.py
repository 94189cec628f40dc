"""The reference coordinator, fed with a history, or driven by a drawer."""

from __future__ import annotations

from collections.abc import Callable

from groupspec.conformance.differential.drawing import Drawer
from groupspec.conformance.differential.history import History, Sent, as_received, as_sent
from groupspec.impl.coordinator.context import Answered, Choose, Handle, Output
from groupspec.impl.coordinator.coordinator import Coordinator, settle
from groupspec.impl.coordinator.group import Group
from groupspec.impl.coordinator.log import Log
from groupspec.impl.coordinator.settings import Settings


def smallest(what: str, generation: int, possible: tuple[str, ...]) -> str:
    """A choice that does not depend on any order."""
    del what, generation
    return min(possible)


class ReferenceGroup:
    """One group, alone on its coordinator, in virtual time. Answers go into `history`."""

    def __init__(
        self,
        group_id: str,
        settings: Settings,
        new_id: Callable[[str, Handle], str] = lambda prefix, handle: f"{prefix}-{handle}",
        choose: Choose = smallest,
    ) -> None:
        self.history = History()
        self._group_id = group_id
        self._log = Log(settings.offsets_partitions)
        self._coordinator = Coordinator(settings, new_id, choose)
        for partition in range(settings.offsets_partitions):
            self._coordinator.load(partition)
            self._coordinator.loaded(partition, (), 0)
        self._sent: dict[Handle, Sent] = {}

    @property
    def group(self) -> Group | None:
        """The group as the coordinator has it."""
        return self._coordinator.group(self._group_id)

    def phase_deadline_ms(self) -> int | None:
        """When the join phase or the sync phase ends at the latest."""
        return self._coordinator.phase_deadline_ms(self._group_id)

    def next_deadline_ms(self) -> int | None:
        """The next timer's."""
        return self._coordinator.next_deadline_ms()

    def send(self, sent: Sent) -> list[Handle]:
        """A request; which requests are answered by it, in order."""
        self.history.sent.append(sent)
        self._sent[sent.handle] = sent
        outputs = self._coordinator.handle(sent.handle, sent.request, sent.caller, sent.at_ms)
        return self._take(outputs, sent.at_ms)

    def advance(self, now_ms: int) -> list[Handle]:
        """Run the timers that are due, each at its time; which requests are answered by it."""
        answered = []
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now_ms:
            answered += self._take(self._coordinator.advance(deadline_ms), deadline_ms)
        self.history.ends_at_ms = now_ms
        return answered

    def _take(self, outputs: list[Output], now_ms: int) -> list[Handle]:
        answered = []
        for output in settle(self._coordinator, outputs, self._log, now_ms):
            assert isinstance(output, Answered)
            sent = self._sent[output.handle]
            self.history.answer(output.handle, as_received(sent.request, output.response, sent.caller), now_ms)
            answered.append(output.handle)
        return answered


def next_sent(drawer: Drawer, at_ms: int) -> Sent:
    """What the drawer draws, as it arrives."""
    handle, request, caller = drawer.draw()
    return Sent(at_ms, handle, as_sent(request, caller), caller)
