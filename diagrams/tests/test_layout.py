"""A picture comes out with and without `dot` on the PATH, and a text that is not DOT is told so.

`dot` itself is played by a script that records how it was called: what matters is that it is preferred, and what
it is given. The other way draws for real.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.diagrams import layout

GRAPH = 'digraph member { PREPARING -> STABLE [label="sync answered — é"]; }'


@pytest.fixture
def without_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def with_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "dot"
    script.write_text('#!/bin/sh\nread graph\nprintf "%s|%s" "$*" "$graph"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("without_dot")
def test_without_dot_the_wheel_draws_svg() -> None:
    assert layout.engine() == "pygraphviz"
    picture = layout.render(GRAPH, "svg").decode()
    assert "<svg" in picture
    assert "PREPARING" in picture
    assert "sync answered — é" in picture.replace("&#45;", "-")


@pytest.mark.usefixtures("without_dot")
def test_without_dot_the_wheel_draws_png() -> None:
    assert layout.render(GRAPH, "png").startswith(b"\x89PNG")


@pytest.mark.usefixtures("with_dot")
def test_dot_on_the_path_is_preferred() -> None:
    assert layout.engine() == "dot"
    assert layout.render(GRAPH, "png").decode() == f"-Tpng|{GRAPH}"


@pytest.mark.usefixtures("without_dot")
@pytest.mark.parametrize("text", ["", "not dot at all", "digraph {"])
def test_what_is_not_dot_is_refused_with_the_engines_words(text: str) -> None:
    with pytest.raises(layout.LayoutProblem, match="pygraphviz made no svg of"):
        layout.render(text, "svg")


@pytest.mark.usefixtures("without_dot")
def test_without_any_engine_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    with pytest.raises(layout.LayoutProblem, match="neither `dot` on the PATH nor the pygraphviz package"):
        layout.render(GRAPH, "svg")


def test_the_pieces_of_a_line_follow_each_other_as_the_browser_sets_them() -> None:
    piece = '<text xml:space="preserve" text-anchor="start" x="{}" y="{}" font-family="F" font-size="9.00"{}>{}</text>'
    first, bold = piece.format("1.00", "-5.00", "", "a / "), piece.format("9.50", "-5.00", ' font-weight="bold"', "b")
    other = piece.format("1.00", "-8.00", "", "c")
    assert layout.one_text_per_line(f"<g>\n{first}\n{bold}\n{other}\n</g>\n") == (
        '<g>\n<text xml:space="preserve" text-anchor="start" x="1.00" y="-5.00" font-family="F">'
        '<tspan font-size="9.00">a / </tspan><tspan font-size="9.00" font-weight="bold">b</tspan></text>\n'
        f"{other}\n</g>\n"
    )
