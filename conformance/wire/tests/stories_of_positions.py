"""Positions that are kept over a round: the committed offset is not asked for (O1), and no record comes twice (O5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupspec.conformance.wire.tests.stories import BOTH, WireRun, eager_rebalance
from groupspec.conformance.wire.tests.stories_of_leaders import without

SIXES: Final = dict.fromkeys(BOTH, 6)
EIGHTS: Final = dict.fromkeys(BOTH, 8)


def asks_for_nothing(story: WireRun) -> None:
    """After the round neither an OffsetFetch nor a Fetch."""
    without(lambda e: e.at_us > 600_000 and e.api in ("OffsetFetch", "Fetch"))(story)


def goes_on(story: WireRun) -> None:
    """A poll returns what follows on the last one before the round."""
    for partition in BOTH:
        story.records(1_040, partition, 6, 7)


def what_was_fetched_before(story: WireRun) -> None:
    """The next Fetch goes out before a poll returns what had come before the round."""
    asks_for_nothing(story)
    story.fetch(1_025, EIGHTS)
    goes_on(story)


def in_a_fetch_session(story: WireRun) -> None:
    """The first Fetch after the round names nothing: the session goes on (seen of kafka-python 3.0.12 at Kafka 3.9)."""
    asks_for_nothing(story)
    story.fetch(80, SIXES)
    story.fetch(1_015, {}, brings=BOTH)
    story.fetch(1_030, EIGHTS)
    goes_on(story)


def returned_before_the_next_fetch(story: WireRun) -> None:
    """A poll returns what had come before the round, and only then the next Fetch goes out."""
    asks_for_nothing(story)
    goes_on(story)
    story.fetch(1_045, EIGHTS)
    for partition in BOTH:
        story.records(1_200, partition, 8, 9)


def still_out(story: WireRun) -> None:
    """Java: a Fetch that was out over the round brings what is due at the committed offset, and the next goes on."""
    returned_before_the_next_fetch(story)
    story.committed(970, SIXES)


def soon_after_the_callback(story: WireRun) -> None:
    """While a Fetch that was sent before the answer to SyncGroup could still come."""
    asks_for_nothing(story)
    story.fetch(980, SIXES)


KEPT: Final = {
    "and what was fetched before": what_was_fetched_before,
    "and what was fetched before comes before the next Fetch": returned_before_the_next_fetch,
    "in a fetch session that goes on": in_a_fetch_session,
}
ROWS: Final[tuple[tuple[str, str, Callable[[], WireRun], Callable[[WireRun], None]], ...]] = (
    *(("O1", f"positions are kept over a round, {what}", eager_rebalance, spoil) for what, spoil in KEPT.items()),
    ("O1", "and the listener knows of it", eager_rebalance, soon_after_the_callback),
)
"""Rule, what is wrong, the good run, and how it is spoiled."""
ALLOWED: Final = (
    *(
        (rule, f"positions are kept over a round, {what}", eager_rebalance, spoil)
        for what, spoil in KEPT.items()
        for rule in ("O4", "O5")
    ),
    *((rule, "what a Fetch brings that was out over a round", eager_rebalance, still_out) for rule in ("O1", "O4")),
)
"""And what is right in it."""
