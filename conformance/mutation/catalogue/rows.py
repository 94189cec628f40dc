"""Mutants of the specification: of rows, of the answers there are, of how long a group waits. Tests of it notice.

What a machine says is read once, when its class is introspected; everything else is made from that. So the changed rows
get in there, and whoever asks for the tables afterwards, a test, a model or an explorer, gets the changed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from groupspec.conformance.mutation.mutant import Method, Mutant, Seam, mutant, register
from groupspec.spec import kip62, vocabulary
from groupspec.spec.compiler import Row, Table
from groupspec.spec.compiler import tables as tables_module

Which = Callable[[Row], bool]
Change = Callable[[Row], Row]


def rows_mutant(machine: str, identifier: str, rules: str, which: Which, change: Change, what: str) -> None:
    """Registers a mutant that changes some rows of a machine."""

    def change_machine(seam: Seam) -> None:
        change_rows(seam, machine, which, change)

    register(Mutant(identifier, tuple(rules.split()), what, change_machine, of_spec=True))


def change_rows(seam: Seam, machine: str, which: Which, change: Change) -> None:
    """From now on the machine's table has these rows changed.

    Raises:
        LookupError: the machine has no such row (any more), or the change changes nothing.
    """
    before, specialised = tables_module.whole_tables(), tables_module.tables()
    whole = before[machine]
    rows = tuple(change(row) if which(row) else row for row in whole.rows)
    if rows == whole.rows:
        raise LookupError(f"no row of {machine} is changed by this: the mutant needs other rows")
    changed = replace(whole, rows=rows)

    seam.callback(_read_anew)  # what is registered first is undone last

    @seam.replacing((tables_module, "introspect"))
    def introspect(_: Method, cls: type, words: object = None) -> Table:
        name: str = cls.__dict__["machine_name"]
        return changed if name == machine else before[name]

    @seam.replacing((tables_module, "specialise"))
    def specialise(original: Method, table: Table, rebalance: str, profile: str) -> Table:
        if table.name != machine:
            return specialised[table.name, rebalance, profile]
        made: Table = original(table, rebalance, profile)
        return made

    _read_anew()


def _read_anew() -> None:
    tables_module.whole_tables.cache_clear()
    tables_module.tables.cache_clear()


# Which rows ----------------------------------------------------------------------------------------------------------


def cell(source: str, *events: str, guard: str = "") -> Which:
    """The transitions of one state and some events; `guard` is a part of theirs."""
    return lambda row: row.source == source and row.event in events and row.kind != "error" and guard in row.guard


def errors(*events: str) -> Which:
    """What is impossible, in every state."""
    return lambda row: row.kind == "error" and row.event in events


# Which change --------------------------------------------------------------------------------------------------------


def without(effect: str) -> Change:
    """Something is not done."""
    return lambda row: replace(row, effects=tuple(name for name in row.effects if name != effect))


def doing(old: str, new: str) -> Change:
    """Something else is done; `new` is an effect that another row of the machine has."""
    return lambda row: replace(row, effects=tuple(new if name == old else name for name in row.effects))


def to(target: str) -> Change:
    """It goes to another state."""
    return lambda row: replace(row, target=target)


def guard(old: str, new: str) -> Change:
    """It happens at other times."""
    return lambda row: replace(row, guard=row.guard.replace(old, new))


def ignored(row: Row) -> Row:
    """Nothing happens."""
    return replace(row, kind="ignored", reason="", target=row.source, effects=())


# The mutants ----------------------------------------------------------------------------------------------------------

member_rows: Final = partial(rows_mutant, "rebalance")
commit_rows: Final = partial(rows_mutant, "commit")
group_rows: Final = partial(rows_mutant, "broker_group")

# fmt: off

# The member: rebalance and timeouts ----------------------------------------------------------------------------------

member_rows("Q4-row-commit-left-out", "Q4",
    cell("STABLE", "heartbeat_rebalance_in_progress", guard="eager and owned and auto_commit"),
    doing("commit", "skip_commit"),
    "A deployed eager member revokes without the commit before it.")
member_rows("M8-row-committed-once", "M8",
    cell("COMPLETING_REBALANCE", "sync_accepted", guard="revokes_any and auto_commit"), doing("commit", "skip_commit"),
    "A cooperative member revokes after SyncGroup without a commit.")
member_rows("M8-row-committed-before", "M8",
    cell("STABLE", "subscription_changed", guard="commit_step == 'out'"), without("outdate_commit"),
    "A topic that is given up while the commit before a rebalance is out goes when that is answered.")
member_rows("Q4-row-published", "Q4", cell("REVOKING_PARTITION", "partitions_revoked", guard="published"),
    doing("commit", "go_on"), "A published member does not commit after its revocation callback.")
member_rows("Q4-row-join-instead", "Q4", cell("PARTITION_REVOKED", "revocation_done", guard="published"),
    to("PREPARING_REBALANCE"), "A published cooperative member joins after its revocation.")
member_rows("Q4-row-always-revokes", "Q4", cell("COMPLETING_REBALANCE", "sync_accepted", guard="not (cooperative"),
    to("PREPARE_REVOCATION"), "A deployed cooperative member revokes although it keeps everything.")
member_rows("Q4-row-keeps-unwanted", "Q4", cell("STABLE", "subscription_changed", guard="not preparing"),
    without("note_unwanted"), "A cooperative member joins with what it does not subscribe to any more.")
member_rows("Q4-row-keeps-unwanted-later", "Q4",
    cell("REVOKING_PARTITION", "subscription_changed", guard="will_own"),
    without("note_unwanted_later"),
    "What goes since the application subscribed in a revocation callback is kept through the next join.")
member_rows("J1-row-unfit-is-taken", "J1", cell("COMPLETING_REBALANCE", "sync_accepted", guard="not fits_subscription"),
    to("ASSIGNING_PARTITIONS"), "A member waits for the listener of an assignment that it has dropped.")
member_rows("K2-row-no-follow-up", "K2", cell("PARTITION_REVOKED", "revocation_done", guard="deployed"),
    without("want_follow_up"), "A cooperative member that gave something up wants no other round.")
member_rows("C2-row-not-told", "C2", cell("STABLE", "heartbeat_unknown_member", guard="owned"),
    to("UNJOINED"), "A member that is unknown drops what it owns without the lost callback.")
member_rows("J7-row-no-poll", "J7", cell("UNJOINED", "application_polled"),
    ignored, "A poll does not make the subscribed member join.")
member_rows("L1-row-kept-id", "L1", cell("UNJOINED", "leave_requested"),
    without("forget_identity"), "A member that has only kept its id from a lost generation leaves with it.")
member_rows("H4-row-deaf", "H4", cell("COMPLETING_REBALANCE", "sync_rebalance_in_progress"),
    ignored, "REBALANCE_IN_PROGRESS in answer to SyncGroup is ignored.")
member_rows("J9-row-late-counts", "J9", cell("STABLE", "heartbeat_rebalance_in_progress"),
    guard("current and ", ""), "A late announcement of a rebalance counts.")
rows_mutant("timeouts", "H3-row-beats-before", "H3", cell("STOPPED", "started"),
    to("IDLE"), "Heartbeats run as soon as the background thread does, before there is a generation to send them for.")

# A commit ------------------------------------------------------------------------------------------------------------

commit_rows("C2-row-lost-committed", "C2", cell("SENT", "commit_standing_changed", guard="standing_now == 'outside'"),
    ignored, "An automatic commit goes on although the membership is lost.")
commit_rows("D3-row-second-lookup", "D3", cell("WAITING", "discovery_retriable"),
    ignored, "An asynchronous commit survives any number of failed lookups.")
commit_rows("J9-row-late-rejection", "J9", cell("SENT", "commit_fenced", guard="not identity_kept"),
    doing("end_as_failed", "end_as_fenced"), "A commit of an identity that is gone ends as fenced.")
commit_rows("J9-row-any-answer", "J9", errors("commit_accepted"),
    ignored, "An answer to a commit that was not sent is ignored.")
commit_rows("L2-row-left-open", "L2", cell("SENT", "stopped"),
    ignored, "A commit that is under way when the consumer ends is never answered.")
commit_rows("M1-row-as-nobody", "M1 X1", cell("WAITING", "turn_ended", guard="standing == 'member'"),
    doing("send_commit_as_member", "send_commit_without_identity"), "A member's commit carries no identity.")
commit_rows("M1-row-any-membership", "M1", cell("WAITING", "turn_ended", guard="not membership_kept"),
    doing("end_as_failed", "end_as_done"), "A commit of a membership that is over is said to have succeeded.")
commit_rows("M3-row-no-deadline", "M3", cell("WAITING", "commit_deadline_expired"),
    ignored, "A commit that waits has no time limit.")
commit_rows("M3-row-once", "M3", cell("SENT", "commit_retriable"),
    to("SETTLED"), "A commit before a rebalance is tried once.")
commit_rows("M3-row-missing-topic", "M3", cell("SENT", "commit_topic_missing", guard="commit_purpose == 'rebalance'"),
    doing("end_as_refused", "end_as_done"), "A commit before a rebalance is said to have succeeded without its topic.")
commit_rows("M4-row-unprocessed", "M4", cell("WAITING", "turn_ended"), guard("not unprocessed and ", ""),
    "The commit before a rebalance does not wait for the poll that says what is processed.")
commit_rows("M5-row-commit-nothing", "M5", cell("WAITING", "turn_ended", guard="covers == 'nothing'"),
    doing("end_as_done", "end_as_failed"), "A commit of nothing fails.")
commit_rows("M6-row-overtakes", "M6", cell("WAITING", "turn_ended"),
    guard("not behind and ", ""), "A commit does not wait for those before it.")
commit_rows("M7-row-in-a-round", "M7", cell("WAITING", "turn_ended", guard="'in_round'"),
    doing("end_as_rebalancing", "end_as_done"), "A commit during a round is said to have succeeded.")
commit_rows("T3-row-no-end", "T3", cell("SENT", "commit_refused"),
    ignored, "A refused commit is never ended.")

# The broker's group --------------------------------------------------------------------------------------------------

group_rows("G1-nobody-waits", "G1", cell("PreparingRebalance", "group_join_phase_checked"),
    guard("all_joined and ", ""),
    "The join phase ends with the first JoinGroup, before the other members have rejoined.")
group_rows("G1-waits-for-ever", "G1", cell("PreparingRebalance", "group_join_phase_checked"),
    ignored, "The join phase does not end when all have joined, only with the rebalance timeout.")
group_rows("G1-first-round-only", "G1", cell("Stable", "group_join", guard="'pending'"),
    doing("check_join_phase", "drop_pending"),
    "A new member's JoinGroup does not end the join phase, even if it was the last one missing.")
group_rows("G2-in-the-sync-phase", "G2", cell("CompletingRebalance", "group_assignment_stored"),
    doing("answer_syncs", "complete_join"), "The generation grows when the assignment is stored, too.")
group_rows("G2-not-at-the-end", "G2", cell("PreparingRebalance", "group_join_phase_checked"),
    without("complete_join"), "The join phase ends in the old generation.")
group_rows("G3-no-delay", "G3", cell("PreparingRebalance", "group_join_phase_checked"),
    guard("not initial_delay and ", ""), "A group that was empty does not wait for others.")
group_rows("G3-not-begun", "G3", cell("Empty", "group_join", guard="'pending'"),
    doing("start_initial_delay", "start_rebalance_timer"), "The first member of a group starts no initial delay.")
group_rows("G3-not-prolonged", "G3", cell("PreparingRebalance", "group_initial_delay_elapsed", guard="newcomer_seen"),
    without("prolong_initial_delay"), "A new member does not prolong the initial delay.")
group_rows("G4-pending-for-ever", "G4", cell("Stable", "group_session_expired", guard="'pending'"),
    ignored, "An id that was handed out and never came back is never dropped.")
group_rows("G1-still-pending", "G1", cell("Stable", "group_join", guard="'pending'"),
    without("drop_pending"), "An id that has joined still counts as pending, and the join phase waits for it.")
group_rows("G5-for-ever", "G5", cell("Stable", "group_session_expired", guard="requester == 'member'"),
    ignored, "A member of a stable group whose session has expired stays.")
group_rows("G5-parked", "G5", cell("PreparingRebalance", "group_session_expired", guard="requester == 'member'"),
    guard("not is_awaiting and ", ""), "A member whose JoinGroup awaits its answer expires.")
group_rows("G6-for-ever", "G1 G6", cell("PreparingRebalance", "group_rebalance_timeout"),
    ignored, "A member that sends heartbeats and never rejoins delays the group without end.")
group_rows("G6-removed-at-once", "G6", cell("PreparingRebalance", "group_heartbeat", guard="requester == 'member'"),
    doing("keep_alive", "remove_member"),
    "A member that sends heartbeats instead of rejoining is removed before the rebalance timeout.")
group_rows("G8-dead-last", "G8 G13", cell("Dead", "group_sync", "group_heartbeat"),
    doing("answer_not_coordinator", "answer_unknown_member_id"), "A Dead group looks at the member first.")
group_rows("G8-old-generation", "G8", cell("PreparingRebalance", "group_sync", guard="not generation_matches"),
    doing("answer_illegal_generation", "answer_rebalance_in_progress"),
    "In PreparingRebalance the state is checked before the generation.")
group_rows("G9-no-barrier", "G9", cell("CompletingRebalance", "group_sync"),
    doing("await_sync", "answer_stored_assignment"),
    "SyncGroup is answered before the leader has brought the assignment.")
group_rows("G9-nobody-is-answered", "G9", cell("CompletingRebalance", "group_assignment_stored"),
    without("answer_syncs"), "The awaiting SyncGroups stay unanswered when the assignment is stored.")
group_rows("G9-unsynced-stay", "G9", cell("Stable", "group_sync_timeout"),
    ignored, "A member that has not synced stays in a stable group.")
group_rows("G9-parked-forgotten", "G9", cell("CompletingRebalance", "group_join", "group_leave", "group_sync_timeout"),
    without("fail_awaiting_syncs"),
    "A rebalance that begins in the sync phase leaves the awaiting SyncGroups unanswered.")
group_rows("G11-always-rebalances", "G11", cell("Stable", "group_join", guard="not protocol_changes"),
    to("PreparingRebalance"), "A static member that returns to a stable group starts a rebalance.")
group_rows("G13-loaded-unfinished", "G13", cell("Loading", "group_loaded", guard="members_stored"),
    to("PreparingRebalance"), "A coordinator that loads a group continues a rebalance that has no members.")
group_rows("G13-skips-the-sync", "G13", cell("PreparingRebalance", "group_rebalance_timeout"),
    to("Stable"), "A group is stable when its join phase ends.")
group_rows("G9-log-ignored", "G9", cell("CompletingRebalance", "group_assignment_lost"),
    ignored, "A log that refuses the assignment leaves the group waiting.")
group_rows("G13-deleted-is-dead", "G13", cell("Empty", "group_deleted"),
    to("Dead"), "A group whose records are deleted is not there for its next member.")
group_rows("G13-moved-in-silence", "G13", cell("Stable", "group_unloaded"),
    without("fail_awaiting_not_coordinator"), "A coordinator that moves does not answer the awaiting requests.")
group_rows("G13-empty-accepts", "G13", cell("Empty", "group_commit", guard="not group_known and reports_missing_group"),
    doing("answer_group_id_not_found", "answer_none"), "A commit of a member of an unknown group is accepted.")
# fmt: on

# Outside the tables ---------------------------------------------------------------------------------------------------

Members = list[tuple[int, int, int]]
"""Of each member: JoinGroup's version, the session timeout, the rebalance timeout."""


@mutant("H4-word-fenced", "H4", of_spec=True)
def fenced_is_not_known(seam: Seam) -> None:
    """FENCED_INSTANCE_ID is an answer like any other that is not known."""
    known = {key: name for key, name in vocabulary.RESPONSES.items() if key[1] != "FENCED_INSTANCE_ID"}
    seam.put(vocabulary, "RESPONSES", MappingProxyType(known))


@mutant("G1-word-shortest", "G1", kip62.rebalance_timeout, of_spec=True)
def the_least_patient_member_decides(_: Method, members: Members) -> int:
    """The rebalance timeout of a group is the minimum over its members."""
    return min(rebalance if version >= 1 else session for version, session, rebalance in members)


@mutant("G1-word-version-0", "G1", kip62.rebalance_timeout, of_spec=True)
def version_0_counts_as_none(_: Method, members: Members) -> int:
    """JoinGroup v0, which carries no rebalance timeout, counts as none."""
    return max(rebalance for _version, _session, rebalance in members)
