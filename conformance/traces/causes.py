"""Why a group rebalances: the closed list of causes, how a client's own words map to it, and what to change.

The list is the same for logs, recorded traces and the fleet's statistics, so that their counts can be compared.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Cause = Literal[
    "join",
    "rejoin",
    "leave",
    "session_timeout",
    "poll_timeout",
    "sync_timeout",
    "metadata_change",
    "subscription_change",
    "enforced",
    "coordinator_restart",
    "abandoned_consumer",
    "unknown",
]
CAUSES: Final[tuple[Cause, ...]] = Cause.__args__  # type: ignore[attr-defined]

MEANINGS: Final[dict[Cause, str]] = {
    "join": "a member joined",
    "rejoin": "a member that had been expelled, or had left on its poll timeout, came back",
    "leave": "a member left (closed, unsubscribed, or was removed by an administrator)",
    "session_timeout": "the coordinator heard nothing from a member for its session timeout and expelled it",
    "poll_timeout": "a member did not call poll() within max.poll.interval.ms and left",
    "sync_timeout": "a member joined and then did not send SyncGroup within the rebalance timeout",
    "metadata_change": "topics or partitions changed",
    "subscription_change": "a member changed what it subscribes to",
    "enforced": "the application asked for a rebalance",
    "coordinator_restart": "the group's coordinator restarted or moved",
    "abandoned_consumer": "the group waited for a member that heartbeats and never polls",
    "unknown": "the logs do not tell",
}

ADVICE: Final[dict[Cause, str]] = {
    "join": (
        "Expected when instances start. If they restart often, give each a fixed group.instance.id (static "
        "membership) and a session.timeout.ms longer than a restart: a member that is back in time causes no "
        "rebalance. Start many instances together and raise group.initial.rebalance.delay.ms on the broker, "
        "so that their joins fall into one rebalance."
    ),
    "rejoin": ("The consequence of an expulsion: cure that one (see the rebalance before)."),
    "leave": (
        "Expected when an instance stops. For rolling restarts use static membership (group.instance.id): a "
        "static member that restarts within session.timeout.ms neither leaves nor joins. With "
        "cooperative-sticky only the moved partitions stand still."
    ),
    "session_timeout": (
        "Find out why the member went silent: killed (out of memory?), frozen (long garbage collection, "
        "stopped container, starved CPU) or cut off from the broker. If it was alive, raise "
        "session.timeout.ms (keep heartbeat.interval.ms at a third of it or less). If it dies on deployments, "
        "let it close the consumer on SIGTERM, or make it static."
    ),
    "poll_timeout": (
        "Handling one batch took longer than max.poll.interval.ms. Raise max.poll.interval.ms above the "
        "slowest batch, or lower max.poll.records, or hand slow work to other threads with pause()/resume() "
        "and keep polling."
    ),
    "sync_timeout": (
        "The member joined and then stalled between JoinGroup and SyncGroup: look for a slow assignor in the "
        "leader, long pauses, or a client that crashed in the middle of a rebalance."
    ),
    "metadata_change": (
        "Somebody created topics that match a pattern, or added partitions. Do it in one go and at a quiet "
        "time; a longer metadata.max.age.ms on the consumers gathers several changes into one rebalance."
    ),
    "subscription_change": (
        "The application calls subscribe() with other topics while it runs. Subscribe once, or by pattern, "
        "and give all members the same subscription."
    ),
    "enforced": (
        "The application (or Kafka Streams: probing or follow-up rebalances) calls enforceRebalance(). Call "
        "it less often; for Streams see probing.rebalance.interval.ms."
    ),
    "coordinator_restart": (
        "Look at the broker, not at the consumers: restarts, elections of __consumer_offsets partitions, full "
        "disks. Roll brokers one by one with a controlled shutdown."
    ),
    "abandoned_consumer": (
        "Close consumers: an object that is dropped without close() keeps heartbeating and holds its "
        "partitions until max.poll.interval.ms ends. Look for error paths and retries that create a second "
        "consumer in the same process. If the member is only slow, see poll_timeout."
    ),
    "unknown": (
        "Raise the coordinator's log level to INFO, include the logs from before this point, or look at the "
        "member's own log."
    ),
}

LEFT_WITHOUT_A_WORD: Final = (
    "The client gave no reason and the same client id came back soon after: it was restarted, or it polled too late "
    "(a poll timeout looks the same in this log). Its own log tells: librdkafka writes MAXPOLL, kafka-python "
    "'poll timeout'. If it was restarted, see group.instance.id (static membership); if not, raise "
    "max.poll.interval.ms "
    "or take fewer records a poll."
)

# What clients say when they leave. Clients that say nothing cannot be told apart here.
_LEAVE_WORDS: Final[tuple[tuple[Cause, str], ...]] = (
    ("poll_timeout", r"poll timeout|poll interval|max\.poll|poll\(\)"),
    ("leave", r""),
)
# What clients say when they join again although they are members.
_REJOIN_WORDS: Final[tuple[tuple[Cause | Literal["follow_up"], str], ...]] = (
    ("follow_up", r"need to revoke|revok\w+ .*re-?join|re-?join\w* after revok|partitions were revoked"),
    ("metadata_change", r"metadata has changed|partition count|number of partitions|new partitions"),
    (
        "subscription_change",
        r"subscription has changed|subscription or the metadata changed|not match the current subscription",
    ),
    (
        "coordinator_restart",
        r"NOT_COORDINATOR|COORDINATOR_NOT_AVAILABLE|COORDINATOR_LOAD_IN_PROGRESS|(?:not|no longer) the "
        r"(?:correct )?coord"
        r"|coordinator (?:is |was )?(?:not available|unavailable|loading|disconnected)|NotCoordinator"
        r"|CoordinatorNotAvailable|CoordinatorLoadInProgress|DisconnectException",
    ),
    # Consequences of trouble that the log shows elsewhere or not at all; they are no causes.
    (
        "unknown",
        r"already rebalancing|the group rebalances|rebalance failed|encountered .* from .* "
        r"response|pro-actively leaving"
        r"|given member-id",
    ),
    # Whatever else is said was given by the application to enforceRebalance(reason).
    ("enforced", r""),
)


def of_leave(said: str) -> tuple[Cause, tuple[Cause, ...]]:
    """The cause of a LeaveGroup by the client's words, and what else it can have been when the client said nothing."""
    if not said:
        return "leave", ("poll_timeout",)
    return next(cause for cause, words in _LEAVE_WORDS if re.search(words, said, re.IGNORECASE)), ()


def of_rejoin(said: str) -> Cause | Literal["follow_up"]:
    """What a member that joins again meant by `said`, not empty; "follow_up": a cooperative second round."""
    return next(cause for cause, words in _REJOIN_WORDS if re.search(words, said, re.IGNORECASE))
