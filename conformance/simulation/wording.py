"""A request or an answer in a few words, for pictures: what tells it from others of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from groupspec.impl.core.messages import TopicPartition


def in_words(message: object) -> str:
    """The fields that a reader of a picture needs; nothing for one that says no more than its name."""
    found = (words(getattr(message, name)) for name, words in _FIELDS.items() if getattr(message, name, None))
    return ", ".join(filter(None, found))


def names(partitions: Iterable[TopicPartition]) -> str:
    """Partitions in their order."""
    return ", ".join(map(str, sorted(partitions))) or "nothing"


def _member(member_id: str) -> str:
    """Client id and the beginning of the number behind it, which tells members apart."""
    return "-".join(member_id.split("-")[:2])


def _offsets(offsets: Mapping[TopicPartition, Any]) -> str:
    return ", ".join(f"{partition} at {getattr(at, 'offset', at)}" for partition, at in sorted(offsets.items()))


def _assignments(assignments: Iterable[tuple[str, bytes]]) -> str:
    return f"assigns to {', '.join(_member(member_id) for member_id, _ in assignments)}"


_FIELDS: Final[dict[str, Callable[[Any], str]]] = {
    "generation": lambda number: f"generation {number}" if number >= 0 else "",
    "member_id": _member,
    "leader": lambda member_id: f"leader {_member(member_id)}",
    "members": lambda members: f"{len(members)} members",
    "assignments": _assignments,
    "node_id": lambda node: f"node {node}" if node >= 0 else "",
    "offsets": _offsets,
    "reason": str,
}
"""Field of a message -> its words. The name of the error is the picture's own."""
