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
    """Broken by `change`, one of the first `within` scenarios that can show it tells `told`, a regular expression."""
    numbers = (number for number in count(1) if can_show(draw(number)))
    with Seam() as seam:
        change(seam)
        failures = (search(1, number, shrink=False, design=design) for number in islice(numbers, within))
        failure = next(filter(None, failures), None)
    assert failure is not None, f"not found in {within} schedules"
    assert re.search(told, str(failure.outcome.error)), failure
