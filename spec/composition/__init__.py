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


@cache
def models() -> Mapping[str, Callable[[], Model]]:
    """Every model by its name, as a function that makes it."""
    catalogue: dict[str, Callable[[], Model]] = {}
    for rebalance in REBALANCES:
        for profile in PROFILES:
            catalogue[f"alone-{rebalance}-{profile}"] = partial(
                alone_model, rebalance, profile, properties.alone(rebalance)
            )
    return MappingProxyType(catalogue)


_EXPECTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "alone-eager-published": frozenset({"heartbeats-run", "eager-gives-up-first", "owns-nothing-outside", "commit-what-is-owned"}),
        "alone-cooperative-published": frozenset({"heartbeats-run", "owns-nothing-outside", "sync-after-join", "commit-what-is-owned", "to-a-known-coordinator"}),
    }
)  # fmt: skip


def expected_violations(model_name: str) -> frozenset[str]:
    """The properties that a model is known to break, and must: those of the published profile (see the book of differences)."""
    return _EXPECTED.get(model_name, frozenset())
