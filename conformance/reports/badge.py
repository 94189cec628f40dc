"""A badge for a README: how many of the rules that were judged are kept. An SVG of its own, which loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from groupspec.conformance.checks.verdicts import JUDGED, Verdict
from groupspec.conformance.outputs import write_text
from groupspec.conformance.wire.results import Campaign, ClientResult
from groupspec.diagrams.markup import escape

_COLOURS: Final = {Verdict.PASS: "#1d6b41", Verdict.DEVIATION: "#8a5200", Verdict.FAIL: "#b01818"}
_UNKNOWN: Final = "#556273"
_CHARACTER_PX: Final = 7.0
_NARROW_PX: Final = dict.fromkeys(" fijlrt", 4.2)
"""About as wide as Verdana and DejaVu Sans draw them at 11 px; `textLength` takes care of the rest."""
_MARGIN_PX: Final = 8
_TEMPLATE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {said}">
<title>{label}: {said}</title>
<rect width="{width}" height="20" rx="3" fill="#3b4654"/>
<path d="M{left} 0h{bend}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{bend}z" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{margin}" y="14" textLength="{label_px}">{label}</text>
<text x="{said_at}" y="14" textLength="{said_px}">{said}</text>
</g>
</svg>
"""


def write_badges(campaign: Campaign, report: Path) -> None:
    """Writes `badge.svg` into the folder, and each client's into the folder of its runs."""
    write_text(report / "badge.svg", badge(campaign.clients))
    for client in campaign.clients:
        write_text(report / client.client.folder / "badge.svg", badge([client]))


def badge(clients: Sequence[ClientResult]) -> str:
    """Of one client, or of several: then a rule is kept that all of them keep."""
    judged: dict[str, set[Verdict]] = {}
    for row in (row for client in clients for row in client.rows if row.judgement.verdict in JUDGED):
        judged.setdefault(row.rule, set()).add(row.judgement.verdict)
    kept = sum(verdicts == {Verdict.PASS} for verdicts in judged.values())
    said = f"{kept} of {len(judged)} rule{'' if len(judged) == 1 else 's'}" if judged else "not judged"
    seen = set().union(*judged.values())
    colour = next((_COLOURS[each] for each in JUDGED if each in seen), _UNKNOWN)
    return _svg("groupspec", said, colour)


def _svg(label: str, said: str, colour: str) -> str:
    label_px, said_px = (round(sum(_NARROW_PX.get(each, _CHARACTER_PX) for each in text)) for text in (label, said))
    left, right = label_px + 2 * _MARGIN_PX, said_px + 2 * _MARGIN_PX
    return _TEMPLATE.format(
        label=escape(label),
        said=escape(said),
        colour=colour,
        width=left + right,
        left=left,
        bend=right - 3,
        margin=_MARGIN_PX,
        said_at=left + _MARGIN_PX,
        label_px=label_px,
        said_px=said_px,
    )
