"""Several members and a coordinator that does just enough: partitions move, and nobody ever shares one."""

from __future__ import annotations

import pytest

from groupspec.impl.core.events import AssignPartitions, RevokePartitions
from groupspec.impl.core.messages import (
    ErrorCode,
    JoinedMember,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupspec.impl.core.tests.scene import Scene, partitions


class Group:
    """A coordinator's group: a join barrier, a leader, and what it divided."""

    def __init__(self, strategy: tuple[str, ...]) -> None:
        self.strategy = strategy
        self.members: dict[str, Scene] = {}
        self.generation = 0
        self.rebalancing = False
        self.rounds = 0

    def add(self, member_id: str) -> None:
        """A new member has joined: it waits at the barrier for the others."""
        self.members[member_id] = Scene({"orders": 6}, partition_assignment_strategy=self.strategy).preparing()
        self.rebalancing = True

    def settle(self) -> None:
        """Until everybody is stable."""
        for _ in range(50):
            for member_id, scene in self.members.items():
                self.run_callbacks(scene)
                self.rebalancing = self.rebalancing or scene.is_waiting("JoinGroup")
                if self.rebalancing and scene.describe().rebalance == "STABLE":
                    scene.heartbeat("REBALANCE_IN_PROGRESS")
                    self.run_callbacks(scene)
                assert self.is_exclusive(), member_id
            if all(scene.is_waiting("JoinGroup") for scene in self.members.values()):
                self.complete_round()
            elif not self.rebalancing:
                return
        raise AssertionError("the rounds do not end")

    def run_callbacks(self, scene: Scene) -> None:
        for output in [o for o in scene.outputs if isinstance(o, AssignPartitions | RevokePartitions)]:
            scene.outputs.remove(output)
            if isinstance(output, AssignPartitions):
                scene.assigned()
            else:
                scene.revoked()

    def complete_round(self) -> None:
        """The barrier opens: everybody learns the generation, the leader divides, everybody gets a share."""
        self.generation += 1
        self.rounds += 1
        self.rebalancing = False
        leader = next(iter(self.members))
        told: tuple[JoinedMember, ...] = tuple(
            JoinedMember(member_id, None, scene.last_join().protocols[0][1])
            for member_id, scene in self.members.items()
        )
        for member_id, scene in self.members.items():
            response = JoinGroupResponse(
                ErrorCode.NONE,
                self.generation,
                self.strategy[0],
                leader,
                member_id,
                told if member_id == leader else (),
            )
            scene.respond("JoinGroup", response)
        shares = dict(self.members[leader].sent(SyncGroupRequest)[-1].assignments)
        for member_id, scene in self.members.items():
            scene.respond("SyncGroup", SyncGroupResponse(ErrorCode.NONE, shares[member_id]))
            self.run_callbacks(scene)

    def is_exclusive(self) -> bool:
        owned = [partition for scene in self.members.values() for partition in scene.describe().owned]
        return len(owned) == len(set(owned))

    def owned(self) -> dict[str, int]:
        return {member_id: len(scene.describe().owned) for member_id, scene in self.members.items()}


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_members_come_and_share_evenly(strategy: str) -> None:
    group = Group((strategy,))
    for number, name in enumerate("abc", start=1):
        group.add(name)
        group.settle()
        assert set(group.owned().values()) == {6 // number}
    everything = {p for scene in group.members.values() for p in scene.describe().owned}
    assert everything == set(partitions(*range(6)))


def test_K2_a_cooperative_newcomer_needs_two_rounds_and_the_others_never_stop() -> None:
    group = Group(("cooperative-sticky",))
    group.add("a")
    group.settle()
    first = group.members["a"]
    first.committed_are(10)
    group.rounds = 0
    group.add("b")
    group.settle()
    assert group.rounds == 2
    kept = first.describe().owned
    assert len(kept) == 3
    assert all(first.describe().partitions[p].position == 10 for p in kept)
