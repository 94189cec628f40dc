"""Kit and trace check say the same of a run, wherever both can judge (review-traces 6, review-spec C)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupspec.conformance.wire.agreement import disagreements
from groupspec.conformance.wire.recording import judge_recording, load, recordings_in

CORPUS = Path(__file__).parents[1] / "recorded"
RECORDED = recordings_in([CORPUS])


@pytest.mark.parametrize("file", RECORDED, ids=[file.name for file in RECORDED])
def test_kit_and_trace_check_agree_on_a_recorded_run(file: Path) -> None:
    assert list(disagreements(judge_recording(load(file), file))) == []
