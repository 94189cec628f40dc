"""Request handling, checked: what the specification's table says must follow does follow, until all is well again.

`spec/request_handling.py` says, for each precondition and event, which postcondition must hold; both are names from
closed lists. `preconditions.py` establishes the precondition on a core, `postconditions.py` checks the postcondition.
What to expect stands in the table alone.
"""

from __future__ import annotations

from groupspec.conformance.stateful.tests.answered_core import AnsweredCore
from groupspec.conformance.stateful.tests.postconditions import POSTCONDITIONS
from groupspec.conformance.stateful.tests.preconditions import PRECONDITIONS
from groupspec.spec.request_handling import Handling


def check(case: Handling, cooperative: bool = False) -> None:
    """Bring a core into the situation, let it happen, and see what follows.

    Raises:
        Divergence: something else follows than the specification says.
    """
    reset = ("earliest", "none") if case.then == "position_reset" else ("earliest",)
    for policy in reset:
        core = AnsweredCore(cooperative, case.then == "commit_sent", policy)
        core.story.append(f"{case.request} {case.error}, {case.when}: {case.then} ({case.rules})")
        PRECONDITIONS[case.when](core, case)
        POSTCONDITIONS[case.then](core, case)
