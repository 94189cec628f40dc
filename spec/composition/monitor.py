"""What a member's environment sees of it: the variables and assertions that monitor a member without influencing it.

A rule such as "at most one JoinGroup or SyncGroup in flight" speaks about what left the member and what came back. The
monitor's variables follow exactly that, in words of the wire and of the listener, and not the machines' own opinion of
it. Where a machine has an opinion too (`timeouts.IN_FLIGHT`), a property compares the two. What the machines are at is
read only to say what a word or an event means: whether the deadline that ends is that of a commit, whether the listener
is told of a loss.

What leaves the member stands in `monitor_outputs.py`, what reaches it in `monitor_events.py`.

A row is (property, words or events, what must hold): the property's id, as in `data/properties/member.toml`, which says
what it means and where it comes from. A note is a list of assignments, all made at once:
`rebalance_request = 'none'; kept = False`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from groupspec.spec.compiler.model import Block, ModelVariable, flag
from groupspec.spec.composition import monitor_events, monitor_outputs
from groupspec.spec.composition.machines import claim, sets

MONITOR_VARIABLES: Final = (
    flag("lookup_out", "a FindCoordinator is in flight"),
    ModelVariable(
        "rebalance_request",
        ("none", "JoinGroup", "SyncGroup"),
        "none",
        (),
        "the request of a rebalance that is in flight",
    ),
    flag("heartbeat_out", "a heartbeat is in flight"),
    flag("commit_out", "the commit before a rebalance is in flight"),
    flag("generation_unused", "a JoinGroup was answered, and no SyncGroup has used its generation"),
    flag("in_group", "the last JoinGroup was answered, and nothing since has ended or renewed that membership"),
    flag("round_over", "a SyncGroup was accepted, and no JoinGroup has been sent since"),
    flag("revoke_due", "REVOKE_PARTITIONS waits for the polling thread, or is being handled there"),
    flag("assign_due", "ASSIGN_PARTITIONS waits for the polling thread, or is being handled there"),
    flag(
        "may_join",
        "the application has polled since it subscribed, was thrown an error, or let its poll interval expire",
    ),
    flag("replaced", "another process has its instance id, and it has not left since"),
    flag("raised", "an ERROR has been queued by what happens now"),
    ModelVariable(
        "given",
        ("none", "id", "member"),
        "none",
        (),
        "what the coordinator gave it, and nothing has ended: a member id, or that and a generation",
    ),
    flag("kept", "its member id is what a lost generation has left it, and no JoinGroup has been sent with it since"),
    flag("said_goodbye", "a LeaveGroup has been sent by what happens now"),
    flag("left", "the member has left, in words or in silence, by what happens now"),
    flag("stalled", "what happens now has found that the application stalls"),
    flag("pending_said", "partitions were told that they will be taken away, and none was removed since"),
    flag("added_said", "partitions were told of an assignment that the listener has not heard of"),
    flag("removal_due", "the listener has heard now that partitions go, and they are not removed yet"),
    flag("requests_open", "the application has asked the coordinator something, and was not answered"),
    ModelVariable(
        "discovery_rests",
        ("none", "backoff", "poll"),
        "none",
        (),
        "what must end before the next FindCoordinator, after one that failed",
    ),
    flag("beat_due", "the heartbeat interval is over, and none was sent since"),
    flag("poll_late", "the poll interval is over, and nothing was polled since"),
    flag("join_rests", "the backoff after a JoinGroup or SyncGroup that the coordinator did not take runs"),
    flag(
        "rejoin_due",
        "a rebalance was announced or wanted, or partitions were given up, and no JoinGroup has been sent since",
    ),
    flag("commit_done", "the commit before the rebalance that is due was answered, or has run out of time"),
    flag("commit_rests", "the backoff after a commit that failed runs"),
    flag("leave_asked", "the application wants to leave, and has not left yet"),
    flag("enable_due", "the listener has heard now that partitions have come, and they are not enabled yet"),
    ModelVariable("callback", ("none", "revoked", "lost"), "none", (), "the listener runs, and was told this"),
    flag("has", "it has partitions: of the last assignment, or what the last revocation left of them"),
    flag("assigned", "the last assignment is not empty"),
    flag(
        "taken",
        "the last assignment, or subscription, takes something of what it has, and the listener has not heard so",
    ),
    flag("stays", "the last assignment, or subscription, leaves it something of what it had"),
    flag("suspect", "what happens now says that the coordinator is gone"),
)


_ENDED: Final = (
    "given = 'none' if left or stalled and static else given; kept = kept and not left; raised = False;"
    " said_goodbye = False; left = False; stalled = False; suspect = False; removal_due = False; enable_due = False"
)
"""The end of what is noted for the length of one event."""


def on_words() -> Mapping[str, Block]:
    """What is checked and noted when a word is emitted, before anybody hears it."""
    return {word: _block(word, monitor_outputs.CHECKS, note) for word, note in monitor_outputs.NOTES.items()}


def on_event(event: str) -> Block:
    """What the monitor notes of an event that is not late, before the machines take it."""
    return _block(event, (), monitor_events.NOTES.get(event, ""))


def after_event(event: str) -> Block:
    """The checks at the end of an event, and the end of what is noted for the length of one only."""
    return _block(event, monitor_events.CHECKS, _ENDED)


def correct(event: str) -> str:
    """When a correct environment may bring the event about, as far as the monitor can tell.

    Error rows tell the rest.
    """
    return monitor_events.CORRECT.get(event, "True")


def _block(name: str, checks: Iterable[tuple[str, str, str]], note: str) -> Block:
    claims = (claim(property_id, holds) for property_id, names, holds in checks if name in names.split())
    return (*chain.from_iterable(claims), *(sets(note) if note else ()))
