"""The docket as a page: for each client that the kit brings, the rules that it breaks, with where and why.

A maintainer looks for the line of their client: README has the table of all of them, each line leads to its part of
`conformance/generated/clients.md`. Both are generated from the docket, whose entries people have read one by one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from groupspec.conformance.wire.docket import KINDS, Entry, entries, versions_of
from groupspec.spec.rules import RULES

PAGE: Final = "conformance/generated/clients.md"
WIDTH: Final = 120
BEGIN: Final = "<!-- generated: clients -->"
END: Final = "<!-- end of what is generated -->"
_INTRODUCTION: Final = """
What the clients that the kit brings do against the rules: the docket, whose entries were read one by one, in the wire
log and in the client's source. What flaps was kept in other runs of the same case. A rule that is not here was kept
wherever `groupspec conform CLIENT --profile full` could judge it, or could be judged nowhere: that command says which.
No rule is loosened for a client, and none is failed for what it never promised. An entry that is wrong is a defect of
groupspec: please report it.
"""


@dataclass(frozen=True)
class Version:
    """One version of one client, and what is known of it."""

    client: str
    version: str
    entries: Sequence[Entry]

    @property
    def title(self) -> str:
        """Client and version."""
        return f"{self.client} {self.version}"

    @property
    def anchor(self) -> str:
        """The id that its heading has in Markdown."""
        return re.sub(r"[^\w -]", "", self.title.lower()).replace(" ", "-")

    def rules(self, verdict: str) -> list[str]:
        """Those that it breaks so, in the order of the rules."""
        broken = {entry.rule for entry in self.entries if entry.verdict == verdict}
        return [rule for rule in RULES if rule in broken]


def versions() -> Iterator[Version]:
    """All of them, by name, the newest version first."""
    by_version: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries():
        for version in entry.versions:
            by_version.setdefault((entry.client, version), []).append(entry)
    names = sorted({client for client, _ in by_version})
    for name in names:
        for version in versions_of(name):
            yield Version(name, version, by_version[name, version])


def clients_table() -> str:
    """The lines for README: a client each."""
    lines = ["| client | breaks (must) | does not keep (should) |", "|---|---|---|"]
    for each in versions():
        broken, not_kept = (" ".join(each.rules(verdict)) or "-" for verdict in ("FAIL", "DEVIATION"))
        lines.append(f"| [{each.title}]({PAGE}#{each.anchor}) | {broken} | {not_kept} |")
    return "\n".join(lines)


def in_readme(text: str) -> str:
    """README with the table of today."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin + end == BEGIN + END, f"README.md has no {BEGIN} and {END}"
    return f"{before}{BEGIN}\n{clients_table()}\n{END}{after}"


def clients_markdown() -> str:
    """The page."""
    lines = ["# What each client does against the rules", "", *_wrapped(" ".join(_INTRODUCTION.split())), ""]
    for each in versions():
        lines += [f"## {each.title}", ""]
        for rule in [*each.rules("FAIL"), *each.rules("DEVIATION")]:
            lines += [f"### {RULES[rule].title} ({RULES[rule].level})", ""]
            for entry in (entry for entry in each.entries if entry.rule == rule):
                flaps = " Flaps." if entry.flaps else ""
                lines += _wrapped(f"* In {_escaped(entry.cases)}.{flaps} {KINDS[entry.kind].capitalize()}: "
                                  f"{_escaped(entry.where)}. {_escaped(entry.evidence)}", "  ")  # fmt: skip
            lines.append("")
    return "\n".join(lines)


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _escaped(text: str) -> str:
    """As it stands, in Markdown."""
    return re.sub(r"([*_<>|\[\]`])", r"\\\1", text)
