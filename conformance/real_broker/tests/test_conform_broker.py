"""Apache Kafka, judged by the group's table: only known differences, and nothing is left there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupspec.conformance.cli import main
from groupspec.conformance.errors import EXIT_OK
from groupspec.conformance.real_broker.jars import KAFKA_VERSION, VERSIONS
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.real_broker.tests.test_recording import left_at

pytestmark = pytest.mark.real_broker
REACHED = {
    *(("Empty", f"group_{name}") for name in ("join", "sync", "heartbeat", "commit")),
    *(("PreparingRebalance", f"group_{name}") for name in ("join", "sync", "leave")),
    ("CompletingRebalance", "group_sync"),
    ("Stable", "group_join"),
}


def judged(directory: Path, version: str, steps: int, groups: int) -> dict[tuple[str, str], str]:
    """The verdicts of the cells that were met."""
    file = directory / "result.json"
    with RealBroker(directory / "broker", version=version) as broker:
        size = ["--steps", str(steps), "--groups", str(groups), "--json", str(file)]
        assert main(["conform-broker", broker.bootstrap, "--kafka", version, *size]) == EXIT_OK
        assert left_at(broker) == (set(), set())
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return {(each["state"], each["event"]): each["verdict"] for each in cells if each["verdict"] != "UNTESTABLE"}


def test_kafka_keeps_the_table_but_for_what_is_known(tmp_path: Path) -> None:
    found = judged(tmp_path, KAFKA_VERSION, steps=8, groups=40)
    assert set(found.values()) <= {"PASS", "DEVIATION"}
    assert set(found) >= REACHED


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_keeps_every_cell_that_one_broker_can_show(tmp_path: Path, version: str) -> None:
    found = judged(tmp_path, version, steps=40, groups=250)
    assert set(found.values()) <= {"PASS", "DEVIATION"}
    requests = ("join", "sync", "heartbeat", "commit", "leave")
    settled = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")
    assert set(found) >= {(state, f"group_{name}") for state in settled for name in requests}
