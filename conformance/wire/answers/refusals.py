"""Which errors a broker can give to a request of the kit's client: computed from the group's table.

The client has no instance id, its session timeout is within the broker's range, and it sends JoinGroup v4 or later
(KIP-394): what the table says to others is no answer to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

from groupspec.spec import Machine, load_machine
from groupspec.spec.datafile import Record, read_record
from groupspec.spec.terms import Value
from groupspec.spec.vocabulary import VARIABLES

GROUP_EVENTS: Final = {
    "JoinGroup": "group_join",
    "SyncGroup": "group_sync",
    "Heartbeat": "group_heartbeat",
    "LeaveGroup": "group_leave",
    "OffsetCommit": "group_commit",
}
"""The requests that the group's table answers."""
OF_THE_CLIENT: Final[dict[str, Value]] = {
    "fresh_instance": False,
    "replaces_static": False,
    "requires_member_id": True,
    "in_session_range": True,
    "reports_missing_group": False,  # OffsetCommit v9: GROUP_ID_NOT_FOUND; to any other, ILLEGAL_GENERATION
}
"""What is so in each of its requests."""
MEMBERS_PROTOCOL: Final[dict[str, Value]] = {"protocol_accepted": True}
"""SyncGroup names the protocol that JoinGroup's answer named."""
SUCCESSES: Final = ("NONE", "CURRENT_GENERATION", "STORED_ASSIGNMENT")
_PREFIX: Final = "ANSWER_"


class _Refusal(Record, frozen=True):
    """`requests` and `errors`, separated by blanks: any of these errors is given to any of these requests."""

    requests: str
    errors: str
    source: str


class _Refusals(Record, frozen=True):
    refusals: tuple[_Refusal, ...]


@cache
def errors(request: str, requester: str) -> dict[str, str]:
    """Every error that this request can be answered with, and the source.

    `requester`: whose id it names, see `spec.broker_group`: none, pending, member; "" for a request of no group's. A
    member's and a pending id may be unknown to the group by the time.
    """
    found = dict.fromkeys(_of_group(request, requester), "spec/broker_group.py") if request in GROUP_EVENTS else {}
    listed = read_record(Path(__file__).with_name("refusals.toml"), _Refusals).refusals
    beside = {
        error: each.source for each in listed if request in each.requests.split() for error in each.errors.split()
    }
    return beside | found


def _of_group(request: str, requester: str) -> Iterator[str]:
    """The answers, other than success, in all cells of its event."""
    group = load_machine("broker_group")
    event = GROUP_EVENTS[request]
    fixed = OF_THE_CLIENT | (MEMBERS_PROTOCOL if request == "SyncGroup" else {})
    whose: tuple[Value, ...] = ("none",) if requester == "none" else (requester, "unknown")
    domains = [
        whose if name == "requester" else (fixed[name],) if name in fixed else VARIABLES[name].domain
        for name in group.events[event].inputs
    ]
    inputs = [dict(zip(group.events[event].inputs, values, strict=True)) for values in product(*domains)]
    words = {word for state in group.states for each in inputs for word in _emitted(group, state, event, each)}
    answers = sorted(word.removeprefix(_PREFIX) for word in words if word.startswith(_PREFIX))
    yield from (answer for answer in answers if answer not in SUCCESSES)


def _emitted(group: Machine, state: str, event: str, inputs: dict[str, Value]) -> tuple[str, ...]:
    return group.step(group.state(state), event, **inputs).emitted
