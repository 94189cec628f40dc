"""Recordings of the reference's core, each a short story: the traces that the tests edit, and the committed samples.

`python -m groupspec.conformance.traces.tests.recordings` writes the samples anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from groupspec.conformance.traces.recorder import Recorder
from groupspec.conformance.traces.schema import TraceLine
from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.tests.scene import Scene, partitions

SAMPLES: Final = Path(__file__).parent.parent / "samples"
COOPERATIVE: Final = {"partition_assignment_strategy": ("cooperative-sticky",)}
QUICK: Final = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 2_000, "max_poll_interval_ms": 20_000}


class MemberLog:
    """One member with a clock that moves: it polls every second, and its requests are answered a little later."""

    def __init__(self, name: str, **config: Any) -> None:
        settings: dict[str, Any] = {**QUICK, **config, "client_id": name}
        self.scene = Scene(**settings)
        self.generation = 0

    def joins(self, generation: int, *owned: int) -> MemberLog:
        """JoinGroup and SyncGroup are answered, and the assigned callback has run."""
        self.scene.pass_ms(20)
        self.scene.join_accepted(generation)
        self.scene.pass_ms(20)
        self.scene.sync_accepted(*partitions(*owned))
        self.generation = generation
        return self

    def enters(self, generation: int, *owned: int) -> MemberLog:
        """From nothing to the first assignment, by way of MEMBER_ID_REQUIRED."""
        self.scene.start()
        self.scene.poll()
        self.scene.pass_ms(5)
        self.scene.coordinator_found()
        self.scene.pass_ms(5)
        self.scene.answer("JoinGroup", "MEMBER_ID_REQUIRED")
        return self.joins(generation, *owned).is_told()

    def is_told(self) -> MemberLog:
        """The assigned callback has run."""
        self.scene.pass_ms(5)
        self.scene.assigned()
        return self

    def gives_up(self) -> MemberLog:
        """The revoked or lost callback has run, as part of a poll."""
        self.scene.poll()
        self.scene.pass_ms(5)
        self.scene.revoked()
        return self

    def lives(self, seconds: int, polls: bool = True) -> MemberLog:
        """So many seconds of polls and heartbeats."""
        for _ in range(seconds):
            self.scene.pass_ms(1_000)
            self._answer_quietly()
            if polls:
                self.scene.poll()
        return self

    def _answer_quietly(self) -> None:
        for api in ("Heartbeat", "OffsetFetch", "OffsetCommit", "FindCoordinator"):
            while self.scene.is_waiting(api):
                self.scene.answer(api)

    def hears(self, error: str) -> MemberLog:
        """The next heartbeat is answered like this."""
        self._answer_quietly()
        self.scene.heartbeat(error)
        self.scene.pass_ms(1)
        return self

    def commits(self, *numbers: int) -> MemberLog:
        """A commit, answered."""
        from groupspec.impl.core.events import Commit
        from groupspec.impl.core.messages import OffsetAndMetadata

        offsets: dict[TopicPartition, OffsetAndMetadata] = {p: OffsetAndMetadata(17) for p in partitions(*numbers)}
        self.scene.do(Commit(offsets, future_id=self.scene.now_ms))
        self.scene.pass_ms(3)
        self.scene.answer("OffsetCommit")
        return self

    def closes(self) -> MemberLog:
        """close(): the callback, LeaveGroup, the end."""
        self.scene.close()
        self.scene.pass_ms(1)
        self.scene.revoked()
        if self.scene.is_waiting("LeaveGroup"):
            self.scene.answer("LeaveGroup")
        return self


def eager_pair() -> list[MemberLog]:
    """Two eager members; a third comes and goes, so that they rebalance twice."""
    first = (
        MemberLog("eager-1").enters(1, 0, 1).lives(4).commits(0, 1).lives(4).hears("REBALANCE_IN_PROGRESS").gives_up()
    )
    first.joins(2, 0).is_told().lives(8).hears("REBALANCE_IN_PROGRESS").gives_up()
    first.joins(3, 0, 1).is_told().lives(30).closes()
    second = MemberLog("eager-2").enters(1, 2, 3).lives(9).hears("REBALANCE_IN_PROGRESS").gives_up()
    second.joins(2, 1, 2).is_told().commits(1).lives(8).hears("REBALANCE_IN_PROGRESS").gives_up()
    second.joins(3, 2, 3).is_told().lives(4).closes()
    return [first, second]


def alone() -> list[MemberLog]:
    """One member, and a coordinator that rebalances it twice."""
    member = (
        MemberLog("alone").enters(5, 0, 1).lives(4).hears("REBALANCE_IN_PROGRESS").gives_up().joins(6, 0, 1).is_told()
    )
    member.lives(3).hears("REBALANCE_IN_PROGRESS").gives_up().joins(7, 0, 1).is_told()
    return [member.lives(3).closes()]


def cooperative_pair() -> list[MemberLog]:
    """A partition moves from the first to the second: two generations, and in between it is nobody's."""
    first = (
        MemberLog("cooperative-1", **COOPERATIVE)
        .enters(1, 0, 1, 2, 3)
        .lives(5)
        .commits(0)
        .hears("REBALANCE_IN_PROGRESS")
    )
    first.joins(2, 0, 1, 2).gives_up().is_told().joins(3, 0, 1, 2).is_told().lives(25).closes()
    second = MemberLog("cooperative-2", **COOPERATIVE).enters(2).lives(2).hears("REBALANCE_IN_PROGRESS")
    second.joins(3, 3).is_told().lives(6).commits(3).lives(3).closes()
    return [first, second]


def expelled() -> list[MemberLog]:
    """The coordinator does not know the member any more: everything is lost, and it joins as a new one."""
    member = MemberLog("expelled").enters(4, 0, 1).lives(5).hears("UNKNOWN_MEMBER_ID").gives_up()
    return [member.joins(6, 0, 1).is_told().lives(3).closes()]


def stalled() -> list[MemberLog]:
    """The application does not poll for its interval: LeaveGroup, and everything is lost when it polls again."""
    member = MemberLog("stalled").enters(1, 0).lives(3).lives(21, polls=False)
    if member.scene.is_waiting("LeaveGroup"):
        member.scene.answer("LeaveGroup")
    return [member.gives_up().joins(3, 0).is_told().lives(2).closes()]


def stalled_static() -> list[MemberLog]:
    """A static member leaves without a word."""
    member = MemberLog("static", group_instance_id="static-1").enters(1, 0).lives(3).lives(21, polls=False)
    return [member.gives_up().joins(1, 0).is_told().lives(2).closes()]


def coordinator_moves() -> list[MemberLog]:
    """The coordinator moves: it is looked up, and the generation goes on."""
    member = MemberLog("moving").enters(1, 0, 1).lives(4).hears("NOT_COORDINATOR").lives(5).commits(0)
    return [member.lives(3).closes()]


STORIES: Final[tuple[Callable[[], list[MemberLog]], ...]] = (
    alone,
    eager_pair,
    cooperative_pair,
    expelled,
    stalled,
    stalled_static,
    coordinator_moves,
)


def record(story: Callable[[], list[MemberLog]]) -> list[list[TraceLine]]:
    """The members of a story, each as its list of events."""
    recorder = Recorder(story.__name__, "reference", lambda line: None)
    return [[recorder.line(event) for event in member.scene.trace] for member in story()]


def sample(name: str) -> list[list[TraceLine]]:
    """The members of a committed sample."""
    lines = msgspec.json.Decoder(TraceLine).decode_lines((SAMPLES / f"{name}.ndjson").read_bytes())
    members: dict[str, list[TraceLine]] = {}
    for line in lines:
        members.setdefault(line.member, []).append(line)
    return list(members.values())


def main() -> None:
    """Writes the samples."""
    encoder = msgspec.json.Encoder()
    for story in STORIES:
        lines = [line for member in record(story) for line in member]
        (SAMPLES / f"{story.__name__}.ndjson").write_bytes(encoder.encode_lines(lines))


if __name__ == "__main__":
    main()
