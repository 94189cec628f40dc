"""`groupspec demo`: the whole idea on real parts, in one HTML report."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from groupspec.conformance.commands._common import json_option, results, write_json
from groupspec.conformance.outputs import writable_folder, write_text
from groupspec.conformance.reports.demo_parts import Outcome, Part, Runner, lanes
from groupspec.conformance.reports.demo_story import exit_code, gather, page, summary
from groupspec.conformance.reports.html import report_html

Watch = Callable[[Part, Outcome | None], None]


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/demo"),
    show_default=True,
    metavar="DIR",
    help="For the report and everything it was made from.",
)
@click.option("--quick", is_flag=True, help="Three scenarios and the core only: a look, not a measurement.")
@json_option
def command(out: Path, quick: bool, json_file: Path | None) -> int:
    """Draw the machines, run the generated suite, judge four clients, check their traces on Spark, explain a log.

    What other clients break is shown and is no failure of the demo; what the reference breaks is.

    Example: groupspec demo --out out/demo

    Exit code 0: the reference kept every rule. 1: it did not. 2 or 3: a part could not be run. 4: nothing can be said.
    """
    folder = writable_folder(out).resolve()
    both = lanes(quick)
    begun = time.monotonic()
    with _watching([part for lane in both for part in lane]) as watch:
        outcomes = Runner(folder, watch).run(both)
    found, judged = gather(folder, {part.id: outcomes[part.id] for lane in both for part in lane})
    report = folder / "report.html"
    write_text(report, report_html(page(folder, found, judged)))
    code = exit_code(found, judged)
    for line in summary(found, judged, report):
        results().print(line, markup=False)
    write_json(
        "demo",
        {
            "report": str(report),
            "exit_code": code,
            "seconds": round(time.monotonic() - begun, 3),
            "parts": [
                {
                    "id": outcome.part.id,
                    "name": outcome.part.name,
                    "status": outcome.status,
                    "exit_code": outcome.code,
                    "seconds": round(outcome.seconds, 3),
                    "command": outcome.command,
                    "said": outcome.said,
                }
                for outcome in judged.values()
            ],
        },
        json_file,
    )
    return code


@contextmanager
def _watching(parts: Sequence[Part]) -> Iterator[Watch]:
    """A bar for the whole and a line for each part on a terminal; elsewhere a line when a part ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _say
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        yield _Bars(bar, parts).watch


def _say(part: Part, outcome: Outcome | None) -> None:
    if outcome is not None:
        print(f"{part.name}: {outcome.status}, {outcome.seconds:.1f} s", file=sys.stderr, flush=True)


class _Bars:
    """One bar that fills as parts end, and one that moves for each part that runs."""

    def __init__(self, bar: Progress, parts: Sequence[Part]) -> None:
        self._bar = bar
        self._all = bar.add_task("the demo", total=len(parts))
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def watch(self, part: Part, outcome: Outcome | None) -> None:
        """A part begins (None), or has ended."""
        with self._lock:
            if outcome is None:
                self._tasks[part.id] = self._bar.add_task(f"  {part.name}", total=None)
                return
            mark = "" if outcome.status == "ok" else f" ({outcome.status})"
            self._bar.update(self._tasks[part.id], description=f"  {part.name}{mark}", total=1, completed=1)
            self._bar.advance(self._all)
