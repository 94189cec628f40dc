"""The group's side of the composition.

What its machine is told about the members, and what its acts do to their records.

The group keeps a record of each id: `registered` for the id that a member has, `forgotten` for one that it had. A
record says whether a JoinGroup or SyncGroup of it awaits its answer, and whether it has synced in this generation.

    the group emits            what happens
    ANSWER_...                 the answer goes into the place of the request, named as the event that it will be
    AWAIT_JOIN, AWAIT_SYNC       the record says so; the network's place is `awaiting`
    COMPLETE_JOIN              who has not rejoined is dropped; a new generation; every awaiting JoinGroup is answered
    STORE_ASSIGNMENT           the leader's assignment is worked out, written to the log, and at once known to be there
    ANSWER_SYNCS               every awaiting SyncGroup is answered with its member's share
    RESTORE                    what the log has: members, generation, assignment; everything else is forgotten

**Generations** are numbers in Kafka; only whether two are equal ever matters. So each is kept as its distance from the
last one that the log has: `stored`, `next` (one that only memory has), `later` (two or more), and `older` for all
before. What comes after `later` is `later` again; whoever was told the earlier `later` is then taken to have been told
`next`. So of numbers that are outdated, and not yet in the log, the model keeps no order. After a crash the group goes
back to `stored`, and a number can come again, as it can in Kafka; because of the two words, not always the same one.

**The assignment** is any that gives a partition to its *home*, the member of the same number, if that is in the
generation, and else to somebody who is (`k`, whom the action leaves open). So a partition never moves from its home to
another member while its home stays: assignors that move partitions otherwise are not modelled. Cooperative: a
partition that another member still owns is given to nobody; its owner gives it up and rejoins. Claims are read when the
leader's SyncGroup arrives, not when each JoinGroup was sent: between the two a member that stays in the generation
neither gains nor gives up. Ids that were forgotten are given nothing.

**The leader** that stays is the one it was. A new one is chosen by an action of its own (`leader_chosen`), before any
SyncGroup counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupspec.spec.compiler.model import Block, Call, IndexSet, ModelVariable, Procedure, flag
from groupspec.spec.composition import static
from groupspec.spec.composition.blocks import cases, each, sets, when
from groupspec.spec.composition.machines import Words
from groupspec.spec.composition.members import IDS, remembered

GENERATIONS: Final = ("older", "stored", "next", "later")


def frozen(features: frozenset[str]) -> Mapping[str, bool]:
    """What a model leaves out of the group.

    Limits, protocols that clash, and, without features, static members and ids before joining.
    """
    return {
        **({} if static.FEATURE in features else dict.fromkeys(static.JOINS, False)),
        "in_session_range": True,
        "has_room": True,
        "protocol_accepted": True,
        "metadata_changed": False,
        "protocol_changes": False,
        "group_known": True,
        "reports_missing_group": True,
        "requires_member_id": "ids" in features,
        "newcomer_seen": False,
    }


def variables(members: int, features: frozenset[str]) -> tuple[ModelVariable, ...]:
    """The records of a group; with the feature `log` also the record that survives the coordinator."""
    logged = (
        flag("stored", "the log's last record has the member's id", ("members",)),
        flag("forgotten_stored", "the log's last record has the forgotten id", ("members",)),
        ModelVariable("generation", GENERATIONS, "stored", (), "of the group"),
    ) if "log" in features else ()  # fmt: skip
    told = GENERATIONS if logged else ("older", "current")
    return (
        ModelVariable("registered", IDS, "absent", ("members",), "what the group knows of the member's id"),
        ModelVariable("forgotten", IDS, "absent", ("members",),
                      "what the group knows of an id that the member has no more"),
        *logged,
        ModelVariable("told", told, "older", ("members",), "the generation that the member was last told"),
        ModelVariable("leader", tuple(range(members + 1)), 0, (),
                      "whose SyncGroup brings the assignment; 0: not chosen"),
        flag("share", "the last assignment gives the partition to the member", ("members", "partitions")),
        flag("about_forgotten", "what happens now is about a member's forgotten id"),
    )  # fmt: skip


def _now(features: frozenset[str]) -> str:
    """The generation of the group."""
    return "generation" if "log" in features else "'current'"


def matches(features: frozenset[str]) -> str:
    """Whether the generation that member i was told is the group's."""
    return f"told[i] == {_now(features)}"


_AWAY: Final = "(registered[{j}] == 'absent' or registered[{j}] == 'awaiting_join')"
_OLD_AWAY: Final = _AWAY.replace("registered", "forgotten")
_BOTH_AWAY: Final = f"{_AWAY} and {_OLD_AWAY}".format(j="j")
ALL_JOINED: Final = f"all({_BOTH_AWAY} for j in members)"
SOME_REJOINED: Final = "any(registered[j] == 'awaiting_join' or forgotten[j] == 'awaiting_join' for j in members)"
UNSYNCED: Final = "any(registered[j] == 'unsynced' or forgotten[j] == 'unsynced' for j in members)"
OTHERS_JOINED: Final = f"all({_BOTH_AWAY} for j in members if j != i) and {_OLD_AWAY.format(j='i')}"
OTHERS_JOINED_BUT_FORGOTTEN: Final = f"all({_BOTH_AWAY} for j in members if j != i) and {_AWAY.format(j='i')}"


def somebody_stored(features: frozenset[str]) -> str:
    """Whether the log's last record has members."""
    if "log" in features:
        return "any(stored[j] or forgotten_stored[j] for j in members)"
    return "any(registered[j] != 'absent' or forgotten[j] != 'absent' for j in members)"


_ANSWERS: Final[Mapping[str, Mapping[str, str]]] = {
    "group_join": {
        "ANSWER_MEMBER_ID_REQUIRED": "request[i] = 'join_member_id_required'",
        "ANSWER_UNKNOWN_MEMBER_ID": "request[i] = 'join_unknown_member'",
        "ANSWER_NOT_COORDINATOR": "request[i] = 'join_coordinator_gone'",
        "ANSWER_CURRENT_GENERATION": "request[i] = 'join_accepted'; told[i] = {now}",
    },
    "group_sync": {
        "ANSWER_UNKNOWN_MEMBER_ID": "request[i] = 'sync_unknown_member'",
        "ANSWER_ILLEGAL_GENERATION": "request[i] = 'sync_illegal_generation'",
        "ANSWER_REBALANCE_IN_PROGRESS": "request[i] = 'sync_rebalance_in_progress'",
        "ANSWER_NOT_COORDINATOR": "request[i] = 'sync_coordinator_gone'",
        "ANSWER_STORED_ASSIGNMENT": "registered[i] = 'member'; request[i] = 'sync_accepted'",
    },
    "group_heartbeat": {
        "ANSWER_NONE": "heartbeat[i] = 'none'",
        "ANSWER_REBALANCE_IN_PROGRESS": "heartbeat[i] = 'heartbeat_rebalance_in_progress'",
        "ANSWER_UNKNOWN_MEMBER_ID": "heartbeat[i] = 'heartbeat_unknown_member'",
        "ANSWER_ILLEGAL_GENERATION": "heartbeat[i] = 'heartbeat_illegal_generation'",
        "ANSWER_NOT_COORDINATOR": "heartbeat[i] = 'heartbeat_coordinator_gone'",
    },
}
"""Request and answer to what the answer puts into the request's place, and into the records."""

_ACTS: Final[Mapping[str, Block]] = {
    "ADD_PENDING": (Call("forget_registered", ("i",)), *sets("registered[i] = 'pending'")),
    "DROP_PENDING": (Call("drop", ("i",)),),
    "ADD_MEMBER": (Call("forget_registered", ("i",)), *sets("leader = i if leader == 0 else leader")),
    "REMOVE_MEMBER": (Call("drop", ("i",)),),
    "REMOVE_UNSYNCED": each("j", sets(
        "registered[j] = 'absent' if registered[j] == 'unsynced' else registered[j];"
        " forgotten[j] = 'absent' if forgotten[j] == 'unsynced' else forgotten[j];"
        " leader = 0 if leader == j and registered[j] == 'unsynced' else leader"
    )),
    "AWAIT_JOIN": sets("registered[i] = 'awaiting_join'; request[i] = 'awaiting'"),
    "AWAIT_SYNC": sets("registered[i] = 'awaiting_sync'; request[i] = 'awaiting'"),
    "STORE_ASSIGNMENT": (Call("write_record"), Call("broker_group_group_assignment_stored", ("True",))),
    "ANSWER_SYNCS": each("j", (Call("answer_sync", ("j",)),)),
    "FAIL_AWAITING_SYNCS": each("j", (Call("fail_sync", ("j",)),)),
    "START_REBALANCE_TIMER": each("j", (Call("fail_sync", ("j",)),)),
    "FAIL_AWAITING_NOT_COORDINATOR": each("j", (Call("fail_awaiting", ("j",)),)),
    "COMPLETE_JOIN": (Call("begin_generation"), *each("j", (Call("answer_join", ("j",)),))),
    "COMPLETE_EMPTY": (Call("begin_generation"), *each("j", (Call("drop_unjoined", ("j",)),)), Call("write_record")),
    "RESTORE": (*each("j", (Call("restore", ("j",)),)), Call("log_is_back")),
    "group_join_phase_checked": (Call("broker_group_group_join_phase_checked",
                                      (ALL_JOINED, SOME_REJOINED, SOME_REJOINED)),),
}  # fmt: skip


def words(features: frozenset[str]) -> Words:
    """What a word of the group means."""

    def said(event: str, word: str) -> Block:
        if word == "RESTORE" and "log" not in features:
            return ()
        answer = _ANSWERS.get(event, {}).get(word)
        return sets(answer.format(now=_now(features))) if answer else _ACTS.get(word, ())

    return said


_I: Final[tuple[tuple[str, IndexSet], ...]] = (("i", "members"),)
_J: Final[tuple[tuple[str, IndexSet], ...]] = (("j", "members"),)


def procedures(features: frozenset[str]) -> list[Procedure]:
    """What the acts do to the records."""
    log = "log" in features
    forget = f"forgotten[i] = {remembered(features)}; registered[i] = 'absent'"
    if log:
        forget += "; forgotten_stored[i] = stored[i] or forgotten_stored[i]; stored[i] = False"
    missed = ("registered[j] != 'pending'", sets("registered[j] = 'absent'; leader = 0 if leader == j else leader"))
    if static.FEATURE in features:
        missed = ("registered[j] != 'absent'", static.SURVIVES)
    grows = each("j", sets("told[j] = 'older'"))
    unregistered = "; ".join(
        f"{name}[j] = 'absent' if {name}[j] == 'absent' or {name}[j] == 'pending' else 'member'"
        for name in ("registered", "forgotten")
    )
    if log:
        grows = (
            *when("generation == 'later'", each("j", sets("told[j] = 'next' if told[j] == 'later' else told[j]"))),
            *sets("generation = 'next' if generation == 'stored' else 'later'"),
        )
        unregistered = "registered[j] = 'absent'; forgotten[j] = 'absent'"
    return [
        Procedure("forget_registered", _I, (), when(
            "registered[i] != 'absent' or stored[i]" if log else "registered[i] != 'absent'",
            sets(f"{forget}; leader = 0 if leader == i else leader"),
        ), "the member's id is one that it does not know of: it asks for another"),
        Procedure("drop", _I, (), when(
            "about_forgotten",
            sets("forgotten[i] = 'absent'"),
            otherwise=cases(
                ("request[i] == 'awaiting' and registered[i] == 'awaiting_join'",
                 sets("request[i] = 'join_unknown_member'")),
                ("request[i] == 'awaiting' and registered[i] == 'awaiting_sync'",
                 sets("request[i] = 'sync_unknown_member'")),
            ) + sets("registered[i] = 'absent'; leader = 0 if leader == i else leader"),
        ), "the id is no member any more; what it still awaits is answered"),
        Procedure("drop_unjoined", _J, (), sets(
            "registered[j] = 'pending' if registered[j] == 'pending' else 'absent';"
            " forgotten[j] = 'pending' if forgotten[j] == 'pending' else 'absent';"
            " leader = 0 if leader == j and registered[j] != 'pending' else leader"
        ), "nobody has rejoined"),
        Procedure("begin_generation", (), (), grows, "the generation grows by one"),
        Procedure("answer_join", _J, (), cases(
            ("registered[j] == 'awaiting_join'",
             when("request[j] == 'awaiting'", sets(f"request[j] = 'join_accepted'; told[j] = {_now(features)}"))
             + sets("registered[j] = 'unsynced'")),
            missed,
        ) + sets(
            "forgotten[j] = 'unsynced' if forgotten[j] == 'awaiting_join' else 'pending' if forgotten[j] == 'pending' "
            "else 'absent'"
        ), "the join phase is over for one member"),
        Procedure("answer_sync", _J, (), when(
            "registered[j] == 'awaiting_sync'",
            when("request[j] == 'awaiting'", sets("request[j] = 'sync_accepted'")) + sets("registered[j] = 'member'"),
        ) + when("forgotten[j] == 'awaiting_sync'", sets("forgotten[j] = 'member'")), "the assignment is there"),
        Procedure("fail_sync", _J, (), when(
            "registered[j] == 'awaiting_sync' and request[j] == 'awaiting'",
            sets("request[j] = 'sync_rebalance_in_progress'"),
        ) + sets("; ".join(
            f"{name}[j] = 'member' if {name}[j] == 'awaiting_sync' or {name}[j] == 'unsynced' else {name}[j]"
            for name in ("registered", "forgotten")
        )), "the next rebalance begins: nobody has to sync any more"),
        Procedure("fail_awaiting", _J, (), cases(
            ("request[j] == 'awaiting' and registered[j] == 'awaiting_join'",
             sets("request[j] = 'join_coordinator_gone'")),
            ("request[j] == 'awaiting'", sets("request[j] = 'sync_coordinator_gone'")),
        ) + sets(unregistered), "the coordinator forgets what it has in memory"),
        Procedure("requests_are_lost", (), (), each("j", cases(
            ("(request[j] == 'JoinGroup' or request[j] == 'JoinGroup_again') and not request_late[j]",
             sets("request[j] = 'join_coordinator_gone'")),
            ("request[j] == 'SyncGroup' and not request_late[j]", sets("request[j] = 'sync_coordinator_gone'")),
        )), "requests under way to a coordinator that is gone fail"),
        *(_log_procedures() if log else ()),
    ]  # fmt: skip


def _log_procedures() -> list[Procedure]:
    return [
        Procedure("restore", _J, (), sets(
            "registered[j] = 'member' if stored[j] else 'absent';"
            " forgotten[j] = 'member' if forgotten_stored[j] else 'absent'"
        ), "what the log has of one member"),
        Procedure("log_is_back", (), (), sets("generation = 'stored'; leader = 0"), "the group is what the log says"),
        Procedure("write_record", (), (), each("j", sets(
            "stored[j] = registered[j] != 'absent' and registered[j] != 'pending';"
            " forgotten_stored[j] = forgotten[j] != 'absent' and forgotten[j] != 'pending';"
            " told[j] = told[j] if generation == 'stored' else"
            " ('stored' if told[j] == 'next' else 'next' if told[j] == 'later' else 'older') if generation == 'next'"
            " else ('stored' if told[j] == 'later' else 'older')"
        )) + sets("generation = 'stored'"), "the log has this generation: it is `stored` from now on"),
    ]  # fmt: skip


def assign(cooperative: bool) -> Block:
    """The leader's assignment, `k` being who gets what has no home in this generation."""
    home = "any((registered[h] == 'unsynced' or registered[h] == 'awaiting_sync') for h in members if h == p)"
    chosen = f"(m == p and {home} or m == k and not {home})"
    if cooperative:
        chosen += " and all(not (owns[o][p] and registered[o] != 'absent') for o in members if o != m)"
    return each("m", each("p", sets(f"share[m][p] = {chosen}"), "partitions"))
