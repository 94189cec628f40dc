"""Members, group and network together: what can happen, and in which words.

An action is one thing that happens somewhere: an application does something, a timer runs out, a message arrives, a connection
breaks, a process or the coordinator dies. Nothing is counted or rationed: whatever can happen once can happen again and again, in
any order, so that there is no last disturbance after which things look better than they are. The state space is finite all the
same, because the variables are.

The base model has, for each member, a request of a rebalance and a heartbeat in flight, which can be lost or late; expiry of the
session, the poll interval and the rebalance; leaving and coming back; the death of the process and of the coordinator.

What it leaves out, and what features bring back one at a time: how the coordinator is looked up (it is found again at once); commits;
static members; callbacks that take time (begin and end are one step); requests of a broken connection that still arrive.
Left out everywhere: time itself. A timer may run out whenever it runs, so every property here holds whatever the timeouts are, and
what depends on their lengths is proved in `spec.expiry`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from groupspec.spec import member, vocabulary
from groupspec.spec.compiler.model import (
    Action,
    Block,
    Call,
    For,
    If,
    IndexSet,
    Model,
    ModelProperty,
    ModelVariable,
    Procedure,
    Set,
)
from groupspec.spec.compiler.table import Table
from groupspec.spec.compiler.tables import tables, whole_tables
from groupspec.spec.composition import group, members
from groupspec.spec.composition.freeze import freeze
from groupspec.spec.composition.machines import FAULT, Freedom, MachineCode, conjunction, name_of, pruned, prune
from groupspec.spec.composition.members import GAINS, RETAINS, TAKES
from groupspec.spec.properties import GROUP_ASSERTIONS
from groupspec.spec.terms import Value

ONE: tuple[tuple[str, IndexSet], ...] = (("i", "members"),)
NO_FAULT = f"{FAULT} == 'none'"

_MACHINES = ("timeouts", "rebalance")
_FROZEN: Mapping[str, Value] = {"coordinator_known": True, "static": False, "auto_commit": False}


@dataclass(frozen=True)
class System:
    """The parts of a model while it is put together."""

    rebalance: str
    profile: str
    members: int
    features: frozenset[str]
    codes: Mapping[str, MachineCode]
    broker: MachineCode
    hearers: Mapping[str, tuple[str, ...]]

    def hear(self, event: str, **inputs: str) -> Block:
        """A member hears the event, and its turn ends."""
        return tuple(
            self.codes[machine].call(word, inputs) for word in (event, "turn_ended") for machine in self.hearers[word]
        )

    def tell(self, event: str, **inputs: str) -> Block:
        """The group hears the event."""
        return (self.broker.call(event, inputs),)


def base_model(
    rebalance: str,
    profile: str,
    size: int,
    properties: tuple[ModelProperty, ...] = (),
    replaced: Mapping[str, Table] | None = None,
    features: frozenset[str] = frozenset(),
) -> Model:
    """The base model of `size` members and as many partitions. `replaced`: tables instead of the specification's, by machine."""
    system = _system(rebalance, profile, size, replaced or {}, features)
    codes = (*system.codes.values(), system.broker)
    procedures = [p for code in codes for p in code.procedures()]
    procedures += group.procedures(features)
    procedures = prune(procedures)
    known = frozenset(p.name for p in procedures)
    variables = [v for code in codes for v in code.variables()]
    variables += [*members.NETWORK, *members.OWNERSHIP, *group.variables(size, features)]
    variables.append(ModelVariable(FAULT, ("none", *GROUP_ASSERTIONS), "none", (), "the first assertion that failed"))
    started = [_started(v) for v in variables]
    left_out = _UNQUIET if "quiet" in features else frozenset()
    actions = [
        _finished(action, known)
        for action in (
            *_applications(system),
            *_timers(system),
            *_network(system),
            *_group(system),
            *_deaths(system, started),
        )
        if action.name not in left_out
    ]
    model = Model(
        name="-".join(["base", *sorted(features), rebalance, profile, str(size)]),
        sizes={"members": size, "partitions": size},
        variables=tuple(started),
        procedures=tuple(procedures),
        actions=tuple(action for action in actions if action.body),
        properties=properties,
        symmetric=True,
        doc=__doc__ or "",
    )
    return freeze(
        model,
        {name: value for feature, held in _FEATURES.items() if feature not in features for name, value in held.items()},
    )


_FEATURES: Mapping[str, Mapping[str, Value]] = {
    "late": {"call_late": False},
    "log": {"told": "current"},
}
"""What is frozen in a model without the feature."""

_UNQUIET = frozenset({"leaves", "asks_to_rejoin", "poll_interval_expires", "session_expires_at_member", "polls"})
"""What a quiet application does not do."""


def _system(rebalance: str, profile: str, size: int, replaced: Mapping[str, Table], features: frozenset[str]) -> System:
    used = {name: replaced.get(name, tables()[name, rebalance, profile]) for name in _MACHINES}
    hearers = {
        event: tuple(
            name for name in member.MACHINES if name in used and any(e.name == event for e in used[name].events)
        )
        for event in vocabulary.EVENTS
    }
    found_again = (
        *members.BEFORE["coordinator_lost"],
        *(
            Call(name_of(machine, event), ("i",))
            for event in ("coordinator_lost", "coordinator_found")
            for machine in hearers[event]
        ),
    )
    words = {**members.words(features), "coordinator_gone": found_again}
    freedom = Freedom(
        frozen=_FROZEN,
        refined=members.REFINED,
        effects=members.effects(features),
        follows=members.FOLLOWS,
        words=lambda _event, word: words.get(word),
    )
    codes = {name: MachineCode(table, freedom, hearers) for name, table in used.items()}
    broker = replaced.get("broker_group", tables()["broker_group", rebalance, profile])
    kept = Freedom(frozen=group.frozen(features), words=group.words(features), index="", indexed_events=group.INDEXED)
    return System(rebalance, profile, size, features, codes, MachineCode(broker, kept, {}), hearers)


def _started(variable: ModelVariable) -> ModelVariable:
    """The background thread runs from the start."""
    if variable.name == "timeouts":
        return ModelVariable(variable.name, variable.domain, "DISABLED", variable.over, variable.doc)
    return variable


def _finished(action: Action, known: frozenset[str]) -> Action:
    body = pruned(action.body, known)
    return Action(
        action.name,
        action.parameters,
        conjunction(NO_FAULT, action.guard),
        body,
        action.kind,
        action.fair,
        action.doc,
        action.arrow,
    )


def _applications(system: System) -> Iterator[Action]:
    yield Action(
        "subscribes",
        ONE,
        "not subscribed[i] and rebalance[i] == 'UNJOINED'",
        (*system.hear("subscribed_to_topics"), *system.hear("application_polled")),
        "application",
        doc="the application subscribes and polls",
    )
    yield Action(
        "polls",
        ONE,
        "subscribed[i] and not polled[i]",
        system.hear("application_polled"),
        "application",
        "weak",
        doc="the application polls again",
    )
    yield Action(
        "leaves",
        ONE,
        "subscribed[i] and not leaving[i]",
        system.hear("leave_requested"),
        "application",
        doc="unsubscribe() or close()",
    )
    yield Action(
        "asks_to_rejoin",
        ONE,
        "rebalance[i] == 'STABLE' and not preparing[i]",
        system.hear("rejoin_requested"),
        "application",
        doc="the subscription or the metadata changed",
    )
    begins, ends = system.hear("callback_started"), system.hear("partitions_revoked")
    if "callbacks" in system.features:
        yield Action(
            "revoked_callback_begins",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION' and not callback_running[i]",
            begins,
            "application",
            "weak",
            doc="the listener is called: revoked, or lost",
        )
        yield Action(
            "revoked_callback_ends",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION' and callback_running[i]",
            ends,
            "application",
            "weak",
            doc="the listener has returned",
        )
    else:
        yield Action(
            "revoked_callback_runs",
            ONE,
            "rebalance[i] == 'REVOKING_PARTITION'",
            (*begins, *ends),
            "application",
            "weak",
            doc="the listener runs: revoked, or lost",
        )
    yield Action(
        "assigned_callback_ends",
        ONE,
        "rebalance[i] == 'ASSIGNING_PARTITIONS'",
        system.hear("partitions_assigned"),
        "application",
        "weak",
        doc="the listener has run: assigned",
    )


def _timers(system: System) -> Iterator[Action]:
    beating = "(timeouts[i] == 'IDLE' or timeouts[i] == 'IN_FLIGHT')"
    beat = system.tell("group_heartbeat", requester=_REQUESTER, generation_matches=group.matches(system.features))
    none = If((("beat[i] == 'none'", system.hear("heartbeat_ok", current="True")),))
    yield Action(
        "heartbeat_falls_due",
        ONE,
        "timeouts[i] == 'IDLE' and beat[i] == 'none'",
        (*system.hear("heartbeat_due"), *beat, none),
        "timer",
        "weak",
        doc="the heartbeat interval is over",
        arrow=("member i", "group", "Heartbeat"),
    )
    yield Action(
        "poll_interval_expires",
        ONE,
        beating,
        system.hear("poll_interval_expired"),
        "timer",
        doc="the application has stalled",
    )
    yield Action(
        "session_expires_at_member",
        ONE,
        beating,
        system.hear("session_expired"),
        "timer",
        doc="no sign of life from the coordinator",
    )
    yield Action(
        "join_backoff_ends",
        ONE,
        "join_backoff[i]",
        system.hear("join_backoff_elapsed"),
        "timer",
        "weak",
        doc="the retry backoff is over",
    )


_REQUESTER = "'unknown' if registered[i] == 'absent' else 'pending' if registered[i] == 'pending' else 'member'"
_REQUESTER_FORGOTTEN = "'unknown' if forgotten[i] == 'absent' else 'pending' if forgotten[i] == 'pending' else 'member'"


def _network(system: System) -> Iterator[Action]:
    gone = (Set((("call[i]", "'none'"), ("call_late[i]", "False"))),)
    yield Action(
        "late_request_is_dropped",
        ONE,
        "call_late[i] and (call[i] == 'JoinGroup' or call[i] == 'JoinGroup_again' or call[i] == 'SyncGroup')",
        gone,
        "network",
        "weak",
        doc="a request that was given up arrives, and changes nothing",
    )
    joins = {"is_leader": "leader == i"}
    yield Action(
        "join_arrives",
        ONE,
        "call[i] == 'JoinGroup' and not call_late[i]",
        system.tell("group_join", requester="'none'", **joins),
        "message",
        "weak",
        doc="JoinGroup without a member id",
        arrow=("member i", "group", "JoinGroup"),
    )
    yield Action(
        "join_again_arrives",
        ONE,
        "call[i] == 'JoinGroup_again' and not call_late[i]",
        system.tell("group_join", requester=_REQUESTER, **joins),
        "message",
        "weak",
        doc="JoinGroup with a member id",
        arrow=("member i", "group", "JoinGroup"),
    )
    leads = f"leader == i and broker_group == 'CompletingRebalance' and registered[i] == 'unsynced' and {group.matches(system.features)}"
    receives = "(registered[k] == 'unsynced' or registered[k] == 'parked_sync')"
    brings = If(((leads, group.assign(system.rebalance == "cooperative")),))
    chosen = "(leader != 0 or broker_group != 'CompletingRebalance')"
    sync = system.tell(
        "group_sync", requester=_REQUESTER, generation_matches=group.matches(system.features), is_leader="leader == i"
    )
    yield Action(
        "sync_arrives",
        (*ONE, ("k", "members")),
        f"call[i] == 'SyncGroup' and not call_late[i] and {chosen} and (k == i or {leads} and {receives})",
        (brings, *sync),
        "message",
        "weak",
        doc="SyncGroup; the leader's brings the assignment",
        arrow=("member i", "group", "SyncGroup"),
    )
    if "farewell" in system.features:
        leave = (
            Set((("about_forgotten", "True"),)),
            *gone,
            *system.tell("group_leave", requester=_REQUESTER_FORGOTTEN),
            Set((("about_forgotten", "False"),)),
        )
        yield Action(
            "leave_arrives",
            ONE,
            "call[i] == 'LeaveGroup'",
            leave,
            "message",
            "weak",
            doc="LeaveGroup of the id that the member has forgotten",
            arrow=("member i", "group", "LeaveGroup"),
        )
    absent = _absent(system.features)
    for answer in (*members.JOIN_ANSWERS, *members.SYNC_ANSWERS):
        if answer in absent:
            continue
        yield Action(
            f"{answer}_arrives",
            ONE,
            f"call[i] == '{answer}'",
            _answered(system, answer),
            "message",
            "weak",
            doc=vocabulary.EVENTS[answer].doc,
            arrow=("group", "member i", vocabulary.EVENTS[answer].doc),
        )
    for answer in members.BEAT_ANSWERS:
        if answer in absent:
            continue
        yield Action(
            f"{answer}_arrives",
            ONE,
            f"beat[i] == '{answer}'",
            _beaten(system, answer),
            "message",
            "weak",
            doc=vocabulary.EVENTS[answer].doc,
            arrow=("group", "member i", vocabulary.EVENTS[answer].doc),
        )
    yield Action(
        "connection_breaks_in_join",
        ONE,
        _JOINING,
        _breaks(system, "join_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and JoinGroup fails",
    )
    yield Action(
        "connection_breaks_in_sync",
        ONE,
        _SYNCING,
        _breaks(system, "sync_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and SyncGroup fails",
    )
    yield Action(
        "connection_breaks_in_heartbeat",
        ONE,
        _BEATING,
        _breaks(system, "heartbeat_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and the heartbeat fails",
    )
    if {"farewell", "late"} & system.features:
        yield Action(
            "late_call_is_lost",
            ONE,
            "call_late[i] or call[i] == 'LeaveGroup'",
            gone,
            "network",
            doc="what was given up, or was a farewell, is lost",
        )


def _absent(features: frozenset[str]) -> frozenset[str]:
    """Answers that nobody gives in a model without certain features: a coordinator that cannot fall back disowns no generation."""
    of_ids = () if "ids" in features else ("join_member_id_required",)
    of_log = (
        ()
        if "log" in features
        else (
            "join_coordinator_gone",
            "sync_coordinator_gone",
            "heartbeat_coordinator_gone",
            "sync_illegal_generation",
            "heartbeat_illegal_generation",
        )
    )
    return frozenset((*of_ids, *of_log))


def _one_of(slot: str, values: tuple[str, ...]) -> str:
    return " or ".join(f"{slot} == '{value}'" for value in values)


_JOINING = f"not call_late[i] and ({_one_of('call[i]', ('JoinGroup', 'JoinGroup_again', *members.JOIN_ANSWERS))} or call[i] == 'parked' and rebalance[i] == 'PREPARING_REBALANCE')"
_SYNCING = f"not call_late[i] and ({_one_of('call[i]', ('SyncGroup', *members.SYNC_ANSWERS))} or call[i] == 'parked' and rebalance[i] == 'COMPLETING_REBALANCE')"
_BEATING = "timeouts[i] == 'IN_FLIGHT'"


def _breaks(system: System, event: str) -> Block:
    """The connection of member i is gone, and with it what was in flight; it hears so from one of its requests."""
    return (*members.BEFORE["coordinator_lost"], *system.hear(event, current="True"))


def _answered(system: System, answer: str) -> Block:
    """The answer leaves the network, and the member hears it: late, if it has given the request up."""
    given = {"takes": TAKES, "retains": RETAINS, "gains": GAINS} if answer == "sync_accepted" else {}
    clear = Set((("call[i]", "'none'"), ("call_late[i]", "False")))
    late = If(
        (("call_late[i]", (clear, *system.hear(answer, current="False", **given))),),
        otherwise=(clear, *system.hear(answer, current="True", **given)),
    )
    return (late,)


def _beaten(system: System, answer: str) -> Block:
    return (Set((("beat[i]", "'none'"),)), *system.hear(answer, current="True"))


def _group(system: System) -> Iterator[Action]:
    silent = "(registered[i] == 'pending' or registered[i] == 'unsynced' or registered[i] == 'member')"
    forgot = silent.replace("registered", "forgotten")
    yield Action(
        "session_expires",
        ONE,
        silent,
        system.tell("group_session_expired", requester=_REQUESTER, waits="False", all_joined=group.OTHERS_JOINED),
        "timer",
        doc="the coordinator has not heard of the member for too long",
    )
    yield Action(
        "forgotten_session_expires",
        ONE,
        forgot,
        (
            Set((("about_forgotten", "True"),)),
            *system.tell(
                "group_session_expired",
                requester=_REQUESTER_FORGOTTEN,
                waits="False",
                all_joined=group.OTHERS_JOINED_BUT_FORGOTTEN,
            ),
            Set((("about_forgotten", "False"),)),
        ),
        "timer",
        "weak",
        doc="the session of an id that nobody uses any more runs out",
    )
    yield Action(
        "rebalance_timeout",
        (),
        "broker_group == 'PreparingRebalance' and not initial_delay",
        system.tell("group_rebalance_timeout", members_left=group.SOME_REJOINED, some_rejoined=group.SOME_REJOINED),
        "timer",
        "weak",
        doc="the join phase has lasted long enough",
    )
    yield Action(
        "initial_delay_ends",
        (),
        "broker_group == 'PreparingRebalance' and initial_delay",
        system.tell("group_initial_delay_elapsed", members_left=group.SOME_REJOINED, some_rejoined=group.SOME_REJOINED),
        "timer",
        "weak",
        doc="the initial rebalance delay is over",
    )
    yield Action(
        "sync_timeout",
        (),
        f"(broker_group == 'CompletingRebalance' or broker_group == 'Stable') and {group.UNSYNCED}",
        system.tell("group_sync_timeout", unsynced=group.UNSYNCED),
        "timer",
        "weak",
        doc="somebody has not sent SyncGroup in time",
    )
    settled = "(registered[i] == 'unsynced' or registered[i] == 'member')"
    yield Action(
        "leader_chosen",
        ONE,
        f"leader == 0 and (broker_group == 'CompletingRebalance' or broker_group == 'Stable') and {settled}",
        (Set((("leader", "i"),)),),
        "group",
        "weak",
        doc="a new leader, any of those who are in the generation",
    )


def _deaths(system: System, variables: list[ModelVariable]) -> Iterator[Action]:
    own = tuple(
        (f"{v.name}[i]", repr(v.initial))
        for v in variables
        if v.over == ("members",) and v.name not in ("registered", "forgotten", "stored", "forgotten_stored", "told")
    )
    nothing = For("p", "partitions", (Set((("owns[i][p]", "False"), ("will_have[i][p]", "False"))),))
    alive = "(subscribed[i] or identity[i] != 'none')"
    yield Action(
        "process_dies",
        ONE,
        alive,
        (Call("forget_registered", ("i",)), Set(own), nothing),
        "network",
        doc="the process is gone, and another starts in its place; its id is forgotten",
    )
    dies, returns = (
        system.tell("group_unloaded"),
        system.tell("group_loaded", members_stored=group.somebody_stored(system.features)),
    )
    if "log" in system.features:
        yield Action(
            "coordinator_dies",
            (),
            "broker_group != 'Dead'",
            (*dies, Call("requests_are_lost")),
            "group",
            doc="the coordinator dies or moves away; the log stays",
        )
        yield Action(
            "coordinator_returns",
            (),
            "broker_group == 'Dead'",
            returns,
            "group",
            "weak",
            doc="another broker has read the log",
        )
        return
    heard = tuple(
        (guard, _breaks(system, event))
        for guard, event in (
            (_JOINING, "join_coordinator_gone"),
            (_SYNCING, "sync_coordinator_gone"),
            (_BEATING, "heartbeat_coordinator_gone"),
        )
    )
    noticed = For("i", "members", (If(heard),))
    yield Action(
        "coordinator_restarts",
        (),
        "broker_group == 'Empty' or broker_group == 'Stable'",
        (*dies, *returns, noticed),
        "group",
        doc="the coordinator dies when the log has all that it knows, another broker reads the log, and everybody's connection breaks",
    )
