"""`groupspec test --mutants`: which general check notices each mutant of the reference."""

from __future__ import annotations

from fnmatch import fnmatchcase

from groupspec.conformance.commands._common import Steps, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.general_checks import Volume, checks
from groupspec.conformance.noticed import Trial, of_the_reference, tried
from groupspec.impl.threads.designs import DESIGNS


def try_mutants(pattern: str, volume: Volume, jobs: int) -> int:
    """Each mutant whose id matches against every check; 1 if one is not noticed, and the catalogue has no reason.

    Raises:
        UsageProblem: none matches.
    """
    there_are = of_the_reference()
    chosen = [identifier for identifier in there_are if fnmatchcase(identifier, pattern)]
    if not chosen:
        raise UsageProblem(f"no mutant of the reference matches {pattern!r}", "--mutants", ", ".join(there_are))
    trials: list[Trial] = []
    with Steps("mutants", total=len(chosen)) as steps:
        for trial in tried(chosen, checks(volume), jobs):
            trials.append(trial)
            steps.done()
            say(_line(trial))
    noticed, excused = sum(trial.is_noticed for trial in trials), sum(bool(trial.reason) for trial in trials)
    share = noticed / len(trials)
    unended = sum(not trial.is_noticed and trial.ending != "quiet" for trial in trials)
    say(
        f"{noticed} of {len(trials)} mutants of the reference are noticed by a general check ({share:.1%}), "
        f"{excused} with a reason are not{f'; of {unended} others not every check has come to its end' * bool(unended)}"
    )
    volumes = {"schedules": {design: volume.of(design) for design in DESIGNS}, "simulated": volume.simulated}
    write_json("test-mutants", {**volumes, "seed": volume.seed, "mutants": [trial.data() for trial in trials]})
    return EXIT_OK if noticed + excused == len(trials) else EXIT_CONFORMANCE_FAILURE


def _line(trial: Trial) -> str:
    by = [trial.noticed_by] if trial.noticed_by else []
    by += [f"wire: {scenario}" for scenario in trial.wire]
    missed = f"not noticed, for a reason: {trial.reason}" if trial.reason else "NOT NOTICED"
    if trial.ending != "quiet":
        missed = "NOT KNOWN"
    return f"{trial.mutant:28} {', '.join(by) or missed}{': ' if trial.how else ''}{trial.how}"
