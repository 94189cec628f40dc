"""Which of the rules bind a member of a consumer group (KIP-848), the protocol that follows the classic one.

The rules are of the classic protocol. In the new one the coordinator divides the partitions, one request
(ConsumerGroupHeartbeat) takes the place of four, and each member moves to its new assignment by itself. What an
application is promised, and how positions are found, fetched and committed, is the same; whoever changes a client from
one to the other wants to know what still goes. A rule binds *as it stands* (`yes`); or the same is demanded of other
messages or with another cause (`restated`: what `why` says of it); or there is nothing that it could be about (`no`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries

BINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "yes": "as it stands",
        "restated": "the same is demanded of other messages",
        "no": "there is nothing that it could be about",
    }
)
"""How a rule binds a member of a consumer group."""


class Binding(Record, frozen=True):
    """What is true of some rules, for one reason.

    Attributes:
        id: What they are about.
        rules: Their ids.
        binds: `yes`, `restated` or `no`: see `BINDS`.
        why: The reason; of `restated`, what takes the place.
        sources: Where that is said: KIP, Kafka class.
    """

    id: str
    rules: tuple[str, ...]
    binds: Literal["yes", "restated", "no"]
    why: str
    sources: tuple[str, ...]


BINDINGS: Final[Mapping[str, Binding]] = read_entries(
    Path(__file__).parent / "data" / "consumer_protocol.toml", Binding
)
"""All of them by their id."""
CONSUMER_PROTOCOL: Final[Mapping[str, Binding]] = MappingProxyType(
    {rule: entry for entry in BINDINGS.values() for rule in entry.rules}
)
"""What is true of each rule."""
