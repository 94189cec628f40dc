"""Which property kills which mutant, and whether a survivor can be told from the specification at all.

A survivor is looked at twice, both times side by side with the specification, to the end. First everything is compared:
every variable in every state that can be reached, and every word that leads there. Where nothing ever differs the
mutant is *idle*: what was changed made no difference where it stood. Then only what can be seen is compared: the words,
what the monitor makes of them, and what can happen. Where none of that differs, it is *equivalent*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from groupspec.conformance.scores.mutants import SpecMutant
from groupspec.conformance.scores.subjects import Subject
from groupspec.spec.compiler.model import Model
from groupspec.spec.explorer import Exploration, Limits, equivalents, explore, explore_variants

Fate: TypeAlias = Literal["killed", "survived", "equivalent", "idle", "undecided", "untried"]

DEAD_END = "no-dead-end"
"""What kills a mutant that can get stuck where the specification cannot."""

_LIMITS = Limits(max_states=3_000_000, max_seconds=60)

_BRIEFLY: Final = "-O0"
"""Pairs are compiled in no time, since most of them are told apart in no time."""


@dataclass(frozen=True)
class Score:
    """What became of one mutant.

    Attributes:
        mutant: Which.
        fate: `idle`: it does the same in every reachable state of every model. `equivalent`: it does not, but in none
            of the models can anybody tell. `undecided`: a limit came first. `untried`: it is in none of the models.
        by: What killed it in `model`, in the order of the properties.
    """

    mutant: SpecMutant
    fate: Fate
    by: tuple[str, ...] = ()
    model: str = ""


def scores(
    mutants: Iterable[SpecMutant], subjects: Iterable[Subject], said: Callable[[str], None] = lambda _: None
) -> list[Score]:
    """The fate of every mutant: it is tried in one model after the other until it is killed, then compared in each."""
    trial = _Trial(mutants, subjects, said)
    trial.look_for_killers()
    trial.compare("all", lambda subject: [variable.name for variable in subject.observed.variables])
    trial.compare("seen", lambda subject: subject.visible())
    return trial.scores()


class _Trial:
    """What is known so far.

    Attributes:
        found: What is killed.
        tried: By mutant, the models that it is in.
        same: (what is compared, mutant) to what was said of it in each model; None: not compared to the end.
    """

    def __init__(self, mutants: Iterable[SpecMutant], subjects: Iterable[Subject], said: Callable[[str], None]) -> None:
        self.mutants = {mutant.id: mutant for mutant in mutants}
        self.subjects = list(subjects)
        self.said = said
        self.found: dict[str, Score] = {}
        self.tried: dict[str, list[Subject]] = {name: [] for name in self.mutants}
        self.same: dict[tuple[str, str], list[bool | None]] = {}

    def look_for_killers(self) -> None:
        """In one model after the other."""
        for subject in self.subjects:
            variants = self._variants(subject)
            self.said(f"{subject.name}: {len(variants)} mutants")
            base = explore(subject.model)
            outcomes = explore_variants(subject.model, variants, _LIMITS, stop_at_violation=False)
            for name, outcome in outcomes.items():
                self.tried[name].append(subject)
                if by := _killers(base, outcome):
                    self.found[name] = Score(self.mutants[name], "killed", by, subject.name)
            self.said(f"{subject.name}: {len(self.found)} of {len(self.mutants)} are killed so far")

    def compare(self, what: str, sight: Callable[[Subject], Iterable[str]]) -> None:
        """Survivors beside the specification, in each model that they are in; `sight`: the variables to compare."""
        for subject in self.subjects:
            left = [name for name in self.mutants if name not in self.found and subject in self.tried[name]]
            left = [name for name in left if False not in self.same.get((what, name), ())]
            left = [name for name in left if not self._is_idle(name)]
            self.said(f"{subject.name}: {len(left)} survivors are compared: {what}")
            base = subject.observed
            pairs = {name: subject.variant(self.mutants[name], True) or base for name in left}
            told = equivalents(base, pairs, tuple(sight(subject)), _LIMITS, optimise=_BRIEFLY)
            for name, same in told.items():
                self.same.setdefault((what, name), []).append(same)

    def scores(self) -> list[Score]:
        """Of all, in their order."""
        return [self.found.get(name) or Score(mutant, self._fate(name)) for name, mutant in self.mutants.items()]

    def _variants(self, subject: Subject) -> dict[str, Model]:
        return {
            name: model
            for name, mutant in self.mutants.items()
            if name not in self.found
            and mutant.machine in subject.machines
            and (model := subject.variant(mutant)) is not None
        }

    def _is_idle(self, name: str) -> bool:
        told = self.same.get(("all", name), [])
        return len(told) == len(self.tried[name]) and all(told)

    def _fate(self, name: str) -> Fate:
        told = self.same.get(("seen", name), [])
        if not self.tried[name]:
            return "untried"
        if self._is_idle(name):
            return "idle"
        return "survived" if False in told else "undecided" if None in told else "equivalent"


def _killers(base: Exploration, found: Exploration) -> tuple[str, ...]:
    failed = {*found.violations, *found.missing} - {*base.violations, *base.missing}
    stuck = (DEAD_END,) if found.dead_ends and not base.dead_ends and not failed else ()
    return (*(p.id for p in base.model.properties if p.id in failed), *stuck)
