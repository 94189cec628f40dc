"""`groupspec demo`: the whole idea on real parts, in one HTML report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from groupspec.conformance.commands._common import Steps, json_option, say, write_json
from groupspec.conformance.outputs import writable_folder, write_text
from groupspec.conformance.reports.demo import Part, Runner, exit_code, gather, lanes, summary
from groupspec.conformance.reports.html import report_html
from groupspec.conformance.reports.inputs import Step


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/demo"),
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
    with Steps("the demo", total=sum(map(len, both))) as steps:
        ended = Runner(folder, _watching(steps)).run(both)
    found = gather(folder, [ended[part.id] for lane in both for part in lane])
    report = folder / "report.html"
    write_text(report, report_html(found))
    code = exit_code(found)
    say(*summary(found, report))
    seconds = round(time.monotonic() - begun, 3)
    parts = [{**msgspec.to_builtins(step), "seconds": round(step.seconds, 3)} for step in found.steps]
    write_json("demo", {"report": str(report), "exit_code": code, "seconds": seconds, "parts": parts})
    return code


def _watching(steps: Steps) -> Callable[[Part, Step | None], None]:
    """What the runner tells of a part: the words beside the bar when it begins, a line when it has ended."""

    def watch(part: Part, ended: Step | None) -> None:
        if ended is None:
            steps.now(f"the demo: {part.name}")
            return
        steps.say(f"{part.name}: {ended.status}, {ended.seconds:.1f} s")
        steps.done()

    return watch
