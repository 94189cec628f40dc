"""The same requests to Apache Kafka and to the reference coordinator: hundreds of groups, and the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.differential.drawing import PLACE, Drawer, Pace
from groupspec.conformance.differential.replay import Verdict, replay
from groupspec.conformance.differential.wire import ONE_AFTER_THE_OTHER, Wire, WireGroup
from groupspec.conformance.real_broker.jars import KAFKA_VERSION, VERSIONS
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.impl.coordinator.settings import Settings

pytestmark = pytest.mark.real_broker

MOST = 6
"""group.max.size: small enough that some groups reach it."""

UNTIMED = Settings(1_000, initial_rebalance_delay_ms=0, max_size=MOST, offsets_partitions=1)
TIMED = Settings(1_000, initial_rebalance_delay_ms=1_850, max_size=MOST, offsets_partitions=1)
NO_HURRY = Pace()
SHORT_TIMEOUTS = Pace(1_000, (2_100, 3_100, 4_100), (2_640, 3_640), 80)
"""Sums of a few of these times stay away from whole seconds, when the requests are sent."""
SLACK_MS = 50
LAST_MS = 4_000


def verdicts(
    directory: Path, version: str, settings: Settings, pace: Pace, groups: int, steps: int, seed: int
) -> Sequence[Verdict]:
    """What the comparison of each group says.

    A broker that stands still for a moment runs its timers late, and nobody can see by how much. So where time counts,
    a group that differs is drawn once more, from the same seed, and counts if it differs again.
    """
    slack_ms = SLACK_MS if pace.apart_ms else 0
    seeds = range(seed, seed + groups)
    with RealBroker(directory, lifetime_s=600, settings=_of_broker(settings), version=version) as broker:
        broker.create_topic(PLACE.topic, 1)
        wired = asyncio.run(_histories(broker, pace, "first", seeds, steps))
        found = _replayed("first", wired, version, settings, slack_ms)
        doubtful = [number for number in seeds if slack_ms and is_unexplained(found[number])]
        if doubtful:
            wired = asyncio.run(_histories(broker, pace, "again", doubtful, steps))
            found |= _replayed("again", wired, version, settings, slack_ms)
    return list(found.values())


def _replayed(
    name: str, wired: Mapping[int, WireGroup], version: str, settings: Settings, slack_ms: int
) -> dict[int, Verdict]:
    return {
        number: replay(f"{name}-{number}", group.history, BROKERS[version], settings, slack_ms)
        for number, group in wired.items()
    }


def is_unexplained(verdict: Verdict) -> bool:
    return verdict.difference is not None and not verdict.explained


def _of_broker(settings: Settings) -> Mapping[str, str]:
    return {
        **ONE_AFTER_THE_OTHER,
        "group.max.size": str(settings.max_size),
        "group.initial.rebalance.delay.ms": str(settings.initial_rebalance_delay_ms),
    }


async def _histories(
    broker: RealBroker, pace: Pace, name: str, seeds: Sequence[int], steps: int
) -> Mapping[int, WireGroup]:
    """The groups that count come after some that warm the broker up, if time counts."""
    wired = {seed: WireGroup(Drawer(f"{name}-{seed}", seed, pace)) for seed in seeds}
    wire = Wire(int(broker.bootstrap.rpartition(":")[2]))
    if pace.apart_ms:
        await wire.run([WireGroup(Drawer(f"{name}-warm-{number}", number, pace)) for number in range(60)], 8, 0, 0)
        await wire.run(list(wired.values()), steps, pace.step_ms, LAST_MS)
    else:
        await wire.run(list(wired.values()), steps, 0, 0)
    await wire.close()
    return wired


def differences(found: Sequence[Verdict]) -> list[str]:
    return [f"group g{number}: {each.difference}" for number, each in enumerate(found) if is_unexplained(each)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_answers_as_kafka_does(tmp_path: Path, version: str) -> None:
    found = verdicts(tmp_path, version, UNTIMED, NO_HURRY, groups=60, steps=20, seed=10_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 60 * 20 * 0.9


def test_the_reference_answers_as_kafka_does_when_time_passes(tmp_path: Path) -> None:
    found = verdicts(tmp_path, KAFKA_VERSION, TIMED, SHORT_TIMEOUTS, groups=60, steps=10, seed=20_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 100, "nearly everything was too close to a timer to tell"


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_answers_as_kafka_does_at_length(tmp_path: Path, version: str) -> None:
    untimed = verdicts(tmp_path / "untimed", version, UNTIMED, NO_HURRY, groups=400, steps=60, seed=30_000)
    timed = verdicts(tmp_path / "timed", version, TIMED, SHORT_TIMEOUTS, groups=250, steps=20, seed=40_000)
    assert differences([*untimed, *timed]) == []
    assert sum(each.steps for each in untimed) >= 20_000
    assert sum(each.steps for each in timed) >= 1_000
    explained = {each.explained for each in (*untimed, *timed)} - {""}
    assert explained == {each.name for each in BROKERS[version].deviations}, "a deviation that explains nothing"
