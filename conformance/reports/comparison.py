"""Two saved results of `groupspec conform`, held against each other: what broke, is fixed, flaps or is new.

Held against each other are a client's verdicts on one rule of one case. What was never broken and is now has broken;
what flapped, in the old result or in the new one, says nothing for sure: that a run kept the rule may be luck, and so
may one that broke it. A verdict that has no counterpart is told, and is neither better nor worse.

A client is found again by its name; else by what it says of itself, where it is started by a command line; else by its
name without the version, where each result has one such client only (`java@3.9.1` and `java`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

from groupspec import conformance
from groupspec.conformance.checks import verdicts
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_INCONCLUSIVE, EXIT_OK
from groupspec.conformance.reports.inputs import ClientVerdicts, Conform, VerdictRow
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.scenarios import FULL, QUICK, all_cases
from groupspec.spec.rules import RULES

KINDS: Final = {
    "broke": "broken now, not broken before",
    "lost": "judged before, not judged now",
    "flaps": "broken in some runs only, before or now",
    "fixed": "broken before, kept now",
    "new": "only in the new result",
    "gone": "only in the old result",
}
"""What can have become of a verdict, the worst first."""
_BROKEN: Final = {"FAIL": 2, "DEVIATION": 1}
_JUDGED: Final = frozenset(verdict.value for verdict in verdicts.JUDGED)


@dataclass(frozen=True)
class Change:
    """What became of one verdict.

    Attributes:
        kind: One of KINDS.
        client: The new result's name of it; the old one's, where the new one lacks it.
        case: Scenario and variant.
        before: The old verdict; "" if there is none. `now` is the new one.
        how_sure: `3 of 5 runs`, of the new result, or else of the old one.
        reason: Of the new verdict; of what is gone, why that can be.
        replay: The command that runs the case again; "" where it is gone.
    """

    kind: str
    client: str
    case: str
    rule: str
    level: str
    before: str
    now: str
    how_sure: str
    reason: str
    replay: str

    @property
    def is_broken_must(self) -> bool:
        """Whether every client must keep what is broken now."""
        return self.now == "FAIL"


@dataclass(frozen=True)
class Comparison:
    """Two results, held against each other.

    Attributes:
        changes: Of verdicts, the worst kind first; what stayed as it was is left out.
        remarks: What else to know: another version, clients without a counterpart.
        compared: How many verdicts have a counterpart.
        worse: Client, case and rule of the new verdicts that are worse than the old result, or that it does not know.
    """

    changes: tuple[Change, ...]
    remarks: tuple[str, ...]
    compared: int
    worse: frozenset[tuple[str, str, str]]

    def of_kind(self, kind: str) -> list[Change]:
        """Those of one kind."""
        return [change for change in self.changes if change.kind == kind]

    def exit_code(self) -> int:
        """1: a must is newly broken; 4: there was nothing to compare, or what was judged could not be judged now."""
        if any(change.is_broken_must for change in self.of_kind("broke")):
            return EXIT_CONFORMANCE_FAILURE
        unknown = any(change.now == "INCONCLUSIVE" for change in self.of_kind("lost"))
        return EXIT_INCONCLUSIVE if unknown or not self.compared else EXIT_OK

    def as_json(self) -> dict[str, object]:
        """What `--json` writes."""
        return {
            "compared": self.compared,
            "remarks": list(self.remarks),
            "counts": {kind: len(self.of_kind(kind)) for kind in KINDS},
            "changes": [asdict(change) for change in self.changes],
        }


def compare(old: Conform, new: Conform) -> Comparison:
    """Holds the new result against the old one."""
    pairs = counterparts(old, new)
    changes, compared = [], 0
    worse: set[tuple[str, str, str]] = set()
    for client in new.clients:
        before = _by_place(pairs.get(client.name))
        for row in client.results:
            was = before.pop((row.case, row.rule), None)
            compared += was is not None
            kind = "new" if was is None else _kind(was, row)
            if kind:
                changes.append(_change(kind, client.name, was, row))
            if kind in ("broke", "new") or (kind == "lost" and row.verdict == "INCONCLUSIVE"):
                worse.add((client.name, row.case, row.rule))
        changes += [_gone(client.name, row) for row in before.values()]
    known = {client.name for client in pairs.values()}
    absent = [client for client in old.clients if client.name not in known]
    remarks = (*_versions(old), *_clients(old, new, pairs, absent))
    order = [*KINDS]
    return Comparison(
        tuple(sorted(changes, key=lambda change: (order.index(change.kind), -_BROKEN.get(change.now, 0)))),
        remarks,
        compared,
        frozenset(worse),
    )


def counterparts(old: Conform, new: Conform) -> dict[str, ClientVerdicts]:
    """The new result's clients by name, each with what the old one has of it; without those that it does not have."""
    found: dict[str, ClientVerdicts] = {}
    ways: tuple[Callable[[ClientVerdicts], str], ...] = (
        lambda client: client.name,
        lambda client: client.client,
        lambda client: client.name.partition("@")[0],
    )
    for called in ways:
        left_old = [client for client in old.clients if client.name not in {each.name for each in found.values()}]
        left_new = [client for client in new.clients if client.name not in found]
        for client in left_new:
            name = called(client)
            same_old = [each for each in left_old if called(each) == name]
            if name and len(same_old) == 1 and sum(called(each) == name for each in left_new) == 1:
                found[client.name] = same_old[0]
    return found


def _by_place(client: ClientVerdicts | None) -> dict[tuple[str, str], VerdictRow]:
    return {(row.case, row.rule): row for row in client.results} if client is not None else {}


def _kind(was: VerdictRow, now: VerdictRow) -> str:
    """What became of a verdict; "" if it stayed as it was, or is judged for the first time and kept."""
    before, after = _BROKEN.get(was.verdict, 0), _BROKEN.get(now.verdict, 0)
    if after > before:
        return "broke"
    if was.verdict in _JUDGED and now.verdict not in _JUDGED:
        return "lost"
    if was.flaps or now.flaps:
        return "flaps"
    return "fixed" if after < before else ""


def _change(kind: str, client: str, was: VerdictRow | None, row: VerdictRow) -> Change:
    return Change(
        kind=kind,
        client=client,
        case=row.case,
        rule=row.rule,
        level=row.level,
        before=was.verdict if was is not None else "",
        now=row.verdict,
        how_sure=row.how_sure,
        reason=row.reason,
        replay=row.replay,
    )


def _gone(client: str, row: VerdictRow) -> Change:
    return Change("gone", client, row.case, row.rule, row.level, row.verdict, "", row.how_sure, _why_gone(row), "")


def _why_gone(row: VerdictRow) -> str:
    if row.rule not in RULES:
        return f"this groupspec has no rule {row.rule}"
    case = _cases(QUICK).get(row.case) or _cases(FULL).get(row.case)
    if case is None:
        return f"this groupspec has no case {row.case}"
    if row.rule not in case.rules:
        return f"this groupspec does not judge {row.rule} in {row.case}"
    return "not judged this time"


@cache
def _cases(profile: str) -> Mapping[str, Case]:
    return {case.id: case for case in all_cases(profile)}


def _versions(old: Conform) -> Iterator[str]:
    written, here = old.groupspec, conformance.__version__
    if written != here:
        by = f"groupspec {written}" if written else "a groupspec that did not say its version"
        yield f"the old result is of {by}, this is {here}: what changed may be the rules, not the client"


def _clients(
    old: Conform, new: Conform, pairs: Mapping[str, ClientVerdicts], absent: list[ClientVerdicts]
) -> Iterator[str]:
    known = ", ".join(client.name for client in old.clients) or "no client"
    for client in new.clients:
        if client.name not in pairs:
            yield f"{client.name} is not in the old result, which has {known}: whatever it breaks is new"
        elif (was := pairs[client.name]).name != client.name or was.version != client.version:
            yield f"{client.name} {client.version} is held against {was.name} {was.version}".replace("  ", " ").rstrip()
    for client in absent:
        yield f"{client.name} is in the old result only"
