"""One machine as a picture: DOT text, made from its table and from nothing else.

What a reader follows is the path (see `paths.py`): its states stand in one line, its edges are heavy. What disturbs it
is thin, and drawn as an arrow between neighbours only. Everything else leaves its state for a *flag* beside it, which
names the state where it leads: a machine has a dozen ways to lose its membership from everywhere, and their arrows
would bury the line that matters. What happens without leaving a state stands inside it, as in UML. Ignored and illegal
events are not drawn: the matrices have them.

Colours say what fires: an answer on the wire, a timer, or the application (other machines of the same member in
italics). A label has a line for each event, with answers to one kind of request together: `event / what is sent
rules`. Guards are in the tooltips, with the ids of the rows; only the path shows its own, without the `current` that
every answer has.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from graphviz import Digraph

from groupspec.diagrams.coverage import Coverage
from groupspec.diagrams.markup import escape
from groupspec.diagrams.paths import path, steps
from groupspec.spec.compiler.table import Row, Table

Colour: TypeAlias = Literal["message", "timer", "application"]

COLOURS: dict[Colour, str] = {"message": "#1f5fa8", "timer": "#a15c00", "application": "#6b3fa0"}
MEANINGS: dict[Colour, str] = {
    "message": "an answer on the wire",
    "timer": "a timer",
    "application": "the application, or (italic) another machine of the member",
}
INK, GREY, RED, GREEN, ORANGE = "#1e293b", "#5b6b80", "#c81e1e", "#2b7a4b", "#c2680a"

_FAMILIES = ("heartbeat", "commit", "join", "sync", "discovery", "fetch")
"""Answers to one kind of request: they share a line. Their events begin with its name."""

_WRAP = 46
_MAX_GUARD = 80


@dataclass(frozen=True)
class _Line:
    """One line of a label: an event, or several answers to one kind of request, and the rows behind it."""

    text: str
    colour: Colour
    italic: bool
    rows: tuple[Row, ...]


def dot(table: Table, coverage: Coverage | None = None) -> str:
    """The picture of a specialised table, as DOT text; the same table gives the same text, byte for byte.

    Args:
        table: One machine, for one protocol and one profile.
        coverage: How often each row fired, drawn over it: green for what did, dashed red for what never did.
    """
    return _Picture(table, coverage).source()


def title(table: Table) -> str:
    """`rebalance: cooperative, deployed`; the name alone of a machine that is the same for all of them."""
    return ": ".join(filter(None, (table.name, ", ".join(filter(None, (table.rebalance, table.profile))))))


def mermaid(table: Table) -> str:
    """The same for places that draw Mermaid (a README, a wiki): one edge for each pair of states, with its events."""
    lines = ["---", f"title: {title(table)}", "---", "stateDiagram-v2", f"    [*] --> {table.initial}"]
    order = tuple(dict.fromkeys((*path(*table.key), *table.states)))
    for source in order:
        for target in order:
            rows = [
                row
                for row in table.rows
                if row.kind == "transition" and source != target and (row.source, row.target) == (source, target)
            ]
            sent = list(dict.fromkeys(word for row in rows for word in table.emitted(row) if word[0].isupper()))
            if rows:
                events = "<br/>".join(dict.fromkeys(row.event for row in rows))
                lines.append(f"    {source} --> {target} : {events}" + (f" / {', '.join(sent)}" if sent else ""))
    return "\n".join(lines) + "\n"


class _Picture:
    """One picture being drawn."""

    def __init__(self, table: Table, coverage: Coverage | None) -> None:
        self.table = table
        self.coverage = coverage
        self.path = path(*table.key)
        self.steps = steps(*table.key)
        self.line = list(dict.fromkeys(self.path))
        self.kinds = {event.name: event.kind for event in table.events}
        self.graph = Digraph(table.label)

    def source(self) -> str:
        """The DOT text."""
        graph = self.graph
        graph.attr(rankdir="TB", nodesep="0.5", ranksep="0.45", bgcolor="white", pad="0.3", fontname="Helvetica")
        graph.attr(label=self._legend(), labelloc="t")
        graph.attr("node", shape="box", style="rounded,filled", fontname="Helvetica", fontcolor=INK, margin="0.14,0.08")
        graph.attr("edge", fontname="Helvetica", arrowsize="0.8")
        # Graphviz keeps the order of what it hears first, so the line comes first.
        for state in dict.fromkeys((*self.line, *self.table.states)):
            self._state(state)
        drawn = set(self._edges())
        for upper, lower in pairwise(self.line):
            if (upper, lower) not in drawn:
                graph.edge(upper, lower, style="invis", weight="1000")
        for state in self.table.states:
            self._flags(state, [target for target in self.table.states if (state, target) not in drawn])
        return str(graph.source)

    def _rows(self, source: str, target: str) -> list[Row]:
        return [
            row for row in self.table.rows if row.kind == "transition" and (row.source, row.target) == (source, target)
        ]

    # -- states --------------------------------------------------------------------------------------------------------

    def _state(self, state: str) -> None:
        inside = self._rows(state, state)
        first = f' <FONT COLOR="{GREY}">(first)</FONT>' if state == self.table.initial else ""
        cells = [f'<FONT POINT-SIZE="16"><B>{state}</B></FONT>{first}']
        cells += [self._text(line, 10) for line in self._lines(inside)]
        on_line = state in self.line
        self.graph.node(
            state,
            label=_table(cells, heading=True),
            group="line" if on_line else "",
            fillcolor="#eaf1fb" if on_line else "#f8fafc",
            color=INK if on_line else GREY,
            penwidth="2" if on_line else "1",
            tooltip=self._tooltip(inside) or state,
        )

    def _flags(self, state: str, targets: Sequence[str]) -> None:
        """Where else it can go from `state`: one flag for each target, in one box beside it."""
        cells = []
        for number, target in enumerate(targets):
            rows = self._rows(state, target)
            if rows and target != state:
                lines = "".join(f'<BR ALIGN="LEFT"/>{self._text(line, 10)}' for line in self._lines(rows))
                head = f'<FONT POINT-SIZE="12" COLOR="{INK}">→ <B>{target}</B></FONT>'
                tooltip = escape(self._tooltip(rows)).replace("\n", "&#10;")
                cells.append(
                    (
                        f"to{number}",
                        rows,
                        f'<TD PORT="to{number}" ALIGN="LEFT" TOOLTIP="{tooltip}" HREF="#">{head}{lines}'
                        '<BR ALIGN="LEFT"/></TD>',
                    )
                )
        if not cells:
            return
        name = f"flags of {state}"
        body = "".join(f"<TR>{cell}</TR>" for _, _, cell in cells)
        label = f'<<TABLE BORDER="0" CELLBORDER="1" COLOR="#cbd5e1" CELLSPACING="3" CELLPADDING="4">{body}</TABLE>>'
        with self.graph.subgraph() as level:
            level.attr(rank="same")
            level.node(name, label=label, shape="plain", style="", tooltip=f"where {state} can lead besides")
            for port, rows, _ in cells:
                level.edge(f"{state}:e", f"{name}:{port}:w", **self._stroke(rows, on_path=False), weight="1")

    # -- edges ---------------------------------------------------------------------------------------------------------

    def _edges(self) -> Iterator[tuple[str, str]]:
        """Draws the arrows, and gives the pairs of states that they join."""
        for source in self.table.states:
            for target in self.table.states:
                rows = self._rows(source, target)
                if source != target and rows and self._near(source, target):
                    self._edge(source, target, rows)
                    yield source, target

    def _near(self, source: str, target: str) -> bool:
        if (source, target) in self.steps or source not in self.line or target not in self.line:
            return True
        return abs(self.line.index(source) - self.line.index(target)) == 1

    def _edge(self, source: str, target: str, rows: list[Row]) -> None:
        on_path = (source, target) in self.steps
        cells = [self._text(line, 12 if on_path else 10, guarded=on_path) for line in self._lines(rows)]
        straight = (source, target) in pairwise(self.line)
        self.graph.edge(
            source,
            target,
            label=_table(cells, space=True),
            weight="1000" if straight else "1",
            tooltip=self._tooltip(rows),
            labeltooltip=self._tooltip(rows),
            **self._stroke(rows, on_path),
        )

    def _stroke(self, rows: Sequence[Row], on_path: bool) -> dict[str, str]:
        if self.coverage is not None:
            return _overlay([self.coverage.hits(row.id) for row in rows])
        colours = list(dict.fromkeys(COLOURS[self._colour(row)] for row in rows))
        return {"color": ":".join(colours), "penwidth": "2.6" if on_path else "1"}

    # -- text ----------------------------------------------------------------------------------------------------------

    def _colour(self, row: Row) -> Colour:
        kind = self.kinds[row.event]
        return "application" if kind == "internal" else kind

    def _lines(self, rows: Iterable[Row]) -> list[_Line]:
        """Rows with one event share a line, and so do answers to one kind of request; messages come first."""
        groups: dict[str, list[Row]] = {}
        for row in rows:
            family = row.event.partition("_")[0] if self.kinds[row.event] == "message" else ""
            groups.setdefault(family if family in _FAMILIES else row.event, []).append(row)
        lines = []
        for key, members in groups.items():
            events = list(dict.fromkeys(row.event for row in members))
            text = events[0] if len(events) == 1 else f"{key}: " + ", ".join(e.removeprefix(f"{key}_") for e in events)
            italic = self.kinds[events[0]] == "internal"
            lines.append(_Line(text, self._colour(members[0]), italic, tuple(members)))
        return sorted(lines, key=lambda line: list(COLOURS).index(line.colour))

    def _text(self, line: _Line, size: int, guarded: bool = False) -> str:
        ink = COLOURS[line.colour]
        text = _BREAK.join(escape(part) for part in textwrap.wrap(line.text, _WRAP, subsequent_indent="    "))
        if line.italic:
            text = f"<I>{text}</I>"
        if self.coverage is not None:
            hits = [self.coverage.hits(row.id) for row in line.rows]
            ink = GREEN if all(hits) else ORANGE if any(hits) else RED
            text += f" <B>{sum(hits):,} times</B>"
        sent = list(dict.fromkeys(word for row in line.rows for word in self.table.emitted(row) if word[0].isupper()))
        if sent:
            shown = textwrap.wrap(", ".join(sent), _WRAP, subsequent_indent="    ")
            text += f" / <B>{_BREAK.join(map(escape, shown))}</B>"
        rules = list(dict.fromkeys(rule for row in line.rows for rule in row.rules))
        if rules:
            text += (
                f'  <FONT COLOR="{GREY}" '
                f'POINT-SIZE="{size - 1}">{_BREAK.join(textwrap.wrap(" ".join(rules), 36))}</FONT>'
            )
        guards = {_without_current(row.guard) for row in line.rows}
        if guarded and len(guards) == 1 and 0 < len(guard := guards.pop()) <= _MAX_GUARD:
            text += _BREAK + "".join(
                f'<FONT COLOR="{GREY}" POINT-SIZE="{size - 2}">{escape(part)}</FONT>{_BREAK}'
                for part in textwrap.wrap(f"if {guard}", _WRAP)
            ).removesuffix(_BREAK)  # fmt: skip
        return f'<FONT COLOR="{ink}" POINT-SIZE="{size}">{text}</FONT>'

    def _tooltip(self, rows: Sequence[Row]) -> str:
        lines = []
        for row in rows:
            guard = f" when {row.guard}" if row.guard else ""
            emitted = ", ".join(self.table.emitted(row))
            lines.append(f"{row.id}{guard}" + (f" / {emitted}" if emitted else ""))
        return "\n".join(lines)

    def _legend(self) -> str:
        cells = [f'<FONT POINT-SIZE="22"><B>{escape(title(self.table))}</B></FONT>']
        if self.coverage is None:
            colours = (f'<FONT COLOR="{COLOURS[colour]}">{escape(MEANINGS[colour])}</FONT>' for colour in COLOURS)
            cells.append(f"fired by {'; '.join(colours)}")
        else:
            cells.append(f"<B>{escape(self.coverage.summary(self.table))}</B>")
            cells.append(
                f'<FONT COLOR="{GREEN}">fired</FONT>; <FONT COLOR="{ORANGE}">some of its rows never fired</FONT>; '
                f'<FONT COLOR="{RED}">never fired</FONT>'
            )
        cells.append(
            "event / <B>what is sent</B>  rules. Heavy: the main path. In a state: what happens without leaving it"
        )
        return _table(cells)


_BREAK = '<BR ALIGN="LEFT"/>'


def _table(cells: Sequence[str], heading: bool = False, space: bool = False) -> str:
    """A borderless HTML-like label, one cell below the other, all but a heading flush left.

    `space` leaves some room to the left: the label of an edge would touch it.
    """
    rows = []
    for number, cell in enumerate(cells):
        attributes = "" if heading and number == 0 else ' ALIGN="LEFT" BALIGN="LEFT"'
        before = f'<TD ROWSPAN="{len(cells)}" WIDTH="8"></TD>' if space and number == 0 else ""
        rows.append(f"<TR>{before}<TD{attributes}>{cell}</TD></TR>")
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{"".join(rows)}</TABLE>>'


def _without_current(guard: str) -> str:
    return "" if guard == "current" else guard.removeprefix("current and ")


def _overlay(hits: Sequence[int]) -> dict[str, str]:
    if not any(hits):
        return {"color": RED, "style": "dashed", "penwidth": "1.6"}
    width = 1.0 + min(len(str(sum(hits))), 6) * 0.7
    return {"color": GREEN if all(hits) else ORANGE, "penwidth": f"{width:.1f}"}
