"""The scenarios of the family: one for each request and protocol, whose variants are its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Final

from groupspec.conformance.wire.answers.path import LEGS
from groupspec.conformance.wire.answers.rows import REQUESTS, Row, rows
from groupspec.conformance.wire.answers.story import CALLBACK_MS, play
from groupspec.conformance.wire.case import PLAIN, Scenario, Variant
from groupspec.conformance.wire.scenario_context import ScenarioContext
from groupspec.spec.rules import RULES

TIMEOUT_MS: Final = 6_000
"""Session and poll interval: longer than a request timeout, so that an answer that never comes ends no session."""
JOIN_TIMEOUT_MS: Final = 1_500
"""Where JoinGroup may go unanswered: clients wait five seconds longer than the rebalance timeout for it (rule J5)."""

SHORT_MS: Final = 300
SETTINGS: Final = {
    ("OffsetCommit", "stable"): Variant(auto_commit_interval_ms=SHORT_MS),
    ("Metadata", "stable"): Variant(more=(("metadata.max.age.ms", str(SHORT_MS)),)),
    ("Metadata", "joining"): Variant(more=(("metadata.max.age.ms", str(SHORT_MS)),)),
    ("Heartbeat", "revoking"): Variant(callback_ms=CALLBACK_MS),
    ("Heartbeat", "closing"): Variant(auto_commit=False),  # else the last commit waits behind it, and LeaveGroup
}
"""What makes a client send the request at that point, come to it, and look again for what was not there."""


@cache
def answer_scenarios() -> dict[str, Scenario]:
    """By id, in the order of the requests."""
    grouped: dict[str, list[Row]] = {}
    for row in rows():
        grouped.setdefault(_identifier(row.request, row.rebalance), []).append(row)
    return {identifier: _scenario(identifier, of_it) for identifier, of_it in grouped.items()}


def answer_ids() -> list[str]:
    """The ids alone, which take no time."""
    return [_identifier(request, rebalance) for request, rebalance in product(REQUESTS, LEGS)]


def _scenario(identifier: str, of_it: Sequence[Row]) -> Scenario:
    request, rebalance = of_it[0].request, of_it[0].rebalance
    by_name = {row.name: row for row in of_it}
    judged = tuple(rule for rule in RULES if any(rule in row.rules for row in of_it))

    def story(context: ScenarioContext) -> None:
        play(context, by_name[context.variant.name])

    return Scenario(
        id=identifier,
        story=story,
        rules=judged,
        source="; ".join(dict.fromkeys(row.source for row in of_it if row.source)),
        rebalance="eager" if rebalance == "eager" else "cooperative",
        needs=frozenset([rebalance]),
        variants=tuple(_variant(row, judged) for row in of_it),
        timeout_ms=JOIN_TIMEOUT_MS if request == "JoinGroup" else TIMEOUT_MS,
        doc=f"Answers to {request}, {rebalance}: each that a broker can give, late, lost or none, at each point.",
    )


def _variant(row: Row, judged: Sequence[str]) -> Variant:
    not_judged = " ".join(rule for rule in judged if rule not in row.rules)
    return replace(SETTINGS.get((row.request, row.point), PLAIN), name=row.name, not_judged=not_judged)


def _identifier(request: str, rebalance: str) -> str:
    """OffsetCommit, eager: offset-commit-eager."""
    dashed = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in request)
    return f"{dashed.strip('-')}-{rebalance}"
