"""What is going on in each state, in words that need no table.

The search finds states by them, the front page asks in them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

STATES: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""Machine, state, and what is going on then."""


def means(machine: str, state: str) -> str:
    """What is going on then; empty for a state that nobody has put into words yet."""
    return STATES.get(machine, {}).get(state, "")
