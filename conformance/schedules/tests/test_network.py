"""What the network has seen is told, whatever the member makes of it."""

from __future__ import annotations

import pytest

from groupspec.conformance.schedules.further import draw
from groupspec.conformance.schedules.network import RacingTransport
from groupspec.conformance.schedules.requests import Requests
from groupspec.impl.scheduling import ScheduledRuntime
from groupspec.impl.scheduling.strategies import Listed


def test_use_after_the_end_is_told_at_the_end_though_the_member_gets_over_it_L4() -> None:
    with ScheduledRuntime(Listed(())) as runtime:
        transport = RacingTransport(runtime, Requests(draw(0)))
        transport.expect_whole()
        transport.close(0)
        with pytest.raises(AssertionError, match="after it was closed"):  # which a member may take for a failure
            transport.poll(0)
        with pytest.raises(AssertionError, match="after it was closed"):
            transport.expect_whole()
