"""Breakers of what the specification says outside its tables: which answers there are, and how long a group waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final

from groupspec.conformance.mutation.mutant import BREAKERS, Breaker, function
from groupspec.spec import kip62, vocabulary

Members = tuple[tuple[int, int, int], ...]
Responses = Mapping[tuple[str, str], str]


def _without_fencing(responses: Responses) -> Responses:
    return MappingProxyType(
        {(api, error): name for (api, error), name in responses.items() if error != "FENCED_INSTANCE_ID"}
    )


def _shortest(_: object) -> Any:
    def rebalance_timeout(members: Members) -> int:
        return min(rebalance if version >= 1 else session for version, session, rebalance in members)

    return rebalance_timeout


def _version_0_waits_for_nothing(_: object) -> Any:
    def rebalance_timeout(members: Members) -> int:
        return max(rebalance for _, _, rebalance in members)

    return rebalance_timeout


def _changed(identifier: str, rule: str, module: ModuleType, name: str, make: Callable[[Any], Any], what: str) -> None:
    if identifier in BREAKERS:
        raise ValueError(f"there are two breakers {identifier!r}")
    BREAKERS[identifier] = Breaker(identifier, (rule,), what, lambda: function(module, name, make), of_spec=True)


_FENCED: Final = "FENCED_INSTANCE_ID is an answer like any other that is not known."
_SHORTEST: Final = "A group waits as long as the least patient of its members."
_VERSION_0: Final = "JoinGroup v0, which carries no rebalance timeout, counts as none."

_changed("H4-word-fenced", "H4", vocabulary, "RESPONSES", _without_fencing, _FENCED)
_changed("G1-word-shortest", "G1", kip62, "rebalance_timeout", _shortest, _SHORTEST)
_changed("G1-word-version-0", "G1", kip62, "rebalance_timeout", _version_0_waits_for_nothing, _VERSION_0)
