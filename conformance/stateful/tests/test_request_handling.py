"""Every case, on the reference's core: what the specification says must follow does."""

from __future__ import annotations

import pytest

from groupspec.conformance.stateful.tests.request_handling import check
from groupspec.spec.request_handling import HANDLINGS, Handling


def name(case: Handling) -> str:
    """`O1-D3-OffsetFetch-UNSTABLE_OFFSET_COMMIT-asked-again_after_backoff`."""
    return "-".join([*case.rules.split(), case.request, case.error, case.when, case.then])


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("case", HANDLINGS, ids=name)
def test_what_must_follow_follows(case: Handling, rebalance: str) -> None:
    check(case, cooperative=rebalance == "cooperative")
