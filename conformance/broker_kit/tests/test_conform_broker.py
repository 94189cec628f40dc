"""`groupspec conform-broker`: the reference's broker keeps the table, a spoilt one does not; what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from groupspec.conformance.broker_kit import campaign, driving
from groupspec.conformance.broker_kit.driving import CALM
from groupspec.conformance.cli import main
from groupspec.conformance.commands import conform_broker
from groupspec.conformance.errors import EXIT_CONFORMANCE_FAILURE, EXIT_OK, EXIT_USAGE
from groupspec.conformance.real_broker.probe import free_ports
from groupspec.impl.broker.server import ScriptedBroker
from groupspec.impl.coordinator.rebalancing import Rebalancing
from groupspec.impl.coordinator.settings import Settings

pytestmark = pytest.mark.realtime
SETTINGS = Settings(500, initial_rebalance_delay_ms=0, max_size=6, offsets_partitions=1)
TOLD = ("group.min.session.timeout.ms=500", "group.initial.rebalance.delay.ms=0", "group.max.size=6")


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with ScriptedBroker(1, {"drawn": 1}, lifetime_s=120, groups=SETTINGS) as one:
        yield one


def judged(broker: ScriptedBroker, file: Path, steps: int, groups: int) -> tuple[int, dict[str, object]]:
    settings = [word for each in TOLD for word in ("--setting", each)]
    size = ["--steps", str(steps), "--groups", str(groups), "--json", str(file)]
    code = main(["conform-broker", broker.bootstrap, "--topic", "drawn", *settings, *size])
    return code, json.loads(file.read_text(encoding="utf-8"))


def test_it_tells_if_the_broker_names_another_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge_broker(asked: campaign.Asked, tell: object) -> campaign.Judged:
        return campaign.Judged(places[-1], SETTINGS, [], 0, 0, 0.0, ())

    monkeypatch.setattr(conform_broker, "judge_broker", judge_broker)
    places: list[tuple[str, int]] = []
    for elsewhere, told in ((("127.0.0.1", 9), True), (("localhost", 9092), False)):
        places.append(elsewhere)
        main(["conform-broker", "localhost:9092"])
        assert ("names 127.0.0.1:9 as coordinator" in capsys.readouterr().err) is told


def cells(result: dict[str, object]) -> dict[tuple[str, str], dict[str, object]]:
    found = result["cells"]
    assert isinstance(found, list)
    return {(each["state"], each["event"]): each for each in found}


@pytest.fixture(autouse=True)
def calm_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the time in which timers run out."""
    monkeypatch.setattr(campaign, "hurried", lambda settings: replace(CALM, step_ms=1))
    monkeypatch.setattr(driving, "QUIET_S", 0.01)


def test_the_references_broker_keeps_the_table(broker: ScriptedBroker, tmp_path: Path) -> None:
    code, result = judged(broker, tmp_path / "result.json", steps=12, groups=8)
    found = cells(result)
    assert [cell for cell, each in found.items() if each["verdict"] in ("FAIL", "INCONCLUSIVE")] == []
    assert code == EXIT_OK
    assert found["Empty", "group_join"]["verdict"] == "PASS"
    assert found["PreparingRebalance", "group_join"]["verdict"] == "PASS"
    assert found["Dead", "group_join"]["verdict"] == "UNTESTABLE"
    assert found["Dead", "group_join"]["reason"]


def test_a_broker_that_breaks_the_table_is_found_with_a_short_sequence(
    broker: ScriptedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member that joins again in Stable without news is told nothing: it waits for ever."""
    monkeypatch.setattr(Rebalancing, "complete", lambda *_: None)
    code, result = judged(broker, tmp_path / "result.json", steps=6, groups=4)
    assert code == EXIT_CONFORMANCE_FAILURE
    failed = [each for each in cells(result).values() if each["verdict"] == "FAIL"]
    assert failed
    breaches = [breach for each in failed for breach in each["breaches"]]  # type: ignore[attr-defined]
    assert min(len(breach["sequence"]) for breach in breaches) <= 2
    assert any(breach["answered"] == "no answer by then" for breach in breaches)
    assert "the table allows:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "'nowhere' is no broker's address"),
        ([f"127.0.0.1:{free_ports(1)[0]}"], "no Kafka broker answers there"),
        (["127.0.0.1:9", "--setting", "group.max.sice=3"], "no setting 'group.max.sice'"),
        (["127.0.0.1:9", "--setting", "group.max.size=many"], "has no number"),
        (["127.0.0.1:9", "--kafka", "4.3.2"], "no version '4.3.2'"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform-broker", *arguments]) == EXIT_USAGE
    assert message in capsys.readouterr().err
