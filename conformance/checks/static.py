"""Chapter X: static members (KIP-345), which have an instance id, and may be fenced by another that has it too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, Known, broken, checks, held, held_if, none_of
from groupspec.conformance.checks.closing import close_of_member
from groupspec.conformance.checks.commits import without_identity
from groupspec.conformance.checks.heartbeats import is_raised
from groupspec.conformance.checks.joining import joined_meanwhile
from groupspec.conformance.history.exchange import GROUP_APIS, Exchange
from groupspec.conformance.history.harness_protocol import Unsubscribe
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import JoinGroupRequest

FROM_VERSION: Final = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 7}
"""From this version on the request has a place for the instance id."""


@checks("X1")
def the_instance_id_is_in_every_request(history: History) -> Iterator[Finding]:
    """In each group request; not in a commit without identity.

    Versions that have a place for it came to all of them at once (KIP-345), so who has joined with it has no excuse in
    an older version of another one: Java refuses to send that (HeartbeatRequest.json, a field that is not ignorable).
    """
    if not (expected := history.settings.instance_id):
        return
    joins = history.of("JoinGroup")
    is_static = any(join.request.version >= FROM_VERSION["JoinGroup"] for join in joins)
    for exchange in history.of(*FROM_VERSION):
        if exchange.request.version < FROM_VERSION[exchange.api]:
            if is_static:
                what = f"{exchange.api} v{exchange.request.version} has no place for the instance id, JoinGroup had it"
                yield broken(what, exchange.sent_us)
            continue
        sent = getattr(exchange.request.message, "group_instance_id", None)
        bare = exchange.api == "OffsetCommit" and without_identity(exchange)
        right = f"{exchange.api} has {'no instance id, as it has no member id' if bare else 'the instance id'}"
        wrong = f"{exchange.api} has the instance id {sent!r}, not {None if bare else expected!r}"
        yield held_if(sent == (None if bare else expected), right, wrong, exchange.sent_us)


@checks("L1")
def a_static_member_stays_in_the_group(history: History) -> Iterator[Finding]:
    """close() of a static member sends no LeaveGroup: its next life takes its place."""
    asked = close_of_member(history)
    if history.settings.instance_id and asked is not None:
        leaves = [leave for leave in history.of("LeaveGroup") if leave.sent_us >= asked]
        wrong = "close() of a static member sent LeaveGroup"
        yield none_of(leaves, wrong, "close() of a static member sent no LeaveGroup", asked)


def fenced(history: History) -> Iterator[Exchange]:
    """The answers that fence the client's present identity, before close() was called.

    Not what it had left behind by then: by joining again, or as the application wanted no topics any more.
    """
    for exchange in history.of(*GROUP_APIS):
        told_us = exchange.told_us
        late = history.is_stale(exchange) or (exchange.api != "JoinGroup" and joined_meanwhile(history, exchange))
        late = late or history.left(exchange.sent_us, told_us)
        if exchange.error == "FENCED_INSTANCE_ID" and history.before_close(told_us) and not late:
            yield exchange


@checks("X2")
def who_is_fenced_is_silent(history: History) -> Iterator[Finding]:
    """Nothing more is asked of the group, above all not to join it with the instance id that another one has.

    Until the application begins anew: it unsubscribes first.
    """
    for exchange in fenced(history):
        why = f"after {exchange.api} was answered FENCED_INSTANCE_ID"
        told = Known.of(exchange)
        ends = (at_us for at_us, _ in history.commands(Unsubscribe) if at_us > exchange.told_us)
        until_us = min(next(ends, history.ends_us), history.until_close_us)
        later = [
            e
            for e in history.between(exchange.told_us, until_us, *GROUP_APIS)
            if e.api != "LeaveGroup" and told.before(e, history)
        ]
        if not later:
            yield held(f"no group request {why}", until_us)
            return
        back = (e for e in later if e.api == "JoinGroup" and not e.asked(JoinGroupRequest).member_id)
        worst = next(back, later[0])
        anew = worst.api == "JoinGroup" and not worst.asked(JoinGroupRequest).member_id
        what = "JoinGroup as a new member with the same instance id" if anew else worst.api
        yield broken(f"{what} {why}", worst.sent_us)
        return


@checks("X2")
def who_is_fenced_is_told(history: History) -> Iterator[Finding]:
    """The application hears of it: a call raises, or the client reports it."""
    for exchange in fenced(history):
        yield from is_raised(history, exchange)
        return
