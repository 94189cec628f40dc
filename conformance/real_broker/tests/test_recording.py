"""Clients judged at Apache Kafka, which nobody scripts: correct ones are not accused, and nothing is left there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.cli import main
from groupspec.conformance.real_broker.jars import KAFKA_VERSION, VERSIONS
from groupspec.conformance.real_broker.tests.fixture import RealBroker
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import IN_PYTHON
from groupspec.conformance.wire.live.recorder import live

pytestmark = pytest.mark.real_broker
JUDGED = {
    "D4",
    "J2",
    "J3",
    "S2",
    "S3",
    "H2",
    "H3",
    "H4",
    "C1",
    "C3",
    "C7",
    "M1",
    "M3",
    "M7",
    "O1",
    "L1",
    "L5",
    "K1",
    "W1",
}
"""What every life gives occasion to."""


def rows_of(broker: RealBroker, client: str, file: Path) -> list[dict[str, str]]:
    main(["conform", client, "--record", broker.bootstrap, "--json", str(file)])
    [judged] = json.loads(file.read_text(encoding="utf-8"))["clients"]
    return [{**row, "version": judged["version"]} for row in judged["results"]]


def left_at(broker: RealBroker) -> tuple[set[str], set[str]]:
    """Topics and groups that are there, but for the broker's own and the fixture's."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = {name for name in admin.list_topics(timeout=30).topics if not name.startswith("__")}
    return topics, {group.group_id for group in admin.list_consumer_groups().result(30).valid}


def test_the_reference_keeps_the_rules_at_kafka(tmp_path: Path) -> None:
    """By one protocol; the nightly test has both."""
    with RealBroker(tmp_path / "broker", version=KAFKA_VERSION) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        recorded = live(IN_PYTHON["reference"], "cooperative", [(host, int(port))], "", "again")
        assert left_at(broker) == (set(), set())
    assert recorded.left_behind == []
    judged = [(rule, each) for result in recorded.results for rule, each in result.judgements.items()]
    assert {each.verdict for _, each in judged} == {Verdict.PASS, Verdict.UNTESTABLE}
    assert {rule for rule, each in judged if each.verdict is Verdict.PASS} >= JUDGED


@pytest.mark.nightly
@pytest.mark.parametrize("version", VERSIONS)
def test_no_client_is_accused_of_what_nobody_has_read(tmp_path: Path, version: str) -> None:
    with RealBroker(tmp_path / "broker", version=version) as broker:
        for client in ("reference", "kafka-python", "aiokafka", "confluent-kafka"):
            rows = rows_of(broker, client, tmp_path / f"{client}.json")
            unread = [
                (row["rule"], row["reason"])
                for row in rows
                if row["verdict"] in ("FAIL", "DEVIATION", "INCONCLUSIVE") and not row["docket"]
            ]
            assert unread == [], client
        assert left_at(broker) == (set(), set())


IN_A_CONSUMER_GROUP = {
    "D2", "D4", "C1", "C3", "C5", "C7", "M4", "M5", "M6", "O1", "O3", "O4", "O5", "O6", "L2", "L5", "Q5", "W1",
}  # fmt: skip
"""What the life of a consumer group's first member gives occasion to."""


@pytest.mark.tools
def test_javas_client_with_the_consumer_protocol_keeps_what_binds_it(tmp_path: Path) -> None:
    BUILDS["java-async"].install()
    with RealBroker(tmp_path / "broker", version=KAFKA_VERSION) as broker:
        rows = rows_of(broker, "java-async", tmp_path / "rows.json")
        assert left_at(broker) == (set(), set())
    classic = [row for row in rows if row["scenario"] in ("live-eager", "live-cooperative")]
    assert {row["verdict"] for row in classic} == {"UNSUPPORTED"}
    judged = [row for row in rows if row["scenario"] == "live-consumer"]
    assert {row["verdict"] for row in judged} == {"PASS", "UNTESTABLE"}
    assert {row["rule"] for row in judged if row["verdict"] == "PASS"} == IN_A_CONSUMER_GROUP
