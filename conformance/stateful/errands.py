"""Errands, checked: what the specification's table of errands says must follow does follow, until all is well again.

`spec/errands.py` says what must follow from each happening in its situation, in words of two closed lists. `situations.py`
brings a core into the situation, `consequences.py` watches what comes out of it. What to expect stands in the table alone.
"""

from __future__ import annotations

from groupspec.conformance.stateful.consequences import CONSEQUENCES
from groupspec.conformance.stateful.situations import SITUATIONS
from groupspec.conformance.stateful.stage import Stage
from groupspec.spec.errands import Errand


def check(errand: Errand, cooperative: bool = False) -> None:
    """Bring a core into the situation, let it happen, and see what follows.

    Raises:
        Divergence: something else follows than the specification says.
    """
    reset = ("earliest", "none") if errand.then == "position_reset" else ("earliest",)
    for policy in reset:
        stage = Stage(cooperative, errand.then == "commit_sent", policy)
        stage.story.append(f"{errand.request} {errand.error}, {errand.when}: {errand.then} ({errand.rules})")
        SITUATIONS[errand.when](stage, errand)
        CONSEQUENCES[errand.then](stage, errand)
