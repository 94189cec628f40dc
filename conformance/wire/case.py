"""What a scenario and a case are: data.

A scenario is a function that reads like a story, its rules, and the ways in which it is run; a case is one of these
ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from groupspec.spec.rules import Rule

HEARTBEAT_INTERVAL_MS: Final = 100
CLOSE_WITHIN_MS: Final = 6_000
INSTANCE_ID: Final = "group.instance.id"
RESET: Final = "auto.offset.reset"
"""Among a variant's further settings where it is another than `earliest`."""
REQUEST_TIMEOUT_MS: Final = 2_000
SMALL_TIMEOUT_MS: Final = 1_000
"""The smallest session timeout and poll interval that every known client accepts (librdkafka: poll interval >=
session)."""


@dataclass(frozen=True)
class Variant:
    """One way of running a scenario; `name` "" is the plain one."""

    name: str = ""
    poll_ms: int = 50
    sync_late: bool = False
    callback_ms: int = 20
    auto_commit: bool = True
    held_heartbeat: bool = False
    close_within_ms: int = CLOSE_WITHIN_MS
    point: str = ""
    """Where on the way the story takes its turn, of a scenario that has it at several points."""
    topic: str = "orders"
    pattern: str = ""
    """What is subscribed to in place of the topic: all that match."""
    auto_commit_interval_ms: int = 60_000
    more: tuple[tuple[str, str], ...] = ()
    """Further settings, by the names of Kafka's consumer."""
    in_callback: tuple[tuple[str, str], ...] = ()
    """What callbacks do when they have waited."""
    version_caps: tuple[tuple[str, int], ...] = ()
    """The highest version that the broker speaks, of APIs of which it does not speak the newest."""
    not_judged: str = ""
    """Rules of the scenario for which this way of running it gives no occasion."""
    race: int | None = None
    """The seed that draws how late each answer is (`delays`); None: what the story does not delay comes at once."""


RACE: Final = "~"
"""Between the name of a variant and the seed of its delays."""
PLAIN_NAME: Final = "plain"
"""What the variant without a name is called where it has to be told from the scenario."""
PLAIN: Final = Variant()
POLLS_AND_LATE_SYNC: Final = (
    Variant(not_judged="H1"),
    Variant("poll-5", poll_ms=5, not_judged="H1"),
    Variant("poll-500", poll_ms=500, not_judged="H1"),
    Variant("sync-late", sync_late=True),
)
"""Rule H1 (heartbeats while something takes long) is judged where SyncGroup takes long."""


def reset_of(variant: Variant) -> str:
    """Where a partition begins of which nothing is committed."""
    return dict(variant.more).get(RESET, "earliest")


@dataclass(frozen=True)
class Scenario:
    """A story, and what is judged by it."""

    id: str
    story: Callable[..., None]  # takes a ScenarioContext, as `scenarios.scenario` checks
    rules: tuple[str, ...]
    source: str
    rebalance: Literal["eager", "cooperative"]
    needs: frozenset[str]
    variants: Sequence[Variant] = (PLAIN,)
    retry_backoff_ms: int = 100
    timeout_ms: int = SMALL_TIMEOUT_MS
    poll_interval_ms: int = 0
    """If it is another than the session timeout: librdkafka refuses one that is shorter."""
    heartbeat_interval_ms: int = HEARTBEAT_INTERVAL_MS
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    members: int = 1
    """How many processes of the client are in the group; one of them is judged."""
    doc: str = field(default="")
    unseen: tuple[tuple[str, str], ...] = ()
    """Rules that cannot be judged here, each with the reason."""
    elsewhere: str = ""
    """Where a rule can be judged for which a run gave no occasion."""

    @property
    def timeouts(self) -> dict[str, int]:
        """Heartbeat interval, session timeout and poll interval, under the names of the configuration."""
        return {
            "session_timeout_ms": self.timeout_ms,
            "heartbeat_interval_ms": self.heartbeat_interval_ms,
            "max_poll_interval_ms": self.poll_interval_ms or self.timeout_ms,
        }

    @property
    def title(self) -> str:
        """The first line of its prose."""
        return self.doc.strip().partition("\n")[0]


@dataclass(frozen=True)
class Case:
    """One scenario, run in one way."""

    scenario: Scenario
    variant: Variant

    @property
    def rules(self) -> tuple[str, ...]:
        """What this run is judged by."""
        left_out = self.variant.not_judged.split()
        return tuple(rule for rule in self.scenario.rules if rule not in left_out)

    def sources(self, rule: Rule) -> str:
        """Where a rule comes from, and what the scenario rests on besides."""
        known = [_words(source) for source in rule.sources]
        others = [each for each in self.scenario.source.split("; ") if not any(_words(each) <= rule for rule in known)]
        return "; ".join(rule.sources) + (f"; of the scenario: {'; '.join(others)}" if others else "")

    @property
    def id(self) -> str:
        """The scenario's id, and the variant's name after a slash."""
        return f"{self.scenario.id}/{self.variant.name}" if self.variant.name else self.scenario.id

    @property
    def selector(self) -> str:
        """What `--scenario` takes to run this case and no other: the scenario's id alone names all its variants."""
        return self.id if self.variant.name or len(self.scenario.variants) == 1 else f"{self.id}/{PLAIN_NAME}"


def racing(case: Case, seed: int) -> Case:
    """The same case, in which answers are as late as the seed draws them."""
    name = f"{case.variant.name or PLAIN_NAME}{RACE}{seed}"
    return replace(case, variant=replace(case.variant, name=name, race=seed))


def without_delays(identifier: str) -> str:
    """The id of the case that this one is with other delays: `first-join` of `first-join/plain~17`."""
    return identifier.partition(RACE)[0].removesuffix(f"/{PLAIN_NAME}") if RACE in identifier else identifier


def _words(source: str) -> frozenset[str]:
    """`KIP-429 (onPartitionsLost)` is the source `KIP-429, onPartitionsLost`."""
    return frozenset(re.findall(r"[\w.-]+", source))
