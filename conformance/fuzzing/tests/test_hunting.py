"""The hunt itself, on doors with known defects; and a while at each real door."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest

from groupspec.conformance.fuzzing import hunting
from groupspec.conformance.fuzzing.doors import DOORS, Door
from groupspec.conformance.fuzzing.hunting import Hunt, attack, hunt
from groupspec.conformance.traces.caching import digest

ROOT = Path(hunting.__file__).resolve().parents[2]
SECONDS_AT_A_DOOR = 10.0
SECONDS_IN_A_NIGHT = 120.0


def aborts(random: Random) -> None:
    if random.random() < 0.1:
        os.abort()


def hangs(random: Random) -> None:
    if random.random() < 0.1:
        signal.pause()


def eats(random: Random) -> None:
    if random.random() < 0.1:
        bytearray(2 * hunting.MEMORY_BYTES)


def raises(random: Random) -> None:
    if random.random() < 0.5:
        raise ValueError("refused as it should be")
    if random.random() < 0.1:
        raise KeyError("not as it should be")


@pytest.mark.parametrize(
    ("door", "said"),
    [
        (aborts, "the process was ended by SIGABRT"),
        (hangs, "a case was not done after 0 s"),
        (eats, "MemoryError"),
        (raises, "KeyError 'not as it should be'"),
    ],
)
def test_a_defect_is_told_with_its_number_and_the_hunt_goes_on(
    monkeypatch: pytest.MonkeyPatch, door: object, said: str
) -> None:
    monkeypatch.setitem(DOORS, "door", Door(door, (ValueError,)))  # type: ignore[arg-type]
    monkeypatch.setattr(hunting, "CASE_LIMIT_S", 0.2)
    monkeypatch.setattr(hunting, "WAITING_LIMIT_S", 0.2)
    found = hunt("door", 30.0, most=60)
    drawn = [Random(f"door {number}") for number in range(60)]
    bad = [
        n for n, random in enumerate(drawn) if (door is not raises or random.random() >= 0.5) and random.random() < 0.1
    ]
    assert [defect.number for defect in found.defects] == bad
    assert found.cases == 60
    assert all(said in defect.what for defect in found.defects)


def test_a_case_that_computes_without_end_is_told_however_long_it_waits_for_a_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def computes(random: Random) -> None:
        while random.getstate() == Random("door 1").getstate():
            pass

    monkeypatch.setitem(DOORS, "door", Door(computes, ()))
    monkeypatch.setattr(hunting, "CASE_LIMIT_S", 0.2)
    found = hunt("door", 30.0, most=3)
    told = "a case took more than 0 s of the processor"
    assert [(defect.number, defect.what) for defect in found.defects] == [(1, told)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DOORS)
def test_a_case_is_the_same_each_time(name: str) -> None:
    assert attack(DOORS[name], name, 5) == attack(DOORS[name], name, 5)


def _first_number() -> int:
    """Another one at each change of what is attacked, so that one commit gives the same cases wherever it is tested."""
    return int(digest(*sorted(ROOT.glob("impl/**/*.py")), *sorted(ROOT.glob("conformance/**/*.py"))), 16) % 10**12


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DOORS)
def test_no_bytes_end_hang_or_bloat_the_process(name: str) -> None:
    """Failing, it names the cases: `python -m groupspec.conformance.fuzzing DOOR NUMBER` does one again."""
    assert_none(hunt(name, SECONDS_AT_A_DOOR, first=_first_number()))


@pytest.mark.nightly
@pytest.mark.parametrize("name", DOORS)
def test_no_bytes_that_nobody_has_tried_do(name: str) -> None:
    """Other cases in each night."""
    assert_none(hunt(name, SECONDS_IN_A_NIGHT, first=time.time_ns() // 1_000_000))


def assert_none(found: Hunt) -> None:
    assert not found.defects, "\n".join(f"{each.door} {each.number}: {each.what}" for each in found.defects)
