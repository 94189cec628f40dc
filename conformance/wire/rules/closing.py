"""Chapter L: close(), and what must not happen after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.wire import protocol
from groupspec.conformance.wire.history import History, identities
from groupspec.conformance.wire.rules._checker import Finding, broken, checks, held, in_vain, within
from groupspec.impl.core.messages import LeaveGroupRequest, OffsetCommitRequest

ENDS_MEMBERSHIP: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID")


def close_asked(history: History) -> int | None:
    """When close() was called on a member of the group; None if it was not."""
    asked = history.events(protocol.ShutdownRequested)
    if not asked:
        return None
    known = [identity.from_us for identity in identities(history) if identity.from_us < asked[0][0]]
    left = [leave.sent_us for leave in history.of("LeaveGroup") if leave.sent_us < asked[0][0]]
    return asked[0][0] if known and (not left or left[-1] < known[-1]) else None


@checks("L1")
def close_leaves_once(history: History) -> Iterator[Finding]:
    """close() of a dynamic member sends LeaveGroup, once, with its id; a heartbeat in flight does not matter."""
    asked = close_asked(history)
    if asked is None:
        return
    leaves = [leave for leave in history.of("LeaveGroup") if leave.sent_us >= asked]
    member_id = identities(history)[-1].member_id
    if not leaves and generation_lost(history, asked):
        yield held("close() had nothing to leave: the generation was lost", asked)
    elif not leaves:
        yield in_vain("close() sent no LeaveGroup", asked, history.ends_us)
    elif len(leaves) > 1:
        yield broken(f"close() sent {len(leaves)} LeaveGroups", leaves[1].sent_us)
    elif leaves[0].asked(LeaveGroupRequest).member_id != member_id:
        yield broken("LeaveGroup carries another member id", leaves[0].sent_us)
    else:
        yield held("close() sent one LeaveGroup", leaves[0].sent_us)


def generation_lost(history: History, until_us: int) -> bool:
    """Whether an answer took the membership away, and no JoinGroup followed: UNJOINED (L1), maybe with a kept id."""
    apis = ("SyncGroup", "Heartbeat", "OffsetCommit")
    told = (e.answered_us or 0 for api in apis for error in ENDS_MEMBERSHIP for e in history.answers(api, error))
    last_us = max((at_us for at_us in told if at_us < until_us), default=None)
    join = None if last_us is None else history.first("JoinGroup", last_us)
    return last_us is not None and (join is None or join.sent_us > until_us)


@checks("L2", needs="pull")
def close_ends_in_time(history: History) -> Iterator[Finding]:
    """close() returns within its bound."""
    asked = history.events(protocol.ShutdownRequested)
    if not asked:
        return
    bound = history.settings.close_within_ms
    done = history.events(protocol.ShutdownComplete)
    if not done:
        yield in_vain(f"close() did not return within {bound} ms", asked[0][0], history.ends_us)
        return
    took = history.took_ms(asked[0][0], done[0][0])
    yield within(history, asked[0][0], done[0][0], bound, f"close() returned after {took:.0f} ms")


@checks("L3")
def nothing_revives_the_member(history: History) -> Iterator[Finding]:
    """After LeaveGroup at close nothing joins, whatever late answer arrives."""
    asked = close_asked(history)
    leave = None if asked is None else history.first("LeaveGroup", asked)
    if leave is None:
        return
    after = [e for e in history.of("JoinGroup", "SyncGroup", "Heartbeat") if e.sent_us > leave.sent_us]
    late = [e for e in history.of("Heartbeat") if e.sent_us < leave.sent_us < (e.answered_us or 0)]
    if after:
        yield broken(f"{after[0].api} after LeaveGroup", after[0].sent_us)
    elif late:
        yield held(f"the late answer {late[-1].error} to a Heartbeat had no effect", late[-1].answered_us or 0)


@checks("L5", needs="auto_commit listener pull")
def close_commits_first(history: History) -> Iterator[Finding]:
    """close() with auto-commit: the last returned positions are committed before LeaveGroup."""
    asked = close_asked(history)
    leave = None if asked is None else history.first("LeaveGroup", asked)
    if asked is None or leave is None or not history.settings.auto_commit:
        return
    owned = history.owned_at(asked)
    for partition in sorted(owned):
        returned = [r.last for r in history.returned if r.partition == partition and r.at_us <= asked]
        if not returned:
            continue
        offsets = [offset for at_us, offset in committed_offsets(history, partition) if at_us < leave.sent_us]
        expected = max(returned) + 1
        if offsets and offsets[-1] == expected:
            yield held(f"{partition}: {expected} was committed before LeaveGroup", leave.sent_us)
        else:
            last = offsets[-1] if offsets else "nothing"
            yield broken(f"{partition}: {last} was committed before LeaveGroup, not {expected}", leave.sent_us)


def committed_offsets(history: History, partition: str) -> Iterator[tuple[int, int]]:
    """Every commit of one partition: when, and which offset."""
    for exchange in history.of("OffsetCommit"):
        for committed, offset in exchange.asked(OffsetCommitRequest).offsets.items():
            if str(committed) == partition:
                yield exchange.sent_us, offset.offset
