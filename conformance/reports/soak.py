"""A stress run as one HTML file: the picture first, then each finding with what had happened just before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from groupspec.conformance.reports.templating import environment, template_text
from groupspec.conformance.stress import report
from groupspec.conformance.stress.judging import Finding
from groupspec.conformance.stress.known import Known, known_of
from groupspec.conformance.stress.lanes import lanes, short
from groupspec.conformance.stress.picture import FAULTS, MEMBERS, run_svg
from groupspec.conformance.stress.run import Outcome
from groupspec.conformance.stress.timeline import TROUBLE, Happening

BEFORE_US: Final = 10_000_000
AFTER_US: Final = 200_000
MOST_LINES: Final = 60
READING: Final = ("consumed", "committed")
ABOUT_ALL: Final = {*TROUBLE, *TROUBLE.values(), "loaded"}


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as the page shows it. `known`: what is known of the client; `before`: what had happened, by lines."""

    heading: str
    text: str
    known: tuple[Known, ...]
    before: tuple[str, ...]


def html(outcome: Outcome, replay: str) -> str:
    """The page; it loads nothing from anywhere."""
    findings = outcome.verdict.findings
    drawn = lanes(outcome.plan, outcome.happenings, findings)
    end_us = outcome.happenings[-1].at_us if outcome.happenings else outcome.began_us
    first, *rest = report.lines(outcome, replay)
    colours = {f"m{one.number} {one.client}": MEMBERS[one.number % len(MEMBERS)] for one in outcome.plan.members}
    faults = {"cut or stall" if kind == "disconnected" else kind: colour for kind, colour in FAULTS.items()}
    return (
        environment()
        .get_template("soak.html.j2")
        .render(
            css=template_text("base.css", "report.css"),
            outcome=outcome,
            told=first,
            picture=run_svg(drawn, outcome.began_us, end_us, outcome.stalls_us),
            colours=colours | faults,
            findings=[_told(outcome, finding) for finding in findings],
            clients=[line.strip() for line in rest if line.startswith("  ")],  # the others are the findings
            replay=replay,
        )
    )


def _told(outcome: Outcome, finding: Finding) -> Told:
    at_s = (finding.at_us - outcome.began_us) / 1e6
    of = f", partition {finding.partition}" if finding.partition >= 0 else ""
    whose = f"{finding.process} ({short(finding.process)})" if finding.process else "nobody in particular"
    heading = f"{at_s:.1f} s{of}: {report.MEANS[finding.promise]}; put down to {whose}"
    before = tuple(_before(outcome, finding))[-MOST_LINES:]
    return Told(heading, finding.text, tuple(known_of(finding)), before)


def _before(outcome: Outcome, finding: Finding) -> Iterator[str]:
    """What had happened to its process, to its partition, and to everybody."""
    about = (one for one in outcome.happenings if _is_about(one, finding))
    for _, group in groupby(about, key=lambda one: one.kind in READING or one):
        for first, last in _read(list(group)):
            yield f"{(first.at_us - outcome.began_us) / 1e6:8.2f} s  {_line(first, last)}"


def _read(group: list[Happening]) -> Iterator[tuple[Happening, Happening]]:
    """First and last of what is one line: what one process reads at a time, and what is committed meanwhile."""
    consumed = [one for one in group if one.kind != "committed"]
    for _, each in groupby(consumed, key=lambda one: one.process):
        first, *rest = each
        yield first, rest[-1] if rest else first
    if committed := [one for one in group if one.kind == "committed"]:
        yield committed[-1], committed[-1]


def _is_about(one: Happening, finding: Finding) -> bool:
    if not finding.at_us - BEFORE_US <= one.at_us <= finding.at_us + AFTER_US:
        return False
    of_process = one.process == finding.process and one.kind not in READING
    return of_process or finding.partition in one.partitions or one.kind in ABOUT_ALL


def _line(first: Happening, last: Happening) -> str:
    what = f"{first.process or 'everybody'}: {first.kind}"
    if first.kind == "consumed":
        return f"{what} {first.first} to {last.last} of {first.partitions[0]}"
    if first.kind == "committed":
        return f"the group: committed {last.last} of {first.partitions[0]}"
    partitions = f" {list(first.partitions)}" if first.partitions else ""
    return f"{what}{partitions}{f' ({first.text})' if first.text else ''}"
