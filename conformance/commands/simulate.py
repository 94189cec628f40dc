"""`groupspec simulate`: whole groups in virtual time, with every fault that one seed draws."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from textwrap import shorten

import click

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, UsageProblem
from groupspec.conformance.outputs import write_text
from groupspec.conformance.simulation.campaign import Campaign, load, results, save
from groupspec.conformance.simulation.picture import sequence
from groupspec.conformance.simulation.plan import MOST_MEMBERS
from groupspec.conformance.simulation.run import Driver
from groupspec.conformance.simulation.shrinking import Failure, failure
from groupspec.conformance.simulation.situations import SITUATIONS

SAVED_EVERY = 10
MOST_SHOWN = 3
MOST_IN_TITLE = 100


def _numbers(_: click.Context, option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if text == "none":
        return ()
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise UsageProblem(f"{option.opts[0]} {text!r}", allowed="numbers with commas between them, or none") from None


@click.command("simulate")
@click.option("--seeds", type=click.IntRange(1), default=20, help="How many runs at most.")
@click.option("--seed", type=click.IntRange(0), show_default="drawn, and printed", help="Of the first run.")
@click.option("--members", type=click.IntRange(1, MOST_MEMBERS), help="How many members each group has; else drawn.")
@click.option(
    "--driver",
    type=click.Choice(["core", "background", "heartbeat"]),
    default="core",
    help="What members are: the core alone, or a whole consumer, threads and all, in one of its two designs.",
)
@click.option(
    "--years", type=click.FloatRange(0, min_open=True), help="Stop when groups have lived that long together."
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="one each processor")
@click.option("--resume", type=click.Path(path_type=Path, dir_okay=False), help="Go on with this file, and keep it.")
@click.option("--only-members", callback=_numbers, metavar="1,2", help="One run, with these of its members.")
@click.option("--only-faults", callback=_numbers, metavar="3,7", help="One run, with these of its faults; or none.")
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Where a failure is drawn (SVG).")
@json_option
def command(
    seeds: int,
    seed: int | None,
    members: int | None,
    driver: Driver,
    years: float | None,
    jobs: int,
    resume: Path | None,
    only_members: tuple[int, ...] | None,
    only_faults: tuple[int, ...] | None,
    picture: Path | None,
) -> int:
    """Let whole groups live in virtual time: members of the reference, and the reference coordinator.

    Each run is drawn from its seed: members, settings, the network, and what goes wrong. Judged are records (none lost,
    none twice but where the protocol can't help it), owners, callbacks, commits, the members' traces, that the
    group is stable again when nothing goes wrong any more, and each member by rules (`groupspec explain RULE` says by
    which). A failure is made small, and told with what replays it.

    Example: groupspec simulate --seeds 50 --seed 1

    Example: groupspec simulate --seeds 20 --driver heartbeat

    Example: groupspec simulate --seeds 1000000 --years 1 --resume campaign.json
    """
    chosen = random.SystemRandom().randrange(2**32) if seed is None else seed
    if only_members is not None or only_faults is not None:
        return _replay(chosen, members, driver, (only_members, only_faults), picture)
    campaign = Campaign(chosen, members, driver)
    if resume is not None and resume.exists():
        campaign = load(resume)
        if seed not in (None, campaign.next_seed) or (members, driver) != (campaign.members, campaign.driver):
            raise UsageProblem(
                f"{resume} goes on with --seed {campaign.next_seed}, --members {campaign.members or 'drawn'} "
                f"and --driver {campaign.driver}",
                next_step="leave --seed out and repeat --members and --driver as they were, or name a new file",
            )
    first = campaign.next_seed
    _run(campaign, seeds, years, jobs, resume)
    with Steps("making the first failures small") as steps:
        found = [failure(number, members, driver, tried=steps.done) for number in list(campaign.failed)[:MOST_SHOWN]]
    failures = [each for each in found if each is not None]
    _show(campaign, failures, picture)
    kind = "" if driver == "core" else f" --driver {driver}"
    say(f"replay: groupspec simulate --seed {first} --seeds {campaign.next_seed - first}{kind}")
    write_json("simulate", {**campaign.data(), "years": campaign.years, "failures": [f.data() for f in failures]})
    return EXIT_CONFORMANCE_FAILURE if campaign.failed else EXIT_OK


def _run(campaign: Campaign, seeds: int, years: float | None, jobs: int, resume: Path | None) -> None:
    before_seconds, began = campaign.seconds, time.perf_counter()
    with Steps("simulating", total=seeds) as steps:
        for result in results(campaign.next_seed, seeds, campaign.members, min(jobs, seeds), campaign.driver):
            campaign.add(result)
            if result.promise:
                steps.say(f"BROKEN seed {result.seed}: {result.promise}")
            campaign.seconds = before_seconds + time.perf_counter() - began
            steps.done()
            is_enough = years is not None and campaign.years >= years
            if resume is not None and (is_enough or campaign.runs % SAVED_EVERY == 0):
                save(campaign, resume)
            if is_enough:
                break
    if resume is not None:
        save(campaign, resume)


def _replay(
    seed: int,
    members: int | None,
    driver: Driver,
    only: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
    picture: Path | None,
) -> int:
    found = failure(seed, members, driver, only)
    if found is None:
        say(f"seed {seed}: nothing is broken")
        return EXIT_OK
    _show_failure(found, picture)
    return EXIT_CONFORMANCE_FAILURE


def _show(campaign: Campaign, failures: list[Failure], picture: Path | None) -> None:
    for each in failures:
        _show_failure(each, picture)
        picture = None
    for number, promise in list(campaign.failed.items())[len(failures) :]:
        say(f"BROKEN seed {number}: {promise}")
    width = max(map(len, SITUATIONS))
    say(*(f"{name:{width}} {campaign.seen[name]:8,}" for name in SITUATIONS))
    seconds = max(campaign.seconds, 0.001)
    say(
        f"{campaign.runs:,} groups lived {campaign.years:.4f} years in {campaign.seconds:.1f} s "
        f"({campaign.virtual_ms / 1_000 / seconds:,.0f} times as fast), {campaign.records:,} records processed, "
        f"{campaign.doubles:,} of them again; {len(campaign.failed)} failures"
    )


def _show_failure(found: Failure, picture: Path | None) -> None:
    say(*f"BROKEN {found}".splitlines(), f"replay: {found.replay}")
    if picture is not None:
        title = shorten(f"seed {found.seed}: {found.outcome.error.splitlines()[-1]}", MOST_IN_TITLE)
        write_text(picture, sequence(found.outcome, title))
        say(f"see:    {picture}")
