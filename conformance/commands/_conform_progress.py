"""What a terminal shows while `groupspec conform` runs: one line with what is done, what FAILs, and the time left."""

from __future__ import annotations

from collections.abc import Sequence

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.commands._common import Steps
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client


class Watched:
    """Tells the bar what has ended. `counted`: the rules whose FAIL counts."""

    def __init__(self, steps: Steps, counted: frozenset[str]) -> None:
        self._steps, self._counted = steps, counted
        self._failed: set[tuple[Client, Case, str]] = set()

    def resumed(self, before: Sequence[CaseResult], left: int) -> None:
        """These runs were made before."""
        for run in before:
            self._count(run)
        self._steps.before(len(before), left)

    def finished(self, run: CaseResult, more: int) -> None:
        """A run has ended, and has made so many more necessary."""
        self._count(run)
        self._steps.more(more)
        self._steps.done()

    def _count(self, run: CaseResult) -> None:
        failed = {rule for rule, judgement in run.judgements.items() if judgement.verdict is Verdict.FAIL}
        self._failed |= {(run.client, run.case, rule) for rule in self._counted.intersection(failed, run.case.rules)}
        self._steps.now(f"judging, {len(self._failed)} FAIL" if self._failed else "judging")
