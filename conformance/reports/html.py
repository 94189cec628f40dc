"""The HTML report: one file, with everything in it, for a browser, a phone, a printer, or an attachment to a ticket.

Nothing is loaded from anywhere: styles, pictures and the few lines of script are inside. Without the script everything
can still be read; it only saves a jump to the evidence of a finding. The reproduction of each FAIL lies beside the
page, and is linked.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from groupspec import conformance
from groupspec.conformance.checks.verdicts import VERDICTS, Verdict
from groupspec.conformance.reports.consequences import HARMS
from groupspec.conformance.reports.inputs import Conform, Generated, Pictures, Step, TraceCheck, VerdictRow, Why, read
from groupspec.conformance.reports.pictures import embedded, lanes_apart, machine_pictures
from groupspec.conformance.reports.position import Position, outcome, position, rows_of
from groupspec.conformance.reports.templating import environment, template_text
from groupspec.conformance.reports.traces import by_kind, time_of_day
from groupspec.conformance.reports.verdicts import (
    SYMBOLS,
    TOLD,
    by_own_names,
    client_totals,
    findings,
    matrix,
    runs,
    slug,
    totals,
)
from groupspec.conformance.wire.reproduction import FOLDER as REPRODUCTION
from groupspec.spec import printable
from groupspec.spec.rules import RULES

MAX_LOG_LINES = 400
"""Of one run's log; what is left out is said."""


@dataclass(frozen=True)
class Results:
    """Everything there is to tell; what is None was not run, and the page says so.

    Attributes:
        title: The page's heading.
        conform: The verdicts.
        runs_folder: Where the wire kit wrote its logs and diagrams: what the rows' `folder` is relative to.
        page_folder: Where the page is put, for links to what lies below `runs_folder`; None: it has none.
        generated: Driver to its run of the generated suite.
        trace_check: What the recorded traces broke.
        why: A log, explained.
        why_source: Which log that is, in a few words.
        pictures: What was drawn besides; the page does not show it.
        steps: How the run went.
        made_at: When.
    """

    title: str
    conform: Conform | None = None
    runs_folder: Path = Path()
    page_folder: Path | None = None
    generated: dict[str, Generated] = field(default_factory=dict)
    trace_check: TraceCheck | None = None
    why: Why | None = None
    why_source: str = ""
    pictures: Pictures | None = None
    steps: tuple[Step, ...] = ()
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))


def report_html(results: Results) -> str:
    """The page."""
    judged = results.conform or Conform((), 0.0)
    lines = matrix(judged)
    found = findings(lines)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            results=results,
            version=conformance.__version__,
            machine=f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
            lines=lines,
            totals=totals(judged),
            findings=found,
            heads={finding.cell.anchor for each in found.values() for finding in each},
            crashes={client.name: client.crashes for client in judged.clients if client.crashes},
            runs=runs(lines, partial(_evidence, results.runs_folder)),
            position=partial(_position, results.runs_folder),
            reproduction=partial(_reproduction, results),
            beside=partial(_beside, results),
            pictures=machine_pictures(results.generated),
            traces=by_kind(results.trace_check) if results.trace_check else {},
            css=Markup(template_text("base.css", "report.css")),
            script=Markup(template_text("report.js")),
        )
    )


def conform_page(folder: Path) -> str:
    """The page of one `groupspec conform --report FOLDER`, which has written its results there."""
    conform = by_own_names(read(folder / "conform.json", Conform))
    names = " and ".join(f"{client.name} {client.version}".strip() for client in conform.clients)
    return report_html(
        Results(f"Conformance of {names or 'no client'}", conform=conform, runs_folder=folder, page_folder=folder)
    )


def _evidence(folder: Path, row: VerdictRow) -> tuple[str, str] | None:
    """A run's sequence diagram and log, if it left them."""
    try:
        svg = (folder / row.folder / "sequence.svg").read_text(encoding="utf-8")
        wire = (folder / row.folder / "wire.txt").read_text(encoding="utf-8")
    except (OSError, ValueError):  # no text, or no name of a file
        return None
    lines = wire.rstrip().split("\n")
    shown = [_marked(line) for line in lines[:MAX_LOG_LINES]]
    if len(lines) > MAX_LOG_LINES:
        shown.append(Markup("... {} more lines in {}/wire.txt").format(len(lines) - MAX_LOG_LINES, row.folder))
    return lanes_apart(embedded(svg)), Markup("\n").join(shown)


def _marked(line: str) -> Markup:
    """A line of a log; what names a broken rule stands out."""
    line = printable.line(line)
    word = line.partition(" ")[0]
    return Markup('<b class="{}">{}</b>').format(word.lower(), line) if word in TOLD else escape(line)


def _position(folder: Path, row: VerdictRow) -> Position | None:
    if row.trace_seq is None or not row.folder:
        return None
    return position(folder / row.folder / "trace.ndjson", row.trace_seq)


def _reproduction(results: Results, row: VerdictRow) -> str:
    """The address, from the page, of what runs a FAIL again without the kit; "" if that was not written."""
    return _beside(results, row, REPRODUCTION) if row.verdict == Verdict.FAIL.value else ""


def _beside(results: Results, row: VerdictRow, name: str) -> str:
    """The address, from the page, of what a run left; "" if the page has no place, or it was not written."""
    place = results.runs_folder / row.folder / name
    if not row.folder or results.page_folder is None or not place.exists():
        return ""
    return quote(Path(os.path.relpath(place, results.page_folder)).as_posix()) + ("/" if place.is_dir() else "")


def _environment() -> Environment:
    made = environment()
    made.filters |= {"slug": slug, "client_totals": client_totals, "time_of_day": time_of_day}
    made.globals |= {
        "SYMBOLS": SYMBOLS,
        "MEANINGS": VERDICTS,
        "RULES": RULES,
        "HARMS": HARMS,
        "rows_of": rows_of,
        "outcome": outcome,
    }
    return made
