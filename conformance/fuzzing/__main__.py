"""`python -m groupspec.conformance.fuzzing`: a minute at each door, at those named, or (DOOR NUMBER) one case again."""

from __future__ import annotations

import sys

from groupspec.conformance.fuzzing.doors import DOORS
from groupspec.conformance.fuzzing.hunting import attack, hunt

_SECONDS = 6.0


def _main(arguments: list[str]) -> int:
    if len(arguments) > 1 and arguments[1].isdigit():
        name, number = arguments
        print("refused" if attack(DOORS[name], name, int(number)) else "taken")
        return 0
    failed = False
    for name in arguments or DOORS:
        found = hunt(name, _SECONDS)
        print(f"{name}: {found.cases} cases, {found.refused} refused, {len(found.defects)} defects", flush=True)
        for defect in found.defects:
            print(f"  {defect.door} {defect.number}: {defect.what}", flush=True)
        failed |= bool(found.defects)
    return int(failed)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
