"""Chapter C: the listener's callbacks, and where they stand among the requests."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.history import Callback, History, Known
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held
from groupspec.conformance.wire.rules.commits import without_identity
from groupspec.conformance.wire.rules.heartbeats import memberships_lost


@checks("C1", needs="listener")
def callbacks_alternate(history: History) -> Iterator[Finding]:
    """For each partition: assigned, then one of revoked and lost, then assigned."""
    owned: set[str] = set()
    for callback in history.callbacks:
        if callback.name == "partitions_assigned":
            twice, owned = owned & callback.partitions, owned | callback.partitions
            what = "assigned while it was owned already"
        else:
            twice, owned = set(callback.partitions - owned), owned - callback.partitions
            what = f"{callback.name.removeprefix('partitions_')} although it was not owned"
        if twice:
            yield broken(f"{', '.join(sorted(twice))}: {what}", callback.started_us)
    if history.callbacks:
        yield held(f"assigned and revoked or lost alternate in {len(history.callbacks)} callbacks", history.ends_us)


def lost_stretches(history: History) -> Iterator[tuple[Known, int, str]]:
    """From the loss of the membership to the next success of JoinGroup; leaving at close is no loss."""
    asked = history.events(protocol.ShutdownRequested)
    end = asked[0][0] if asked else history.ends_us
    joined = [e.answered_us or 0 for e in history.answers("JoinGroup", "NONE")]
    for known, how in memberships_lost(history):
        if known.told_us < end:
            yield known, next((at_us for at_us in joined if at_us > known.told_us), history.ends_us), how


@checks("C2", needs="lost_callback")
def a_lost_membership_is_said(history: History) -> Iterator[Finding]:
    """The callback is lost, not revoked."""
    for known, back_us, how in lost_stretches(history):
        lost_us = known.told_us
        if not history.owned_at(lost_us):
            continue
        after = [c for c in history.callbacks if lost_us <= c.started_us <= back_us and c.partitions]
        if after and after[0].name == "partitions_lost":
            yield held(f"partitions_lost after {how}", after[0].started_us)
        elif after:
            yield broken(f"{after[0].name} after {how}, although the membership was gone", after[0].started_us)


@checks("C2")
def nothing_is_committed_for_lost_partitions(history: History) -> Iterator[Finding]:
    """Others may own them: no OffsetCommit until the member has joined again."""
    for known, back_us, how in lost_stretches(history):
        later = [e for e in history.of("OffsetCommit") if known.told_us < e.sent_us < back_us]
        commits = [e for e in later if known.before(e, history) or without_identity(e)]
        if commits:
            yield broken(f"OffsetCommit after {how}", commits[0].sent_us)
        else:
            yield held(f"no OffsetCommit after {how}", back_us)


@checks("C3", needs="listener")
def revoked_before_joining(history: History) -> Iterator[Finding]:
    """Eager, or lost: the callback has returned before JoinGroup is sent."""
    for callback in history.callbacks:
        if callback.name == "partitions_assigned" or not callback.partitions:
            continue
        if callback.name == "partitions_revoked" and history.settings.rebalance != "eager":
            continue
        join = history.first("JoinGroup", callback.started_us)
        if join is None:
            continue
        name = callback.name
        if callback.ended_us is None or join.sent_us < callback.ended_us - history.slack_us:
            yield broken(f"JoinGroup was sent before {name} had returned", join.sent_us)
        else:
            yield held(f"JoinGroup was sent after {name} had returned", join.sent_us)


@checks("C3", needs="listener")
def an_eager_round_begins_with_revoked(history: History) -> Iterator[Finding]:
    """Between the announcement and an eager member's JoinGroup everything is revoked."""
    if history.settings.rebalance != "eager":
        return
    for beat in history.answers("Heartbeat", "REBALANCE_IN_PROGRESS"):
        answered = beat.answered_us or 0
        join = history.first("JoinGroup", answered)
        if join is None or not history.owned_at(answered):
            continue
        left = history.owned_at(join.sent_us + history.slack_us)
        if left:
            yield broken(f"JoinGroup was sent while {', '.join(sorted(left))} had not been revoked", join.sent_us)


@checks("C3", needs="listener")
def revoked_while_owned(history: History) -> Iterator[Finding]:
    """In the callback the client's assignment() still has what is taken away."""
    for callback in history.callbacks:
        if callback.name != "partitions_revoked" or callback.owned is None or not callback.partitions:
            continue
        gone = callback.partitions - callback.owned
        if gone:
            what = ", ".join(sorted(gone))
            yield broken(f"in partitions_revoked assignment() no longer has {what}", callback.started_us)
        else:
            yield held("in partitions_revoked assignment() still has what is taken away", callback.started_us)


@checks("C3", needs="listener")
def assigned_before_its_records(history: History) -> Iterator[Finding]:
    """Records of a new partition are returned only after its callback."""
    for callback in (c for c in history.callbacks if c.name == "partitions_assigned" and c.partitions):
        early = [r for r in records_before(history, callback) if r]
        if early:
            yield broken(
                f"poll returned records of {early[0]} before partitions_assigned had returned", callback.started_us
            )
        else:
            yield held("records came after partitions_assigned had returned", callback.started_us)


def records_before(history: History, callback: Callback) -> Iterator[str]:
    """Partitions of which records were returned while the callback ran."""
    for returned in history.returned:
        inside = callback.started_us < returned.at_us < (callback.ended_us or history.ends_us)
        if returned.partition in callback.partitions and inside:
            yield returned.partition


@checks("C5", needs="listener_in_poll")
def callbacks_run_on_the_application_thread(history: History) -> Iterator[Finding]:
    """Inside poll(), unsubscribe() or close(), on the thread that calls it."""
    for callback in history.callbacks:
        if callback.application_thread is False:
            yield broken(
                f"{callback.name} ran on a thread of the client's, not inside a call of the application's",
                callback.started_us,
            )
        elif callback.application_thread:
            yield held(f"{callback.name} ran inside a call of the application's, on its thread", callback.started_us)


@checks("C7", needs="listener")
def closing_runs_the_callback_first(history: History) -> Iterator[Finding]:
    """close(): everything owned is revoked before LeaveGroup."""
    for asked_us, _ in history.events(protocol.ShutdownRequested):
        owned = history.owned_at(asked_us)
        leave = history.first("LeaveGroup", asked_us)
        done = history.events(protocol.ShutdownComplete)
        if not owned or (leave is None and not done):
            continue
        limit = leave.sent_us if leave is not None else done[0][0]
        left = history.owned_at(limit + history.slack_us)
        before = "LeaveGroup" if leave is not None else "close() returned"
        if left:
            yield broken(f"{', '.join(sorted(left))}: no callback before {before}", limit)
        else:
            yield held(f"the callback for everything owned had returned before {before}", limit)
