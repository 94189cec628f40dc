"""The requests and sessions that may reach the group alone.

Which facts go together, and when a correct client may send them.

The facts of a request are the inputs of its event. Each combination that the group could tell from another is an action
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Final, TypeAlias

from groupspec.spec import vocabulary
from groupspec.spec.composition.blocks import conjunction
from groupspec.spec.composition.group_records import STATIC
from groupspec.spec.terms import NO_YES, Value

Facts: TypeAlias = Mapping[str, Value]

_USUAL: Final = {name: variable.initial for name, variable in vocabulary.VARIABLES.items() if variable.kind == "input"}
_REQUESTERS: Final = vocabulary.VARIABLES["requester"].domain
_AWAY: Final = "(phase == 'gone' or phase == 'loading')"
_BARE: Final = "(phase == 'empty' or phase == 'gone' or phase == 'loading')"
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
"""When an id may be called what. An Empty group, and one that is gone or being loaded, are asked by anybody."""


_OLD: Final[Facts] = {"requires_member_id": False}
_CHANGED: Final[Facts] = {"metadata_changed": True}
_LEADS: Final[Facts] = {"is_leader": True}

_WHO_JOINS: Final[tuple[Facts, ...]] = (
    {"requester": "none"},
    {"requester": "none", **_OLD},
    {"requester": "none", "fresh_instance": True},
    {"requester": "none", "replaces_static": True},
    {"requester": "none", "replaces_static": True, "protocol_changes": True},
    {"requester": "pending"},
    {"requester": "member"},
    {"requester": "member", **_LEADS},
    {"requester": "member", **_CHANGED},
    {"requester": "member", **_CHANGED, **_LEADS},
    {"requester": "unknown"},
    {"requester": "fenced"},
)
"""Who sends JoinGroup, and with what: each may fail each of the checks."""

_ALSO_JOIN: Final[tuple[Facts, ...]] = (
    {"requester": "none", "replaces_static": True, **_CHANGED},
    {"requester": "none", "protocol_changes": True},
    {"requester": "member", **_OLD},
    {"requester": "unknown", **_OLD},
    {"requester": "fenced", **_CHANGED},
)
"""The same in an older version, or with other protocols: nothing that the group looks at."""


def _joins() -> Iterator[Facts]:
    usual = {name: _USUAL[name] for name in vocabulary.EVENTS["group_join"].inputs}
    for who, (ranged, room, protocol) in product(_WHO_JOINS, product(NO_YES, repeat=3)):
        yield {**usual, **who, "in_session_range": ranged, "has_room": room, "protocol_accepted": protocol}
    yield from ({**usual, **who} for who in _ALSO_JOIN)


def _syncs() -> Iterator[Facts]:
    for requester, current, protocol, leads in product(_REQUESTERS, NO_YES, NO_YES, NO_YES):
        if requester == "member" or not leads:
            yield {"requester": requester, "generation_matches": current, "protocol_accepted": protocol,
                   "is_leader": leads}  # fmt: skip


def _heartbeats() -> Iterator[Facts]:
    for requester, current in product(_REQUESTERS, NO_YES):
        yield {"requester": requester, "generation_matches": current}


def _commits() -> Iterator[Facts]:
    for requester, current, known, told in product(_REQUESTERS, NO_YES, NO_YES, NO_YES):
        if known or requester != "pending":
            yield {"requester": requester, "generation_matches": current, "group_known": known,
                   "reports_missing_group": told}  # fmt: skip


def _leaves() -> Iterator[Facts]:
    for requester in _REQUESTERS:
        yield {"requester": requester, "replaces_static": False}
    yield {"requester": "none", "replaces_static": True}


def _sessions() -> Iterator[Facts]:
    for requester in _REQUESTERS:
        yield {"requester": requester, "is_awaiting": False}
    yield {"requester": "member", "is_awaiting": True}


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
        yield f"(awaiting[i] != 'nothing' and not is_new[i]) == {facts['is_awaiting']}"
    elif facts.get("replaces_static"):
        bare = _AWAY if event == "group_join" else _BARE
        yield f"i == {STATIC} and (member[i] or {bare})"
    elif facts.get("fresh_instance"):
        yield f"i == {STATIC} and (not member[i] or {_AWAY})"
    elif event == "group_join" and requester == "none":
        yield f"i != {STATIC} and ({_FREE} or {_AWAY})"
    else:
        yield _NAMED[requester]
    if not facts.get("has_room", True):
        yield "phase != 'syncing' and phase != 'stable'" if requester == "member" else "True"
    if not facts.get("group_known", True):
        yield "phase == 'empty' and all(not pending[j] for j in members)"


def told(facts: Facts) -> Iterator[str]:
    """The facts of a request as parts of a name: those that are not as usual."""
    for name, value in facts.items():
        if name == "requester":
            yield str(value) if value != "none" else "no_id"
        elif value is not _USUAL[name]:
            yield name if value else f"not_{name}"
