"""State x event matrices: every cell decided, and visibly so. As Markdown, as HTML, and as one line a cell.

Events are rows, because there are many; states are columns. A cell says for each row of the table where it leads,
whether the event is ignored and why, or which rule an error would break. A blank cell is a hole in the specification.
"""

from __future__ import annotations

from groupspec.diagrams.markup import escape
from groupspec.diagrams.state_diagram import COLOURS, title
from groupspec.spec.compiler.table import Row, Table

_SIGNS = {"ignored": ".", "error": "x"}


def blank_cells(table: Table) -> list[tuple[str, str]]:
    """(state, event) that no row decides."""
    return [(state, event.name) for state, event, rows in table.cells() if not rows]


def cell_sign(rows: tuple[Row, ...]) -> str:
    """A cell in one to three signs.

    `>` leaves the state, `o` stays and does something, `.` ignores, `x` is an error.
    """
    signs = {_SIGNS.get(row.kind) or ("o" if row.source == row.target else ">") for row in rows}
    return "".join(sign for sign in ">o.x" if sign in signs) or "?"


def row_text(row: Row, table: Table) -> str:
    """One row in words: `-> STABLE if owned / JoinGroup`."""
    if row.kind == "transition":
        text = f"→ {row.target}" if row.target != row.source else "stays"
    else:
        text = f"ignored: {row.reason}" if row.kind == "ignored" else f"error: {' '.join(row.rules)}"
    guard = f" if {row.guard}" if row.guard else ""
    emitted = ", ".join(table.emitted(row))
    return text + guard + (f" / {emitted}" if emitted else "")


def matrix_markdown(table: Table) -> str:
    """The matrix as a Markdown document."""
    lines = [
        f"# {title(table)}",
        "",
        f"{len(table.states)} states, {len(table.events)} events, {_kinds(table)}. Table {table.hash[:16]}.",
        "",
        "| event | " + " | ".join(f"**{state}**" for state in table.states) + " |",
        "|---" * (len(table.states) + 1) + "|",
    ]
    for event in table.events:
        cells = [
            "<br>".join(_markdown(row_text(row, table), row) for row in table.cell(state, event.name))
            for state in table.states
        ]
        lines.append(f"| `{event.name}` ({event.kind}) | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _markdown(text: str, row: Row) -> str:
    safe = text.replace("|", "\\|").replace("_", "\\_")
    return f"**{safe}**" if row.kind == "transition" else safe


def _kinds(table: Table) -> str:
    count = {kind: sum(row.kind == kind for row in table.rows) for kind in ("transition", "ignored", "error")}
    return f"{count['transition']} transitions, {count['ignored']} ignored rows, {count['error']} error rows"


_STYLE = """
.gs-matrix{border-collapse:collapse;color:#1e293b;
  font:12px/1.4 ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif}
.gs-matrix th,.gs-matrix td{border:1px solid #cbd5e1;padding:4px 7px;vertical-align:top;text-align:left;max-width:20em}
.gs-matrix thead th{position:sticky;top:0;background:#f1f5f9;z-index:1}
.gs-matrix tbody th{position:sticky;left:0;background:#f8fafc;font-weight:600;white-space:nowrap}
.gs-matrix .transition{color:#0f172a}.gs-matrix .transition b{font-weight:650}
.gs-matrix .ignored{color:#7c8798}.gs-matrix .error{color:#b45309}.gs-matrix .blank{background:#fee2e2}
.gs-matrix .if{color:#5b6b80}.gs-matrix div+div{margin-top:3px;border-top:1px dotted #e2e8f0;padding-top:3px}
""".strip()


def matrix_html(table: Table) -> str:
    """The matrix of a specialised table as an HTML document."""
    head = "".join(f"<th>{escape(state)}</th>" for state in table.states)
    body = []
    for event in table.events:
        colour = COLOURS["application" if event.kind == "internal" else event.kind]
        first = f'<th style="color:{colour}" title="{escape(event.doc, quote=True)}">{escape(event.name)}</th>'
        cells = "".join(_html_cell(table, state, event.name) for state in table.states)
        body.append(f"<tr>{first}{cells}</tr>")
    name = escape(title(table))
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}</title></head>"
        f"<body style='margin:24px;font-family:ui-sans-serif,system-ui,Helvetica,Arial,sans-serif'><h1>{name}</h1>"
        f"<p>{_kinds(table)}. Hover an event for what it means, a cell for its rules.</p>\n<style>{_STYLE}</style>\n"
        f"<table class='gs-matrix'><thead><tr><th>event</th>{head}</tr></thead>\n<tbody>"
        + "\n".join(body)
        + "</tbody></table>\n</body></html>\n"
    )


def _html_cell(table: Table, state: str, event: str) -> str:
    rows = table.cell(state, event)
    if not rows:
        return "<td class='blank'>?</td>"
    parts = []
    for row in rows:
        text = row_text(row, table)
        where, _, condition = text.partition(" if ")
        shown = f"<b>{escape(where)}</b>" + (f" <span class='if'>if {escape(condition)}</span>" if condition else "")
        hint = escape(f"{row.id}  {' '.join(row.rules)}", quote=True)
        parts.append(f"<div class='{row.kind}' title='{hint}'>{shown}</div>")
    return f"<td>{''.join(parts)}</td>"
