"""One group in any environment: whatever its clients, its log, its clock and its brokers could do to it, in any order.

Nothing of the group's table is frozen. The environment is the most general one that is still correct: any request may
come at any time, from a member, a pending id, a newcomer, a stranger, or the old id of a static member; any timer may
run out, also just after it was stopped; the log takes or refuses what is written, now or after the group has gone on;
the coordinator may be gone, the next one reads what the log has, and the group may be deleted.

What the group's machine must know of its members is read off records that the model keeps (`group_records.py`): who is
a member, whose id is pending, whose request waits, who has yet to sync, which timer runs, what the log has. They change
with what the group says, and never with the state that it believes itself in. What must become of each event is said on
its own, from the request's side (`group_claims.py`), and the properties compare (`data/properties/group.toml`).

**What is left out.** There are two ids, a static member's and a dynamic one's: the machine asks only whether all have
joined, whether someone has, whether one is left. (With a third id the same holds, in twenty times as many states; the
tests look.) Who leads, whether a request names the group's generation, and whether there is room or a common protocol
is open at each request, and not remembered. A client may send a request while another of it awaits its answer: the
first one is forgotten then, as its connection is. Time is left out: a timer that runs may run out. Of two writes that
are under way only the last is followed to its end; that the group is empty is in the log at once. An Empty group is
also asked by ids that say they are a member's, or were replaced, and may be full: that cannot be, but the table has an
answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Final, TypeAlias

from groupspec.spec import vocabulary
from groupspec.spec.broker_group import ANSWERS, OF_ONE_MEMBER
from groupspec.spec.compiler.model import Action, Block, Call, Fairness, Model, ModelProperty, Procedure, Scope
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables
from groupspec.spec.composition import group_records
from groupspec.spec.composition.blocks import NO_FAULT, conjunction, each, sets
from groupspec.spec.composition.group_claims import ASSERTIONS, FACTS, after, checks
from groupspec.spec.composition.machines import MachineCode, model_of, said, said_variables, silence, texts
from groupspec.spec.properties import claimed
from groupspec.spec.terms import NO_YES, Value

MACHINE: Final = "broker_group"

_READ: Final = {
    "all_joined": group_records.OTHERS_JOINED,
    "members_left": group_records.SOME_LEFT,
    "some_rejoined": group_records.SOME_WAIT,
    "unsynced": group_records.SOME_UNSYNCED,
    "members_stored": group_records.SOME_LOGGED,
}
"""Inputs that are read off the records. `all_joined` goes with a session that has run out, and is about the others."""


def open_group_model(replaced: Table | None = None, observed: bool = False, size: int = 2) -> Model:
    """The model, of `size` ids. `replaced`: another table in the place of the specification's.

    `observed`: what ends with an event is kept until the next one, and so is which answers were given. Two models are
    compared by those. What the acts do stands in the records.
    """
    code = group_code(replaced or tables()[MACHINE, "eager", "deployed"], observed)
    return model_of(
        Scope("open-group"),
        [code],
        (*group_records.RECORDS, *group_records.MOMENTARY),
        _environment(code),
        faults=ASSERTIONS,
        procedures=(*checks(), *_moments(observed)),
        later=said_variables(ANSWERS) if observed else (),
        members=size,
        properties=claims(),
        doc=__doc__,
    )


def claims() -> tuple[ModelProperty, ...]:
    """What is claimed of one group in any environment."""
    return tuple(claimed("group"))


def group_code(table: Table, observed: bool = False) -> MachineCode:
    """A table as procedures of this model."""

    def before(_event: str, word: str) -> Block:
        return sets("acted = True" + (f"; {said(word)} = True" if observed and word in ANSWERS else ""))

    return MachineCode(table, words=group_records.words, before=before, indexed_events=OF_ONE_MEMBER)


def _moments(observed: bool) -> Iterator[Procedure]:
    """The beginning and the end of an event. That the group has acted is no observation; what its acts did is."""
    forgotten = group_records.END + silence(ANSWERS) if observed else ()
    over = sets("acted = False") if observed else group_records.END
    yield Procedure("event_comes", (), (), forgotten + group_records.BEGIN, "an event reaches the group")
    yield Procedure("event_is_over", (), (), over, "the group has done with the event")


# The environment ------------------------------------------------------------------------------------------------------

Facts: TypeAlias = Mapping[str, Value]

_USUAL: Final = {name: variable.initial for name, variable in vocabulary.VARIABLES.items() if variable.kind == "input"}
_REQUESTERS: Final = vocabulary.VARIABLES["requester"].domain
_AWAY: Final = "(phase == 'gone' or phase == 'loading')"
_BARE: Final = "(phase == 'empty' or phase == 'gone' or phase == 'loading')"
_FREE: Final = "not member[i] and not pending[i]"

_NAMED: Final[Mapping[Value, str]] = {
    "member": f"member[i] or {_BARE}",
    "pending": "pending[i]",
    "fenced": f"i == {group_records.STATIC} and (member[i] or {_BARE})",
    "unknown": "True",
    "none": "True",
}
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


def _combined(**facts: tuple[Value, ...]) -> Iterator[dict[str, Value]]:
    """Every combination of these values of facts."""
    return (dict(zip(facts, values, strict=True)) for values in product(*facts.values()))


_USUAL_JOIN: Final = {name: _USUAL[name] for name in vocabulary.EVENTS["group_join"].inputs}

_FACTS_OF: Final[Mapping[str, Collection[Facts]]] = {
    "group_join": [
        *({**_USUAL_JOIN, **who, **checked}
          for who in _WHO_JOINS
          for checked in _combined(in_session_range=NO_YES, has_room=NO_YES, protocol_accepted=NO_YES)),
        *({**_USUAL_JOIN, **who} for who in _ALSO_JOIN),
    ],
    "group_sync": [
        facts
        for facts in _combined(requester=_REQUESTERS, generation_matches=NO_YES, protocol_accepted=NO_YES,
                               is_leader=NO_YES)
        if facts["requester"] == "member" or not facts["is_leader"]
    ],
    "group_heartbeat": [*_combined(requester=_REQUESTERS, generation_matches=NO_YES)],
    "group_commit": [
        facts
        for facts in _combined(requester=_REQUESTERS, generation_matches=NO_YES, group_known=NO_YES,
                               reports_missing_group=NO_YES)
        if facts["group_known"] or facts["requester"] != "pending"
    ],
    "group_leave": [*_combined(requester=_REQUESTERS, replaces_static=(False,)),
                    {"requester": "none", "replaces_static": True}],
    "group_session_expired": [*_combined(requester=_REQUESTERS, is_awaiting=(False,)),
                              {"requester": "member", "is_awaiting": True}],
}  # fmt: skip
"""By event that is about one id: every combination of facts that it may come with."""


def _conditions(event: str, facts: Facts) -> Iterator[str]:
    """When a correct environment may send it, about id `i`."""
    requester = facts["requester"]
    if event == "group_session_expired" and requester == "member":
        yield "member[i]"
        yield f"(awaiting[i] != 'nothing' and not is_new[i]) == {facts['is_awaiting']}"
    elif facts.get("replaces_static"):
        bare = _AWAY if event == "group_join" else _BARE
        yield f"i == {group_records.STATIC} and (member[i] or {bare})"
    elif facts.get("fresh_instance"):
        yield f"i == {group_records.STATIC} and (not member[i] or {_AWAY})"
    elif event == "group_join" and requester == "none":
        yield f"i != {group_records.STATIC} and ({_FREE} or {_AWAY})"
    else:
        yield _NAMED[requester]
    if not facts.get("has_room", True):
        yield "phase != 'syncing' and phase != 'stable'" if requester == "member" else "True"
    if not facts.get("group_known", True):
        yield "phase == 'empty' and all(not pending[j] for j in members)"


def _told(facts: Facts) -> Iterator[str]:
    """The facts of a request as parts of a name: those that are not as usual."""
    for name, value in facts.items():
        if name == "requester":
            yield str(value) if value != "none" else "no_id"
        elif value is not _USUAL[name]:
            yield name if value else f"not_{name}"


def _environment(code: MachineCode) -> Iterator[Action]:
    for event, combinations in _FACTS_OF.items():
        for facts in combinations:
            name = "_".join([event.removeprefix("group_"), *_told(facts)])
            yield _action(code, event, name, conjunction(*_conditions(event, facts)), facts)
    yield from _timers(code)
    yield from _log(code)
    yield from _coordinator(code)


def _timers(code: MachineCode) -> Iterator[Action]:
    prolonged, ended = {"newcomer_seen": True}, {"newcomer_seen": False}
    rebalance, delay, sync = "group_rebalance_timeout", "group_initial_delay_elapsed", "group_sync_timeout"
    yield _action(code, rebalance, "rebalance_timeout", "clock == 'rebalance'", fair="weak")
    yield _action(code, delay, "initial_delay_is_prolonged", "clock == 'delay' and newcomer", prolonged)
    yield _action(code, delay, "initial_delay_ends", "clock == 'delay'", ended, fair="weak")
    yield _action(code, sync, "sync_timeout", "clock == 'sync'", fair="weak")
    yield _late(code, rebalance, "late_rebalance_timeout", "clock != 'rebalance'")
    yield _late(code, delay, "late_initial_delay_is_prolonged", "clock != 'delay'", prolonged)
    yield _late(code, delay, "late_initial_delay_ends", "clock != 'delay'", ended)
    yield _late(code, sync, "late_sync_timeout", "clock != 'sync'")


def _log(code: MachineCode) -> Iterator[Action]:
    """What is written gets there or does not; an earlier generation's record may get there late."""
    now, old = {"generation_matches": True}, {"generation_matches": False}
    stored, lost = "group_assignment_stored", "group_assignment_lost"
    written, over = sets("writing = False"), sets("old_writing = False")
    arrives = each("j", sets("logged[j] = offered[j]"))
    yield _action(code, stored, "assignment_stored", "writing", now, first=written + arrives)
    yield _action(code, lost, "assignment_lost", "writing", now, first=written)
    yield _action(code, stored, "old_assignment_stored", "old_writing", old, first=over + arrives)
    yield _action(code, lost, "old_assignment_lost", "old_writing", old, first=over)


def _coordinator(code: MachineCode) -> Iterator[Action]:
    gone = sets("phase = 'gone'; old_writing = old_writing or writing; writing = False")
    given_up, begins = sets("phase = 'gone'"), sets("phase = 'loading'")
    yield _action(code, "group_unloaded", "unloaded", "phase != 'gone' and phase != 'loading'", then=gone)
    yield _late(code, "group_unloaded", "loading_is_given_up", "phase == 'loading'", then=given_up)
    yield _late(code, "group_unloaded", "unloaded_again", "phase == 'gone'")
    yield _late(code, "group_loading", "loading_begins", "phase == 'gone'", then=begins)
    yield _late(code, "group_loading", "loading_begins_again", "phase != 'gone'")
    yield _action(code, "group_loaded", "loaded", "phase == 'loading' and not old_writing")
    yield _late(code, "group_loaded", "loaded_again", "phase != 'loading'")
    yield _action(code, "group_deleted", "deleted", "phase == 'empty'")
    yield _late(code, "group_deleted", "deleted_in_vain", "phase != 'empty'")


def _late(
    code: MachineCode, event: str, name: str, guard: str, facts: Facts | None = None, *, then: Block = ()
) -> Action:
    """As `_action`, of what must do nothing to the group."""
    return _action(code, event, name, guard, facts, then=then, check=Call(after("late")))


def _action(
    code: MachineCode,
    event: str,
    name: str,
    guard: str,
    facts: Facts | None = None,
    *,
    first: Block = (),
    then: Block = (),
    check: Call | None = None,
    fair: Fairness = "",
) -> Action:
    """An event reaches the group.

    `first`, `then`: what else happens, before the group hears of it and after; `check`: what is claimed instead.
    """
    given = texts(facts or {})
    of_one = event in OF_ONE_MEMBER
    claimed = Call(after(event), (*(["i"] if of_one else []), *(given[fact] for fact in FACTS.get(event, ()))))
    hears = code.call(event, {**_READ, **given})
    body = (Call("event_comes"), *first, hears, *then, check or claimed, Call("event_is_over"))
    known = vocabulary.EVENTS[event]
    guard = conjunction(NO_FAULT, guard)
    return Action(name, (("i", "members"),) if of_one else (), guard, body, known.kind, fair, known.doc)
