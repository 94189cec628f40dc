"""unsubscribe(): it ends the membership as close() does, but not the client (rules C7, L1, L3)."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.checks.checker import Finding, broken, checks, held_if, missing, none_of
from groupspec.conformance.history.exchange import Exchange
from groupspec.conformance.history.harness_protocol import Subscribe, Unsubscribe
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import JoinGroupRequest, LeaveGroupRequest


@once
def unsubscribed(history: History) -> Iterator[tuple[int, int]]:
    """When a member was asked to unsubscribe, and when it subscribed again or was closed."""
    again = [at_us for at_us, _ in history.commands(Subscribe)]
    for asked, _ in history.commands(Unsubscribe):
        known = [identity.from_us for identity in history.identities if identity.from_us < asked]
        if known and not history.between(known[-1], asked, "LeaveGroup"):
            yield asked, next((at_us for at_us in again if at_us > asked), history.until_close_us)


@checks("L1")
def unsubscribing_leaves_once(history: History) -> Iterator[Finding]:
    """unsubscribe() of a dynamic member sends LeaveGroup, once, with its id."""
    if history.settings.instance_id:
        return
    for asked, end in unsubscribed(history):
        leaves = [leave for leave in history.of("LeaveGroup") if asked <= leave.sent_us < end]
        ids = [identity.member_id for identity in history.identities if identity.from_us < end]
        again = history.first("JoinGroup", end)
        if not leaves and again is not None and again.asked(JoinGroupRequest).member_id == ids[-1]:
            yield broken("unsubscribe() sent no LeaveGroup: the next JoinGroup is the same member's", again.sent_us)
        elif not leaves:
            yield from missing(history, "unsubscribe() sent no LeaveGroup", asked, end)
        elif len(leaves) > 1 and leaves[0].error == "NONE":
            yield broken(f"unsubscribe() sent {len(leaves)} LeaveGroups", leaves[1].sent_us)
        else:
            same = leaves[0].asked(LeaveGroupRequest).member_id == ids[-1]
            wrong = "LeaveGroup carries another member id"
            yield held_if(same, "unsubscribe() sent one LeaveGroup", wrong, leaves[0].sent_us)


@checks("L3")
def nothing_revives_who_has_unsubscribed(history: History) -> Iterator[Finding]:
    """After LeaveGroup nothing joins until the application subscribes again, whatever late answer arrives."""
    for asked, end in unsubscribed(history):
        leave = history.first("LeaveGroup", asked)
        if leave is not None and leave.sent_us < end:
            after = history.between(leave.sent_us, end, "JoinGroup", "SyncGroup", "Heartbeat")
            wrong = f"{after[0].api} after the LeaveGroup of unsubscribe()" if after else ""
            yield none_of(after, wrong, "nothing was asked of the group after unsubscribe()", end)
            yield from _late_answers(history, leave)


def _late_answers(history: History, leave: Exchange) -> Iterator[Finding]:
    """The answer to a JoinGroup that came after LeaveGroup gives its member id back to nobody."""
    left = leave.asked(LeaveGroupRequest).member_id
    late = [e for e in history.of("JoinGroup") if e.sent_us < leave.sent_us < e.told_us]
    again = history.first("JoinGroup", leave.sent_us)
    if late and again is not None and left:
        same = again.asked(JoinGroupRequest).member_id == left
        wrong = "JoinGroup carries the member id that has left, which a late answer has revived"
        yield held_if(not same, "the late answer to JoinGroup had no effect", wrong, again.sent_us)


@checks("C7", needs="listener")
def unsubscribing_runs_the_callback_first(history: History) -> Iterator[Finding]:
    """unsubscribe(): everything owned is revoked, or lost, before LeaveGroup."""
    for asked, end in unsubscribed(history):
        leave = history.first("LeaveGroup", asked)
        if not history.owned_at(asked) or leave is None or leave.sent_us >= end:
            continue
        left = ", ".join(sorted(history.owned_at(leave.sent_us + history.slack_us)))
        kept = "the callback for everything owned had returned before the LeaveGroup of unsubscribe()"
        broken = f"{left}: no callback had returned before the LeaveGroup of unsubscribe()"
        yield held_if(not left, kept, broken, leave.sent_us)
