"""For which configurations a member that lives, polls and is connected can be put out of its group.

Each theorem is a question to a system of parts (`parts.py`): can some part come to the place `goal`? Its answer is a
condition over the parameters, written as a list of cases; each case is what must hold all together. The proof
(`proofs.py`) shows both directions for all whole numbers: where no case holds, the goal can't be reached; where one
holds, it can.

`expired(sum, limit)` means `sum >= limit` where clocks are non-strict (Kafka since 2.1), `sum > limit` where they are
strict (Kafka up to 2.0, kafka-python): each theorem is proved in both arithmetics, and they never differ by more than
one millisecond. `typical` is an example in small numbers, without `limit`: the setting that decides, whose largest
value that does not save the member is the boundary case; one more and it is safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.expiry.automata import Part
from groupspec.spec.expiry.parts import part


class Theorem(Record, frozen=True, eq=False):
    """One question about time, and its answer.

    Attributes:
        system: The parts of the system that is explored, as `parts.part` reads them.
        parameters: The limits, in the order in which they are told.
        goal: The place whose reachability is the question.
        cases: It can be reached iff all of one case hold. No case: never.
        meaning: What follows from it for people.
        limit: The parameter that is a setting; `typical` has values for all others.
        assumptions: What is taken for granted; without it the answer may be another.
    """

    id: str
    question: str
    system: tuple[str, ...]
    parameters: tuple[str, ...]
    goal: str
    cases: tuple[tuple[str, ...], ...]
    meaning: str
    sources: str
    rules: tuple[str, ...]
    limit: str
    typical: Mapping[str, int]
    assumptions: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The system that is explored."""
        return tuple(part(named) for named in self.system)


THEOREMS: Final[Mapping[str, Theorem]] = read_entries(Path(__file__).with_suffix(".toml"), Theorem)
"""Every theorem by its id."""
