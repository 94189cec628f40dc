"""How often each row fired, as a file that anything can write and every picture can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from groupspec.spec.compiler.table import Table


class CoverageProblem(ValueError):
    """A coverage file that cannot be read; the message says what is wrong with it."""


@dataclass(frozen=True)
class Coverage:
    """Hits of one table's rows.

    Attributes:
        rows: Row id to how often it fired. A row that is not named never did.
    """

    rows: Mapping[str, int]

    def hits(self, row_id: str) -> int:
        """How often a row fired."""
        return self.rows.get(row_id, 0)

    def summary(self, table: Table) -> str:
        """One line: how many of the table's transitions fired."""
        ids = [row.id for row in table.rows if row.kind == "transition"]
        covered = sum(self.hits(row_id) > 0 for row_id in ids)
        return f"{covered} of {len(ids)} transitions fired"


def read_coverage(text: str) -> Mapping[str, Coverage]:
    """The coverage of each table, by its label (`rebalance.eager.deployed`).

    The file is `{"rebalance.eager.deployed": {"STABLE.join_needed.1": 12, ...}, ...}`.

    Raises:
        CoverageProblem: it is something else.
    """
    place, wanted = "the file", "table label -> {row id: hits}"
    found: dict[str, Coverage] = {}
    try:
        for label, rows in msgspec.json.decode(text, type=dict[str, msgspec.Raw]).items():
            place, wanted = repr(label), "row id -> hits"
            found[label] = Coverage(msgspec.json.decode(rows, type=dict[str, Annotated[int, msgspec.Meta(ge=0)]]))
    except msgspec.ValidationError as problem:
        raise CoverageProblem(f"{place} must be an object, {wanted}: {problem}") from problem
    except msgspec.DecodeError as problem:
        raise CoverageProblem(f"not JSON: {problem}") from problem
    return found
