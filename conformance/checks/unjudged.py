"""Why some rules have no checker here, although they bind clients: read from `unjudged.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("unjudged.toml")
UNJUDGED: Final[dict[str, str]] = {
    rule: " ".join(entry["why"].split()) for rule, entry in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
}
"""Rule -> the reason."""
