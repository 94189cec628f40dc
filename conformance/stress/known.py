"""What is known of other clients from stress runs: `known.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupspec.conformance.stress.judging import Finding, Promise
from groupspec.spec.datafile import Record, read_entries


class Known(Record, frozen=True):
    """One thing that a client does.

    Attributes:
        id: Lower case with hyphens.
        client: A built-in client's name.
        version: Of that client, as it was read.
        promises: What a run finds of it.
        rule: The rule that it breaks.
        title: One line.
        where: The classes and methods, or files and functions, that do it.
        evidence: What was seen, and what the source says.
        reproduction: A command that shows it, maybe not at every time.
        upstream: The public address of what its authors say of it, or where it came from.
    """

    id: str
    client: str
    version: str
    promises: tuple[Promise, ...]
    rule: str
    title: str
    where: str
    evidence: str
    reproduction: str
    upstream: str


KNOWN: Final[Mapping[str, Known]] = read_entries(Path(__file__).with_suffix(".toml"), Known)
"""Each by its id."""


def known_of(finding: Finding) -> list[Known]:
    """What a finding may be an instance of: the same promise, broken by the same client."""
    return [one for one in KNOWN.values() if one.client == finding.client and finding.promise in one.promises]
