"""The benchmark of reading, with few records: every client reads all of them, and every figure has its peer."""

from __future__ import annotations

import pytest

from groupspec.conformance.benchmarks.consume import OURS, PEERS, Load, measure
from groupspec.conformance.benchmarks.readers.__main__ import NAMES, Progress


@pytest.mark.real_broker
def test_every_client_reads_a_topic_of_a_real_broker() -> None:
    assert set(NAMES) == {*OURS, *PEERS}
    figures = measure(lambda doing: None, loads=(Load("few", 4_000, 100),), rounds=1)
    assert [(figure.name, figure.against) for figure in figures] == [
        (name, peer)
        for own in OURS
        for name, peer in [*((f"few, {own}", peer) for peer in PEERS), (f"CPU, few, {own}", "aiokafka")]
    ]
    assert all(figure.ratio is not None and figure.ratio > 0 for figure in figures)


def test_reading_is_done_when_all_records_have_come_and_the_clock_starts_with_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(count=700, idle_s=0)
    assert [progress.is_done(polled) for polled in (0, 500, 0, 200)] == [False, False, False, True]
    progress.tell()
    assert '"cpu_s"' in capsys.readouterr().out
