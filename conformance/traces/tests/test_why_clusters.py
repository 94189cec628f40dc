"""Logs of several clusters in one call: groups of one name are not one group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from groupspec.conformance.commands.trace.why import command as why
from groupspec.conformance.traces.dialects import Clock
from groupspec.conformance.traces.tests.broker_lines import GROUP, BrokerLog
from groupspec.conformance.traces.why import Answer, Question, explain_logs

CAPTURES = Path(__file__).parent.parent / "captures"
SEVERAL = "look like several clusters"


def cluster(*generations: int, offset_ms: int = 0, broker: int = 1) -> BrokerLog:
    """A log in which members join a minute apart and form these generations."""
    log = BrokerLog(broker)
    log.say("Starting up.", 1 + offset_ms, whole_broker=True)
    for place, generation in enumerate(generations):
        log.join(f"c{generation}", generation - 1, place + 1)
    return log


def answered(folder: Path, logs: Sequence[BrokerLog]) -> Answer:
    files = [folder / f"{place}.log" for place in range(len(logs))]
    for file, log in zip(files, logs, strict=True):
        file.write_text(log.text())
    return explain_logs(Question(GROUP), files, Clock())


@pytest.mark.parametrize("broker", [1, 2])
def test_two_clusters_at_the_same_time_are_told(
    broker: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answered(tmp_path, [cluster(1, 2, 3), cluster(1, 2, 3, offset_ms=20_000, broker=broker)])
    first, *_ = answer.doubts()
    assert SEVERAL in first
    assert f"generation 1 of group {GROUP} was formed in {tmp_path / '0.log'}:5" in first
    assert f"groupspec trace why {GROUP} {tmp_path / '0.log'}" in first
    assert not any("missing" in doubt for doubt in answer.doubts())
    assert why.main([GROUP, str(tmp_path)], standalone_mode=False) == 4
    assert SEVERAL in capsys.readouterr().out.split("\n")[0]


@pytest.mark.parametrize(
    "logs",
    [
        [cluster(1, 2), cluster(3, 4, offset_ms=300_000, broker=2)],
        [cluster(1, 2), cluster(1, 2, offset_ms=300_000, broker=2)],
        [cluster(1, 2, 5), cluster(3, 4, offset_ms=120_000, broker=2)],
        [cluster(1, 2), cluster(1, 2)],
    ],
    ids=["moved", "created anew on another broker", "a clock that is ahead", "a copy"],
)
def test_one_cluster_is_one(logs: list[BrokerLog], tmp_path: Path) -> None:
    assert not any(SEVERAL in doubt for doubt in answered(tmp_path, logs).doubts())


def test_recordings_that_overlap_are_told_and_claim_no_holes() -> None:
    files = [CAPTURES / name / "broker.log" for name in ("02a-slow-java", "03b-sigstop-rdk")]
    (doubt,) = explain_logs(Question("g1"), files, Clock()).doubts()
    assert SEVERAL in doubt
    for file in files:
        assert not explain_logs(Question("g1"), [file], Clock()).doubts()
