"""The book of differences: where the sources disagree, both statements, and what we made of it.

Four voices. *published*: the threading refactor proposal, to the letter. *deployed*: what brokers and KIP-429 allow, as
the shipped clients do it. *KIP-62* and *articles*: the other seeds of this project, which quote Kafka and kafka-python
of their day; *computed* is what exploration found where a source makes a claim. Where both sides are in the tables,
`rows` names the cells that differ between the two profiles; a test computes the difference of the tables and finds it
equal to what stands here. Where time decides, `theorems` names what was proved about it (`expiry/theorems.py`). Where
the API decides, `seen_in` says where the reference shows which side it takes. `tests` names the tests that show it: a
test finds each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries


class Statement(Record, frozen=True):
    """What one source says, and which source it is."""

    voice: Literal["published", "deployed", "KIP-62", "articles", "computed"]
    says: str
    source: str


class Difference(Record, frozen=True):
    """One disagreement: who says what, why they differ, what shows it, and what this project does.

    `tests`: `path/of/test_file.py::test_name`, from the top of the repository.
    """

    id: str
    title: str
    statements: tuple[Statement, ...]
    reason: str
    choice: str
    rules: tuple[str, ...]
    rows: tuple[str, ...] = ()
    seen_in: str = ""
    theorems: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


DIFFERENCES: Final[Mapping[str, Difference]] = read_entries(
    Path(__file__).with_name("data") / "differences.toml", Difference
)
"""Every difference by its id."""
