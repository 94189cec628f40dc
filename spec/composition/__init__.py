"""The system: members, the group, and the network between them, put together as models that can be exhausted.

`models()` is the catalogue. Each model is made when it is asked for: making one is quick, exploring it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from groupspec.spec import properties
from groupspec.spec.compiler.model import Model
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES
from groupspec.spec.composition.alone import alone_model
from groupspec.spec.composition.base import base_model
from groupspec.spec.composition.commit_alone import commit_model
from groupspec.spec.composition.commits_together import commits_model
from groupspec.spec.composition.group_alone import group_model
from groupspec.spec.composition.partition import partition_model
from groupspec.spec.composition.queues import queues_model
from groupspec.spec.composition.system import MIXED
from groupspec.spec.properties_of_commit import of_a_commit, of_two_commits
from groupspec.spec.properties_of_group import of_the_group
from groupspec.spec.properties_of_partition import of_a_partition
from groupspec.spec.properties_of_queues import of_the_queues

_FEATURES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "late": ("call_late", "requests and answers that a member has given up still travel"),
        "callbacks": (
            "callback_running",
            "a listener is called and returns in two steps, so that the membership can be lost in between",
        ),
        "parked": (
            "forgotten: parked_join, unsynced, parked_sync",
            "what was parked of a forgotten id still counts in the group",
        ),
        "farewell": ("call: LeaveGroup", "a LeaveGroup travels, arrives or is lost"),
        "static": (
            "none: forgotten is left out",
            "static members (KIP-345): no LeaveGroup; a process that restarts takes over the record of its instance id",
        ),
        "ids": ("pending", "JoinGroup v4: a member id is handed out first (KIP-394)"),
        "calm": ("calm", "disturbances may end for good: what liveness is claimed under (explorer and TLC check it)"),
        "quiet": (
            "none: actions are left out",
            "applications neither leave nor stall nor ask to rejoin: makes room for a feature that would not fit",
        ),
        "log": (
            "stored, forgotten_stored, generation, told",
            "the coordinator can die in the middle of a rebalance; the group falls back to what the log has",
        ),
    }
)
"""Feature modules: the variables that each brings, and what they mean. The base model has none of them."""

SETS: tuple[frozenset[str], ...] = (
    frozenset(),
    *(frozenset({name}) for name in _FEATURES if name not in ("quiet", "calm")),
    frozenset({"ids", "quiet"}),
    frozenset({"calm"}),
)


@cache
def models() -> Mapping[str, Callable[[], Model]]:
    """Every model by its name, as a function that makes it."""
    catalogue: dict[str, Callable[[], Model]] = {}
    for rebalance in REBALANCES:
        for profile in PROFILES:
            catalogue[f"alone-{rebalance}-{profile}"] = partial(
                alone_model, rebalance, profile, properties.alone(rebalance)
            )
            for features in SETS if profile == "deployed" else SETS[:1]:
                for size in (2, 3) if not features and profile == "deployed" else (2,):
                    name = "-".join(["base", *sorted(features), rebalance, profile, str(size)])
                    claimed = properties.of_a_group(features)
                    catalogue[name] = partial(base_model, rebalance, profile, size, claimed, features=features)
    catalogue["partition-alone"] = partial(partition_model, of_a_partition())
    catalogue["commit-alone"] = partial(commit_model, of_a_commit())
    catalogue["commits-2"] = partial(commits_model, of_two_commits())
    catalogue["group-alone"] = partial(group_model, of_the_group())
    upgrade = partial(base_model, MIXED, "deployed", 2, properties.of_a_group(frozenset()))
    catalogue["base-mixed-deployed-2"] = upgrade
    catalogue["queues-3"] = partial(queues_model, of_the_queues(3), 3)
    return MappingProxyType(catalogue)


_EXPECTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "alone-eager-published": frozenset({"heartbeats-run", "eager-gives-up-first", "owns-nothing-outside", "commit-what-is-owned", "commit-comes-first"}),
        "alone-cooperative-published": frozenset({"heartbeats-run", "owns-nothing-outside", "sync-after-join", "commit-what-is-owned", "commit-comes-first", "to-a-known-coordinator", "taken-is-revoked"}),
        "base-eager-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
        "base-cooperative-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
    }
)  # fmt: skip


def expected_violations(model_name: str) -> frozenset[str]:
    """The properties that a model is known to break, and must: those of the published profile (see the book of differences)."""
    return _EXPECTED.get(model_name, frozenset())


def features() -> Mapping[str, tuple[str, str]]:
    """Feature modules: name to (the variables that it brings, what they mean)."""
    return _FEATURES
