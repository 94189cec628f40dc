"""`groupspec broker`: without a broker in every run, with Apache Kafka itself in `make check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from groupspec.conformance.cli import main
from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.errors import UsageProblem
from groupspec.conformance.real_broker import instance, probe
from groupspec.conformance.real_broker.tests.fixture import RealBroker


def test_no_broker_is_up_in_a_new_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broker.json"
    assert main(["broker", "status", "--dir", str(tmp_path / "none"), "--json", str(file)]) == 0
    assert "no broker is up" in capsys.readouterr().out
    answer = json.loads(file.read_text())
    assert (answer["running"], answer["bootstrap"], answer["pid"]) == (False, None, None)
    assert main(["broker", "down", "--dir", str(tmp_path / "none")]) == 0


def test_arguments_that_make_no_sense(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "up", "--port", "99999", "--dir", str(tmp_path)]) == 2
    assert main(["broker", "up", "--lifetime-s", "0", "--dir", str(tmp_path)]) == 2
    assert main(["broker", "up", "--kafka", "0.9", "--dir", str(tmp_path)]) == 2
    assert "is not in the range" in capsys.readouterr().err


@pytest.mark.real_broker
def test_up_status_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = tmp_path / "broker", tmp_path / "broker.json"
    [port] = probe.free_ports(1)
    try:
        assert main(["broker", "up", "--port", str(port), "--lifetime-s", "120", "--dir", str(folder)]) == 0
        assert main(["broker", "up", "--dir", str(folder)]) == 0, "one that is up is kept"
        assert main(["broker", "status", "--dir", str(folder), "--json", str(file)]) == 0
        answer = json.loads(file.read_text())
        assert (answer["running"], answer["bootstrap"], answer["version"]) == (True, f"127.0.0.1:{port}", "4.3.1")
        assert probe.answers(port, timeout_s=5)
        capsys.readouterr()
        assert main(["broker", "up", "--port", str(port + 1), "--dir", str(folder)]) == 2
        assert "a broker is up in this folder" in capsys.readouterr().err
    finally:
        assert main(["broker", "down", "--dir", str(folder)]) == 0
    assert "stopped" in capsys.readouterr().out
    assert instance.status(folder) is None
    assert not probe.answers(port, timeout_s=1)


@pytest.mark.real_broker
def test_a_broker_that_cannot_come_up_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageProblem, match="did not come up"),
        RealBroker(tmp_path / "broker", settings={"log.retention.bytes": "much"}),
    ):
        pass
    assert instance.status(tmp_path / "broker") is None


@pytest.mark.real_broker
def test_its_log_can_be_explained(tmp_path: Path) -> None:
    file = tmp_path / "why.json"
    with RealBroker(tmp_path / "broker") as broker:
        broker.create_topic("orders", partitions=2)
        broker.produce("orders", 100, partitions=2)
        assert broker.end_offsets("orders", 2) == [50, 50]
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "g",
                "client.id": "only",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        read = 0
        while read < 100:
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            read += 1
        consumer.close()
        assert broker.committed("g", "orders", 2) == [50, 50]
        log = broker.coordinator_log
    assert why.main(["g", str(log), "--json", str(file)], standalone_mode=False) == 0
    result = json.loads(file.read_text())
    assert [(one["cause"], one["member"]) for one in result["rebalances"]] == [("join", "only"), ("leave", "only")]
    assert [one["not_understood"] for one in result["files"]] == [0]
