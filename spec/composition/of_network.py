"""What can happen to requests and answers on their way, and to the connections that carry them."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.spec import vocabulary
from groupspec.spec.compiler.model import Action, Block, If, Set
from groupspec.spec.composition import group, members, static
from groupspec.spec.composition.members import GAINS, RETAINS, TAKES
from groupspec.spec.composition.of_group import REQUESTER, REQUESTER_FORGOTTEN
from groupspec.spec.composition.system import ONE, System


def network(system: System) -> Iterator[Action]:
    """Requests arrive, answers arrive, connections break."""
    gone = (Set((("request[i]", "'none'"), ("request_late[i]", "False"))),)
    yield Action(
        "late_request_is_dropped",
        ONE,
        "request_late[i] and (request[i] == 'JoinGroup' or request[i] == 'JoinGroup_again' or request[i] == "
        "'SyncGroup')",
        gone,
        "network",
        "weak",
        doc="a request that was given up arrives, and changes nothing",
    )
    joins = {"is_leader": "leader == i", **static.JOINS}
    yield Action(
        "join_arrives",
        ONE,
        "request[i] == 'JoinGroup' and not request_late[i]",
        system.tell("group_join", requester="'none'", **joins),
        "message",
        "weak",
        doc="JoinGroup without a member id",
        arrow=("member i", "group", "JoinGroup"),
    )
    yield Action(
        "join_again_arrives",
        ONE,
        "request[i] == 'JoinGroup_again' and not request_late[i]",
        system.tell("group_join", requester=REQUESTER, **joins),
        "message",
        "weak",
        doc="JoinGroup with a member id",
        arrow=("member i", "group", "JoinGroup"),
    )
    leads = (
        "leader == i and broker_group == 'CompletingRebalance' and registered[i] == 'unsynced' and "
        f"{group.matches(system.features)}"
    )
    receives = "(registered[k] == 'unsynced' or registered[k] == 'awaiting_sync')"
    brings = If(((leads, group.assign(system.rebalance != "eager")),))
    chosen = "(leader != 0 or broker_group != 'CompletingRebalance')"
    sync = system.tell(
        "group_sync", requester=REQUESTER, generation_matches=group.matches(system.features), is_leader="leader == i"
    )
    yield Action(
        "sync_arrives",
        (*ONE, ("k", "members")),
        f"request[i] == 'SyncGroup' and not request_late[i] and {chosen} and (k == i or {leads} and {receives})",
        (brings, *sync),
        "message",
        "weak",
        doc="SyncGroup; the leader's brings the assignment",
        arrow=("member i", "group", "SyncGroup"),
    )
    if "leave" in system.features:
        leave = (
            Set((("about_forgotten", "True"),)),
            *gone,
            *system.tell("group_leave", requester=REQUESTER_FORGOTTEN),
            Set((("about_forgotten", "False"),)),
        )
        yield Action(
            "leave_arrives",
            ONE,
            "request[i] == 'LeaveGroup'",
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
            f"request[i] == '{answer}'",
            _answered(system, answer),
            "message",
            "weak",
            doc=vocabulary.EVENTS[answer].doc,
            arrow=("group", "member i", vocabulary.EVENTS[answer].doc),
        )
    for answer in members.HEARTBEAT_ANSWERS:
        if answer in absent:
            continue
        yield Action(
            f"{answer}_arrives",
            ONE,
            f"heartbeat[i] == '{answer}'",
            _beaten(system, answer),
            "message",
            "weak",
            doc=vocabulary.EVENTS[answer].doc,
            arrow=("group", "member i", vocabulary.EVENTS[answer].doc),
        )
    yield Action(
        "connection_breaks_in_join",
        ONE,
        JOINING,
        breaks(system, "join_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and JoinGroup fails",
    )
    yield Action(
        "connection_breaks_in_sync",
        ONE,
        SYNCING,
        breaks(system, "sync_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and SyncGroup fails",
    )
    yield Action(
        "connection_breaks_in_heartbeat",
        ONE,
        BEATING,
        breaks(system, "heartbeat_coordinator_gone"),
        "network",
        doc="everything in flight is lost, and the heartbeat fails",
    )
    if {"leave", "late"} & system.features:
        yield Action(
            "late_call_is_lost",
            ONE,
            "request_late[i] or request[i] == 'LeaveGroup'",
            gone,
            "network",
            doc="what was given up, or a LeaveGroup, is lost",
        )


def _absent(features: frozenset[str]) -> frozenset[str]:
    """Answers that nobody gives in a model without certain features.

    A coordinator that cannot fall back disowns no generation.
    """
    of_ids = () if "ids" in features else ("join_member_id_required",)
    of_log = (
        () if "log" in features else ("join_coordinator_gone", "sync_coordinator_gone", "heartbeat_coordinator_gone")
    )
    old = () if {"log", static.FEATURE} & features else ("sync_illegal_generation", "heartbeat_illegal_generation")
    return frozenset((*of_ids, *of_log, *old))


def _one_of(slot: str, values: tuple[str, ...]) -> str:
    return " or ".join(f"{slot} == '{value}'" for value in values)


JOINING = (
    f"not request_late[i] and ({_one_of('request[i]', ('JoinGroup', 'JoinGroup_again', *members.JOIN_ANSWERS))} or "
    "request[i] == 'awaiting' and rebalance[i] == 'PREPARING_REBALANCE')"
)
SYNCING = (
    f"not request_late[i] and ({_one_of('request[i]', ('SyncGroup', *members.SYNC_ANSWERS))} or request[i] "
    "== 'awaiting' "
    "and rebalance[i] == 'COMPLETING_REBALANCE')"
)
BEATING = "timeouts[i] == 'IN_FLIGHT'"


def breaks(system: System, event: str) -> Block:
    """The connection of member i is gone, and with it what was in flight; it hears so from one of its requests."""
    return (*members.BEFORE["coordinator_lost"], *system.hear(event, current="True"))


def _answered(system: System, answer: str) -> Block:
    """The answer leaves the network, and the member hears it: late, if it has given the request up."""
    given = {"revokes_any": TAKES, "retains_any": RETAINS, "adds_any": GAINS} if answer == "sync_accepted" else {}
    clear = Set((("request[i]", "'none'"), ("request_late[i]", "False")))
    late = If(
        (("request_late[i]", (clear, *system.hear(answer, current="False", **given))),),
        otherwise=(clear, *system.hear(answer, current="True", **given)),
    )
    return (late,)


def _beaten(system: System, answer: str) -> Block:
    return (Set((("heartbeat[i]", "'none'"),)), *system.hear(answer, current="True"))
