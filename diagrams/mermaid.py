"""The same machine for places that draw Mermaid (a README, a wiki): fewer details, no say in the layout."""

from __future__ import annotations

from groupspec.diagrams.paths import path
from groupspec.diagrams.state_diagram import title
from groupspec.spec.compiler.table import Table


def mermaid(table: Table) -> str:
    """A `stateDiagram-v2` of a specialised table: one edge for each pair of states, with its events."""
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
