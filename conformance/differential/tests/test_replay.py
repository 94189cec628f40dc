"""A broker's history against the reference's: what is equal passes, and whatever is changed is found."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.differential.drawing import Drawer, Pace
from groupspec.conformance.differential.history import History
from groupspec.conformance.differential.reference import ReferenceGroup, next_sent
from groupspec.conformance.differential.replay import replay
from groupspec.conformance.real_broker.jars import KAFKA_VERSION
from groupspec.impl.coordinator.settings import Settings
from groupspec.impl.core.messages import ErrorCode, HeartbeatResponse, JoinGroupResponse

SETTINGS = Settings(1_000, initial_rebalance_delay_ms=1_400, offsets_partitions=1)
PACE = Pace(1_000, (2_100, 3_100, 4_100), (2_620, 3_620), 40)
SLACK_MS = 10
UNTIMED = Settings(1_000, initial_rebalance_delay_ms=0, max_size=6, offsets_partitions=1)
BROKER = BROKERS[KAFKA_VERSION]


@pytest.fixture
def history() -> History:
    """What a broker that does everything right has answered, each time 3 ms late."""
    broker = ReferenceGroup("g", SETTINGS, lambda prefix, handle: f"{prefix}-real-{handle}")
    drive(broker, Drawer("g", 5, PACE), PACE, steps=30)
    broker.advance(33_000)
    late = {handle: at_ms + 3 for handle, at_ms in broker.history.answered_at_ms.items()}
    return replace(broker.history, answered_at_ms=late)


def drive(broker: ReferenceGroup, drawer: Drawer, pace: Pace, steps: int) -> None:
    """So many drawn requests; each is handled within 3 ms."""
    for turn in range(1, steps + 1):
        for handle in broker.advance(turn * pace.step_ms):
            drawer.learn(handle, broker.history.answers[handle])
        sent = next_sent(drawer, turn * pace.step_ms)
        for handle in broker.send(sent):
            drawer.learn(handle, broker.history.answers[handle])
        broker.history.handled_by_ms[sent.handle] = sent.at_ms + 3


def test_equal_histories_differ_in_nothing(history: History) -> None:
    verdict = replay("g", history, BROKER, SETTINGS, SLACK_MS)
    assert verdict.difference is None
    assert verdict.steps > 5


@pytest.mark.parametrize("kind", [HeartbeatResponse, JoinGroupResponse])
def test_another_answer_is_a_difference(history: History, kind: type[HeartbeatResponse | JoinGroupResponse]) -> None:
    steps = replay("g", history, BROKER, SETTINGS, SLACK_MS).steps
    handle = next(handle for handle, answer in history.answers.items() if isinstance(answer, kind) and handle < steps)
    history.answers[handle] = kind(ErrorCode.UNKNOWN_SERVER_ERROR)
    found = replay("g", history, BROKER, SETTINGS, SLACK_MS).difference
    assert found is not None
    assert found.of_broker == kind(ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_missing_answer_is_a_difference(history: History) -> None:
    handle = next(iter(history.answers))
    del history.answers[handle]
    found = replay("g", history, BROKER, SETTINGS, SLACK_MS).difference
    assert found is not None
    assert (found.handle, found.of_broker) == (handle, None)


def test_another_settings_are_noticed(history: History) -> None:
    wrong = replace(SETTINGS, initial_rebalance_delay_ms=0)
    assert replay("g", history, BROKER, wrong, SLACK_MS).difference is not None


@pytest.mark.parametrize("seed", [357, 2022, 2395])
def test_whoever_the_broker_makes_its_leader_is_no_difference(seed: int) -> None:
    """Static members are replaced, or leave and join anew, between the choice and the generation that tells it."""
    chance = Random(seed)
    broker = ReferenceGroup(
        "g",
        UNTIMED,
        lambda prefix, handle: f"{prefix}-real-{chance.random():.9f}",
        lambda what, generation, possible: chance.choice(possible) if what == "leader" else min(possible),
    )
    drive(broker, Drawer("g", seed, Pace()), Pace(), steps=60)
    broker.advance(61 * Pace().step_ms)
    assert replay("g", broker.history, BROKER, UNTIMED, 0).difference is None
