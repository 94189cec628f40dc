"""Request handling: the requests, timers and commands that have no state in any machine, and what they must lead to.

The machines of the specification wait for the answers that decide about membership. A consumer sends other requests
too: OffsetFetch and ListOffsets for positions, Metadata for leaders, Fetch, and LeaveGroup. These have no states of
their own: a request is sent and answered, and each answer has one required outcome. The request is sent again after a
backoff, or the coordinator is looked up first, or the application gets an error. This table lists those outcomes.

An entry says: when the precondition `when` holds and the event happens, the postcondition `then` must hold. A
postcondition that repeats a request includes that the request succeeds in the end. "other" is every error that the
request's entries do not name; "late" is an answer to a request of an identity that the member no longer has (rule J9).
`TIMER` entries name the event of the timer that expires; `COMMAND` entries name the application's command.

Three entries are choices that Kafka's classic Java client makes differently: it repeats a ListOffsets that failed for
an unknown reason, with a warning, and it keeps one metadata error at a time; here the application is told of both. And
it sends the commit of the interval although the one before is unanswered
(ConsumerCoordinator.maybeAutoCommitOffsetsAsync), which its KIP-848 client does not.

Sources: Kafka ConsumerCoordinator (OffsetFetchResponseHandler, OffsetCommitResponseHandler), AbstractCoordinator
(LeaveGroupResponseHandler, HeartbeatResponseHandler), OffsetFetcherUtils, FetchCollector, Metadata; KIP-62 for the
session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

COMMAND: Final = "COMMAND"
TIMER: Final = "TIMER"

PRECONDITIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "started": "the background thread runs, and there is neither a subscription nor an assignment",
        "position_sought": "partitions are newly assigned, and the question for their position is out",
        "asked": "the application has asked for committed offsets, and the question is out",
        "fetching": "the positions are known, the application has polled, and Fetch is out",
        "backing_off": "the request has failed, and waits for its backoff",
        "new_topic": "the application has subscribed and polled; nothing is known of the topic, and Metadata is out",
        "refreshing": "the leaders of the topic are known, and Metadata is out again",
        "member": "the member is stable, its partitions have positions, and the application has read on",
        "rejoined": "the answer to a request of the previous generation is still to come",
        "expelled": "the identity is lost, and the callback says so; the answer to a commit is still to come",
        "rejoining": "the identity is lost, and JoinGroup is out; the answer to a commit is still to come",
        "unsubscribed": "the LeaveGroup of an unsubscribe() is out",
        "closing": "the LeaveGroup of a close() is out",
    }
)
"""Preconditions: a closed list."""

POSTCONDITIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "position_taken": "the partitions begin where the answer says",
        "application_answered": "whoever asked has the answer",
        "records_kept": "the records wait for the application, and nothing is fetched until it takes them",
        "leaders_known": "the next fetch goes to the leader that the answer names",
        "again_after_backoff": "the same request goes out again, retry.backoff.ms later and not before",
        "asked_again": "the same request goes out again at once",
        "coordinator_forgotten": "the coordinator is looked up if anything needs it, and nothing goes to it before",
        "leader_looked_up": "metadata is requested; after the backoff the request goes out again, to the new leader",
        "application_told": "exactly one ERROR, and no further try before the application's next poll",
        "caller_told": "the question fails for the one who asked, and nobody else hears of it",
        "told_and_again": "exactly one ERROR until the next poll; meanwhile the topic is asked for again in a while",
        "topic_gone": "nothing is fetched of the topic; it is asked for again in a while, since it may be created",
        "topic_not_ready": "what was known of the topic stays in use, and it is asked for again in a while",
        "position_reset": "the partitions begin anew where auto.offset.reset says; if it says none, ERROR for each",
        "committed_asked": "the committed offsets are asked for; no join, no heartbeat",
        "metadata_asked": "Metadata goes out",
        "commit_sent": "what has been processed is committed; a second such commit waits for the answer to the first",
        "session_prolonged": "an answer restarts the session timer, and that is all it does; no answer does nothing",
        "commit_failed": "the commit fails for its caller as one of an expelled member, and nothing else happens",
        "commit_postponed": "the commit fails for its caller as one during a rebalance, and nothing else happens",
        "nothing_more": "nothing: the member has left, and may join again",
        "close_ends": "the close is done at once: its caller is told, and nothing is sent, armed or owned after that",
    }
)
"""Postconditions: a closed list."""


@dataclass(frozen=True)
class Handling:
    """How one answer, timer or command is handled.

    Attributes:
        request: The API, as in the protocol guide; or COMMAND, or TIMER.
        error: The error's name, "NONE", "other" or "late"; or the command; or the timer's event.
        when: The precondition, one of PRECONDITIONS.
        then: The postcondition, one of POSTCONDITIONS.
        rules: The rules that say so, separated by blanks.
        source: The method of Kafka that does the same.
    """

    request: str
    error: str
    when: str
    then: str
    rules: str
    source: str


_OFFSET_FETCH: Final = "ConsumerCoordinator.OffsetFetchResponseHandler"
_LIST_OFFSETS: Final = "OffsetFetcherUtils.handleListOffsetResponse"
_FETCH: Final = "FetchCollector.handleInitializeErrors"
_METADATA: Final = "Metadata.handleMetadataResponse"
_LEAVE: Final = "AbstractCoordinator.LeaveGroupResponseHandler"
_NO_ANSWER: Final = "AbstractCoordinator.CoordinatorResponseHandler.onFailure"
_INTERVAL: Final = "CommitRequestManager.maybeAutoCommitAsync"
_COMMIT: Final = "ConsumerCoordinator.OffsetCommitResponseHandler"

# fmt: off
HANDLINGS: Final[tuple[Handling, ...]] = (
    # Where to begin
    # ----------------------------------------------------------------------------------------------------
    Handling("OffsetFetch", "NONE", "position_sought", "position_taken", "O1", _OFFSET_FETCH),
    Handling("OffsetFetch", "NONE", "asked", "application_answered", "Q1", _OFFSET_FETCH),
    Handling("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS", "position_sought", "again_after_backoff", "O1 D3",
             _OFFSET_FETCH),
    Handling("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS", "asked", "again_after_backoff", "D3", _OFFSET_FETCH),
    Handling("OffsetFetch", "UNSTABLE_OFFSET_COMMIT", "position_sought", "again_after_backoff", "O1 D3", _OFFSET_FETCH),
    Handling("OffsetFetch", "UNSTABLE_OFFSET_COMMIT", "asked", "again_after_backoff", "D3", _OFFSET_FETCH),
    Handling("OffsetFetch", "REQUEST_TIMED_OUT", "position_sought", "again_after_backoff", "O1 D3", _OFFSET_FETCH),
    Handling("OffsetFetch", "NOT_COORDINATOR", "position_sought", "coordinator_forgotten", "O1 D1 D4", _OFFSET_FETCH),
    Handling("OffsetFetch", "COORDINATOR_NOT_AVAILABLE", "position_sought", "coordinator_forgotten", "O1 D1 D4",
             _OFFSET_FETCH),
    Handling("OffsetFetch", "DISCONNECTED", "position_sought", "coordinator_forgotten", "O1 D1 D4", _OFFSET_FETCH),
    Handling("OffsetFetch", "TIMED_OUT", "position_sought", "coordinator_forgotten", "O1 D1 D4", _OFFSET_FETCH),
    Handling("OffsetFetch", "NOT_COORDINATOR", "asked", "coordinator_forgotten", "D1 D4", _OFFSET_FETCH),
    Handling("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", "position_sought", "application_told", "O1", _OFFSET_FETCH),
    Handling("OffsetFetch", "TOPIC_AUTHORIZATION_FAILED", "position_sought", "application_told", "O1", _OFFSET_FETCH),
    Handling("OffsetFetch", "UNKNOWN_TOPIC_OR_PARTITION", "position_sought", "application_told", "O1", _OFFSET_FETCH),
    Handling("OffsetFetch", "other", "position_sought", "application_told", "O1", _OFFSET_FETCH),
    Handling("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", "asked", "caller_told", "Q1", _OFFSET_FETCH),
    Handling("OffsetFetch", "TOPIC_AUTHORIZATION_FAILED", "asked", "caller_told", "Q1", _OFFSET_FETCH),
    Handling("OffsetFetch", "UNKNOWN_TOPIC_OR_PARTITION", "asked", "caller_told", "Q1", _OFFSET_FETCH),
    Handling("OffsetFetch", "other", "asked", "caller_told", "Q1", _OFFSET_FETCH),
    Handling(TIMER, "offsets_backoff_elapsed", "backing_off", "asked_again", "D3", _OFFSET_FETCH),
    Handling("ListOffsets", "NONE", "position_sought", "position_taken", "O6", _LIST_OFFSETS),
    Handling("ListOffsets", "NOT_LEADER_OR_FOLLOWER", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "LEADER_NOT_AVAILABLE", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "UNKNOWN_TOPIC_OR_PARTITION", "position_sought", "leader_looked_up", "O1 O6",
             _LIST_OFFSETS),
    Handling("ListOffsets", "FENCED_LEADER_EPOCH", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "UNKNOWN_LEADER_EPOCH", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "DISCONNECTED", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "TIMED_OUT", "position_sought", "leader_looked_up", "O1 O6", _LIST_OFFSETS),
    Handling("ListOffsets", "TOPIC_AUTHORIZATION_FAILED", "position_sought", "application_told", "O1 O6",
             _LIST_OFFSETS),
    Handling("ListOffsets", "other", "position_sought", "application_told", "O1 O6", _LIST_OFFSETS),
    Handling(COMMAND, "ASSIGN", "started", "committed_asked", "D8 O1", "ConsumerCoordinator.poll"),
    # Records
    # -----------------------------------------------------------------------------------------------------------
    Handling("Fetch", "NONE", "fetching", "records_kept", "O5", _FETCH),
    Handling("Fetch", "OFFSET_OUT_OF_RANGE", "fetching", "position_reset", "O6", _FETCH),
    Handling("Fetch", "NOT_LEADER_OR_FOLLOWER", "fetching", "leader_looked_up", "O5", _FETCH),
    Handling("Fetch", "LEADER_NOT_AVAILABLE", "fetching", "leader_looked_up", "O5", _FETCH),
    Handling("Fetch", "UNKNOWN_TOPIC_OR_PARTITION", "fetching", "leader_looked_up", "O5", _FETCH),
    Handling("Fetch", "FENCED_LEADER_EPOCH", "fetching", "leader_looked_up", "O5", _FETCH),
    Handling("Fetch", "UNKNOWN_LEADER_EPOCH", "fetching", "leader_looked_up", "O5", _FETCH),
    Handling("Fetch", "DISCONNECTED", "fetching", "leader_looked_up", "O5", "AbstractFetch.handleFetchFailure"),
    Handling("Fetch", "TIMED_OUT", "fetching", "leader_looked_up", "O5", "AbstractFetch.handleFetchFailure"),
    Handling("Fetch", "UNKNOWN_SERVER_ERROR", "fetching", "again_after_backoff", "O5", _FETCH),
    Handling("Fetch", "TOPIC_AUTHORIZATION_FAILED", "fetching", "application_told", "O4 O5", _FETCH),
    Handling("Fetch", "other", "fetching", "application_told", "O4 O5", _FETCH),
    Handling(TIMER, "fetch_backoff_elapsed", "backing_off", "asked_again", "O5", _FETCH),
    # Topics and their leaders
    # ------------------------------------------------------------------------------------------
    Handling("Metadata", "NONE", "new_topic", "leaders_known", "J8", _METADATA),
    Handling("Metadata", "NONE", "refreshing", "leaders_known", "J8", _METADATA),
    Handling("Metadata", "DISCONNECTED", "new_topic", "again_after_backoff", "J8",
             "NetworkClient.DefaultMetadataUpdater"),
    Handling("Metadata", "DISCONNECTED", "refreshing", "again_after_backoff", "J8",
             "NetworkClient.DefaultMetadataUpdater"),
    Handling("Metadata", "TIMED_OUT", "new_topic", "again_after_backoff", "J8", "NetworkClient.DefaultMetadataUpdater"),
    Handling("Metadata", "TIMED_OUT", "refreshing", "again_after_backoff", "J8",
             "NetworkClient.DefaultMetadataUpdater"),
    Handling("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", "new_topic", "topic_gone", "J8", _METADATA),
    Handling("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", "refreshing", "topic_gone", "J8", _METADATA),
    Handling("Metadata", "LEADER_NOT_AVAILABLE", "refreshing", "topic_not_ready", "J8", _METADATA),
    Handling("Metadata", "TOPIC_AUTHORIZATION_FAILED", "new_topic", "told_and_again", "J8 Q1", _METADATA),
    Handling("Metadata", "TOPIC_AUTHORIZATION_FAILED", "refreshing", "told_and_again", "J8 Q1", _METADATA),
    Handling("Metadata", "other", "new_topic", "told_and_again", "J8 Q1", _METADATA),
    Handling("Metadata", "other", "refreshing", "told_and_again", "J8 Q1", _METADATA),
    Handling(COMMAND, "METADATA_UPDATE", "member", "metadata_asked", "J8", "Metadata.requestUpdate"),
    Handling(TIMER, "metadata_due", "member", "metadata_asked", "J8", "Metadata.timeToNextUpdate"),
    # Committing, and what is said of an identity of the past
    # -----------------------------------------------------------
    Handling(TIMER, "auto_commit_due", "member", "commit_sent", "M4 M5", _INTERVAL),
    Handling("OffsetCommit", "late", "expelled", "commit_failed", "J9 M2", _COMMIT),
    Handling("OffsetCommit", "late", "rejoining", "commit_postponed", "J9 M2", _COMMIT),
    Handling("Heartbeat", "late", "rejoined", "session_prolonged", "J9 H1",
             "AbstractCoordinator.HeartbeatResponseHandler"),
    # Leaving
    # -----------------------------------------------------------------------------------------------------------
    Handling("LeaveGroup", "NONE", "closing", "close_ends", "L2", _LEAVE),
    Handling("LeaveGroup", "UNKNOWN_MEMBER_ID", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling("LeaveGroup", "NOT_COORDINATOR", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling("LeaveGroup", "COORDINATOR_NOT_AVAILABLE", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling("LeaveGroup", "DISCONNECTED", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling("LeaveGroup", "TIMED_OUT", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling("LeaveGroup", "other", "closing", "close_ends", "L1 L2", _LEAVE),
    Handling(TIMER, "close_deadline_expired", "closing", "close_ends", "L2", "ConsumerCoordinator.close"),
    Handling("LeaveGroup", "NONE", "unsubscribed", "nothing_more", "L1 D7", _LEAVE),
    Handling("LeaveGroup", "UNKNOWN_MEMBER_ID", "unsubscribed", "nothing_more", "L1 D1", _LEAVE),
    Handling("LeaveGroup", "other", "unsubscribed", "nothing_more", "L1", _LEAVE),
    Handling("LeaveGroup", "NOT_COORDINATOR", "unsubscribed", "nothing_more", "L1", _LEAVE),
    Handling("LeaveGroup", "COORDINATOR_NOT_AVAILABLE", "unsubscribed", "nothing_more", "L1", _LEAVE),
    Handling("LeaveGroup", "DISCONNECTED", "unsubscribed", "coordinator_forgotten", "D1 D7 L1", _NO_ANSWER),
    Handling("LeaveGroup", "TIMED_OUT", "unsubscribed", "coordinator_forgotten", "D1 D7 L1", _NO_ANSWER),
)
# fmt: on
"""The table. No two entries have the same event and precondition."""
