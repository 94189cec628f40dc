"""`groupspec demo`: the whole idea on real parts, in one HTML report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from groupspec.conformance.commands._common import Steps, json_option, progress, say, write_json
from groupspec.conformance.outputs import writable_folder, write_text
from groupspec.conformance.reports.demo_parts import Outcome, Part, Runner, lanes
from groupspec.conformance.reports.demo_story import exit_code, gather, page, summary
from groupspec.conformance.reports.html import report_html


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
def command(out: Path, quick: bool) -> int:
    """Draw the machines, run the generated suite, judge four clients, check their traces on Spark, explain a log.

    What other clients break is shown and is no failure of the demo; what the reference breaks is.

    Example: groupspec demo --out out/demo

    Exit code 0: the reference kept every rule. 1: it did not. 2 or 3: a part could not be run. 4: nothing can be said.
    """
    folder = writable_folder(out).resolve()
    both = lanes(quick)
    begun = time.monotonic()
    with progress("the demo", total=sum(map(len, both))) as steps:
        outcomes = Runner(folder, _watching(steps)).run(both)
    found, judged = gather(folder, {part.id: outcomes[part.id] for lane in both for part in lane})
    report = folder / "report.html"
    write_text(report, report_html(page(folder, found, judged)))
    code = exit_code(found, judged)
    say(*summary(found, judged, report))
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
    )
    return code


def _watching(steps: Steps) -> Callable[[Part, Outcome | None], None]:
    """What the runner tells of a part: the words beside the bar when it begins, a line when it has ended."""

    def watch(part: Part, outcome: Outcome | None) -> None:
        if outcome is None:
            steps.now(f"the demo: {part.name}")
            return
        steps.say(f"{part.name}: {outcome.status}, {outcome.seconds:.1f} s")
        steps.done()

    return watch
