"""The dispatch table: complete, read at the moment of use, and every row of it matters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupspec.impl.core import dispatch, events
from groupspec.impl.core.dispatch import HANDLERS
from groupspec.impl.core.events import Assign, Commit, Fetch, FetchCommitted, ResponseReceived
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchResponse,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetAndMetadata,
    PartitionMetadata,
    Response,
    TopicMetadata,
)
from groupspec.impl.core.requests import RESPONSES
from groupspec.impl.core.tests.scene import Scene, partitions
from groupspec.impl.core.timers import ORDER

P0 = partitions(0)[0]


def heartbeat_out() -> Scene:
    scene = Scene().stable(0)
    scene.expire("heartbeat")
    return scene


def leave_out() -> Scene:
    scene = Scene().stable(0)
    scene.close()
    scene.revoked()
    return scene


def commit_out() -> Scene:
    scene = Scene().stable(0)
    scene.do(Commit({P0: OffsetAndMetadata(1)}, 1, 60_000))
    return scene


def committed_out() -> Scene:
    scene = Scene().stable(0)
    scene.do(FetchCommitted((P0,), 1, 60_000))
    return scene


def list_offsets_out() -> Scene:
    scene = Scene().completing()
    scene.sync_accepted(P0)
    scene.assigned()
    scene.committed_are(-1)
    return scene


def fetch_out() -> Scene:
    scene = Scene().stable(0)
    scene.do(Fetch())
    return scene


def comparison_out() -> Scene:
    scene = Scene().stable(0)
    scene.coordinator.topics = {}  # metadata is answered by hand
    scene.do(events.MetadataUpdate((P0.topic,)))
    scene.pass_ms(100)
    topic = TopicMetadata(P0.topic, (PartitionMetadata(0, 1, leader_epoch=3),))
    scene.respond("Metadata", MetadataResponse((), (topic,)))
    scene.subscription.positions.seek(P0, 10, leader_epoch=2)
    scene.do(Fetch())
    return scene


def lookup_out() -> Scene:
    scene = Scene().start()
    scene.poll()
    return scene


def metadata_out() -> Scene:
    scene = Scene()
    scene.coordinator.topics = {}
    scene.start()
    scene.poll()
    return scene


OUT: dict[str, Callable[[], Scene]] = {
    "FindCoordinator": lookup_out,
    "JoinGroup": lambda: Scene().preparing(),
    "SyncGroup": lambda: Scene().completing(),
    "Heartbeat": heartbeat_out,
    "LeaveGroup": leave_out,
    "OffsetCommit": commit_out,
    "OffsetFetch": committed_out,
    "ListOffsets": list_offsets_out,
    "OffsetForLeaderEpoch": comparison_out,
    "Fetch": fetch_out,
    "Metadata": metadata_out,
}
ANSWERS = sorted(key for key in HANDLERS if key[0] in OUT and key[1] not in ("", "late"))


def response_to(scene: Scene, api: str, error: str) -> Response:
    """An answer to the waiting request with this error, or with one that has no row of its own."""
    code = ErrorCode.UNKNOWN_SERVER_ERROR if error == "other" else ErrorCode[error]
    if api == "Fetch" and error == "other":
        code = ErrorCode.INVALID_REQUEST
    return scene.coordinator.answer(scene.waiting(api).request, code)


def test_every_input_has_a_row() -> None:
    applications = {kind.__name__ for kind in events.ServerEvent.__subclasses__()}
    assert {kind for kind, detail in HANDLERS if detail == ""} == applications
    assert {detail for kind, detail in HANDLERS if kind == "TimerExpired"} == set(ORDER)
    for api in RESPONSES:
        assert {(api, "NONE"), (api, "other")} <= set(HANDLERS)
    names = {code.name for code in ErrorCode} | {"", "other", "late"}
    assert all(detail in names for kind, detail in HANDLERS if kind != "TimerExpired")


def outcome(scene: Scene, answer: ResponseReceived) -> tuple[object, ...]:
    """What is to be seen of an answer, now and a little later."""
    scene.outputs.clear()
    scene.do(answer)
    at_once = (tuple(scene.outputs), scene.describe())
    scene.pass_ms(scene.config.retry_backoff_ms)
    later = (tuple(scene.outputs), scene.describe())
    scene.poll()
    scene.pass_ms(2_000)
    return at_once, later, tuple(scene.outputs), scene.describe()


@pytest.mark.parametrize(("api", "error"), ANSWERS, ids=["-".join(key) for key in ANSWERS])
def test_every_answer_has_an_effect_and_its_handler_is_what_has_it(
    api: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_handler = OUT[api]()
    answer = ResponseReceived(with_handler.waiting(api).request_id, response_to(with_handler, api, error))
    expected = outcome(with_handler, answer)
    without = OUT[api]()
    monkeypatch.setitem(dispatch.HANDLERS, (api, error), lambda core, happening: None)
    assert outcome(without, answer) != expected


def test_an_input_that_the_core_does_not_know_is_an_error_that_says_what_it_knows() -> None:
    with pytest.raises(ValueError, match="takes no TimerExpired 'tea'; it knows: lookup_backoff, join_backoff"):
        Scene().start().do(events.TimerExpired("tea"))


def test_an_unknown_error_goes_to_other() -> None:
    scene = Scene().preparing()
    scene.answer("JoinGroup", "OFFSET_METADATA_TOO_LARGE")
    assert scene.errors() == ["ProtocolError"]


def test_a_response_without_any_partition_is_no_error() -> None:
    scene = fetch_out()
    scene.respond("Fetch", FetchResponse({}))
    assert scene.is_waiting("Fetch")
    scene = list_offsets_out()
    scene.respond("ListOffsets", ListOffsetsResponse({}))
    assert scene.is_waiting("OffsetFetch")


def test_an_error_about_a_whole_fetch_concerns_all_its_partitions() -> None:
    scene = fetch_out()
    scene.respond("Fetch", FetchResponse({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    scene.pass_ms(100)
    assert scene.is_waiting("Fetch")


def test_manual_assignment_works_without_any_group_event() -> None:
    scene = Scene(group_id=None)
    scene.do(events.Start())
    scene.do(Assign((P0,)))
    assert scene.is_waiting("ListOffsets")
