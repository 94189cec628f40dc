"""What a scenario is: a function that reads like a story, its rules, and the ways in which it is run.

Scenarios lie in `scenarios/`, one file each. The function says what the broker does and what must follow; it waits for named
events and never sleeps. Which rules its log is judged by stands in the decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from groupspec.conformance.errors import UsageProblem, did_you_mean
from groupspec.conformance.wire.protocol import FEATURES
from groupspec.spec.rules import RULES

if TYPE_CHECKING:
    from groupspec.conformance.wire.scenario_context import ScenarioContext

HEARTBEAT_INTERVAL_MS: Final = 100
SMALL_TIMEOUT_MS: Final = 1_000
"""The smallest session timeout and poll interval that every known client accepts (librdkafka: poll interval >= session)."""


@dataclass(frozen=True)
class Variant:
    """One way of running a scenario; `name` "" is the plain one."""

    name: str = ""
    poll_ms: int = 50
    sync_late: bool = False
    callback_ms: int = 20
    auto_commit: bool = True
    held_heartbeat: bool = False
    topic: str = "orders"
    not_judged: str = ""
    """Rules of the scenario for which this way of running it gives no occasion."""


PLAIN: Final = Variant()
POLLS_AND_LATE_SYNC: Final = (
    Variant(not_judged="H1"),
    Variant("poll-5", poll_ms=5, not_judged="H1"),
    Variant("poll-500", poll_ms=500, not_judged="H1"),
    Variant("sync-late", sync_late=True),
)
"""Rule H1 (heartbeats while something takes long) is judged where SyncGroup takes long."""


@dataclass(frozen=True)
class Scenario:
    """A story, and what is judged by it."""

    id: str
    story: Callable[[ScenarioContext], None]
    rules: tuple[str, ...]
    source: str
    rebalance: Literal["eager", "cooperative"]
    needs: frozenset[str]
    variants: Sequence[Variant] = (PLAIN,)
    retry_backoff_ms: int = 100
    timeout_ms: int = SMALL_TIMEOUT_MS
    doc: str = field(default="")

    @property
    def timeouts(self) -> dict[str, int]:
        """Heartbeat interval, session timeout and poll interval, under the names of the configuration."""
        return {
            "session_timeout_ms": self.timeout_ms,
            "heartbeat_interval_ms": HEARTBEAT_INTERVAL_MS,
            "max_poll_interval_ms": self.timeout_ms,
        }

    @property
    def title(self) -> str:
        """The first line of its prose."""
        return self.doc.strip().partition("\n")[0]


SCENARIOS: Final[dict[str, Scenario]] = {}


def scenario(
    *,
    rules: str,
    source: str,
    rebalance: Literal["eager", "cooperative"] = "eager",
    needs: str = "",
    variants: Sequence[Variant] = (PLAIN,),
    retry_backoff_ms: int = 100,
    timeout_ms: int = SMALL_TIMEOUT_MS,
) -> Callable[[Callable[[ScenarioContext], None]], Callable[[ScenarioContext], None]]:
    """Registers a scenario; its id is the function's name with dashes. `timeout_ms`: session timeout and poll interval."""

    def register(story: Callable[[ScenarioContext], None]) -> Callable[[ScenarioContext], None]:
        identifier = story.__name__.replace("_", "-")
        judged = tuple(rules.split())
        unknown = set(judged) - set(RULES) | set(needs.split()) - set(FEATURES)
        assert not unknown, f"{identifier}: unknown rules or features {sorted(unknown)}"
        SCENARIOS[identifier] = Scenario(
            id=identifier,
            story=story,
            rules=judged,
            source=source,
            rebalance=rebalance,
            needs=frozenset([rebalance, *needs.split()]),
            variants=variants,
            retry_backoff_ms=retry_backoff_ms,
            timeout_ms=timeout_ms,
            doc=story.__doc__ or "",
        )
        return story

    return register


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

    @property
    def id(self) -> str:
        """What `--scenario` takes: the scenario's id, and the variant's name after a slash."""
        return f"{self.scenario.id}/{self.variant.name}" if self.variant.name else self.scenario.id


def all_cases() -> list[Case]:
    """Every scenario in every way."""
    return [Case(each, variant) for each in SCENARIOS.values() for variant in each.variants]


def find_cases(chosen: Sequence[str]) -> list[Case]:
    """The cases of these ids, of scenarios or of one variant each; all if there are none.

    Raises:
        UsageProblem: there is no such scenario or variant.
    """
    cases = all_cases()
    if not chosen:
        return cases
    known = [*SCENARIOS, *(case.id for case in cases)]
    for identifier in chosen:
        if not any(identifier in (case.id, case.scenario.id) for case in cases):
            raise UsageProblem(
                f"there is no scenario {identifier!r}",
                allowed=[case.id for case in cases],
                next_step=did_you_mean(identifier, known) or "`groupspec conform --list` tells what each is about",
            )
    return [case for case in cases if case.id in chosen or (case.scenario.id in chosen)]
