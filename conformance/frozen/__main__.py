"""`python -m groupspec.conformance.frozen`: makes the frozen net anew, all of it or the worlds that are named."""

from __future__ import annotations

import os
import sys
from typing import Final

from groupspec.conformance.errors import EXIT_OK, UsageProblem, require_known
from groupspec.conformance.frozen import figures, verdicts
from groupspec.conformance.frozen.freeze import freeze, worlds
from groupspec.conformance.terminal import Terminal

VERDICTS: Final = "verdicts"
HELP: Final = (
    "Usage: python -m groupspec.conformance.frozen [WORLD...]",
    "",
    "Records lives of each WORLD into conformance/frozen/corpus, with and without mutants, and writes what every judge",
    "says of every history, and which mutants, deviations, situations and meetings there are, beside it. All worlds",
    f"take some hours of two processors; `{VERDICTS}` in the place of a world only judges what is there.",
    "",
    f"Worlds: {', '.join(worlds())}",
)


def main(arguments: list[str]) -> int:
    """Runs it, and returns the exit code."""
    if {"-h", "--help"} & {*arguments}:
        Terminal().lines(*HELP)
        return EXIT_OK
    try:
        there_are = worlds()
        for name in arguments:
            require_known(name, [*there_are, VERDICTS], "world")
    except UsageProblem as problem:
        Terminal(aside=True).lines(*f"groupspec: {problem}".splitlines())
        return problem.exit_code
    for name in arguments or there_are:
        if name != VERDICTS:
            freeze(name, there_are[name], os.cpu_count() or 1)
    figures.freeze()
    verdicts.freeze()
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
