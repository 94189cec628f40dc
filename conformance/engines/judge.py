"""What several engines found in one model, judged: do they agree, and is what they found what is expected?

A model may be known to break properties: the published profile is explored to see which. Such a list is a claim like
any other. A violation that is not on it fails, and so does one that is on it and is not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groupspec.conformance.engines.result import EngineRun
from groupspec.spec.compiler.model import Model

Verdict: TypeAlias = Literal["ok", "failed", "inconclusive"]


@dataclass(frozen=True)
class Judgement:
    """One model and what each engine found in it; `expected` are the properties that it must violate."""

    model: Model
    runs: Sequence[EngineRun]
    expected: frozenset[str]

    @property
    def complete(self) -> list[EngineRun]:
        """The runs that visited every state."""
        return [run for run in self.runs if run.outcome == "complete"]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many distinct states each engine that got through found."""
        return {run.engine: run.states for run in self.complete}

    @property
    def counts_differ(self) -> bool:
        """Whether two engines that got through found different numbers: then one of them read another model."""
        return len(set(self.counts.values())) > 1

    @property
    def violated(self) -> frozenset[str]:
        """The properties that some engine found violated."""
        return frozenset().union(*(run.violated for run in self.runs))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Properties of which no engine that got through says whether they hold: *ok* does not cover them."""
        decided = frozenset().union(*(run.decided for run in self.complete))
        return tuple(claim.id for claim in self.model.properties if claim.id not in decided)

    @property
    def new(self) -> tuple[str, ...]:
        """Violations that are not expected, in the model's order."""
        return tuple(claim.id for claim in self.model.properties if claim.id in self.violated - self.expected)

    @property
    def missing(self) -> tuple[str, ...]:
        """Expected violations that an engine looked for in vain, or that name no property."""
        held = {claim for run in self.runs for claim, answer in run.properties.items() if answer == "holds"}
        known = {claim.id for claim in self.model.properties}
        return tuple(sorted(claim for claim in self.expected - self.violated if claim in held or claim not in known))

    @property
    def disputed(self) -> tuple[str, ...]:
        """Properties that hold for one engine that got through, and not for another."""
        answers = {claim.id: {run.properties.get(claim.id) for run in self.complete} for claim in self.model.properties}
        return tuple(claim for claim, given in answers.items() if {"holds", "violated"} <= given)

    @property
    def verdict(self) -> Verdict:
        """*failed* if the model or the engines' agreement is wrong; *inconclusive* if not all got through."""
        if self.counts_differ or self.new or self.missing or self.disputed:
            return "failed"
        return "ok" if len(self.complete) == len(self.runs) else "inconclusive"
