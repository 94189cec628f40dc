"""The races of `races.toml`: cases of the profile `full` in which answers come as late as a seed draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.wire.case import PLAIN_NAME, Case, racing

FILE: Final = Path(__file__).with_name("races.toml")


class Race(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One race that was found.

    Attributes:
        case: What is run: a scenario and its variant, `plain` if that has no name.
        seed: What draws the delays.
        rule: What is broken then, by the mutant or by the client of this name.
    """

    case: str
    seed: int
    rule: str
    mutant: str = ""
    client: str = ""


RACES: Final = msgspec.toml.decode(FILE.read_bytes(), type=dict[str, tuple[Race, ...]])["race"]


def pinned(cases: Sequence[Case]) -> list[Case]:
    """Those of these cases that have a race, each with its seed."""
    by_name = {f"{case.scenario.id}/{case.variant.name or PLAIN_NAME}": case for case in cases}
    return [racing(by_name[race.case], race.seed) for race in RACES]
