"""The reference coordinator under a log that is slow and refuses, and when its group moves or is deleted."""

from __future__ import annotations

from collections import Counter

from groupspec.conformance.differential.failing_log import FailingLog

SEEDS = 40
STEPS = 400


def test_what_is_acknowledged_is_in_the_log_and_a_settled_group_is_the_one_that_the_log_has() -> None:
    done: Counter[str] = Counter()
    for seed in range(SEEDS):
        world = FailingLog(seed)
        for _ in range(STEPS):
            world.step()
        done += world.done
    kinds = ("GroupRecord", "OffsetsRecord", "GroupDeleted")
    assert {f"{kind} {how}" for kind in kinds for how in ("written", "refused")} <= set(done)
    assert done["compared"] > SEEDS and done["deleted"] > 0
