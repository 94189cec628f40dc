"""The system: members, the group, and the network between them, put together as models that can be exhausted.

`models()` is the catalogue. Each model is made when it is asked for: making one is quick, exploring it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import product
from types import MappingProxyType

from groupspec.spec.compiler.model import ModelMaker, Scope
from groupspec.spec.compiler.specialise import PROFILES, REBALANCES
from groupspec.spec.composition import (
    base,
    commits_together,
    open_commit,
    open_group,
    open_member,
    open_partition,
    queues,
)
from groupspec.spec.composition.machines import name_of_model
from groupspec.spec.composition.system import MIXED

_FEATURES: Mapping[str, tuple[str, str]] = {
    "late": ("request_late", "requests and answers that a member has given up still travel"),
    "callbacks": ("callback_running",
                  "a listener is called and returns in two steps, so that the membership can be lost in between"),
    "awaiting": ("forgotten: awaiting_join, unsynced, awaiting_sync",
                 "what awaited an answer of a forgotten id still counts in the group"),
    "leave": ("request: LeaveGroup", "a LeaveGroup travels, arrives or is lost"),
    "static": ("none: forgotten is left out",
               "static members (KIP-345): no LeaveGroup; a process that restarts takes over the record of its instance "
               "id"),
    "ids": ("pending", "JoinGroup v4: a member id is handed out first (KIP-394)"),
    "faults-stop": ("faults_stopped",
                    "faults may stop for good: that a group becomes stable is claimed under this (explorer and TLC "
                    "check it); liveness of parts is claimed of open-group, open-commit, commits-2 and queues-3"),
    "quiet": ("none: actions are left out",
              "applications neither leave nor stall nor ask to rejoin: makes room for a feature that would not fit"),
    "log": ("stored, forgotten_stored, generation, told",
            "the coordinator can die in the middle of a rebalance; the group falls back to what the log has"),
}  # fmt: skip
"""Feature modules: the variables that each brings, and what they mean. The base model has none of them."""

_SETS: tuple[frozenset[str], ...] = (
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
        scope = Scope("open-member", rebalance, profile)
        alone = partial(open_member.open_member_model, rebalance, profile)
        yield ModelMaker(
            name_of_model(scope), scope, 1, alone, open_member.claims(rebalance), "1 member", open_member.__doc__ or ""
        )
        for features in _SETS if profile == "deployed" else _SETS[:1]:
            for members in (2, 3) if not features and profile == "deployed" else (2,):
                yield _base(Scope("base", rebalance, profile, features), members)
    for name, members, module, make, size in (
        ("open-partition", 1, open_partition, open_partition.open_partition_model, "1 partition"),
        ("open-commit", 1, open_commit, open_commit.open_commit_model, "1 commit"),
        ("commits-2", 2, commits_together, commits_together.commits_model, "2 commits"),
        ("open-group", 2, open_group, open_group.open_group_model, "2 members"),
    ):
        family = name.removesuffix("-2")
        yield ModelMaker(name, Scope(family), members, make, module.claims(), size, module.__doc__ or "")
    yield _base(Scope("base", MIXED, "deployed"), 2)
    yield ModelMaker(
        "queues-3", Scope("queues"), 3, queues.queues_model, queues.claims(), "3 calls", queues.__doc__ or ""
    )


def _base(scope: Scope, size: int) -> ModelMaker:
    make = partial(base.base_model, scope.rebalance, scope.profile, size, scope.features)
    claims, sizes = base.claims(scope.features), f"{size} members, {size} partitions"
    return ModelMaker(name_of_model(scope, str(size)), scope, size, make, claims, sizes, base.__doc__ or "")


_EXPECTED: Mapping[str, frozenset[str]] = {
    "open-member-eager-published": frozenset({"heartbeats-run", "eager-gives-up-first", "owns-nothing-outside",
                                              "commit-what-is-owned", "commit-comes-first"}),
    "open-member-cooperative-published": frozenset({"heartbeats-run", "owns-nothing-outside", "sync-after-join",
                                                    "commit-what-is-owned", "commit-comes-first",
                                                    "to-a-known-coordinator", "taken-is-revoked"}),
    "base-eager-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
    "base-cooperative-published-2": frozenset({"one-owner", "owns-nothing-outside"}),
}  # fmt: skip


def expected_violations(model_name: str) -> frozenset[str]:
    """The properties that a model is known to break, and must.

    Those of the published profile (see the book of differences).
    """
    return _EXPECTED.get(model_name, frozenset())


def features() -> Mapping[str, tuple[str, str]]:
    """Feature modules: name to (the variables that it brings, what they mean)."""
    return _FEATURES
