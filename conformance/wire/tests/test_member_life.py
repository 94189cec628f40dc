"""A member's life in a schedule or a simulated group, read as the rules of the wire kit read a run."""

from __future__ import annotations

from typing import Any

import pytest

from groupspec.conformance.checks import judge
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history.calls import Returned
from groupspec.conformance.history.event import Event, Kind
from groupspec.conformance.history.harness_protocol import ErrorRaised, Seek, Subscribe
from groupspec.conformance.history.history import History
from groupspec.conformance.history.life import VERSION, Header, Life
from groupspec.conformance.history.member_life import history_of, members
from groupspec.impl.core.messages import (
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    NoAnswer,
)

SETTINGS = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 1_000,
    "max_poll_interval_ms": 20_000,
    "retry_backoff_ms": 100,
    "auto_commit_interval_ms": 5_000,
    "request_timeout_ms": 11_000,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": True,
    "group_instance_id": None,
}
JOIN = JoinGroupRequest("g", 10_000, 20_000, "", None, (("range", b""),))
JOINED = JoinGroupResponse(ErrorCode.NONE, 1, "range", "m", "m", ())


class Story:
    """Events of one member, told one after the other, each in the moment of the one before unless time passes."""

    def __init__(self, design: str = "background") -> None:
        self._life = Life(Header(VERSION, "schedules", design, 1, settings={"m": SETTINGS}), [])
        self._now_ms = 1_000
        self("told", name="config", value={"detail": [["rebalance", "eager"]]})

    def __call__(self, kind: Kind, after_ms: int = 0, **said: Any) -> Story:
        self._now_ms += after_ms
        self._life.events.append(Event(1_000 * self._now_ms, kind, "m", **said))
        return self

    def request(self, number: int, message: object, **said: Any) -> Story:
        return self("request", number=number, message=message, to="coordinator", **said)

    def answer(self, number: int, message: object, after_ms: int = 100) -> Story:
        self("answered", after_ms, number=number, message=message)
        return self("taken", number=number)

    def history(self) -> History:
        assert members(self._life) == ["m"]
        return history_of(self._life, "m")


def test_an_answer_counts_from_when_it_is_taken_and_one_that_never_came_is_none() -> None:
    story = Story().request(1, JOIN)("answered", 100, number=1, message=JOINED)("taken", 50, number=1)
    story.request(2, HeartbeatRequest("g", 1, "m", None))
    story("taken", 10, number=2, message=NoAnswer(ErrorCode.DISCONNECTED))
    history = story.history()
    [join] = history.of("JoinGroup")
    [beat] = history.of("Heartbeat")
    assert (join.error, round(join.told_us - join.sent_us, -3)) == ("NONE", 150_000)
    assert beat.answer is None
    assert history.connections_closed(beat.sent_us, history.ends_us)


def test_what_happens_in_one_moment_keeps_its_order() -> None:
    story = Story().request(1, JOIN).request(2, HeartbeatRequest("g", 1, "m", None))
    story.answer(1, JOINED, after_ms=0).answer(2, HeartbeatResponse(ErrorCode.NONE), after_ms=0)
    assert judge("H3", story.history()).verdict is Verdict.FAIL
    story = Story().request(1, JOIN).answer(1, JOINED, after_ms=0).request(2, HeartbeatRequest("g", 1, "m", None))
    assert judge("H3", story.answer(2, HeartbeatResponse(ErrorCode.NONE)).history()).verdict is Verdict.PASS


def test_a_coordinator_that_is_given_up_and_found_again_has_another_connection() -> None:
    story = Story()("connected", to="coordinator", value=2).request(1, JOIN)("disconnected", to="coordinator")
    story("connected", to="coordinator", value=1).request(2, JOIN)
    first, second = story.history().of("JoinGroup")
    assert (first.request.node, second.request.node) == (2, 1)
    assert first.request.connection != second.request.connection


@pytest.mark.parametrize("design", ["core", "background"])
def test_polls_callbacks_and_records_are_those_of_the_application(design: str) -> None:
    story = Story(design)("called", name="poll", value=[200])
    story("callback", 5, name="on_partitions_assigned", value=["a-b-0", "a-b-1"])("callback_ended", 7)
    if design == "core":
        story("records", value=[["a-b-1", [[3, 0, 0], [5, 0, 0]]]])("returned", name="poll")
    else:
        story("returned", name="poll", value=[["a-b", 1, 3, 0, 0], ["a-b", 1, 5, 0, 0]])
    history = story.history()
    [poll], [callback] = history.polls, history.callbacks
    assert (poll.timeout_ms, (poll.ended_us or 0) - poll.started_us >= 12_000) == (200, True)
    assert (callback.name, sorted(callback.partitions)) == ("partitions_assigned", ["a-b-0", "a-b-1"])
    assert [(one.partition, one.first, one.last) for one in history.returned] == [("a-b-1", 3, 5)]
    assert isinstance(history.returned[0], Returned)
    assert history.owned_at(history.ends_us) == {"a-b-0", "a-b-1"}


def test_calls_are_commands_that_are_done_or_raise() -> None:
    story = Story()("called", name="subscribe", value=[["orders"], "Application"])("returned", name="subscribe")
    story("called", name="seek", value=["orders-1", 7])("returned", name="seek")
    story("called", name="poll", value=[])("raised", name="poll", error="WakeupError", text="woken")
    history = story.history()
    assert [command.topics for _, command in history.commands(Subscribe)] == [["orders"]]
    assert [(str(command), command.offset) for *_, command in history.carried_out(Seek)] == [("orders-1", 7)]
    assert [(error.call, error.woken) for _, error in history.events(ErrorRaised)] == [("poll", True)]


def test_close_is_asked_for_and_done() -> None:
    history = Story()("called", name="close", value=[500])("returned", 30, name="close").history()
    assert history.close_us == 1_000_001
    assert history.settings.rebalance == "eager"
