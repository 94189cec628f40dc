"""The wire kill matrix to be read: what finds each mutant, and what nothing can see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.wire.scenarios import QUICK_CASES
from groupspec.conformance.wire_kills.matrix import REASONS, UNSEEN, Fate, WireKills, bugs, share, unfinished
from groupspec.conformance.wire_kills.quick import seconds, share_of_kills
from groupspec.conformance.wire_kills.search import COMPUTED, ENOUGH

SHOWN: Final = 3
"""Cases beside the quickest one that a line names."""


def matrix_markdown(made: WireKills) -> str:
    """The page."""
    known = bugs(made)
    killed = made.killed()
    lines = [
        "# Which case of the wire kit finds which bug",
        "",
        "Each mutant of the reference is run against the cases of `--profile full` that enter what it changes, in",
        f"virtual time, until {ENOUGH} have found it: those that are written by hand, and of the computed answers",
        f"up to {COMPUTED[-1]} if none of these has. By `groupspec verify --wire-mutation`; not to be edited.",
        "",
        f"{len(killed)} of {len(made.fates)} mutants are found. Of {len(known)} known bugs "
        f"{len(killed.intersection(known))} are found; {len(UNSEEN)} nothing outside can see;",
        f"of those that can be seen {share(made):.1%}. {len(made.seconds)} cases.",
        "",
        "*Runs* says how many of the cases that reach a mutant were run. The search was stopped before all were, for",
        f"{len(unfinished(made))} that nothing has found; `groupspec verify --wire-mutation` goes on with those.",
        "",
        "## Known bugs",
        "",
        *_table(made, known),
        "",
        "## Known bugs that nothing outside can see",
        "",
        *(f"- {each.id}: {MUTANTS[each.id].what} {each.because} ({REASONS[each.why]})" for each in UNSEEN.values()),
        *([] if UNSEEN else ["None."]),
        "",
        "## The profile quick",
        "",
        f"{len(QUICK_CASES)} cases, chosen by `wire_kills/quick.py`: they find {share_of_kills(made, QUICK_CASES):.0%}",
        f"of what all of them find, in about {seconds(made, QUICK_CASES):.0f} s (the reference, two cores).",
        "",
        "## Other mutants",
        "",
        *_table(made, [each for each in made.fates if each not in known]),
    ]
    return "\n".join(lines) + "\n"


def _table(made: WireKills, mutants: list[str]) -> Iterator[str]:
    yield "| mutant | what is done then | found by (rules, seconds) | also by | runs |"
    yield "|---|---|---|---|---|"
    for mutant in mutants:
        fate = made.fates[mutant]
        runs = f"{fate.tried} of {fate.reached}"
        yield f"| {mutant} | {MUTANTS[mutant].what} | {_first(fate)} | {_others(fate)} | {runs} |"


def _first(fate: Fate) -> str:
    if not fate.found_by:
        return "-" if fate.reached else "no case enters what it changes"
    first = min(fate.found_by, key=lambda found: found.seconds)
    return f"{first.case} ({' '.join(first.rules)}; {first.seconds:.1f})"


def _others(fate: Fate) -> str:
    others = sorted(fate.found_by, key=lambda found: found.seconds)[1:]
    return ", ".join(found.case for found in others[:SHOWN]) or "-"
