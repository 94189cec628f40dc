"""What goes into the core and what comes out of it.

The core is sans-IO: `Core.handle(event, now_ms)` takes one of the events below and returns outputs; nothing happens in
between. A driver (`groupspec.impl.threads`) carries out the outputs and feeds back what follows from them.

Words of the threading refactor (Apache Kafka wiki, "Consumer threading refactor design", section "Channel and Events"):
events to the background thread are ServerEvents, events to the polling thread are ConsumerEvents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from msgspec import Struct, field

from groupspec.impl.core.messages import OffsetAndMetadata, Request, Response, TopicPartition

# In: from the application ---------------------------------------------------------------------------------------------


class ServerEvent(Struct, frozen=True):
    """An event of the application's, on its way to the background thread."""


class Start(ServerEvent, frozen=True):
    """The background thread has started: DOWN becomes INITIALIZED."""


class Subscribe(ServerEvent, frozen=True):
    """The application wants these topics, or all that match. Nothing is sent before its next poll (rule J7)."""

    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None


class Unsubscribe(ServerEvent, frozen=True):
    """Release everything and leave the group; `future_id` is completed when that is done."""

    future_id: int


class Assign(ServerEvent, frozen=True):
    """Manual assignment: no group, no heartbeats (rule D8)."""

    partitions: tuple[TopicPartition, ...]


class Poll(ServerEvent, frozen=True):
    """The application polled: the poll interval starts anew (rule P2), and work that waits for a poll goes on.

    `raises`: this poll will only raise an error that was waiting. Whoever is fenced must be told so, and poll again,
    before anything else is sent for it (rule X2); so this poll moves the interval and nothing else.
    """

    raises: bool = False


class Fetch(ServerEvent, frozen=True):
    """Fetch what is fetchable (the proposal's FETCH event; sent by each poll)."""


class Commit(ServerEvent, frozen=True):
    """Commit these offsets; `future_id` is completed with the outcome. `deadline_ms` None: one try (asynchronous)."""

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    future_id: int
    deadline_ms: int | None = None


class FetchCommitted(ServerEvent, frozen=True):
    """Ask for committed offsets; `future_id` is completed with them."""

    partitions: tuple[TopicPartition, ...]
    future_id: int
    deadline_ms: int


class ListOffsets(ServerEvent, frozen=True):
    """Ask the leaders for offsets: by time, -2 the first one, -1 the end. `future_id`: a ListedOffset each, or None."""

    timestamps: Mapping[TopicPartition, int]
    future_id: int
    deadline_ms: int


class ListTopics(ServerEvent, frozen=True):
    """Ask for these topics, or for all (None); `future_id` is completed with a TopicMetadata for each that exists."""

    topics: tuple[str, ...] | None
    future_id: int
    deadline_ms: int


class DescribeMember(ServerEvent, frozen=True):
    """Ask for the member's identity: `future_id` is completed with GroupMetadata."""

    future_id: int


class DescribeMetrics(ServerEvent, frozen=True):
    """Ask for what was counted and timed; `future_id` is completed with it, by group and name."""

    future_id: int


class MetadataUpdate(ServerEvent, frozen=True):
    """Refresh the metadata of these topics now."""

    topics: tuple[str, ...]


class EnforceRebalance(ServerEvent, frozen=True):
    """Rejoin although nothing changed (KIP-568)."""

    reason: str


class CallbackStarted(ServerEvent, frozen=True):
    """The polling thread has taken a REVOKE_PARTITIONS event: from here on its kind (revoked, lost) is settled."""


class PartitionsRevoked(ServerEvent, frozen=True):
    """The answer to REVOKE_PARTITIONS: the listener has returned (or raised; the protocol goes on, rule C4)."""


class PartitionsAssigned(ServerEvent, frozen=True):
    """The answer to ASSIGN_PARTITIONS: the listener has returned (or raised)."""


class Close(ServerEvent, frozen=True):
    """Commit if auto-commit is on, release everything, leave, end the loop; `future_id` is completed at the end.

    `processed`: the application has dealt with all records that it was given. Otherwise only those that it had before
    its last poll() are committed (rule M4).
    """

    future_id: int
    deadline_ms: int
    processed: bool = True


# In: from the network and the clock -----------------------------------------------------------------------------------


class ResponseReceived(Struct, frozen=True):
    """The answer to the request with this id; a NoAnswer if there will never be one.

    `throttle_time_ms`: how long its connection sends nothing, because the client is over its quota (rule W2).
    """

    request_id: int
    response: Response
    throttle_time_ms: int = 0


class TimerExpired(Struct, frozen=True):
    """The named timer of the core has run out (see `Core.timers`)."""

    timer: str


# Out ------------------------------------------------------------------------------------------------------------------

COORDINATOR = "coordinator"
ANY_NODE = "any"


class SendRequest(Struct, frozen=True):
    """Send this request. `node`: COORDINATOR (its own connection to that broker), ANY_NODE, or a broker's id."""

    request_id: int
    node: str | int
    request: Request
    timeout_ms: int


class ConnectCoordinator(Struct, frozen=True):
    """The coordinator was found: connect to it (a connection of its own, beside the one for fetching)."""

    node_id: int
    host: str
    port: int


class DisconnectCoordinator(Struct, frozen=True):
    """The coordinator was forgotten. The core itself answers what is under way to it with DISCONNECTED."""

    cause: str


class CallbackKind(Enum):
    """Why partitions are taken away: by the protocol, or because the membership is gone."""

    REVOKED = "revoked"
    LOST = "lost"


class Error(Struct, frozen=True):
    """A ConsumerEvent: raise this from the application's next poll."""

    type: ClassVar = "ERROR"
    error: Exception


class RevokePartitions(Struct, frozen=True):
    """A ConsumerEvent: run the listener. The kind is read when it starts: `SubscriptionState.pending_callback()`."""

    type: ClassVar = "REVOKE_PARTITIONS"
    partitions: tuple[TopicPartition, ...]


class AssignPartitions(Struct, frozen=True):
    """A ConsumerEvent: run the listener for these newly assigned partitions (maybe none)."""

    type: ClassVar = "ASSIGN_PARTITIONS"
    partitions: tuple[TopicPartition, ...]


ConsumerEvent = Error | RevokePartitions | AssignPartitions


class CompleteFuture(Struct, frozen=True):
    """Complete the future with this result, or this exception."""

    future_id: int
    result: object = None
    error: Exception | None = None


class Closed(Struct, frozen=True):
    """The core has nothing more to do: the loop may end."""


InputEvent = ServerEvent | ResponseReceived | TimerExpired
Output = (
    SendRequest
    | ConnectCoordinator
    | DisconnectCoordinator
    | Error
    | RevokePartitions
    | AssignPartitions
    | CompleteFuture
    | Closed
)


class GroupMetadata(Struct, frozen=True):
    """Who this member is (Java's ConsumerGroupMetadata): generation -1 and member id "" while it is none."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None


class UnsolicitedResponse(Exception):
    """An answer to no request that was ever sent. To one that was given up it is late (rule J9)."""


class PartitionDescription(Struct, frozen=True):
    """One partition as the member sees it."""

    state: str  # UNASSIGNED ASSIGNED AWAITING_POSITION FETCHABLE PAUSED PENDING_REVOCATION
    position: int | None = None
    paused: bool = False
    buffered: bool = False
    fetch_in_flight: bool = False


class Description(Struct, frozen=True):
    """The core's state, for tests, logs and people. Names of states are the proposal's.

    connection: DOWN INITIALIZED COORDINATOR_DISCOVERY STABLE
    rebalance:  UNJOINED PREPARE_REVOCATION REVOKING_PARTITION PARTITION_REVOKED PREPARING_REBALANCE
                COMPLETING_REBALANCE ASSIGNING_PARTITIONS STABLE
    heartbeat:  STOPPED DISABLED IDLE IN_FLIGHT
    """

    connection: str
    rebalance: str
    heartbeat: str
    member_id: str
    generation: int
    protocol: str
    owned: tuple[TopicPartition, ...]
    rejoin_needed: bool
    subscribed: bool
    leaving: bool
    fenced: bool
    partitions: Mapping[TopicPartition, PartitionDescription] = field(default_factory=dict)
    timers_ms: Mapping[str, int] = field(default_factory=dict)
