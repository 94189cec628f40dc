"""Chapter L: close(), and what must not happen after it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.checks.checker import Finding, broken, checks, held, held_if, in_vain, within
from groupspec.conformance.checks.positions import moved
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.harness_protocol import Close, Seek, ShutdownComplete, joins_no_classic_group
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest

ENDS_MEMBERSHIP: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")
LEAVES_WITHIN_MS: Final = 500
"""Of the end of the last callback, however late that is."""
KEEPS_THE_ID: Final = "ILLEGAL_GENERATION"
"""Who joins after it, joins with the id that it had."""


def close_of_member(history: History) -> int | None:
    """When close() was called on a member of the group; None if it was not."""
    asked = history.close_us
    known = [identity.from_us for identity in history.identities if asked is not None and identity.from_us < asked]
    return asked if known and not history.between(known[-1], asked or 0, "LeaveGroup") else None


def leave_at_close(history: History) -> Exchange | None:
    """The LeaveGroup of a member that is closed."""
    asked = close_of_member(history)
    return None if asked is None else history.first("LeaveGroup", asked)


@checks("L1")
def close_leaves_once(history: History) -> Iterator[Finding]:
    """close() of a dynamic member sends LeaveGroup, once, with its id; a heartbeat in flight does not matter.

    It may be sent again when it was not answered, or with an error.
    """
    asked = close_of_member(history)
    if asked is None or history.settings.instance_id:
        return
    leaves = [leave for leave in history.of("LeaveGroup") if leave.sent_us >= asked]
    member_id = history.identities[-1].member_id
    if not leaves and generation_lost(history, history.ends_us):
        yield held("close() had nothing to leave: the generation was lost", asked)
    elif not leaves and is_without_coordinator(history):
        yield held("close() could not tell the coordinator, which was unknown", asked)
    elif not leaves:
        yield in_vain("close() sent no LeaveGroup", asked, history.ends_us)
    elif again := [later for earlier, later in pairwise(leaves) if earlier.error == "NONE"]:
        yield broken(f"close() sent {len(leaves)} LeaveGroups", again[0].sent_us)
    else:
        same = leaves[0].asked(LeaveGroupRequest).member_id == member_id
        yield held_if(same, "close() sent one LeaveGroup", "LeaveGroup carries another member id", leaves[0].sent_us)


@checks("L1")
def a_pending_id_is_given_back(history: History) -> Iterator[Finding]:
    """close() while JoinGroup is out with an id that was only handed out: it holds the group up until it leaves."""
    asked = history.close_us
    joins = [join for join in history.of("JoinGroup") if asked is not None and join.sent_us < asked]
    if asked is None or not joins or history.settings.instance_id:
        return
    if any(identity.from_us <= asked for identity in history.identities):
        return
    pending = joins[-1].asked(JoinGroupRequest).member_id
    if not pending or joins[-1].ended_before(asked):
        return
    leaves = [e for e in history.of("LeaveGroup") if e.asked(LeaveGroupRequest).member_id == pending]
    if leaves:
        yield held("close() gave the member id back that was only handed out", leaves[0].sent_us)
    else:
        yield in_vain("close() sent no LeaveGroup for the member id that was handed out", asked, history.ends_us)


def generation_lost(history: History, until_us: int) -> bool:
    """Whether an answer took the membership away, and no JoinGroup followed: UNJOINED (L1), maybe with a kept id.

    A JoinGroup without an id that is not answered has nothing to leave either.
    """
    told = [e for e in history.of("SyncGroup", "Heartbeat", "OffsetCommit") if e.error in ENDS_MEMBERSHIP]
    last = max((e for e in told if e.told_us < until_us), key=lambda each: each.told_us, default=None)
    join = None if last is None else history.first("JoinGroup", last.told_us)
    if last is None or join is None or join.sent_us > until_us:
        return last is not None
    return last.error != KEEPS_THE_ID and not any(last.told_us < i.from_us < until_us for i in history.identities)


def is_without_coordinator(history: History) -> bool:
    """Whether close() returned before the coordinator, which was unknown, was found again."""
    done = [at_us for at_us, _ in history.events(ShutdownComplete)]
    return history.looks_for_coordinator(done[0] if done else history.ends_us)


def out_of_time(history: History) -> bool:
    """Whether close() took all the time that the application gave it: who runs out of it leaves as it is (rule L2)."""
    limits = [command.timeout_ms for _, command in history.commands(Close) if command.timeout_ms is not None]
    done = [at_us for at_us, _ in history.events(ShutdownComplete)]
    return bool(limits and done) and done[0] - history.until_close_us >= 1000 * (limits[0] - 1)


@checks("L2", needs="pull")
def close_ends_in_time(history: History) -> Iterator[Finding]:
    """close() returns within its bound, which begins when the application asks for it and no poll has to be over first.

    A poll that overruns its timeout takes the client's time, not the application's. A callback's counts, as in Java
    (ConsumerCoordinator.close: one Timer for all), but nobody can return before the last one has ended.
    """
    if history.close_us is None:
        return
    asked = wants_to_close(history, history.close_us)
    bound = history.settings.close_within_ms
    done = [at_us for at_us, _ in history.events(ShutdownComplete)]
    if done:
        took = history.took_ms(asked, done[0])
        ended = (c.ended_us or done[0] for c in history.callbacks if asked <= c.started_us <= done[0])
        outlasts = max((history.took_ms(asked, end_us) + LEAVES_WITHIN_MS for end_us in ended), default=0.0)
        yield within(history, asked, done[0], max(bound, outlasts), f"close() returned after {took:.0f} ms")
    else:
        yield in_vain(f"close() did not return within {bound} ms", asked, history.ends_us)


def wants_to_close(history: History, called_us: int) -> int:
    """When the application asked for close(), or the poll that was in progress then should have been over."""
    asked_us = next((at_us for at_us, _ in history.commands(Close) if at_us <= called_us), called_us)
    over_us = (poll.over_us for poll in history.polls if poll.started_us <= asked_us <= (poll.ended_us or called_us))
    return min(called_us, max(asked_us, next(over_us, asked_us)))


@checks("L3")
def nothing_revives_the_member(history: History) -> Iterator[Finding]:
    """After LeaveGroup at close nothing joins, whatever late answer arrives."""
    leave = leave_at_close(history)
    if leave is None:
        return
    after = [e for e in history.of("JoinGroup", "SyncGroup", "Heartbeat") if e.sent_us > leave.sent_us]
    late = [e for e in history.of("JoinGroup", "SyncGroup", "Heartbeat") if e.sent_us < leave.sent_us < e.told_us]
    if after:
        yield broken(f"{after[0].api} after LeaveGroup", after[0].sent_us)
    elif late:
        yield held(f"the late answer {late[-1].error} to {late[-1].api} had no effect", late[-1].told_us)


@checks("L5", needs="auto_commit listener pull")
def close_commits_first(history: History) -> Iterator[Finding]:
    """close() with auto-commit: the last returned positions are committed before LeaveGroup.

    In a consumer group (KIP-848) it is a heartbeat that leaves, and who has assigned its partitions by hand has nothing
    to leave: there it is what was committed when close() returned. Who is in a round has no generation to commit with
    (Java: ConsumerCoordinator.sendOffsetCommitRequest, generationIfStable).
    """
    leave = leave_at_close(history)
    done = [at_us for at_us, _ in history.events(ShutdownComplete)]
    if leave is not None:
        end_us, before = leave.sent_us, "LeaveGroup"
    elif done and (history.assigned_by_hand or joins_no_classic_group(history.settings.features)):
        end_us, before = done[0], "close() returned"
    else:
        return
    asked = history.until_close_us
    round_of = [exchange for exchange in history.of("JoinGroup", "SyncGroup") if exchange.sent_us < asked][-1:]
    in_a_round = any(not exchange.ended_before(asked) for exchange in round_of)
    if not history.settings.auto_commit or out_of_time(history) or in_a_round:
        return
    worked_on_us = history.polls[-1].started_us if history.how_closed.block_raised and history.polls else asked
    for partition in sorted(history.owned_at(asked)):
        expected = position_at(history, partition, worked_on_us)
        if expected is not None and not moved(history, partition, worked_on_us, asked):
            offsets = [
                committed.offset
                for commit in history.between(0, end_us, "OffsetCommit")
                for where, committed in commit.asked(OffsetCommitRequest).offsets.items()
                if str(where) == partition
            ]
            last = offsets[-1] if offsets else "nothing"
            right = f"{partition}: {expected} was committed before {before}"
            wrong = f"{partition}: {last} was committed before {before}, not {expected}"
            latest = position_at(history, partition, asked) or expected  # a commit by a callback has that, too
            least, most = sorted((expected, latest))  # the application may have sought what is before
            is_there = offsets and least <= offsets[-1] <= history.next_record(partition, most)
            yield held_if(bool(is_there), right, wrong, end_us)


def position_at(history: History, partition: str, at_us: int) -> int | None:
    """Where the application was in a partition then: behind the last record that poll returned, or where it sought.

    None if it has done neither since the partition was last taken away: who is given it again, were it the same member,
    begins at the committed offset (Java: ConsumerCoordinator.onJoinPrepare assigns nothing, which drops the positions).
    So is whoever has had a reason to read it from elsewhere since, or is to read on from an end that it does not know.
    """
    ends = (c.ended_us for c in history.callbacks if c.name != "partitions_assigned" and partition in c.partitions)
    since_us = max((ended_us for ended_us in ends if ended_us is not None and ended_us <= at_us), default=0)
    moves = [
        (r.at_us, r.last + 1) for r in history.returned if r.partition == partition and since_us < r.at_us <= at_us
    ]
    moves += history.sought(partition, since_us, at_us)
    latest_us, position = max(moves, default=(0, None))
    ends_sought = (done for _, done, seek in history.carried_out(Seek) if str(seek) == partition and seek.offset < 0)
    to_an_end = any(latest_us <= done_us <= at_us for done_us in ends_sought)
    return None if to_an_end or moved(history, partition, latest_us, at_us) else position
