"""Topics by id (KIP-516): new versions of Fetch, OffsetCommit and OffsetFetch name a topic by a UUID only.

Here an id follows from the name, and from how often the topic was made anew, so that every run gives the same ones;
unless another cluster has given it one. The way back knows the names it was told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from uuid import NAMESPACE_OID, UUID, uuid5

_UNKNOWN = "?"


def is_unknown(name: str) -> bool:
    """Whether this stands for an id of which no name is known."""
    return name.startswith(_UNKNOWN)


@lru_cache(4096)
def _id(name: str, incarnation: int) -> UUID:
    """A hash, which every fetch would compute anew. No topic's name has a slash."""
    return uuid5(NAMESPACE_OID, f"{name}/{incarnation}" if incarnation else name)


class TopicIds:
    """A two-way table of names and ids. A topic that is not in it is called "?" and its id, both ways."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[UUID, str] = {}
        self._learned: dict[str, UUID] = {}
        self._removed: Counter[str] = Counter()
        for name in names:
            self.add(name)

    def add(self, name: str) -> UUID:
        """Learn a name; returns its id."""
        topic_id = self.id_of(name)
        self._names[topic_id] = name
        return topic_id

    def remove(self, name: str) -> None:
        """The topic is gone: nothing has its id any more, and who gets its name will have another one (KIP-516)."""
        self._names.pop(self.id_of(name), None)
        self._removed[name] += 1

    def learn(self, name: str, topic_id: UUID) -> None:
        """Learn the id that another cluster has given to a name."""
        self._names[topic_id] = name
        self._learned[name] = topic_id

    def id_of(self, name: str) -> UUID:
        """The id of a topic."""
        if is_unknown(name):
            return UUID(hex=name[len(_UNKNOWN) :])
        return self._learned.get(name) or _id(name, self._removed[name])

    def name_of(self, topic_id: UUID | None) -> str:
        """The name behind an id."""
        found = topic_id or UUID(int=0)
        return self._names.get(found, f"{_UNKNOWN}{found.hex}")
