"""One group's history at a broker, held against the group's table: which cells were seen, and where an answer differs.

The reference coordinator hears the same beside the table: where the two differ it is known why (`compare.EXPLANATIONS`:
Kafka does other than the table says), and a broker that answers there as the reference does has a *known* difference.
What a broker leaves to chance is taken from its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.differential.brokers import Broker, Deviation, Kind, Moment
from groupspec.conformance.differential.brokers import Has as GroupHas
from groupspec.conformance.differential.compare import EXPLANATIONS, Step, has_reference, has_table, quirks_of
from groupspec.conformance.differential.history import History, Sent
from groupspec.conformance.differential.reference import ReferenceGroup
from groupspec.conformance.differential.replay import Chance, Difference, Ids, first_difference, plain
from groupspec.conformance.differential.table import TableGroup, UnknownInput
from groupspec.impl.coordinator.context import GroupResponse
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core import messages

Cell = tuple[str, str]
"""State and event of the group's table."""
EVENTS: Final = {
    messages.JoinGroupRequest: "group_join",
    messages.SyncGroupRequest: "group_sync",
    messages.HeartbeatRequest: "group_heartbeat",
    messages.OffsetCommitRequest: "group_commit",
    messages.LeaveGroupRequest: "group_leave",
}


@dataclass(frozen=True, slots=True)
class Breach:
    """An answer that is not the table's.

    Attributes:
        requests: How many had been sent by then; the last one, or the time after it, shows it.
        difference: Of which request, what was answered and what the table says; None: no answer.
        known: Why, if that is known.
        made_by: Which of Kafka's classes makes it, if it is known.
    """

    cell: Cell
    requests: int
    difference: Difference
    known: str = ""
    made_by: str = ""

    @property
    def kind(self) -> tuple[object, ...]:
        """What two breaches have in common that are one and the same."""
        found, said = (_short(each) for each in (self.difference.of_broker, self.difference.of_reference))
        return self.cell, found, said


@dataclass
class GroupVerdict:
    """What the history of one group says.

    Attributes:
        passed: How often each cell was met and answered as the table says.
        breaches: At most one is not known, and the last: nothing is compared after it.
    """

    passed: Counter[Cell] = field(default_factory=Counter)
    breaches: list[Breach] = field(default_factory=list)

    @property
    def unknown(self) -> Breach | None:
        """The breach that nothing explains."""
        return next((each for each in self.breaches if not each.known), None)


def judge_group(group_id: str, history: History, settings: Settings, slack_ms: int, kafka: Broker) -> GroupVerdict:
    """What a broker's answers say of the table's cells.

    `slack_ms` 0: no timer matters but those that are due at once; else nothing is said of what comes after two things
    that were closer to each other. `kafka`: the version whose known differences count. Which protocol of several with
    as many votes is chosen, is the broker's affair: by the order of this version, or by any other.
    """
    found = None
    for order in (kafka.order, None):
        judge = _Judge(group_id, history, settings, slack_ms, kafka.deviations, Chance(history, order))
        judge.judge()
        if found is None or judge.reach > found.reach:
            found = judge
        if found.verdict.unknown is None:
            break
    assert found is not None
    return found.verdict


class _Judge:
    """One group's requests once more, at the same times, to the table and to the reference."""

    def __init__(
        self,
        group_id: str,
        history: History,
        settings: Settings,
        slack_ms: int,
        deviations: Sequence[Deviation],
        chance: Chance,
    ) -> None:
        self.verdict = GroupVerdict()
        self._history = history
        self._slack_ms = slack_ms
        self._deviations = deviations
        self._deviates: Deviation | None = None  # the latest that held
        ids = Ids(history)
        self._table = TableGroup(settings, chance.choose, ids.new_id)
        self._reference = ReferenceGroup(group_id, settings, ids.new_id, chance.choose)
        self._requests = 0

    @property
    def reach(self) -> tuple[bool, int]:
        """How far it came without a breach that nothing explains."""
        return self.verdict.unknown is None, self._requests

    def judge(self) -> None:
        """All requests, or those before the first difference after which nothing can be compared."""
        slowest_ms = 0
        for sent in self._history.sent:
            slowest_ms = max(slowest_ms, self._history.handled_by_ms[sent.handle] - sent.at_ms)
            if not self._advance(sent.at_ms, slowest_ms):
                return
            self._requests += 1
            if not self._step(sent, sent.at_ms):
                return
        self._advance(self._history.ends_at_ms, slowest_ms)

    def _advance(self, until_ms: int, slowest_ms: int) -> bool:
        """Let timers run until then; False if something was too close to another, or has ended the comparison."""
        slack_ms = self._slack_ms + slowest_ms if self._slack_ms else 0
        while (deadline_ms := self._table.next_deadline_ms()) is not None and deadline_ms <= until_ms + slack_ms:
            if slack_ms and deadline_ms > until_ms - slack_ms:
                return False
            if not self._step(None, deadline_ms):
                return False
            following_ms = self._table.next_deadline_ms()
            if slack_ms and following_ms is not None and following_ms - deadline_ms < slack_ms:
                return False
        return True

    def _step(self, sent: Sent | None, at_ms: int) -> bool:
        """A request, or the timer that is due; whether the comparison goes on."""
        table, reference = self._table, self._reference
        before, cells, quirks = table.state.name, table.cells.copy(), quirks_of(reference, table)
        had, phase_ms = GroupHas.of(reference.group), reference.phase_deadline_ms()
        by_reference = ([] if sent is None else reference.send(sent)) + reference.advance(at_ms)
        try:
            by_table = ([] if sent is None else table.send(sent)) + table.advance(at_ms)
        except UnknownInput:
            return False
        fired = table.cells - cells
        own = (before, EVENTS[type(sent.request)]) if sent else next(iter(fired), (before, ""))
        kind = Kind.REQUEST if sent is not None else Kind.PHASE_OVER if phase_ms == at_ms else Kind.TIMER
        self._note(kind, had, sent)
        step = Step(
            sent,
            before,
            {handle: reference.history.answers[handle] for handle in by_reference},
            {handle: table.history.answers[handle] for handle in by_table},
            has_reference(reference),
            has_table(table),
            quirks,
        )
        parts = step.reference != step.table or step.reference_has != step.table_has
        explanation = next((each for each in EXPLANATIONS if each.explains(step)), None) if parts else None
        goes_on = not table.is_tied and (not parts or (explanation is not None and not explanation.ends))
        while (difference := first_difference(self._history, table.history, at_ms)) is not None:
            by_now = self._reference.history.answers.get(difference.handle)
            as_kafka = _same(by_now, difference.of_broker) or (by_now is None and self._is_later(difference, at_ms))
            if explanation is not None and as_kafka:
                known, made_by = f"{explanation.name}: {explanation.text}", explanation.made_by
            elif self._deviates is not None:
                known, made_by = f"{self._deviates.name}: {self._deviates.text}", self._deviates.made_by
                goes_on = False
            else:
                known, made_by, goes_on = "", "", False
            self.verdict.breaches.append(Breach(own, self._requests, difference, known, made_by))
            fired.pop(own, None)
            if not goes_on:
                return False
            _excuse(table, difference)
        self.verdict.passed += fired
        return goes_on

    def _is_later(self, difference: Difference, at_ms: int) -> bool:
        """Whether the broker, too, had given no answer yet."""
        return self._history.answered_at_ms.get(difference.handle, at_ms) > at_ms

    def _note(self, kind: Kind, had: GroupHas, sent: Sent | None) -> None:
        """Whether this is where that version of Kafka does otherwise."""
        answer = self._reference.history.answers.get(sent.handle) if sent is not None else None
        moment = Moment(kind, had, GroupHas.of(self._reference.group), sent, answer)
        self._deviates = next((each for each in self._deviations if each.holds(moment)), self._deviates)


def _excuse(table: TableGroup, difference: Difference) -> None:
    """The broker's answer counts as the table's."""
    if difference.of_broker is None:
        del table.history.answers[difference.handle]
    else:
        table.history.answers[difference.handle] = difference.of_broker
        table.history.answered_at_ms.setdefault(difference.handle, 0)


def _same(one: GroupResponse | None, other: GroupResponse | None) -> bool:
    if one is None or other is None:
        return one is other
    return plain(one) == plain(other)


def _short(answer: GroupResponse | None) -> str:
    return "" if answer is None else f"{type(answer).__name__} {error_in(answer)}"


def error_in(answer: GroupResponse) -> str:
    """The error that an answer has, or that of its first partition which has one."""
    errors = answer.errors.values() if isinstance(answer, messages.OffsetCommitResponse) else ()
    return next((each.name for each in (answer.error, *errors) if each), "NONE")
