"""One commit of offsets, from the call to its end. One such machine runs for each.

Five kinds of commit differ in who waits and for how long. `commit()` tries until its deadline; so does the commit before a rebalance,
for the rebalance timeout at most, and the last one of `close()`. `commit_async()` is tried once. The one of the interval is tried once
too, and comes again after the retry backoff (rules M3, D3). Whatever happens, a commit ends exactly once, and tells whoever asked how
(rules T3, L2).

**Order.** Commits go out one after the other, in the order of the calls: a commit that is `behind` waits, whatever the coordinator is
(rule M6). One waits for something else and lets others pass: the commit before a rebalance, while the application still holds records,
of which only its next poll says that they are processed (rule M4); who has passed it also goes before it from then on. The commit of the
interval is not begun while another automatic one is under way (rule M5). What an automatic commit covers is taken when it is sent, but
no later than the application asks for the commit behind it: else that one would take back what the automatic one has committed (rule M6,
`composition/commits_together.py`).

**As whom.** Member id and generation are read together when the request is sent, not when it was asked for (rule M1). A consumer that
assigned its partitions itself commits as nobody: generation -1, no member id, no instance id (rules M1, X1, D8). Between JoinGroup and
the answer to SyncGroup nothing is sent, nor by one that is not a member: the commit fails without a request (rule M7). Automatic commits
cover what is owned; what the application names is committed as it says, whoever owns it: the coordinator accepts that of a member. When
the membership is lost automatic commits end with it (rule C2).

**The answer** is judged against the identity that the request was sent with (rule J9): if that is gone, a rejection only says how this
commit ends, and in a round that it may be repeated after it.

The machine stands beside the member, as the one of a partition does. It hears the same answers as the member's machines, which draw the
conclusions for the membership and the coordinator (`rebalance.py` rejoins after REBALANCE_IN_PROGRESS, `connection.py` looks for
another coordinator); and it is told what changes around it:

- `commit_standing_changed`: the rebalance is in STABLE, PREPARE_REVOCATION, ASSIGNING_PARTITIONS, or in REVOKING_PARTITION of a member
  (`member`); in PREPARING_REBALANCE or COMPLETING_REBALANCE (`in_round`); elsewhere (`outside`); or there is no subscription (`manual`).
- `rebalance_commit_due`: what the rebalance does as `commit` with auto-commit on; its `commit_step` is this machine seen from there.
- `earlier_commits_done`: those that were asked for before this one have ended.
- `rebalance_given_up`: the member leaves in the middle of a rebalance; nobody waits for its commit any more.
- `coordinator_found`, `coordinator_lost`: as the connection emits them; a request that is out when it is lost has failed.

Sources: Kafka ConsumerCoordinator (sendOffsetCommitRequest, OffsetCommitResponseHandler, commitOffsetsSync, commitOffsetsAsync,
maybeAutoCommitOffsetsAsync, onJoinPrepare, close).
"""

from __future__ import annotations

from groupspec.spec.machine import State, StateMachine, error, ignored, row


class Commit(StateMachine):
    """One commit of offsets, from the call to its end."""

    machine_name = "commit"

    SETTLED = State(initial=True)
    WAITING = State()
    SENT = State()

    # fmt: off
    _UNDER_WAY = (WAITING, SENT)
    _EVERY = (SETTLED, *_UNDER_WAY)
    _BEGINNINGS = ("commit_sync_called", "commit_async_called", "auto_commit_due", "rebalance_commit_due", "close_commit_due")
    _AUTOMATIC = ("auto_commit_due", "rebalance_commit_due", "close_commit_due")
    _CALLED = ("commit_sync_called", "commit_async_called")
    _LOST_IDENTITY = ("commit_unknown_member", "commit_illegal_generation")
    _PASSING = ("commit_retriable", "commit_coordinator_gone")
    _ANSWERS = ("commit_accepted", "commit_refused", *_PASSING, "commit_rebalance_in_progress", *_LOST_IDENTITY, "commit_fenced")

    _OF_APPLICATION = "(commit_purpose == 'sync' or commit_purpose == 'async')"
    _PERSISTS = "(commit_purpose == 'sync' or commit_purpose == 'rebalance' or commit_purpose == 'close')"
    _MAY_BEGIN = "(standing == 'member' or standing == 'manual')"
    _ITS_TURN = "not behind and not unprocessed"
    _ALLOWED = "(standing == 'manual' or standing == 'member')"
    _SENDS = f"{_ITS_TURN} and covers != 'nothing' and {_ALLOWED} and coordinator_here and not commit_backs_off"
    _STALE_IN_ROUND = "not identity_kept and standing == 'in_round'"

    #   in state     on event                        goes to    when                                                                   do                           rules
    # -- it is asked for
    row(SETTLED,     "commit_sync_called",           WAITING,                                                                          do=["begin_sync_commit"],     rules="M6")
    row(SETTLED,     "commit_async_called",          WAITING,                                                                          do=["begin_async_commit"],    rules="M6")
    row(SETTLED,     "auto_commit_due",              WAITING,   when=f"auto_commit and covers_now != 'nothing' and {_MAY_BEGIN}",      do=["begin_timed_commit"],    rules="M4 M5 M7")
    row(SETTLED,     "rebalance_commit_due",         WAITING,   when="auto_commit and standing == 'member' and (covers_now != 'nothing' or unprocessed_now)", do=["begin_rebalance_commit"], rules="M3 M4")
    row(SETTLED,     "close_commit_due",             WAITING,   when=f"auto_commit and {_MAY_BEGIN}",                                  do=["begin_close_commit"],    rules="L5 M7")
    # -- its turn
    row(WAITING,     "earlier_commits_done",         None,      when="behind",                                                         do=["come_to_turn"],          rules="M6")
    row(WAITING,     "application_polled",           None,      when="unprocessed",                                                    do=["count_as_processed"],    rules="M4")
    row(WAITING,     "turn_ended",                   SETTLED,   when=f"{_ITS_TURN} and covers == 'nothing'",                           do=["end_as_done"],           rules="M5 T3")
    row(WAITING,     "turn_ended",                   SETTLED,   when=f"{_ITS_TURN} and covers != 'nothing' and standing == 'in_round'", do=["end_as_rebalancing"],   rules="M7 M2")
    row(WAITING,     "turn_ended",                   SETTLED,   when=f"{_ITS_TURN} and covers != 'nothing' and standing == 'outside'", do=["end_as_failed"],         rules="M7 C2")
    row(WAITING,     "turn_ended",                   SENT,      when=f"{_SENDS} and standing == 'member'",                             do=["send_commit_as_member"], rules="M1 D4")
    row(WAITING,     "turn_ended",                   SENT,      when=f"{_SENDS} and standing == 'manual'",                             do=["send_commit_as_nobody"], rules="M1 X1 D8 D4")
    # -- the answer
    row(SENT,        "commit_accepted",              SETTLED,   when="current",                                                        do=["end_as_done"],           rules="M6 T3")
    row(SENT,        "commit_refused",               SETTLED,   when="current",                                                        do=["end_as_refused"],        rules="M3 T3")
    row(SENT,        _PASSING,                       WAITING,   when=f"current and {_PERSISTS}",                                       do=["wait_to_retry"],         rules="M3 D3")
    row(SENT,        _PASSING,                       SETTLED,   when=f"current and not {_PERSISTS}",                                   do=["end_as_retriable"],      rules="D3 M5")
    row(SENT,        "coordinator_lost",             WAITING,   when=_PERSISTS,                                                        do=["have_no_coordinator", "wait_to_retry"], rules="D1 D3 M3")
    row(SENT,        "coordinator_lost",             SETTLED,   when=f"not {_PERSISTS}",                                               do=["have_no_coordinator", "end_as_retriable"], rules="D1 M5")
    row(SENT,        "commit_rebalance_in_progress", SETTLED,   when="current",                                                        do=["end_as_rebalancing"],    rules="M2 M3")
    row(SENT,        _LOST_IDENTITY,                 SETTLED,   when=f"current and not ({_STALE_IN_ROUND})",                           do=["end_as_failed"],         rules="M2 J4")
    row(SENT,        _LOST_IDENTITY,                 SETTLED,   when=f"current and {_STALE_IN_ROUND}",                                 do=["end_as_rebalancing"],    rules="M2 J9")
    row(SENT,        "commit_fenced",                SETTLED,   when="current and identity_kept",                                      do=["end_as_fenced"],         rules="X2")
    row(SENT,        "commit_fenced",                SETTLED,   when="current and not identity_kept and standing != 'in_round'",       do=["end_as_failed"],         rules="J9")
    row(SENT,        "commit_fenced",                SETTLED,   when=f"current and {_STALE_IN_ROUND}",                                 do=["end_as_rebalancing"],    rules="J9")
    row(WAITING,     "commit_backoff_elapsed",       None,      when="commit_backs_off",                                               do=["end_commit_backoff"],    rules="D3 M3")
    # -- nobody to send it to
    row((SETTLED, WAITING), "coordinator_lost",      None,                                                                             do=["have_no_coordinator"],   rules="D1 D4")
    row((SETTLED, WAITING), "coordinator_found",     None,                                                                             do=["have_coordinator"],      rules="D4")
    row(WAITING,     "lookup_retriable",             SETTLED,   when="current and commit_purpose == 'async'",                          do=["end_as_retriable"],      rules="D3")
    row(WAITING,     "lookup_fatal",                 SETTLED,   when="current and commit_purpose != 'rebalance'",                      do=["end_as_refused"],        rules="D2 T3")
    # -- what changes around it, and the end
    row(SETTLED,     "commit_standing_changed",      None,                                                                             do=["note_standing"],         rules="M1 M7")
    row(_UNDER_WAY,  "commit_standing_changed",      None,      when=f"standing_now != 'outside' or {_OF_APPLICATION}",                do=["note_standing"],         rules="M1 J9")
    row(_UNDER_WAY,  "commit_standing_changed",      SETTLED,   when=f"standing_now == 'outside' and not {_OF_APPLICATION}",           do=["note_standing", "end_as_failed"], rules="C2 M7")
    row(_UNDER_WAY,  "rebalance_given_up",           SETTLED,   when="commit_purpose == 'rebalance'",                                  do=["end_as_failed"],         rules="M3 L2")
    row(_UNDER_WAY,  "commit_deadline_expired",      SETTLED,   when=_PERSISTS,                                                        do=["end_as_timed_out"],      rules="M3 D3 L2")
    row(_UNDER_WAY,  "stopped",                      SETTLED,                                                                          do=["end_as_closed"],         rules="L2 T3")

    # -- what changes nothing
    ignored(SETTLED,     _AUTOMATIC,                 because="timer_off", when="not auto_commit")
    ignored(SETTLED,     "auto_commit_due",          because="nothing_waits", when=f"auto_commit and (covers_now == 'nothing' or not {_MAY_BEGIN})", rules="M5 M7")
    ignored(SETTLED,     "rebalance_commit_due",     because="nothing_waits", when="auto_commit and (standing != 'member' or (covers_now == 'nothing' and not unprocessed_now))", rules="M3")
    ignored(SETTLED,     "close_commit_due",         because="nothing_waits", when=f"auto_commit and not {_MAY_BEGIN}", rules="M7")
    ignored(_UNDER_WAY,  _CALLED,                    because="another_commit")
    ignored(_UNDER_WAY,  _AUTOMATIC,                 because="another_commit", when=_OF_APPLICATION)
    ignored(_UNDER_WAY,  "auto_commit_due",          because="already",        when=f"not {_OF_APPLICATION}", rules="M5")
    ignored(_UNDER_WAY,  ("rebalance_commit_due", "close_commit_due"), because="another_commit", when=f"not {_OF_APPLICATION}")
    ignored(WAITING,     "turn_ended",               because="waiting", when=f"not ({_ITS_TURN}) or (covers != 'nothing' and {_ALLOWED} and (not coordinator_here or commit_backs_off))")
    ignored((SETTLED, SENT), "turn_ended",           because="nothing_waits")
    ignored(SENT,        "coordinator_found",        because="already")
    ignored(WAITING,     "earlier_commits_done",     because="nothing_waits", when="not behind")
    ignored((SETTLED, SENT), "earlier_commits_done", because="nothing_waits")
    ignored(WAITING,     "application_polled",       because="nothing_waits", when="not unprocessed")
    ignored((SETTLED, SENT), "application_polled",   because="nothing_waits")
    ignored(WAITING,     "commit_backoff_elapsed",   because="timer_off", when="not commit_backs_off")
    ignored((SETTLED, SENT), "commit_backoff_elapsed", because="timer_off")
    ignored(_UNDER_WAY,  "commit_deadline_expired",  because="timer_off", when=f"not {_PERSISTS}")
    ignored(SETTLED,     "commit_deadline_expired",  because="timer_off")
    ignored(_EVERY,      ("lookup_retriable", "lookup_fatal"), because="late", when="not current")
    ignored(WAITING,     "lookup_retriable",         because="waiting", when="current and commit_purpose != 'async'", rules="D3")
    ignored(WAITING,     "lookup_fatal",             because="waiting", when="current and commit_purpose == 'rebalance'", rules="M3")
    ignored((SETTLED, SENT), ("lookup_retriable", "lookup_fatal"), because="nothing_waits", when="current")
    ignored(_UNDER_WAY,  "rebalance_given_up",       because="another_commit", when="commit_purpose != 'rebalance'")
    ignored(SETTLED,     ("rebalance_given_up", "stopped"), because="nothing_waits")
    ignored(_EVERY,      _ANSWERS,                   because="late", when="not current", rules="J9")
    # what a correct peer never does: answer a commit that is not out
    error((SETTLED, WAITING), _ANSWERS,              rule="J9", when="current")
    # fmt: on
