"""The docket: what the kit finds wrong with the built-in clients, each entry read in its wire log by a person.

An entry says that a verdict is right, and why: it is *true* of the client, with the method that does it, or *known*,
with the number of its issue. There is no entry for a mistake of ours: that is mended. An entry is about the versions
that it names; another version's verdicts have to be read anew. It changes no verdict and no exit code: it says that
somebody has looked.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from groupspec.conformance.wire.case import without_delays

FILE: Final = Path(__file__).with_name("docket.json")
Text = Annotated[str, Meta(min_length=1)]
KINDS: Final = {
    "true": "read in its code: the client does so",
    "known": "an issue of the client's is about it",
}
"""What an entry's `kind` says."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One thing that is so.

    Attributes:
        client: A built-in client's name; it goes for the client's other versions too.
        version: What its harness says in startup_complete.
        also: Other versions of which it is as true.
        rule: The rule that it breaks.
        scenarios: Patterns of the cases in which it does; `*` stands for anything.
        verdict: What the kit says.
        kind: `true`: the client does it, on purpose or not; `known`: its authors have an issue about it.
        where: The class and method that does it, or the issue's number.
        evidence: What was seen in the wire log, and what the source or the issue says.
        flaps: Runs of the same case were seen in which the rule was kept: a race. However many runs in a row break it,
            no campaign calls that certain.
    """

    client: Text
    version: Text
    also: list[Text] = []
    rule: Text
    scenarios: Annotated[list[Text], Meta(min_length=1)]
    verdict: Literal["FAIL", "DEVIATION"]
    kind: Literal["true", "known"]
    where: Text
    evidence: Text
    flaps: bool = False

    def explains(self, client: str, version: str, rule: str, case: str, verdict: str) -> bool:
        """Whether this is the entry for that verdict."""
        same = (self.client, self.rule, self.verdict) == (client.partition("@")[0], rule, verdict)
        return same and version in self.versions and any(fnmatchcase(case, pattern) for pattern in self.scenarios)

    @property
    def versions(self) -> tuple[str, ...]:
        """All of them, the newest first."""
        return self.version, *self.also

    @property
    def cases(self) -> str:
        """Where the client does it, in words."""
        return "any scenario" if "*" in self.scenarios else ", ".join(self.scenarios)

    @property
    def told(self) -> str:
        """All of it for people."""
        return f"{KINDS[self.kind]}: {self.where}: {self.evidence}"

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.evidence}"


@cache
def entries() -> tuple[Entry, ...]:
    """All of them."""
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])


def of_rule(rule: str) -> tuple[Entry, ...]:
    """What is known of clients that break this rule."""
    return tuple(entry for entry in entries() if entry.rule == rule)


@cache
def explanation(client: str, version: str, rule: str, case: str, verdict: str) -> Entry | None:
    """The entry for a verdict, of this case or of the one that it is with other delays; None if there is none."""
    told = (
        entry
        for name in (case, without_delays(case))
        for entry in entries()
        if entry.explains(client, version, rule, name, verdict)
    )
    return next(told, None)
