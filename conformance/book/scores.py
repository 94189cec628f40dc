"""What each property notices: the committed scores, as the pages of the properties show them; nothing where there are none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from groupspec.conformance.scores.files import COMMITTED, scores_markdown


@cache
def _committed() -> dict[str, Any]:
    if not COMMITTED.exists():
        return {}
    found: dict[str, Any] = json.loads(COMMITTED.read_text(encoding="utf-8"))
    return found


@cache
def notices() -> Mapping[str, str]:
    """Property to how many changed rows of the tables it notices, in words."""
    rows = _committed().get("mutants", [])
    noticed = Counter(name for row in rows for name in row["by"])
    alone = Counter(row["by"][0] for row in rows if len(row["by"]) == 1)
    return {name: _said(count, alone[name]) for name, count in noticed.items()}


def _said(count: int, alone: int) -> str:
    only = f", {alone} of which nothing else notices" if alone else ""
    return f"Notices {count} changed {'row' if count == 1 else 'rows'}{only}."


def tested() -> str:
    """The scores as a page, less its title and what stands beside each property."""
    if not _committed():
        return ""
    text = scores_markdown(_committed()).partition("\n")[2]
    start, _, rest = text.partition("\n## Properties")
    return start + rest[rest.index("\n## ") :] if "\n## " in rest else start
