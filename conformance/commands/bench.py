"""`groupspec bench`: every performance figure, each beside its peer or its limit, from the same run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from groupspec.conformance.benchmarks.figures import Figure, find, names
from groupspec.conformance.commands import _soak
from groupspec.conformance.commands._common import Known, Steps, json_option, say, write_json
from groupspec.conformance.errors import EXIT_OK, UsageProblem


@click.command("bench")
@click.argument("chosen", nargs=-1, metavar="[NAME...]", type=Known("benchmark", lambda: [*names(), _soak.NAME]))
@click.option("--list", "listing", is_flag=True, help="Show what there is.")
@click.option("--minutes", type=click.FloatRange(0.1, 24 * 60), default=1.0, help="Of soak: how long faults go on.")
@click.option("--seed", type=click.IntRange(0), show_default="drawn, and printed", help="Of soak: draws its faults.")
@click.option("--members", metavar="A,B", help="Of soak: which clients; a name may come several times.")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Of soak: where report.html and logs are to stay."
)
@json_option
def command(
    chosen: Sequence[str],
    listing: bool,
    minutes: float,
    seed: int | None,
    members: str | None,
    keep: Path | None,
) -> int:
    """Measure: all benchmarks but soak, or those named.

    Figures depend on the machine, so most are compared with something measured in the same run. A goal that is missed
    is shown and does not change the exit code.

    soak runs alone: one group on Apache Kafka, members of several clients, and faults that a seed draws: processes that
    stand still or are killed, work beyond the poll interval, slow callbacks, connections that break, stall or are slow,
    brokers that are stopped or killed, a coordinator that moves, more partitions, rolling restarts. What is lost,
    processed twice without an excuse, owned twice, or hangs, is told with the client that did it. Exit code 1 if that
    is the reference.

    Example: groupspec bench step suite --json figures.json

    Example: groupspec bench soak --minutes 10 --seed 1 --members reference,reference-heartbeat,kafka-python
    """
    if listing:
        width = max(map(len, names()))
        for name in names():
            say(f"{name:<{width}}  {find(name).about}")
        say(f"{_soak.NAME:<{width}}  {_soak.ABOUT}")
        return EXIT_OK
    if _soak.NAME in chosen:
        if len(set(chosen)) > 1:
            raise UsageProblem("soak beside other benchmarks", next_step="run it by itself: `groupspec bench soak`")
        return _soak.soak(minutes, seed, members, keep)
    benchmarks = [find(name) for name in (dict.fromkeys(chosen) or names())]
    figures: list[Figure] = []
    with Steps("measuring", total=len(benchmarks)) as steps:
        for each in benchmarks:
            measured = each.measure(steps.now)
            steps.done()
            for figure in measured:  # at once: the next one may take long
                first, *others = _lines(figure)
                say(first, *(f"  {line}" for line in others))
            figures += measured
    write_json("bench", {"figures": [figure.data() for figure in figures]})
    return EXIT_OK


def _lines(figure: Figure) -> Iterator[str]:
    median = _number(statistics.median(figure.samples))
    spread = f" ({_number(min(figure.samples))} .. {_number(max(figure.samples))}, {len(figure.samples)} runs)"
    yield f"{figure.name}: {median} {figure.unit}{spread if len(figure.samples) > 1 else ''}"
    if figure.ratio is not None:
        peer = f"{_number(statistics.median(figure.peer))} {figure.unit}"
        yield f"against {figure.against}: {peer}; ratio {_number(figure.ratio)}"
    if figure.is_reached is not None:
        yield f"goal {figure.aim}: {'reached' if figure.is_reached else 'MISSED'}"
    if figure.note:
        yield figure.note


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
