"""The plain life of two members of one client, each behind its harness and its own proxies, on a broker as it is.

The first member joins, reads what is there and commits by itself. The second joins, so that the group rebalances; it
reads, commits when it is told to, and closes, so that the group rebalances again. Then the first closes. Each tells its
part of the story in a thread of its own, and waits for the other at named points.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry, is_event, is_request
from groupspec.conformance.history.exchange import Exchange, assigned_by, names
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_broker import NoOccasion
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.live.admin import Topic
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.scenario_context import ClientContext, Surroundings

WITHIN_MS: Final = 25_000
"""Longer than a broker's initial rebalance delay, and a rebalance timeout, together."""
LIFE_WITHIN_S: Final = 110.0
STABLE_MS: Final = 1_800
"""How long a member is watched that nothing disturbs: rule H2 takes that long to judge."""
RECORDS_MS: Final = 3_000
"""How long records are waited for where nobody says that there are any."""


class Points:
    """Points of the story that the other member waits for."""

    def __init__(self) -> None:
        self._reached: set[str] = set()
        self._changed = threading.Condition()
        self._over = False

    def reach(self, point: str) -> None:
        """The story has come there."""
        with self._changed:
            self._reached.add(point)
            self._changed.notify_all()

    def end(self) -> None:
        """A member's part is over, whether or not it has come to its end: nobody waits for it any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def wait_for(self, point: str) -> None:
        """Raises NoOccasion: the other member's part ended before."""
        with self._changed:
            self._changed.wait_for(lambda: point in self._reached or self._over, LIFE_WITHIN_S)
            if point not in self._reached:
                raise NoOccasion(f"the other member did not come to the point {point!r}")


@dataclass(frozen=True)
class Stage:
    """What both members share.

    `refill`: puts more records into the topic; does nothing to a topic that is not the kit's.
    """

    topic: Topic
    points: Points
    refill: Callable[[], None]


class Member(ClientContext):
    """One member in the story."""

    assigned_by = "S3"
    """The rule that demands the callback."""

    def __init__(self, case: Case, around: Surroundings, stage: Stage, client: HarnessProcess, log: Log) -> None:
        super().__init__(case, around, client, log)
        self.stage = stage

    @property
    def configuration(self) -> protocol.Configure:
        """The second member commits by itself where the client always does: nothing in this story needs it not to."""
        asked = super().configuration
        return replace(asked, auto_commit=asked.auto_commit or self.fixed.get("auto_commit") is True)

    def live(self) -> None:
        """Its part of the story."""
        if self.variant.name == "first":
            self._live_first()
        else:
            self._live_second()

    def _live_first(self) -> None:
        synced = self._join()
        self.expect_assigned(rule=self.assigned_by, since=synced)
        self._read(synced)
        self._stays(synced)
        self.milestone("stable")
        before = self.now()
        self.stage.points.reach("the first is stable")
        self._next_round(before)
        self.stage.points.wait_for("the second is stable")
        before = self.now()
        self.stage.points.reach("the second may go")
        self.stage.points.wait_for("the second has gone")
        synced = self._next_round(before)
        self.expect_assigned(rule=self.assigned_by, since=before)
        self.stage.refill()
        self._read(synced)
        self._stays(synced)
        self.close()

    def _live_second(self) -> None:
        self.stage.points.wait_for("the first is stable")
        synced = self._join()
        self.expect_assigned(rule=self.assigned_by, since=synced)
        self.stage.refill()
        self._read(synced)
        self._stays(synced)
        self.milestone("stable")
        self.stage.points.reach("the second is stable")
        self.stage.points.wait_for("the second may go")
        self._commit()
        self.close()
        self.stage.points.reach("the second has gone")

    def _join(self) -> Entry:
        """Subscribe and poll; returns the answer to the first SyncGroup that succeeds."""
        self.subscribe()
        self.poll()
        return self.expect_answer("SyncGroup", "NONE", rule="J2")

    def _stays(self, since: Entry) -> None:
        """For a while nothing disturbs it."""
        self.expect_heartbeats(rule="H3", since=since, for_ms=STABLE_MS)

    def _next_round(self, since: Entry) -> Entry:
        """A rebalance, seen through."""
        told = self.reached(
            lambda e: (e.api == "Heartbeat" and e.error == "REBALANCE_IN_PROGRESS") or is_request("JoinGroup")(e),
            "REBALANCE_IN_PROGRESS",
            self.around.within_ms / 1000,
            since=since,
        )
        joined = self.expect_request("JoinGroup", rule="H4", since=told)
        return self.expect_answer("SyncGroup", "NONE", rule="J2", since=joined)

    def _read(self, since: Entry) -> None:
        """Records of what it was assigned last, where the kit knows that there are any."""
        if self.stage.topic.is_ours:
            self.expect_records_of(self._assigned(), rule="O1", since=since)
        else:
            self.log.wait(is_event("records_consumed"), RECORDS_MS / 1000, since.at_us)

    def _assigned(self) -> frozenset[str]:
        done = [e for e in self.log.in_order() if e.kind == "response" and e.api == "SyncGroup" and e.error == "NONE"]
        return assigned_by(Exchange(done[-1], done[-1])) if done else frozenset()

    def _commit(self) -> None:
        """The application commits its positions."""
        asked = self.now()
        self.client.send(protocol.Commit())
        self.reached(
            is_event("offsets_committed"), "the outcome of a commit", self.around.within_ms / 1000, since=asked
        )


class MemberOfConsumerGroup(Member):
    """The same by the protocol of KIP-848: what the coordinator tells a member is seen in its callbacks."""

    assigned_by = "C3"

    def _join(self) -> Entry:
        """Subscribe and poll; returns the first callback."""
        asked = self.now()
        self.subscribe()
        self.poll()
        return self.reached(_is_moved, "a first assignment", self.around.within_ms / 1000, since=asked)

    def _stays(self, since: Entry) -> None:
        self.watch(STABLE_MS, "a member that nothing disturbs", since=since)

    def _next_round(self, since: Entry) -> Entry:
        """The next callback that takes something, or brings something."""
        return self.reached(_is_moved, "another assignment", self.around.within_ms / 1000, since=since)

    def _assigned(self) -> frozenset[str]:
        owned: frozenset[str] = frozenset()
        for event in (entry.event for entry in self.log.in_order()):
            if isinstance(event, protocol.PartitionsAssigned):
                owned |= names(event.partitions)
            elif isinstance(event, protocol.PartitionsRevoked | protocol.PartitionsLost):
                owned -= names(event.partitions)
        return owned


def _is_moved(entry: Entry) -> bool:
    """A callback that is about partitions."""
    event = entry.event
    return isinstance(event, protocol.PartitionsAssigned | protocol.PartitionsRevoked) and bool(event.partitions)
