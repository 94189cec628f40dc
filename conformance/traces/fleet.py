"""Traces of a fleet that does nothing wrong: as many groups and events as wanted, the same for the same seed.

For benchmarks, and for tests that need more than a recording gives: thousands of groups, or one with more events than a
batch holds. A member here is a script, not an implementation: it joins, polls and heartbeats, takes part in a few
rebalances of its protocol, and leaves. What a correct member does in every other situation is what recorded traces are
for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from groupspec.conformance.traces.schema import EventName, Settings, TraceLine

_ENCODER: Final = msgspec.json.Encoder()
_START_US: Final = 1_700_000_000_000_000
_SECOND_US: Final = 1_000_000


class _Member:
    """Writes down what one member does."""

    def __init__(self, run: str, group: str, name: str, settings: Settings, at_us: int) -> None:
        self.place = (run, group, name)
        self.settings = settings
        self.at_us = at_us
        self.lines: list[TraceLine] = []
        self.generation = -1
        self.member_id = ""
        self.owned: set[str] = set()

    def tell(
        self,
        event: EventName,
        error: str | None = None,
        partitions: Sequence[str] = (),
        after_us: int = 1_000,
        detail: bytes = b"",
    ) -> None:
        """One more event, so much later than the last."""
        self.at_us += after_us
        run, group, member = self.place
        if event.endswith("_answered"):
            error, detail = error or "NONE", b'{"late":false}'
        self.lines.append(
            TraceLine(
                v=1, run=run, group=group, member=member, seq=len(self.lines), at_us=self.at_us, source="reference",
                event=event, error=error, generation=self.generation, member_id=self.member_id,
                partitions=tuple(partitions), detail=msgspec.Raw(detail) if detail else msgspec.UNSET,
            )
        )  # fmt: skip

    def enter(self) -> None:
        self.tell("config", detail=_ENCODER.encode(self.settings))
        before: tuple[EventName, ...] = ("subscribed", "poll", "lookup_sent", "lookup_answered", "join_sent")
        for event in before:
            self.tell(event)
        self.member_id = f"{self.place[2]}-{self.place[1]}-id"
        self.tell("join_answered", error="MEMBER_ID_REQUIRED")

    def join(self, generation: int, assigned: Sequence[str]) -> None:
        self.tell("join_sent")
        self.generation = generation
        self.tell("join_answered", after_us=5_000)
        self.tell("sync_sent")
        self.tell("sync_answered", after_us=5_000)
        if self.settings.rebalance == "cooperative" and (taken := sorted(self.owned.difference(assigned))):
            self.release(taken)
        gained = sorted(set(assigned) - self.owned)
        self.tell("assigned_started", partitions=gained)
        self.tell("assigned", partitions=gained)
        self.owned = set(assigned)

    def release(self, partitions: Sequence[str]) -> None:
        self.tell("revoked_started", partitions=partitions)
        self.tell("revoked", partitions=partitions)
        self.owned.difference_update(partitions)

    def live(self, beats: int) -> None:
        for _ in range(beats):
            self.tell("poll", after_us=_SECOND_US)
            self.tell("heartbeat_sent", after_us=2 * _SECOND_US)
            self.tell("heartbeat_answered")

    def hear_of_rebalance(self) -> None:
        self.tell("poll", after_us=_SECOND_US)
        self.tell("heartbeat_sent", after_us=2 * _SECOND_US)
        self.tell("heartbeat_answered", error="REBALANCE_IN_PROGRESS")
        if self.settings.rebalance == "eager":
            self.release(sorted(self.owned))

    def leave(self) -> None:
        self.tell("unsubscribed")
        if self.owned:
            self.release(sorted(self.owned))
        self.tell("leave_sent")
        self.generation, self.member_id = -1, ""
        self.tell("leave_answered")
        self.tell("closed")


def group(run: str, name: str, members: int, rounds: int, beats: int, rng: random.Random) -> Iterator[list[TraceLine]]:
    """One group's members, each as its list of events: `rounds` rebalances with `beats` heartbeats before each."""
    rebalance = rng.choice(("eager", "cooperative"))
    settings = Settings(rebalance, 45_000, 300_000, 3_000, False)  # type: ignore[arg-type]
    topic = f"orders-{rng.randrange(1000)}"
    partitions = [f"{topic}-{number}" for number in range(2 * members)]
    start_us = _START_US + rng.randrange(10**9)
    everybody = [_Member(run, name, f"{name}-consumer-{n}", settings, start_us + n * 1_000) for n in range(members)]
    for member in everybody:
        member.enter()
    owner = {partition: everybody[n % members] for n, partition in enumerate(partitions)}
    generation = 1
    for member in everybody:
        member.join(generation, [p for p in partitions if owner[p] is member])
    for _ in range(rounds):
        generation += 1
        moved = rng.choice(partitions)
        heir = rng.choice(everybody)
        for member in everybody:
            member.live(beats)
            member.hear_of_rebalance()
        moves = rebalance == "cooperative" and owner[moved] is not heir
        for member in everybody:
            # A partition that moves in a cooperative group has no owner for one generation.
            keeps = [p for p in partitions if owner[p] is member and not (moves and p == moved)]
            member.join(generation, [*keeps, moved] if not moves and member is heir and moved not in keeps else
                        [p for p in keeps if p != moved or member is heir])  # fmt: skip
        owner[moved] = heir
        if moves:
            generation += 1
            for member in everybody:
                member.join(generation, [p for p in partitions if owner[p] is member])
    for member in everybody:
        member.live(beats)
        member.leave()
        yield member.lines


def groups(run: str, count: int, members: int, rounds: int, beats: int, seed: int) -> Iterator[list[TraceLine]]:
    """The members of many groups."""
    rng = random.Random(seed)
    for number in range(count):
        yield from group(run, f"group-{number:05d}", members, rounds, beats, rng)


def write(folder: Path, members: Iterator[list[TraceLine]], files: int, most_lines: int) -> int:
    """Writes members' events into NDJSON files, mixed as a collector would receive them; returns how many lines.

    A group's members send alternately, a few dozen events at a time, and each member's to whichever file is its turn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = most_lines
    with ExitStack() as opened:
        handles = [opened.enter_context((folder / f"part-{number:03d}.ndjson").open("wb")) for number in range(files)]
        while left and (some := list(islice(members, 64))):
            for start in range(0, max(map(len, some)), 32):
                for number, lines in enumerate(some):
                    piece = lines[start : start + 32][:left]
                    handles[(number + start // 32) % files].write(_ENCODER.encode_lines(piece))
                    left -= len(piece)
    return most_lines - left
