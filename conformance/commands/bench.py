"""`groupspec bench`: every performance figure, each beside its peer or its limit, from the same run."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import click

from groupspec.conformance.benchmarks.figures import Figure, find, names
from groupspec.conformance.commands._common import Known, Steps, json_option, say, write_json


@click.command("bench")
@click.argument("chosen", nargs=-1, metavar="[NAME...]", type=Known("benchmark", names))
@click.option("--list", "listing", is_flag=True, help="Show what there is.")
@json_option
def command(chosen: Sequence[str], listing: bool) -> None:
    """Measure: all benchmarks, or those named.

    Figures depend on the machine, so most are compared with something measured in the same run. A goal that is missed
    is shown and does not change the exit code.

    Example: groupspec bench step suite --json figures.json
    """
    if listing:
        width = max(map(len, names()))
        for name in names():
            say(f"{name:<{width}}  {find(name).about}")
        return
    benchmarks = [find(name) for name in (dict.fromkeys(chosen) or names())]
    figures: list[Figure] = []
    with Steps("measuring", total=len(benchmarks)) as steps:
        for each in benchmarks:
            figures += each.measure(steps.now)
            steps.done()
    say(*("\n  ".join(_lines(figure)) for figure in figures))
    write_json("bench", {"figures": [figure.data() for figure in figures]})


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
