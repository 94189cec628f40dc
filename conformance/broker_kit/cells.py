"""A verdict for each cell of the group's table, from what many groups said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from groupspec.conformance.broker_kit.judging import Breach, Cell
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.differential.history import History
from groupspec.spec.api import load_machine

INSIDE: Final = {
    "group_assignment_lost": "the log of a broker has to fail for it",
    "group_unloaded": "the group has to move from one broker to another",
    "group_loading": "the group has to move from one broker to another",
    "group_loaded": "the group has to move from one broker to another",
    "group_deleted": "the group has to be deleted while it is driven",
}
"""Events that no request to one broker makes, and what would."""
AWAY: Final = ("Dead", "Loading")
NOTHING: Final = "nothing is due there, which no answer shows"
NOT_MET: Final = "no group came there: more steps, more groups or another seed may"


@dataclass(frozen=True)
class Shown:
    """One breach with the run that shows it.

    Attributes:
        seed: Of the group.
        history: What was sent and answered; the breach shows at its end.
        again: Whether another group did the same.
    """

    breach: Breach
    seed: int
    history: History
    again: bool


@dataclass
class CellVerdict:
    """What is said of one cell.

    Attributes:
        met: How often it was answered as the table says.
        breaches: One of each kind, with the fewest requests.
        counts: How many groups showed each of them.
    """

    cell: Cell
    met: int = 0
    breaches: list[Shown] = field(default_factory=list)
    counts: Counter[tuple[object, ...]] = field(default_factory=Counter)

    @property
    def verdict(self) -> Verdict:
        """FAIL for a breach that nothing explains and that shows again; DEVIATION for known ones."""
        unknown = [each for each in self.breaches if not each.breach.known]
        if any(each.again for each in unknown):
            return Verdict.FAIL
        if unknown:
            return Verdict.INCONCLUSIVE
        if self.breaches:
            return Verdict.DEVIATION
        return Verdict.PASS if self.met else Verdict.UNTESTABLE

    @property
    def reason(self) -> str:
        """Why it is UNTESTABLE or INCONCLUSIVE; "" for other verdicts."""
        state, event = self.cell
        if self.verdict is Verdict.INCONCLUSIVE:
            return "seen once, and not when the same was sent again"
        if self.verdict is not Verdict.UNTESTABLE:
            return ""
        if event in INSIDE:
            return INSIDE[event]
        if state in AWAY:
            return INSIDE["group_loading"]
        kinds = {row.kind for row in load_machine("broker_group", "eager").rows(state, event)}
        return NOTHING if kinds == {"ignored"} else NOT_MET


def every_cell() -> list[Cell]:
    """The cells of the table in which something happens, or is said why nothing does."""
    machine = load_machine("broker_group", "eager")
    cells = ((str(state), str(event)) for state in machine.states for event in machine.events)
    return [cell for cell in cells if any(row.kind != "error" for row in machine.rows(*cell))]


def by_cell(passed: Counter[Cell], shown: Sequence[Shown]) -> list[CellVerdict]:
    """All of them, in the order of the table."""
    found = {cell: CellVerdict(cell, passed[cell]) for cell in every_cell()}
    for each in sorted(shown, key=lambda one: (not one.again, one.breach.requests)):
        verdict = found[each.breach.cell]
        if each.breach.kind not in verdict.counts:
            verdict.breaches.append(each)
        verdict.counts[each.breach.kind] += 1
    return list(found.values())
