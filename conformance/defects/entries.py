"""The list of the defects: `defects.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupspec.spec.datafile import Record, read_entries


class Defect(Record, frozen=True):
    """One defect of a released client.

    Attributes:
        id: Lower case with hyphens; its folder has underscores instead.
        client: A built-in client's name.
        version: Of that client: the one that its page is about.
        title: One line.
        costs: What it costs a user, in a few words.
        rule: The rule that it breaks; empty where none is about it, as none says how an assignor divides.
        kit: A case of the wire kit in which the rule is broken, as the docket has it; empty if a stress run found it.
        known: The entry of `stress/known.toml` that is about it, too; empty if there is none.
        found: How it was found, where it was neither by a case of the wire kit nor by a stress run.
        searched: How the client's tracker was searched, when, and what was found.
    """

    id: str
    client: str
    version: str
    title: str
    costs: str
    searched: str
    rule: str = ""
    kit: str = ""
    known: str = ""
    found: str = ""

    @property
    def folder(self) -> Path:
        """Where its page and its reproduction are."""
        return Path(__file__).with_name(self.id.replace("-", "_"))

    @property
    def page(self) -> Path:
        """The report."""
        return self.folder / "README.md"

    @property
    def script(self) -> Path:
        """The reproduction: with HOST:PORT it ends with 1 while the defect is there, and with 0 after."""
        return self.folder / ("Reproduce.java" if self.client == "java" else "reproduce.py")


DEFECTS: Final[Mapping[str, Defect]] = read_entries(Path(__file__).with_name("defects.toml"), Defect)
"""Each by its id."""
