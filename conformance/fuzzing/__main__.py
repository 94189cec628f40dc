"""`python -m groupspec.conformance.fuzzing`: a minute at each door, at those named, or (DOOR NUMBER) one case again."""

from __future__ import annotations

import sys

from groupspec.conformance.fuzzing.doors import DOORS
from groupspec.conformance.fuzzing.hunting import attack, hunt
from groupspec.conformance.terminal import Terminal

_SECONDS = 60.0
_OUT = Terminal()


def _main(arguments: list[str]) -> int:
    if len(arguments) > 1 and arguments[1].isdigit():
        name, number = arguments
        _OUT.lines("refused" if attack(DOORS[name], name, int(number)) else "taken")
        return 0
    failed = False
    for name in arguments or DOORS:
        found = hunt(name, _SECONDS)
        _OUT.lines(f"{name}: {found.cases} cases, {found.refused} refused, {len(found.defects)} defects")
        _OUT.lines(*(f"  {defect.door} {defect.number}: {defect.what}" for defect in found.defects))
        failed |= bool(found.defects)
    return int(failed)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
