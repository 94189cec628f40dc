"""`groupspec verify --scores`: mutants of the specification against its properties, computed, told and written."""

from __future__ import annotations

from groupspec.conformance import generate
from groupspec.conformance.commands._common import progress, results
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
from groupspec.conformance.outputs import write_text
from groupspec.conformance.scores import files
from groupspec.conformance.scores.page import scores_markdown


def verify_scores(every: int = 1) -> tuple[int, dict[str, object]]:
    """Computes, writes and tells them: anew what belongs to a model that has changed, and the rest as it was.

    Args:
        every: Only one of so many mutants.

    Returns:
        The exit code, 1 if too many mutants survive; and what is committed, for `--json`.
    """
    with progress("mutants of the specification", total=None) as bar:
        data = files.computed(every, bar.now, files.committed())
    folder = generate.folder_path("conformance")
    write_text(folder / generate.SCORES, files.scores_text(data))
    write_text(folder / generate.SCORES.replace(".json", ".md"), scores_markdown(data))
    share = files.share_killed(data["mutants"])
    for row in data["mutants"]:
        if row["fate"] in ("survived", "undecided"):
            results().print(f"{row['fate']}: {row['model']}: {row['id']}", markup=False)
    results().print(f"{len(data['mutants'])} mutants; of those not equivalent {share:.1%} are killed", markup=False)
    results().print(f"written: conformance/{generate.SCORES}, and the same to be read beside it", markup=False)
    return (EXIT_OK if share >= files.WANTED else EXIT_CONFORMANCE_FAILURE), data
