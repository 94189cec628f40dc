"""`groupspec verify --mutation`: the kill matrix of the rules, computed, told and written where it is committed."""

from __future__ import annotations

from groupspec.conformance import generate
from groupspec.conformance.commands._common import progress, remarks, results
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.kills import totals
from groupspec.conformance.mutation import files
from groupspec.conformance.mutation.catalogue import MUTANTS
from groupspec.conformance.mutation.matrix import kill_matrix
from groupspec.conformance.outputs import write_text
from groupspec.spec.rules import RULES


def verify_mutation(jobs: int = 2) -> tuple[int, dict[str, object]]:
    """Computes, writes and tells it.

    Returns:
        The exit code, 1 if no mutant of a rule is noticed or a mutant is not; and what is committed, for `--json`.
    """
    with progress("every mutant against every test", total=len(MUTANTS) + 1) as bar:
        matrix = kill_matrix(bar.done, jobs)
    data = files.matrix_data(matrix)
    folder = generate.folder_path("conformance")
    write_text(folder / generate.MUTATION, files.matrix_text(data))
    write_text(folder / generate.MUTATION.replace(".json", ".md"), files.matrix_markdown(data))
    wrong = [*matrix.problems, *files.gaps(data)]
    wrong += [
        f"mutant {mutant} says that it breaks {rule}, and no test of {rule} fails"
        for mutant, rule in matrix.unnoticed()
    ]
    for line in wrong:
        results().print(line, markup=False)
    covered, _, tests = totals(data)
    results().print(f"{covered} of {len(RULES)} rules are covered: {len(MUTANTS)} mutants, {tests} tests that notice")
    results().print(f"written: conformance/{generate.MUTATION}, and the same to be read beside it")
    if wrong:
        remarks().print("next: write a test that notices (its name carries the rule), or a mutant that breaks the rule")
    return (EXIT_CONFORMANCE_FAILURE if wrong else EXIT_OK), data
