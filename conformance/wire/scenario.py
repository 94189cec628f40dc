"""The scenarios: `@scenario` registers one, `find_cases` finds them.

They lie in `scenarios/`, one file each. The function says what the broker does and what must follow; it waits for named
events and never sleeps. Which rules its log is judged by stands in the decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from groupspec.conformance.errors import UsageProblem, did_you_mean
from groupspec.conformance.wire.case import PLAIN, PLAIN_NAME, SMALL_TIMEOUT_MS, Case, Scenario, Variant
from groupspec.conformance.wire.protocol import FEATURES
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.spec.rules import RULES

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
    """Registers a scenario; its id is the function's name with dashes.

    `timeout_ms`: session timeout and poll interval.
    """

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
    known: list[str] = []
    found: list[Case] = []
    for case in cases:
        names = {case.scenario.id, f"{case.scenario.id}/{case.variant.name or PLAIN_NAME}"}
        known += names
        found += [case] if names.intersection(chosen) else []
    for identifier in chosen:
        if identifier not in known:
            raise UsageProblem(
                f"there is no scenario {identifier!r}",
                allowed=[case.selector for case in cases],
                next_step=did_you_mean(identifier, known) or "`groupspec conform --list` tells what each is about",
            )
    return found
