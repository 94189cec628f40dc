"""Rules that nothing holds, each with the reason. An entry that is no longer true is an error, as a missing one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MOST_LATER: Final = 12
"""More rules than these may not be put off."""


@dataclass(frozen=True)
class Later:
    """What will hold a rule, and why that is not so today."""

    by: str
    why: str


HELD_LATER: Final[Mapping[str, Later]] = MappingProxyType({})
"""Rules that a part of the project will hold which does not exist yet."""

HYGIENE: Final[Mapping[str, str]] = MappingProxyType({})
"""Rules that are only about how a client is written inside: nothing outside of it could notice. None is, at present."""
