"""The words of the specification: variables, events, effects, reasons. All data, and all of it finite.

**Variables.** A *state* variable belongs to one machine, whose effects alone set it; every machine may read it. An
*input* comes with an event and is gone after it. A *config* variable is chosen before the first event and never
changes. Two more words may stand in any guard and are constants of a whole run: the rebalance protocol (`eager` or
`cooperative`) and the profile (`published`: the threading refactor proposal to the letter; `deployed`: what brokers and
KIP-429 allow).

**Time** is not a variable. A timer is an event, and says nothing about when: whatever order of expiries a clock could
bring about, the machines have an answer to it.

**Answers.** Every (request, error) that a coordinator can give is one event; `RESPONSES` is the table. An answer is
`current` when the request it belongs to is still the one waited for *and* the identity it was sent with is still the
member's (rule J9). All others are late.

**Effects** within one entry happen at once, entries along a row in order. What is emitted is a request (`JoinGroup`),
an event for the polling thread (`REVOKE_PARTITIONS`), or an event for the other machines of the same member
(`join_needed`), which they handle before anything else reaches the member (`member.py` says who hears what).

The variables and effects of a machine stand beside its table, in its own file; what several share is here.

Sources: the threading refactor proposal (Apache Kafka wiki) for the events between the threads; KIP-62 for the three
timers; Kafka's AbstractCoordinator and ConsumerCoordinator for the answers and what follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from groupspec.spec import broker_group, commit, connection, rebalance, subscription, timeouts
from groupspec.spec.terms import NO_YES, Effect, Event, Variable

_Named = TypeVar("_Named", Variable, Event, Effect)


def _by_name(*entries: _Named) -> Mapping[str, _Named]:
    table = {entry.name: entry for entry in entries}
    assert len(table) == len(entries), "a name is defined twice"
    return MappingProxyType(table)


# fmt: off
# Variables ------------------------------------------------------------------------------------------------------------

VARIABLES: Final[Mapping[str, Variable]] = _by_name(
    # of a run
    Variable("auto_commit", NO_YES, False, "config", doc="enable.auto.commit"),
    Variable("static", NO_YES, False, "config",
             doc="group.instance.id is set: a static member sends no LeaveGroup by itself"),
    # of the machines of a member, and of one partition
    *connection.VARIABLES,
    *rebalance.VARIABLES,
    *timeouts.VARIABLES,
    *subscription.VARIABLES,
    # that come with an event
    Variable("current", NO_YES, True, "input",
             doc="the answer is the one waited for, of the present identity; else it is late"),
    Variable("fits_subscription", NO_YES, True, "input",
             doc="the new assignment has only partitions of topics that are subscribed to"),
    Variable("revokes_any", NO_YES, False, "input",
             doc="the new assignment lacks something that is owned; where none is applied, the subscription does (if "
                 "an assignment waits for a revocation: of what will be owned)"),
    Variable("retains_any", NO_YES, True, "input",
             doc="the new assignment has something that is owned; where none is applied, the subscription does "
                 "(likewise)"),
    Variable("adds_any", NO_YES, True, "input", doc="the new assignment has something that is not owned yet"),
    Variable("more", NO_YES, False, "input", doc="records of this partition are left in the buffer"),
    # of one commit, and of the group
    *commit.VARIABLES,
    *broker_group.VARIABLES,
)

# Events ---------------------------------------------------------------------------------------------------------------

_ANSWER: Final = ("current",)

EVENTS: Final[Mapping[str, Event]] = _by_name(
    # what the application does, and what its thread reports
    Event("started", "application", doc="the background thread runs (after the constructor)"),
    Event("stopped", "application", doc="the background thread ends"),
    Event("subscribed_to_topics", "application", doc="subscribe(); the server event SUBSCRIBE"),
    Event("application_polled", "application", doc="poll(); the server event POLL"),
    Event("poll_raised", "application", doc="poll() only raised an error that was waiting for it"),
    Event("subscription_changed", "application", ("revokes_any", "retains_any"),
          doc="subscribe() with other topics than before"),
    Event("rejoin_requested", "application", doc="the leader sees other metadata, or enforceRebalance()"),
    Event("leave_requested", "application", doc="unsubscribe(), or close() after its commit; the server event CLOSE"),
    Event("callback_started", "application", doc="the polling thread has taken REVOKE_PARTITIONS from its queue"),
    Event("partitions_revoked", "application", doc="PARTITIONS_REVOKED: the listener has returned"),
    Event("partitions_assigned", "application", doc="PARTITIONS_ASSIGNED: the listener has returned"),
    Event("commit_or_fetch_requested", "application",
          doc="COMMIT or FETCH_COMMITTED: an event with required_coordinator"),
    Event("requests_settled", "application",
          doc="every commit and every question for committed offsets has been answered, or given up"),
    # one partition, as the application and the fetcher see it
    Event("fetch_requested", "application", doc="the server event FETCH reaches this partition"),
    Event("records_returned", "application", ("more",), doc="poll() returned records of it: the position moves now"),
    Event("sought", "application", doc="seek()"),
    Event("paused_by_user", "application", doc="pause()"),
    Event("resumed_by_user", "application", doc="resume()"),
    Event("position_found", "message", _ANSWER, doc="a committed offset, or the reset policy's"),
    Event("fetch_answered", "message", _ANSWER, doc="records for the position that was asked for"),
    Event("fetch_failed", "message", _ANSWER,
          doc="no records, and nothing wrong with the position: there are none yet"),
    Event("fetch_out_of_range", "message", _ANSWER, doc="the position does not exist any more"),
    Event("topic_recreated", "message",
          doc="Metadata: the topic of that name has another id; the old one was deleted (KIP-516)"),
    # answers to FindCoordinator
    Event("discovery_succeeded", "message", _ANSWER, doc="FindCoordinator: NONE"),
    Event("discovery_retriable", "message", _ANSWER, doc="FindCoordinator: loading, not available, no answer"),
    Event("discovery_fatal", "message", _ANSWER, doc="FindCoordinator: not authorised, or anything else"),
    # answers to JoinGroup
    Event("join_accepted", "message", _ANSWER, doc="JoinGroup: NONE"),
    Event("join_member_id_required", "message", _ANSWER, doc="JoinGroup: come back with this id (KIP-394)"),
    Event("join_rebalance_in_progress", "message", _ANSWER, doc="JoinGroup: again, at once"),
    Event("join_unknown_member", "message", _ANSWER, doc="JoinGroup: the coordinator does not know this id"),
    Event("join_coordinator_loading", "message", _ANSWER, doc="JoinGroup: again, after a backoff"),
    Event("join_coordinator_gone", "message", _ANSWER, doc="JoinGroup: not the coordinator, or no answer"),
    Event("join_fenced", "message", _ANSWER, doc="JoinGroup: another process has this instance id"),
    Event("join_fatal", "message", _ANSWER, doc="JoinGroup: what only the application can mend"),
    # answers to SyncGroup
    Event("sync_accepted", "message", ("current", "revokes_any", "retains_any", "adds_any", "fits_subscription"),
          doc="SyncGroup: NONE, with the assignment"),
    Event("sync_rebalance_in_progress", "message", _ANSWER, doc="SyncGroup: the next rebalance has begun"),
    Event("sync_unknown_member", "message", _ANSWER, doc="SyncGroup: the coordinator does not know this id"),
    Event("sync_illegal_generation", "message", _ANSWER, doc="SyncGroup: an older or newer generation"),
    Event("sync_coordinator_gone", "message", _ANSWER, doc="SyncGroup: not the coordinator, or no answer"),
    Event("sync_fenced", "message", _ANSWER, doc="SyncGroup: another process has this instance id"),
    Event("sync_fatal", "message", _ANSWER, doc="SyncGroup: what only the application can mend"),
    # answers to Heartbeat
    Event("heartbeat_ok", "message", _ANSWER, doc="Heartbeat: NONE"),
    Event("heartbeat_rebalance_in_progress", "message", _ANSWER, doc="Heartbeat: a rebalance is announced"),
    Event("heartbeat_unknown_member", "message", _ANSWER, doc="Heartbeat: the coordinator does not know this id"),
    Event("heartbeat_illegal_generation", "message", _ANSWER, doc="Heartbeat: an older or newer generation"),
    Event("heartbeat_fenced", "message", _ANSWER, doc="Heartbeat: another process has this instance id"),
    Event("heartbeat_coordinator_gone", "message", _ANSWER, doc="Heartbeat: not the coordinator, or no answer"),
    Event("heartbeat_retriable", "message", _ANSWER, doc="Heartbeat: again, after a backoff"),
    Event("heartbeat_error", "message", _ANSWER, doc="Heartbeat: any other error"),
    # answers to OffsetCommit
    Event("commit_settled", "message", _ANSWER, doc="OffsetCommit: NONE, or an error that ends the attempt"),
    Event("commit_retriable", "message", _ANSWER, doc="OffsetCommit: again, after a backoff"),
    Event("commit_coordinator_gone", "message", _ANSWER, doc="OffsetCommit: not the coordinator, or no answer"),
    Event("commit_rebalance_in_progress", "message", _ANSWER, doc="OffsetCommit: the group rebalances"),
    Event("commit_unknown_member", "message", _ANSWER, doc="OffsetCommit: the coordinator does not know this id"),
    Event("commit_illegal_generation", "message", _ANSWER, doc="OffsetCommit: an older or newer generation"),
    Event("commit_fenced", "message", _ANSWER, doc="OffsetCommit: another process has this instance id"),
    # answers to OffsetFetch, as far as they concern the coordinator
    Event("offset_fetch_coordinator_gone", "message", _ANSWER, doc="OffsetFetch: not the coordinator, or no answer"),
    # timers
    Event("heartbeat_due", "timer",
          doc="heartbeat.interval.ms since the last one was sent, or the backoff after a failed one"),
    Event("session_expired", "timer", doc="session.timeout.ms without a sign of life from the coordinator"),
    Event("poll_interval_expired", "timer", doc="max.poll.interval.ms since the last poll()"),
    Event("join_backoff_elapsed", "timer", doc="retry.backoff.ms since a join or sync failed"),
    Event("discovery_backoff_elapsed", "timer", doc="retry.backoff.ms since a lookup failed"),
    Event("commit_backoff_elapsed", "timer", doc="retry.backoff.ms since the commit before a rebalance failed"),
    Event("commit_deadline_expired", "timer", doc="the commit before a rebalance has had its time"),
    # between the machines of one member
    Event("turn_ended", "internal",
          doc="the background thread has done what the event asked for, and looks at what is left"),
    Event("coordinator_needed", "internal", doc="the rebalance needs a coordinator"),
    Event("coordinator_needless", "internal", doc="the member has left"),
    Event("coordinator_found", "internal", doc="the connection is STABLE"),
    Event("coordinator_gone", "internal", doc="an answer or a timer says that the coordinator is not there"),
    Event("coordinator_lost", "internal", doc="it is forgotten; requests under way to it are void"),
    Event("join_needed", "internal", doc="join now, if the coordinator is known and no backoff runs"),
    Event("revocation_prepared", "internal", doc="nothing has to be committed first"),
    Event("commit_needed", "internal", doc="send the commit before a rebalance, if a coordinator is known"),
    Event("revocation_done", "internal", doc="the subscription is updated; go on"),
    Event("leave_needed", "internal", doc="the last callback is over; leave"),
    Event("poll_limit_reached", "internal", doc="the poll interval expired, and there is a coordinator to tell"),
    Event("heartbeats_enabled", "internal", doc="the generation is joined"),
    Event("heartbeats_disabled", "internal", doc="a JoinGroup is sent, or the identity is gone"),
    Event("partition_added", "internal", doc="the new assignment has it"),
    Event("partition_enabled", "internal", doc="the assigned callback is done"),
    Event("revocation_pending", "internal", doc="it will be taken away: not fetched, not returned"),
    Event("partition_removed", "internal", doc="the subscription no longer has it"),
    # of one commit, and at the group's coordinator
    *commit.EVENTS,
    *broker_group.EVENTS,
)

REQUESTS: Final = ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "Fetch")
"""Requests that an effect may emit."""

CONSUMER_EVENTS: Final = ("ERROR", "REVOKE_PARTITIONS", "ASSIGN_PARTITIONS")
"""Events for the polling thread that an effect may emit (the proposal's ConsumerEventType)."""

COMMIT_ENDINGS: Final[Mapping[str, str]] = commit.COMMIT_ENDINGS
"""What whoever asked for a commit is told in the end, with the meaning of each; the commit machine alone emits them."""

ANSWERS: Final = broker_group.ANSWERS
"""What the coordinator tells whoever asked; the group machine alone emits them."""

GROUP_ACTS: Final[Mapping[str, str]] = broker_group.GROUP_ACTS
"""What the coordinator does to its records of the members, with the meaning of each; the group machine alone emits
them."""

SERVER_EVENTS: Final[Mapping[str, tuple[str, bool]]] = MappingProxyType(
    {
        "FETCH": ("fetch_requested", False),
        "COMMIT": ("commit_or_fetch_requested", True),
        "FETCH_COMMITTED": ("commit_or_fetch_requested", True),
        "SUBSCRIBE": ("subscribed_to_topics", False),
        "UNSUBSCRIBE": ("leave_requested", False),
        "POLL": ("application_polled", False),
        "METADATA_UPDATE": ("rejoin_requested", False),
        "PARTITIONS_REVOKED": ("partitions_revoked", False),
        "PARTITIONS_ASSIGNED": ("partitions_assigned", False),
        "CLOSE": ("leave_requested", False),
    }
)
"""The proposal's ServerEventType, and what it left open with "…": the event of the machines, and `requiredCoordinator`.
"""

# Answers --------------------------------------------------------------------------------------------------------------

_SETTLING: Final = ("commit_accepted", "commit_refused", "commit_topic_missing")

_MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "FindCoordinator": {
        "discovery_succeeded": "NONE",
        "discovery_retriable":
            "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR REQUEST_TIMED_OUT "
            "NETWORK_EXCEPTION DISCONNECTED TIMED_OUT",
        "discovery_fatal": "GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID other",
    },
    "JoinGroup": {
        "join_accepted": "NONE",
        "join_member_id_required": "MEMBER_ID_REQUIRED",
        "join_rebalance_in_progress": "REBALANCE_IN_PROGRESS",
        "join_unknown_member": "UNKNOWN_MEMBER_ID",
        "join_coordinator_loading": "COORDINATOR_LOAD_IN_PROGRESS",
        "join_coordinator_gone": "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR DISCONNECTED TIMED_OUT",
        "join_fenced": "FENCED_INSTANCE_ID",
        "join_fatal":
            "INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT INVALID_GROUP_ID GROUP_AUTHORIZATION_FAILED "
            "GROUP_MAX_SIZE_REACHED UNSUPPORTED_VERSION ILLEGAL_GENERATION other",
    },
    "SyncGroup": {
        "sync_accepted": "NONE",
        "sync_rebalance_in_progress": "REBALANCE_IN_PROGRESS",
        "sync_unknown_member": "UNKNOWN_MEMBER_ID",
        "sync_illegal_generation": "ILLEGAL_GENERATION",
        "sync_coordinator_gone": "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR DISCONNECTED TIMED_OUT",
        "sync_fenced": "FENCED_INSTANCE_ID",
        "sync_fatal": "GROUP_AUTHORIZATION_FAILED COORDINATOR_LOAD_IN_PROGRESS INCONSISTENT_GROUP_PROTOCOL other",
    },
    "Heartbeat": {
        "heartbeat_ok": "NONE",
        "heartbeat_rebalance_in_progress": "REBALANCE_IN_PROGRESS",
        "heartbeat_unknown_member": "UNKNOWN_MEMBER_ID",
        "heartbeat_illegal_generation": "ILLEGAL_GENERATION",
        "heartbeat_fenced": "FENCED_INSTANCE_ID",
        "heartbeat_coordinator_gone": "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR DISCONNECTED TIMED_OUT",
        "heartbeat_retriable": "COORDINATOR_LOAD_IN_PROGRESS",
        "heartbeat_error": "GROUP_AUTHORIZATION_FAILED other",
    },
    "OffsetCommit": {
        "commit_settled": " ".join(commit.MEANINGS[event] for event in _SETTLING),
        **{event: errors for event, errors in commit.MEANINGS.items() if event not in _SETTLING},
    },
    "OffsetFetch": {
        "offset_fetch_coordinator_gone": "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR DISCONNECTED TIMED_OUT",
    },
}

RESPONSES: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (request, error): event
        for request, meanings in _MEANINGS.items()
        for event, errors in meanings.items()
        for error in errors.split()
    }
)
"""(request, error) -> event. "other" stands for every error that the request's table does not name.

Source: Kafka AbstractCoordinator (FindCoordinator, JoinGroup, SyncGroup, Heartbeat handlers), ConsumerCoordinator
(OffsetCommit handler, and of the OffsetFetch handler what concerns the coordinator). DISCONNECTED and TIMED_OUT are the
transport's, not the wire's.
"""

# Why an event may be ignored ------------------------------------------------------------------------------------------

IGNORED_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "late": "the answer belongs to a request that was given up, or to an identity that is gone",
        "already": "what the event asks for is so already, or under way",
        "waiting": "it must wait: a coordinator, a backoff or a poll is missing, and will bring it up again",
        "timer_off": "the timer does not run in this state",
        "nothing_waits": "nothing in this state waits for it",
        "sync_answer_decides": "SyncGroup is out, and its answer will say the same",
        "join_answer_decides": "JoinGroup is out, and its answer will say the same",
        "not_assigned": "the partition is not this member's",
        "another_commit": "that is another commit, which has a machine of its own",
        "others_missing": "others must join first, or the initial delay must end",
        "awaiting_is_alive": "an awaiting request is its sign of life",
        "has_members": "a group that has members is not deleted",
    }
)
"""The closed list of reasons for an ignored cell."""

# Effects --------------------------------------------------------------------------------------------------------------

EFFECTS: Final[Mapping[str, Effect]] = _by_name(
    # of several machines
    Effect("report_coordinator_gone", {}, ("coordinator_gone",)),
    Effect("throw", {}, ("ERROR",)),
    *connection.EFFECTS,
    *rebalance.EFFECTS,
    *timeouts.EFFECTS,
    *subscription.EFFECTS,
    *commit.EFFECTS,
    *broker_group.EFFECTS,
)
"""Every effect that a row may name."""
