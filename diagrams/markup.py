"""Text inside XML, HTML and Markdown: every picture and page of ours passes it through here."""

from __future__ import annotations

import html
import re

from groupspec.spec import printable


def escape(text: str, quote: bool = True) -> str:
    """The text as text: what neither XML nor a reader can take is shown (`spec.printable`), the rest is escaped."""
    return html.escape(printable.characters(text), quote)


def in_markdown(text: str) -> str:
    """The text as a part of a line of Markdown: it makes no link, picture, tag or cell."""
    return re.sub(r"[\\`*\[\]<>|&]", r"\\\g<0>", printable.line(text))
