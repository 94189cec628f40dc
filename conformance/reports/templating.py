"""The templates of the report and of the book: one folder, one environment, one stylesheet at the base of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from groupspec.spec import printable

_TEMPLATES = Path(__file__).parent / "templates"


def template_text(*names: str) -> str:
    """Files of the folder as they are, one after the other: styles and scripts."""
    return "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def environment() -> Environment:
    """A new environment over the folder: everything is escaped, and a name that is not given is an error.

    What a text holds that nobody can see (`spec.printable`) is shown.
    """
    made = Environment(
        loader=PackageLoader("groupspec.conformance.reports", "templates"),
        autoescape=True,
        finalize=lambda value: printable.characters(value) if type(value) is str else value,  # no Markup
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "raw": Markup,
        "seconds": lambda value: f"{value:.1f} s" if value >= 0.95 else f"{value * 1000:.0f} ms",
        "count": lambda value: f"{value:,}".replace(",", "\u00a0"),
    }
    made.filters |= filters
    return made
