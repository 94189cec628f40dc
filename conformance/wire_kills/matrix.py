"""The wire kill matrix: which case finds which mutant of the reference. Committed: `generated/wire_kills.json`, `.md`.

To compute it takes an hour or two, so freshness is judged by what it names: the mutants, with what they do and the
rules that they break, must be those that there are, and the cases must judge what they did. A case that is new makes
it no less true: it may find what no case has found until now. A test tries a few that a seed draws, in real time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
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

FORMAT: Final = 1
COMMITTED: Final = Path(__file__).resolve().parents[1] / "generated" / "wire_kills.json"
WANTED: Final = 0.95
"""Of the known bugs that can be seen from outside."""

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

    `design`: the threads of the reference that it was tried in; `reached`: cases that enter what it changes; `tried`:
    those that were run.
    """

    rules: tuple[str, ...]
    design: str
    reached: int
    tried: int
    found_by: tuple[Found, ...]


class WireKills(msgspec.Struct, frozen=True):
    """The matrix. `mutants`, `cases`: hashes of what it was made from; `seconds`: of each case, without a mutant."""

    format: int
    mutants: str
    cases: str
    seconds: dict[str, float]
    fates: dict[str, Fate]

    def killed(self, cases: Collection[str] | None = None) -> frozenset[str]:
        """The mutants that some case finds, or one of these cases."""
        return frozenset(
            mutant
            for mutant, fate in self.fates.items()
            if any(cases is None or found.case in cases for found in fate.found_by)
        )

    def named(self) -> frozenset[str]:
        """The cases that find something."""
        return frozenset(found.case for fate in self.fates.values() for found in fate.found_by)


def matrix(hunts: Sequence[Hunt], seconds: Mapping[str, float]) -> WireKills:
    """What a search has found; `seconds`: of each case, without a mutant."""
    fates = {}
    for hunt in hunts:
        found_by = tuple(Found(each.case, each.rules, each.seconds) for each in hunt.kills)
        fates[hunt.mutant.id] = Fate(hunt.mutant.rules, hunt.design or DESIGNS[0], hunt.reached, hunt.tried, found_by)
    made = WireKills(FORMAT, mutants_hash(of_the_reference()), "", dict(seconds), fates)
    return msgspec.structs.replace(made, cases=cases_hash(made.named()))


def mutants_hash(mutants: Mapping[str, Mutant]) -> str:
    """Of what the mutants of the reference are and do."""
    return _hash(f"{each.id} {' '.join(each.rules)} {each.what}" for each in mutants.values())


def cases_hash(named: Collection[str]) -> str:
    """Of these cases and what they judge; of one that there is no more, of its id alone."""
    judged = {case.id: case.rules for case in all_cases(FULL)}
    return _hash(f"{case} {' '.join(judged.get(case, ('is gone',)))}" for case in sorted(named))


def _hash(lines: Iterator[str] | Sequence[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()


def matrix_text(made: WireKills) -> str:
    """As it is committed: a line for each mutant."""
    head = {"format": made.format, "mutants": made.mutants, "cases": made.cases, "seconds": made.seconds}
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
    found = []
    if made.format != FORMAT:
        found.append("wire_kills.json has another format")
    if made.mutants != mutants_hash(of_the_reference()):
        found.append("the mutants have changed since the wire kill matrix was computed")
    if made.cases != cases_hash(made.named()):
        found.append("cases that find mutants are gone, or judge something else")
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
