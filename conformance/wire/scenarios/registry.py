"""The registry of the scenarios that are written by hand.

`@scenario` registers a function that reads like a story: it says what the broker does and what must follow; it waits
for named events and never sleeps. Which rules its log is judged by stands in the decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from groupspec.conformance.history.harness_protocol import FEATURES
from groupspec.conformance.wire.case import PLAIN, REQUEST_TIMEOUT_MS, SMALL_TIMEOUT_MS, Scenario, Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.spec.rules import RULES

SCENARIOS: Final[dict[str, Scenario]] = {}
Story = Callable[[ScenarioContext], None]


def scenario(
    *,
    rules: str,
    source: str,
    rebalance: Literal["eager", "cooperative"] = "eager",
    needs: str = "",
    variants: Sequence[Variant] = (PLAIN,),
    retry_backoff_ms: int = 100,
    timeout_ms: int = SMALL_TIMEOUT_MS,
    poll_interval_ms: int = 0,
    request_timeout_ms: int = REQUEST_TIMEOUT_MS,
    members: int = 1,
) -> Callable[[Story], Story]:
    """Registers a scenario; its id is the function's name with dashes.

    Args:
        rules: What its log is judged by.
        source: Where it stands that a broker does this, or that a client must do that.
        rebalance: The protocol of the group.
        needs: Features without which there is nothing to play, besides the protocol.
        variants: The ways in which it is run.
        retry_backoff_ms: As the client is told.
        timeout_ms: Session timeout and poll interval.
        poll_interval_ms: The latter, if it is another.
        request_timeout_ms: As the client is told.
        members: 2 if another process of the same client is in the group, `context.other`.
    """

    def register(story: Story) -> Story:
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
            poll_interval_ms=poll_interval_ms,
            request_timeout_ms=request_timeout_ms,
            members=members,
            doc=story.__doc__ or "",
        )
        return story

    return register
