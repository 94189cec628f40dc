"""What the cases offer, recorded from a run of the reference in each, and which needs they leave unmet.

Committed: `generated/wire_holes.json` (what occurs in each case) and `.md` (the needs). Of a case that has changed, or
when another thing is looked for, `groupspec generate` runs it anew, in virtual time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history.harness_protocol import FEATURES
from groupspec.conformance.history.history import History
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import settings_of
from groupspec.conformance.wire.scenarios import written_cases
from groupspec.conformance.wire.virtual.run import Running, Trial
from groupspec.conformance.wire_holes import occasions
from groupspec.conformance.wire_holes.needs import KINDS, Need, needs
from groupspec.conformance.wire_kills import matrix
from groupspec.conformance.wire_kills.search import mark_of_case
from groupspec.spec.datafile import Record, read_entries

COMMITTED: Final = Path(__file__).resolve().parents[1] / "generated" / "wire_holes.json"
MOST: Final = 5
"""Needs that may be unmet."""
JOBS: Final = 4
SHOWN: Final = 3
"""Cases that a line names."""


class Hole(Record, frozen=True):
    """An entry of `holes.toml`: a need that no case meets. `because`: why, in a sentence."""

    id: str
    because: str


HOLES: Final = read_entries(Path(__file__).with_name("holes.toml"), Hole)


class Offer(msgspec.Struct, frozen=True):
    """What a case offers.

    Attributes:
        mark: Changes with the case, and with what is looked for.
        occasions: What occurs in it.
        kept: The rules that the reference keeps there, judged by what happened.
    """

    mark: str
    occasions: tuple[str, ...]
    kept: tuple[str, ...]


Offers = Mapping[str, Offer]


def offers(cases: Iterable[Case]) -> Iterator[tuple[str, Offer]]:
    """Runs the reference in each, some at a time. Raises RuntimeError: a process broke off."""
    under_way: deque[tuple[Case, Running]] = deque()
    for case in cases:
        under_way.append((case, Running(Trial(case, keep_log=True))))
        if len(under_way) == JOBS:
            yield _offer(*under_way.popleft())
    for each in under_way:
        yield _offer(*each)


def _offer(case: Case, running: Running) -> tuple[str, Offer]:
    told = running.told()
    running.close()
    if told.broke_off:
        raise RuntimeError(f"{case.id}: {told.broke_off}")
    history = History(told.log, replace(settings_of(case, None), features=frozenset(FEATURES)))
    kept = sorted(rule for rule, each in told.judgements.items() if each.verdict is Verdict.PASS)
    return case.id, Offer(mark(case), tuple(sorted(occasions.occasions(history))), tuple(kept))


def mark(case: Case) -> str:
    """Of a case, and of what is looked for in its run."""
    return sha256(f"{case.id} {mark_of_case(case)} {_looks_for()}".encode()).hexdigest()[:12]


@cache
def _looks_for() -> str:
    return Path(occasions.__file__).read_text(encoding="utf-8")


def offers_text() -> str:
    """Of every case that is written by hand: as committed, if nothing has changed, or of a new run."""
    known = read_offers(COMMITTED.read_text(encoding="utf-8")) if COMMITTED.is_file() else {}
    cases = {case.id: case for case in written_cases()}
    found = {name: known[name] for name, case in cases.items() if name in known and known[name].mark == mark(case)}
    found |= offers(case for name, case in cases.items() if name not in found)
    lines = (f' "{name}": {msgspec.json.encode(found[name]).decode()}' for name in cases)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_offers(text: str) -> Offers:
    """Those of a committed file. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(text, type=dict[str, Offer])


def problems(text: str) -> list[str]:
    """Why a committed file is not what it should be; nothing if it is."""
    try:
        made = read_offers(text)
    except msgspec.MsgspecError as problem:
        return [f"wire_holes.json can't be read: {problem}"]
    cases = {case.id: case for case in written_cases()}
    stale = [name for name, case in cases.items() if name not in made or made[name].mark != mark(case)]
    gone = [name for name in made if name not in cases]
    return [f"{why}: {', '.join(names)}" for why, names in (("changed", stale), ("gone", gone)) if names]


def met_by(need: Need, made: Offers, judged: Mapping[str, Sequence[str]]) -> list[str]:
    """The cases that meet it; `judged`: the rules of each case."""
    if need.kind == "mutant":
        return _enter(need.occasion.removeprefix("mutant "))
    if need.kind == "protocol":
        rule, rebalance = need.occasion.split(" kept, ")
        protocols = {case.id: case.scenario.rebalance for case in written_cases()}
        return [case for case, each in made.items() if rule in each.kept and protocols.get(case) == rebalance]
    return [
        case
        for case, each in made.items()
        if need.occasion in each.occasions and not need.rules.isdisjoint(judged.get(case, ()))
    ]


def _enter(mutant: str) -> list[str]:
    """Cases of which the kill matrix knows that they find a mutant, or else that some enter it; or it is too new."""
    known = matrix.committed()
    fate = known.fates.get(mutant) if known is not None else None
    if fate is None:
        return ["(new)"]
    return [each.case for each in fate.found_by] or [f"({fate.reached} enter it)"] * bool(fate.reached)


def unmet(made: Offers) -> list[Need]:
    """What no case offers."""
    return [need for need, cases in met(made) if not cases]


def met(made: Offers) -> Iterator[tuple[Need, list[str]]]:
    """Every need, and the cases that meet it."""
    judged = {case.id: case.rules for case in written_cases()}
    return ((need, met_by(need, made, judged)) for need in needs())


def page(text: str) -> str:
    """The table, to be read."""
    made = read_offers(text)
    told = list(met(made))
    lacking = [need for need, cases in told if not cases]
    lines = [
        "# What the cases of the wire kit leave out",
        "",
        "What rules need of the cases that judge them, computed from what the rules say, their settings and their",
        "mutants, against what occurs when the reference plays each case that is written by hand. By",
        "`groupspec generate` (`wire_holes/`); not to be edited.",
        "",
        f"{len(told)} needs; {len(lacking)} are met by none of {len(made)} cases.",
        "",
        "| needs | | met |",
        "|---|---:|---:|",
    ]
    for kind, about in KINDS.items():
        of_kind = [cases for need, cases in told if need.kind == kind]
        lines.append(f"| {about} | {len(of_kind)} | {sum(map(bool, of_kind))} |")
    lines += ["", "## Holes", "", "| need | rules | why |", "|---|---|---|"]
    for need in lacking:
        why = " ".join(HOLES[need.occasion].because.split()) if need.occasion in HOLES else "no case yet"
        lines.append(f"| {need.occasion} | {_rules(need)} | {why} |")
    for kind, about in KINDS.items():
        lines += ["", f"## {about.partition(' (')[0][:1].upper()}{about.partition(' (')[0][1:]}", ""]
        lines += ["| need | rules | cases | such as |", "|---|---|---:|---|"]
        for need, cases in told:
            if need.kind == kind:
                lines.append(f"| {need.occasion} | {_rules(need)} | {len(cases)} | {', '.join(cases[:SHOWN]) or '-'} |")
    return "\n".join(lines) + "\n"


def _rules(need: Need) -> str:
    return " ".join(sorted(need.rules, key=lambda rule: (rule[0], int(rule[1:]))))
