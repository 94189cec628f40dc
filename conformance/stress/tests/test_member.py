"""A place in the group: what its process says gets into the timeline, and what is done to it is really done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groupspec.conformance.stress import member as member_module
from groupspec.conformance.stress.member import Member
from groupspec.conformance.stress.plan import MemberPlan
from groupspec.conformance.stress.timeline import Happening, Timeline

pytestmark = pytest.mark.realtime
LIMIT_S = 10.0
HARNESS = """
import json, sys, time
def say(name, **fields): print(json.dumps({"name": name, **fields}), flush=True)
say("startup_complete", client="fake", version="1")
partition = {"topic": "orders", "partition": 3}
for line in sys.stdin:
    command = json.loads(line)["command"]
    if command == "subscribe":
        say("partitions_assigned", partitions=[partition])
        say("callback_returned", callback="partitions_assigned")
    if command == "poll":
        say("records_consumed", count=2, partitions=[partition | {"count": 2, "minOffset": 0, "maxOffset": 1}])
        say("records_consumed", count=1, partitions=[partition | {"count": 1, "minOffset": 2, "maxOffset": 2}])
        AFTER_POLL
    if command == "close":
        AT_CLOSE
"""
GOOD = ("pass", "say('shutdown_complete'); sys.exit(0)")


@pytest.fixture
def timeline() -> Timeline:
    return Timeline()


@pytest.fixture
def member(request: pytest.FixtureRequest, timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> Iterator[Member]:
    """With a process that behaves, unless the test says what it does after a poll, and at its close."""
    after_poll, at_close = getattr(request, "param", GOOD)
    at_close = at_close or GOOD[1]
    code = HARNESS.replace("AFTER_POLL", after_poll).replace("AT_CLOSE", at_close)
    fake = SimpleNamespace(command=(sys.executable, "-c", code))
    monkeypatch.setattr(member_module, "find_client", lambda _: fake)
    monkeypatch.setattr(member_module, "CLOSE_LIMIT_S", 0.5)
    way: Any = SimpleNamespace(bootstrap="127.0.0.1:1")
    made = Member(MemberPlan(4, "fake", "", 200), "eager", way, timeline)
    yield made
    made.kill()


def kinds(timeline: Timeline) -> list[str]:
    return [one.kind for one in timeline.in_order()]


def reads(member: Member, timeline: Timeline) -> None:
    member.start()
    assert timeline.wait_until(lambda: timeline.processed.get(3) == 3, LIMIT_S)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_what_it_says_is_in_the_timeline_and_records_that_follow_each_other_are_one_line(
    member: Member, timeline: Timeline
) -> None:
    reads(member, timeline)
    assert timeline.owned() == {"fake-4-1": {3}}
    assert member.close()
    assert timeline.owned() == {}
    assert kinds(timeline) == [
        *("started", "assigned", "callback returned", "consumed"),
        *("closing", "closed", "ended"),
    ]
    consumed = [one for one in timeline.in_order() if one.kind == "consumed"]
    assert [(one.partitions, one.first, one.last) for one in consumed] == [((3,), 0, 2)]


def test_its_process_is_stopped_goes_on_and_is_killed(member: Member, timeline: Timeline) -> None:
    reads(member, timeline)
    process = member._process
    assert process is not None
    member.stop()
    assert timeline.wait_until(lambda: state(process.pid) == "T", LIMIT_S)
    member.resume()
    assert timeline.wait_until(lambda: state(process.pid) != "T", LIMIT_S)
    member.kill()
    assert not member.is_running
    assert process.ending is not None
    assert kinds(timeline)[-3:] == ["stopped", "resumed", "killed"]
    member.start()
    assert member.name == "fake-4-2"


@pytest.mark.parametrize("member", [("sys.exit(3)", "")], indirect=True)
def test_a_process_that_ends_by_itself_is_told_with_its_exit_code(member: Member, timeline: Timeline) -> None:
    member.start()
    assert timeline.wait_until(lambda: not timeline.owned(), LIMIT_S)
    assert not member.is_running
    [ended] = [one for one in timeline.in_order() if one.kind == "ended"]
    assert "exit code 3" in ended.text


@pytest.mark.parametrize("member", [("pass", "time.sleep(60)")], indirect=True)
def test_one_that_does_not_close_is_killed(member: Member, timeline: Timeline) -> None:
    reads(member, timeline)
    assert not member.close()
    assert kinds(timeline)[-2:] == ["closing", "killed"]


def test_records_after_a_callback_are_a_line_of_their_own() -> None:
    timeline = Timeline()
    for one in (
        Happening(1, "started", "a"),
        Happening(2, "consumed", "a", (0,), 0, 4),
        Happening(3, "revoked", "a", (0,)),
        Happening(4, "assigned", "a", (0,)),
        Happening(5, "consumed", "a", (0,), 5, 6),
        Happening(6, "consumed", "a", (0,), 9, 9),
    ):
        timeline.add(one)
    assert [(one.first, one.last) for one in timeline.in_order() if one.kind == "consumed"] == [(0, 4), (5, 6), (9, 9)]
