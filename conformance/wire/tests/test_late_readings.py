"""What a client sent before it knew, and the kit read late, as it stood still, breaks no rule; read in time it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from groupspec.conformance.checks import judge
from groupspec.conformance.history.entry import Entry
from groupspec.conformance.wire.tests import stories, stories_of_applications
from groupspec.conformance.wire.tests.stories import BOTH, WireRun
from groupspec.conformance.wire.tests.stories_of_applications import instead
from groupspec.conformance.wire.tests.test_rules import BROKEN


def after_the_round(entry: Entry) -> bool:
    return entry.api in ("OffsetFetch", "Fetch") and entry.at_us > 957_000


def of_the_assignment_before(story: WireRun) -> None:
    story.fetch(1_030, {BOTH[0]: 6})
    story.committed(1_035, {BOTH[0]: 6})
    story.fetch(1_040, {BOTH[0]: 6})


def looked_up_where_it_begins(story: WireRun) -> None:
    story.committed(970, {BOTH[0]: 6})
    story.fetch(1_030, {BOTH[0]: 6})
    story.earliest(1_035, BOTH[0], 0)


def after_the_seek(entry: Entry) -> bool:
    return entry.api == "Fetch" and entry.at_us > 205_000


def where_it_was_before_it(story: WireRun) -> None:
    story.fetch(300, {BOTH[0]: 6})
    story.fetch(310, {BOTH[0]: 1})


Spoil = Callable[[WireRun], None]
Row = tuple[str, Callable[[], WireRun], Spoil, tuple[int, int]]
ROWS: Final[tuple[Row, ...]] = (
    ("Q5", stories.eager_rebalance, lambda s: s.fetch(740, {BOTH[0]: 6}), (645, 739)),
    ("S1", stories.eager_rebalance, lambda s: s.fetch(740, {BOTH[0]: 6}), (655, 739)),
    ("O1", stories.eager_rebalance, instead(after_the_round, of_the_assignment_before), (957, 1_029)),
    ("O1", stories.eager_rebalance, instead(after_the_round, looked_up_where_it_begins), (957, 1_029)),
    ("O2", stories_of_applications.paused_over_a_round, lambda s: s.fetch(1_200, {BOTH[0]: 6}), (990, 1_199)),
    ("O3", stories_of_applications.sought, instead(after_the_seek, where_it_was_before_it), (206, 299)),
    ("O5", stories_of_applications.paused, lambda s: s.fetch(300, {BOTH[0]: 6}), (210, 299)),
)
"""Rule, the good run, what is read late (ms), and when the kit stood still."""


@pytest.mark.parametrize(("rule", "good", "spoil", "stall"), ROWS, ids=[f"{row[0]} {row[1].__name__}" for row in ROWS])
def test_what_was_read_late_proves_nothing(
    rule: str, good: Callable[[], WireRun], spoil: Spoil, stall: tuple[int, int]
) -> None:
    story = good()
    spoil(story)
    history = story.history()
    assert judge(rule, history).verdict in BROKEN
    from_us, to_us = 1000 * stall[0], 1000 * stall[1]
    assert judge(rule, replace(history, stalls_us=((from_us, to_us),))).verdict not in BROKEN
    before = replace(history, stalls_us=((2 * from_us - to_us, from_us),))
    assert judge(rule, before).verdict in BROKEN, "a stall before it excuses nothing"
