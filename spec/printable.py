r"""Text of others as it may be shown: a client's, a log's, a broker's, a file's.

What such a text says is repeated in a terminal, a CI's log, a page, a picture. There it must stay text: it moves no
cursor, ends no line, turns no words around, gives the CI's runner no order. What has no picture is shown as Python
writes it (`\x1b`, `\u202e`), so that a reader sees that it was there. A text that has been made so is not changed by
being made so again. Markup (`<`, `&`, quotes) is the matter of whoever writes HTML or XML: `diagrams.markup`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MOST_MARKS: Final = 4
"""So many accents may stand on one letter; languages need three. More of them paint over the lines above and below."""
LONGEST_NAME: Final = 200
"""In characters: of what somebody calls himself."""

_UNASSUMING: Final = {"\n", "\t"}
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MARKS: Final = {"Mn", "Me"}
_ORDERS: Final = re.compile(r"^(\s*):(?=:)|##(?=\w*\[)", re.MULTILINE)
"""What a runner obeys. GitHub's takes `::error::...` behind any space at the beginning of a line, and `##[error]...`
anywhere in it (actions/runner, ActionCommand.cs); `##vso[` is Azure's, and `##teamcity[` TeamCity's."""


def lines(text: str) -> str:
    """Several lines, to be read: without what is no text, and without orders to a runner."""
    return _ORDERS.sub(_disarmed, characters(text))


def line(text: str) -> str:
    """One line: its ends of lines are shown, too."""
    return _ORDERS.sub(_disarmed, characters(text).replace("\n", "\\n"))


def name(text: str) -> str:
    """What somebody calls himself: a line, cut off where nobody reads on."""
    shown = line(text)
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


def characters(text: str) -> str:
    """Only characters that have a picture, tabs and ends of lines."""
    if text.isascii() and (text.isprintable() or not _CONTROLS.search(text)):
        return text
    shown, marks = [], 0
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in _MARKS else 0
        is_text = character.isprintable() or kind == "Zs" or character in _UNASSUMING
        shown.append(character if is_text and marks <= MOST_MARKS else _escape(character))
    return "".join(shown)


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _escape(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _disarmed(order: re.Match[str]) -> str:
    """With a backslash in it, which no runner takes."""
    return f"{order[1]}\\:" if order[1] is not None else "#\\#"
