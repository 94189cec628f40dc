"""What happened in a run, by the machine's monotonic clock: what members said, what was done, what the broker noted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.wire.log import now_us

TROUBLE: Final = {
    "stopped": "resumed",
    "disconnected": "connected",
    "delayed": "connected",
    "busy": "polls again",
    "broker down": "broker up",
    "coordinator moves": "coordinator moved",
}
"""What a member, or everybody, cannot help, and what ends it."""


def process_name(client: str, place: int, start: int) -> str:
    """The name of a process: its client, its place in the group, and how many have filled that, itself included."""
    return f"{client}-{place}-{start}"


def client_of(process: str) -> str:
    """Which client a process runs, by its name; "" for nobody's."""
    return process.rsplit("-", 2)[0]


def place_of(process: str) -> int:
    """Which place in the group a process fills, by its name."""
    return int(process.rsplit("-", 2)[1])


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing.

    Attributes:
        at_us: When.
        kind: Of a process: started, killed, ended, closing, closed; assigned, revoked, lost, callback returned;
            consumed, raised, fenced; silence (nothing was heard of it since `first`, in microseconds). Of the run: the
            keys and values of `TROUBLE`; grown (the topic has more partitions). Of the coordinator's log: joined,
            expelled, left, led, with the line's kind and the member id as text; loaded (another broker is the
            coordinator now). Of the coordinator's records: committed (another offset than before).
        process: Whose; "" for everybody.
        partitions: Of a callback; of consumed records and of a commit one.
        first, last: Offsets of consumed records; `last` alone is the offset of a commit.
        text: Anything else.
    """

    at_us: int
    kind: str
    process: str = ""
    partitions: tuple[int, ...] = ()
    first: int = -1
    last: int = -1
    text: str = ""


class Timeline:
    """All of it; and who owns what just now, for whoever waits for the group."""

    def __init__(self) -> None:
        self._happenings: list[Happening] = []
        self._changed = threading.Condition()
        self._owned: dict[str, set[int]] = {}
        self._open: dict[tuple[str, int], int] = {}
        self.processed: dict[int, int] = {}
        self.owners_changed_us = now_us()

    def add(self, one: Happening) -> None:
        """It has happened."""
        with self._changed:
            if one.kind == "consumed":
                self._consumed(one)
            else:
                self._happenings.append(one)
            self._follow(one)
            self._changed.notify_all()

    def note(self, kind: str, process: str = "", text: str = "") -> None:
        """It happens now, and the run does it."""
        self.add(Happening(now_us(), kind, process, text=text))

    def owned(self) -> dict[str, set[int]]:
        """What each living process has been assigned, and has not given up."""
        with self._changed:
            return {process: set(partitions) for process, partitions in self._owned.items()}

    def wait_until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Whether this has come true within the time; looked at whenever something happens, and now and then."""
        until = time.monotonic() + limit_s
        with self._changed:
            while not condition():
                left_s = until - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(min(left_s, 0.2))
        return True

    def in_order(self) -> list[Happening]:
        """All of it by time."""
        with self._changed:
            return sorted(self._happenings, key=lambda one: one.at_us)

    def _consumed(self, one: Happening) -> None:
        """Records that follow each other are one line: clients that poll them one by one would fill the memory."""
        [partition] = one.partitions
        place = self._open.get((one.process, partition))
        if place is not None:
            before = self._happenings[place]
            if before.last + 1 == one.first and one.at_us - before.at_us < 50_000:
                self._happenings[place] = _longer(before, one)
                return
        self._open[one.process, partition] = len(self._happenings)
        self._happenings.append(one)

    def _follow(self, one: Happening) -> None:
        if one.kind == "consumed":
            [partition] = one.partitions
            self.processed[partition] = max(self.processed.get(partition, 0), one.last + 1)
            return
        if one.kind in ("assigned", "revoked", "lost", "killed", "ended"):
            self._open = {key: place for key, place in self._open.items() if key[0] != one.process}
            owned = self._owned.setdefault(one.process, set())
            if one.kind == "assigned":
                owned.update(one.partitions)
            elif one.kind in ("revoked", "lost"):
                owned.difference_update(one.partitions)
            else:
                self._owned.pop(one.process)
            self.owners_changed_us = now_us()
        elif one.kind == "started":
            self._owned[one.process] = set()
            self.owners_changed_us = now_us()


def _longer(before: Happening, after: Happening) -> Happening:
    return Happening(before.at_us, "consumed", before.process, before.partitions, before.first, after.last)


def write(file: Path, happenings: Sequence[Happening]) -> None:
    """One JSON object a line."""
    file.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in happenings))
