"""Real bugs of real clients: each one broke a rule, and a change of a few lines re-creates it.

`source` is the public origin (a JIRA key, a pull request, an issue). `shows_on`: W requests on the wire, C callbacks,
A results and exceptions of the API, P positions and records, T threads, CPU, liveness. `mutation` is the change that
brings the bug back in a correct implementation; the conformance suite is measured by which of them it notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from groupspec.spec.datafile import Record, read_entries


class KnownBug(Record, frozen=True):
    """A real bug of a real client, and the change that would bring it back.

    Attributes:
        id: `BUG-01`.
        source: Its public origin.
        client: Whose bug it was.
        versions: Which releases had it.
        severity: What it led to: STUCK, LOSS, DUPLICATES, …
        rules: The rules it broke.
        symptom: What a user saw.
        trigger: What has to happen for it.
        shows_on: W wire, C callbacks, A results of the API, P positions and records, T threads.
        mutation: How to re-create it in a correct implementation.
    """

    id: str
    source: str
    client: str
    versions: str
    severity: str
    rules: tuple[str, ...]
    symptom: str
    trigger: str
    shows_on: str
    mutation: str


KNOWN_BUGS: Final[Mapping[str, KnownBug]] = read_entries(Path(__file__).with_name("data") / "bugs.toml", KnownBug)
"""Every known bug by its id."""
