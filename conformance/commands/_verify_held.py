"""`groupspec verify --held`: the kill matrix of the rules, computed, told and written where it is committed."""

from __future__ import annotations

from groupspec.conformance import generate
from groupspec.conformance.commands._common import progress, remarks, results
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.mutation import files
from groupspec.conformance.mutation.catalogue import BREAKERS
from groupspec.conformance.mutation.matrix import KillMatrix, kill_matrix
from groupspec.conformance.outputs import write_text


def verify_held(jobs: int = 2) -> tuple[int, dict[str, object]]:
    """Computes, writes and tells it.

    Returns:
        The exit code, 1 if a rule is held by nothing or a breaker is not noticed; and what is committed, for `--json`.
    """
    with progress("every breaker against every check", total=len(BREAKERS) + 1) as bar:
        matrix = kill_matrix(lambda _: bar.done(), jobs)
    data = files.held_data(matrix)
    folder = generate.folder_path("conformance")
    write_text(folder / generate.HELD, files.held_text(data))
    write_text(folder / generate.HELD.replace(".json", ".md"), files.held_markdown(data))
    wrong = _wrong(matrix, data)
    for line in wrong:
        results().print(line, markup=False)
    checks = {check for found in matrix.red.values() for check in found}
    held = sum(1 for breakers in matrix.kills.values() if any(breakers.values()))
    results().print(
        f"{held} of {len(matrix.kills)} rules are held: {len(BREAKERS)} breakers, {len(checks)} checks that notice"
    )
    results().print(f"written: conformance/{generate.HELD}, and the same to be read beside it")
    if wrong:
        remarks().print(
            "next: tell a story that notices (its name carries the rule), or write a breaker that breaks the rule"
        )
    return (EXIT_CONFORMANCE_FAILURE if wrong else EXIT_OK), data


def _wrong(matrix: KillMatrix, data: dict[str, object]) -> list[str]:
    unnoticed = [
        f"breaker {identifier} says that it breaks {rule}, and no check of {rule} notices"
        for identifier, rule in matrix.unnoticed()
    ]
    return [*matrix.problems, *files.gaps(data), *unnoticed]
