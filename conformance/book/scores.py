"""What each property notices: the committed scores, as the pages of the properties show them.

Nothing where there are none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from groupspec import conformance
from groupspec.conformance.scores.files import committed

_GENERATED: Final = Path(conformance.__path__[0]) / "generated"


@cache
def notices() -> Mapping[str, str]:
    """Property to how many changed rows of the tables it notices, in words."""
    scores = committed()
    rows = scores["mutants"] if scores else []
    noticed = Counter(name for row in rows for name in row["by"])
    alone = Counter(row["by"][0] for row in rows if len(row["by"]) == 1)
    return {name: _said(count, alone[name]) for name, count in noticed.items()}


def _said(count: int, alone: int) -> str:
    only = f", {alone} of which nothing else notices" if alone else ""
    return f"Notices {count} changed {'row' if count == 1 else 'rows'}{only}."


def tested() -> str:
    """The scores as a page, less its title and what stands beside each property."""
    file = _GENERATED / "scores.md"
    if not file.is_file():
        return ""
    parts = file.read_text(encoding="utf-8").partition("\n")[2].split("\n## ")
    return "\n## ".join(part for part in parts if not part.startswith("Properties\n"))
