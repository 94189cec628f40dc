"""Chapter C: the listener's callbacks, and where they stand among the requests."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, held_if, none_of
from groupspec.conformance.checks.commits import without_identity
from groupspec.conformance.checks.heartbeats import SAID_LOST, memberships_lost
from groupspec.conformance.history.harness_protocol import ShutdownComplete
from groupspec.conformance.history.history import History, once


@checks("C1", needs="listener")
def callbacks_alternate(history: History) -> Iterator[Finding]:
    """For each partition: assigned, then one of revoked and lost, then assigned."""
    owned: frozenset[str] = frozenset()
    for callback in history.callbacks:
        if callback.name == "partitions_assigned":
            twice, owned = owned & callback.partitions, owned | callback.partitions
            what = "assigned while it was owned already"
        else:
            twice, owned = callback.partitions - owned, owned - callback.partitions
            what = f"{callback.name.removeprefix('partitions_')} although it was not owned"
        if twice:
            yield broken(f"{', '.join(sorted(twice))}: {what}", callback.started_us)
    if history.callbacks:
        yield held(f"assigned and revoked or lost alternate in {len(history.callbacks)} callbacks", history.ends_us)


@once
def lost_stretches(history: History) -> Iterator[tuple[Known, int, str]]:
    """`memberships_lost` before close(): leaving then is no loss."""
    return (lost for lost in memberships_lost(history) if lost[0].told_us < history.until_close_us)


@checks("C2", needs="lost_callback")
def a_lost_membership_is_said(history: History) -> Iterator[Finding]:
    """The callback is lost, not revoked."""
    for known, back_us, how in (each for each in lost_stretches(history) if each[2] != SAID_LOST):
        from_us = known.told_us + history.exact.step_us  # one that had begun by then stays what it is (rule P3)
        said = (c for c in history.callbacks if from_us <= c.started_us <= back_us and c.partitions)
        after = [callback for callback in said if not history.goes_on_with(callback, from_us)]
        if history.owned_at(known.told_us) and after:
            name, at_us = after[0].name, after[0].started_us
            otherwise = f"{name} after {how}, although the membership was gone"
            yield held_if(name == "partitions_lost", f"partitions_lost after {how}", otherwise, at_us)


@checks("C2")
def nothing_is_committed_for_lost_partitions(history: History) -> Iterator[Finding]:
    """Others may own them: no OffsetCommit until the member has joined again."""
    for known, back_us, how in lost_stretches(history):
        later = history.between(known.told_us, back_us, "OffsetCommit")
        commits = [e for e in later if known.before(e, history) or without_identity(e)]
        yield none_of(commits, f"OffsetCommit after {how}", f"no OffsetCommit after {how}", back_us)


@checks("C3", needs="listener")
def revoked_before_joining(history: History) -> Iterator[Finding]:
    """Eager, or lost: the callback has returned before JoinGroup is sent."""
    ends = ("partitions_revoked", "partitions_lost") if history.settings.rebalance == "eager" else ("partitions_lost",)
    for callback in (each for each in history.callbacks if each.name in ends and each.partitions):
        join = history.first("JoinGroup", callback.started_us)
        if join is not None:
            after = callback.ended_us is not None and join.sent_us >= callback.ended_us - history.slack_us
            sent = "JoinGroup was sent"
            what = f"{callback.name} had returned"
            yield held_if(after, f"{sent} after {what}", f"{sent} before {what}", join.sent_us)


@checks("C3", needs="listener", rebalance="eager")
def an_eager_round_begins_with_revoked(history: History) -> Iterator[Finding]:
    """Between the announcement and an eager member's JoinGroup everything is revoked."""
    for beat in history.answers("Heartbeat", "REBALANCE_IN_PROGRESS"):
        join = history.first("JoinGroup", beat.told_us)
        if join is None or not history.owned_at(beat.told_us):
            continue
        left = history.owned_at(join.sent_us) & history.owned_at(join.sent_us + history.slack_us)
        if left:
            yield broken(f"JoinGroup was sent while {', '.join(sorted(left))} had not been revoked", join.sent_us)


@checks("C3", needs="listener")
def revoked_while_owned(history: History) -> Iterator[Finding]:
    """In the callback the client's assignment() still has what is taken away."""
    for callback in history.callbacks:
        if callback.name == "partitions_revoked" and callback.owned is not None and callback.partitions:
            gone = ", ".join(sorted(callback.partitions - callback.owned))
            where = "in partitions_revoked assignment()"
            kept, missing = f"{where} still has what is taken away", f"{where} no longer has {gone}"
            yield held_if(not gone, kept, missing, callback.started_us)


@checks("C3", needs="listener")
def assigned_before_its_records(history: History) -> Iterator[Finding]:
    """Records of a new partition are returned only after its callback."""
    for callback in (c for c in history.callbacks if c.name == "partitions_assigned" and c.partitions):
        start, end = callback.started_us, callback.ended_us or history.ends_us
        inside = [r.partition for r in history.returned if start < r.at_us < end and r.partition in callback.partitions]
        early = f"poll returned records of {inside[0]} before partitions_assigned had returned" if inside else ""
        yield held_if(not inside, "records came after partitions_assigned had returned", early, start)


@checks("C5", needs="listener_in_poll")
def callbacks_run_on_the_application_thread(history: History) -> Iterator[Finding]:
    """Inside poll(), unsubscribe() or close(), on the thread that calls it."""
    for callback in (each for each in history.callbacks if each.application_thread is not None):
        inside = f"{callback.name} ran inside a call of the application's, on its thread"
        outside = f"{callback.name} ran on a thread of the client's, not inside a call of the application's"
        yield held_if(callback.application_thread is True, inside, outside, callback.started_us)


@checks("C7", needs="listener")
def closing_runs_the_callback_first(history: History) -> Iterator[Finding]:
    """close(): everything owned is revoked before LeaveGroup; of what was assigned by hand no callback tells."""
    asked_us = history.close_us
    if asked_us is None or not history.owned_at(asked_us) or history.assigned_by_hand:
        return
    if history.how_closed.another_thread:
        return  # the thread that runs callbacks (rule C5) may never come back
    leave = history.first("LeaveGroup", asked_us)
    done = history.events(ShutdownComplete)
    if leave is None and not done:
        return
    limit, before = (leave.sent_us, "LeaveGroup") if leave is not None else (done[0][0], "close() returned")
    left = ", ".join(sorted(history.owned_at(limit + history.slack_us)))
    kept = f"the callback for everything owned had returned before {before}"
    yield held_if(not left, kept, f"{left}: no callback had returned before {before}", limit)
