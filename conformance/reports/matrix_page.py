"""The table of many clients and versions as one page: nothing is loaded, and without any script everything works."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

from markupsafe import Markup

from groupspec.conformance.checks.verdicts import VERDICTS
from groupspec.conformance.reports.consequences import HARMS, consequences
from groupspec.conformance.reports.templating import environment, template_text
from groupspec.conformance.reports.verdicts import SYMBOLS, WORST_FIRST
from groupspec.conformance.reports.versions import Versions
from groupspec.spec.rules import RULES


def matrix_html(versions: Versions, made_at: datetime | None = None) -> str:
    """The page."""
    seen = {cell.verdict for line in versions.lines for cell in line.cells if cell is not None}
    made = environment()
    made.globals |= {"SYMBOLS": SYMBOLS, "MEANINGS": VERDICTS, "RULES": RULES, "HARMS": HARMS}
    return made.get_template("matrix.html.j2").render(
        versions=versions,
        columns=versions.columns,
        means=consequences(),
        shown=[verdict for verdict in WORST_FIRST if verdict in seen],
        made_at=made_at or datetime.now(UTC),
        version=version("groupspec"),
        css=Markup(template_text("base.css", "report.css", "matrix.css")),
    )
