"""Breakers of the member's machines: what a member would do if a row said something else.

The stories of the paths notice.
"""

from __future__ import annotations

from typing import Final

from groupspec.conformance.mutation.rows import Change, Which, cell, doing, guard, ignored, rows_changed, to, without

STABLE: Final = "STABLE"
ANNOUNCED: Final = "heartbeat_rebalance_in_progress"

# fmt: off
_BREAKERS: Final[tuple[tuple[str, str, Which, Change, str], ...]] = (
    # id                       rules    rows                                                        change
    # what a member does then
    ("Q4-row-commit-left-out", "Q4", cell(STABLE, ANNOUNCED, guard="eager and owned and auto_commit"),
     doing("commit", "skip_commit"), "A deployed eager member revokes without the commit before it."),
    ("M8-row-committed-once", "M8", cell("COMPLETING_REBALANCE", "sync_accepted", guard="takes and auto_commit"),
     doing("commit", "skip_commit"), "A cooperative member revokes after SyncGroup without a commit."),
    ("Q4-row-published", "Q4", cell("REVOKING_PARTITION", "partitions_revoked", guard="published"),
     doing("commit", "go_on"), "A published member does not commit after its revocation callback."),
    ("Q4-row-join-instead", "Q4", cell("PARTITION_REVOKED", "revocation_done", guard="published"),
     to("PREPARING_REBALANCE"), "A published cooperative member joins after its revocation."),
    ("Q4-row-always-revokes", "Q4", cell("COMPLETING_REBALANCE", "sync_accepted", guard="not (cooperative"),
     to("PREPARE_REVOCATION"), "A deployed cooperative member revokes although it keeps everything."),
    ("Q4-row-keeps-unwanted", "Q4", cell(STABLE, "subscription_changed", guard="not preparing"),
     without("note_unwanted"), "A cooperative member joins with what it does not subscribe to any more."),
    ("J1-row-unfit-is-taken", "J1", cell("COMPLETING_REBALANCE", "sync_accepted", guard="not fits"),
     to("ASSIGNING_PARTITIONS"), "A member waits for the listener of an assignment that it has dropped."),
    ("K2-row-no-follow-up", "K2", cell("PARTITION_REVOKED", "revocation_done", guard="deployed"),
     without("want_follow_up"), "A cooperative member that gave something up wants no other round."),
    ("C2-row-not-told", "C2", cell(STABLE, "heartbeat_unknown_member", guard="owned"), to("UNJOINED"),
     "A member that is unknown drops what it owns without the lost callback."),
    ("J7-row-no-poll", "J7", cell("UNJOINED", "application_polled"), ignored,
     "A poll does not make the subscribed member join."),
    ("L1-row-kept-id", "L1", cell("UNJOINED", "leave_requested"), without("forget_identity"),
     "A member that has only kept its id from a lost generation leaves with it."),
    ("H4-row-deaf", "H4", cell("COMPLETING_REBALANCE", "sync_rebalance_in_progress"), ignored,
     "REBALANCE_IN_PROGRESS in answer to SyncGroup is ignored."),
    ("J9-row-late-counts", "J9", cell(STABLE, ANNOUNCED), guard("current and ", ""),
     "A late announcement of a rebalance counts."),
)
# fmt: on

for _identifier, _rules, _which, _change, _what in _BREAKERS:
    rows_changed(_identifier, _rules, "rebalance", _which, _change, _what)

_BEATS_BEFORE: Final = (
    "Heartbeats run as soon as the background thread does, before there is a generation to send them for."
)
rows_changed("H3-row-beats-before", "H3", "timeouts", cell("STOPPED", "started"), to("IDLE"), _BEATS_BEFORE)
