"""Rule C4: what a callback of the application's raises stops nothing, and the application gets it."""

from __future__ import annotations

from collections.abc import Iterator

from groupspec.conformance.checks.checker import Finding, broken, checks, held, missing
from groupspec.conformance.history.exchange import NO_MEMBER
from groupspec.conformance.history.harness_protocol import CallbackReturned, ErrorRaised
from groupspec.conformance.history.history import History

CALLS = ("poll", "unsubscribe", "close")
"""Where callbacks run, and what they raise comes out."""


def raised(history: History) -> Iterator[tuple[int, str]]:
    """When callbacks have raised, and which."""
    return ((at_us, event.callback) for at_us, event in history.events(CallbackReturned) if event.raised)


@checks("C4", needs="raising_listener listener")
def the_rebalance_goes_on(history: History) -> Iterator[Finding]:
    """Before close() the member is a member again: a round is completed, or its heartbeats go on.

    Who is fenced is none again (rule X2).
    """
    for at_us, name in raised(history):
        if not history.before_close(at_us):
            continue
        synced_us = next((sync.told_us for sync in history.syncs if sync.told_us > at_us), None)
        joined = name == "partitions_assigned" or synced_us is not None
        beats = (beat for beat in history.of("Heartbeat") if beat.error not in NO_MEMBER)
        if joined and any(beat.sent_us > at_us for beat in beats):
            yield held(f"{name} raised, and the member went on", at_us)
        else:
            what = f"{name} raised, and the member never was one again"
            yield from missing(history, what, synced_us or at_us, joins=True)


@checks("C4", needs="raising_listener listener_in_poll pull")
def the_application_gets_what_its_callback_raised(history: History) -> Iterator[Finding]:
    """The call in which the callback ran raises, or the next one."""
    errors = [at_us for at_us, event in history.events(ErrorRaised) if event.call in CALLS and not event.woken]
    for at_us, name in raised(history):
        ends = [each.ended_us for each in history.polls if each.ended_us is not None and each.ended_us > at_us]
        until_us = ends[1] if len(ends) > 1 else history.ends_us
        if any(at_us <= error_us <= until_us for error_us in errors):
            yield held(f"what {name} raised came out of the call", at_us)
        else:
            yield broken(f"{name} raised, and neither the call in which it ran nor the next one did", at_us)
