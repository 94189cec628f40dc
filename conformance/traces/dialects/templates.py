"""Log messages written as their programs write them: templates with named gaps, compiled to regular expressions.

`{member}` is a gap (any text, as short as possible), `{generation}` and `{count}` are numbers, `{...}` is a gap
without a name, `[[…]]` may be missing. Everything else stands for itself, so a template can be compared with the
program's source.
"""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r"\[\[|\]\]|\{\.\.\.\}|\{\w+\}")
_NUMBERS: Final = frozenset({"generation", "count"})


def compiled(template: str) -> re.Pattern[str]:
    """The expression that a whole message of this template matches."""
    pattern, done = "", 0
    for piece in _PIECE.finditer(template):
        pattern += re.escape(template[done : piece.start()]) + _expression(piece[0])
        done = piece.end()
    return re.compile(pattern + re.escape(template[done:]), re.DOTALL)


def _expression(piece: str) -> str:
    if piece == "[[":
        return "(?:"
    if piece == "]]":
        return ")?"
    name = piece[1:-1]
    if name == "...":
        return ".*?"
    return f"(?P<{name}>-?\\d+)" if name in _NUMBERS else f"(?P<{name}>.*?)"
