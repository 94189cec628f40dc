"""`groupspec test`: the generated suite: the specification and the reference, event by event, side by side."""

from __future__ import annotations

import random

import click

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK
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
@click.option("--seed", type=int, show_default="drawn, and printed", help="Draws the examples.")
@json_option
def command(driver: str, examples: int, seed: int | None) -> int:
    """Run the suite that is generated from the tables against the reference.

    First every route: the shortest run to each transition, and to each pair of transitions that can follow each other.
    Then drawn examples, each a route and a random walk. The core is driven event by event; the background driver runs
    with its real threads in virtual time.

    Example: groupspec test --driver background --examples 100 --seed 1
    """
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    with Steps("preparing") as steps:
        result = run_suite(driver, examples, chosen, steps.now)
    _show(result, examples, chosen)
    write_json("test", result.data())
    return EXIT_CONFORMANCE_FAILURE if result.failures else EXIT_OK


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
