"""The words of the broker's side: what the group machine reads, hears and does. `vocabulary.py` takes them in with the rest.

The group sees one request, or one timer, at a time. What the group object knows of its members (whose JoinGroup is parked, who
leads, who has been heard lately) is not held in the machine: it comes with the event, as inputs. Some of them are about the member
that asks, the others about all of them *as they are once the event has had its effect*. Who runs the machine works them out from
records of its own, and does to those records what the emitted *acts* say.

An *answer* goes to whoever asked. An *act* is done to the records of the members, and may answer requests parked earlier.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from groupspec.spec.terms import NO_YES, Effect, Event, Variable

_OWNER: Final = "broker_group"
_IDENTITY: Final = ("requester",)
_IN_GENERATION: Final = ("requester", "generation_matches")
_COMPLETION: Final = ("members_left", "some_rejoined")

OF_ONE_MEMBER: Final = frozenset(
    {"group_join", "group_sync", "group_heartbeat", "group_leave", "group_commit", "group_session_expired"}
)
"""Events that are about one member, or one that would be; the others are about the whole group."""

# fmt: off
VARIABLES: Final = (
    Variable("initial_delay", NO_YES, False, "state", _OWNER, doc="the join phase began in Empty: it waits for the initial rebalance delay, whoever has joined"),
    # of the request
    Variable("requester", ("none", "pending", "member", "unknown", "fenced"), "member", "input", doc="whose id the request or timer names: none; one handed out and not used yet; a member's; one that the group does not know (or with an instance id it does not know); one whose instance id is another member's"),
    Variable("fresh_instance", NO_YES, False, "input", doc="no member id, and an instance id that no member has"),
    Variable("replaces_static", NO_YES, False, "input", doc="no member id, and an instance id that a member has"),
    Variable("requires_member_id", NO_YES, True, "input", doc="JoinGroup v4 or later"),
    Variable("in_session_range", NO_YES, True, "input", doc="the session timeout lies within the broker's range"),
    Variable("has_room", NO_YES, True, "input", doc="the size limit lets it in: always into Empty, and always a member of CompletingRebalance or Stable"),
    Variable("protocol_accepted", NO_YES, True, "input", doc="JoinGroup: a protocol that all members support; SyncGroup: the protocol that was chosen"),
    Variable("metadata_changed", NO_YES, False, "input", doc="the member's protocols or metadata are other bytes than last time"),
    Variable("protocol_changes", NO_YES, False, "input", doc="with this member's metadata another protocol would be chosen"),
    Variable("is_leader", NO_YES, False, "input", doc="the requester leads the group"),
    Variable("generation_matches", NO_YES, True, "input", doc="the generation named, or the one that was written, is the group's"),
    Variable("group_known", NO_YES, True, "input", doc="there is a group of that name"),
    Variable("told_of_missing_group", NO_YES, True, "input", doc="OffsetCommit v9 or later"),
    Variable("waits", NO_YES, False, "input", doc="a JoinGroup or SyncGroup of it is parked, and it is not new: that is its heartbeat"),
    # of all members, once the event has had its effect
    Variable("all_joined", NO_YES, False, "input", doc="every member has a JoinGroup parked, and no id that was handed out is still pending"),
    Variable("members_left", NO_YES, True, "input", doc="someone remains when dynamic members without a parked JoinGroup are dropped"),
    Variable("some_rejoined", NO_YES, True, "input", doc="someone has a JoinGroup parked"),
    Variable("unsynced", NO_YES, True, "input", doc="someone has not sent SyncGroup in this generation"),
    Variable("newcomer_seen", NO_YES, False, "input", doc="a member was added since the delay last began, and the rebalance timeout is not used up"),
    Variable("members_stored", NO_YES, True, "input", doc="the group's last record has members"),
)

EVENTS: Final = (
    # requests
    Event("group_join", "message", ("requester", "fresh_instance", "replaces_static", "requires_member_id", "in_session_range", "has_room", "protocol_accepted", "metadata_changed", "protocol_changes", "is_leader"), doc="JoinGroup"),
    Event("group_sync", "message", (*_IN_GENERATION, "protocol_accepted", "is_leader"), doc="SyncGroup"),
    Event("group_heartbeat", "message", _IN_GENERATION, doc="Heartbeat"),
    Event("group_commit", "message", (*_IN_GENERATION, "group_known", "told_of_missing_group"), doc="OffsetCommit; `none` is one without any identity: manual assignment"),
    Event("group_leave", "message", (*_IDENTITY, "replaces_static"), doc="LeaveGroup, one member of it; `none` with an instance id: an administrator removes it"),
    # timers
    Event("group_session_expired", "timer", (*_IDENTITY, "waits", "all_joined"), doc="the session timeout of one member or pending id (300 s while a member is new)"),
    Event("group_rebalance_timeout", "timer", _COMPLETION, doc="the rebalance timeout since PreparingRebalance began"),
    Event("group_sync_timeout", "timer", ("unsynced",), doc="the rebalance timeout since the join phase completed"),
    Event("group_initial_delay_elapsed", "timer", ("newcomer_seen", *_COMPLETION), doc="group.initial.rebalance.delay.ms"),
    # inside the coordinator
    Event("group_join_phase_checked", "internal", ("all_joined", *_COMPLETION), doc="something happened that may complete the join phase"),
    Event("group_assignment_stored", "message", ("generation_matches",), doc="the log has the leader's assignment"),
    Event("group_assignment_lost", "message", ("generation_matches",), doc="the log refused the leader's assignment"),
    Event("group_unloaded", "message", doc="the coordinator moves away or dies"),
    Event("group_loading", "message", doc="the next coordinator begins to read its part of the log"),
    Event("group_loaded", "message", ("members_stored",), doc="it has read the group's last record; without one, a group of that name begins"),
    Event("group_deleted", "application", doc="DeleteGroups, or the last offset of an Empty group expired: it is no longer in the log"),
)

ANSWERS: Final = (
    "ANSWER_NONE",
    "ANSWER_CURRENT_GENERATION",
    "ANSWER_STORED_ASSIGNMENT",
    "ANSWER_MEMBER_ID_REQUIRED",
    "ANSWER_UNKNOWN_MEMBER_ID",
    "ANSWER_FENCED_INSTANCE_ID",
    "ANSWER_ILLEGAL_GENERATION",
    "ANSWER_REBALANCE_IN_PROGRESS",
    "ANSWER_NOT_COORDINATOR",
    "ANSWER_COORDINATOR_LOAD_IN_PROGRESS",
    "ANSWER_INCONSISTENT_GROUP_PROTOCOL",
    "ANSWER_INVALID_SESSION_TIMEOUT",
    "ANSWER_GROUP_MAX_SIZE_REACHED",
    "ANSWER_GROUP_ID_NOT_FOUND",
)
"""What the requester is told: an error code, or one of three kinds of success."""

GROUP_ACTS: Final = MappingProxyType(
    {
        "ADD_PENDING": "an id is handed out; its timer is the session timeout of the request",
        "DROP_PENDING": "the id is pending no more",
        "ADD_MEMBER": "the requester is a member, new until the join phase completes",
        "REPLACE_STATIC": "the requester gets a new id and takes the place of the member with its instance id, leadership too; parked requests of the old id are answered FENCED_INSTANCE_ID, the session timer starts anew",
        "REMOVE_MEMBER": "the member is gone; parked requests of it are answered UNKNOWN_MEMBER_ID; if it led, another leads",
        "REMOVE_UNSYNCED": "the same, for everyone who has not sent SyncGroup",
        "PARK_JOIN": "the JoinGroup waits for the join phase to complete; its metadata and timeouts are the member's",
        "PARK_SYNC": "the SyncGroup waits for the assignment; the member counts as synced",
        "KEEP_ALIVE": "the requester's session timer starts anew",
        "STORE_ASSIGNMENT": "the leader's assignment is written to the log; group_assignment_stored or _lost will follow",
        "ANSWER_SYNCS": "the assignment is everyone's; each parked SyncGroup is answered with it, and those session timers start anew",
        "FAIL_PARKED_SYNCS": "each parked SyncGroup is answered REBALANCE_IN_PROGRESS, and assignments are wiped",
        "FAIL_PARKED_NOT_COORDINATOR": "everything parked is answered NOT_COORDINATOR; where the log refused a write, what its error maps to: COORDINATOR_NOT_AVAILABLE, after which a client looks it up just so, or UNKNOWN_SERVER_ERROR (a record too large), which Kafka's client throws",
        "COMPLETE_JOIN": "dynamic members without a parked JoinGroup are dropped; a leader is elected; the generation grows by one; each parked JoinGroup is answered; session timers start anew; nobody is new, everybody has yet to sync",
        "COMPLETE_EMPTY": "the last member is gone: the generation grows by one",
        "RESTORE": "members, generation and assignment are those of the last record, none if it was deleted, and nothing else is left; session timers start anew",
        "START_INITIAL_DELAY": "",
        "START_REBALANCE_TIMER": "the longest rebalance timeout of the members as they are now; the sync timer stops",
        "START_SYNC_TIMER": "the same length; the rebalance timer stops",
        "STOP_TIMERS": "",
    }
)
"""What is done to the members' records: word to meaning."""

EFFECTS: Final = (
    *(Effect(word.lower(), {}, (word,)) for word in ANSWERS),
    *(Effect(word.lower(), {}, (word,)) for word in GROUP_ACTS if word not in ("START_INITIAL_DELAY", "START_REBALANCE_TIMER", "START_SYNC_TIMER", "STOP_TIMERS")),
    Effect("start_initial_delay", {"initial_delay": "True"}, ("START_INITIAL_DELAY",)),
    Effect("prolong_initial_delay", {}, ("START_INITIAL_DELAY",), doc="by what is left of the rebalance timeout, at most the delay"),
    Effect("start_rebalance_timer", {"initial_delay": "False"}, ("START_REBALANCE_TIMER",)),
    Effect("start_sync_timer", {"initial_delay": "False"}, ("START_SYNC_TIMER",)),
    Effect("stop_timers", {"initial_delay": "False"}, ("STOP_TIMERS",)),
    Effect("end_initial_delay", {"initial_delay": "False"}),
    Effect("check_join_phase", {}, ("group_join_phase_checked",)),
)
# fmt: on
