"""What is wrong with a machine, said so that its author can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class SpecProblem:
    """One thing that is wrong.

    Attributes:
        machine: The machine's name.
        row: The row's id, the cell (`STATE x event`), or the state that it is about; empty for the whole machine.
        what: What is wrong.
        remedy: What to do about it.
    """

    machine: str
    row: str
    what: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.machine}: {self.row}" if self.row else self.machine
        return f"{place}: {self.what}\n    next: {self.remedy}"


class SpecError(Exception):
    """A machine that cannot be compiled, or whose table has holes; `problems` has all of them, not only the first."""

    def __init__(self, problems: Sequence[SpecProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(problems)} problem" + ("s" if len(problems) != 1 else "")
        super().__init__("\n".join([f"the specification has {count}", *(f"  {problem}" for problem in problems)]))
