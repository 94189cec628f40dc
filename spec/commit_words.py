"""The words of one commit: what its machine reads, hears, does, and how it ends. `vocabulary.py` takes them in with the rest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.terms import NO_YES, Effect, Event, Variable

_OWNER: Final = "commit"
_STANDINGS: Final = ("outside", "in_round", "member", "manual")
_COVERS: Final = ("nothing", "something")
_BEGINNING: Final = ("covers_now", "behind_now")

# fmt: off
VARIABLES: Final = (
    Variable("commit_purpose", ("sync", "async", "timed", "rebalance", "close"), "sync", "state", _OWNER, doc="whose it is: the application's, which waits or does not; the interval's; a rebalance's that has begun; the last one of close()"),
    Variable("standing", _STANDINGS, "outside", "state", _OWNER, doc="what the consumer is to the group: nobody; a member whose JoinGroup or SyncGroup is out; a member; or it assigned its partitions itself"),
    Variable("covers", _COVERS, "nothing", "state", _OWNER, doc="what it would commit: nothing, or something"),
    Variable("coordinator_here", NO_YES, False, "state", _OWNER, doc="there is somebody to send it to"),
    Variable("commit_backs_off", NO_YES, False, "state", _OWNER, doc="the retry backoff after a failed attempt runs"),
    Variable("behind", NO_YES, False, "state", _OWNER, doc="an earlier commit is not done yet"),
    Variable("unprocessed", NO_YES, False, "state", _OWNER, doc="records are with the application; its next poll says that they are processed"),
    Variable("sent_as", ("nobody", "member"), "nobody", "state", _OWNER, doc="with which identity the last request went out: none at all, or member id and generation"),
    Variable("identity_kept", NO_YES, True, "state", _OWNER, doc="the identity that it was sent with is the consumer's still"),
    Variable("standing_now", _STANDINGS, "member", "input", doc="what the consumer has become"),
    Variable("covers_now", _COVERS, "something", "input", doc="what the commit covers as things are now"),
    Variable("behind_now", NO_YES, False, "input", doc="an earlier commit is not done yet"),
    Variable("unprocessed_now", NO_YES, False, "input", doc="the application has records that it has not shown to have processed"),
    Variable("same_identity", NO_YES, True, "input", doc="member id and generation are what they were"),
)

EVENTS: Final = (
    Event("commit_sync_called", "application", _BEGINNING, doc="commit(): the caller waits"),
    Event("commit_async_called", "application", _BEGINNING, doc="commit_async()"),
    Event("auto_commit_due", "timer", _BEGINNING, doc="auto.commit.interval.ms since the last automatic commit was sent"),
    Event("rebalance_commit_due", "internal", (*_BEGINNING, "unprocessed_now"), doc="a rebalance has begun, and auto-commit is on"),
    Event("close_commit_due", "application", _BEGINNING, doc="close() with auto-commit on"),
    Event("earlier_commits_done", "internal", doc="every commit that was asked for before this one is done"),
    Event("commit_standing_changed", "internal", ("standing_now", "covers_now", "same_identity"), doc="a round begins or ends, membership begins or is lost, partitions come or go"),
    Event("rebalance_given_up", "internal", doc="the member leaves instead"),
    Event("commit_accepted", "message", ("current",), doc="OffsetCommit: NONE"),
    Event("commit_refused", "message", ("current",), doc="OffsetCommit: for good, and nothing wrong with the member"),
)

COMMIT_ANSWERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "NONE": "commit_accepted",
        "GROUP_AUTHORIZATION_FAILED": "commit_refused",
        "TOPIC_AUTHORIZATION_FAILED": "commit_refused",
        "OFFSET_METADATA_TOO_LARGE": "commit_refused",
        "INVALID_COMMIT_OFFSET_SIZE": "commit_refused",
        "other": "commit_refused",
        "COORDINATOR_LOAD_IN_PROGRESS": "commit_retriable",
        "UNKNOWN_TOPIC_OR_PARTITION": "commit_retriable",
        "COORDINATOR_NOT_AVAILABLE": "commit_coordinator_gone",
        "NOT_COORDINATOR": "commit_coordinator_gone",
        "REQUEST_TIMED_OUT": "commit_coordinator_gone",
        "DISCONNECTED": "commit_coordinator_gone",
        "TIMED_OUT": "commit_coordinator_gone",
        "REBALANCE_IN_PROGRESS": "commit_rebalance_in_progress",
        "UNKNOWN_MEMBER_ID": "commit_unknown_member",
        "ILLEGAL_GENERATION": "commit_illegal_generation",
        "FENCED_INSTANCE_ID": "commit_fenced",
    }
)
"""Error of an OffsetCommit answer -> event. As in `vocabulary.RESPONSES`, but for one thing: there an answer that ends the attempt
is one event (`commit_settled`), whatever it says; here it is told whether the offsets are committed."""

COMMIT_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "COMMIT_DONE": "the offsets are committed, or there were none",
        "COMMIT_REFUSED": "the answer's error, for good",
        "COMMIT_RETRIABLE": "not done; it may be tried again (RetriableCommitFailed)",
        "COMMIT_REBALANCING": "the group rebalances: poll(), then commit what is still assigned (RebalanceInProgress)",
        "COMMIT_FAILED": "the group went on without this member (CommitFailed)",
        "COMMIT_FENCED": "another process has this instance id; also raised by the next poll() if nobody waits",
        "COMMIT_TIMED_OUT": "its time is over",
        "COMMIT_CLOSED": "the consumer is closed",
    }
)
"""How a commit ends, which is told once to whoever asked: word to meaning."""

_OVER: Final = {"behind": "False", "commit_backs_off": "False", "unprocessed": "False"}
"""Nothing is waited for any more. While a request is out nothing is anyway; so not what only an answer brings."""
_ANSWERED: Final = "COMMIT_FENCED"

EFFECTS: Final = (
    *(Effect(f"begin_{purpose}_commit", {"commit_purpose": f"'{purpose}'", "covers": "covers_now", "behind": "behind_now"}) for purpose in ("sync", "async", "timed", "close")),
    Effect("begin_rebalance_commit", {"commit_purpose": "'rebalance'", "covers": "covers_now", "behind": "behind_now", "unprocessed": "unprocessed_now"}),
    Effect("come_to_turn", {"behind": "False"}),
    Effect("count_as_processed", {"unprocessed": "False", "covers": "'something' if unprocessed and covers == 'nothing' else covers"}),
    Effect("note_standing", {"standing": "standing_now", "covers": "covers_now", "identity_kept": "identity_kept and same_identity"}),
    Effect("have_coordinator", {"coordinator_here": "True"}),
    Effect("have_no_coordinator", {"coordinator_here": "False"}),
    Effect("send_commit_as_member", {"sent_as": "'member'", "identity_kept": "True"}, ("OffsetCommit",), doc="member id and generation, read together now"),
    Effect("send_commit_as_nobody", {"sent_as": "'nobody'", "identity_kept": "True"}, ("OffsetCommit",), doc="generation -1, no member id, no instance id"),
    Effect("wait_to_retry", {"commit_backs_off": "True"}),
    Effect("end_commit_backoff", {"commit_backs_off": "False"}),
    *(Effect(f"end_as_{word.removeprefix('COMMIT_').lower()}", {} if word == _ANSWERED else _OVER, (word,)) for word in COMMIT_ENDINGS),
)
# fmt: on
