"""The system: members, the group, and the network between them, put together as models that can be exhausted.

`models()` is the catalogue. Each model is made when it is asked for: making one is quick, exploring it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from types import MappingProxyType

from groupspec.spec.compiler.model import Model, ModelMaker, ModelProperty, Scope
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES
from groupspec.spec.composition.base import base_model, base_name
from groupspec.spec.composition.claimed import (
    of_a_commit,
    of_a_group,
    of_a_member,
    of_a_partition,
    of_the_group,
    of_the_queues,
    of_two_commits,
)
from groupspec.spec.composition.commits_together import commits_model
from groupspec.spec.composition.open_commit import open_commit_model
from groupspec.spec.composition.open_group import open_group_model
from groupspec.spec.composition.open_member import open_member_model
from groupspec.spec.composition.open_partition import open_partition_model
from groupspec.spec.composition.queues import queues_model
from groupspec.spec.composition.system import MIXED

_FEATURES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "late": ("request_late", "requests and answers that a member has given up still travel"),
        "callbacks": (
            "callback_running",
            "a listener is called and returns in two steps, so that the membership can be lost in between",
        ),
        "awaiting": (
            "forgotten: awaiting_join, unsynced, awaiting_sync",
            "what awaited an answer of a forgotten id still counts in the group",
        ),
        "leave": ("request: LeaveGroup", "a LeaveGroup travels, arrives or is lost"),
        "static": (
            "none: forgotten is left out",
            "static members (KIP-345): no LeaveGroup; a process that restarts takes over the record of its instance id",
        ),
        "ids": ("pending", "JoinGroup v4: a member id is handed out first (KIP-394)"),
        "faults-stop": (
            "faults_stopped",
            "faults may stop for good: liveness is claimed under this (explorer and TLC check it)",
        ),
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
    *(frozenset({name}) for name in _FEATURES if name not in ("quiet", "faults-stop")),
    frozenset({"ids", "quiet"}),
    frozenset({"faults-stop"}),
)


@cache
def models() -> Mapping[str, ModelMaker]:
    """Every model by its name, as a function that makes it."""
    return MappingProxyType({maker.name: maker for maker in _makers()})


def _makers() -> Iterator[ModelMaker]:
    for rebalance, profile in product(REBALANCES, PROFILES):
        yield _open_member(Scope("open-member", rebalance, profile))
        for features in SETS if profile == "deployed" else SETS[:1]:
            for size in (2, 3) if not features and profile == "deployed" else (2,):
                yield _base(Scope("base", rebalance, profile, features), size)
    yield _maker("open-partition", Scope("open-partition"), 1, open_partition_model, of_a_partition())
    yield _maker("open-commit", Scope("open-commit"), 1, open_commit_model, of_a_commit())
    yield _maker("commits-2", Scope("commits"), 2, commits_model, of_two_commits())
    yield _maker("open-group", Scope("open-group"), 2, open_group_model, of_the_group())
    yield _base(Scope("base", MIXED, "deployed"), 2)
    yield _maker("queues-3", Scope("queues"), 3, lambda claimed: queues_model(claimed, 3), of_the_queues(3))


def _maker(
    name: str,
    scope: Scope,
    members: int,
    make: Callable[[tuple[ModelProperty, ...]], Model],
    claimed: tuple[ModelProperty, ...],
) -> ModelMaker:
    return ModelMaker(name, scope, members, lambda: make(claimed), claimed)


def _open_member(scope: Scope) -> ModelMaker:
    def make(claimed: tuple[ModelProperty, ...]) -> Model:
        return open_member_model(scope.rebalance, scope.profile, claimed)

    name = f"open-member-{scope.rebalance}-{scope.profile}"
    return _maker(name, scope, 1, make, of_a_member(scope.rebalance))


def _base(scope: Scope, size: int) -> ModelMaker:
    def make(claimed: tuple[ModelProperty, ...]) -> Model:
        return base_model(scope.rebalance, scope.profile, size, claimed, features=scope.features)

    return _maker(base_name(scope, size), scope, size, make, of_a_group(scope.features))


_EXPECTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "open-member-eager-published": frozenset({"heartbeats-run", "eager-gives-up-first", "owns-nothing-outside",
                                                  "commit-what-is-owned", "commit-comes-first"}),
        "open-member-cooperative-published": frozenset({"heartbeats-run", "owns-nothing-outside", "sync-after-join",
                                                        "commit-what-is-owned", "commit-comes-first",
                                                        "to-a-known-coordinator", "taken-is-revoked"}),
        "base-eager-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
        "base-cooperative-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
    }
)  # fmt: skip


def expected_violations(model_name: str) -> frozenset[str]:
    """The properties that a model is known to break, and must.

    Those of the published profile (see the book of differences).
    """
    return _EXPECTED.get(model_name, frozenset())


def features() -> Mapping[str, tuple[str, str]]:
    """Feature modules: name to (the variables that it brings, what they mean)."""
    return _FEATURES
