"""Stories of the other families, told of a member of the other rebalance protocol: for rules that bind it, too.

Of a cooperative member what is left out asks for the callbacks that only an eager one has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from groupspec.conformance.wire.scenarios.registry import SCENARIOS

COOPERATIVE: Final[Mapping[str, tuple[str, ...]]] = {
    "callback-raises": ("lost",),
    "commit-refused": ("illegal-generation",),
    "coordinator-silent": ("silent",),
    "few-records-at-a-time": ("closed-in-a-batch-with-gaps",),
    "join-takes-long": ("",),
    "refused-too-late": ("as-a-new-member",),
    "static-fenced": ("heartbeat",),
    "throttled-member": ("fetching",),
    "topic-recreated": ("between-polls",),
    "unsubscribe-on-the-way": ("rejoining",),
}
"""Scenarios of an eager member, and of each the variants."""
EAGER: Final[Mapping[str, tuple[str, ...]]] = {
    "closed-at-once": ("announced",),
    "stuck-on-the-way": ("syncing", "reading-positions"),
}
"""Of a cooperative one, which may join by itself: then nothing is due any more when it is closed. And what clients that
offer no cooperative groups are not judged by elsewhere."""
OWNS_NOTHING: Final = {"stuck-on-the-way/syncing": "P3"}
"""What cannot be judged then of a member that has given everything up for the round."""


def _tell_again(name: str, variants: tuple[str, ...], rebalance: Literal["eager", "cooperative"]) -> None:
    told = SCENARIOS[name]
    SCENARIOS[f"{name}-{rebalance}"] = replace(
        told,
        id=f"{name}-{rebalance}",
        rebalance=rebalance,
        needs=told.needs - {told.rebalance} | {rebalance},
        variants=tuple(
            replace(each, not_judged=f"{each.not_judged} {OWNS_NOTHING.get(f'{name}/{each.name}', '')}".strip())
            for each in told.variants
            if each.name in variants
        ),
    )


for _name, _variants in COOPERATIVE.items():
    _tell_again(_name, _variants, "cooperative")
for _name, _variants in EAGER.items():
    _tell_again(_name, _variants, "eager")
