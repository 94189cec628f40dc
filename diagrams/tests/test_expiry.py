"""The page and the pictures of the theorems about time."""

from __future__ import annotations

import pytest

from groupspec.diagrams.expiry import LANES, MOVES, boundary_svg, conditions, expiry_markdown
from groupspec.spec.expiry.theorems import THEOREMS


def test_every_move_of_every_model_has_words() -> None:
    actions = {action for theorem in THEOREMS.values() for part in theorem.parts for action in part.actions}

    assert actions == set(MOVES)
    assert {lane for source, target, *_ in MOVES.values() for lane in (source, target)} == {*LANES, ""}


@pytest.mark.parametrize("name", THEOREMS)
def test_a_boundary_case_has_a_picture(name: str) -> None:
    svg = boundary_svg(THEOREMS[name])

    assert svg.startswith("<svg") and name in svg


def test_a_strict_clock_is_written_with_the_other_sign() -> None:
    poll = THEOREMS["poll-limit"]

    assert conditions(poll, 0) == ["max_poll <= processing"]
    assert conditions(poll, 1) == ["max_poll < processing"]


def test_the_page_says_what_kafkas_defaults_bear() -> None:
    page = expiry_markdown()

    assert "| session-stable | 4 949 ms | 22 449 ms |" in page  # a latency beyond the interval counts double
    assert "| session-stable-pipelined | 6 899 ms | 41 899 ms |" in page
    assert "| poll-limit | 299 999 ms |" in page
    assert "| rebalance-in-poll | 296 799 ms |" in page
    assert "| rebalance-read-late | 296 699 ms |" in page
