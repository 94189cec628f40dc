"""The group, as its coordinator holds it: the broker's side of every JoinGroup, SyncGroup, Heartbeat, OffsetCommit and LeaveGroup.

A rebalance has two barriers. The *join phase* (PreparingRebalance) parks every JoinGroup until all members have sent one; then all
are answered together, in a new generation. The *sync phase* (CompletingRebalance) parks every SyncGroup until the leader has sent the
assignment and the log has it. Everything that changes who is in the group begins the join phase again.

The join phase ends when every member has a JoinGroup parked and no id that was handed out is pending (rule G1), or with the rebalance
timeout: the longest of the members' (JoinGroup v1 and later; v0 had no such field, and its session timeout counts). So a member that
crashes during a rebalance holds it up for its session timeout, one that heartbeats and never rejoins for the whole rebalance timeout
(rules G5, G6), and an id that was handed out and forgotten for its session timeout (rule G4). Dynamic members that have not rejoined are
dropped then, static ones stay; if only such remain, the phase goes on for another rebalance timeout.

A group that was Empty waits first: `group.initial.rebalance.delay.ms`, and again for as long as newcomers come, at most the rebalance
timeout in all (rule G3). Meanwhile a join or a leave completes nothing, even if all have joined. An expired session or pending id does:
that path of the coordinator asks only whether all have joined.

The generation grows exactly when the join phase completes, also when nobody is left (rule G2). From then on each member has the rebalance
timeout to send SyncGroup; who has not is removed, from CompletingRebalance and even from Stable (rule G9).

**Who is heard.** Sessions run from the last sign of life: a heartbeat, an accepted commit, an answered SyncGroup, the end of the join phase.
A parked request is a sign of life for as long as it is parked (`waits`), save for a member that is new: it has 300 s. JoinGroup of a known
member is none. Heartbeats are answered REBALANCE_IN_PROGRESS in PreparingRebalance and NONE in CompletingRebalance; commits the other way
round (rule G7). So the commit before a rebalance, of the old generation, succeeds. (The coordinator's own comments say otherwise for
heartbeats in CompletingRebalance and for all requests to a Dead group; brokers do what stands here.)

**Order of the checks** (rule G8): the session timeout's range; Dead or Loading; the size of the group; protocols; the member; the generation; the
protocol chosen; the state. So SyncGroup of another generation gets ILLEGAL_GENERATION in PreparingRebalance too.

**A group nobody knows** is Empty here: it answers alike, save for a commit (`group_known`). So is one that was deleted
(`group_deleted`): its records are gone from the log, and its pending ids with it.

**A group that moves** is Dead at the coordinator that loses it (`group_unloaded`), and Loading at the one that gets it, from when that begins
to read the log (`group_loading`) until it has (`group_loaded`). Neither looks at the request: who has no such part of the log says
NOT_COORDINATOR, who is still reading it COORDINATOR_LOAD_IN_PROGRESS, but NONE to a Heartbeat, so that nobody leaves for it. (Dead is the
group's own word, Loading that of the part of the log that it lies in; COORDINATOR_NOT_AVAILABLE is what a broker says whose coordinator has not
started, or what a failed write is turned into, and no state of a group.) The log holds a record of the last finished generation only. So
what is loaded is Stable, or Empty; a rebalance under way is forgotten with its parked requests and pending ids, and who saw the newer
generation is told so by the old one.

Clients of all versions are one machine: JoinGroup v4 and later is told its member id first (`requires_member_id`), v0 to v3 is added at
once. A client from before KIP-62, which heartbeats only inside poll(), differs from others by what it does not send: to the group it is a
member whose session expires. Not here: share groups, the KIP-848 group type and migration to it, transactional commits, a failed write
of a static member's new id, the number of members (only whether there is room), a pending id that comes back with an instance id.

Sources: KIP-62, "Proposed Changes"; KIP-134; KIP-345; KIP-394; Kafka ClassicGroup, ClassicGroupState, GroupMetadataManager
(classic part), GroupCoordinatorService, CoordinatorRuntime, OffsetMetadataManager.
"""

from __future__ import annotations

from groupspec.spec.machine import State, StateMachine, error, ignored, row


class BrokerGroup(StateMachine):
    """A consumer group of the classic protocol, as its coordinator holds it."""

    machine_name = "broker_group"

    Empty = State(initial=True)
    PreparingRebalance = State()
    CompletingRebalance = State()
    Stable = State()
    Dead = State()
    Loading = State()

    # fmt: off
    _SETTLING = (CompletingRebalance, Stable)
    _WITH_MEMBERS = (PreparingRebalance, *_SETTLING)
    _LIVE = (Empty, *_WITH_MEMBERS)
    _AWAY = (Dead, Loading)
    _EVERY = (*_LIVE, *_AWAY)
    _MEMBERS_ONLY = ("group_sync", "group_heartbeat")
    _TIMERS = ("group_session_expired", "group_rebalance_timeout", "group_sync_timeout", "group_initial_delay_elapsed")

    # what a JoinGroup is, once it has passed the checks
    _SIZED = "in_session_range and has_room"
    _CHECKED = "in_session_range and has_room and protocol_accepted"
    _BY_INSTANCE = f"{_CHECKED} and requester == 'none' and replaces_static"
    _NEW = f"{_CHECKED} and requester == 'none' and not replaces_static"
    _NEEDS_ID = f"{_NEW} and not fresh_instance and requires_member_id"
    _ADDED = f"{_NEW} and (fresh_instance or not requires_member_id)"
    _PENDING = f"{_CHECKED} and requester == 'pending'"
    _KNOWN = f"{_CHECKED} and requester == 'member'"

    _CURRENT = "requester == 'member' and generation_matches"
    _OLD = "requester == 'member' and not generation_matches"
    _STRANGER = "requester != 'member' and requester != 'fenced'"
    _LEAVER = "(requester == 'member' or (requester == 'none' and replaces_static))"
    _NO_LEAVER = "(requester == 'unknown' or (requester == 'none' and not replaces_static))"
    _SILENT = "requester == 'member' and not waits"

    # the join phase begins again
    _FROM_COMPLETING = ["fail_parked_syncs", "start_rebalance_timer", "check_join_phase"]
    _FROM_STABLE = ["start_rebalance_timer", "check_join_phase"]

    #   in state              on event                      goes to              when                                                  do                                                          rules
    # -- JoinGroup ----------------------------------------------------------------------------------------------------------------------------------------------------------------
    row(_EVERY,               "group_join",                 None,                when="not in_session_range",                          do=["answer_invalid_session_timeout"],                      rules="G12 G8")
    row(Dead,                 "group_join",                 None,                when="in_session_range",                              do=["answer_not_coordinator"],                              rules="G13 G8")
    row(Loading,              "group_join",                 None,                when="in_session_range",                              do=["answer_coordinator_load_in_progress"],                 rules="G13 G8")
    row(_LIVE,                "group_join",                 None,                when="in_session_range and not has_room and requester != 'member'", do=["answer_group_max_size_reached"],         rules="G8")
    row(_LIVE,                "group_join",                 None,                when="in_session_range and not has_room and requester == 'member'", do=["remove_member", "answer_group_max_size_reached"], rules="G8")
    row(_LIVE,                "group_join",                 None,                when=f"{_SIZED} and not protocol_accepted",           do=["answer_inconsistent_group_protocol"],                  rules="G12 G8")
    row(_LIVE,                "group_join",                 None,                when=f"{_CHECKED} and requester == 'unknown'",        do=["answer_unknown_member_id"],                            rules="G8 G13")
    row(_LIVE,                "group_join",                 None,                when=f"{_CHECKED} and requester == 'fenced'",         do=["answer_fenced_instance_id"],                           rules="G8 G11")
    row(_LIVE,                "group_join",                 None,                when=_NEEDS_ID,                                       do=["add_pending", "answer_member_id_required"],            rules="G4")

    row(Empty,                "group_join",                 PreparingRebalance,  when=_ADDED,                                          do=["add_member", "park_join", "start_initial_delay"],      rules="G3 G4")
    row(Empty,                "group_join",                 PreparingRebalance,  when=_PENDING,                                        do=["drop_pending", "add_member", "park_join", "start_initial_delay"], rules="G3 G4")
    row(Empty,                "group_join",                 None,                when=_KNOWN,                                          do=["answer_unknown_member_id"],                            rules="G13")

    row(PreparingRebalance,   "group_join",                 None,                when=_ADDED,                                          do=["add_member", "park_join", "check_join_phase"],         rules="G1")
    row(PreparingRebalance,   "group_join",                 None,                when=_PENDING,                                        do=["drop_pending", "add_member", "park_join", "check_join_phase"], rules="G1 G4")
    row(PreparingRebalance,   "group_join",                 None,                when=_KNOWN,                                          do=["park_join", "check_join_phase"],                       rules="G1")
    row(PreparingRebalance,   "group_join",                 None,                when=_BY_INSTANCE,                                    do=["replace_static", "park_join", "check_join_phase"],     rules="G1 G11")

    row(CompletingRebalance,  "group_join",                 PreparingRebalance,  when=_ADDED,                                          do=["add_member", "park_join", *_FROM_COMPLETING],          rules="G1")
    row(CompletingRebalance,  "group_join",                 PreparingRebalance,  when=_PENDING,                                        do=["drop_pending", "add_member", "park_join", *_FROM_COMPLETING], rules="G1 G4")
    row(CompletingRebalance,  "group_join",                 PreparingRebalance,  when=_BY_INSTANCE,                                    do=["replace_static", "park_join", *_FROM_COMPLETING],      rules="G11")
    row(CompletingRebalance,  "group_join",                 PreparingRebalance,  when=f"{_KNOWN} and metadata_changed",                do=["park_join", *_FROM_COMPLETING],                        rules="G10")
    row(CompletingRebalance,  "group_join",                 None,                when=f"{_KNOWN} and not metadata_changed",            do=["answer_current_generation"],                           rules="G10")

    row(Stable,               "group_join",                 PreparingRebalance,  when=_ADDED,                                          do=["add_member", "park_join", *_FROM_STABLE],              rules="G1")
    row(Stable,               "group_join",                 PreparingRebalance,  when=_PENDING,                                        do=["drop_pending", "add_member", "park_join", *_FROM_STABLE], rules="G1 G4")
    row(Stable,               "group_join",                 PreparingRebalance,  when=f"{_BY_INSTANCE} and protocol_changes",          do=["replace_static", "park_join", *_FROM_STABLE],          rules="G11")
    row(Stable,               "group_join",                 None,                when=f"{_BY_INSTANCE} and not protocol_changes",      do=["replace_static", "answer_current_generation"],         rules="G11")
    row(Stable,               "group_join",                 PreparingRebalance,  when=f"{_KNOWN} and (is_leader or metadata_changed)", do=["park_join", *_FROM_STABLE],                            rules="G10")
    row(Stable,               "group_join",                 None,                when=f"{_KNOWN} and not is_leader and not metadata_changed", do=["answer_current_generation"],                    rules="G10")

    # -- the end of the join phase ------------------------------------------------------------------------------------------------------------------------------------------------
    row(PreparingRebalance,   "group_join_phase_checked",   CompletingRebalance, when="all_joined and not initial_delay and some_rejoined", do=["complete_join", "start_sync_timer"],              rules="G1 G2")
    row(PreparingRebalance,   "group_join_phase_checked",   None,                when="all_joined and not initial_delay and not some_rejoined and members_left", do=["start_rebalance_timer"],     rules="G1")
    row(PreparingRebalance,   "group_join_phase_checked",   Empty,               when="all_joined and not initial_delay and not some_rejoined and not members_left", do=["complete_empty", "stop_timers"], rules="G1 G2")
    row(PreparingRebalance,   "group_rebalance_timeout",    CompletingRebalance, when="not initial_delay and some_rejoined",           do=["complete_join", "start_sync_timer"],                   rules="G1 G2 G6")
    row(PreparingRebalance,   "group_rebalance_timeout",    None,                when="not initial_delay and not some_rejoined and members_left", do=["start_rebalance_timer"],                    rules="G1")
    row(PreparingRebalance,   "group_rebalance_timeout",    Empty,               when="not initial_delay and not some_rejoined and not members_left", do=["complete_empty", "stop_timers"],        rules="G1 G2")
    row(PreparingRebalance,   "group_initial_delay_elapsed", None,               when="initial_delay and newcomer_seen",               do=["prolong_initial_delay"],                               rules="G3")
    row(PreparingRebalance,   "group_initial_delay_elapsed", CompletingRebalance, when="initial_delay and not newcomer_seen and some_rejoined", do=["complete_join", "start_sync_timer"],           rules="G3 G2")
    row(PreparingRebalance,   "group_initial_delay_elapsed", None,               when="initial_delay and not newcomer_seen and not some_rejoined and members_left", do=["start_rebalance_timer"],  rules="G3 G1")
    row(PreparingRebalance,   "group_initial_delay_elapsed", Empty,              when="initial_delay and not newcomer_seen and not some_rejoined and not members_left", do=["complete_empty", "stop_timers"], rules="G3 G2")

    # -- SyncGroup ----------------------------------------------------------------------------------------------------------------------------------------------------------------
    row(_WITH_MEMBERS,        "group_sync",                 None,                when=f"{_CURRENT} and not protocol_accepted",         do=["answer_inconsistent_group_protocol"],                  rules="G8 G12")
    row(PreparingRebalance,   "group_sync",                 None,                when=f"{_CURRENT} and protocol_accepted",             do=["answer_rebalance_in_progress"],                        rules="G9 G8")
    row(CompletingRebalance,  "group_sync",                 None,                when=f"{_CURRENT} and protocol_accepted and not is_leader", do=["park_sync"],                                     rules="G9")
    row(CompletingRebalance,  "group_sync",                 None,                when=f"{_CURRENT} and protocol_accepted and is_leader", do=["park_sync", "store_assignment"],                     rules="G9")
    row(Stable,               "group_sync",                 None,                when=f"{_CURRENT} and protocol_accepted",             do=["answer_stored_assignment"],                            rules="G9")
    row(CompletingRebalance,  "group_assignment_stored",    Stable,              when="generation_matches",                            do=["answer_syncs"],                                        rules="G9")
    row(CompletingRebalance,  "group_assignment_lost",      PreparingRebalance,  when="generation_matches",                            do=["fail_parked_not_coordinator", *_FROM_COMPLETING],      rules="G9")
    row(CompletingRebalance,  "group_sync_timeout",         PreparingRebalance,  when="unsynced",                                      do=["remove_unsynced", *_FROM_COMPLETING],                  rules="G9")
    row(Stable,               "group_sync_timeout",         PreparingRebalance,  when="unsynced",                                      do=["remove_unsynced", *_FROM_STABLE],                      rules="G9")

    # -- Heartbeat ----------------------------------------------------------------------------------------------------------------------------------------------------------------
    row(PreparingRebalance,   "group_heartbeat",            None,                when=_CURRENT,                                        do=["keep_alive", "answer_rebalance_in_progress"],          rules="G7 G5")
    row(_SETTLING,            "group_heartbeat",            None,                when=_CURRENT,                                        do=["keep_alive", "answer_none"],                           rules="G7 G5")

    # -- OffsetCommit -------------------------------------------------------------------------------------------------------------------------------------------------------------
    row((PreparingRebalance, Stable), "group_commit",       None,                when=_CURRENT,                                        do=["keep_alive", "answer_none"],                           rules="G7 G5")
    row(CompletingRebalance,  "group_commit",               None,                when=_CURRENT,                                        do=["answer_rebalance_in_progress"],                        rules="G7")
    row(Empty,                "group_commit",               None,                when="requester == 'none'",                           do=["answer_none"],                                         rules="G13 D8")
    row(Empty,                "group_commit",               None,                when="requester != 'none' and not group_known and told_of_missing_group", do=["answer_group_id_not_found"],       rules="G13")
    row(Empty,                "group_commit",               None,                when="requester != 'none' and not group_known and not told_of_missing_group", do=["answer_illegal_generation"],   rules="G13")
    row(Empty,                "group_commit",               None,                when="group_known and requester != 'none' and requester != 'fenced'", do=["answer_unknown_member_id"],            rules="G8 G13")
    row(Empty,                "group_commit",               None,                when="group_known and requester == 'fenced'",         do=["answer_fenced_instance_id"],                           rules="G8 G11")
    row(_WITH_MEMBERS,        "group_commit",               None,                when=_STRANGER,                                       do=["answer_unknown_member_id"],                            rules="G8 G13")
    row(_WITH_MEMBERS,        "group_commit",               None,                when="requester == 'fenced'",                         do=["answer_fenced_instance_id"],                           rules="G8 G11")

    # -- the checks that SyncGroup, Heartbeat and OffsetCommit share ------------------------------------------------------------------------------------------------------------
    row(Dead,                 (*_MEMBERS_ONLY, "group_commit", "group_leave"), None,                                                  do=["answer_not_coordinator"],                              rules="G13 G8")
    row(Loading,              ("group_sync", "group_commit", "group_leave"), None,                                                    do=["answer_coordinator_load_in_progress"],                 rules="G13 G8")
    row(Loading,              "group_heartbeat",            None,                                                                      do=["answer_none"],                                         rules="G13")
    row(_WITH_MEMBERS,        (*_MEMBERS_ONLY, "group_commit"), None,            when=_OLD,                                            do=["answer_illegal_generation"],                           rules="G8")
    row(_WITH_MEMBERS,        _MEMBERS_ONLY,                None,                when=_STRANGER,                                       do=["answer_unknown_member_id"],                            rules="G8 G13")
    row(Empty,                _MEMBERS_ONLY,                None,                when="requester != 'fenced'",                         do=["answer_unknown_member_id"],                            rules="G13")
    row(_LIVE,                _MEMBERS_ONLY,                None,                when="requester == 'fenced'",                         do=["answer_fenced_instance_id"],                           rules="G8 G11")

    # -- LeaveGroup ---------------------------------------------------------------------------------------------------------------------------------------------------------------
    row(_LIVE,                "group_leave",                None,                when=_NO_LEAVER,                                      do=["answer_unknown_member_id"],                            rules="G8 G13")
    row(_LIVE,                "group_leave",                None,                when="requester == 'fenced'",                         do=["answer_fenced_instance_id"],                           rules="G8 G11")
    row(Empty,                "group_leave",                None,                when=_LEAVER,                                         do=["answer_unknown_member_id"],                            rules="G13")
    row(Empty,                "group_leave",                None,                when="requester == 'pending'",                        do=["drop_pending", "answer_none"],                         rules="G4")
    row(PreparingRebalance,   "group_leave",                None,                when=_LEAVER,                                         do=["remove_member", "answer_none", "check_join_phase"],    rules="G1")
    row(PreparingRebalance,   "group_leave",                None,                when="requester == 'pending'",                        do=["drop_pending", "answer_none", "check_join_phase"],     rules="G1 G4")
    row(CompletingRebalance,  "group_leave",                PreparingRebalance,  when=_LEAVER,                                         do=["remove_member", "answer_none", *_FROM_COMPLETING],     rules="G1")
    row(CompletingRebalance,  "group_leave",                PreparingRebalance,  when="requester == 'pending'",                        do=["drop_pending", "answer_none", *_FROM_COMPLETING],      rules="G1 G4")
    row(Stable,               "group_leave",                PreparingRebalance,  when=_LEAVER,                                         do=["remove_member", "answer_none", *_FROM_STABLE],         rules="G1")
    row(Stable,               "group_leave",                PreparingRebalance,  when="requester == 'pending'",                        do=["drop_pending", "answer_none", *_FROM_STABLE],          rules="G1 G4")

    # -- a session runs out -------------------------------------------------------------------------------------------------------------------------------------------------------
    row((Empty, *_SETTLING),  "group_session_expired",      None,                when="requester == 'pending'",                        do=["drop_pending"],                                        rules="G4")
    row(PreparingRebalance,   "group_session_expired",      None,                when="requester == 'pending' and not all_joined",     do=["drop_pending"],                                        rules="G4")
    row(PreparingRebalance,   "group_session_expired",      None,                when="requester == 'pending' and all_joined",         do=["drop_pending", "end_initial_delay", "check_join_phase"], rules="G4 G1")
    row(PreparingRebalance,   "group_session_expired",      None,                when=f"{_SILENT} and not all_joined",                 do=["remove_member"],                                       rules="G5")
    row(PreparingRebalance,   "group_session_expired",      None,                when=f"{_SILENT} and all_joined",                     do=["remove_member", "end_initial_delay", "check_join_phase"], rules="G5 G1")
    row(CompletingRebalance,  "group_session_expired",      PreparingRebalance,  when=_SILENT,                                         do=["remove_member", *_FROM_COMPLETING],                    rules="G5")
    row(Stable,               "group_session_expired",      PreparingRebalance,  when=_SILENT,                                         do=["remove_member", *_FROM_STABLE],                        rules="G5")

    # -- the coordinator itself ---------------------------------------------------------------------------------------------------------------------------------------------------
    row(_LIVE,                "group_unloaded",             Dead,                                                                      do=["fail_parked_not_coordinator", "stop_timers"],          rules="G13")
    row(Loading,              "group_unloaded",             Dead,                                                                                                                                  rules="G13")
    row(Dead,                 "group_loading",              Loading,                                                                                                                               rules="G13")
    row(Loading,              "group_loaded",               Stable,              when="members_stored",                                do=["restore"],                                             rules="G13")
    row(Loading,              "group_loaded",               Empty,               when="not members_stored",                            do=["restore"],                                             rules="G13")
    row(Empty,                "group_deleted",              None,                                                                      do=["restore"],                                             rules="G13")

    # -- what changes nothing -----------------------------------------------------------------------------------------------------------------------------------------------------
    ignored(PreparingRebalance, "group_join_phase_checked", because="others_missing",   when="not all_joined or initial_delay")
    ignored((Empty, *_SETTLING, *_AWAY), "group_join_phase_checked", because="nothing_waits")
    ignored(_WITH_MEMBERS,    "group_session_expired",      because="parked_is_alive",  when="requester == 'member' and waits", rules="G5")
    ignored(_WITH_MEMBERS,    "group_session_expired",      because="timer_off",        when="requester != 'member' and requester != 'pending'")
    ignored(Empty,            "group_session_expired",      because="timer_off",        when="requester != 'pending'")
    ignored(_AWAY,            _TIMERS,                      because="timer_off")
    ignored((Empty, *_SETTLING), ("group_rebalance_timeout", "group_initial_delay_elapsed"), because="timer_off")
    ignored(PreparingRebalance, "group_rebalance_timeout",  because="timer_off",        when="initial_delay")
    ignored(PreparingRebalance, "group_initial_delay_elapsed", because="timer_off",     when="not initial_delay")
    ignored((Empty, PreparingRebalance), "group_sync_timeout", because="timer_off")
    ignored(_SETTLING,        "group_sync_timeout",         because="nothing_waits",    when="not unsynced")
    ignored((Empty, PreparingRebalance, Stable, *_AWAY), ("group_assignment_stored", "group_assignment_lost"), because="late")
    ignored(CompletingRebalance, ("group_assignment_stored", "group_assignment_lost"), because="late", when="not generation_matches")
    ignored(Dead,             ("group_unloaded", "group_loaded"), because="already")
    ignored(Loading,          "group_loading",              because="already")
    ignored(_AWAY,            "group_deleted",              because="nothing_waits")
    ignored(_LIVE,            ("group_loading", "group_loaded"), because="already")
    ignored(_WITH_MEMBERS,    "group_deleted",              because="has_members")
    # what cannot be: nobody is a member of an Empty group, so nobody can be replaced
    error(Empty,              "group_join",                 rule="G11",                 when=_BY_INSTANCE)
    # fmt: on
