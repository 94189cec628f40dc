"""What others may call themselves, or say, and what must not become of it: for `test_hostile_text`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final
from xml.etree import ElementTree

HARMLESS: Final = "harmless"
PAYLOADS: Final = {
    "colour": "\x1b[31;1mred",
    "clear": "\x1b[2J\x1b[Hgone",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\",
    "answer": "\x1b[6n\x1b[c",
    "c1": "\x9b31m\x9d0;owned\x9c",
    "bell": "\x07",
    "nul": "a\x00b",
    "backspaces": "FAIL\x08\x08\x08\x08PASS",
    "delete": "a\x7fb",
    "new line": "a\nb",
    "carriage return": "FAIL\rPASS",
    "crlf": "a\r\nPASS  J1",
    "vertical": "a\x0bb\x0cc\x85d",
    "separators": "a\u2028b\u2029c",
    "error": "::error::owned",
    "error in a line": "a\n::error file=a.py::owned",
    "error behind spaces": "a\n \u00a0\t::stop-commands::owned",
    "old error": "a ##[add-path]/tmp ##[error]owned",
    "azure": "##vso[task.setvariable variable=x]y",
    "teamcity": "##teamcity[buildStatus status='SUCCESS']",
    "percent": "%0A::error::owned%25",
    "bidi": "a\u202egpj.exe",
    "isolates": "\u2066a\u2069\u200f\u061c",
    "invisible": "a\u200b\u2060\ufeff\u00adb",
    "tags": "a\U000e0041\U000e0042",
    "markup": "1 [/b]",
    "more markup": "[red]x[/] [link=http://evil.example]y[/link] :warning: \\[",
    "html": "<script>alert(1)</script>",
    "attribute": "\"' onload=alert(1) x='",
    "comment": "--><!--]]><![CDATA[",
    "xml": "&lol; <!DOCTYPE x> <?php x?>",
    "svg": "</text><image href='http://evil.example'/><style>*{display:none}</style>",
    "javascript": "javascript:alert(1)//</script>`${x}`",
    "template": "{{ 7*7 }}{% raw %}",
    "csv": '=HYPERLINK("http://evil.example")',
    "markdown": "[a](javascript:x) ![b](http://evil.example) | `c` **d** <b>e</b>",
    "attachment": "[[ATTACHMENT|/etc/passwd]]",
    "traversal": "..",
    "deeper": "../../../../tmp/owned",
    "absolute": "/etc/passwd",
    "reserved": "CON",
    "page": "report.html",
    "blank": " ",
    "dash": "-rf --json",
    "quotes": "'; rm -rf / #",
    "long": "x" * 5_000,
    "long words": " ".join(["::error::owned"] * 400),
    "accents": "e" + "\u0301" * 200,
    "surrogate": "a\ud800b\udcffc",
    "noncharacter": "a\uffff\ufdd0b",
    "private": "a\ue000\U0010ffffb",
    "not digits": "1\u00b2.\u0661",
}
"""By what they try."""

_ORDERS: Final = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)


def in_text(text: str) -> Iterator[str]:
    """What is wrong with lines for people: in a terminal, a CI's log, a file that somebody looks into."""
    shown = text.replace("\n", "")
    if wrong := {
        each for each in shown if not (each.isprintable() or each in "\t" or unicodedata.category(each) == "Zs")
    }:
        yield f"characters {[f'{ord(each):x}' for each in sorted(wrong)]}"
    if order := _ORDERS.search(text):
        yield f"an order to the runner: {order[0]!r}"
    if re.search("[\u0300-\u036f]{5}", text):
        yield "a pile of accents"


def in_workflow(text: str) -> Iterator[str]:
    """Of workflow commands: one for each line, of ours."""
    for line in text.splitlines():
        if not re.match(r"::(error|warning|notice) title=[^:,]*(,file=[^:,]*)?(,line=\d+)?::", line):
            yield f"no command of ours: {line[:80]!r}"
    yield from (each for each in in_text(text.replace("::", "")) if "order" not in each)


def shape(kind: str, text: str) -> object:
    """What must be the same, whatever others say: elements and attributes, lines, keys."""
    if kind == "xml":
        root = ElementTree.fromstring(text.encode())
        return [(each.tag, sorted(each.attrib)) for each in root.iter()]
    if kind == "html":
        elements = _Elements()
        elements.feed(text)
        return elements.found
    if kind == "json":
        return _keys(json.loads(text))
    return len(text.splitlines())


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))
        for name, value in attrs:
            if name in ("href", "src") and re.match(r"\s*(javascript|data):", value or "", re.IGNORECASE):
                self.found.append((f"{name}={value}", []))


def _keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: _keys(each) for key, each in value.items()}
    return [_keys(each) for each in value] if isinstance(value, list) else type(value).__name__
