"""What a member's environment sees of it: the variables and assertions that monitor a member without influencing it.

A rule such as "at most one JoinGroup or SyncGroup in flight" speaks about what left the member and what came back. The
monitor's variables follow exactly that, in words of the wire and of the listener, and not the machines' own opinion of
it. Where a machine has an opinion too (`timeouts.IN_FLIGHT`), a property compares the two. What the machines are at is
read only to say what a word or an event means: whether the deadline that ends is that of a commit, whether the listener
is told of a loss.

What leaves the member stands in `monitor_outputs.py`, what reaches it in `monitor_events.py`.

A name with `@` is a variable of the member: `@call_out` is `call_out[i]` where members are numbered, and `call_out`
where there is only one. Each assertion has the id of the property in `data/properties/member.toml` that says what it
means and where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from groupspec.spec.compiler.model import Block, ModelVariable, Set
from groupspec.spec.composition.machines import claim
from groupspec.spec.composition.monitor_events import AFTER, CORRECT, EVENTS
from groupspec.spec.composition.monitor_outputs import WORDS, Entry
from groupspec.spec.terms import NO_YES

MONITOR_VARIABLES: Final = (
    ModelVariable("lookup_out", NO_YES, False, (), "a FindCoordinator is in flight"),
    ModelVariable("call_out", ("none", "JoinGroup", "SyncGroup"), "none", (),
                  "the request of a rebalance that is in flight"),
    ModelVariable("heartbeat_out", NO_YES, False, (), "a heartbeat is in flight"),
    ModelVariable("commit_out", NO_YES, False, (), "the commit before a rebalance is in flight"),
    ModelVariable("generation_unused", NO_YES, False, (),
                  "a JoinGroup was answered, and no SyncGroup has used its generation"),
    ModelVariable("in_group", NO_YES, False, (),
                  "the last JoinGroup was answered, and nothing since has ended or renewed that membership"),
    ModelVariable("round_over", NO_YES, False, (), "a SyncGroup was accepted, and no JoinGroup has been sent since"),
    ModelVariable("revoke_due", NO_YES, False, (),
                  "REVOKE_PARTITIONS waits for the polling thread, or is being handled there"),
    ModelVariable("assign_due", NO_YES, False, (),
                  "ASSIGN_PARTITIONS waits for the polling thread, or is being handled there"),
    ModelVariable("may_join", NO_YES, False, (),
                  "the application has polled since it subscribed, was thrown an error, or let its poll interval "
                  "expire"),
    ModelVariable("replaced", NO_YES, False, (), "another process has its instance id, and it has not left since"),
    ModelVariable("raised", NO_YES, False, (), "an ERROR has been queued by what happens now"),
    ModelVariable("given", ("none", "id", "member"), "none", (),
                  "what the coordinator gave it, and nothing has ended: a member id, or that and a generation"),
    ModelVariable("kept", NO_YES, False, (),
                  "its member id is what a lost generation has left it, and no JoinGroup has been sent with it since"),
    ModelVariable("said_goodbye", NO_YES, False, (), "a LeaveGroup has been sent by what happens now"),
    ModelVariable("left", NO_YES, False, (), "the member has left, in words or in silence, by what happens now"),
    ModelVariable("stalled", NO_YES, False, (), "what happens now has found that the application stalls"),
    ModelVariable("pending_said", NO_YES, False, (),
                  "partitions were told that they will be taken away, and none was removed since"),
    ModelVariable("added_said", NO_YES, False, (),
                  "partitions were told of an assignment that the listener has not heard of"),
    ModelVariable("removal_due", NO_YES, False, (),
                  "the listener has heard now that partitions go, and they are not removed yet"),
    ModelVariable("asks_open", NO_YES, False, (),
                  "the application has asked the coordinator something, and was not answered"),
    ModelVariable("lookup_rests", ("none", "backoff", "poll"), "none", (),
                  "what must end before the next FindCoordinator, after one that failed"),
    ModelVariable("beat_due", NO_YES, False, (), "the heartbeat interval is over, and none was sent since"),
    ModelVariable("poll_late", NO_YES, False, (), "the poll interval is over, and nothing was polled since"),
    ModelVariable("join_rests", NO_YES, False, (),
                  "the backoff after a JoinGroup or SyncGroup that the coordinator did not take runs"),
    ModelVariable("rejoin_due", NO_YES, False, (),
                  "a rebalance was announced or wanted, or partitions were given up, and no JoinGroup has been sent "
                  "since"),
    ModelVariable("commit_done", NO_YES, False, (),
                  "the commit before the rebalance that is due was answered, or has run out of time"),
    ModelVariable("commit_rests", NO_YES, False, (), "the backoff after a commit that failed runs"),
    ModelVariable("leave_asked", NO_YES, False, (), "the application wants to leave, and has not left yet"),
    ModelVariable("enable_due", NO_YES, False, (),
                  "the listener has heard now that partitions have come, and they are not enabled yet"),
    ModelVariable("callback", ("none", "revoked", "lost"), "none", (), "the listener runs, and was told this"),
    ModelVariable("has", NO_YES, False, (),
                  "it has partitions: of the last assignment, or what the last revocation left of them"),
    ModelVariable("assigned", NO_YES, False, (), "the last assignment is not empty"),
    ModelVariable("taken", NO_YES, False, (),
                  "the last assignment, or subscription, takes something of what it has, and the listener has not "
                  "heard so"),
    ModelVariable("stays", NO_YES, False, (),
                  "the last assignment, or subscription, leaves it something of what it had"),
    ModelVariable("suspect", NO_YES, False, (), "what happens now says that the coordinator is gone"),
)  # fmt: skip


def on_words(indexed: bool) -> Mapping[str, Block]:
    """What is checked and noted when a word is emitted, before anybody hears it."""
    return {word: _block(entry, indexed) for word, entry in WORDS.items()}


def on_event(event: str, indexed: bool) -> Block:
    """What the monitor notes of an event that is not late, before the machines take it."""
    return _block(((), EVENTS[event]), indexed) if event in EVENTS else ()


def after_event(event: str, indexed: bool) -> Block:
    """The checks at the end of an event, and the end of what is noted for the length of one only."""
    checks = tuple((name, holds) for name, holds in AFTER.get(event, ()))
    ended = (
        ("@given", "'none' if @left or @stalled and @static else @given"),
        ("@kept", "@kept and not @left"),
        *(
            (f"@{name}", "False")
            for name in ("raised", "said_goodbye", "left", "stalled", "suspect", "removal_due", "enable_due")
        ),
    )
    return _block((checks, ended), indexed)


def _block(entry: Entry, indexed: bool) -> Block:
    assertions, assignments = entry
    claims = tuple(claim(name, own(holds, indexed)) for name, holds in assertions)
    sets = (
        (Set(tuple((own(target, indexed), own(value, indexed)) for target, value in assignments)),)
        if assignments
        else ()
    )
    return (*claims, *sets)


def own(text: str, indexed: bool) -> str:
    """The text with `@name` as a variable of member i, or of the only one."""
    return re.sub(r"@(\w+)", r"\1[i]" if indexed else r"\1", text)


def correct(event: str, indexed: bool) -> str:
    """When a correct environment may bring the event about, as far as the monitor can tell.

    Error rows tell the rest.
    """
    return own(CORRECT.get(event, "True"), indexed)
