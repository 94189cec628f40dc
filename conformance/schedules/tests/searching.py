"""What a test does that breaks something: it searches among the scenarios that can show it, and reads what is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count, islice

from groupspec.conformance.mutation.mutant import Seam
from groupspec.conformance.schedules.campaign import search
from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.scenario import Scenario
from groupspec.impl.threads.designs import Design


def expect_found(
    change: Callable[[Seam], None],
    can_show: Callable[[Scenario], bool],
    told: str,
    within: int,
    design: Design = "background",
) -> None:
    """Broken by `change`, one of the first `within` scenarios that can show it tells `told`, a regular expression.

    Another promise may be broken too, and be told in scenarios before.
    """
    numbers = (number for number in count(1) if can_show(draw(number)))
    with Seam() as seam:
        change(seam)
        failures = (search(1, number, shrink=False, design=design) for number in islice(numbers, within))
        errors = (str(failure.outcome.error) for failure in failures if failure is not None)
        assert any(re.search(told, error) for error in errors), f"not told in {within} schedules"
