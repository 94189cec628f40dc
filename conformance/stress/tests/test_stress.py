"""The stress run on Apache Kafka: the reference, in both designs, loses nothing, doubles nothing, and does not hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.stress.plan import draw
from groupspec.conformance.stress.report import lines, of_reference
from groupspec.conformance.stress.run import Run

pytestmark = pytest.mark.real_broker

CLIENTS = ("reference", "reference-heartbeat", "reference", "kafka-python")
FAULTS_MS = 30_000


def test_the_reference_keeps_its_promises_beside_another_client_under_faults(tmp_path: Path) -> None:
    """What kafka-python does is told by `groupspec bench soak`, and is none of this test's."""
    with Run(draw(2, CLIENTS, FAULTS_MS), tmp_path) as run:
        outcome = run.execute()
    assert of_reference(outcome) == [], "\n".join(lines(outcome, str(tmp_path)))
    assert sum(outcome.verdict.processed.values()) >= outcome.records > 5_000
