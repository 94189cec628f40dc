"""Chapter P: the poll interval (KIP-62), how long a poll may take, and how much it may return."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from groupspec.conformance.checks.checker import (
    Finding,
    broken,
    checks,
    held,
    held_if,
    in_vain,
    missing,
    none_of,
    within,
)
from groupspec.conformance.checks.joining import chose_anew, is_no_member_now
from groupspec.conformance.history.calls import PollCall
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.harness_protocol import Configure, ErrorRaised, RecordsConsumed, Unsubscribe
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import JoinGroupRequest

LATE_POLL_MS: Final = 300
FIRST_USE_MS: Final = 2_000
"""What the first poll of a process may take longer: it loads classes and code, and makes connections."""
NOTICED_WITHIN_MS: Final = 300
LEAVES_WITHIN_MS: Final = 400
"""After the interval, of the client's own time: what a stalled machine takes of it proves nothing."""


@once
def leaves_for_not_polling(history: History) -> list[Exchange]:
    """LeaveGroups that the application did not ask for, by close() or by unsubscribe()."""
    asked = [at_us for at_us, _ in history.commands(Unsubscribe)]
    calls = history.carried_out(Unsubscribe)  # may take long: a callback runs in it
    joined = [join.sent_us for join in history.of("JoinGroup")]
    return [
        leave
        for leave in history.of("LeaveGroup")
        if history.before_close(leave.sent_us)
        and bisect_right(asked, leave.sent_us) == bisect_right(asked, _last(joined, leave.sent_us))
        and not any(0 <= leave.sent_us - at_us <= history.exact.in_flight_us for at_us in asked)
        and not any(begun_us <= leave.sent_us <= done_us for begun_us, done_us, _ in calls)
    ]


def _last(times_us: Sequence[int], before_us: int) -> int:
    """The last of these before that time; 0 if there is none."""
    place = bisect_right(times_us, before_us)
    return times_us[place - 1] if place else 0


@checks("P1", needs="poll_interval")
def one_leave_and_silence(history: History) -> Iterator[Finding]:
    """After expiry: one LeaveGroup, and no heartbeat."""
    leaves = leaves_for_not_polling(history)
    if not leaves:
        return
    back = history.first("JoinGroup", leaves[0].sent_us)
    end = back.sent_us if back is not None else history.ends_us
    if len(leaves) > 1 and leaves[1].sent_us < end:
        yield broken("a second LeaveGroup for the same expiry", leaves[1].sent_us)
    else:
        beats = history.between(leaves[0].sent_us, end, "Heartbeat")
        wrong = "Heartbeat after the LeaveGroup that says that the application no longer polls"
        yield none_of(beats, wrong, "one LeaveGroup, then silence until the next JoinGroup", end)


@checks("P1", needs="poll_interval")
def not_polling_is_noticed(history: History) -> Iterator[Finding]:
    """An application that has stopped polling for longer than the interval is taken out of the group.

    The interval counts from the answer to JoinGroup on, whatever is unanswered then (AbstractCoordinator: heartbeats,
    and with them the poll timer, are enabled there). Not who had left before: rule P2 judges who leaves too soon.
    """
    stopped, seen_us = history.milestone("stopped polling"), history.milestone("waited for expiry")
    sent = [leave.sent_us for leave in leaves_for_not_polling(history)]
    if stopped is None or seen_us is None or any(at_us < stopped for at_us in sent):
        return
    left_us = next((at_us for at_us in sent if stopped <= at_us <= seen_us + history.slack_us), None)
    if left_us is not None:
        yield held(f"LeaveGroup {(left_us - stopped) / 1000:.0f} ms after the last poll", left_us)
        return
    waited, limit = (seen_us - stopped) / 1000, history.settings.max_poll_interval_ms
    if history.took_ms(stopped, seen_us) >= limit + LEAVES_WITHIN_MS:
        reason = f"no LeaveGroup {waited:.0f} ms after the last poll (max.poll.interval.ms={limit})"
        yield in_vain(reason, stopped, seen_us)


@checks("P2", needs="poll_interval pull")
def polling_keeps_the_membership(history: History) -> Iterator[Finding]:
    """A member that polls, or is blocked in poll, stays in the group.

    A poll that overruns its timeout is blocked no more: a client may count the interval, which is one between calls
    (ConsumerConfig, max.poll.interval.ms), from there. So it may from the beginning of callbacks (see
    `History.counts_from_us`).
    """
    limit = history.settings.max_poll_interval_ms
    slack = 2 * history.settings.heartbeat_interval_ms
    for left_us in (leave.sent_us for leave in leaves_for_not_polling(history)):
        ends = [(poll, poll.ended_us or history.ends_us) for poll in history.polls]
        if history.took_ms(history.listens_since_us(left_us), left_us) >= limit - slack:
            continue
        inside = [poll.started_us for poll, end in ends if poll.started_us <= left_us <= end]
        counted = ((poll, history.counts_from_us(poll)) for poll, end in ends if end <= left_us)
        ended = [min(since_us, poll.over_us) for poll, since_us in counted if since_us is not None]
        since = (left_us - ended[-1]) / 1000 if ended else limit
        if inside and history.took_ms(inside[0], left_us) >= slack:
            yield broken("LeaveGroup although the application is blocked in poll()", left_us)
        elif since < limit - slack - history.exact.step_us / 1_000:
            reason = f"LeaveGroup {since:.0f} ms after a poll (max.poll.interval.ms={limit}; slack {slack:.0f} ms)"
            yield replace(broken(reason, left_us), timed=True)  # it may have been decided before the poll
    if history.polls and history.syncs:
        start = max(history.polls[0].started_us, history.syncs[0].told_us)
        end = next((e.sent_us for e in history.of("LeaveGroup")), history.polls[-1].ended_us or history.ends_us)
        if end - start > 1200 * limit:
            yield held(f"the member stayed in the group over {(end - start) / 1e6:.1f} s of polling", end)


@checks("P3", needs="poll_interval listener")
def expiry_is_a_loss(history: History) -> Iterator[Finding]:
    """By the end of the next poll lost is said for everything, and the member joins as a new one.

    A client that has no callback for lost partitions says revoked (so does Java's onPartitionsLost unless it is
    overridden); one whose callbacks run inside poll() says it in that poll, another one maybe before. A poll that
    raises has told of the expiry (librdkafka: ERR__MAX_POLL_EXCEEDED), and the next one says lost. A LeaveGroup that
    waited for its connection may be written by the poll itself, which then says lost: Java's heartbeat thread, which
    has left, drives the network no more. A round that is under way goes on with its next callback (see `goes_on_with`).
    """
    offers_lost = "lost_callback" in history.settings.features
    lost = ("partitions_lost",) if offers_lost else ("partitions_lost", "partitions_revoked")
    in_poll = "listener_in_poll" in history.settings.features
    for left_us in (leave.sent_us for leave in leaves_for_not_polling(history)):
        giving_up = (c for c in history.callbacks if c.started_us <= left_us < (c.ended_us or history.ends_us))
        revoked = (c.partitions for c in giving_up if c.name == "partitions_revoked")
        owned = history.owned_at(left_us) - frozenset().union(*revoked)
        poll = next((p for p in history.polls if p.started_us > left_us and not raised(history, p)), None)
        says_so = (c for c in history.callbacks if c.name in lost and c.started_us <= left_us)
        if poll is None or not owned or any(left_us <= (c.ended_us or history.ends_us) for c in says_so):
            continue  # or a poll found that the interval was over, and leaves: its callback is called already
        inside = next((p for p in history.polls if p.started_us <= left_us <= (p.ended_us or history.ends_us)), poll)
        begins = min(p.started_us for p in (inside, *history.polls) if p is inside or p.started_us > left_us)
        from_us, until_us = begins if in_poll else left_us, poll.ended_us or history.ends_us
        later = (c for c in history.callbacks if c.started_us >= left_us and c.partitions)
        first = next((c for c in later if not history.goes_on_with(c, left_us)), None)
        rejoin = history.first("JoinGroup", left_us)
        if first is None or first.name not in lost:
            what = first.name if first is not None else "no callback"
            yield broken(f"after the poll interval had passed: {what}, instead of {lost[-1]}", poll.started_us)
        elif not from_us - history.slack_us <= first.started_us <= until_us + history.slack_us:
            when = "before the next poll" if first.started_us < poll.started_us else "after the next poll had returned"
            yield broken(f"after the poll interval had passed: {first.name} {when}, not in it", first.started_us)
        elif first.partitions != owned:
            what = f"{first.name} names {sorted(first.partitions)}, owned were {sorted(owned)}"
            yield broken(what, first.started_us)
        elif rejoin is None:
            yield from missing(history, "the member did not join again after the next poll", poll.started_us)
        else:
            when = "before" if first.started_us < poll.started_us else "in"
            right = f"{first.name} for everything that was owned, {when} the next poll; then JoinGroup as a new member"
            wrong = "the member joined again with the id that it had given up"
            yield held_if(not rejoin.asked(JoinGroupRequest).member_id, right, wrong, rejoin.sent_us)


def raised(history: History, poll: PollCall) -> bool:
    """Whether it raised something."""
    end_us = poll.ended_us or history.ends_us
    errors = history.events(ErrorRaised)
    return any(poll.started_us <= at_us <= end_us and error.call == "poll" for at_us, error in errors)


@checks("P4", needs="pull")
def polls_return_in_time(history: History) -> Iterator[Finding]:
    """A poll takes about its timeout, whatever rebalance is pending; the listener's own time is not the client's.

    Nor is what a process needs at its first poll to load its code: Java connects 400 ms after it on a busy machine.
    """
    rounds = [(e.sent_us, e.told_us or history.ends_us) for e in history.of("JoinGroup", "SyncGroup")]
    for number, poll in enumerate(history.polls):
        start, end = poll.started_us, poll.ended_us
        if end is None:
            continue
        pending = any(begun < end and start < over for begun, over in rounds)
        slack = LATE_POLL_MS + (FIRST_USE_MS if number == 0 else 0)
        bound = poll.timeout_ms + slack
        spans = ((callback.started_us, callback.ended_us or end) for callback in history.callbacks)
        listener = sum(max(0, min(over, end) - max(begun, start)) for begun, over in spans) / 1000
        took = history.took_ms(start, end) - listener
        if took > bound or pending:
            how = f"after {took:.0f} ms" if took > bound else "in time"
            why = " while a rebalance was pending" if pending else ""
            reason = f"poll({poll.timeout_ms} ms) returned {how}{why}"
            yield within(history, start, end, bound + listener, reason, slack)


@checks("P5", needs="pull max_poll_records")
def polls_return_no_more_than_their_limit(history: History) -> Iterator[Finding]:
    """All that one poll returns, of whichever partitions, is within max.poll.records."""
    asked = next((command.more.get("max.poll.records") for _, command in history.commands(Configure)), None)
    counts = [(at_us, sum(each.count for each in event.partitions)) for at_us, event in history.events(RecordsConsumed)]
    for poll in history.polls if asked is not None else ():
        count = sum(each for at_us, each in counts if poll.started_us <= at_us <= (poll.ended_us or history.ends_us))
        if count:
            what = f"poll returned {count} records (max.poll.records={asked})"
            yield held_if(count <= int(asked or 0), what, what, poll.ended_us or history.ends_us)


def is_void(history: History, sync: Exchange, until_us: int) -> bool:
    """Whether an assignment is not handed over: the application chose anew or left, or the membership ended."""
    ended = is_no_member_now(history, sync.told_us, until_us) or history.gave_up(sync.told_us, until_us)
    return ended or chose_anew(history, sync, until_us) or history.left(sync.sent_us, until_us)


def committed_us(history: History, arrived_us: int) -> int:
    """When the commit was answered that an assignment caused, as it takes something away; if none, when it arrived."""
    commits = history.between(arrived_us, history.ends_us, "OffsetCommit")
    caused = commits and history.took_ms(arrived_us, commits[0].sent_us) < NOTICED_WITHIN_MS
    return max(arrived_us, commits[0].told_us) if caused else arrived_us


@checks("P4", needs="pull listener_in_poll")
def a_long_poll_notices_an_assignment(history: History) -> Iterator[Finding]:
    """An assignment that arrives while a long poll waits is handed to the listener by that poll.

    Not one that was dropped (rule J1), nor that of a membership that had ended by then; after the commit that goes
    before a revocation (rule M8).
    """
    for sync in history.syncs:
        arrived = sync.told_us
        waiting = (p for p in history.polls if p.started_us < arrived and p.timeout_ms)
        ends = (p.ended_us for p in waiting if p.ended_us is not None and arrived < p.ended_us)
        ended = next(ends, arrived)
        if history.took_ms(arrived, ended) < NOTICED_WITHIN_MS or is_void(history, sync, ended):
            continue
        callback = next((c for c in history.callbacks if c.started_us >= arrived - history.slack_us), None)
        takes = callback is not None and callback.name == "partitions_revoked"
        since_us = committed_us(history, arrived) if takes else arrived
        if callback is None or history.took_ms(since_us, callback.started_us) > NOTICED_WITHIN_MS:
            reason = "a poll that was waiting did not notice the assignment that arrived"
            yield in_vain(reason, arrived, ended if callback is None else callback.started_us)
        else:
            yield held("a poll that was waiting noticed the assignment that arrived", callback.started_us)
