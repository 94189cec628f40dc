"""The requests and sessions that may reach the group alone: which facts go together, and when a correct client may send them.

The facts of a request are the inputs of its event. Each combination that the group could tell from another is an action of its own; a
fact that no check reads before the request is refused is left as it is by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Final, TypeAlias

from groupspec.spec import vocabulary
from groupspec.spec.composition.group_records import STATIC
from groupspec.spec.composition.machines import conjunction
from groupspec.spec.terms import Value

Facts: TypeAlias = Mapping[str, Value]

_REQUESTERS: Final = vocabulary.VARIABLES["requester"].domain
_NO_YES: Final = (False, True)
_BARE: Final = "(phase == 'empty' or phase == 'gone')"
_FREE: Final = "not member[i] and not pending[i]"

_NAMED: Final[Mapping[Value, str]] = MappingProxyType(
    {
        "member": f"member[i] or {_BARE}",
        "pending": "pending[i]",
        "fenced": f"i == {STATIC} and (member[i] or {_BARE})",
        "unknown": "True",
        "none": "True",
    }
)
"""When an id may be called what. An Empty group and one that is gone are asked by anybody."""


def _joins() -> Iterator[Facts]:
    plain: dict[str, Value] = dict.fromkeys(vocabulary.EVENTS["group_join"].inputs, False)
    plain |= {"requires_member_id": True, "in_session_range": True, "has_room": True, "protocol_accepted": True}
    who: list[dict[str, Value]] = [
        {"requester": "none"},
        {"requester": "none", "requires_member_id": False},
        {"requester": "none", "fresh_instance": True},
        {"requester": "none", "replaces_static": True},
        {"requester": "pending"},
        {"requester": "member"},
        {"requester": "unknown"},
        {"requester": "fenced"},
    ]
    for one, (ranged, room, protocol) in product(who, product(_NO_YES, repeat=3)):
        checked = {"in_session_range": ranged, "has_room": room, "protocol_accepted": protocol}
        facts = {**plain, **one, **checked}
        yield facts
        if ranged and room and protocol and facts["replaces_static"]:
            yield {**facts, "protocol_changes": True}
        if ranged and room and protocol and facts["requester"] == "member":
            yield from ({**facts, "metadata_changed": m, "is_leader": a} for m, a in ((False, True), (True, False), (True, True)))  # fmt: skip


def _syncs() -> Iterator[Facts]:
    for requester, current, protocol in product(_REQUESTERS, _NO_YES, _NO_YES):
        facts = {"requester": requester, "generation_matches": current, "protocol_accepted": protocol, "is_leader": False}  # fmt: skip
        yield facts
        if requester == "member" and current:
            yield {**facts, "is_leader": True}


def _heartbeats() -> Iterator[Facts]:
    for requester, current in product(_REQUESTERS, _NO_YES):
        yield {"requester": requester, "generation_matches": current}


def _commits() -> Iterator[Facts]:
    for requester, current, known, told in product(_REQUESTERS, _NO_YES, _NO_YES, _NO_YES):
        if known or requester != "pending":
            yield {"requester": requester, "generation_matches": current, "group_known": known, "told_of_missing_group": told}  # fmt: skip


def _leaves() -> Iterator[Facts]:
    for requester in _REQUESTERS:
        yield {"requester": requester, "replaces_static": False}
    yield {"requester": "none", "replaces_static": True}


def _sessions() -> Iterator[Facts]:
    for requester in _REQUESTERS:
        yield {"requester": requester, "waits": False}
    yield {"requester": "member", "waits": True}


FACTS_OF: Final[Mapping[str, Callable[[], Iterator[Facts]]]] = MappingProxyType(
    {
        "group_join": _joins,
        "group_sync": _syncs,
        "group_heartbeat": _heartbeats,
        "group_commit": _commits,
        "group_leave": _leaves,
        "group_session_expired": _sessions,
    }
)
"""By event that is about one id: every combination of facts that it may come with."""


def may_come(event: str, facts: Facts) -> str:
    """When a correct environment may send it, about id `i`."""
    return conjunction(*_conditions(event, facts))


def _conditions(event: str, facts: Facts) -> Iterator[str]:
    requester = facts["requester"]
    if event == "group_session_expired" and requester == "member":
        yield "member[i]"
        yield f"(parked[i] != 'nothing' and not is_new[i]) == {facts['waits']}"
    elif facts.get("replaces_static"):
        bare = "phase == 'gone'" if event == "group_join" else _BARE
        yield f"i == {STATIC} and (member[i] or {bare})"
    elif facts.get("fresh_instance"):
        yield f"i == {STATIC} and (not member[i] or phase == 'gone')"
    elif event == "group_join" and requester == "none":
        yield f"i != {STATIC} and ({_FREE} or phase == 'gone')"
    else:
        yield _NAMED[requester]
    if not facts.get("has_room", True):
        room = "phase == 'joining' or phase == 'gone'"
        yield room if requester == "member" else "phase != 'empty'"
    if not facts.get("group_known", True):
        yield "phase == 'empty' and all(not pending[j] for j in members)"
