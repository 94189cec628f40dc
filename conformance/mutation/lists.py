"""Rules that nothing holds, each with the reason. An entry that is no longer true is an error, as a missing one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

MAX_LATER: Final = 12
"""More rules than these may not be put off."""


@dataclass(frozen=True)
class Later:
    """What will hold a rule, and why that is not so today."""

    by: str
    why: str


_BY_THE_WIRE_KIT: Final = Later(
    by="the wire kit's tests (conformance/wire/tests/test_rules.py)",
    why="the matrix tries the tests of the implementation and of the machines, which neither cut frames nor blobs off",
)
HELD_LATER: Final[Mapping[str, Later]] = MappingProxyType({"J10": _BY_THE_WIRE_KIT, "W1": _BY_THE_WIRE_KIT})
"""Rules that a part of the project will hold which does not exist yet."""

HYGIENE: Final[Mapping[str, str]] = MappingProxyType({})
"""Rules that are only about how a client is written inside: nothing outside of it could notice. None is, at present."""
