"""`groupspec verify --mutation` and `--scores`: what notices a broken rule, or a changed row; told, and committed.

Both return the exit code and what is committed, for `--json`.
"""

from __future__ import annotations

from typing import Any

from groupspec.conformance.commands._common import Steps, remark, say
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.generate import MUTATION, ROOT, SCORES
from groupspec.conformance.kills import totals
from groupspec.conformance.mutation import matrix as mutation
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.outputs import write_text
from groupspec.conformance.scores import files as scores
from groupspec.conformance.scores.files import scores_markdown
from groupspec.spec.rules import RULES


def verify_mutation() -> tuple[int, dict[str, Any]]:
    """Every mutant of the rules against every test; 1 if no mutant of a rule is noticed, or a mutant is not."""
    with Steps("every mutant against every test", total=len(MUTANTS) + 1) as bar:
        data, problems = mutation.kill_matrix(bar.done, jobs=2)
    _commit(MUTATION, mutation.matrix_text(data), mutation.matrix_markdown(data))
    wrong = [*problems, *mutation.gaps(data)]
    covered, _, tests = totals(data)
    say(
        *wrong,
        f"{covered} of {len(RULES)} rules are covered: {len(MUTANTS)} mutants, {tests} tests that notice",
        f"written: {MUTATION}, and the same to be read beside it",
    )
    if wrong:
        remark("next: write a test that notices (its name carries the rule), or a mutant that breaks the rule")
    return (EXIT_CONFORMANCE_FAILURE if wrong else EXIT_OK), data


def verify_scores() -> tuple[int, dict[str, Any]]:
    """Every mutant of the specification against its properties; 1 if too many survive.

    Those of a model that has not changed are taken from what is committed.
    """
    with Steps("mutants of the specification", total=None) as bar:
        known = scores.committed()
        data = scores.computed(said=bar.now, known=known)
    before = known["models"] if known and known["every"] == data["every"] else {}
    reused = sum(before.get(name) == found for name, found in data["models"].items())
    if data != known:
        _commit(SCORES, scores.scores_text(data), scores_markdown(data))
    share = scores.share_killed(data["mutants"])
    left = [row for row in data["mutants"] if row["fate"] in ("survived", "undecided")]
    say(
        *(f"{row['fate']}: {row['model']}: {row['id']}" for row in left),
        f"{len(data['mutants'])} mutants; of those neither idle nor equivalent {share:.1%} are killed",
        *([f"reused: {reused} of {len(data['models'])} models; their tables are unchanged"] if reused else []),
        f"written: {SCORES}, and the same to be read beside it" if data != known else f"unchanged: {SCORES}",
    )
    return (EXIT_OK if share >= scores.WANTED else EXIT_CONFORMANCE_FAILURE), data


def _commit(name: str, text: str, page: str) -> None:
    write_text(ROOT / name, text)
    write_text((ROOT / name).with_suffix(".md"), page)
