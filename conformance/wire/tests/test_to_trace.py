"""What a trace from the wire tells: that the application unsubscribes, and under which identity who has left asks."""

from __future__ import annotations

import dataclasses

import pytest

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.case import Case
from groupspec.conformance.wire.case_run import CaseResult
from groupspec.conformance.wire.clients import Client
from groupspec.conformance.wire.judging import Outcome
from groupspec.conformance.wire.scenarios import SCENARIOS
from groupspec.conformance.wire.tests.agreement import found_in_trace
from groupspec.conformance.wire.tests.stories import WireRun, expiry
from groupspec.conformance.wire.tests.stories_of_quotas import OLD, beating, over_quota
from groupspec.conformance.wire.to_trace import trace_events

UNSUBSCRIBE, SUBSCRIBE = protocol.Unsubscribe(), protocol.Subscribe(topics=["unsubscribe"])


def result_of(story: WireRun) -> CaseResult:
    """The run as the kit has it."""
    scenario = next(each for each in SCENARIOS.values() if each.rebalance == "eager")
    case = Case(scenario, scenario.variants[0])
    return CaseResult(Client("a client", ("true",)), case, "fake", "1", story.history(), Outcome(), {}, 2.0)


def told(*commands: protocol.AnyCommand) -> CaseResult:
    """The first JoinGroup with a member id is unanswered when the kit gives these commands; the client leaves."""
    story = WireRun()
    story.event(0, protocol.CommandDone(command="subscribe"))
    story.polls(1, 600)
    story.lookup(2)
    story.join(5, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(8, 1, ms=700)
    for place, command in enumerate(commands):
        text = protocol.encode(command).decode()
        story.entries.append(Entry(600_000 + place * 1_000, "kit", "command", text))
    story.leave(610)
    return result_of(story)


def test_a_wait_is_taken_off_once_however_many_events_come_meanwhile() -> None:
    result = told(UNSUBSCRIBE)
    waited = dataclasses.replace(result.history, waits_us=((0, 600_000, 200_000),))
    first, *_, last = trace_events(dataclasses.replace(result, history=waited))
    began, *_, ended = trace_events(result)
    assert (ended.at_us - began.at_us) - (last.at_us - first.at_us) == 200_000


def test_L2_who_is_told_to_unsubscribe_has_asked_for_its_leave_group() -> None:
    result = told(UNSUBSCRIBE)
    names = [event.event for event in trace_events(result)]
    assert names.count("unsubscribed") == 1
    assert names[names.index("unsubscribed") + 1] == "leave_sent"
    assert found_in_trace(result) == []


def test_a_leave_group_that_nobody_asked_for_is_found() -> None:
    for result in (told(), told(SUBSCRIBE)):
        assert "unsubscribed" not in [event.event for event in trace_events(result)]
        assert [one.rule for one in found_in_trace(result)] == ["T-ILLEGAL-TRANSITION"]


def test_what_the_application_asks_for_later_goes_before_what_it_asked_for_first() -> None:
    assert "unsubscribed" not in [event.event for event in trace_events(told(UNSUBSCRIBE, SUBSCRIBE))]


def test_C1_what_was_assigned_before_close_is_handed_over_in_it_and_then_given_up() -> None:
    story = WireRun()
    story.event(0, protocol.CommandDone(command="subscribe"))
    story.polls(1, 60)
    story.lookup(2)
    story.join(5, -1, member_id="", error="MEMBER_ID_REQUIRED")
    story.join(8, 1)
    story.sync(10, 1)
    story.close(65, 30)
    story.callback(66, protocol.PartitionsAssigned)
    story.callback(75, protocol.PartitionsRevoked)
    story.leave(85)
    result = result_of(story)
    names = [event.event for event in trace_events(result)]
    expected = ["assigned_started", "assigned", "unsubscribed", "revoked_started", "revoked", "leave_sent"]
    assert [name for name in names if name in expected] == expected
    assert found_in_trace(result) == []


@pytest.mark.parametrize("between", ["a callback that had begun", "another round"])
def test_what_else_comes_in_close_does_not_put_it_off(between: str) -> None:
    story = WireRun()
    story.polls(1, 60)
    story.close(65, 30)
    if between == "another round":
        story.sync(66, 2)
        story.callback(68, protocol.PartitionsAssigned)
    else:
        story.callback(64, protocol.PartitionsRevoked)
    [asked] = [event for event in trace_events(result_of(story)) if event.event == "unsubscribed"]
    assert asked.at_us == 65_000


def test_M1_who_has_left_and_looks_its_coordinator_up_carries_no_member_id() -> None:
    """As krafka does: kit and trace have said otherwise."""
    story = expiry()
    story.lookup(3_505)
    assert found_in_trace(result_of(story)) == []


def throttles(story: WireRun) -> list[int]:
    """What the trace of a run tells of them, in ms; nothing may be found in it."""
    result = result_of(story)
    assert found_in_trace(result) == []
    return [event.throttle_time_ms for event in trace_events(result) if event.throttle_time_ms]


def test_H2_who_waits_until_it_is_no_longer_over_its_quota_is_not_silent() -> None:
    assert throttles(beating()) == [700]


def test_W2_a_broker_of_before_has_waited_and_the_client_is_free() -> None:
    assert throttles(beating(OLD)) == []


@pytest.mark.parametrize("shared", [True, False])
def test_H2_a_fetch_over_the_quota_holds_up_heartbeats_that_share_its_connection(*, shared: bool) -> None:
    story = WireRun()
    story.join(5, 1)
    story.sync(10, 1)
    story.heartbeats(110, 400, 1)
    if not shared:
        story.reconnect()
    story.exchange(401, "Fetch", None, None)
    over_quota(story, 12)
    if shared:
        story.heartbeats(1_103, 1_300, 1)
    assert throttles(story) == [700] * shared
