"""The picture of a run: time runs to the right; faults, members and owners of partitions stand below each other.

What concerns everybody (a broker that is down, a coordinator that moves, a machine that stands still) is drawn from top
to bottom; what concerns a member, in its lane. A finding is a red number, in its member's lane and in its partition's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from groupspec.conformance.stress.lanes import Bar, Lane, Mark, short
from groupspec.diagrams.markup import escape

NAMES: Final = 168
ROW: Final = 17
GAP: Final = 7
HEAD: Final = 24
PER_SECOND: Final = 14.0
LEAST_STALL_US: Final = 100_000
NEAR_US: Final = 1_500_000
CHARACTER: Final = 5.8

MEMBERS: Final = ("#2b6cb0", "#2f855a", "#b7791f", "#6b46c1", "#c05621", "#0e7490", "#97266d", "#4a5568")
"""A colour for each place in the group."""

FAULTS: Final = {
    "stopped": "#334155",
    "disconnected": "#c2410c",
    "delayed": "#ca8a04",
    "busy": "#7e22ce",
    "callback": "#be185d",
    "broker down": "#991b1b",
    "coordinator moves": "#1d4ed8",
}
"""A colour for each fault, by the kind of what begins it."""

_STYLE: Final = (
    "text{font:11px ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1e293b}"
    ".w{fill:#fff}.t{fill:#64748b}.f{fill:#fff;font-weight:700}.m{fill:#b91c1c}"
)


def run_svg(lanes: Sequence[Lane], began_us: int, end_us: int, stalls_us: Sequence[tuple[int, int]]) -> str:
    """The picture as SVG.

    Args:
        lanes: From top to bottom.
        began_us: What is second 0.
        end_us: How far it goes.
        stalls_us: When the machine stood still; short ones are not drawn.
    """
    return "".join(_Picture(lanes, began_us, end_us, stalls_us).parts())


class _Picture:
    """One picture."""

    def __init__(self, lanes: Sequence[Lane], began_us: int, end_us: int, stalls_us: Sequence[tuple[int, int]]) -> None:
        self._lanes = lanes
        first = min((bar.begin_us for lane in lanes for row in lane.rows for bar in row), default=began_us)
        self._zero_us, self._first_us, self._end_us = began_us, min(first, began_us), end_us
        self._stalls_us = [one for one in stalls_us if one[1] - one[0] >= LEAST_STALL_US]
        self._height = HEAD + sum(len(lane.rows) * ROW + GAP for lane in lanes)
        self._width = round(self._x(end_us)) + 20

    def parts(self) -> Iterator[str]:
        """What it is made of, from back to front."""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._width}" height="{self._height}" '
            f'viewBox="0 0 {self._width} {self._height}"><style>{_STYLE}</style>'
            f'<rect width="{self._width}" height="{self._height}" fill="#fff"/>'
        )
        yield from self._seconds()
        yield from self._everybodys()
        y = HEAD
        for lane in self._lanes:
            yield f'<text x="4" y="{y + 12}">{escape(lane.name)}</text>'
            yield from self._lane(lane, y)
            y += len(lane.rows) * ROW + GAP
        yield "</svg>"

    def _x(self, at_us: int) -> float:
        return NAMES + (at_us - self._first_us) / 1e6 * PER_SECOND

    def _seconds(self) -> Iterator[str]:
        for second in range(0, round((self._end_us - self._zero_us) / 1e6) + 1, 5):
            x = self._x(self._zero_us + second * 1_000_000)
            yield f'<path d="M{x:.1f} {HEAD - 6}V{self._height}" stroke="#e2e8f0"/>'
            yield f'<text class="t" x="{x - 6:.1f}" y="12">{second} s</text>'

    def _everybodys(self) -> Iterator[str]:
        """Bands over all lanes."""
        for bar in (bar for row in self._lanes[0].rows for bar in row):
            yield self._band(bar.begin_us, bar.end_us, FAULTS[bar.kind], 0.12, bar.text)
        for begin_us, end_us in self._stalls_us:
            text = f"the machine stood still for {(end_us - begin_us) / 1000:.0f} ms"
            yield self._band(begin_us, end_us, "#000", 0.35, text)

    def _band(self, begin_us: int, end_us: int, colour: str, opacity: float, text: str) -> str:
        x, width = self._x(begin_us), max(1.5, self._x(end_us) - self._x(begin_us))
        return (
            f'<rect x="{x:.1f}" y="{HEAD - 6}" width="{width:.1f}" height="{self._height}" fill="{colour}" '
            f'opacity="{opacity}"><title>{escape(text)}</title></rect>'
        )

    def _lane(self, lane: Lane, y: int) -> Iterator[str]:
        for number, row in enumerate(lane.rows):
            for bar in row:
                yield from self._bar(bar, y + number * ROW)
        for mark in lane.marks:
            if mark.kind != "finding":
                x, colour = self._x(mark.at_us), "m" if mark.kind in ("expelled", "fenced") else ""
                title = f"<title>{escape(mark.text)} at {(mark.at_us - self._zero_us) / 1e6:.1f} s</title>"
                yield f'<text class="{colour}" x="{x - 4:.1f}" y="{y + 12}">{title}{_SIGNS[mark.kind]}</text>'
        for at_us, text in _together([mark for mark in lane.marks if mark.kind == "finding"]):
            x, width = self._x(at_us), 10 + 7 * len(text)
            yield (
                f'<rect x="{x - width / 2:.1f}" y="{y - 1}" width="{width}" height="{ROW - 1}" rx="8" fill="#dc2626" '
                f'stroke="#fff"/><text class="f" x="{x:.1f}" y="{y + 11}" text-anchor="middle">{escape(text)}</text>'
            )

    def _bar(self, bar: Bar, y: int) -> Iterator[str]:
        x, width = self._x(bar.begin_us), max(2.0, self._x(bar.end_us) - self._x(bar.begin_us))
        colour = FAULTS.get(bar.kind) or MEMBERS[bar.place % len(MEMBERS)]
        opacity = 0.3 if bar.kind == "life" else 0.9
        seconds = (bar.end_us - bar.begin_us) / 1e6
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 3}" rx="2" fill="{colour}" '
            f'opacity="{opacity}"><title>{escape(bar.text)}: {seconds:.1f} s</title></rect>'
        )
        text = short(bar.text.split(",")[0]) if bar.kind in ("life", "owner") else bar.text
        if len(text) * CHARACTER + 4 <= width:
            shade = "" if bar.kind == "life" else ' class="w"'
            yield f'<text{shade} x="{x + 3:.1f}" y="{y + 11}" pointer-events="none">{escape(text)}</text>'


def _together(findings: Sequence[Mark]) -> Iterator[tuple[int, str]]:
    """Findings that follow each other closely, as one mark."""
    near: list[Mark] = []
    for mark in findings:
        if near and mark.at_us - near[-1].at_us > NEAR_US:
            yield near[0].at_us, ",".join(one.text for one in near)
            near = []
        near.append(mark)
    if near:
        yield near[0].at_us, ",".join(one.text for one in near)


_SIGNS: Final = {"expelled": "✕", "fenced": "⊘", "loaded": "◆", "grown": "+"}
"""What stands for a mark."""
