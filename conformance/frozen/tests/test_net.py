"""Nothing that was found is lost, and of no history is anything else said than before, but for a reason with a witness.

A difference that is meant is told in `changes.toml`, by the history and the judge, with a witness outside this
repository: Kafka's source, a real broker, another client.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from groupspec.conformance.errors import EXIT_OK, EXIT_USAGE
from groupspec.conformance.frozen import changes, figures, verdicts
from groupspec.conformance.frozen.__main__ import main
from groupspec.conformance.frozen.changes import Change
from groupspec.conformance.frozen.freeze import parts
from groupspec.conformance.frozen.verdicts import Said
from groupspec.conformance.history.event import Event
from groupspec.conformance.history.life import VERSION, Header, Life, lines

BEFORE = verdicts.frozen()


def compared(prefix: str) -> list[str]:
    """What is said otherwise of histories whose names begin so."""
    now = dict(verdicts.all_said(prefix))
    before = {name: said for name, said in BEFORE.items() if name.startswith(prefix)}
    assert set(before) <= set(now), "histories are gone"
    return changes.unexplained(before, now)


def is_among(entry: str, entries: list[str]) -> bool:
    """Also where one of them is about more scenarios, by a wildcard."""
    return entry in entries or any(fnmatchcase(entry, each) for each in entries if "*" in each)


def test_nothing_that_was_found_is_lost() -> None:
    before, now = figures.frozen(), figures.now()
    lost = {name: [each for each in entries if not is_among(each, now[name])] for name, entries in before.items()}
    assert {name: entries for name, entries in lost.items() if entries} == {}


@pytest.mark.exhaustive
@pytest.mark.parametrize("prefix", ["recorded/", "samples/", "captures/"])
def test_of_each_recorded_run_sample_and_capture_the_same_is_said(prefix: str) -> None:
    assert compared(prefix) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("prefix", ["lives/schedules/", "lives/simulation/"])
def test_of_each_life_the_same_is_said(prefix: str) -> None:
    assert compared(prefix) == []


def test_the_net_has_each_world_with_mutants_and_without() -> None:
    lives = [name.split("/")[1:] for name in BEFORE if name.startswith("lives/")]
    assert {(world, design) for world, design, *_ in lives} == {
        *(("schedules", design) for design in ("background", "heartbeat")),
        *(("simulation", driver) for driver in ("core", "background", "heartbeat")),
    }
    assert len({rest[0] for _, _, *rest in lives if len(rest) > 1}) > 100


def test_a_life_of_a_mutant_is_broken_and_no_other() -> None:
    broken = {name: said["world"][0] != "" for name, said in BEFORE.items() if name.startswith("lives/")}
    assert {name for name, is_broken in broken.items() if is_broken != (name.count("/") == 4)} == set()


def said(**wire: str) -> dict[str, Said]:
    return {"recorded/a": {"wire": wire, "trace": []}}


def test_another_verdict_has_to_be_explained() -> None:
    assert changes.unexplained(said(J1="PASS"), said(J1="PASS")) == []
    [line] = changes.unexplained(said(J1="PASS"), said(J1="FAIL"))
    assert line.startswith("recorded/a: wire: J1: PASS before, FAIL now: tell why in changes.toml")
    assert changes.unexplained(said(J1="PASS"), said()) != []
    change = Change("a", ["recorded/*"], ["J1"], "because", "witness")
    assert changes.unexplained(said(J1="PASS"), said(J1="FAIL"), {"a": change}) == []
    assert changes.unexplained(said(J2="PASS"), said(J2="FAIL"), {"a": change}) != []


def test_a_rule_that_is_judged_only_now_may_not_accuse() -> None:
    assert changes.unexplained(said(), said(J1="PASS", J2="UNTESTABLE")) == []
    assert changes.unexplained(said(), said(J1="DEVIATION")) != []


def test_a_line_that_a_judge_says_no_more_or_only_now_has_to_be_explained() -> None:
    before: dict[str, Said] = {"lives/a": {"world": ["owners", "two"], "trace": []}}
    now: dict[str, Said] = {"lives/a": {"world": ["owners", "two"], "trace": ["T-POLL-GAP m1 poll 7"]}}
    assert len(changes.unexplained(before, now)) == len(changes.unexplained(now, before)) == 1


def test_lives_go_into_files_that_can_be_read_again() -> None:
    lives = [Life(Header(VERSION, "w", "core", seed), [Event(1, "over")]) for seed in range(5)]
    size = sum(map(len, lines(lives[0])))
    assert [len(part) for part in parts(lives, 2 * size)] == [2, 2, 1]
    assert [life for part in parts(lives, size // 2) for life in part] == lives


def test_the_command_says_which_worlds_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == EXIT_OK
    assert "schedules-background" in capsys.readouterr().out
    assert main(["schedule-background"]) == EXIT_USAGE
    assert "did you mean 'schedules-background'?" in capsys.readouterr().err
