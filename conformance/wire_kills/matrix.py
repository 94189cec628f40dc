"""The wire kill matrix: which case finds which mutant of the reference. Committed: `generated/wire_kills.json`, `.md`.

To compute it takes an hour or two, so freshness is judged by what it names: a mutant that it tells of must do what it
did and break the rules that it broke, and a case that finds it must judge those. A case that is new makes it no less
true: it may find what no case has found until now; neither does a mutant that is new, as long as there are few. What is
no longer so is computed anew by itself (`stale`). A test tries a few kills that a seed draws.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

import msgspec

from groupspec.conformance.mutation.mutant import Mutant
from groupspec.conformance.noticed import of_the_reference
from groupspec.conformance.wire.scenarios import FULL, all_cases
from groupspec.conformance.wire_kills.search import DESIGNS, Hunt
from groupspec.spec.datafile import Record, read_entries
from groupspec.spec.known_bugs import KNOWN_BUGS

FORMAT: Final = 2
COMMITTED: Final = Path(__file__).resolve().parents[1] / "generated" / "wire_kills.json"
WANTED: Final = 0.95
"""Of the known bugs that can be seen from outside."""
NEW_AT_MOST: Final = 10
"""Mutants that it may not know yet: to look for one takes a minute or two, and nobody should have to at once."""

REASONS: Final[Mapping[str, str]] = {
    "inside": "it changes nothing that crosses the wire, reaches a callback, or is returned or raised",
    "no_command": "it needs a call of the application that the harness protocol has no command for",
    "interleaving": "it needs threads to meet in a way that answers and their times do not bring about",
    "allowed": "what it does is allowed: other correct clients do the same",
}
"""Why nothing outside sees a bug: one of these."""


class Unseen(Record, frozen=True):
    """An entry of `unseen.toml`: a known bug that no case can find. `why`: a key of REASONS; `because`: a sentence."""

    id: str
    why: Literal["inside", "no_command", "interleaving", "allowed"]
    because: str


UNSEEN: Final = read_entries(Path(__file__).with_name("unseen.toml"), Unseen)


class Found(msgspec.Struct, frozen=True):
    """A case that finds a mutant: the rules that it finds broken, and how many seconds of virtual time it takes."""

    case: str
    rules: tuple[str, ...]
    seconds: float


class Fate(msgspec.Struct, frozen=True):
    """What became of a mutant.

    `mark`: changes with what it is said to do; `design`: the threads of the reference that it was tried in; `reached`:
    cases that enter what it changes; `tried`: those that were run; `left`: those that the search had yet to run when it
    was stopped.
    """

    mark: str
    design: str
    reached: int
    tried: int
    left: int
    found_by: tuple[Found, ...]


class WireKills(msgspec.Struct, frozen=True):
    """The matrix. `seconds`: how long each case takes without a mutant, in virtual time."""

    format: int
    seconds: dict[str, float]
    fates: dict[str, Fate]

    def killed(self, cases: Collection[str] | None = None) -> frozenset[str]:
        """The mutants that some case finds, or one of these cases."""
        return frozenset(
            mutant
            for mutant, fate in self.fates.items()
            if any(cases is None or found.case in cases for found in fate.found_by)
        )


NOTHING: Final = WireKills(FORMAT, {}, {})
"""What there is before anything was computed."""


def matrix(hunts: Sequence[Hunt], seconds: Mapping[str, float], before: WireKills = NOTHING) -> WireKills:
    """What a search has found, beside what was known before; `seconds`: of each case, without a mutant."""
    fates = {name: fate for name, fate in before.fates.items() if name not in stale(before)}
    for hunt in hunts:
        found_by = tuple(Found(each.case, each.rules, each.seconds) for each in hunt.kills)
        design, runs = hunt.design or DESIGNS[0], (hunt.reached, hunt.tried, hunt.runs_left)
        told = Fate(mark(hunt.mutant), design, *runs, found_by)
        earlier = fates.get(hunt.mutant.id)
        anew = earlier is None or _is_unfinished(earlier)  # a search that was stopped begins anew, by what is kept
        fates[hunt.mutant.id] = told if earlier is None or anew else _both(earlier, told)
    there = {name: fates[name] for name in of_the_reference() if name in fates}
    known = before.seconds | dict(seconds)
    return WireKills(FORMAT, {case.id: known[case.id] for case in all_cases(FULL) if case.id in known}, there)


def _both(earlier: Fate, told: Fate) -> Fate:
    """Of a mutant that was tried against some cases, and now against others."""
    return msgspec.structs.replace(
        earlier if earlier.reached else told,
        reached=earlier.reached + told.reached,
        tried=earlier.tried + told.tried,
        left=earlier.left + told.left,
        found_by=earlier.found_by + told.found_by,
    )


def mark(mutant: Mutant) -> str:
    """Of what a mutant is and does."""
    return sha256(f"{mutant.id} {' '.join(mutant.rules)} {mutant.what}".encode()).hexdigest()[:12]


def stale(made: WireKills) -> list[str]:
    """The mutants of which it says what is no longer so."""
    judged = {case.id: set(case.rules) for case in all_cases(FULL)}
    mutants = of_the_reference()
    return [
        name
        for name, fate in made.fates.items()
        if name not in mutants
        or fate.mark != mark(mutants[name])
        or any(not judged.get(found.case, set()).issuperset(found.rules) for found in fate.found_by)
    ]


def unfinished(made: WireKills) -> list[str]:
    """The mutants that nothing has found, and whose search was stopped."""
    return [name for name, fate in made.fates.items() if _is_unfinished(fate)]


def _is_unfinished(fate: Fate) -> bool:
    return bool(fate.left) and not fate.found_by


def unknown(made: WireKills) -> list[str]:
    """The mutants that it does not tell of."""
    return [name for name in of_the_reference() if name not in made.fates]


def matrix_text(made: WireKills) -> str:
    """As it is committed: a line for each mutant."""
    head = {"format": made.format, "seconds": made.seconds}
    fates = ",\n".join(
        f"  {json.dumps(name)}: {msgspec.json.encode(fate).decode()}" for name, fate in made.fates.items()
    )
    return json.dumps(head, indent=1)[:-2] + ',\n "fates": {\n' + fates + "\n }\n}\n"


def read_matrix(text: str) -> WireKills:
    """A committed one. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(text, type=WireKills)


@cache
def committed() -> WireKills | None:
    """The committed one; None if there is none, as in a wheel."""
    return read_matrix(COMMITTED.read_text(encoding="utf-8")) if COMMITTED.is_file() else None


def problems(text: str) -> list[str]:
    """Why a committed matrix is not what it should be; nothing if it is."""
    try:
        made = read_matrix(text)
    except msgspec.MsgspecError as problem:
        return [f"wire_kills.json can't be read: {problem}"]
    found = [] if made.format == FORMAT else ["wire_kills.json has another format"]
    if changed := stale(made):
        found.append(f"mutants, or cases that find them, have changed since it was computed: {', '.join(changed)}")
    if len(new := unknown(made)) > NEW_AT_MOST:
        found.append(f"it tells nothing of {len(new)} mutants, {NEW_AT_MOST} at most may be new: {', '.join(new)}")
    return found + gaps(made)


def gaps(made: WireKills, unseen: Mapping[str, Unseen] = UNSEEN) -> list[str]:
    """Reasons that do not hold, and a share of known bugs that is too small."""
    killed = made.killed()
    found = [f"unseen.toml has {each}, which {found_by(made, each)} finds" for each in unseen if each in killed]
    found += [f"unseen.toml has {each}, which is no mutant of a known bug" for each in unseen if each not in bugs(made)]
    if share(made, unseen) < WANTED:
        missing = ", ".join(each for each in bugs(made) if each not in killed and each not in unseen)
        told = f"{share(made, unseen):.1%} of the known bugs that can be seen are found, and {WANTED:.0%} must be"
        found.append(f"{told}; not found: {missing}")
    return found


def bugs(made: WireKills) -> list[str]:
    """The mutants that repeat known bugs."""
    return [each for each in made.fates if each in KNOWN_BUGS]


def share(made: WireKills, unseen: Collection[str] = UNSEEN) -> float:
    """How many of the known bugs that can be seen from outside are found."""
    seen = [each for each in bugs(made) if each not in unseen]
    return len(made.killed().intersection(seen)) / len(seen)


def found_by(made: WireKills, mutant: str) -> str:
    """The quickest case that finds it."""
    return min(made.fates[mutant].found_by, key=lambda found: found.seconds).case
