"""Members of a consumer group (KIP-848): what their callbacks and commits tell is judged without a classic round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from groupspec.conformance.checks.checker import judge
from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import OF_A_CLASSIC_GROUP
from groupspec.conformance.wire.live_cases import LIVE_CASES
from groupspec.conformance.wire.tests.stories import BOTH, WireRun, assigned_and_read
from groupspec.spec.consumer_protocol import CONSUMER_PROTOCOL

CASE = LIVE_CASES["live-consumer/first"]


def life(close: Callable[[WireRun], None]) -> WireRun:
    """A member that is assigned both partitions at 15, reads them, and closes at 500."""
    story = WireRun("cooperative")
    story.settings = replace(story.settings, features=story.settings.features - OF_A_CLASSIC_GROUP)
    story.lookup(1)
    assigned_and_read(story, 15, 1)
    story.close(500, 20)
    close(story)
    story.callback(510, protocol.PartitionsRevoked)
    return story


def commits(story: WireRun) -> None:
    story.commit(505, 1, {BOTH[0]: 6, BOTH[1]: 6})


def verdicts(story: WireRun) -> dict[str, Verdict]:
    return {rule: judge(rule, story.history()).verdict for rule in ("C7", "L2", "L5", "M4", "O1", "O6")}


def test_a_correct_life_keeps_the_rules() -> None:
    assert set(verdicts(life(commits)).values()) == {Verdict.PASS}


def without(api: str) -> Callable[[WireRun], None]:
    def spoil(story: WireRun) -> None:
        story.entries = [entry for entry in story.entries if entry.api != api]

    return spoil


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [
        ("L5", without("OffsetCommit")),
        ("L5", lambda story: story.commit(507, 1, {BOTH[0]: 3})),
        ("O1", lambda story: story.fetch(22, {BOTH[0]: 4})),
        ("O1", without("OffsetFetch")),
        ("O6", without("ListOffsets")),
    ],
)
def test_a_spoilt_one_breaks_the_rule(rule: str, spoil: Callable[[WireRun], None]) -> None:
    story = life(commits)
    spoil(story)
    assert verdicts(story)[rule] is Verdict.FAIL


def test_it_is_judged_by_what_binds_it() -> None:
    assert all(CONSUMER_PROTOCOL[rule].binds != "no" for rule in CASE.rules)
    unseen = dict(CASE.scenario.unseen)
    seen = {rule for rule in CASE.rules if rule not in unseen}
    assert {"C1", "C3", "C5", "C7", "D4", "L2", "L5", "M4", "O1", "O4", "O5", "O6", "Q5", "W1"} <= seen
    assert all("ConsumerGroupHeartbeat" in why for why in unseen.values())
