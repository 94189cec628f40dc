"""The scenario in which the commit before a round is refused: who joins with it, who after it, and who does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.case_broker import CaseBroker
from groupspec.conformance.wire.harness_process import HarnessProcess
from groupspec.conformance.wire.log import Log
from groupspec.conformance.wire.scenario_context import Missed, ScenarioContext
from groupspec.conformance.wire.scenarios import written_cases
from groupspec.conformance.wire.scenarios.committing import joins_though_refused

SINCE = Entry(0, "kit", "note")
ASKED = Entry(100, "wire", "request", api="OffsetCommit")
REFUSED = Entry(400, "wire", "response", api="OffsetCommit", error="GROUP_AUTHORIZATION_FAILED")


def told_of(*at_us: int) -> ScenarioContext:
    """Of a client that sends a JoinGroup at each of these times, and then ends."""
    log = Log()
    joins = [Entry(each, "wire", "request", api="JoinGroup") for each in at_us]
    for entry in sorted([ASKED, REFUSED, *joins], key=lambda entry: entry.at_us):
        log.append(entry)
    log.end("the client's process ended")
    case = next(each for each in written_cases() if each.id == "commit-before-the-round-fails")
    broker = cast("CaseBroker", SimpleNamespace(bootstrap="127.0.0.1:9092"))
    return ScenarioContext(case, broker, cast("HarnessProcess", None), log)


def joined_at(*at_us: int) -> Entry:
    """What the scenario takes for the JoinGroup of such a client."""
    return joins_though_refused(told_of(*at_us), SINCE)


@pytest.mark.parametrize("at_us", [101, 500], ids=["with the commit", "after its refusal"])
def test_M3_a_join_group_with_the_commit_that_is_refused_is_as_good_as_one_after_it(at_us: int) -> None:
    assert joined_at(at_us).at_us == at_us


@pytest.mark.parametrize("at_us", [(), (50,)], ids=["none", "one of a round before it"])
def test_M3_who_does_not_join_though_its_commit_is_refused_is_found(at_us: tuple[int, ...]) -> None:
    with pytest.raises(Missed) as missed:
        joined_at(*at_us)
    assert missed.value.rule == "M3"


def test_the_next_request_is_not_the_one_since_which_it_is_awaited() -> None:
    first = Entry(101, "wire", "request", api="JoinGroup")
    assert told_of(101).wait_for_request("JoinGroup", within_ms=1_000, since=first) is None
    again = told_of(101, 500).wait_for_request("JoinGroup", within_ms=1_000, since=first)
    assert again is not None
    assert again.at_us == 500
