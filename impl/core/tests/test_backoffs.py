"""KIP-580: what fails again and again is tried less and less often, until it succeeds."""

from __future__ import annotations

import pytest

from groupspec.impl.core.config import Config
from groupspec.impl.core.events import Commit
from groupspec.impl.core.messages import ErrorCode, MetadataResponse, NoAnswer, OffsetAndMetadata, TopicPartition
from groupspec.impl.core.tests.scene import Scene

P0 = TopicPartition("orders", 0)
GROWING = [100, 200, 400, 500, 500]
PATIENCE_MS = 5_000


def stable() -> Scene:
    return Scene(retry_backoff_ms=100, retry_backoff_max_ms=500).stable(0)


def waited_ms(scene: Scene, api: str) -> int:
    """How long it takes until such a request is sent."""
    begun_ms = scene.now_ms
    while not scene.is_waiting(api):
        deadline_ms = scene.core.next_deadline_ms()
        assert deadline_ms is not None and deadline_ms - begun_ms <= PATIENCE_MS, f"no {api} is sent"
        scene.pass_ms(deadline_ms - scene.now_ms)
    return scene.now_ms - begun_ms


def waits_after(scene: Scene, api: str, error: str) -> list[int]:
    """How long each time after so many failures in a row, the first of which is of a request that waits."""
    waits = []
    for _ in GROWING:
        if error == "DISCONNECTED":
            scene.respond(api, NoAnswer(ErrorCode.DISCONNECTED))
        else:
            scene.answer(api, error)
        waits.append(waited_ms(scene, api))
    return waits


def test_of_lookups_until_the_coordinator_is_found() -> None:
    scene = Scene(retry_backoff_ms=100, retry_backoff_max_ms=500).start()
    scene.poll()
    for _ in range(2):
        assert waits_after(scene, "FindCoordinator", "COORDINATOR_NOT_AVAILABLE") == GROWING
        scene.coordinator_found()
        waited_ms(scene, "JoinGroup")
        scene.answer("JoinGroup", "NOT_COORDINATOR")
        assert scene.is_waiting("FindCoordinator")


def test_of_heartbeats_until_one_is_answered() -> None:
    scene = stable()
    waited_ms(scene, "Heartbeat")
    for _ in range(2):
        assert waits_after(scene, "Heartbeat", "COORDINATOR_LOAD_IN_PROGRESS") == GROWING
        scene.answer("Heartbeat")
        assert waited_ms(scene, "Heartbeat") == scene.config.heartbeat_interval_ms


def test_of_one_commit_and_not_of_the_next_one() -> None:
    scene = stable()
    for future in (1, 2):
        scene.do(Commit({P0: OffsetAndMetadata(3)}, future, scene.now_ms + 60_000))
        assert waits_after(scene, "OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS") == GROWING
        scene.answer("OffsetCommit")
        assert scene.result(future).error is None


def test_of_metadata_until_there_is_an_answer() -> None:
    scene = stable()
    scene.coordinator.topics = {}  # so that this is not answered by itself
    for _ in range(2):
        scene.core.metadata.refresh()
        scene.poll()
        waited_ms(scene, "Metadata")
        assert waits_after(scene, "Metadata", "DISCONNECTED") == GROWING
        scene.respond("Metadata", MetadataResponse((), ()))


@pytest.mark.parametrize(
    ("first_ms", "most_ms", "waits_ms"), [(100, 1_000, [100, 200, 400, 800, 1_000]), (300, 200, [200] * 5)]
)
def test_it_doubles_up_to_its_limit_which_counts_where_it_is_lower(
    first_ms: int, most_ms: int, waits_ms: list[int]
) -> None:
    config = Config(retry_backoff_ms=first_ms, retry_backoff_max_ms=most_ms)
    assert [config.growing_backoff_ms(failures) for failures in range(5)] == waits_ms
    assert config.growing_backoff_ms(10**9) == most_ms
    assert bool(config.doubts) == (most_ms < first_ms)
