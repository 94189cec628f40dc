"""Every input of the core, and the one handler that takes it: a table to read from top to bottom.

Keys are (kind of event, "") for what the application does, ("TimerExpired", timer), and (API, error) for answers;
"other" stands for every error that has no row of its own, "late" for an answer to an identity of the past (rule J9; in
the APIs without such a row late answers are dropped). Errors that one handler takes stand in one key, separated by
blanks, and are sorted as in Kafka's AbstractCoordinator and ConsumerCoordinator. `HANDLERS`, with a key for each, is
read at the moment of use. Answers to what the application has asked about the log are not in it: `questions` takes
them whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from groupspec.impl.core import events, messages
from groupspec.impl.core.answers import Answer
from groupspec.impl.core.events import ServerEvent, TimerExpired
from groupspec.impl.core.messages import ErrorCode, Response
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.requests import Sent

Happening = ServerEvent | TimerExpired | Answer
Handler = Callable[[Parts, Happening], None]
Key = tuple[str, str]
H = TypeVar("H", bound=Happening)
R = TypeVar("R", bound=Response)


def on(kind: type[H], act: Callable[[Parts, H], object]) -> Handler:
    """A handler for an event, a timer, or an answer of which the error says everything."""

    def handler(core: Parts, happening: Happening) -> None:
        assert isinstance(happening, kind), f"the handler for {kind.__name__} was given {happening!r}"
        act(core, happening)

    return handler


def full(kind: type[R], act: Callable[[Parts, R, Answer], None]) -> Handler:
    """A handler for an answer of which the content matters."""

    def handler(core: Parts, happening: Happening) -> None:
        assert isinstance(happening, Answer), f"the handler for {kind.__name__} was given {happening!r}"
        assert isinstance(happening.response, kind), f"the handler for {kind.__name__} was given {happening!r}"
        act(core, happening.response, happening)

    return handler


# fmt: off
_TABLE: dict[Key, Handler] = {
    # The application
    ("Start", ""): on(events.Start, lambda core, e: core.start()),
    ("Subscribe", ""): on(events.Subscribe, lambda core, e: core.membership.subscribe(e)),
    ("Unsubscribe", ""): on(events.Unsubscribe, lambda core, e: core.leaving.unsubscribe(e)),
    ("Assign", ""): on(events.Assign, lambda core, e: core.assign(e)),
    ("Poll", ""): on(events.Poll, lambda core, e: core.polled(e.raises)),
    ("Fetch", ""): on(events.Fetch, lambda core, e: core.demand()),
    ("Commit", ""): on(events.Commit, lambda core, e: core.commits.commit(e)),
    ("FetchCommitted", ""): on(events.FetchCommitted, lambda core, e: core.offsets.fetch_committed(e)),
    ("ListOffsets", ""): on(events.ListOffsets, lambda core, e: core.questions.list_offsets(e)),
    ("ListTopics", ""): on(events.ListTopics, lambda core, e: core.questions.list_topics(e)),
    ("DescribeMember", ""): on(events.DescribeMember, lambda core, e: core.describe_member(e)),
    ("DescribeMetrics", ""): on(events.DescribeMetrics, lambda core, e: core.describe_metrics(e)),
    ("MetadataUpdate", ""): on(events.MetadataUpdate, lambda core, e: core.metadata.refresh(e.topics)),
    ("EnforceRebalance", ""): on(events.EnforceRebalance, lambda core, e: core.membership.enforce_rebalance(e.reason)),
    ("CallbackStarted", ""): on(events.CallbackStarted, lambda core, e: core.membership.callback_started()),
    ("PartitionsRevoked", ""): on(events.PartitionsRevoked, lambda core, e: core.membership.partitions_revoked()),
    ("PartitionsAssigned", ""): on(events.PartitionsAssigned, lambda core, e: core.membership.partitions_assigned()),
    ("Close", ""): on(events.Close, lambda core, e: core.leaving.close(e)),
    # Time
    ("TimerExpired", "lookup_backoff join_backoff commit_backoff offsets_backoff questions_backoff "
                     "fetch_backoff"):
        on(TimerExpired, lambda core, e: core.timers.disarm(e.timer)),  # the next try may be made
    ("TimerExpired", "session"): on(TimerExpired, lambda core, e: core.heartbeats.session_expired()),
    ("TimerExpired", "poll_interval"): on(TimerExpired, lambda core, e: core.heartbeats.poll_interval_expired()),
    ("TimerExpired", "heartbeat"): on(TimerExpired, lambda core, e: core.heartbeats.heartbeat_due()),
    ("TimerExpired", "commit_deadline"): on(TimerExpired, lambda core, e: core.commits.deadline_over()),
    ("TimerExpired", "auto_commit"): on(TimerExpired, lambda core, e: core.commits.interval_over()),
    ("TimerExpired", "offsets_deadline"): on(TimerExpired, lambda core, e: core.offsets.deadline_over()),
    ("TimerExpired", "questions_deadline"): on(TimerExpired, lambda core, e: core.questions.deadline_over()),
    ("TimerExpired", "metadata"): on(TimerExpired, lambda core, e: core.metadata.timer_expired()),
    ("TimerExpired", "close_deadline"): on(TimerExpired, lambda core, e: core.leaving.deadline_over()),
    # FindCoordinator
    ("FindCoordinator", "NONE"): full(messages.FindCoordinatorResponse, lambda core, r, a: core.connection.found(r)),
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR "
                        "REQUEST_TIMED_OUT NETWORK_EXCEPTION DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.connection.lookup_failed(a.error)),
    ("FindCoordinator", "GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID other"):
        on(Answer, lambda core, a: core.connection.lookup_refused(a.error)),
    # JoinGroup
    ("JoinGroup", "NONE"): full(messages.JoinGroupResponse, lambda core, r, a: core.joining.join_accepted(r)),
    ("JoinGroup", "MEMBER_ID_REQUIRED"):
        full(messages.JoinGroupResponse, lambda core, r, a: core.joining.member_id_required(r)),
    ("JoinGroup", "REBALANCE_IN_PROGRESS"): on(Answer, lambda core, a: core.joining.join_again()),
    ("JoinGroup", "UNKNOWN_MEMBER_ID"): on(Answer, lambda core, a: core.joining.identity_unknown()),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"): on(Answer, lambda core, a: core.joining.join_later()),
    ("JoinGroup", "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.joining.join_coordinator_gone(a.error)),
    ("JoinGroup", "FENCED_INSTANCE_ID"): on(Answer, lambda core, a: core.joining.fenced(a.sent.api, a.error)),
    ("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT INVALID_GROUP_ID "
                  "GROUP_AUTHORIZATION_FAILED GROUP_MAX_SIZE_REACHED UNSUPPORTED_VERSION "
                  "ILLEGAL_GENERATION other"):
        on(Answer, lambda core, a: core.joining.refused(a.sent.api, a.error)),
    # SyncGroup
    ("SyncGroup", "NONE"): full(messages.SyncGroupResponse, lambda core, r, a: core.joining.sync_accepted(r)),
    ("SyncGroup", "REBALANCE_IN_PROGRESS"): on(Answer, lambda core, a: core.joining.start_over()),
    ("SyncGroup", "UNKNOWN_MEMBER_ID"): on(Answer, lambda core, a: core.joining.identity_unknown()),
    ("SyncGroup", "ILLEGAL_GENERATION"): on(Answer, lambda core, a: core.joining.sync_generation_gone()),
    ("SyncGroup", "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.joining.sync_coordinator_gone(a.error)),
    ("SyncGroup", "FENCED_INSTANCE_ID"): on(Answer, lambda core, a: core.joining.fenced(a.sent.api, a.error)),
    ("SyncGroup", "GROUP_AUTHORIZATION_FAILED COORDINATOR_LOAD_IN_PROGRESS INCONSISTENT_GROUP_PROTOCOL other"):
        on(Answer, lambda core, a: core.joining.refused(a.sent.api, a.error)),
    # Heartbeat
    ("Heartbeat", "NONE"): on(Answer, lambda core, a: core.heartbeats.accepted()),
    ("Heartbeat", "REBALANCE_IN_PROGRESS"): on(Answer, lambda core, a: core.heartbeats.rebalance_announced()),
    ("Heartbeat", "ILLEGAL_GENERATION"): on(Answer, lambda core, a: core.heartbeats.generation_gone()),
    ("Heartbeat", "UNKNOWN_MEMBER_ID"): on(Answer, lambda core, a: core.heartbeats.member_unknown()),
    ("Heartbeat", "FENCED_INSTANCE_ID"): on(Answer, lambda core, a: core.heartbeats.fenced(a.error)),
    ("Heartbeat", "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.heartbeats.coordinator_gone(a.error)),
    ("Heartbeat", "COORDINATOR_LOAD_IN_PROGRESS"): on(Answer, lambda core, a: core.heartbeats.retry_later()),
    ("Heartbeat", "GROUP_AUTHORIZATION_FAILED other"): on(Answer, lambda core, a: core.heartbeats.refused(a.error)),
    ("Heartbeat", "late"): on(Answer, lambda core, a: core.heartbeats.late(a.response)),
    # LeaveGroup
    ("LeaveGroup", "NONE UNKNOWN_MEMBER_ID NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE other"):
        on(Answer, lambda core, a: core.leaving.answered(a.sent)),
    ("LeaveGroup", "DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.leaving.coordinator_gone(a.sent, a.error)),
    # OffsetCommit
    ("OffsetCommit", "NONE"): on(Answer, lambda core, a: core.commits.accepted(a.sent)),
    ("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"):
        on(Answer, lambda core, a: core.commits.retriable(a.sent, a.error)),
    ("OffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID"):
        on(Answer, lambda core, a: core.commits.topic_missing(a.sent, a.error, a.partitions)),
    ("OffsetCommit", "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE REQUEST_TIMED_OUT DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.commits.coordinator_gone(a.sent, a.error)),
    ("OffsetCommit", "REBALANCE_IN_PROGRESS"):
        on(Answer, lambda core, a: core.commits.rebalance_in_progress(a.sent, a.error)),
    ("OffsetCommit", "ILLEGAL_GENERATION"): on(Answer, lambda core, a: core.commits.generation_gone(a.sent, a.error)),
    ("OffsetCommit", "UNKNOWN_MEMBER_ID"): on(Answer, lambda core, a: core.commits.member_unknown(a.sent, a.error)),
    ("OffsetCommit", "FENCED_INSTANCE_ID"): on(Answer, lambda core, a: core.commits.fenced(a.sent, a.error)),
    ("OffsetCommit", "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED OFFSET_METADATA_TOO_LARGE "
                     "INVALID_COMMIT_OFFSET_SIZE other"):
        on(Answer, lambda core, a: core.commits.refused(a.sent, a.error, a.partitions)),
    ("OffsetCommit", "late"): on(Answer, lambda core, a: core.commits.late(a.sent, a.error)),
    # OffsetFetch
    ("OffsetFetch", "NONE"): full(messages.OffsetFetchResponse, lambda core, r, a: core.offsets.committed(a.sent, r)),
    ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS UNSTABLE_OFFSET_COMMIT REQUEST_TIMED_OUT"):
        on(Answer, lambda core, a: core.offsets.retriable(a.sent)),
    ("OffsetFetch", "UNKNOWN_TOPIC_ID"): on(Answer, lambda core, a: core.offsets.topic_gone(a.sent)),
    ("OffsetFetch", "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.offsets.coordinator_gone(a.sent, a.error)),
    ("OffsetFetch", "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION other"):
        on(Answer, lambda core, a: core.offsets.refused(a.sent, a.error, a.partitions)),
    # ListOffsets
    ("ListOffsets", "NONE"):
        full(messages.ListOffsetsResponse, lambda core, r, a: core.offsets.listed(a.sent, r, a.partitions)),
    ("ListOffsets", "NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION "
                    "REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE "
                    "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.offsets.leader_moved(a.sent, a.partitions)),
    ("ListOffsets", "TOPIC_AUTHORIZATION_FAILED other"):
        on(Answer, lambda core, a: core.offsets.reset_refused(a.sent, a.error, a.partitions)),
    # OffsetForLeaderEpoch
    ("OffsetForLeaderEpoch", "NONE"):
        full(messages.OffsetForLeaderEpochResponse,
             lambda core, r, a: core.validation.answered(a.sent, r, a.partitions)),
    ("OffsetForLeaderEpoch", "UNSUPPORTED_VERSION"):
        on(Answer, lambda core, a: core.validation.unsupported(a.sent, a.partitions)),
    ("OffsetForLeaderEpoch", "NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION "
                             "REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE "
                             "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH DISCONNECTED TIMED_OUT other"):
        on(Answer, lambda core, a: core.validation.leader_moved()),
    ("OffsetForLeaderEpoch", "TOPIC_AUTHORIZATION_FAILED"):
        on(Answer, lambda core, a: core.validation.refused(a.sent, a.error, a.partitions)),
    # Fetch
    ("Fetch", "NONE"): full(messages.FetchResponse, lambda core, r, a: core.fetching.received(a.sent, r, a.partitions)),
    ("Fetch", "OFFSET_OUT_OF_RANGE"): on(Answer, lambda core, a: core.fetching.out_of_range(a.sent, a.partitions)),
    ("Fetch", "NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION "
              "REPLICA_NOT_AVAILABLE KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE "
              "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID "
              "DISCONNECTED TIMED_OUT"):
        on(Answer, lambda core, a: core.fetching.leader_moved()),
    ("Fetch", "UNKNOWN_SERVER_ERROR"): on(Answer, lambda core, a: core.fetching.failed(a.error, a.partitions)),
    ("Fetch", "TOPIC_AUTHORIZATION_FAILED other"):
        on(Answer, lambda core, a: core.fetching.refused(a.error, a.partitions)),
    # Metadata
    ("Metadata", "NONE"): full(messages.MetadataResponse, lambda core, r, a: core.metadata.received(r)),
    ("Metadata", "DISCONNECTED TIMED_OUT"): on(Answer, lambda core, a: core.metadata.failed()),
    ("Metadata", "UNKNOWN_TOPIC_OR_PARTITION"): on(Answer, lambda core, a: core.metadata.topic_missing(a.topics)),
    ("Metadata", "LEADER_NOT_AVAILABLE"): on(Answer, lambda core, a: core.metadata.topic_not_ready(a.topics)),
    ("Metadata", "TOPIC_AUTHORIZATION_FAILED other"):
        on(Answer, lambda core, a: core.metadata.topic_refused(a.topics, a.error)),
}
# fmt: on
HANDLERS: dict[Key, Handler] = {
    (kind, detail): handler for (kind, details), handler in _TABLE.items() for detail in details.split() or ("",)
}
"""The handler of each input."""


MEMBERSHIP_ERRORS = (
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FENCED_INSTANCE_ID,
)


def is_late(core: Parts, sent: Sent, error: ErrorCode) -> bool:
    """Whether an answer comes too late to mean what it says: its request was given up, or the identity changed (J9).

    What a commit's answer says about the offsets is true all the same; only its errors about membership are not.
    """
    if not core.requests.is_pending(sent):
        return True
    if sent.identity == core.context.identity:
        return False
    return sent.api in ("JoinGroup", "SyncGroup", "Heartbeat") or (
        sent.api == "OffsetCommit" and error in MEMBERSHIP_ERRORS
    )


_NAMES = {error: error.name for error in ErrorCode}


def row_of(error: ErrorCode) -> str:
    """What an error is called in the table: a number that this client does not know is some failure of the broker's.

    As Java's Errors.forCode.
    """
    return _NAMES.get(error, "UNKNOWN_SERVER_ERROR")


def dispatch(core: Parts, kind: str, detail: str, happening: Happening) -> None:
    """Give it to its handler."""
    handler = HANDLERS.get((kind, detail)) or HANDLERS.get((kind, "other"))
    if handler is None:
        known = ", ".join(name for api, name in HANDLERS if api == kind) or "none of this kind"
        raise ValueError(f"The core takes no {kind} {detail!r}; it knows: {known}")
    handler(core, happening)


def dispatch_late(core: Parts, late: Answer) -> None:
    """Give a late answer to its handler, if its API has one."""
    handler = HANDLERS.get((late.sent.api, "late"))
    if handler is not None:
        handler(core, late)
