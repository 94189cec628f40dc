"""Inequalities: what can be read, solved and eliminated, and that nothing is rounded."""

from __future__ import annotations

from itertools import product

import pytest

from groupspec.spec.expiry.linear import (
    NON_STRICT,
    STRICT,
    NotLinear,
    eliminate,
    holds,
    negation,
    parse,
    point,
    tidy,
    whole_point,
    written,
)

NAMES = ("beat", "interval", "latency")


def zone(*texts: str, arithmetic: int = NON_STRICT) -> list[tuple[int, ...]]:
    return [row for text in texts for row in parse(text, NAMES, arithmetic)]


def test_the_two_arithmetics_differ_in_one_instant() -> None:
    assert zone("expired(beat, interval)") == zone("beat >= interval")
    assert zone("expired(beat, interval)", arithmetic=STRICT) == zone("beat > interval")
    assert zone("until(beat, interval)") == zone("beat <= interval")
    assert zone("until(beat, interval)", arithmetic=STRICT) == zone("beat <= interval + 1")


@pytest.mark.parametrize("arithmetic", [NON_STRICT, STRICT])
def test_running_is_what_has_not_expired(arithmetic: int) -> None:
    (expired,), (running,) = (
        zone("expired(beat, interval)", arithmetic=arithmetic),
        zone("running(beat, interval)", arithmetic=arithmetic),
    )
    for numbers in product(range(4), repeat=3):
        assert holds(expired, numbers) != holds(running, numbers) != holds(negation(running), numbers)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("beat <= intervall", "'intervall' is no sum of beat, interval, latency"),
        ("beat * latency <= 3", "is no sum"),
        ("beat != interval", "NotEq is no comparison"),
        ("beat + interval", "must compare sums"),
        ("elapsed(beat, interval)", r"expired\(…\), running\(…\), until\(…\)"),
    ],
)
def test_what_is_not_linear_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(NotLinear, match=why):
        zone(text)


def test_a_solution_solves_and_none_means_none() -> None:
    rows = zone("beat + 2 * interval >= 7", "interval <= 2", "latency >= beat")
    found = whole_point(rows, 3)
    assert found is not None and all(holds(row, found) for row in rows)
    assert point(zone("beat >= 3", "beat + latency <= 2"), 3) is None


def test_a_zone_may_have_fractions_and_no_whole_numbers() -> None:
    rows = zone("2 * beat <= 3 + 0", "3 <= 3 * beat", "2 * interval >= 2 * beat + 1", "2 * interval <= 2 * beat + 1")
    assert point(rows, 3) is not None
    assert whole_point(rows, 3) is None


def test_elimination_keeps_exactly_the_shadow() -> None:
    rows = zone("beat >= interval", "beat <= latency", "beat <= 3")
    shadow = eliminate(rows, 0)
    for _, interval, latency in product([0], range(6), range(6)):
        some = any(all(holds(row, (beat, interval, latency)) for row in rows) for beat in range(10))
        assert all(holds(row, (0, interval, latency)) for row in shadow) == some


def test_elimination_refuses_what_would_not_be_exact() -> None:
    with pytest.raises(NotLinear, match="exact only with a coefficient 1 or -1"):
        eliminate(zone("2 * beat >= interval", "3 * beat <= latency"), 0)


def test_tidy_drops_what_follows_and_sees_what_is_empty() -> None:
    assert tidy(zone("beat >= 2", "beat >= 3", "beat + latency >= 3")) == tidy(zone("beat >= 3"))
    assert tidy(zone("beat >= 2", "beat <= 1")) is None


def test_an_inequality_reads_as_it_was_meant() -> None:
    assert (
        written(zone("expired(interval + latency, beat)", arithmetic=STRICT)[0], NAMES)
        == "beat + 1 <= interval + latency"
    )
