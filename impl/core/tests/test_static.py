"""Two processes with one instance id.

The newer one has it, the older one is told, and neither fights (rule X2, KIP-345).
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from groupspec.impl.core.events import Subscribe, Unsubscribe
from groupspec.impl.core.messages import (
    ErrorCode,
    JoinGroupRequest,
    Request,
    Response,
    TopicPartition,
)
from groupspec.impl.core.tests.scene import TOPIC, Scene, partitions
from groupspec.impl.scripted import ScriptedCoordinator, api_of

P0 = partitions(0)[0]
SERVED = ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")


class StaticCoordinator(ScriptedCoordinator):
    """It knows one instance id, and which member id has it: an empty one with the instance id takes it over."""

    member_id = ""

    def answer(
        self, request: Request, error: ErrorCode = ErrorCode.NONE, assigned: Iterable[TopicPartition] = (P0,)
    ) -> Response:
        if isinstance(request, JoinGroupRequest) and not request.member_id:
            response = super().answer(request)
            self.member_id = f"member-{self.members}"
            return response
        is_fenced = getattr(request, "member_id", self.member_id) != self.member_id
        return super().answer(request, ErrorCode.FENCED_INSTANCE_ID if is_fenced else error, assigned)

    def serve(self, scene: Scene) -> None:
        """Answer everything that the member has sent to it, and what follows from that."""
        while sent := next((one for one in scene.unanswered if api_of(one.request) in SERVED), None):
            scene.answer(api_of(sent.request))


class Process:
    """One of the two: an application that polls in a loop, and does not give up whatever poll() raises."""

    def __init__(self, coordinator: StaticCoordinator, assignor: str) -> None:
        self.coordinator = coordinator
        self.scene = Scene(group_instance_id="one", enable_auto_commit=True, partition_assignment_strategy=(assignor,))
        self.scene.coordinator = coordinator
        self.scene.start()

    def turn(self) -> None:
        """It processes a record, polls, and runs the callbacks; a heartbeat falls due, if there are any."""
        scene = self.scene
        scene.poll()
        self.coordinator.serve(scene)
        self._callbacks()
        if (
            P0 in scene.subscription.positions.describe()
            and scene.subscription.positions.describe()[P0].state != "PENDING_REVOCATION"
        ):
            scene.subscription.positions.seek(P0, scene.now_ms + 1)
        scene.pass_ms(3_000)
        self.coordinator.serve(scene)
        self._callbacks()

    def _callbacks(self) -> None:
        while (state := self.scene.describe().rebalance) in ("ASSIGNING_PARTITIONS", "REVOKING_PARTITION"):
            self.scene.assigned() if state == "ASSIGNING_PARTITIONS" else self.scene.revoked()
            self.coordinator.serve(self.scene)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_X2_the_newer_process_keeps_the_instance_id_and_the_older_one_hears_so_at_each_poll(assignor: str) -> None:
    coordinator = StaticCoordinator({TOPIC: 4}, leader="somebody-else")
    older, newer = Process(coordinator, assignor), Process(coordinator, assignor)
    older.turn()
    for _ in range(30):
        newer.turn()
        older.turn()
    assert coordinator.members == 2
    assert newer.scene.errors() == [] and newer.scene.describe().rebalance == "STABLE"
    assert older.scene.describe().rebalance == "UNJOINED" and older.scene.describe().owned == ()
    assert len(older.scene.errors()) >= 29
    assert set(older.scene.errors()) == {"FencedInstanceIdError"}


def test_X2_who_unsubscribes_and_subscribes_anew_takes_the_instance_id_back() -> None:
    coordinator = StaticCoordinator({TOPIC: 4}, leader="somebody-else")
    older, newer = Process(coordinator, "range"), Process(coordinator, "range")
    older.turn()
    newer.turn()
    older.turn()
    older.scene.do(Unsubscribe(1))
    older.turn()
    assert coordinator.members == 2
    older.scene.do(Subscribe((TOPIC,)))
    older.turn()
    newer.turn()
    assert coordinator.members == 3
    assert older.scene.describe().rebalance == "STABLE"
    assert newer.scene.errors() == ["FencedInstanceIdError"]
