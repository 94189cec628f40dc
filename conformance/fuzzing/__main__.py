"""`python -m groupspec.conformance.fuzzing`: a minute at each door, at those named, or (DOOR NUMBER) one case again."""

from __future__ import annotations

import sys
from typing import Final

from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem, require_known
from groupspec.conformance.fuzzing.doors import DOORS
from groupspec.conformance.fuzzing.hunting import attack, hunt
from groupspec.conformance.terminal import Terminal

SECONDS: Final = 60.0
HELP: Final = (
    "Usage: python -m groupspec.conformance.fuzzing [DOOR...]",
    "       python -m groupspec.conformance.fuzzing DOOR NUMBER",
    "",
    f"Bytes that nobody meant, for {SECONDS:.0f} s at each door by which some come from outside, or at each DOOR;",
    "with NUMBER one case of it again: the same bytes on each machine. Exit code 0 when each was taken or refused",
    "as it may be, 1 when there is a defect, 2 when there is no such door.",
    "",
    f"Doors: {', '.join(DOORS)}",
)
NUMBERS: Final = "a number from 0 on"


def main(arguments: list[str]) -> int:
    """Runs it, and returns the exit code."""
    if {"-h", "--help"} & {*arguments}:
        Terminal().lines(*HELP)
        return EXIT_OK
    try:
        return _main(arguments)
    except UsageProblem as problem:
        Terminal(aside=True).lines(*f"groupspec: {problem}".splitlines())
        return problem.exit_code


def _main(arguments: list[str]) -> int:
    out = Terminal()
    case = arguments[1] if len(arguments) == 2 and arguments[1] not in DOORS else None  # DOOR NUMBER
    doors = arguments[:1] if case is not None else arguments
    for name in doors:
        require_known(name, DOORS, "door", next_step="`python -m groupspec.conformance.fuzzing --help` shows them")
    if case is not None:
        if not case.isdecimal():
            raise UsageProblem(
                f"there is no case {case!r}, and no such door",
                where=doors[0],
                allowed=[NUMBERS, *DOORS],
                next_step="a defect is told with the number of its case",
            )
        out.lines("refused" if attack(DOORS[doors[0]], doors[0], int(case)) else "taken")
        return EXIT_OK
    failed = False
    for name in doors or DOORS:
        found = hunt(name, SECONDS)
        out.lines(f"{name}: {found.cases} cases, {found.refused} refused, {len(found.defects)} defects")
        out.lines(*(f"  {defect.door} {defect.number}: {defect.what}" for defect in found.defects))
        failed |= bool(found.defects)
    return EXIT_CONFORMANCE_FAILURE if failed else EXIT_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
