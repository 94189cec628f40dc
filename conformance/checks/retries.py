"""How soon what failed in passing is tried again (rule D3): not only not in a spin, but also not much too late.

A backoff is `retry.backoff.ms`, doubled with each further failure up to `retry.backoff.max.ms`, give or take a fifth
(KIP-580); what asks for the next JoinGroup at once has none (AbstractCoordinator.joinGroupIfNeeded). Meanwhile the
member counts as silent, and who waits for seconds is expelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import Finding, checks, in_vain, within_polls
from groupspec.conformance.checks.held_up import held_up_until
from groupspec.conformance.history.exchange import COORDINATOR_GONE
from groupspec.conformance.history.history import History

MAX_BACKOFF_MS: Final = 1_000
"""Of retry.backoff.max.ms, which the kit leaves at its default."""
JITTER: Final = 1.2
LATE_MS: Final = 500
"""As late as an application's poll may be that has to ask, and a connection that has to be made."""
AT_ONCE: Final = ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
PASSING: Final = {
    "FindCoordinator": ("FindCoordinator", ("COORDINATOR_NOT_AVAILABLE",)),
    "JoinGroup": ("JoinGroup", ("COORDINATOR_LOAD_IN_PROGRESS", *AT_ONCE)),
    "SyncGroup": ("JoinGroup", ("COORDINATOR_LOAD_IN_PROGRESS", *AT_ONCE)),
    "OffsetFetch": ("OffsetFetch", ("COORDINATOR_LOAD_IN_PROGRESS",)),
}
"""What was asked, what is asked then, and after which errors."""


@checks("D3")
def what_passes_is_tried_again_soon(history: History) -> Iterator[Finding]:
    """Within its backoff, or at once; less what the callbacks take that come first, and until the application polls."""
    failures = dict.fromkeys(PASSING, 0)
    for exchange in history.of(*PASSING):
        following, errors = PASSING[exchange.api]
        failed = exchange.error in errors or exchange.answer is None
        failures[exchange.api] = failures[exchange.api] + 1 if failed else 0
        told = exchange.told_us
        if exchange.error not in errors or not history.before_close(told):
            continue
        again = history.first(following, told)
        end_us = again.sent_us if again is not None and history.before_close(again.sent_us) else history.until_close_us
        since_us = asked_for_from(history, held_up_until(history, told, end_us))
        if since_us is None or has_another_way(history, told, end_us):
            continue
        at_once = exchange.error in AT_ONCE
        backoff_ms = min(MAX_BACKOFF_MS, history.settings.retry_backoff_ms * 2 ** (failures[exchange.api] - 1))
        bound_ms = LATE_MS + (0 if at_once else JITTER * backoff_ms)
        what = f"{following} after {exchange.api} was answered {exchange.error}"
        why = "it asks for that at once" if at_once else f"retry.backoff.ms={history.settings.retry_backoff_ms}"
        if again is not None and end_us == again.sent_us:
            yield within_polls(history, min(since_us, end_us), end_us, bound_ms, f"{what}; {why}", LATE_MS)
        elif history.able_to_join_ms(since_us, end_us) > bound_ms:
            yield in_vain(f"no {what}; {why}", since_us, end_us)


def asked_for_from(history: History, at_us: int) -> int | None:
    """From when on a client that works while it is polled could go on; None if it is not polled again."""
    if "pull" not in history.settings.features:
        return at_us
    poll = next((p for p in history.polls if (p.ended_us or history.ends_us) > at_us), None)
    return None if poll is None else max(at_us, poll.started_us)


def has_another_way(history: History, from_us: int, to_us: int) -> bool:
    """Whether the coordinator was lost meanwhile, or the client has to be silent: then other rules say what is due."""
    answered = [each for each in history.exchanges if from_us < each.told_us <= to_us and each.answer is not None]
    gone = any(e.error in COORDINATOR_GONE and e.api != "FindCoordinator" for e in answered)
    throttled = any(each.answer is not None and each.answer.throttle_ms for each in answered)
    return gone or throttled or history.connections_closed(from_us, to_us) or history.left_unanswered(from_us, to_us)
