"""The docket: what the kit finds wrong with the built-in clients, each entry read in its wire log by a person.

An entry says that a verdict is right, and why: it is *true* of the client, with the method that does it, or *known*,
with the number of its issue. There is no entry for a mistake of ours: that is mended. An entry is about the versions
that it names; another version's verdicts have to be read anew. It changes no verdict and no exit code: it says that
somebody has looked. What a client's engine does (librdkafka's below confluent-kafka) is known of every client that has
that version of it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from groupspec.conformance.wire.case import without_delays

FILE: Final = Path(__file__).with_name("docket.json")
_ENGINE: Final = re.compile(r" \((\S+ \S+)\)$")
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
        same = (self.rule, self.verdict) == (rule, verdict) and self._is_about(client, version)
        return same and any(fnmatchcase(case, pattern) for pattern in self.scenarios)

    def _is_about(self, client: str, version: str) -> bool:
        """Whether it is about this client, or about an engine that this client has, too."""
        if self.client == name_of(client) and version in self.versions:
            return True
        engine = engine_of(version)
        does_it = self.where.startswith(f"{engine.partition(' ')[0]} ")
        return engine != "" and does_it and engine in map(engine_of, self.versions)

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


def name_of(client: str) -> str:
    """A built-in client's name without a version."""
    return client.partition("@")[0]


def engine_of(version: str) -> str:
    """The engine in what is said of a version: `librdkafka 2.16.0` of `2.16.1 (librdkafka 2.16.0)`; "" without one."""
    found = _ENGINE.search(version)
    return found[1] if found else ""


@cache
def entries() -> tuple[Entry, ...]:
    """All of them."""
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])


def versions_of(client: str) -> tuple[str, ...]:
    """The versions of a built-in client that there are entries about, as its harness says them, the newest first."""
    about = {version for entry in entries() if entry.client == client for version in entry.versions}
    return tuple(sorted(about, key=lambda each: [int(number) for number in re.findall(r"\d+", each)], reverse=True))


def of_rule(rule: str) -> tuple[Entry, ...]:
    """What is known of clients that break this rule."""
    return tuple(entry for entry in entries() if entry.rule == rule)


@cache
def explanation(client: str, version: str, rule: str, case: str, verdict: str) -> Entry | None:
    """The entry for a verdict, of this case or of the one that it is with other delays; None if there is none.

    One of the client itself goes before one of its engine.
    """
    told = (
        entry
        for name in (case, without_delays(case))
        for entry in entries()
        if entry.explains(client, version, rule, name, verdict)
    )
    return min(told, key=lambda entry: entry.client != name_of(client), default=None)
