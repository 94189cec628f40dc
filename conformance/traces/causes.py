"""Why a group rebalances: the closed list of causes, how a client's own words map to it, and what to change.

The list is the same for logs, recorded traces and the fleet's statistics, so that their counts can be compared.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from groupspec.spec.datafile import Record, read_entries

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


class Told(Record, frozen=True):
    """A cause in words: what happened, and what to change (in a group of KIP-848 too, if that is different)."""

    cause: Cause
    meaning: str
    advice: str
    consumer_protocol_advice: str = ""


TOLD: Final = read_entries(Path(__file__).with_suffix(".toml"), Told)
"""By cause."""

LEFT_WITHOUT_A_WORD: Final = (
    "The client gave no reason and the same client id came back soon after: it was restarted, or it polled too late "
    "(a poll timeout looks the same in this log). Its own log tells: librdkafka writes MAXPOLL, kafka-python "
    "'poll timeout'. If it was restarted, see group.instance.id (static membership); if not, raise "
    "max.poll.interval.ms "
    "or take fewer records a poll."
)

DIED_AND_STARTED_ANEW: Final = (
    "A process went without leaving the group (killed, out of memory, crashed) and was started anew under the same "
    "client id. The new one's join began a rebalance, which stood still until the session of the dead one had ended. "
    "Let it close the consumer on SIGTERM, and find out why it died. A static member (group.instance.id) that is back "
    "in time takes its place again without a rebalance; a shorter session.timeout.ms makes the wait shorter."
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
