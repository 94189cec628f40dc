"""Turns DOT text into a picture: with `dot` when the PATH has it, else with the library that pygraphviz carries.

Installing Graphviz takes root on most machines, so groupspec depends on pygraphviz, whose wheels hold the whole
library. Both ways run in a process of their own: the library is C, writes its complaints straight to stderr, and
would take the caller down with it.

Layouts differ between Graphviz versions. Nothing may compare these bytes with committed ones; what is committed
and compared is the DOT text.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Literal

Format = Literal["svg", "png"]

_PIECE = re.compile(
    r'(?P<start><text xml:space="preserve" text-anchor="start" x="[-\d.]+" y="(?P<y>[-\d.]+)")'
    r'(?P<font> font-family="[^"]*")(?P<style>[^>]*)>(?P<text>[^<]*)</text>'
)

LAYOUT_LIMIT_S = 120
"""The largest machine takes about a second; a layout that is not done by then never will be."""

_DRAW_WITH_PYGRAPHVIZ = """
import sys
import pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


class LayoutProblem(Exception):
    """No picture could be made; the message says by which engine and what it complained about."""


def render(dot_source: str, fmt: Format) -> bytes:
    """The picture of `dot_source`, laid out by Graphviz's `dot` engine.

    Args:
        dot_source: One graph in the DOT language.
        fmt: `svg` (UTF-8 text) or `png`.

    Raises:
        LayoutProblem: the text is not DOT, or there is neither `dot` nor pygraphviz.
    """
    command = _engine_command(fmt)
    try:
        run = subprocess.run(command, input=dot_source.encode(), capture_output=True, timeout=LAYOUT_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise LayoutProblem(f"{engine()} did not finish: {problem}") from problem
    complaints = run.stderr.decode(errors="replace").strip()
    if run.returncode != 0 or not run.stdout:
        raise LayoutProblem(
            f"{engine()} made no {fmt} of {dot_source.strip()[:60]!r}: {complaints or 'it said nothing'}"
        )
    return one_text_per_line(run.stdout.decode()).encode() if fmt == "svg" else run.stdout


def one_text_per_line(svg: str) -> str:
    """An SVG in which the pieces of a line (bold, coloured, plain) follow each other as the browser sets them.

    Graphviz places each piece where the one before it ends in the font that it guesses; another font leaves gaps.
    """
    lines: list[str] = []
    pieces: list[re.Match[str]] = []
    for line in [*svg.split("\n"), ""]:
        found = _PIECE.fullmatch(line)
        if pieces and not (found and found["y"] == pieces[0]["y"]):
            lines.append(_line_of(pieces))
            pieces = []
        if found:
            pieces.append(found)
        else:
            lines.append(line)
    return "\n".join(lines[:-1])


def _line_of(pieces: list[re.Match[str]]) -> str:
    if len(pieces) == 1:
        return pieces[0][0]
    spans = "".join(f"<tspan{piece['style']}>{piece['text']}</tspan>" for piece in pieces)
    return f"{pieces[0]['start']}{pieces[0]['font']}>{spans}</text>"


def engine() -> Literal["dot", "pygraphviz", "none"]:
    """What `render` uses on this machine."""
    if shutil.which("dot"):
        return "dot"
    return "pygraphviz" if find_spec("pygraphviz") else "none"


def _engine_command(fmt: Format) -> list[str]:
    """The command that reads DOT on stdin and writes the picture to stdout."""
    match engine():
        case "dot":
            return ["dot", f"-T{fmt}"]
        case "pygraphviz":
            return [sys.executable, "-I", "-c", _DRAW_WITH_PYGRAPHVIZ, fmt]
        case "none":
            raise LayoutProblem(
                "there is neither `dot` on the PATH nor the pygraphviz package: install one of them, "
                "or ask for the DOT text, which needs neither"
            )
