"""What coverage counts against, as it is committed.

Every transition and pair that some run of the composed machines fires; and which of them no run does in a threading
design that rules something out (`impossible`).

Finding them takes some twenty seconds. So a file says by hashes what it was made from and what it holds, and is current
while these are right; the lockstep test, which has to find them anyway, compares the lists themselves.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable
from functools import cache

from groupspec.conformance.stateful import exploration, impossible, routes
from groupspec.conformance.stateful.exploration import Goal
from groupspec.conformance.stateful.impossible import IMPOSSIBLE, is_narrower
from groupspec.spec.compiler import member, step


@cache
def feasible_text(target: str, rebalance: str) -> str:
    """The whole file."""
    transitions = sorted(routes.transition_routes(target, rebalance))
    pairs = sorted(routes.pair_routes(target, rebalance))
    lists: dict[str, object] = {
        "target": target,
        "rebalance": rebalance,
        "profile": "deployed",
        "made_from": _made_from(target, rebalance),
        "transitions": len(transitions),
        "pairs": len(pairs),
        "infeasible_transitions": _words(routes.infeasible_transitions(target, rebalance)),
        "feasible_transitions": _words(transitions),
        "feasible_pairs": _words(pairs),
        "infeasible_in": _infeasible_in(target, rebalance),
    }
    return _json(lists | {"sha256": _hash(_json(lists))})


def _infeasible_in(target: str, rebalance: str) -> dict[str, list[str]]:
    """Design -> what is feasible otherwise."""
    every, member = routes.goals(target, rebalance), routes.member_of(target, rebalance)
    return {
        design: _words(set(every) - set(routes.goals(target, rebalance, design)))
        for design in IMPOSSIBLE
        if is_narrower(design, member)
    }


def is_current(target: str, rebalance: str, text: str) -> bool:
    """Whether a file was made from this specification, and not changed since. Cheap: nothing is found anew."""
    try:
        lists = json.loads(text)
        said = lists.pop("sha256")
        same = bool(lists["made_from"] == _made_from(target, rebalance) and said == _hash(_json(lists)))
    except (ValueError, TypeError, KeyError, AttributeError):
        return False
    return same and text == _json(lists | {"sha256": said})


def _made_from(target: str, rebalance: str) -> str:
    """The tables, and the code that searches them."""
    tables = routes.member_of(target, rebalance).tables
    return _hash(
        _json({name: table.hash for name, table in tables.items()})
        + inspect.getsource(member)
        + inspect.getsource(step)
        + inspect.getsource(exploration)
        + inspect.getsource(routes)
        + inspect.getsource(impossible)
    )


def _words(goals: Iterable[Goal]) -> list[str]:
    return [" ".join(goal) for goal in sorted(goals)]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _json(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
