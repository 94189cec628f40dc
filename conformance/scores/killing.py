"""Which property kills which mutant, and whether a survivor can be told from the specification at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupspec.conformance.scores.mutants import SpecMutant
from groupspec.conformance.scores.subjects import Subject
from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer import Exploration, Limits, equivalents, explore, explore_variants
from groupspec.spec.explorer.engine import EngineName

Fate: TypeAlias = Literal["killed", "equivalent", "survived", "undecided", "untried"]

DEAD_END = "no-dead-end"
"""What kills a mutant that can get stuck where the specification cannot."""

_LIMITS = Limits(max_states=3_000_000, max_seconds=60)


@dataclass(frozen=True)
class Score:
    """What became of one mutant.

    Attributes:
        mutant: Which.
        fate: `equivalent`: in none of the models can anybody tell. `untried`: it is in none of the models.
        by: What killed it, in the order of the properties.
        model: In which model.
    """

    mutant: SpecMutant
    fate: Fate
    by: tuple[str, ...] = ()
    model: str = ""


def scores(
    mutants: Iterable[SpecMutant], subjects: Iterable[Subject], said: Callable[[str], None] = lambda _: None
) -> list[Score]:
    """The fate of every mutant: it is tried in one model after the other until it is killed, and then compared in each."""
    todo = {mutant.id: mutant for mutant in mutants}
    order = list(todo)
    found: dict[str, Score] = {}
    tried: dict[str, list[Subject]] = {name: [] for name in todo}
    chosen = list(subjects)
    for subject in chosen:
        variants = _variants(subject, todo, found)
        for name in variants:
            tried[name].append(subject)
        base = explore(subject.model, engine="python" if subject.small else "auto")
        said(f"{subject.name}: {len(variants)} mutants")
        for name, outcome in _explored(subject, variants).items():
            by = _killers(base, outcome)
            if by:
                found[name] = Score(todo[name], "killed", by, subject.name)
        said(f"{subject.name}: {len(found)} of {len(todo)} are killed so far")
    told: dict[str, set[bool | None]] = {name: set() for name in todo}
    for subject in chosen:
        left = [name for name in todo if name not in found and subject in tried[name] and False not in told[name]]
        pairs = {name: model for name in left if (model := subject.variant(todo[name], True)) is not None}
        said(f"{subject.name}: {len(pairs)} survivors are compared")
        for name, same in _compared(subject, pairs).items():
            told[name].add(same)
    for name in order:
        found.setdefault(name, Score(todo[name], _fate(told[name])))
    return [found[name] for name in order]


def _variants(subject: Subject, todo: dict[str, SpecMutant], found: dict[str, Score]) -> dict[str, Model]:
    return {
        name: model
        for name, mutant in todo.items()
        if name not in found and mutant.machine in subject.machines and (model := subject.variant(mutant)) is not None
    }


def _explored(subject: Subject, variants: dict[str, Model]) -> dict[str, Exploration]:
    engine: EngineName = "python" if subject.small else "auto"
    return explore_variants(subject.model, variants, _LIMITS, engine=engine, stop_at_violation=False)


def _compared(subject: Subject, pairs: dict[str, Model]) -> dict[str, bool | None]:
    engine: EngineName = "python" if subject.small else "auto"
    return equivalents(subject.observed, pairs, subject.visible(), _LIMITS, engine=engine)


def _fate(told: set[bool | None]) -> Fate:
    if not told:
        return "untried"
    return "survived" if False in told else "undecided" if None in told else "equivalent"


def _killers(base: Exploration, found: Exploration) -> tuple[str, ...]:
    failed = {*found.violations, *found.missing} - {*base.violations, *base.missing}
    stuck = (DEAD_END,) if found.dead_ends and not base.dead_ends and not failed else ()
    return (*(p.id for p in base.model.properties if p.id in failed), *stuck)
