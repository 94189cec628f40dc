"""A consumer group at its coordinator.

How the broker answers JoinGroup, SyncGroup, Heartbeat, OffsetCommit, LeaveGroup.

A rebalance has two barriers. The *join phase* (PreparingRebalance) holds back every JoinGroup until all members have
sent one; then all are answered together, in a new generation. The *sync phase* (CompletingRebalance) holds back every
SyncGroup until the leader has sent the assignment and the log has it. Everything that changes who is in the group
begins the join phase again.

The join phase ends when every member has a JoinGroup awaiting and no id that was handed out is pending (rule G1), or
with the rebalance timeout: the longest of the members' (JoinGroup v1 and later; v0 had no such field, and its session
timeout counts). So a member that crashes during a rebalance holds it up for its session timeout, one that heartbeats
and never rejoins for the whole rebalance timeout (rules G5, G6), and an id that was handed out and forgotten for its
session timeout (rule G4). Dynamic members that have not rejoined are dropped then, static ones stay; if only such
remain, the phase goes on for another rebalance timeout.

A group that was Empty waits first: `group.initial.rebalance.delay.ms`, and again for as long as newcomers come, at most
the rebalance timeout in all (rule G3). Meanwhile a join or a leave completes nothing, even if all have joined. An
expired session or pending id does: that path of the coordinator asks only whether all have joined.

The generation grows exactly when the join phase completes, also when nobody is left (rule G2). From then on each member
has the rebalance timeout to send SyncGroup; who has not is removed, from CompletingRebalance and even from Stable (rule
G9).

**Signs of life.** Sessions run from the last sign of life: a heartbeat, an accepted commit, an answered SyncGroup, the
end of the join phase. A request that awaits its answer is a sign of life for that long (`is_awaiting`), save for a
member that is new: it has 300 s. JoinGroup of a known member is none. Heartbeats are answered REBALANCE_IN_PROGRESS in
PreparingRebalance and NONE in CompletingRebalance; commits the other way round (rule G7). So the commit before a
rebalance, of the old generation, succeeds. (The coordinator's own comments say otherwise for heartbeats in
CompletingRebalance and for all requests to a Dead group; brokers do what stands here.)

**Order of the checks** (rule G8): the session timeout's range; Dead or Loading; the size of the group; protocols; the
member; the generation; the protocol chosen; the state. So SyncGroup of another generation gets ILLEGAL_GENERATION in
PreparingRebalance too.

**An unknown group** is Empty here: it answers alike, save for a commit (`group_known`). So is one that was deleted
(`group_deleted`): its records are gone from the log, and its pending ids with it.

**A group that moves** is Dead at the coordinator that loses it (`group_unloaded`), and Loading at the one that gets it,
from when that begins to read the log (`group_loading`) until it has (`group_loaded`). Neither looks at the request: who
has no such part of the log says NOT_COORDINATOR, who is still reading it COORDINATOR_LOAD_IN_PROGRESS, but NONE to a
Heartbeat, so that nobody leaves for it. (Dead is the group's own word, Loading that of the part of the log that it lies
in; COORDINATOR_NOT_AVAILABLE is what a broker says whose coordinator has not started, or what a failed write is turned
into, and no state of a group.) The log holds a record of the last finished generation only. So what is loaded is
Stable, or Empty; a rebalance under way is forgotten with its awaiting requests and pending ids, and who saw the newer
generation is told so by the old one.

Clients of all versions are one machine: JoinGroup v4 and later is told its member id first (`requires_member_id`), v0
to v3 is added at once. A client from before KIP-62, which heartbeats only inside poll(), differs from others by what it
does not send: to the group it is a member whose session expires. Not here: share groups, the KIP-848 group type and
migration to it, transactional commits, a failed write of a static member's new id, the number of members (only whether
there is room), a pending id that comes back with an instance id.

Sources: KIP-62, "Proposed Changes"; KIP-134; KIP-345; KIP-394; Kafka ClassicGroup, ClassicGroupState,
GroupMetadataManager (classic part), GroupCoordinatorService, CoordinatorRuntime, OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.machine import Guard, State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Event, Variable

# fmt: off
_IDENTITY: Final = ("requester",)
_IN_GENERATION: Final = ("requester", "generation_matches")
_COMPLETION: Final = ("members_left", "some_rejoined")

OF_ONE_MEMBER: Final = frozenset(
    {"group_join", "group_sync", "group_heartbeat", "group_leave", "group_commit", "group_session_expired"}
)
"""Events that are about one member, or one that would be; the others are about the whole group."""

VARIABLES: Final = (
    Variable("initial_delay", NO_YES, False, "state", "broker_group",
             doc="the join phase began in Empty: it waits for the initial rebalance delay, whoever has joined"),
    # of the request
    Variable("requester", ("none", "pending", "member", "unknown", "fenced"), "member", "input",
             doc="whose id the request or timer names: none; one handed out and not used yet; a member's; one that the "
                 "group does not know (or with an instance id it does not know); one whose instance id is another "
                 "member's"),
    Variable("fresh_instance", NO_YES, False, "input", doc="no member id, and an instance id that no member has"),
    Variable("replaces_static", NO_YES, False, "input", doc="no member id, and an instance id that a member has"),
    Variable("requires_member_id", NO_YES, True, "input", doc="JoinGroup v4 or later"),
    Variable("in_session_range", NO_YES, True, "input", doc="the session timeout lies within the broker's range"),
    Variable("has_room", NO_YES, True, "input",
             doc="the size limit lets it in: always into Empty, and always a member of CompletingRebalance or Stable"),
    Variable("protocol_accepted", NO_YES, True, "input",
             doc="JoinGroup: a protocol that all members support; SyncGroup: the protocol that was chosen"),
    Variable("metadata_changed", NO_YES, False, "input",
             doc="the member's protocols or metadata are other bytes than last time"),
    Variable("protocol_changes", NO_YES, False, "input",
             doc="with this member's metadata another protocol would be chosen"),
    Variable("is_leader", NO_YES, False, "input", doc="the requester leads the group"),
    Variable("generation_matches", NO_YES, True, "input",
             doc="the generation named, or the one that was written, is the group's"),
    Variable("group_known", NO_YES, True, "input", doc="there is a group of that name"),
    Variable("reports_missing_group", NO_YES, True, "input", doc="OffsetCommit v9 or later"),
    Variable("is_awaiting", NO_YES, False, "input",
             doc="a JoinGroup or SyncGroup of it awaits its answer, and it is not new: that is its heartbeat"),
    # of all members, once the event has had its effect
    Variable("all_joined", NO_YES, False, "input",
             doc="every member has a JoinGroup awaiting, and no id that was handed out is still pending"),
    Variable("members_left", NO_YES, True, "input",
             doc="someone remains when dynamic members without an awaiting JoinGroup are dropped"),
    Variable("some_rejoined", NO_YES, True, "input", doc="someone has a JoinGroup awaiting"),
    Variable("unsynced", NO_YES, True, "input", doc="someone has not sent SyncGroup in this generation"),
    Variable("newcomer_seen", NO_YES, False, "input",
             doc="a member was added since the delay last began, and the rebalance timeout is not used up"),
    Variable("members_stored", NO_YES, True, "input", doc="the group's last record has members"),
)

EVENTS: Final = (
    # requests
    Event("group_join", "message",
          ("requester", "fresh_instance", "replaces_static", "requires_member_id", "in_session_range", "has_room",
           "protocol_accepted", "metadata_changed", "protocol_changes", "is_leader"), doc="JoinGroup"),
    Event("group_sync", "message", (*_IN_GENERATION, "protocol_accepted", "is_leader"), doc="SyncGroup"),
    Event("group_heartbeat", "message", _IN_GENERATION, doc="Heartbeat"),
    Event("group_commit", "message", (*_IN_GENERATION, "group_known", "reports_missing_group"),
          doc="OffsetCommit; `none` is one without any identity: manual assignment"),
    Event("group_leave", "message", (*_IDENTITY, "replaces_static"),
          doc="LeaveGroup, one member of it; `none` with an instance id: an administrator removes it"),
    # timers
    Event("group_session_expired", "timer", (*_IDENTITY, "is_awaiting", "all_joined"),
          doc="the session timeout of one member or pending id (300 s while a member is new)"),
    Event("group_rebalance_timeout", "timer", _COMPLETION, doc="the rebalance timeout since PreparingRebalance began"),
    Event("group_sync_timeout", "timer", ("unsynced",), doc="the rebalance timeout since the join phase completed"),
    Event("group_initial_delay_elapsed", "timer", ("newcomer_seen", *_COMPLETION),
          doc="group.initial.rebalance.delay.ms"),
    # inside the coordinator
    Event("group_join_phase_checked", "internal", ("all_joined", *_COMPLETION),
          doc="something happened that may complete the join phase"),
    Event("group_assignment_stored", "message", ("generation_matches",), doc="the log has the leader's assignment"),
    Event("group_assignment_lost", "message", ("generation_matches",), doc="the log refused the leader's assignment"),
    Event("group_unloaded", "message", doc="the coordinator moves away or dies"),
    Event("group_loading", "message", doc="the next coordinator begins to read its part of the log"),
    Event("group_loaded", "message", ("members_stored",),
          doc="it has read the group's last record; without one, a group of that name begins"),
    Event("group_deleted", "application",
          doc="DeleteGroups, or the last offset of an Empty group expired: it is no longer in the log"),
)

ANSWERS: Final = (
    "ANSWER_NONE", "ANSWER_CURRENT_GENERATION", "ANSWER_STORED_ASSIGNMENT", "ANSWER_MEMBER_ID_REQUIRED",
    "ANSWER_UNKNOWN_MEMBER_ID", "ANSWER_FENCED_INSTANCE_ID", "ANSWER_ILLEGAL_GENERATION",
    "ANSWER_REBALANCE_IN_PROGRESS", "ANSWER_NOT_COORDINATOR", "ANSWER_COORDINATOR_LOAD_IN_PROGRESS",
    "ANSWER_INCONSISTENT_GROUP_PROTOCOL", "ANSWER_INVALID_SESSION_TIMEOUT", "ANSWER_GROUP_MAX_SIZE_REACHED",
    "ANSWER_GROUP_ID_NOT_FOUND",
)
"""What the requester is told: an error code, or one of three kinds of success."""

GROUP_ACTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ADD_PENDING": "an id is handed out; its timer is the session timeout of the request",
        "DROP_PENDING": "the id is pending no more",
        "ADD_MEMBER": "the requester is a member, new until the join phase completes",
        "REPLACE_STATIC": "the requester gets a new id and takes the place of the member with its instance id, "
                          "leadership too; awaiting requests of the old id are answered FENCED_INSTANCE_ID, the "
                          "session timer starts anew",
        "REMOVE_MEMBER": "the member is gone; awaiting requests of it are answered UNKNOWN_MEMBER_ID; if it led, "
                         "another leads",
        "REMOVE_UNSYNCED": "the same, for everyone who has not sent SyncGroup",
        "AWAIT_JOIN": "the JoinGroup waits for the join phase to complete; its metadata and timeouts are the member's",
        "AWAIT_SYNC": "the SyncGroup waits for the assignment; the member counts as synced",
        "KEEP_ALIVE": "the requester's session timer starts anew",
        "STORE_ASSIGNMENT": "the leader's assignment is written to the log; group_assignment_stored or _lost will "
                            "follow",
        "ANSWER_SYNCS": "the assignment is everyone's; each awaiting SyncGroup is answered with it, and those session "
                        "timers start anew",
        "FAIL_AWAITING_SYNCS": "each awaiting SyncGroup is answered REBALANCE_IN_PROGRESS, and assignments are wiped",
        "FAIL_AWAITING_NOT_COORDINATOR":
            "everything that awaits an answer is answered NOT_COORDINATOR; where the log refused a write, what its "
            "error maps to: COORDINATOR_NOT_AVAILABLE, after which a client looks it up just so, or "
            "UNKNOWN_SERVER_ERROR (a record too large), which Kafka's client throws",
        "COMPLETE_JOIN": "dynamic members without an awaiting JoinGroup are dropped; a leader is elected; the "
                         "generation grows by one; each awaiting JoinGroup is answered; session timers start anew; "
                         "nobody is new, everybody has yet to sync",
        "COMPLETE_EMPTY": "the last member is gone: the generation grows by one",
        "RESTORE": "members, generation and assignment are those of the last record, none if it was deleted, and "
                   "nothing else is left; session timers start anew",
        "START_INITIAL_DELAY": "",
        "START_REBALANCE_TIMER": "the longest rebalance timeout of the members as they are now; the sync timer stops",
        "START_SYNC_TIMER": "the same length; the rebalance timer stops",
        "STOP_TIMERS": "",
    }
)
"""What is done to the members' records: word to meaning."""

EFFECTS: Final = (
    *(Effect(word.lower(), {}, (word,)) for word in ANSWERS),
    *(Effect(word.lower(), {}, (word,)) for word in GROUP_ACTS if not word.startswith(("START_", "STOP_"))),
    Effect("start_initial_delay", {"initial_delay": "True"}, ("START_INITIAL_DELAY",)),
    Effect("prolong_initial_delay", {}, ("START_INITIAL_DELAY",),
           doc="by what is left of the rebalance timeout, at most the delay"),
    Effect("start_rebalance_timer", {"initial_delay": "False"}, ("START_REBALANCE_TIMER",)),
    Effect("start_sync_timer", {"initial_delay": "False"}, ("START_SYNC_TIMER",)),
    Effect("stop_timers", {"initial_delay": "False"}, ("STOP_TIMERS",)),
    Effect("end_initial_delay", {"initial_delay": "False"}),
    Effect("check_join_phase", {}, ("group_join_phase_checked",)),
)

SIZED: Final = Guard("in_session_range and has_room")
CHECKED: Final = Guard("in_session_range and has_room and protocol_accepted")
BY_INSTANCE: Final = CHECKED & "requester == 'none' and replaces_static"
NEW: Final = CHECKED & "requester == 'none' and not replaces_static"
NEEDS_ID: Final = NEW & "not fresh_instance and requires_member_id"
ADDED: Final = NEW & "(fresh_instance or not requires_member_id)"
PENDING: Final = CHECKED & "requester == 'pending'"
KNOWN: Final = CHECKED & "requester == 'member'"
CURRENT: Final = Guard("requester == 'member' and generation_matches")
OLD: Final = Guard("requester == 'member' and not generation_matches")
STRANGER: Final = Guard("requester != 'member' and requester != 'fenced'")
LEAVER: Final = Guard("requester == 'member' or requester == 'none' and replaces_static")
NO_LEAVER: Final = Guard("requester == 'unknown' or requester == 'none' and not replaces_static")
SILENT: Final = Guard("requester == 'member' and not is_awaiting")
# fmt: on


class BrokerGroup(StateMachine):
    """A consumer group of the classic protocol, at its coordinator."""

    machine_name = "broker_group"

    Empty = State(initial=True)
    PreparingRebalance = State()
    CompletingRebalance = State()
    Stable = State()
    Dead = State()
    Loading = State()

    # fmt: off
    SETTLING = (CompletingRebalance, Stable)
    WITH_MEMBERS = (PreparingRebalance, *SETTLING)
    LIVE = (Empty, *WITH_MEMBERS)
    AWAY = (Dead, Loading)
    EVERY = (*LIVE, *AWAY)
    MEMBERS_ONLY = ("group_sync", "group_heartbeat")
    TIMERS = ("group_session_expired", "group_rebalance_timeout", "group_sync_timeout", "group_initial_delay_elapsed")
    FROM_COMPLETING = ["fail_awaiting_syncs", "start_rebalance_timer", "check_join_phase"]
    FROM_STABLE = ["start_rebalance_timer", "check_join_phase"]

    # -- JoinGroup -----------------------------------------------------------------------------------------------------
    row(EVERY,   "group_join", None, rules="G12 G8",
        when="not in_session_range",                                    do=["answer_invalid_session_timeout"])
    row(Dead,    "group_join", None, rules="G13 G8",
        when="in_session_range",                                        do=["answer_not_coordinator"])
    row(Loading, "group_join", None, rules="G13 G8",
        when="in_session_range",                                        do=["answer_coordinator_load_in_progress"])
    row(LIVE,    "group_join", None, rules="G8",
        when="in_session_range and not has_room and requester != 'member'", do=["answer_group_max_size_reached"])
    row(LIVE,    "group_join", None, rules="G8",
        when="in_session_range and not has_room and requester == 'member'",
        do=["remove_member", "answer_group_max_size_reached"])
    row(LIVE,    "group_join", None, rules="G12 G8",
        when=SIZED & "not protocol_accepted",                           do=["answer_inconsistent_group_protocol"])
    row(LIVE,    "group_join", None, rules="G8 G13",
        when=CHECKED & "requester == 'unknown'",                        do=["answer_unknown_member_id"])
    row(LIVE,    "group_join", None, rules="G8 G11",
        when=CHECKED & "requester == 'fenced'",                         do=["answer_fenced_instance_id"])
    row(LIVE,    "group_join", None, rules="G4",
        when=NEEDS_ID,                                                  do=["add_pending", "answer_member_id_required"])

    row(Empty, "group_join", PreparingRebalance, rules="G3 G4",
        when=ADDED,             do=["add_member", "await_join", "start_initial_delay"])
    row(Empty, "group_join", PreparingRebalance, rules="G3 G4",
        when=PENDING,           do=["drop_pending", "add_member", "await_join", "start_initial_delay"])
    row(Empty, "group_join", None,               rules="G13",
        when=KNOWN,             do=["answer_unknown_member_id"])

    row(PreparingRebalance, "group_join", None, rules="G1",
        when=ADDED,             do=["add_member", "await_join", "check_join_phase"])
    row(PreparingRebalance, "group_join", None, rules="G1 G4",
        when=PENDING,           do=["drop_pending", "add_member", "await_join", "check_join_phase"])
    row(PreparingRebalance, "group_join", None, rules="G1",
        when=KNOWN,             do=["await_join", "check_join_phase"])
    row(PreparingRebalance, "group_join", None, rules="G1 G11",
        when=BY_INSTANCE,       do=["replace_static", "await_join", "check_join_phase"])

    row(CompletingRebalance, "group_join", PreparingRebalance, rules="G1",
        when=ADDED,                          do=["add_member", "await_join", *FROM_COMPLETING])
    row(CompletingRebalance, "group_join", PreparingRebalance, rules="G1 G4",
        when=PENDING,                        do=["drop_pending", "add_member", "await_join", *FROM_COMPLETING])
    row(CompletingRebalance, "group_join", PreparingRebalance, rules="G11",
        when=BY_INSTANCE,                    do=["replace_static", "await_join", *FROM_COMPLETING])
    row(CompletingRebalance, "group_join", PreparingRebalance, rules="G10",
        when=KNOWN & "metadata_changed",     do=["await_join", *FROM_COMPLETING])
    row(CompletingRebalance, "group_join", None,               rules="G10",
        when=KNOWN & "not metadata_changed", do=["answer_current_generation"])

    row(Stable, "group_join", PreparingRebalance, rules="G1",
        when=ADDED,                                       do=["add_member", "await_join", *FROM_STABLE])
    row(Stable, "group_join", PreparingRebalance, rules="G1 G4",
        when=PENDING,                                     do=["drop_pending", "add_member", "await_join", *FROM_STABLE])
    row(Stable, "group_join", PreparingRebalance, rules="G11",
        when=BY_INSTANCE & "protocol_changes",            do=["replace_static", "await_join", *FROM_STABLE])
    row(Stable, "group_join", None,               rules="G11",
        when=BY_INSTANCE & "not protocol_changes",        do=["replace_static", "answer_current_generation"])
    row(Stable, "group_join", PreparingRebalance, rules="G10",
        when=KNOWN & "(is_leader or metadata_changed)",   do=["await_join", *FROM_STABLE])
    row(Stable, "group_join", None,               rules="G10",
        when=KNOWN & "not is_leader and not metadata_changed", do=["answer_current_generation"])

    # -- the end of the join phase -------------------------------------------------------------------------------------
    row(PreparingRebalance, "group_join_phase_checked",    CompletingRebalance, rules="G1 G2",
        when="all_joined and not initial_delay and some_rejoined",      do=["complete_join", "start_sync_timer"])
    row(PreparingRebalance, "group_join_phase_checked",    None,                rules="G1",
        when="all_joined and not initial_delay and not some_rejoined and members_left", do=["start_rebalance_timer"])
    row(PreparingRebalance, "group_join_phase_checked",    Empty,               rules="G1 G2",
        when="all_joined and not initial_delay and not some_rejoined and not members_left",
        do=["complete_empty", "stop_timers"])
    row(PreparingRebalance, "group_rebalance_timeout",     CompletingRebalance, rules="G1 G2 G6",
        when="not initial_delay and some_rejoined",                     do=["complete_join", "start_sync_timer"])
    row(PreparingRebalance, "group_rebalance_timeout",     None,                rules="G1",
        when="not initial_delay and not some_rejoined and members_left", do=["start_rebalance_timer"])
    row(PreparingRebalance, "group_rebalance_timeout",     Empty,               rules="G1 G2",
        when="not initial_delay and not some_rejoined and not members_left", do=["complete_empty", "stop_timers"])
    row(PreparingRebalance, "group_initial_delay_elapsed", None,                rules="G3",
        when="initial_delay and newcomer_seen",                         do=["prolong_initial_delay"])
    row(PreparingRebalance, "group_initial_delay_elapsed", CompletingRebalance, rules="G3 G2",
        when="initial_delay and not newcomer_seen and some_rejoined",   do=["complete_join", "start_sync_timer"])
    row(PreparingRebalance, "group_initial_delay_elapsed", None,                rules="G3 G1",
        when="initial_delay and not newcomer_seen and not some_rejoined and members_left", do=["start_rebalance_timer"])
    row(PreparingRebalance, "group_initial_delay_elapsed", Empty,               rules="G3 G2",
        when="initial_delay and not newcomer_seen and not some_rejoined and not members_left",
        do=["complete_empty", "stop_timers"])

    # -- SyncGroup -----------------------------------------------------------------------------------------------------
    row(WITH_MEMBERS,        "group_sync",              None,               rules="G8 G12",
        when=CURRENT & "not protocol_accepted",               do=["answer_inconsistent_group_protocol"])
    row(PreparingRebalance,  "group_sync",              None,               rules="G9 G8",
        when=CURRENT & "protocol_accepted",                   do=["answer_rebalance_in_progress"])
    row(CompletingRebalance, "group_sync",              None,               rules="G9",
        when=CURRENT & "protocol_accepted and not is_leader", do=["await_sync"])
    row(CompletingRebalance, "group_sync",              None,               rules="G9",
        when=CURRENT & "protocol_accepted and is_leader",     do=["await_sync", "store_assignment"])
    row(Stable,              "group_sync",              None,               rules="G9",
        when=CURRENT & "protocol_accepted",                   do=["answer_stored_assignment"])
    row(CompletingRebalance, "group_assignment_stored", Stable,             rules="G9",
        when="generation_matches",                            do=["answer_syncs"])
    row(CompletingRebalance, "group_assignment_lost",   PreparingRebalance, rules="G9",
        when="generation_matches",                            do=["fail_awaiting_not_coordinator", *FROM_COMPLETING])
    row(CompletingRebalance, "group_sync_timeout",      PreparingRebalance, rules="G9",
        when="unsynced",                                      do=["remove_unsynced", *FROM_COMPLETING])
    row(Stable,              "group_sync_timeout",      PreparingRebalance, rules="G9",
        when="unsynced",                                      do=["remove_unsynced", *FROM_STABLE])

    # -- Heartbeat -----------------------------------------------------------------------------------------------------
    row(PreparingRebalance, "group_heartbeat", None, rules="G7 G5",
        when=CURRENT,           do=["keep_alive", "answer_rebalance_in_progress"])
    row(SETTLING,           "group_heartbeat", None, rules="G7 G5",
        when=CURRENT,           do=["keep_alive", "answer_none"])

    # -- OffsetCommit --------------------------------------------------------------------------------------------------
    row((PreparingRebalance, Stable), "group_commit", None, rules="G7 G5",
        when=CURRENT,                                                   do=["keep_alive", "answer_none"])
    row(CompletingRebalance, "group_commit", None, rules="G7",
        when=CURRENT,                                                   do=["answer_rebalance_in_progress"])
    row(Empty,               "group_commit", None, rules="G13 D8",
        when="requester == 'none'",                                     do=["answer_none"])
    row(Empty,               "group_commit", None, rules="G13",
        when="requester != 'none' and not group_known and reports_missing_group", do=["answer_group_id_not_found"])
    row(Empty,               "group_commit", None, rules="G13",
        when="requester != 'none' and not group_known and not reports_missing_group", do=["answer_illegal_generation"])
    row(Empty,               "group_commit", None, rules="G8 G13",
        when="group_known and requester != 'none' and requester != 'fenced'", do=["answer_unknown_member_id"])
    row(Empty,               "group_commit", None, rules="G8 G11",
        when="group_known and requester == 'fenced'",                   do=["answer_fenced_instance_id"])
    row(WITH_MEMBERS,        "group_commit", None, rules="G8 G13",
        when=STRANGER,                                                  do=["answer_unknown_member_id"])
    row(WITH_MEMBERS,        "group_commit", None, rules="G8 G11",
        when="requester == 'fenced'",                                   do=["answer_fenced_instance_id"])

    # -- the checks that SyncGroup, Heartbeat and OffsetCommit share ---------------------------------------------------
    row(Dead,         (*MEMBERS_ONLY, "group_commit", "group_leave"), None, rules="G13 G8",
        do=["answer_not_coordinator"])
    row(Loading,      ("group_sync", "group_commit", "group_leave"), None, rules="G13 G8",
        do=["answer_coordinator_load_in_progress"])
    row(Loading,      "group_heartbeat", None, rules="G13", do=["answer_none"])
    row(WITH_MEMBERS, (*MEMBERS_ONLY, "group_commit"), None, rules="G8",
        when=OLD,                     do=["answer_illegal_generation"])
    row(WITH_MEMBERS, MEMBERS_ONLY,      None, rules="G8 G13",
        when=STRANGER,                do=["answer_unknown_member_id"])
    row(Empty,        MEMBERS_ONLY,      None, rules="G13",
        when="requester != 'fenced'", do=["answer_unknown_member_id"])
    row(LIVE,         MEMBERS_ONLY,      None, rules="G8 G11",
        when="requester == 'fenced'", do=["answer_fenced_instance_id"])

    # -- LeaveGroup ----------------------------------------------------------------------------------------------------
    row(LIVE,                "group_leave", None,               rules="G8 G13",
        when=NO_LEAVER,                do=["answer_unknown_member_id"])
    row(LIVE,                "group_leave", None,               rules="G8 G11",
        when="requester == 'fenced'",  do=["answer_fenced_instance_id"])
    row(Empty,               "group_leave", None,               rules="G13",
        when=LEAVER,                   do=["answer_unknown_member_id"])
    row(Empty,               "group_leave", None,               rules="G4",
        when="requester == 'pending'", do=["drop_pending", "answer_none"])
    row(PreparingRebalance,  "group_leave", None,               rules="G1",
        when=LEAVER,                   do=["remove_member", "answer_none", "check_join_phase"])
    row(PreparingRebalance,  "group_leave", None,               rules="G1 G4",
        when="requester == 'pending'", do=["drop_pending", "answer_none", "check_join_phase"])
    row(CompletingRebalance, "group_leave", PreparingRebalance, rules="G1",
        when=LEAVER,                   do=["remove_member", "answer_none", *FROM_COMPLETING])
    row(CompletingRebalance, "group_leave", PreparingRebalance, rules="G1 G4",
        when="requester == 'pending'", do=["drop_pending", "answer_none", *FROM_COMPLETING])
    row(Stable,              "group_leave", PreparingRebalance, rules="G1",
        when=LEAVER,                   do=["remove_member", "answer_none", *FROM_STABLE])
    row(Stable,              "group_leave", PreparingRebalance, rules="G1 G4",
        when="requester == 'pending'", do=["drop_pending", "answer_none", *FROM_STABLE])

    # -- a session runs out --------------------------------------------------------------------------------------------
    row((Empty, *SETTLING),  "group_session_expired", None,               rules="G4",
        when="requester == 'pending'",                    do=["drop_pending"])
    row(PreparingRebalance,  "group_session_expired", None,               rules="G4",
        when="requester == 'pending' and not all_joined", do=["drop_pending"])
    row(PreparingRebalance,  "group_session_expired", None,               rules="G4 G1",
        when="requester == 'pending' and all_joined",     do=["drop_pending", "end_initial_delay", "check_join_phase"])
    row(PreparingRebalance,  "group_session_expired", None,               rules="G5",
        when=SILENT & "not all_joined",                   do=["remove_member"])
    row(PreparingRebalance,  "group_session_expired", None,               rules="G5 G1",
        when=SILENT & "all_joined",                       do=["remove_member", "end_initial_delay", "check_join_phase"])
    row(CompletingRebalance, "group_session_expired", PreparingRebalance, rules="G5",
        when=SILENT,                                      do=["remove_member", *FROM_COMPLETING])
    row(Stable,              "group_session_expired", PreparingRebalance, rules="G5",
        when=SILENT,                                      do=["remove_member", *FROM_STABLE])

    # -- the coordinator itself ----------------------------------------------------------------------------------------
    row(LIVE,    "group_unloaded", Dead,    rules="G13", do=["fail_awaiting_not_coordinator", "stop_timers"])
    row(Loading, "group_unloaded", Dead,    rules="G13")
    row(Dead,    "group_loading",  Loading, rules="G13")
    row(Loading, "group_loaded",   Stable,  rules="G13",
        when="members_stored",     do=["restore"])
    row(Loading, "group_loaded",   Empty,   rules="G13",
        when="not members_stored", do=["restore"])
    row(Empty,   "group_deleted",  None,    rules="G13", do=["restore"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored(PreparingRebalance, "group_join_phase_checked", because="others_missing",
        when="not all_joined or initial_delay")
    ignored((Empty, *SETTLING, *AWAY), "group_join_phase_checked", because="nothing_waits")
    ignored(WITH_MEMBERS, "group_session_expired", because="awaiting_is_alive",
        when="requester == 'member' and is_awaiting", rules="G5")
    ignored(WITH_MEMBERS, "group_session_expired", because="timer_off",
        when="requester != 'member' and requester != 'pending'")
    ignored(Empty, "group_session_expired", because="timer_off", when="requester != 'pending'")
    ignored(AWAY, TIMERS, because="timer_off")
    ignored((Empty, *SETTLING), ("group_rebalance_timeout", "group_initial_delay_elapsed"), because="timer_off")
    ignored(PreparingRebalance, "group_rebalance_timeout", because="timer_off", when="initial_delay")
    ignored(PreparingRebalance, "group_initial_delay_elapsed", because="timer_off", when="not initial_delay")
    ignored((Empty, PreparingRebalance), "group_sync_timeout", because="timer_off")
    ignored(SETTLING, "group_sync_timeout", because="nothing_waits", when="not unsynced")
    ignored((Empty, PreparingRebalance, Stable, *AWAY), ("group_assignment_stored", "group_assignment_lost"),
        because="late")
    ignored(CompletingRebalance, ("group_assignment_stored", "group_assignment_lost"), because="late",
        when="not generation_matches")
    ignored(Dead, ("group_unloaded", "group_loaded"), because="already")
    ignored(Loading, "group_loading", because="already")
    ignored(AWAY, "group_deleted", because="nothing_waits")
    ignored(LIVE, ("group_loading", "group_loaded"), because="already")
    ignored(WITH_MEMBERS, "group_deleted", because="has_members")

    # -- what cannot be: nobody is a member of an Empty group, so nobody can be replaced -------------------------------
    error(Empty, "group_join", rule="G11", when=BY_INSTANCE)
    # fmt: on
