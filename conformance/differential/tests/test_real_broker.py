"""The same requests to Apache Kafka and to the reference coordinator: hundreds of groups, and the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from groupspec.conformance.differential.drawing import PLACE, Drawer, Pace
from groupspec.conformance.differential.replay import Verdict, replay
from groupspec.conformance.differential.wire import ONE_AFTER_THE_OTHER, Wire, WireGroup
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.impl.coordinator.settings import Settings

pytestmark = pytest.mark.real_broker

MOST = 6
"""group.max.size: small enough that some groups reach it."""

UNTIMED = Settings(1_000, initial_rebalance_delay_ms=0, max_size=MOST, offsets_partitions=1)
TIMED = Settings(1_000, initial_rebalance_delay_ms=1_400, max_size=MOST, offsets_partitions=1)
NO_HURRY = Pace()
SHORT_TIMEOUTS = Pace(1_000, (2_100, 3_100, 4_100), (2_620, 3_620), 40)
"""Sums of a few of these times stay away from whole seconds, when the requests are sent."""
SLACK_MS = 25
LAST_MS = 4_000


def verdicts(directory: Path, settings: Settings, pace: Pace, groups: int, steps: int, seed: int) -> Sequence[Verdict]:
    """What the comparison of each group says."""
    with RealBroker(directory, lifetime_s=600, settings=_of_broker(settings)) as broker:
        broker.create_topic(PLACE.topic, 1)
        wired = asyncio.run(_histories(broker, pace, groups, steps, seed))
    slack_ms = SLACK_MS if pace.apart_ms else 0
    return [replay(name, group.history, settings, slack_ms) for name, group in wired.items()]


def _of_broker(settings: Settings) -> Mapping[str, str]:
    return {
        **ONE_AFTER_THE_OTHER,
        "group.max.size": str(settings.max_size),
        "group.initial.rebalance.delay.ms": str(settings.initial_rebalance_delay_ms),
    }


async def _histories(broker: RealBroker, pace: Pace, groups: int, steps: int, seed: int) -> Mapping[str, WireGroup]:
    """The groups that count come after some that warm the broker up, if time counts."""
    wired = {f"g{number}": WireGroup(Drawer(f"g{number}", seed + number, pace)) for number in range(groups)}
    wire = Wire(int(broker.bootstrap.rpartition(":")[2]))
    if pace.apart_ms:
        await wire.run([WireGroup(Drawer(f"w{number}", number, pace)) for number in range(groups)], 8, 0, 0)
        await wire.run(list(wired.values()), steps, pace.step_ms, LAST_MS)
    else:
        await wire.run(list(wired.values()), steps, 0, 0)
    await wire.close()
    return wired


def differences(found: Sequence[Verdict]) -> list[str]:
    return [f"group g{number}: {each.difference}" for number, each in enumerate(found) if each.difference]


def test_the_reference_answers_as_kafka_does(tmp_path: Path) -> None:
    found = verdicts(tmp_path, UNTIMED, NO_HURRY, groups=60, steps=20, seed=10_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) == 60 * 20


def test_the_reference_answers_as_kafka_does_when_time_passes(tmp_path: Path) -> None:
    found = verdicts(tmp_path, TIMED, SHORT_TIMEOUTS, groups=60, steps=10, seed=20_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 200, "nearly everything was too close to a timer to tell"


@pytest.mark.nightly
def test_the_reference_answers_as_kafka_does_at_length(tmp_path: Path) -> None:
    found = verdicts(tmp_path, UNTIMED, NO_HURRY, groups=350, steps=60, seed=30_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) == 350 * 60


@pytest.mark.nightly
def test_the_reference_answers_as_kafka_does_when_much_time_passes(tmp_path: Path) -> None:
    found = verdicts(tmp_path, TIMED, SHORT_TIMEOUTS, groups=150, steps=25, seed=40_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 1_000
