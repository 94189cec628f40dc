"""Every errand, on the reference's core: what the specification says must follow does."""

from __future__ import annotations

import pytest

from groupspec.conformance.stateful.errands import check
from groupspec.spec.errands import ERRANDS, Errand


def name(errand: Errand) -> str:
    """`O1-D3-OffsetFetch-UNSTABLE_OFFSET_COMMIT-asked-again_after_backoff`."""
    return "-".join([*errand.rules.split(), errand.request, errand.error, errand.when, errand.then])


@pytest.mark.parametrize("rebalance", ["eager", "cooperative"])
@pytest.mark.parametrize("errand", ERRANDS, ids=name)
def test_what_must_follow_follows(errand: Errand, rebalance: str) -> None:
    check(errand, cooperative=rebalance == "cooperative")
