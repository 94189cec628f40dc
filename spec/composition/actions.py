"""What can happen in the base model: at applications, at clocks, on the wire, at the coordinator.

Each function gives the actions of one place. Their guards and bodies speak of the variables of `members` and `group`;
what a machine does with an event is in the procedures that are made of its table.

**Faults stop** (feature `faults-stop`) is the assumption under which liveness is claimed. A group in which faults never
stop need not become stable. The claim is: once faults stop, in whatever state, the group becomes stable. That moment is
an action; it may come at any time or never. After it, no application leaves, stalls or asks for a rebalance, no
connection breaks, no process dies, and timeouts are longer than what they wait for: the session of a living member does
not expire, and the join and sync phases end by their timeouts only if nobody is missing but ids that were forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from groupspec.spec import vocabulary
from groupspec.spec.compiler.model import Action, Block, Call, For, If, ModelVariable, Set, flag
from groupspec.spec.composition import group, members, static
from groupspec.spec.composition.blocks import conjunction, sets
from groupspec.spec.composition.members import GAINS, RETAINS, TAKES
from groupspec.spec.composition.system import MIXED, ONE, System

REQUESTER = "'unknown' if registered[i] == 'absent' else 'pending' if registered[i] == 'pending' else 'member'"
REQUESTER_FORGOTTEN = REQUESTER.replace("registered", "forgotten")
"""What the coordinator takes the sender for: who has the member's id, and who has the one that it has forgotten."""


def applications(system: System) -> Iterator[Action]:
    """What the application does: subscribe, poll, leave, ask for a rebalance, run its listener."""
    hear = system.hear
    # fmt: off
    yield Action("subscribes", ONE, "not subscribed[i] and rebalance[i] == 'UNJOINED'",
                 hear("subscribed_to_topics") + hear("application_polled"), "application",
                 doc="the application subscribes and polls")
    yield Action("polls", ONE, "subscribed[i] and not polled[i]", hear("application_polled"), "application", "weak",
                 doc="the application polls again")
    yield Action("leaves", ONE, "subscribed[i] and not leaving[i]", hear("leave_requested"), "application",
                 doc="unsubscribe() or close()")
    yield Action("asks_to_rejoin", ONE, "rebalance[i] == 'STABLE' and not preparing[i]", hear("rejoin_requested"),
                 "application", doc="the subscription or the metadata changed")
    begins, ends = hear("callback_started"), hear("partitions_revoked")
    if "callbacks" in system.features:
        yield Action("revoked_callback_begins", ONE,
                     "rebalance[i] == 'REVOKING_PARTITION' and not callback_running[i]", begins, "application", "weak",
                     doc="the listener is called: revoked, or lost")
        yield Action("revoked_callback_ends", ONE, "rebalance[i] == 'REVOKING_PARTITION' and callback_running[i]",
                     ends, "application", "weak", doc="the listener has returned")
    else:
        yield Action("revoked_callback_runs", ONE, "rebalance[i] == 'REVOKING_PARTITION'", begins + ends,
                     "application", "weak", doc="the listener runs: revoked, or lost")
    yield Action("assigned_callback_ends", ONE, "rebalance[i] == 'ASSIGNING_PARTITIONS'", hear("partitions_assigned"),
                 "application", "weak", doc="the listener has run: assigned")
    # fmt: on


def member_timers(system: System) -> Iterator[Action]:
    """What runs out at a member."""
    hear = system.hear
    beating = "(timeouts[i] == 'IDLE' or timeouts[i] == 'IN_FLIGHT')"
    beat = system.tell("group_heartbeat", requester=REQUESTER, generation_matches=group.matches(system.features))
    none = If((("heartbeat[i] == 'none'", hear("heartbeat_ok", current="True")),))
    # fmt: off
    yield Action("heartbeat_falls_due", ONE, "timeouts[i] == 'IDLE' and heartbeat[i] == 'none'",
                 (*hear("heartbeat_due"), *beat, none), "timer", "weak", doc="the heartbeat interval is over",
                 arrow=("member i", "group", "Heartbeat"))
    yield Action("poll_interval_expires", ONE, beating, hear("poll_interval_expired"), "timer",
                 doc="the application has stalled")
    yield Action("session_expires_at_member", ONE, beating, hear("session_expired"), "timer",
                 doc="no sign of life from the coordinator")
    yield Action("join_backoff_ends", ONE, "join_backoff[i]", hear("join_backoff_elapsed"), "timer", "weak",
                 doc="the retry backoff is over")
    # fmt: on


def group_timers(system: System) -> Iterator[Action]:
    """Sessions, the two phases of a rebalance, the initial delay, and the choice of a leader."""
    tell = system.tell
    silent = "(registered[i] == 'pending' or registered[i] == 'unsynced' or registered[i] == 'member')"
    expires = tell("group_session_expired", requester=REQUESTER, is_awaiting="False", all_joined=group.OTHERS_JOINED)
    forgotten_expires = tell("group_session_expired", requester=REQUESTER_FORGOTTEN, is_awaiting="False",
                             all_joined=group.OTHERS_JOINED_BUT_FORGOTTEN)  # fmt: skip
    left = static.MEMBERS_LEFT if static.FEATURE in system.features else group.SOME_REJOINED
    members_left = {"members_left": left, "some_rejoined": group.SOME_REJOINED}
    # fmt: off
    yield Action("session_expires", ONE, silent, expires, "timer",
                 doc="the coordinator has not heard of the member for too long")
    yield Action("forgotten_session_expires", ONE, silent.replace("registered", "forgotten"),
                 _about_forgotten(forgotten_expires), "timer", "weak",
                 doc="the session of an id that nobody uses any more runs out")
    yield Action("rebalance_timeout", (), "broker_group == 'PreparingRebalance' and not initial_delay",
                 tell("group_rebalance_timeout", **members_left), "timer", "weak",
                 doc="the join phase has lasted long enough")
    yield Action("initial_delay_ends", (), "broker_group == 'PreparingRebalance' and initial_delay",
                 tell("group_initial_delay_elapsed", **members_left), "timer", "weak",
                 doc="the initial rebalance delay is over")
    yield Action("sync_timeout", (),
                 f"(broker_group == 'CompletingRebalance' or broker_group == 'Stable') and {group.UNSYNCED}",
                 tell("group_sync_timeout", unsynced=group.UNSYNCED), "timer", "weak",
                 doc="somebody has not sent SyncGroup in time")
    yield Action("leader_chosen", ONE,
                 "leader == 0 and (broker_group == 'CompletingRebalance' or broker_group == 'Stable') and "
                 "(registered[i] == 'unsynced' or registered[i] == 'member')", sets("leader = i"), "group", "weak",
                 doc="a new leader, any of those who are in the generation")
    # fmt: on


# The wire -------------------------------------------------------------------------------------------------------------


def network(system: System) -> Iterator[Action]:
    """Requests arrive, answers arrive, connections break."""
    yield from _requests(system)
    yield from _answers(system)
    for request, waits, event in LOST:
        yield Action(f"connection_breaks_in_{request}", ONE, waits, _breaks(system, event), "network",
                     doc=f"everything in flight is lost, and {_NAMES[request]} fails")  # fmt: skip
    if {"leave", "late"} & system.features:
        yield Action("late_call_is_lost", ONE, "request_late[i] or request[i] == 'LeaveGroup'", _GONE, "network",
                     doc="what was given up, or a LeaveGroup, is lost")  # fmt: skip


_GONE: Final = sets("request[i] = 'none'; request_late[i] = False")
_NAMES: Final = {"join": "JoinGroup", "sync": "SyncGroup", "heartbeat": "the heartbeat"}


def _waits(requests: tuple[str, ...], state: str) -> str:
    """That member i waits for the answer to one of these requests: it, or its answer, is on the way."""
    in_flight = " or ".join(f"request[i] == '{each}'" for each in requests)
    return f"not request_late[i] and ({in_flight} or request[i] == 'awaiting' and rebalance[i] == '{state}')"


LOST: Final = (
    ("join", _waits(("JoinGroup", "JoinGroup_again", *members.JOIN_ANSWERS), "PREPARING_REBALANCE"),
     "join_coordinator_gone"),
    ("sync", _waits(("SyncGroup", *members.SYNC_ANSWERS), "COMPLETING_REBALANCE"), "sync_coordinator_gone"),
    ("heartbeat", "timeouts[i] == 'IN_FLIGHT'", "heartbeat_coordinator_gone"),
)  # fmt: skip
"""(request, when member i waits for its answer, what i hears when its connection breaks then)."""


def _breaks(system: System, event: str) -> Block:
    """The connection of member i is gone, and with it what was in flight; it hears so from one of its requests."""
    return members.BREAKS + system.hear(event, current="True")


def _requests(system: System) -> Iterator[Action]:
    tell, matches = system.tell, group.matches(system.features)
    joins = {"is_leader": "leader == i", **static.JOINS}
    leads = f"leader == i and broker_group == 'CompletingRebalance' and registered[i] == 'unsynced' and {matches}"
    receives = "(registered[k] == 'unsynced' or registered[k] == 'awaiting_sync')"
    chosen = "(leader != 0 or broker_group != 'CompletingRebalance')"
    brings = If(((leads, group.assign(system.rebalance != "eager")),))
    sync = tell("group_sync", requester=REQUESTER, generation_matches=matches, is_leader="leader == i")
    # fmt: off
    yield Action("late_request_is_dropped", ONE,
                 "request_late[i] and (request[i] == 'JoinGroup' or request[i] == 'JoinGroup_again' or request[i] == "
                 "'SyncGroup')", _GONE, "network", "weak",
                 doc="a request that was given up arrives, and changes nothing")
    yield Action("join_arrives", ONE, "request[i] == 'JoinGroup' and not request_late[i]",
                 tell("group_join", requester="'none'", **joins), "message", "weak",
                 doc="JoinGroup without a member id", arrow=("member i", "group", "JoinGroup"))
    yield Action("join_again_arrives", ONE, "request[i] == 'JoinGroup_again' and not request_late[i]",
                 tell("group_join", requester=REQUESTER, **joins), "message", "weak",
                 doc="JoinGroup with a member id", arrow=("member i", "group", "JoinGroup"))
    yield Action("sync_arrives", (*ONE, ("k", "members")),
                 f"request[i] == 'SyncGroup' and not request_late[i] and {chosen} and (k == i or {leads} and "
                 f"{receives})", (brings, *sync), "message", "weak",
                 doc="SyncGroup; the leader's brings the assignment", arrow=("member i", "group", "SyncGroup"))
    if "leave" in system.features:
        leaves = _about_forgotten(_GONE + tell("group_leave", requester=REQUESTER_FORGOTTEN))
        yield Action("leave_arrives", ONE, "request[i] == 'LeaveGroup'", leaves, "message", "weak",
                     doc="LeaveGroup of the id that the member has forgotten",
                     arrow=("member i", "group", "LeaveGroup"))
    # fmt: on


def _about_forgotten(body: Block) -> Block:
    return (*sets("about_forgotten = True"), *body, *sets("about_forgotten = False"))


def _answers(system: System) -> Iterator[Action]:
    """An answer leaves the network, and the member hears it: late, if it has given the request up."""
    slots = {**dict.fromkeys((*members.JOIN_ANSWERS, *members.SYNC_ANSWERS), "request"),
             **dict.fromkeys(members.HEARTBEAT_ANSWERS, "heartbeat")}  # fmt: skip
    absent = _never_given(system.features)
    for answer, slot in slots.items():
        if answer in absent:
            continue
        if slot == "request":
            given = {"revokes_any": TAKES, "retains_any": RETAINS, "adds_any": GAINS}
            heard, late = (
                _GONE + system.hear(answer, current=current, **(given if answer == "sync_accepted" else {}))
                for current in ("True", "False")
            )
            body: Block = (If((("request_late[i]", late),), otherwise=heard),)
        else:
            body = sets("heartbeat[i] = 'none'") + system.hear(answer, current="True")
        meaning = vocabulary.EVENTS[answer].doc
        yield Action(f"{answer}_arrives", ONE, f"{slot}[i] == '{answer}'", body, "message", "weak", meaning,
                     ("group", "member i", meaning))  # fmt: skip


def _never_given(features: frozenset[str]) -> frozenset[str]:
    """Answers that nobody gives without certain features. A coordinator that cannot fall back disowns no generation."""
    needs = {
        ("join_member_id_required",): {"ids"},
        ("join_coordinator_gone", "sync_coordinator_gone", "heartbeat_coordinator_gone"): {"log"},
        ("sync_illegal_generation", "heartbeat_illegal_generation"): {"log", static.FEATURE},
    }
    return frozenset(answer for answers, needed in needs.items() if not needed & features for answer in answers)


# Crashes --------------------------------------------------------------------------------------------------------------

_SURVIVES: Final = ("registered", "forgotten", "stored", "forgotten_stored", "told", "upgraded")
"""Variables of a member that are not in its process."""


def crashes(system: System, variables: Iterable[ModelVariable]) -> Iterator[Action]:
    """The deaths of a member's process and of the coordinator, and what is lost with each."""
    own = tuple(
        (f"{v.name}[i]", repr(v.initial)) for v in variables if v.over == ("members",) and v.name not in _SURVIVES
    )
    nothing = For("p", "partitions", sets("owns[i][p] = False; will_have[i][p] = False"))
    forgets = (Call("forget_registered", ("i",)),)
    lost = sets("told[i] = 'older'") if static.FEATURE in system.features else forgets
    dies, loads = system.tell("group_unloaded"), system.tell("group_loading")
    returns = loads + system.tell("group_loaded", members_stored=group.somebody_stored(system.features))
    # fmt: off
    yield Action("process_dies", ONE, "(subscribed[i] or identity[i] != 'none')", (*lost, Set(own), nothing), "network",
                 doc="the process is gone, and another starts in its place; its id is forgotten")
    if system.rebalance == MIXED:
        yield Action("is_upgraded", ONE, "not upgraded[i]",
                     (*forgets, Set((*own, ("upgraded[i]", "True"))), nothing), "application",
                     doc="the process is stopped without a word, and the next one runs the cooperative protocol")
    if "log" in system.features:
        yield Action("coordinator_dies", (), "broker_group != 'Dead'", (*dies, Call("requests_are_lost")), "group",
                     doc="the coordinator dies or moves away; the log stays")
        yield Action("coordinator_returns", (), "broker_group == 'Dead'", returns, "group", "weak",
                     doc="another broker has read the log")
    else:
        noticed = If(tuple((waits, _breaks(system, event)) for _, waits, event in LOST))
        yield Action("coordinator_restarts", (), "broker_group == 'Empty' or broker_group == 'Stable'",
                     (*dies, *returns, For("i", "members", (noticed,))), "group",
                     doc="the coordinator dies when the log has all that it knows, another broker reads the log, and "
                         "everybody's connection breaks")
    # fmt: on


# Faults stop ----------------------------------------------------------------------------------------------------------

FAULTS_STOPPED: Final = flag("faults_stopped", "faults have stopped")

_FAULTS: Final = frozenset((
    "subscribes", "leaves", "asks_to_rejoin", "poll_interval_expires", "session_expires_at_member",
    "session_expires", "connection_breaks_in_join", "connection_breaks_in_sync", "connection_breaks_in_heartbeat",
    "late_call_is_lost", "process_dies", "coordinator_restarts", "coordinator_dies",
))  # fmt: skip
_PATIENT: Final = {
    "rebalance_timeout": "all(registered[j] == 'absent' or registered[j] == 'awaiting_join' for j in members)",
    "sync_timeout": "all(registered[j] != 'unsynced' for j in members)",
}
"""Timeouts, and that nobody is missing for whom they are long enough."""


def with_end_of_faults(actions: Iterable[Action]) -> Iterator[Action]:
    """The actions, and one more: faults stop."""
    yield Action("faults_stop", (), "not faults_stopped", sets("faults_stopped = True"), "network",
                 doc="from now on nothing fails")  # fmt: skip
    for action in actions:
        guard = action.guard
        if action.name in _FAULTS:
            guard = conjunction("not faults_stopped", guard)
        elif action.name in _PATIENT:
            guard = conjunction(f"not faults_stopped or {_PATIENT[action.name]}", guard)
        yield replace(action, guard=guard)
