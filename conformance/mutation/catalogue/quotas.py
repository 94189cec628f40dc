"""Mutants of a client that is over its quota."""

from __future__ import annotations

from groupspec.conformance.mutation.mutant import Method, mutant
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import LeaveGroupRequest
from groupspec.impl.network import connection
from groupspec.impl.network.versions import THROTTLED_FROM

SAID = (connection, "throttle_time_ms")


@mutant("W2-ignored", "W2", SAID, scenarios="throttled-on-the-way throttled-member")
def who_is_over_its_quota_goes_on_sending(_: Method, api: str, version: int, data: bytes) -> int:
    """An answer that says that the client is over its quota is followed by the next request as if it did not."""
    return 0


@mutant("W2-not-for-fetch", "W2", SAID, scenarios="throttled-member throttled-member-cooperative")
def only_requests_about_the_group_count(original: Method, api: str, version: int, data: bytes) -> object:
    """After a Fetch that is answered so the next one is sent at once."""
    return 0 if api == "Fetch" else original(api, version, data)


@mutant("W2-leaves-at-once", "W2", connection.Connection.submit, scenarios="close-while-throttled")
def close_does_not_mind_the_quota(
    original: Method, self: connection.Connection, request: SendRequest, deadline_ms: int
) -> None:
    """LeaveGroup is sent at once, although the client is over its quota."""
    if isinstance(request.request, LeaveGroupRequest):
        self._send(request, deadline_ms)
    else:
        original(self, request, deadline_ms)


@mutant("W2-waited-twice", "W2", SAID, scenarios="throttled-by-an-old-broker")
def what_the_broker_held_back_is_waited_for_again(original: Method, api: str, version: int, data: bytes) -> object:
    """An answer of a version before KIP-219, which the broker held back, is followed by the same wait once more."""
    return original(api, max(version, THROTTLED_FROM.get(api, version)), data)
