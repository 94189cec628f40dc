"""One commit of offsets, from the call to its end. One such machine runs for each.

Five kinds of commit differ in who waits and for how long. `commit()` tries until its deadline; so does the commit
before a rebalance, for the rebalance timeout at most, and the last one of `close()`. `commit_async()` is tried once.
The one of the interval is tried once too, and comes again after the retry backoff (rules M3, D3). Whatever happens, a
commit ends exactly once, and tells whoever asked how (rules T3, L2).

**Order.** Commits go out one after the other, in the order of the calls: a commit that is `behind` waits, whatever the
coordinator is (rule M6). One waits for something else and lets others pass: the commit before a rebalance, while the
application still holds records, of which only its next poll says that they are processed (rule M4); who has passed it
also goes before it from then on. The commit of the interval is not begun while another automatic one is under way (rule
M5). What an automatic commit covers is taken when it is sent, but no later than the application asks for the commit
behind it: else that one would take back what the automatic one has committed (rule M6,
`composition/commits_together.py`).

**As whom.** Member id and generation are read together when the request is sent, not when it was asked for (rule M1). A
consumer that assigned its partitions itself commits as nobody: generation -1, no member id, no instance id (rules M1,
X1, D8). Between JoinGroup and the answer to SyncGroup nothing is sent, nor by one that is not a member: the commit
fails without a request (rule M7). So does one whose membership is over when its turn comes: what has waited for a
coordinator, or for an earlier commit, is not sent as nobody when the member has left, nor in its next membership (rule
M1). Automatic commits cover what is owned; what the application names is committed as it says, whoever owns it: the
coordinator accepts that of a member. When the membership is lost automatic commits end with it (rule C2).

**A topic that is missing** may not be known to the broker yet, so that a commit is tried again as for any passing
failure. Not so before a rebalance: the topic may have been deleted, which no waiting mends, and the member would miss
the round (rule M3). UNKNOWN_TOPIC_ID says the same to a request that names topics by id (rule O7); there Java's
CommitRequestManager (4.3) goes on until its time limit: it gives up at UNKNOWN_TOPIC_OR_PARTITION alone.

**The answer** is judged against the identity that the request was sent with (rule J9): if that is gone, a rejection
only says how this commit ends, and in a round that it may be repeated after it.

The machine stands beside the member, as the one of a partition does. It hears the same answers as the member's
machines, which draw the conclusions for the membership and the coordinator (`rebalance.py` rejoins after
REBALANCE_IN_PROGRESS, `connection.py` looks for another coordinator); and it is told what changes around it:

- `commit_standing_changed`: the rebalance is in STABLE, PREPARE_REVOCATION, ASSIGNING_PARTITIONS, or in
  REVOKING_PARTITION of a member (`member`); in PREPARING_REBALANCE or COMPLETING_REBALANCE (`in_round`); elsewhere
  (`outside`); or there is no subscription (`manual`).
- `rebalance_commit_due`: what the rebalance does as `commit` with auto-commit on; its `commit_step` is this machine
  seen from there.
- `earlier_commits_done`: those that were asked for before this one have ended.
- `rebalance_given_up`: the member leaves in the middle of a rebalance; nobody waits for its commit any more.
- `coordinator_found`, `coordinator_lost`: as the connection emits them; a request that is out when it is lost has
  failed.

Sources: Kafka ConsumerCoordinator (sendOffsetCommitRequest, OffsetCommitResponseHandler, commitOffsetsSync,
commitOffsetsAsync, maybeAutoCommitOffsetsAsync, onJoinPrepare, close); CommitRequestManager
(autoCommitSyncBeforeRevocationWithRetries).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupspec.spec.machine import Guard, State, StateMachine, error, ignored, row
from groupspec.spec.terms import NO_YES, Effect, Event, Variable

# fmt: off
_STANDINGS: Final = ("outside", "in_round", "member", "manual")
_COVERS: Final = ("nothing", "something")
_BEGINNING: Final = ("covers_now", "behind_now")

VARIABLES: Final = (
    Variable("commit_purpose", ("sync", "async", "timed", "rebalance", "close"), "sync", "state", "commit",
             doc="whose it is: the application's, which waits or does not; the interval's; a rebalance's that has "
                 "begun; the last one of close()"),
    Variable("standing", _STANDINGS, "outside", "state", "commit",
             doc="what the consumer is to the group: nobody; a member whose JoinGroup or SyncGroup is out; a member; "
                 "or it assigned its partitions itself"),
    Variable("covers", _COVERS, "nothing", "state", "commit", doc="what it would commit: nothing, or something"),
    Variable("coordinator_here", NO_YES, False, "state", "commit", doc="there is somebody to send it to"),
    Variable("commit_backs_off", NO_YES, False, "state", "commit", doc="the retry backoff after a failed attempt runs"),
    Variable("behind", NO_YES, False, "state", "commit", doc="an earlier commit is not done yet"),
    Variable("unprocessed", NO_YES, False, "state", "commit",
             doc="records are with the application; its next poll says that they are processed"),
    Variable("sent_as", ("nobody", "member"), "nobody", "state", "commit",
             doc="with which identity the last request went out: none at all, or member id and generation"),
    Variable("identity_kept", NO_YES, True, "state", "commit",
             doc="the identity that it was sent with is the consumer's still"),
    Variable("membership_kept", NO_YES, True, "state", "commit",
             doc="since it was asked for no membership has begun or ended, and the consumer was never outside"),
    Variable("standing_now", _STANDINGS, "member", "input", doc="what the consumer has become"),
    Variable("covers_now", _COVERS, "something", "input", doc="what the commit covers as things are now"),
    Variable("behind_now", NO_YES, False, "input", doc="an earlier commit is not done yet"),
    Variable("unprocessed_now", NO_YES, False, "input",
             doc="the application has records that it has not shown to have processed"),
    Variable("same_identity", NO_YES, True, "input", doc="member id and generation are what they were"),
)

EVENTS: Final = (
    Event("commit_sync_called", "application", _BEGINNING, doc="commit(): the caller waits"),
    Event("commit_async_called", "application", _BEGINNING, doc="commit_async()"),
    Event("auto_commit_due", "timer", _BEGINNING,
          doc="auto.commit.interval.ms since the last automatic commit was sent"),
    Event("rebalance_commit_due", "internal", (*_BEGINNING, "unprocessed_now"),
          doc="a rebalance has begun, and auto-commit is on"),
    Event("close_commit_due", "application", _BEGINNING, doc="close() with auto-commit on"),
    Event("earlier_commits_done", "internal", doc="every commit that was asked for before this one is done"),
    Event("commit_standing_changed", "internal", ("standing_now", "covers_now", "same_identity"),
          doc="a round begins or ends, membership begins or is lost, partitions come or go"),
    Event("rebalance_given_up", "internal", doc="the member leaves instead"),
    Event("commit_accepted", "message", ("current",), doc="OffsetCommit: NONE"),
    Event("commit_refused", "message", ("current",), doc="OffsetCommit: for good, and nothing wrong with the member"),
    Event("commit_topic_missing", "message", ("current",), doc="OffsetCommit: a topic is not there yet, or no more"),
)

MEANINGS: Final[Mapping[str, str]] = {
    "commit_accepted": "NONE",
    "commit_refused": "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED OFFSET_METADATA_TOO_LARGE "
                      "INVALID_COMMIT_OFFSET_SIZE other",
    "commit_topic_missing": "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID",
    "commit_retriable": "COORDINATOR_LOAD_IN_PROGRESS",
    "commit_coordinator_gone":
        "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR REQUEST_TIMED_OUT DISCONNECTED TIMED_OUT",
    "commit_rebalance_in_progress": "REBALANCE_IN_PROGRESS",
    "commit_unknown_member": "UNKNOWN_MEMBER_ID",
    "commit_illegal_generation": "ILLEGAL_GENERATION",
    "commit_fenced": "FENCED_INSTANCE_ID",
}

COMMIT_ANSWERS: Final[Mapping[str, str]] = MappingProxyType(
    {error: event for event, errors in MEANINGS.items() for error in errors.split()}
)
"""Error of an OffsetCommit answer -> event. To the machines of the member an answer that ends the attempt is one event
(`commit_settled`, see `vocabulary.RESPONSES`), whatever it says; here it is told whether the offsets are committed."""

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

_ASKED: Final = {"covers": "covers_now", "behind": "behind_now", "membership_kept": "standing != 'outside'"}
_OVER: Final = {"behind": "False", "commit_backs_off": "False", "unprocessed": "False"}
"""Nothing is waited for any more. While a request is out nothing is anyway; so not what only an answer brings."""
_ANSWERED: Final = "COMMIT_FENCED"

EFFECTS: Final = (
    *(Effect(f"begin_{purpose}_commit", {"commit_purpose": f"'{purpose}'", **_ASKED})
      for purpose in ("sync", "async", "timed", "close")),
    Effect("begin_rebalance_commit", {"commit_purpose": "'rebalance'", **_ASKED, "unprocessed": "unprocessed_now"}),
    Effect("come_to_turn", {"behind": "False"}),
    Effect("count_as_processed",
           {"unprocessed": "False", "covers": "'something' if unprocessed and covers == 'nothing' else covers"}),
    Effect("note_standing",
           {"standing": "standing_now", "covers": "covers_now", "identity_kept": "identity_kept and same_identity",
            "membership_kept": "membership_kept and standing_now != 'outside'"
                               " and (standing_now == 'manual') == (standing == 'manual')"}),
    Effect("have_coordinator", {"coordinator_here": "True"}),
    Effect("have_no_coordinator", {"coordinator_here": "False"}),
    Effect("send_commit_as_member", {"sent_as": "'member'", "identity_kept": "True"}, ("OffsetCommit",),
           doc="member id and generation, read together now"),
    Effect("send_commit_without_identity", {"sent_as": "'nobody'", "identity_kept": "True"}, ("OffsetCommit",),
           doc="generation -1, no member id, no instance id"),
    Effect("wait_to_retry", {"commit_backs_off": "True"}),
    Effect("end_commit_backoff", {"commit_backs_off": "False"}),
    *(Effect(f"end_as_{word.removeprefix('COMMIT_').lower()}", {} if word == _ANSWERED else _OVER,
             (word,)) for word in COMMIT_ENDINGS),
)

OF_APPLICATION: Final = Guard("commit_purpose == 'sync' or commit_purpose == 'async'")
PERSISTS: Final = Guard("commit_purpose == 'sync' or commit_purpose == 'rebalance' or commit_purpose == 'close'")
"""It is tried again until its deadline."""
BEFORE_REBALANCE: Final = Guard("commit_purpose == 'rebalance'")
MAY_BEGIN: Final = Guard("standing == 'member' or standing == 'manual'")
ITS_TURN: Final = Guard("not behind and not unprocessed")
ALLOWED: Final = Guard("standing == 'manual' or standing == 'member'")
SENDS: Final = (
    ITS_TURN & "covers != 'nothing'" & ALLOWED & "membership_kept" & "coordinator_here and not commit_backs_off"
)
STALE_IN_ROUND: Final = Guard("not identity_kept and standing == 'in_round'")
# fmt: on


class Commit(StateMachine):
    """One commit of offsets, from the call to its end."""

    machine_name = "commit"

    SETTLED = State(initial=True)
    WAITING = State()
    SENT = State()

    # fmt: off
    UNDER_WAY = (WAITING, SENT)
    EVERY = (SETTLED, *UNDER_WAY)
    BEGINNINGS = ("commit_sync_called", "commit_async_called", "auto_commit_due", "rebalance_commit_due",
                  "close_commit_due")
    AUTOMATIC = ("auto_commit_due", "rebalance_commit_due", "close_commit_due")
    CALLED = ("commit_sync_called", "commit_async_called")
    LOST_IDENTITY = ("commit_unknown_member", "commit_illegal_generation")
    PASSING = ("commit_retriable", "commit_coordinator_gone")
    ANSWERS = ("commit_accepted", "commit_refused", "commit_topic_missing", *PASSING, "commit_rebalance_in_progress",
               *LOST_IDENTITY, "commit_fenced")

    # -- it is asked for -----------------------------------------------------------------------------------------------
    row(SETTLED, "commit_sync_called",   WAITING, rules="M6", do=["begin_sync_commit"])
    row(SETTLED, "commit_async_called",  WAITING, rules="M6", do=["begin_async_commit"])
    row(SETTLED, "auto_commit_due",      WAITING, rules="M4 M5 M7",
        when="auto_commit and covers_now != 'nothing'" & MAY_BEGIN,     do=["begin_timed_commit"])
    row(SETTLED, "rebalance_commit_due", WAITING, rules="M3 M4",
        when="auto_commit and standing == 'member' and (covers_now != 'nothing' or unprocessed_now)",
        do=["begin_rebalance_commit"])
    row(SETTLED, "close_commit_due",     WAITING, rules="L5 M7",
        when="auto_commit" & MAY_BEGIN,                                 do=["begin_close_commit"])

    # -- its turn ------------------------------------------------------------------------------------------------------
    row(WAITING, "earlier_commits_done", None,    rules="M6",
        when="behind",                                                  do=["come_to_turn"])
    row(WAITING, "application_polled",   None,    rules="M4",
        when="unprocessed",                                             do=["count_as_processed"])
    row(WAITING, "turn_ended",           SETTLED, rules="M5 T3",
        when=ITS_TURN & "covers == 'nothing'",                          do=["end_as_done"])
    row(WAITING, "turn_ended",           SETTLED, rules="M7 M2",
        when=ITS_TURN & "covers != 'nothing' and standing == 'in_round'", do=["end_as_rebalancing"])
    row(WAITING, "turn_ended",           SETTLED, rules="M7 C2",
        when=ITS_TURN & "covers != 'nothing' and standing == 'outside'", do=["end_as_failed"])
    row(WAITING, "turn_ended",           SETTLED, rules="M1",
        when=ITS_TURN & "covers != 'nothing'" & ALLOWED & "not membership_kept", do=["end_as_failed"])
    row(WAITING, "turn_ended",           SENT,    rules="M1 D4",
        when=SENDS & "standing == 'member'",                            do=["send_commit_as_member"])
    row(WAITING, "turn_ended",           SENT,    rules="M1 X1 D8 D4",
        when=SENDS & "standing == 'manual'",                            do=["send_commit_without_identity"])

    # -- the answer ----------------------------------------------------------------------------------------------------
    row(SENT,    "commit_accepted",              SETTLED, rules="M6 T3",
        when="current",                                                 do=["end_as_done"])
    row(SENT,    "commit_refused",               SETTLED, rules="M3 T3",
        when="current",                                                 do=["end_as_refused"])
    row(SENT,    PASSING,                        WAITING, rules="M3 D3",
        when="current" & PERSISTS,                                      do=["wait_to_retry"])
    row(SENT,    PASSING,                        SETTLED, rules="D3 M5",
        when="current" & ~PERSISTS,                                     do=["end_as_retriable"])
    row(SENT,    "commit_topic_missing",         SETTLED, rules="M3 T3",
        when="current" & BEFORE_REBALANCE,                              do=["end_as_refused"])
    row(SENT,    "commit_topic_missing",         WAITING, rules="D3",
        when="current" & PERSISTS & ~BEFORE_REBALANCE,                  do=["wait_to_retry"])
    row(SENT,    "commit_topic_missing",         SETTLED, rules="D3 M5",
        when="current" & ~PERSISTS,                                     do=["end_as_retriable"])
    row(SENT,    "coordinator_lost",             WAITING, rules="D1 D3 M3",
        when=PERSISTS,                                                  do=["have_no_coordinator", "wait_to_retry"])
    row(SENT,    "coordinator_lost",             SETTLED, rules="D1 M5",
        when=~PERSISTS,                                                 do=["have_no_coordinator", "end_as_retriable"])
    row(SENT,    "commit_rebalance_in_progress", SETTLED, rules="M2 M3",
        when="current",                                                 do=["end_as_rebalancing"])
    row(SENT,    LOST_IDENTITY,                  SETTLED, rules="M2 J4",
        when="current" & ~STALE_IN_ROUND,                               do=["end_as_failed"])
    row(SENT,    LOST_IDENTITY,                  SETTLED, rules="M2 J9",
        when="current" & STALE_IN_ROUND,                                do=["end_as_rebalancing"])
    row(SENT,    "commit_fenced",                SETTLED, rules="X2",
        when="current and identity_kept",                               do=["end_as_fenced"])
    row(SENT,    "commit_fenced",                SETTLED, rules="J9",
        when="current and not identity_kept and standing != 'in_round'", do=["end_as_failed"])
    row(SENT,    "commit_fenced",                SETTLED, rules="J9",
        when="current" & STALE_IN_ROUND,                                do=["end_as_rebalancing"])
    row(WAITING, "commit_backoff_elapsed",       None,    rules="D3 M3",
        when="commit_backs_off",                                        do=["end_commit_backoff"])

    # -- nobody to send it to ------------------------------------------------------------------------------------------
    row((SETTLED, WAITING), "coordinator_lost", None, rules="D1 D4", do=["have_no_coordinator"])
    row((SETTLED, WAITING), "coordinator_found", None, rules="D4", do=["have_coordinator"])
    row(WAITING, "discovery_retriable", SETTLED, rules="D3",
        when="current and commit_purpose == 'async'",     do=["end_as_retriable"])
    row(WAITING, "discovery_fatal",     SETTLED, rules="D2 T3",
        when="current and commit_purpose != 'rebalance'", do=["end_as_refused"])

    # -- what changes around it, and the end ---------------------------------------------------------------------------
    row(SETTLED,   "commit_standing_changed", None,    rules="M1 M7", do=["note_standing"])
    row(UNDER_WAY, "commit_standing_changed", None,    rules="M1 J9",
        when=f"standing_now != 'outside' or ({OF_APPLICATION})", do=["note_standing"])
    row(UNDER_WAY, "commit_standing_changed", SETTLED, rules="C2 M7",
        when="standing_now == 'outside'" & ~OF_APPLICATION,      do=["note_standing", "end_as_failed"])
    row(UNDER_WAY, "rebalance_given_up",      SETTLED, rules="M3 L2",
        when=BEFORE_REBALANCE,                                   do=["end_as_failed"])
    row(UNDER_WAY, "commit_deadline_expired", SETTLED, rules="M3 D3 L2",
        when=PERSISTS,                                           do=["end_as_timed_out"])
    row(UNDER_WAY, "stopped",                 SETTLED, rules="L2 T3", do=["end_as_closed"])

    # -- what changes nothing ------------------------------------------------------------------------------------------
    ignored(SETTLED, AUTOMATIC, because="timer_off", when="not auto_commit")
    ignored(SETTLED, "auto_commit_due", because="nothing_waits",
        when=f"auto_commit and (covers_now == 'nothing' or {~MAY_BEGIN})", rules="M5 M7")
    ignored(SETTLED, "rebalance_commit_due", because="nothing_waits",
        when="auto_commit and (standing != 'member' or (covers_now == 'nothing' and not unprocessed_now))", rules="M3")
    ignored(SETTLED, "close_commit_due", because="nothing_waits", when="auto_commit" & ~MAY_BEGIN, rules="M7")
    ignored(UNDER_WAY, CALLED, because="another_commit")
    ignored(UNDER_WAY, AUTOMATIC, because="another_commit", when=OF_APPLICATION)
    ignored(UNDER_WAY, "auto_commit_due", because="already", when=~OF_APPLICATION, rules="M5")
    ignored(UNDER_WAY, ("rebalance_commit_due", "close_commit_due"), because="another_commit", when=~OF_APPLICATION)
    ignored(WAITING, "turn_ended", because="waiting",
        when=f"{~ITS_TURN} or (covers != 'nothing' and ({ALLOWED}) and membership_kept"
             " and (not coordinator_here or commit_backs_off))")
    ignored((SETTLED, SENT), "turn_ended", because="nothing_waits")
    ignored(SENT, "coordinator_found", because="already")
    ignored(WAITING, "earlier_commits_done", because="nothing_waits", when="not behind")
    ignored((SETTLED, SENT), "earlier_commits_done", because="nothing_waits")
    ignored(WAITING, "application_polled", because="nothing_waits", when="not unprocessed")
    ignored((SETTLED, SENT), "application_polled", because="nothing_waits")
    ignored(WAITING, "commit_backoff_elapsed", because="timer_off", when="not commit_backs_off")
    ignored((SETTLED, SENT), "commit_backoff_elapsed", because="timer_off")
    ignored(UNDER_WAY, "commit_deadline_expired", because="timer_off", when=~PERSISTS)
    ignored(SETTLED, "commit_deadline_expired", because="timer_off")
    ignored(EVERY, ("discovery_retriable", "discovery_fatal"), because="late", when="not current")
    ignored(WAITING, "discovery_retriable", because="waiting", when="current and commit_purpose != 'async'", rules="D3")
    ignored(WAITING, "discovery_fatal", because="waiting", when="current and commit_purpose == 'rebalance'", rules="M3")
    ignored((SETTLED, SENT), ("discovery_retriable", "discovery_fatal"), because="nothing_waits", when="current")
    ignored(UNDER_WAY, "rebalance_given_up", because="another_commit", when="commit_purpose != 'rebalance'")
    ignored(SETTLED, ("rebalance_given_up", "stopped"), because="nothing_waits")
    ignored(EVERY, ANSWERS, because="late", when="not current", rules="J9")

    # -- what a correct peer never does: answer a commit that is not out -----------------------------------------------
    error((SETTLED, WAITING), ANSWERS, rule="J9", when="current")
    # fmt: on
