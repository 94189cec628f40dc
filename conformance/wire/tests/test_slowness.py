"""Of stories in which answers are slow: what they ask for can be done in the time that they give."""

from __future__ import annotations

import pytest

from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.scenario_context import WITHIN_MS
from groupspec.conformance.wire.scenarios import find_cases
from groupspec.conformance.wire.scenarios.slowness import SLOWER_MS
from groupspec.conformance.wire.virtual.run import Trial, run_apart
from groupspec.impl.core.messages import FetchResponse


def end_of_logs(log: list[Entry]) -> int:
    """How many records all partitions have, as Fetch was told last."""
    ends: dict[object, int] = {}
    for entry in log:
        if isinstance(entry.message, FetchResponse):
            ends |= {name: each.high_watermark for name, each in entry.message.partitions.items()}
    return sum(ends.values())


@pytest.mark.realtime
def test_O1_who_waits_for_a_heartbeat_and_a_commit_after_each_record_can_read_all_in_time() -> None:
    """As kafkajs does: 85 s were needed, and eight given."""
    [case] = find_cases(["slow-answers/coordinator"])
    log = [*run_apart(Trial(case, keep_log=True)).log]
    stable = next(number for number, entry in enumerate(log) if (entry.kind, entry.text) == ("milestone", "stable"))
    records = end_of_logs(log) - end_of_logs(log[:stable])
    assert records > 0
    assert records * 2 * SLOWER_MS < WITHIN_MS
