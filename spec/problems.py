"""What is wrong with a machine, said so that its author can mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class SpecProblem:
    """One thing that is wrong.

    Attributes:
        machine: The machine's name.
        row: The row's id, the cell (`STATE x event`), or the state that it is about; empty for the whole machine.
        what: What is wrong.
        remedy: What to do about it.
        place: The file, and the line if it is known: `spec/rebalance.py:88`.
    """

    machine: str
    row: str
    what: str
    remedy: str
    place: str = ""

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.machine, self.row, self.what) if part]
        return f"{': '.join(parts)}\n    next: {self.remedy}"


class SpecError(Exception):
    """A machine that cannot be compiled, or whose table has holes; `problems` has all of them, not only the first."""

    def __init__(self, problems: Sequence[SpecProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(problems)} problem" + ("s" if len(problems) != 1 else "")
        super().__init__("\n".join([f"the specification has {count}", *(f"  {problem}" for problem in problems)]))


class DataError(ValueError):
    """A data file that does not follow its schema.

    Attributes:
        where: File, and line if it is known.
        what: Entry, field, and what is wrong there.
        allowed: What an entry has; may be empty.
    """

    def __init__(self, where: str, what: str, allowed: str = "") -> None:
        self.where, self.what, self.allowed = where, what, allowed
        super().__init__(f"{where}: {what}" + (f"\n    {allowed}" if allowed else ""))


def shown_path(file: str) -> str:
    """A source file as its author knows it: `spec/rebalance.py`, however the package is installed."""
    parts = Path(file).parts
    if "groupspec" in parts:
        inside = len(parts) - parts[::-1].index("groupspec")
        return "/".join(parts[inside:])
    return file


def did_you_mean(name: str, known: Iterable[str], place: str = "add it to the vocabulary") -> str:
    """What to do about a name that nobody knows: the nearest known one, or `place`."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"{place}, or use a name that is there"
