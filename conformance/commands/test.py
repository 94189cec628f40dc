"""`groupspec test`: the generated suite: the specification and the reference, event by event, side by side."""

from __future__ import annotations

import random
import time

import click

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.stateful.campaign import DRIVERS, SuiteResult, run_suite

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
    help="Instead, so many runs of the background driver under a scheduler.",
)
@click.option(
    "--seed", type=click.IntRange(0), show_default="drawn, and printed", help="Draws the examples, or the runs."
)
@json_option
def command(driver: str, examples: int, schedules: int, seed: int | None) -> int:
    """Run the suite that is generated from the tables against the reference.

    First every route: the shortest run to each transition, and to each pair of transitions that can follow each other.
    Then drawn examples, each a route and a random walk. The core is driven event by event; the background driver runs
    with its real threads in virtual time.

    With --schedules, the whole consumer under a deterministic scheduler: each run draws what the group, the network and
    the application do, and in which order the threads go on; what is checked is every promise of the consumer's API.

    Example: groupspec test --driver background --examples 100 --seed 1

    Example: groupspec test --driver background --schedules 1000
    """
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    if schedules:
        return _run_schedules(driver, schedules, chosen)
    with Steps("preparing") as steps:
        result = run_suite(driver, examples, chosen, steps.now)
    _show(result, examples, chosen)
    write_json("test", result.data())
    return EXIT_CONFORMANCE_FAILURE if result.failures else EXIT_OK


def _run_schedules(driver: str, schedules: int, seed: int) -> int:
    if driver != "background":
        raise UsageProblem(
            f"--schedules orders the threads of a driver, and {driver!r} has none", next_step="add --driver background"
        )
    began = time.perf_counter()
    with Steps("schedules", total=schedules) as steps:
        failure = search(schedules, seed, finished=lambda _: steps.done())
    seconds = time.perf_counter() - began
    runs = schedules if failure is None else failure.seed - seed + 1
    if failure is not None:
        say(f"BROKEN {failure}\n")
    say(
        f"background: {runs:,} schedules in {seconds:.1f} s, {'none' if failure is None else 'the last one'} breaks a "
        "promise",
        f"replay: groupspec test --driver background --schedules {'1' if failure else schedules} "
        f"--seed {failure.seed if failure else seed}",
    )
    result = {
        "driver": driver,
        "schedules": runs,
        "seed": seed,
        "seconds": round(seconds, 3),
        "failure": failure.data() if failure else None,
    }
    write_json("test-schedules", result)
    return EXIT_CONFORMANCE_FAILURE if failure else EXIT_OK


def _show(result: SuiteResult, examples: int, seed: int) -> None:
    say(*(f"DIVERGES {failure}\n" for failure in result.failures))
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
