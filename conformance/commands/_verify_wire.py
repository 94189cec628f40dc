"""`groupspec verify --wire-mutation`: which case of the wire kit finds which mutant of the reference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from groupspec.conformance.commands._common import Steps, remark, say
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.generate import ROOT, WIRE_KILLS
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.outputs import require_writable, write_text
from groupspec.conformance.wire.scenarios import FULL, all_cases
from groupspec.conformance.wire_kills.matrix import (
    NOTHING,
    WireKills,
    bugs,
    committed,
    gaps,
    matrix,
    matrix_text,
    share,
    stale,
    unfinished,
    unknown,
)
from groupspec.conformance.wire_kills.page import matrix_markdown
from groupspec.conformance.wire_kills.search import Runs, searched


class Watched:
    """Tells the bar how many runs are made, and how many are left at most."""

    def __init__(self, bar: Steps) -> None:
        self._bar = bar
        self._made = self._all = 0

    def told(self, left: int, run: str) -> None:
        """A run has ended."""
        self._made += 1
        self._bar.more(self._made + left - self._all)
        self._all = self._made + left
        self._bar.now(run)
        self._bar.done()


def _computed(runs: Runs, watched: Watched) -> WireKills:
    mutants, cases, before = of_the_reference(), all_cases(FULL), committed() or NOTHING
    changed = {*stale(before), *unknown(before), *unfinished(before)}
    anew = {name: mutants[name] for name in mutants if name in changed}
    unfound = {name: mutants[name] for name, fate in before.fates.items() if name not in changed and not fate.found_by}
    made = before
    for sought, against in ((anew, cases), (unfound, [case for case in cases if case.id not in before.seconds])):
        if sought and against:
            made = matrix(*searched(sought, against, runs, os.cpu_count() or 2, watched.told), made)
    return made


def verify_wire_mutation(resume: Path | None) -> tuple[int, dict[str, Any]]:
    """Each mutant that is new, has changed, or whose search was stopped; 1 if too few known bugs are found.

    Another one that nothing has found yet meets the cases that are new.
    """
    if resume is not None:
        require_writable(resume)
    with Steps("cases that reach a mutant", total=0) as bar:
        runs = Runs(resume)
        made = _computed(runs, Watched(bar))
    write_text(ROOT / WIRE_KILLS, matrix_text(made))
    write_text((ROOT / WIRE_KILLS).with_suffix(".md"), matrix_markdown(made))
    wrong, known = gaps(made), bugs(made)
    say(
        *wrong,
        f"{len(made.killed())} of {len(made.fates)} mutants are found by a case; of the {len(known)} known bugs "
        f"{len(made.killed().intersection(known))}, of those that can be seen {share(made):.1%}",
        f"written: {WIRE_KILLS}, and the same to be read beside it",
    )
    if wrong:
        remark("next: an assertion or a case that sees the bug, or in unseen.toml the reason why nothing can")
    return (EXIT_CONFORMANCE_FAILURE if wrong else EXIT_OK), msgspec.to_builtins(made)
