"""A group's history against the table: what is equal passes, what is changed is a breach, what is known is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupspec.conformance.broker_kit.cells import INSIDE, Shown, by_cell, every_cell
from groupspec.conformance.broker_kit.driving import hurried
from groupspec.conformance.broker_kit.judging import GroupVerdict, judge_group
from groupspec.conformance.broker_kit.sending import Again, ServedDrawer
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.differential.drawing import PLACE, Pace
from groupspec.conformance.differential.history import History
from groupspec.conformance.differential.reference import ReferenceGroup, next_sent
from groupspec.conformance.real_broker.jars import KAFKA_VERSION
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, JoinGroupResponse
from groupspec.impl.network.versions import API_VERSIONS, VersionRange

SETTINGS = Settings(1_000, initial_rebalance_delay_ms=0, offsets_partitions=1)
KAFKA = BROKERS[KAFKA_VERSION]
STEPS = 40
SEEDS = (*range(12), 136, 977)
"""In 136 the table answers at once, for a known difference, what waits in Kafka; in 977 it chooses a leader twice."""


def drawn(seed: int, versions: dict[str, VersionRange] | None = None) -> History:
    """What a broker that does as the reference does has answered, each time 3 ms late; no timer runs out."""
    drawer = ServedDrawer("g", seed, Pace(), PLACE, {**API_VERSIONS, **(versions or {})})
    broker = ReferenceGroup("g", SETTINGS, lambda prefix, handle: f"{prefix}-real-{handle}")
    for turn in range(1, STEPS):
        for handle in broker.advance(10 * turn):
            drawer.learn(handle, broker.history.answers[handle])
        sent = next_sent(drawer, 10 * turn)
        for handle in broker.send(sent):
            drawer.learn(handle, broker.history.answers[handle])
        broker.history.handled_by_ms[sent.handle] = sent.at_ms + 3
    broker.advance(10 * STEPS)
    return replace(
        broker.history, answered_at_ms={each: at_ms + 3 for each, at_ms in broker.history.answered_at_ms.items()}
    )


def judged(history: History) -> GroupVerdict:
    return judge_group("g", history, SETTINGS, 0, KAFKA)


def test_who_answers_as_kafka_does_breaks_nothing_that_is_not_known() -> None:
    verdicts = [judged(drawn(seed)) for seed in SEEDS]
    assert [each.unknown for each in verdicts] == [None] * len(SEEDS)
    passed = {cell for each in verdicts for cell in each.passed}
    assert {("Empty", "group_join"), ("Stable", "group_heartbeat"), ("CompletingRebalance", "group_sync")} <= passed
    known = [breach for each in verdicts for breach in each.breaches]
    assert known, "Kafka does other than the table in some"
    assert all(each.made_by for each in known)


@pytest.mark.parametrize("kind", [HeartbeatResponse, JoinGroupResponse])
def test_another_answer_is_a_breach_of_its_cell(kind: type[HeartbeatResponse | JoinGroupResponse]) -> None:
    history = drawn(4)
    handle = next(each for each, answer in history.answers.items() if isinstance(answer, kind))
    history.answers[handle] = kind(ErrorCode.UNKNOWN_SERVER_ERROR)
    found = judged(history).unknown
    assert found is not None
    assert found.difference.of_broker == kind(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert found.cell[1] == ("group_heartbeat" if kind is HeartbeatResponse else "group_join")


def test_an_answer_that_never_comes_is_a_breach() -> None:
    history = drawn(4)
    handle = next(each for each, answer in history.answers.items() if isinstance(answer, HeartbeatResponse))
    del history.answers[handle]
    found = judged(history).unknown
    assert found is not None
    assert (found.difference.handle, found.difference.of_broker) == (handle, None)


def test_cells_say_pass_fail_deviation_or_why_not() -> None:
    history = drawn(4)
    whole = judged(history)
    spoilt = drawn(4)
    handle = next(each for each, answer in spoilt.answers.items() if isinstance(answer, HeartbeatResponse))
    spoilt.answers[handle] = HeartbeatResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    breach = judged(spoilt).unknown
    assert breach is not None
    cells = {each.cell: each for each in by_cell(whole.passed, [Shown(breach, 4, spoilt, again=True)])}
    assert list(cells) == every_cell()
    assert cells[breach.cell].verdict is Verdict.FAIL
    assert cells["Empty", "group_join"].verdict is Verdict.PASS
    assert cells["Stable", "group_unloaded"].reason == INSIDE["group_unloaded"]
    [unsure] = [each for each in by_cell(whole.passed, [Shown(breach, 4, spoilt, again=False)]) if each.breaches]
    assert unsure.verdict is Verdict.INCONCLUSIVE
    [known] = [
        each
        for each in by_cell(whole.passed, [Shown(replace(breach, known="so it is"), 4, spoilt, again=True)])
        if each.breaches
    ]
    assert known.verdict is Verdict.DEVIATION


def test_requests_have_versions_that_the_broker_has() -> None:
    old = {"JoinGroup": VersionRange(2, 5), "Heartbeat": VersionRange(0, 3)}
    for sent in drawn(1, old).sent:
        name = type(sent.request).__name__.removesuffix("Request")
        if name in old:
            assert sent.caller.version in old[name]


def test_a_part_that_is_sent_again_names_the_ids_that_it_was_given() -> None:
    history = drawn(4)
    place = next(n for n, each in enumerate(history.sent) if getattr(each.request, "member_id", "").startswith("c"))
    old = history.sent[place].request.member_id  # type: ignore[union-attr]
    brought = next(n for n, each in enumerate(history.sent) if _told(history, each.handle) == old)
    again = Again("h", history, [brought, place])
    handle, request, _ = again.draw()
    assert request.group_id == "h"
    again.learn(handle, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id="new"))
    assert again.draw()[1].member_id == "new"  # type: ignore[union-attr]
    assert again.left == 0


def _told(history: History, handle: int) -> str:
    answer = history.answers.get(handle)
    return answer.member_id if isinstance(answer, JoinGroupResponse) else ""


@pytest.mark.parametrize("delay_ms", [0, 1_850, 3_000])
@pytest.mark.parametrize("least_ms", [500, 1_000, 6_000])
def test_at_a_hurried_pace_no_timer_is_due_when_a_request_is_sent(delay_ms: int, least_ms: int) -> None:
    pace = hurried(Settings(least_ms, initial_rebalance_delay_ms=delay_ms))
    for time_ms in (*pace.sessions_ms, *pace.rebalances_ms, delay_ms or 500):
        assert 60 <= time_ms % pace.step_ms <= pace.step_ms - 60 or time_ms == 500
