"""Which APIs and versions the two sides speak, and how they agree on one.

The broker's side serves everything from the oldest version that Apache Kafka 4 still has to the newest, and so does the
client's; but it begins with OffsetForLeaderEpoch 3: before that only brokers may ask (KIP-320). Three APIs name topics
by id instead of by name from some version on (Fetch 13, KIP-516; OffsetCommit and OffsetFetch 10, KAFKA-14690): of
topics whose ids the client does not know it speaks in the version before (`BY_NAME`), as Java's FetchRequest.Builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from groupspec.impl.core.messages import ErrorCode


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions from `lowest` to `highest`, both included."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __str__(self) -> str:
        return f"{self.lowest} to {self.highest}"

    def capped(self, highest: int) -> VersionRange:
        """The part of this range up to `highest`. Raises ValueError if nothing is left."""
        if highest < self.lowest:
            raise ValueError(f"version cap {highest} leaves nothing of {self}")
        return VersionRange(self.lowest, min(self.highest, highest))


Versions = Mapping[str, VersionRange]


class ApiVersionsResponse(Struct, frozen=True):
    """What the other side speaks, as far as this side has names for it."""

    versions: Versions
    error: ErrorCode = ErrorCode.NONE


_APIS: Final = (  # name, key, lowest and highest version
    ("Fetch", 1, 4, 18),
    ("ListOffsets", 2, 1, 11),
    ("Metadata", 3, 0, 13),
    ("OffsetCommit", 8, 2, 10),
    ("OffsetFetch", 9, 1, 10),
    ("FindCoordinator", 10, 0, 6),
    ("JoinGroup", 11, 0, 9),
    ("Heartbeat", 12, 0, 4),
    ("LeaveGroup", 13, 0, 5),
    ("SyncGroup", 14, 0, 5),
    ("ApiVersions", 18, 0, 4),
    ("OffsetForLeaderEpoch", 23, 2, 4),
)
API_VERSIONS: Final[Versions] = MappingProxyType({name: VersionRange(low, high) for name, _, low, high in _APIS})
"""Everything that the codec reads and writes, in both directions."""

API_KEYS: Final[Mapping[str, int]] = MappingProxyType({"Produce": 0} | {name: key for name, key, _, _ in _APIS})
API_NAMES: Final[Mapping[int, str]] = MappingProxyType({key: name for name, key in API_KEYS.items()})

CLIENT_VERSIONS: Final[Versions] = MappingProxyType({**API_VERSIONS, "OffsetForLeaderEpoch": VersionRange(3, 4)})
"""What our own client asks for."""

BY_NAME: Final[Versions] = MappingProxyType(
    {
        **CLIENT_VERSIONS,
        "Fetch": CLIENT_VERSIONS["Fetch"].capped(12),
        "OffsetCommit": CLIENT_VERSIONS["OffsetCommit"].capped(9),
        "OffsetFetch": CLIENT_VERSIONS["OffsetFetch"].capped(9),
    }
)
"""The same, where topics have their names."""

THROTTLED_FROM: Final[Mapping[str, int]] = MappingProxyType(
    {
        "Fetch": 8,
        "ListOffsets": 3,
        "Metadata": 6,
        "OffsetCommit": 4,
        "OffsetFetch": 4,
        "FindCoordinator": 2,
        "JoinGroup": 3,
        "Heartbeat": 2,
        "LeaveGroup": 2,
        "SyncGroup": 2,
    }
)
"""From these versions on a broker answers at once who is over its quota, and the client has to hold back (KIP-219)."""


def negotiate(ours: Versions, theirs: Versions) -> dict[str, int]:
    """For every API that both sides have, the highest version that both speak; APIs without one are left out."""
    shared: dict[str, int] = {}
    for api, range_ in ours.items():
        if api in theirs:
            highest = min(range_.highest, theirs[api].highest)
            if highest in range_ and highest in theirs[api]:
                shared[api] = highest
    return shared
