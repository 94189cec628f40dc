"""A page as its reader's browser sees it: tags that close, ids, links. Breaks on anything that is not well formed."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
CLOSES_P: Final = frozenset(
    {"p", "div", "ul", "ol", "dl", "table", "section", "article", "pre", "h1", "h2", "h3", "h4"}
)
"""What a browser would end a paragraph for, silently."""


class ReadPage(HTMLParser):
    """A page, read.

    Attributes:
        ids: Every id, in order.
        links: Every href and src.
        loads: Every address that a browser fetches by itself.
        text: What can be read, without scripts.
        problems: What is not well formed: (line, what).
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.problems: list[tuple[int, str]] = []
        self.feed(text)
        self.close()
        if self.stack:
            self._problem(f"never closed: {self.stack}")

    def _problem(self, what: str) -> None:
        self.problems.append((self.getpos()[0], what))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self._problem(f"an attribute twice in {tag}")
        if tag == "a" and "a" in self.stack:
            self._problem("a link in a link")
        if tag in CLOSES_P and self.stack[-1:] == ["p"]:
            self._problem(f"{tag} in a paragraph")
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.loads += [given["src"]] if "src" in given else []
        self.loads += [given["href"]] if tag == "link" else []
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID and "svg" not in self.stack:
            self._problem(f"{tag} cannot close itself")
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self._problem(f"{tag} closes something else")

    def handle_data(self, data: str) -> None:
        if self.stack[-1:] != ["script"]:
            self.text += data
