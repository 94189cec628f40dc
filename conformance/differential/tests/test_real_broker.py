"""The same requests to Apache Kafka and to the reference coordinator: hundreds of groups, and the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from groupspec.conformance.differential import loading
from groupspec.conformance.differential.brokers import BROKERS
from groupspec.conformance.differential.drawing import PLACE, Drawer, Pace
from groupspec.conformance.differential.replay import Verdict, replay
from groupspec.conformance.differential.wire import ONE_AFTER_THE_OTHER, Wire, WireGroup
from groupspec.conformance.real_broker.jars import FORMER_VERSION, KAFKA_VERSION, VERSIONS
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.real_broker.tests.two_brokers import TwoBrokers
from groupspec.impl.coordinator.settings import Settings

pytestmark = pytest.mark.real_broker

MOST = 6
"""group.max.size: small enough that some groups reach it."""

UNTIMED = Settings(1_000, initial_rebalance_delay_ms=0, max_size=MOST, offsets_partitions=1)
TIMED = Settings(1_000, initial_rebalance_delay_ms=1_850, max_size=MOST, offsets_partitions=1)
NO_HURRY = Pace()
MOVING = Pace(astray=0.1)
SHORT_TIMEOUTS = Pace(1_000, (2_100, 3_100, 4_100), (2_640, 3_640), 80)
"""Sums of a few of these times stay away from whole seconds, when the requests are sent."""
SLACK_MS = 50
MOST_MOVES = 20
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
        warming = [WireGroup(Drawer(f"{name}-warm-{number}", number, pace)) for number in range(60)]
        await wire.run(warming, 8, 0)
        await wire.finish(warming, 0)
    await wire.run(list(wired.values()), steps, pace.step_ms if pace.apart_ms else 0)
    await wire.finish(list(wired.values()), LAST_MS if pace.apart_ms else 0)
    await wire.close()
    return wired


async def _moving(brokers: TwoBrokers, groups: Sequence[WireGroup], steps: int, moves: int) -> None:
    """So many requests for each group, then all groups move, and so on."""
    wire = Wire(*brokers.ports)
    for number in range(moves):
        await wire.run(groups, steps, 0)
        node = 2 - number % 2
        brokers.begin_move(node)
        brokers.end_move(node)
        await wire.moved(groups, node)
    await wire.run(groups, steps, 0)
    await wire.finish(groups, 0)
    await wire.close()


def differences(found: Sequence[Verdict]) -> list[str]:
    return [f"group g{number}: {each.difference}" for number, each in enumerate(found) if is_unexplained(each)]


@contextmanager
def two_brokers(directory: Path, version: str) -> Iterator[TwoBrokers]:
    """Node 1 has all groups at first."""
    with TwoBrokers(directory, settings=_of_broker(UNTIMED), version=version) as brokers:
        brokers.first.create_topic(PLACE.topic, 1)
        brokers.begin_move(1)
        brokers.end_move(1)
        yield brokers


def moved(brokers: TwoBrokers, version: str, groups: int, moves: int, seed: int) -> Sequence[Verdict]:
    """What the comparison of each group says when all of them move between two brokers, so often."""
    wired = {number: WireGroup(Drawer(f"moving-{number}", number, MOVING)) for number in range(seed, seed + groups)}
    asyncio.run(_moving(brokers, list(wired.values()), 8, moves))
    return list(_replayed("moving", wired, version, UNTIMED, 0).values())


def while_loading(brokers: TwoBrokers, version: str) -> Sequence[Verdict]:
    """What the comparison says of each request that is made while a node reads the groups."""
    for number in range(MOST_MOVES):
        node = 1 + number % 2
        brokers.begin_move(node)
        found = loading.histories(partial(brokers.ask, node))
        brokers.end_move(node)
        if found:
            return [replay(loading.GROUP, history, BROKERS[version], UNTIMED, 0) for history in found]
    raise AssertionError(f"in {MOST_MOVES} moves the groups were never read slowly enough to ask meanwhile")


def test_the_reference_answers_as_the_former_coordinator_does(tmp_path: Path) -> None:
    found = verdicts(tmp_path, FORMER_VERSION, UNTIMED, NO_HURRY, groups=60, steps=20, seed=10_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 60 * 20 * 0.9


def test_the_reference_answers_as_kafka_does_when_time_passes(tmp_path: Path) -> None:
    found = verdicts(tmp_path, KAFKA_VERSION, TIMED, SHORT_TIMEOUTS, groups=60, steps=8, seed=20_000)
    assert differences(found) == []
    assert sum(each.steps for each in found) > 100, "nearly everything was too close to a timer to tell"


def test_the_reference_answers_as_two_brokers_do_between_which_groups_move(tmp_path: Path) -> None:
    with two_brokers(tmp_path, KAFKA_VERSION) as brokers:
        found = moved(brokers, KAFKA_VERSION, groups=60, moves=3, seed=60_000)
        meanwhile = while_loading(brokers, KAFKA_VERSION)
    assert differences([*found, *meanwhile]) == []
    assert sum(each.steps for each in found) == 60 * 4 * 8


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_answers_as_kafka_does_at_length(tmp_path: Path, version: str) -> None:
    untimed = verdicts(tmp_path / "untimed", version, UNTIMED, NO_HURRY, groups=400, steps=60, seed=30_000)
    timed = verdicts(tmp_path / "timed", version, TIMED, SHORT_TIMEOUTS, groups=250, steps=20, seed=40_000)
    with two_brokers(tmp_path / "moving", version) as brokers:
        moving = [*moved(brokers, version, groups=200, moves=5, seed=50_000), *while_loading(brokers, version)]
    assert differences([*untimed, *timed, *moving]) == []
    assert sum(each.steps for each in untimed) >= 20_000
    assert sum(each.steps for each in timed) >= 1_000
    explained = {each.explained for each in (*untimed, *timed, *moving)} - {""}
    assert explained == {each.name for each in BROKERS[version].deviations}, "a deviation that explains nothing"
