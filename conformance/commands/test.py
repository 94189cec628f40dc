"""`groupspec test`: the generated suite: the specification and the reference, event by event, side by side."""

from __future__ import annotations

import os
import random
import time

import click

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.commands._test_mutants import try_mutants
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.general_checks import Volume
from groupspec.conformance.schedules.campaign import Failure, replayed, search
from groupspec.conformance.stateful.campaign import DRIVERS, SuiteResult, run_suite
from groupspec.impl.threads.designs import DESIGNS, Design

MAX_MISSING = 20


@click.command("test")
@click.option("--driver", type=click.Choice(list(DRIVERS)), default="core", help="What is driven.")
@click.option(
    "--examples",
    type=click.IntRange(0, 1_000_000),
    default=200,
    help="Examples that Hypothesis draws for each machine and protocol, after all routes.",
)
@click.option(
    "--schedules",
    type=click.IntRange(0, 1_000_000_000),
    default=0,
    help="Instead, so many runs of the consumer with this driver under a scheduler; with --mutants, in each design.",
)
@click.option("--choices", metavar="LIST", help="Of one such run: replays it, with the --seed that a failure has told.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    show_default="drawn, and printed; with --mutants 1",
    help="Draws the examples, or the runs; with --mutants the first of them.",
)
@click.option(
    "--mutants", metavar="IDS", help="Instead: what notices each mutant of the reference; '*' is all of them."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="one each processor",
    help="With --mutants: so many at a time.",
)
@json_option
def command(
    driver: str, examples: int, schedules: int, choices: str | None, seed: int | None, mutants: str | None, jobs: int
) -> int:
    """Run the suite that is generated from the tables against the reference.

    First every route: the shortest run to each transition, and to each pair of transitions that can follow each other.
    Then drawn examples, each a route and a random walk. The core is driven event by event; the drivers run with their
    own threads, one at a time, in virtual time.

    Each driver is measured by what can happen in its threading design. In that of heartbeats less can: as in Kafka, its
    thread looks at no timer while the coordinator is unknown.

    With --schedules, the whole consumer under a deterministic scheduler: each run draws what the group, the network and
    the application do, and in which order the threads go on; what is checked is every promise of the consumer's API,
    and what each request contains. A failure is told with the command that replays it, step by step.

    With --mutants, each bug that is planted in the reference meets the checks that were written for no bug in
    particular: schedules of both designs, as many as `make check` runs, this suite, and simulated groups. What notices
    it is told, and so is a check that never ends with it, is cut off, or goes wrong itself. Hours for all.

    Example: groupspec test --driver background --examples 100 --seed 1

    Example: groupspec test --driver background --schedules 1000

    Example: groupspec test --driver heartbeat --schedules 1000

    Example: groupspec test --mutants 'BUG-*' --schedules 1000 --seed 5000 --jobs 4
    """
    if mutants is not None:
        return try_mutants(mutants, Volume(schedules or None, seed=1 if seed is None else seed), jobs)
    if choices is not None:
        return _replay(driver, choices, seed)
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    if schedules:
        return _run_schedules(driver, schedules, chosen)
    with Steps("preparing") as steps:
        result = run_suite(driver, examples, chosen, steps.now)
    _show(result, examples, chosen)
    write_json("test", result.data())
    return EXIT_CONFORMANCE_FAILURE if result.failures else EXIT_OK


def _replay(driver: str, choices: str, seed: int | None) -> int:
    design = _design(driver)
    if seed is None:
        raise UsageProblem("--choices are those of one run, and nothing says of which", next_step="add its --seed")
    try:
        failure = replayed(seed, choices, design)
    except ValueError:
        raise UsageProblem(
            f"{choices!r} is no list of choices",
            next_step="write them as a failure tells them: '12:1 40:2', or 'plain'",
        ) from None
    say(*(f"BROKEN {failure}" if failure else "no promise is broken: has the code changed since?").splitlines())
    write_json("test-schedules", _result(driver, 1, seed, 0.0, failure))
    return EXIT_CONFORMANCE_FAILURE if failure else EXIT_OK


def _design(driver: str) -> Design:
    for design in DESIGNS:
        if design == driver:
            return design
    raise UsageProblem(
        f"a schedule orders the threads of a driver, and {driver!r} has none",
        next_step="add --driver background or --driver heartbeat",
    )


def _run_schedules(driver: str, schedules: int, seed: int) -> int:
    design = _design(driver)
    began = time.perf_counter()
    with Steps("schedules", total=schedules) as steps:
        failure = search(schedules, seed, finished=lambda _: steps.done(), design=design)
    seconds = time.perf_counter() - began
    runs = schedules if failure is None else failure.seed - seed + 1
    told = f"{driver}: {runs:,} schedules in {seconds:.1f} s, {runs / max(seconds, 0.001):,.0f} a second"
    if failure is None:
        say(
            f"{told}; no promise is broken",
            f"replay: groupspec test --driver {driver} --schedules {schedules} --seed {seed}",
        )
    else:
        say(*f"BROKEN {failure}".splitlines(), f"{told}; the last one breaks a promise")
    write_json("test-schedules", _result(driver, runs, seed, seconds, failure))
    return EXIT_CONFORMANCE_FAILURE if failure else EXIT_OK


def _result(driver: str, runs: int, seed: int, seconds: float, failure: Failure | None) -> dict[str, object]:
    return {
        "driver": driver,
        "schedules": runs,
        "seed": seed,
        "seconds": round(seconds, 3),
        "failure": failure.data() if failure else None,
    }


def _show(result: SuiteResult, examples: int, seed: int) -> None:
    say(*(line for failure in result.failures for line in (*f"DIVERGES {failure}".splitlines(), "")))
    say(*(f"never fired: {missing}" for missing in result.missing[:MAX_MISSING]))
    if len(result.missing) > MAX_MISSING:
        say(f"... and {len(result.missing) - MAX_MISSING} more")
    say(
        f"{result.driver}: transitions {result.transitions['covered']:,} of {result.transitions['total']:,}, "
        f"pairs {result.pairs['covered']:,} of {result.pairs['feasible']:,}, "
        f"{result.steps:,} steps in {result.seconds:.1f} s "
        f"(and {result.preparing_seconds:.1f} s to find the routes), {len(result.failures)} divergences",
        f"replay: groupspec test --driver {result.driver} --examples {examples} --seed {seed}",
    )
