"""The stress run on two brokers of Apache Kafka: the reference loses nothing, doubles nothing, and does not hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.reports.soak import html
from groupspec.conformance.stress import member
from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.report import lines, of_reference
from groupspec.conformance.stress.run import Run
from groupspec.conformance.wire.client_builds import BUILDS
from groupspec.conformance.wire.clients import mutated

pytestmark = pytest.mark.real_broker

CLIENTS = ("reference", "reference-heartbeat", "reference", "java", "confluent-kafka", "kafka-python")
FAULTS_MS = 30_000


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(101, 121))])
def test_the_reference_keeps_its_promises_beside_other_clients_under_faults(seed: int, tmp_path: Path) -> None:
    """What the others do is told by `groupspec bench soak`, and is none of this test's."""
    BUILDS["java"].install()
    with Run(draw(seed, CLIENTS, FAULTS_MS), tmp_path) as run:
        outcome = run.execute()
    (tmp_path / "report.html").write_text(html(outcome, f"seed {seed}"), encoding="utf-8")
    assert of_reference(outcome) == [], "\n".join(lines(outcome, str(tmp_path)))
    assert sum(outcome.verdict.processed.values()) >= outcome.records > 5_000
    commits = {one.partitions[0]: one.last for one in outcome.happenings if one.kind == "committed"}
    assert sum(commits.values()) == outcome.records, "all was processed and all have closed: the ends are committed"


@pytest.mark.nightly
def test_M8_a_reference_that_gives_partitions_up_without_a_commit_is_found_to_double_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run can fail: this is what Kafka's classic consumer does in a cooperative group."""
    monkeypatch.setattr(member, "find_client", lambda _: mutated("M8-committed-once"))
    with Run(draw(7, ("reference", "reference", "reference"), 15_000), tmp_path) as run:
        outcome = run.execute()
    assert outcome.plan.rebalance == "cooperative"
    doubled = [one.text for one in of_reference(outcome) if one.promise == "doubled"]
    told = "\n".join(lines(outcome, str(tmp_path)))
    assert doubled, told
    assert all(" had processed up to " in text and " and committed was " in text for text in doubled), told
