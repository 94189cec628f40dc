"""Sequence diagrams of real runs, as self-contained SVG: what a person looks at when a client failed.

Lanes are columns (the application, the client, each node of the broker); time runs down. Every entry takes one row,
since real runs have a hundred entries in a millisecond and then nothing for three seconds; a silence worth noticing is
drawn as one, with its length. What broke a rule is red and cannot be overlooked; what an entry carries (a decoded
frame) is shown beneath its label as far as there is room, and whole as a tooltip.

The SVG has no scripts, no references and no ids, so that any number of them can stand in one HTML page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

from groupspec.diagrams.markup import escape

EntryKind: TypeAlias = Literal[
    "request", "response", "error", "call", "callback", "timer", "connection", "violation", "note"
]

COLOURS: dict[EntryKind, str] = {
    "request": "#1f5fa8",
    "response": "#2b7a4b",
    "error": "#b45309",
    "call": "#5b4b9a",
    "callback": "#8a3d8f",
    "timer": "#8a6d00",
    "connection": "#64748b",
    "violation": "#c81e1e",
    "note": "#475569",
}
"""What an entry is, by its colour: all of them readable on white, and apart from each other in grey."""
_OTHERWISE = {
    "response": "answer",
    "error": "answer with an error",
    "call": "API call",
    "violation": "breaks a rule",
}
"""What the legend calls a kind, where not by its name."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened.

    Attributes:
        at_ms: When, on the clock of the run; fractions are kept to a tenth. In a run without a clock, the number of the
            step.
        source: The lane it starts from.
        target: The lane it goes to. Empty or the same: it stays on its lane, and is drawn as a box there. A target that
            is no lane is a message that never arrived.
        label: What it is: `JoinGroup v5`, `on_partitions_revoked`, `heartbeat.interval.ms`.
        kind: Decides the colour; `violation` is what broke a rule.
        note: More about it, in one line: fields of the frame, the rule that was broken. May be empty.
    """

    at_ms: float
    source: str
    target: str
    label: str
    kind: EntryKind = "note"
    note: str = ""


_GUTTER = 92.0  # where the times stand
_MARGIN = 24.0
_HEADER = 40.0
_ROW = 34.0
_NOTE = 14.0  # what a second line of text adds to a row
_SILENCE = 30.0
_SILENCE_FROM_MS = 500.0
_MIN_GAP = 150.0  # between two lanes; from the outer ones to the borders of the picture it is half as far
_MAX_GAP = 380.0
_LABEL = 7.1  # width of a character of a label, in pixels, a little more than most fonts need
_SMALL = 6.1
_STYLE = (
    "text{font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12.5px;fill:#1e293b}"
    ".t{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:10.5px;fill:#64748b}"
    ".n{font-size:11px;fill:#64748b}.h{font-size:13px;font-weight:600}.T{font-size:15px;font-weight:600}"
    ".l{stroke:#cbd5e1;stroke-width:1.4}.b{fill:#f1f5f9;stroke:#94a3b8}"
)


def sequence_svg(lanes: Sequence[str], entries: Sequence[Entry], title: str, has_clock: bool = True) -> str:
    """The picture of a run.

    Args:
        lanes: The columns, from left to right.
        entries: What happened, in the order in which it is drawn; times normally grow.
        title: One line above the picture.
        has_clock: False: a run of a model, that has steps and no times.

    Returns:
        An SVG document, UTF-8 text.

    Raises:
        ValueError: an entry starts from a lane that is not there.
    """
    for entry in entries:
        if entry.source not in lanes:
            raise ValueError(
                f"{entry.label!r} at {entry.at_ms} ms starts from {entry.source!r}; lanes are {list(lanes)}"
            )
    return _Picture(list(lanes), list(entries), title, has_clock).text()


class _Picture:
    """One picture being drawn, from top to bottom."""

    def __init__(self, lanes: list[str], entries: list[Entry], title: str, has_clock: bool) -> None:
        self.lanes, self.entries, self.title, self.has_clock = lanes, entries, title, has_clock
        places = accumulate(self._gaps(), initial=_GUTTER + self._border(lanes[0]))
        self.x = dict(zip(lanes, places, strict=True))
        self.right = self.x[lanes[-1]] + self._border(lanes[-1])
        self.parts: list[str] = []

    def text(self) -> str:
        """The SVG."""
        top = _MARGIN + 22.0
        y = top + _HEADER + 10.0
        previous: Entry | None = None
        for entry in self.entries:
            if self.has_clock and previous is not None and entry.at_ms - previous.at_ms >= _SILENCE_FROM_MS:
                y = self._silence(y, entry.at_ms - previous.at_ms)
            y = self._entry(y, entry, show_time=previous is None or self._clock(previous) != self._clock(entry))
            previous = entry
        if not self.entries:
            self.parts.append(f'<text class="n" x="{_GUTTER:.0f}" y="{y + 14:.0f}">nothing happened</text>')
            y += _ROW
        bottom = y + 8.0
        width, height = max(self.right + _MARGIN, 7.6 * len(self.title) + 2 * _MARGIN), bottom + 34.0
        size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        lines = [
            f'<svg class="gs-sequence" xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(self.title)}</title><style>{_scoped()}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            f'<text class="T" x="{_MARGIN:.0f}" y="{_MARGIN + 4:.0f}">{escape(self.title)}</text>',
            *(self._lane(lane, top, bottom) for lane in self.lanes),
            *self.parts,
            *self._legend(bottom + 22.0),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _clock(self, entry: Entry) -> str:
        return _clock(entry.at_ms) if self.has_clock else f"{entry.at_ms:.0f}"

    def _gaps(self) -> list[float]:
        """Between neighbours: wide enough for most labels there; a long one is cut, and whole in its tooltip.

        Each gap by itself, so that the picture of a run fits a window: between two brokers nothing is written.
        """
        gaps = [max(_MIN_GAP, 9.0 * max(len(a), len(b)) + 30.0) for a, b in pairwise(self.lanes)]
        place = {lane: i for i, lane in enumerate(self.lanes)}
        for entry in self.entries:
            first, last = sorted((place[entry.source], place.get(entry.target, place[entry.source])))
            needed = max(len(entry.label) * _LABEL + 40.0, min(len(entry.note), 56) * _SMALL + 36.0)
            for gap in range(first, last):
                gaps[gap] = max(gaps[gap], needed / (last - first))
        return [min(gap, _MAX_GAP) for gap in gaps]

    def _border(self, lane: str) -> float:
        """From an outer lane to the border: half of the widest box on it, within bounds."""
        boxes = [len(each.label) * _LABEL for each in self.entries if each.source == lane == (each.target or lane)]
        return min(max([_MIN_GAP, *(box + 36.0 for box in boxes)]), _MAX_GAP) / 2

    def _room(self, lane: str) -> float:
        """How wide a box may be that stands on a lane: it may cover the lines of others, which go on below it."""
        return 2 * min(self.x[lane] - _GUTTER, self.right - self.x[lane]) - 16.0

    def _lane(self, lane: str, top: float, bottom: float) -> str:
        x = self.x[lane]
        others = (abs(x - other) for name, other in self.x.items() if name != lane)
        half = min([*others, 2 * (self.right - x), 2 * (x - _GUTTER)]) / 2 - 12.0
        return (
            f'<line class="l" x1="{x:.1f}" y1="{top + 28:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
            f'<rect class="b" x="{x - half:.1f}" y="{top:.1f}" width="{2 * half:.1f}" height="28" rx="6"/>'
            f'<text class="h" x="{x:.1f}" y="{top + 18.5:.1f}" text-anchor="middle">{escape(lane)}</text>'
        )

    def _silence(self, y: float, length_ms: float) -> float:
        middle = y + _SILENCE / 2
        self.parts.append(
            f'<rect x="{_GUTTER:.0f}" y="{y + 4:.1f}" width="{self.right - _GUTTER:.1f}" height="{_SILENCE - 8:.1f}" '
            f'fill="#f8fafc" stroke="#cbd5e1" stroke-dasharray="3 4"/>'
            f'<text class="n" x="{(_GUTTER + self.right) / 2:.1f}" y="{middle + 4:.1f}" text-anchor="middle">'
            f"{escape(_duration(length_ms))} of silence</text>"
        )
        return y + _SILENCE

    def _entry(self, y: float, entry: Entry, show_time: bool) -> float:
        height = _ROW + (_NOTE if entry.note else 0.0)
        line = y + 22.0
        whole = f"{self._clock(entry)}  {entry.label}" + (f"\n{entry.note}" if entry.note else "")
        drawn = [f"<title>{escape(whole)}</title>"]
        if entry.kind == "violation":
            drawn.append(
                f'<rect x="4" y="{y + 1:.1f}" width="{self.right - 4:.1f}" height="{height - 2:.1f}" rx="4" '
                f'fill="#fee2e2" fill-opacity="0.5" stroke="#fca5a5"/>'
            )
        if show_time or entry.kind == "violation":
            drawn.append(
                f'<text class="t" x="{_GUTTER - 10:.0f}" y="{line + 3.5:.1f}" '
                f'text-anchor="end">{self._clock(entry)}</text>'
            )
        drawn += self._on_lane(line, entry) if entry.target in ("", entry.source) else self._arrow(line, entry)
        self.parts.append(f"<g>{''.join(drawn)}</g>")
        return y + height

    def _on_lane(self, line: float, entry: Entry) -> Iterator[str]:
        x, colour = self.x[entry.source], COLOURS[entry.kind]
        room = self._room(entry.source)
        label = _cut(entry.label, room - 16.0, _LABEL)
        half = min(len(label) * _LABEL / 2 + 10.0, room / 2)
        radius = 11 if entry.kind == "timer" else 4
        yield (
            f'<rect x="{x - half:.1f}" y="{line - 12:.1f}" width="{2 * half:.1f}" height="22" rx="{radius}" '
            f'fill="#ffffff" stroke="{colour}" stroke-width="1.3"/>'
            f'<text x="{x:.1f}" y="{line + 3.5:.1f}" text-anchor="middle" style="fill:{colour}">{escape(label)}</text>'
        )
        if entry.note:
            yield _note(x, line + 23.0, entry.note, room)

    def _arrow(self, line: float, entry: Entry) -> Iterator[str]:
        colour = COLOURS[entry.kind]
        start = self.x[entry.source]
        arrives = entry.target in self.x
        end = self.x[entry.target] if arrives else start + _MIN_GAP * 0.42
        sign = 1.0 if end > start else -1.0
        dashes = ' stroke-dasharray="6 4"' if entry.kind in ("response", "error") else ""
        yield (
            f'<line x1="{start + 2 * sign:.1f}" y1="{line:.1f}" x2="{end - 3 * sign:.1f}" y2="{line:.1f}" '
            f'stroke="{colour}" stroke-width="{2.2 if entry.kind == "violation" else 1.5}"{dashes}/>'
        )
        if arrives:
            back = end - 10 * sign
            yield (
                f'<path d="M{end - sign:.1f} {line:.1f}L{back:.1f} {line - 4.5:.1f}L{back:.1f} {line + 4.5:.1f}Z" '
                f'fill="{colour}"/>'
            )
        else:
            yield (
                f'<path d="M{end - 5:.1f} {line - 5:.1f}L{end + 5:.1f} {line + 5:.1f}M{end + 5:.1f} {line - 5:.1f}'
                f'L{end - 5:.1f} {line + 5:.1f}" stroke="{colour}" stroke-width="2"/>'
            )
        if arrives:
            room, middle, anchor = abs(end - start) - 24.0, (start + end) / 2, "middle"
        else:  # the arrow is short: its label begins with it and may be longer
            room, middle, anchor = self.right - start - 20.0, start + 10.0, "start"
        label = _cut(entry.label, room, _LABEL)
        crosses = any(min(start, end) < x < max(start, end) for x in self.x.values())
        if crosses and entry.kind != "violation":
            yield _background(middle, line - 18, len(label) * _LABEL, 15)
            yield _background(middle, line + 3, min(len(entry.note) * _SMALL, room), 15)
        yield (
            f'<text x="{middle:.1f}" y="{line - 5.5:.1f}" text-anchor="{anchor}" '
            f'style="fill:{colour}">{escape(label)}</text>'
        )
        if entry.note:
            yield _note(middle, line + 14.0, entry.note, room, anchor)

    def _legend(self, y: float) -> Iterator[str]:
        x = _MARGIN
        used = {entry.kind for entry in self.entries}
        for kind, colour in COLOURS.items():
            if kind in used:
                meaning = _OTHERWISE.get(kind, kind)
                yield (
                    f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="14" height="4" rx="2" fill="{colour}"/>'
                    f'<text class="n" x="{x + 19:.1f}" y="{y - 2:.1f}">{meaning}</text>'
                )
                x += 38.0 + len(meaning) * _SMALL


def _note(x: float, y: float, note: str, room: float, anchor: str = "middle") -> str:
    text = escape(_cut(note, room, _SMALL))
    return f'<text class="n" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _background(x: float, y: float, width: float, height: float) -> str:
    """Hides the lanes behind a text that crosses them."""
    return f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>'


def _cut(text: str, room: float, character: float) -> str:
    fits = max(int(room / character), 4)
    return text if len(text) <= fits else text[: fits - 1] + "…"


def _clock(at_ms: float) -> str:
    return f"{at_ms:,.1f} ms" if abs(at_ms) < 1_000 else f"{at_ms / 1_000:,.3f} s"


def _duration(length_ms: float) -> str:
    return f"{length_ms:.0f} ms" if length_ms < 1_000 else f"{length_ms / 1_000:.1f} s"


def _scoped() -> str:
    """The style, for this kind of picture only: several SVGs in one page share their style sheets."""
    rules = [rule for rule in _STYLE.split("}") if rule]
    return "".join(f".gs-sequence {rule}}}" for rule in rules)
