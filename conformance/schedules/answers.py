"""How a coordinator and the brokers can answer: texts that stand for errors, delays and moves, and where each may come.

A text is the name of an error, or one of the words below; the empty one stands for a good answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

CUT: Final = "CUT"
"""The connection breaks before the answer."""

NEVER: Final = "NEVER"
"""No answer comes; the request times out."""

SLOW: Final = "SLOW"
"""The answer comes, but late: another member is busy, or the broker is. Followed by an error: that comes late."""

MOVED: Final = "MOVED"
"""The coordinator has moved: each request gets NOT_COORDINATOR until the member has looked for it anew."""

LEFT_OUT: Final = "LEFT OUT"
"""The answer says nothing of the first partition that was asked for."""

ONE: Final = "ONE"
"""Followed by an error: that is so of the first partition alone."""

LOST: Final = "LOST"
"""The request is carried out, and the connection breaks before the answer."""

LEADERLESS: Final = "WITHOUT A LEADER"
"""Of each topic the first partition has none, just now."""

BEHIND: Final = "BEHIND"
"""The broker has not heard of the election yet, and names the leaders of before."""

GARBLED: Final = "GARBLED"
"""SyncGroup is answered without an error, and what it assigns cannot be read: another client has divided."""

NO_FAULTS: Final = frozenset({"", SLOW, "REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"})
"""Answers that keep nothing from its outcome."""

REFUSALS: Final = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED")
"""Errors that are for the application to know."""

_NETWORK: Final = ("NOT_COORDINATOR", MOVED, SLOW, CUT, NEVER)
_GROUP: Final = ("COORDINATOR_LOAD_IN_PROGRESS", *_NETWORK)
_MEMBER: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", *_NETWORK)
_COMMIT: Final = ("UNKNOWN_TOPIC_OR_PARTITION", "ONE UNKNOWN_TOPIC_OR_PARTITION", LOST)
LEADER_IS_ANOTHER: Final = (
    *("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "UNKNOWN_TOPIC_OR_PARTITION"),
)
"""Errors after which the metadata have to be read anew (as Java's FetchCollector and OffsetFetcherUtils do)."""

_LEADER: Final = (*LEADER_IS_ANOTHER, "UNKNOWN_LEADER_EPOCH", SLOW, CUT)
ANSWERS: Final = {
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", CUT, NEVER),
    "JoinGroup": ("MEMBER_ID_REQUIRED", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", *_GROUP),
    "SyncGroup": _MEMBER,
    "Heartbeat": ("COORDINATOR_LOAD_IN_PROGRESS", *_MEMBER),
    "OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", *_COMMIT, *_MEMBER),
    "OffsetFetch": ("UNSTABLE_OFFSET_COMMIT", LEFT_OUT, *_GROUP),
    "LeaveGroup": ("UNKNOWN_MEMBER_ID", CUT, NEVER),
    "Fetch": _LEADER,
    "OffsetForLeaderEpoch": _LEADER,
    "ListOffsets": ("OFFSET_NOT_AVAILABLE", *_LEADER),
    "Metadata": (CUT,),
}
"""The errors that a broker can answer each request with, besides none."""

_MOVED_ON: Final = ("LEADER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE")
PASSING: Final[Mapping[str, Sequence[str]]] = {
    "JoinGroup": ("COORDINATOR_NOT_AVAILABLE",),
    "SyncGroup": ("COORDINATOR_NOT_AVAILABLE",),
    "Heartbeat": ("COORDINATOR_NOT_AVAILABLE",),
    "OffsetCommit": ("COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT"),
    "OffsetFetch": ("COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS"),
    "Fetch": (*_MOVED_ON, "UNKNOWN_SERVER_ERROR"),
    "ListOffsets": _MOVED_ON,
    "OffsetForLeaderEpoch": _MOVED_ON,
}
"""Further failures that pass, of which no application hears, each where Kafka's client tries again.

As ConsumerCoordinator's handlers (of OffsetFetch since KAFKA-17279), FetchCollector, OffsetFetcherUtils and
OffsetsForLeaderEpochUtils do.
"""

OF_THE_CLUSTER: Final = (LEADERLESS, "LEADER_NOT_AVAILABLE", SLOW, f"{SLOW} LEADER_NOT_AVAILABLE")
"""How a broker answers for topics whose leaders are being elected: what was known of them stays true."""

REFUSED_BY: Final = {
    REFUSALS[0]: ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch"),
    REFUSALS[1]: ("OffsetCommit", "OffsetFetch", "Fetch", "ListOffsets", "Metadata"),
}
"""Which requests are refused with each of them."""

FENCES: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
"""Requests by which a static member learns that another process has its instance id."""

WITHOUT_COMMITS: Final = frozenset(
    {"Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Metadata", "OffsetFetch", "LeaveGroup"}
)
"""Requests that a commit does not wait for, and whose errors change neither membership nor coordinator."""

Environment = tuple[dict[str, tuple[str, ...]], tuple[str, ...]]
ENVIRONMENTS: Final[tuple[Environment, ...]] = (
    # The coordinator is silent.
    ({"Heartbeat": (NEVER, NEVER)}, ("work too long",)),
    # It puts a member out whose callback waits,
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID")}, ("work for a while",)),
    # or ends its generation before it unsubscribes.
    ({"Heartbeat": ("ILLEGAL_GENERATION",)}, ("work for a while", "unsubscribe")),
    # It cannot be found, while the application works for longer than the poll interval,
    ({"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", NEVER, NEVER, NEVER)}, ("work too long",)),
    # or polls all the time.
    ({"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", NEVER, NEVER, NEVER)}, ("poll for long",) * 2),
    # A member leaves as it joins,
    ({"JoinGroup": ("MEMBER_ID_REQUIRED", SLOW)}, ("unsubscribe",)),
    # or is put out while positions are looked up,
    ({"OffsetCommit": ("UNKNOWN_MEMBER_ID",), "OffsetFetch": (SLOW, "NOT_COORDINATOR")}, ("commit_async",)),
    # or goes elsewhere meanwhile.
    ({"OffsetFetch": (SLOW,)}, ("seek",)),
    # The leaders of its partitions are elected anew, again and again.
    ({"ListOffsets": ("FENCED_LEADER_EPOCH",) * 4}, ("poll", "poll")),
    # The others take longer over a rebalance than the session timeout, and so does the application.
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS",) * 12}, ("poll", "work too long")),
    # It is refused its coordinator while the application waits for that, or does not.
    (
        {"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", "SLOW GROUP_AUTHORIZATION_FAILED")},
        ("poll", "work", "work", "commit", "committed"),
    ),
    ({"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", NEVER)}, ("poll", "work", "work", "commit_async")),
    # Its commits find that a partition, or one of them, is not there yet.
    (
        {"OffsetCommit": ("UNKNOWN_TOPIC_OR_PARTITION", "", "ONE UNKNOWN_TOPIC_OR_PARTITION")},
        ("poll", "commit", "poll", "commit", "poll"),
    ),
    # A leader is another one when it has changed its topics.
    (
        {"Fetch": (*("",) * 9, "NOT_LEADER_OR_FOLLOWER") * 3},
        ("poll", "other topics", "poll", "poll", "poll", "other topics", "poll", "poll", "poll"),
    ),
    # A commit has arrived, of which it does not hear, and it asks what is committed.
    ({"OffsetCommit": ("", LOST)}, ("poll", "commit_async", "poll", "commit_async", "work", "committed")),
    # Its next round is cut short, or the coordinator moves in it,
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS",), "JoinGroup": ("", "REBALANCE_IN_PROGRESS")}, ("poll", "poll")),
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS",), "JoinGroup": ("", MOVED)}, ("poll", "poll")),
    # or the commit before it is refused.
    ({"Heartbeat": ("REBALANCE_IN_PROGRESS",), "OffsetCommit": ("REBALANCE_IN_PROGRESS",)}, ("poll", "work", "poll")),
    # A round takes long, and the application polls, or does not.
    ({"JoinGroup": (SLOW,), "SyncGroup": (SLOW,)}, ("poll for long",)),
    ({"JoinGroup": (NEVER,)}, ("work for a while",) * 3),
    # It is told of a refusal between two polls that are far apart.
    (
        {"Heartbeat": ("", "GROUP_AUTHORIZATION_FAILED")},
        ("poll", "work for a while", "work for a while", "poll", "work for a while"),
    ),
    # It does all but poll.
    ({}, ("work for a while", "commit", "work for a while", "committed", "work for a while")),
    # Its commit waits while the coordinator loads,
    ({"OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS",) * 2}, ("poll", "commit")),
    # or is answered when the member has lost its generation, joins again, or has begun another round.
    (
        {"Heartbeat": ("SLOW ILLEGAL_GENERATION",), "OffsetCommit": ("UNKNOWN_MEMBER_ID",)},
        ("work", "work", "commit_async", "work", "work", "work", "work"),
    ),
    (
        {"Heartbeat": ("", "SLOW ILLEGAL_GENERATION"), "OffsetCommit": ("SLOW UNKNOWN_MEMBER_ID",)},
        ("poll", "work", "work", "commit_async", "poll", "poll"),
    ),
    (
        {"Heartbeat": ("", "SLOW REBALANCE_IN_PROGRESS"), "OffsetCommit": ("SLOW ILLEGAL_GENERATION",)},
        ("poll", "work", "work", "commit_async", "poll", "poll"),
    ),
)
"""What goes wrong together, and what the application does then: independent draws seldom meet so."""

Closing = tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]
_FOR_LONG: Final = 40
CLOSINGS: Final[tuple[Closing, ...]] = (
    # The last commit, or the farewell, is not answered, or late, or refused, or its connection breaks.
    ({}, {"OffsetCommit": (NEVER,)}),
    ({}, {"OffsetCommit": (SLOW,), "LeaveGroup": (SLOW,)}),
    ({}, {"OffsetCommit": (CUT,)}),
    ({}, {"OffsetCommit": ("UNKNOWN_MEMBER_ID",)}),
    ({}, {"OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS",) * _FOR_LONG}),
    ({}, {"LeaveGroup": (NEVER,)}),
    ({}, {"LeaveGroup": (CUT,)}),
    # The coordinator has moved, and is found, or not.
    ({}, {"OffsetCommit": (MOVED,), "LeaveGroup": (MOVED,)}),
    ({}, {"OffsetCommit": (MOVED,), "FindCoordinator": (NEVER,) * _FOR_LONG}),
    ({}, {"OffsetCommit": (MOVED,), "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",) * _FOR_LONG}),
    ({}, {"OffsetCommit": (NEVER,), "LeaveGroup": (NEVER,), "FindCoordinator": (CUT,) * _FOR_LONG}),
    # It is unknown already.
    ({"Heartbeat": ("NOT_COORDINATOR",), "FindCoordinator": ("", *(NEVER,) * _FOR_LONG)}, {}),
    ({"Heartbeat": (CUT,), "FindCoordinator": ("", *("COORDINATOR_NOT_AVAILABLE",) * _FOR_LONG)}, {}),
    # It has never been known, or is busy with a round.
    ({"FindCoordinator": (NEVER,) * _FOR_LONG}, {}),
    ({"JoinGroup": (NEVER,) * 2}, {}),
)
"""What goes wrong before a consumer is closed, and as of then."""
