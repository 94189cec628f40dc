"""All that happened in one run of a group, and many such lives as one file: NDJSON, packed by gzip if it ends in `.gz`.

The first line of a life says what ran and what its own judge said of it (`Header`); its others are events, in the order
in which they happened. Then comes the next life.
"""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.history.event import Event
from groupspec.conformance.history.message_json import from_json, to_json
from groupspec.conformance.outside import contents, decoded

VERSION: Final = 1
BEGINS: Final = b'{"life":'
"""A header, and no event."""
FILES: Final = "lives as `python -m groupspec.conformance.frozen` wrote"


class Header(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line.

    Attributes:
        life: The version of this format.
        world: What ran: simulation, schedules, stress.
        design: What members are made of: core, background, heartbeat.
        seed: From which it was drawn.
        mutant: With which mutant of the reference; "" for the reference as it is.
        plan: What the world was to do, for people.
        settings: Of each member, by its name; of the world under "".
        judged: What the world's own judge said: the promise, or the error's class, and the first line of what it said;
            both empty where all is well.
    """

    life: int
    world: str
    design: str
    seed: int
    mutant: str = ""
    plan: str = ""
    settings: dict[str, dict[str, Any]] = {}
    judged: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Life:
    """One run."""

    header: Header
    events: list[Event]

    @cached_property
    def _by_member(self) -> Mapping[str, Sequence[tuple[int, Event]]]:
        found = defaultdict[str, list[tuple[int, Event]]](list)
        for place, event in enumerate(self.events):
            found[event.member].append((place, event))
        return found

    def of(self, member: str) -> list[Event]:
        """What happened in this process and to the world, in order. To be asked for when the life is over."""
        places = sorted([*self._by_member.get(member, ()), *self._by_member.get("", ())], key=itemgetter(0))
        return [event for _, event in places]


_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode
_HEADER: Final = msgspec.json.Decoder(Header)
_EVENT: Final = msgspec.json.Decoder(Event)


def lines(life: Life) -> Iterator[bytes]:
    """What is written of it."""
    yield _ENCODE(life.header) + b"\n"
    for event in life.events:
        yield _ENCODE(msgspec.structs.replace(event, message=to_json(event.message))) + b"\n"


def save(lives: Iterable[Life], file: Path) -> None:
    """Writes them to a file."""
    data = b"".join(line for life in lives for line in lines(life))
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def load(file: Path) -> list[Life]:
    """Reads them again.

    Raises:
        UsageProblem: it is something else, or of another version.
    """
    try:
        lives: list[Life] = []
        for line in contents(file).splitlines():
            if line.startswith(BEGINS):
                header = decoded(_HEADER.decode, line)
                if header.life != VERSION:
                    raise ValueError(f"version {header.life} of the format, this kit reads {VERSION}")
                lives.append(Life(header, []))
            elif not lives:
                raise ValueError("it does not begin with the header of a life")
            else:
                lives[-1].events.append(_event(line))
        return lives
    except (OSError, zlib.error, ValueError) as problem:
        raise UsageProblem(
            f"these are no recorded lives: {problem}",
            where=str(file),
            allowed=FILES,
            next_step="name the file that was meant",
        ) from problem


def _event(line: bytes) -> Event:
    event = decoded(_EVENT.decode, line)
    return event if event.message is None else msgspec.structs.replace(event, message=from_json(event.message))
