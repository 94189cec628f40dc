"""What can happen to a broker's group.

Requests and timers, with what it knows of its members, as far as that fits together.

The group's machine is told about its members by inputs, and most combinations of those say nothing: nobody is fenced
and new at once. Left are those that a coordinator can be in. How many members there are is not said, only what follows
from it.

Whether the join phase is over is looked at within the same step, so the events that may begin or end it say what will
be found then (`all_joined`, `members_left`, `some_rejoined`); where nothing is looked at, they say it in one way only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from groupspec.spec import vocabulary
from groupspec.spec.compiler.member import IllegalEvent, Member, MemberState, Offer
from groupspec.spec.terms import Value

_CHECK = "group_join_phase_checked"
_FOUND = ("all_joined", "members_left", "some_rejoined")
_MAY_BE_FOUND = (
    (False, False, False),
    (False, True, False),
    (False, True, True),
    (True, False, False),
    (True, True, True),
)
"""Whoever has rejoined is left; if all have joined and someone is left, someone has joined."""
_NOT_LOOKED_AT = (False, True, True)
CHECKING = ("group_join", "group_leave", "group_session_expired", "group_sync_timeout", "group_assignment_lost")
"""Events on which the group may look whether the join phase is over."""
_NO_YES = (False, True)
_WHO = ("none", "pending", "member", "unknown", "fenced")

Inputs = dict[str, Value]


def group_offers() -> tuple[Offer, ...]:
    """Every event from outside the coordinator, with every value of its inputs that fits together."""
    return tuple(
        Offer(event.name, tuple(inputs.items()))
        for event in vocabulary.EVENTS.values()
        if event.name.startswith("group_") and event.kind != "internal"
        for told in _told(event.name)
        for inputs in _with_found(event.name, told)
    )


def group_can_be(member: Member, state: MemberState, offer: Offer) -> bool:
    """Whether a group in this state can meet the event.

    What the join phase would find is said once where nobody looks.
    """
    told, name = dict(offer.inputs), member.state_of(state, "broker_group")
    if told.get("has_room") is False and (name == "Empty" or (name != "PreparingRebalance" and _is_member(told))):
        return False
    if told.get("group_known") is False and name != "Empty":
        return False
    if offer.event not in CHECKING or _found(told) == _NOT_LOOKED_AT:
        return True
    try:
        moves = member.react(state, offer.event, told).moves
    except IllegalEvent:
        return False
    looked = any(move.row.event == _CHECK for move in moves)
    # A JoinGroup that awaits its answer is one that has been sent again.
    return looked and (offer.event != "group_join" or told["some_rejoined"] is True)


def _is_member(told: Inputs) -> bool:
    return told["requester"] == "member"


def _found(told: Inputs) -> tuple[Value, ...]:
    return tuple(told[name] for name in _FOUND)


def _with_found(event: str, told: Inputs) -> Iterator[Inputs]:
    if event not in CHECKING:
        yield told
        return
    for found in _MAY_BE_FOUND:
        yield told | dict(zip(_FOUND, found, strict=True))


def _told(event: str) -> Iterator[Inputs]:
    match event:
        case "group_join":
            yield from _joins()
        case "group_sync":
            for who, fits, accepted, leads in product(_WHO, _NO_YES, _NO_YES, _NO_YES):
                if who == "member" or not leads:
                    said: Inputs = {"requester": who, "generation_matches": fits}
                    yield {**said, "protocol_accepted": accepted, "is_leader": leads}
        case "group_commit":
            for who, fits in product(_WHO, _NO_YES):
                for known, told in ((True, True), (False, False), (False, True)):
                    said = {"requester": who, "generation_matches": fits}
                    yield {**said, "group_known": known, "reports_missing_group": told}
        case "group_leave":
            for who in _WHO:
                yield {"requester": who, "replaces_static": False}
            yield {"requester": "none", "replaces_static": True}
        case "group_session_expired":
            for who in _WHO:
                yield {"requester": who, "is_awaiting": False}
            yield {"requester": "member", "is_awaiting": True}
        case "group_rebalance_timeout" | "group_initial_delay_elapsed":
            newcomers: tuple[Inputs, ...] = ({"newcomer_seen": False}, {"newcomer_seen": True})
            for new in newcomers if event == "group_initial_delay_elapsed" else ({},):
                for left, rejoined in ((False, False), (True, False), (True, True)):
                    yield {**new, "members_left": left, "some_rejoined": rejoined}
        case _:
            inputs = vocabulary.EVENTS[event].inputs
            for values in product(*(vocabulary.VARIABLES[name].domain for name in inputs)):
                yield dict(zip(inputs, values, strict=True))


def _joins() -> Iterator[Inputs]:
    """JoinGroups: three checks that may fail in any combination (their order is what G8 says), and who asks."""
    plain = {name: vocabulary.VARIABLES[name].initial for name in vocabulary.EVENTS["group_join"].inputs}
    asking: list[Inputs] = [{"requester": who} for who in ("pending", "unknown", "fenced")]
    for changed, leads in product(_NO_YES, _NO_YES):
        asking.append({"requester": "member", "metadata_changed": changed, "is_leader": leads})
    for fresh, required in product(_NO_YES, _NO_YES):
        asking.append({"requester": "none", "fresh_instance": fresh, "requires_member_id": required})
    for changes in _NO_YES:
        asking.append({"requester": "none", "replaces_static": True, "protocol_changes": changes})
    for asked, in_range, room, accepted in product(asking, _NO_YES, _NO_YES, _NO_YES):
        yield {**plain, **asked, "in_session_range": in_range, "has_room": room, "protocol_accepted": accepted}
