"""When nothing could go on: what several clocks say, put together."""

from __future__ import annotations

from groupspec.conformance.wire.stalls import together


def test_what_any_clock_says_counts_once() -> None:
    assert together([(10, 20), (50, 60)], [(15, 30), (60, 70), (90, 95)]) == ((10, 30), (50, 70), (90, 95))
    assert together([], [(1, 2)]) == ((1, 2),)
