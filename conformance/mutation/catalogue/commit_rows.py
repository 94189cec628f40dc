"""Breakers of the commit machine: what becomes of a commit if a row said something else."""

from __future__ import annotations

from typing import Final

from groupspec.conformance.mutation.rows import Change, Which, cell, doing, errors, guard, ignored, rows_changed, to

WAITING: Final = "WAITING"
SENT: Final = "SENT"

# fmt: off
_BREAKERS: Final[tuple[tuple[str, str, Which, Change, str], ...]] = (
    # id                       rules    rows                                                        change
    # what a commit does then
    ("C2-row-lost-committed", "C2", cell(SENT, "commit_standing_changed", guard="standing_now == 'outside'"), ignored,
     "An automatic commit goes on although the membership is lost."),
    ("D3-row-second-lookup", "D3", cell(WAITING, "lookup_retriable"), ignored,
     "An asynchronous commit waits for lookup after lookup."),
    ("J9-row-late-rejection", "J9", cell(SENT, "commit_fenced", guard="not identity_kept"),
     doing("end_as_failed", "end_as_fenced"), "A commit of an identity that is gone ends as fenced."),
    ("J9-row-any-answer", "J9", errors("commit_accepted"), ignored,
     "An answer to a commit that is not out is taken in silence."),
    ("L2-row-left-open", "L2", cell(SENT, "stopped"), ignored,
     "A commit that is under way when the consumer ends is never answered."),
    ("M1-row-as-nobody", "M1 X1", cell(WAITING, "turn_ended", guard="standing == 'member'"),
     doing("send_commit_as_member", "send_commit_as_nobody"), "A member's commit carries no identity."),
    ("M3-row-no-deadline", "M3", cell(WAITING, "commit_deadline_expired"), ignored,
     "A commit that waits has no time limit."),
    ("M3-row-once", "M3", cell(SENT, "commit_retriable"), to("SETTLED"), "A commit before a rebalance is tried once."),
    ("M4-row-unprocessed", "M4", cell(WAITING, "turn_ended"), guard("not unprocessed and ", ""),
     "The commit before a rebalance does not wait for the poll that says what is processed."),
    ("M5-row-commit-nothing", "M5", cell(WAITING, "turn_ended", guard="covers == 'nothing'"),
     doing("end_as_done", "end_as_failed"), "A commit of nothing fails."),
    ("M6-row-overtakes", "M6", cell(WAITING, "turn_ended"), guard("not behind and ", ""),
     "A commit does not wait for those before it."),
    ("M7-row-in-a-round", "M7", cell(WAITING, "turn_ended", guard="'in_round'"),
     doing("end_as_rebalancing", "end_as_done"), "A commit during a round is said to have succeeded."),
    ("T3-row-no-end", "T3", cell(SENT, "commit_refused"), ignored, "A refused commit is never ended."),
)
# fmt: on

for _identifier, _rules, _which, _change, _what in _BREAKERS:
    rows_changed(_identifier, _rules, "commit", _which, _change, _what)
