"""What a step of a model changes, in words: as much as a reader of the run must know, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.diagrams.sequence import Entry
from groupspec.spec.explorer.layout import State

_GENERATIONS: Final = {
    "older": "older than the log's",
    "stored": "the log's",
    "next": "one after the log's",
    "later": "two or more after the log's",
}


def changes(before: State, after: State) -> Iterator[str]:
    """What a reader should see of a step.

    The states of rebalance and group, and whether a lone member owns something.
    """
    for name, label in (("rebalance", ""), ("broker_group", "group ")):
        if name not in after or before[name] == after[name]:
            continue
        now = after[name]
        if isinstance(now, dict):
            then = before[name]
            yield from (
                f"member {i} {then[i]} → {state}"  # type: ignore[index]
                for i, state in now.items()
                if then[i] != state  # type: ignore[index]
            )
        else:
            yield f"{label}{before[name]} → {now}"
    if before.get("owned") != after.get("owned"):
        yield "owns partitions" if after["owned"] else "owns nothing"


def owned(number: int, before: State, after: State) -> Iterator[Entry]:
    """Who owns what from now on."""
    then, now = before["owns"], after["owns"]
    assert isinstance(then, dict)
    assert isinstance(now, dict)
    for i, partitions in now.items():
        if partitions != then[i]:
            has = " and ".join(f"partition {p}" for p, yes in partitions.items() if yes)
            yield Entry(number, f"member {i}", "", f"owns {has or 'nothing'}", "note")


def known(before: State, after: State) -> Iterator[str]:
    """What the group knows from now on, in models that hand ids out (`ids`) or fall back to the log (`log`)."""
    then, now = ({who for who, what in _ids(state).items() if what == "pending"} for state in (before, after))
    yield from (f"the id of {who} is pending" for who in sorted(now - then))
    yield from (f"the id of {who} is pending no more" for who in sorted(then - now))
    if "stored" not in after:
        return
    if _logged(before) != _logged(after):
        yield f"the log has {' and '.join(_logged(after)) or 'nobody'}"
    if before["generation"] != after["generation"]:
        yield f"the group's generation is {_GENERATIONS[str(after['generation'])]}"


def _ids(state: State) -> dict[str, str]:
    """Whose id -> what the group knows of it."""
    return {
        f"{'the former ' if name == 'forgotten' else ''}member {i}": what
        for name in ("registered", "forgotten")
        for i, what in state.get(name, {}).items()  # type: ignore[attr-defined]
    }


def _logged(state: State) -> list[str]:
    """Whose ids the log's last record has."""
    members, forgotten = state["stored"], state["forgotten_stored"]
    assert isinstance(members, dict)
    assert isinstance(forgotten, dict)
    return [
        *(f"member {i}" for i, yes in members.items() if yes),
        *(f"the former member {i}" for i, yes in forgotten.items() if yes),
    ]
