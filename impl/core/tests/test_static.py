"""Two processes with one instance id.

The newer one has it, the older one is told, and neither fights (rule X2, KIP-345).
"""

from __future__ import annotations

from itertools import count

import pytest

from groupspec.impl.core.events import SendRequest, Subscribe, Unsubscribe
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupspec.impl.core.protocol import Assignment, encode_assignment
from groupspec.impl.core.tests.scene import TOPIC, Scene, partitions

P0 = partitions(0)[0]


class Coordinator:
    """It knows one instance id, and which member id has it: an empty one with the instance id takes it over."""

    def __init__(self) -> None:
        self.member_id = ""
        self.takeovers = 0
        self._ids = (f"member-{number}" for number in count(1))

    def answer(self, scene: Scene) -> None:
        """Answer everything that the member has sent to it, and what follows from that."""
        while (sent := next((one for one in scene.unanswered if self._is_for_it(one)), None)) is not None:
            request = sent.request
            if isinstance(request, JoinGroupRequest):
                scene.respond("JoinGroup", self._joined(request))
            elif isinstance(request, SyncGroupRequest):
                assignment = encode_assignment(Assignment((P0,)))
                scene.respond("SyncGroup", SyncGroupResponse(self._checked(request.member_id), assignment))
            elif isinstance(request, HeartbeatRequest):
                scene.respond("Heartbeat", HeartbeatResponse(self._checked(request.member_id)))
            elif isinstance(request, OffsetCommitRequest):
                errors = dict.fromkeys(request.offsets, self._checked(request.member_id))
                scene.respond("OffsetCommit", OffsetCommitResponse(errors))
            else:
                scene.answer(type(request).__name__.removesuffix("Request"))

    def _joined(self, request: JoinGroupRequest) -> JoinGroupResponse:
        if request.member_id and request.member_id != self.member_id:
            return JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, 0, "", "", "", ())
        if not request.member_id:
            self.takeovers += 1
            self.member_id = next(self._ids)
        return JoinGroupResponse(ErrorCode.NONE, 1, request.protocols[0][0], "somebody", self.member_id, ())

    def _checked(self, member_id: str) -> ErrorCode:
        return ErrorCode.NONE if member_id == self.member_id else ErrorCode.FENCED_INSTANCE_ID

    @staticmethod
    def _is_for_it(sent: SendRequest) -> bool:
        name = type(sent.request).__name__
        return name.startswith(
            ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch")
        )


class Process:
    """One of the two: an application that polls in a loop, and does not give up whatever poll() raises."""

    def __init__(self, coordinator: Coordinator, assignor: str) -> None:
        self.coordinator = coordinator
        self.scene = Scene(
            group_instance_id="one", enable_auto_commit=True, partition_assignment_strategy=(assignor,)
        ).start()

    def turn(self) -> None:
        """It processes a record, polls, and runs the callbacks; a heartbeat falls due, if there are any."""
        scene = self.scene
        scene.poll()
        self.coordinator.answer(scene)
        self._callbacks()
        if P0 in scene.subscription.describe() and scene.subscription.describe()[P0].state != "PENDING_REVOCATION":
            scene.subscription.seek(P0, scene.now_ms + 1)
        scene.pass_ms(3_000)
        self.coordinator.answer(scene)
        self._callbacks()

    def _callbacks(self) -> None:
        while (state := self.scene.describe().rebalance) in ("ASSIGNING_PARTITIONS", "REVOKING_PARTITION"):
            self.scene.assigned() if state == "ASSIGNING_PARTITIONS" else self.scene.revoked()
            self.coordinator.answer(self.scene)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_X2_the_newer_process_keeps_the_instance_id_and_the_older_one_hears_so_at_each_poll(assignor: str) -> None:
    coordinator = Coordinator()
    older, newer = Process(coordinator, assignor), Process(coordinator, assignor)
    older.turn()
    for _ in range(30):
        newer.turn()
        older.turn()
    assert coordinator.takeovers == 2
    assert newer.scene.errors() == [] and newer.scene.describe().rebalance == "STABLE"
    assert older.scene.describe().rebalance == "UNJOINED" and older.scene.describe().owned == ()
    assert len(older.scene.errors()) >= 29
    assert set(older.scene.errors()) == {"FencedInstanceIdError"}


def test_X2_who_unsubscribes_and_subscribes_anew_takes_the_instance_id_back() -> None:
    coordinator = Coordinator()
    older, newer = Process(coordinator, "range"), Process(coordinator, "range")
    older.turn()
    newer.turn()
    older.turn()
    older.scene.do(Unsubscribe(1))
    older.turn()
    assert coordinator.takeovers == 2
    older.scene.do(Subscribe((TOPIC,)))
    older.turn()
    newer.turn()
    assert coordinator.takeovers == 3
    assert older.scene.describe().rebalance == "STABLE"
    assert newer.scene.errors() == ["FencedInstanceIdError"]
