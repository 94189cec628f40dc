"""Chapter D: finding the coordinator, forgetting it, and speaking to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from groupspec.conformance.wire.history import GROUP_APIS, Exchange, History
from groupspec.conformance.wire.rules._checker import IN_FLIGHT_US, Finding, broken, checks, held
from groupspec.impl.core.messages import FindCoordinatorResponse

COORDINATOR_GONE: Final = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
SAYS_NOTHING_ABOUT_IT: Final = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID")
LOOKUP_WITHIN_MS: Final = 2_000
JITTER: Final = 0.75  # KIP-580: a backoff is drawn from +-20 %


def failed_for_good(history: History) -> Iterator[Exchange]:
    """Group requests whose answer says that the coordinator is another node."""
    return (e for e in history.of(*GROUP_APIS) if e.error in COORDINATOR_GONE)


@checks("D1")
def coordinator_is_forgotten(history: History) -> Iterator[Finding]:
    """NOT_COORDINATOR: a new lookup, without being asked."""
    for exchange in failed_for_good(history):
        answered = exchange.answered_us or 0
        lookup = history.first("FindCoordinator", answered)
        if lookup is None:
            yield broken(f"no FindCoordinator after {exchange.api} was answered {exchange.error}", answered)
            continue
        took = history.took_ms(answered, lookup.sent_us)
        reason = f"FindCoordinator {took:.0f} ms after {exchange.api} was answered {exchange.error}"
        yield held(reason, lookup.sent_us) if took <= LOOKUP_WITHIN_MS else broken(reason, lookup.sent_us)


@checks("D1")
def coordinator_is_kept(history: History) -> Iterator[Finding]:
    """REBALANCE_IN_PROGRESS and the like say nothing about the coordinator: no lookup before the JoinGroup."""
    for exchange in history.of(*GROUP_APIS):
        if exchange.error not in SAYS_NOTHING_ABOUT_IT or exchange.answered_us is None:
            continue
        answered = exchange.answered_us
        join = history.first("JoinGroup", answered)
        if join is None:
            continue
        lookup = history.first("FindCoordinator", answered)
        if lookup is None or lookup.sent_us > join.sent_us:
            yield held(f"the coordinator was kept after {exchange.error}", join.sent_us)
        else:
            yield broken(f"FindCoordinator after {exchange.error}, which says nothing about the coordinator", answered)


@checks("D2")
def one_lookup_at_a_time(history: History) -> Iterator[Finding]:
    """Two FindCoordinators never overlap."""
    lookups = history.of("FindCoordinator")
    for earlier, later in pairwise(lookups):
        ended = earlier.ended_before(later.sent_us)
        if ended or history.connections_closed(earlier.sent_us, later.sent_us):
            yield held("the next FindCoordinator came after the answer to the one before", later.sent_us)
        else:
            yield broken("two FindCoordinators were outstanding at the same time", later.sent_us)
    if len(lookups) == 1:
        yield held("one FindCoordinator was sent", lookups[0].sent_us)


@checks("D2")
def failed_lookup_is_repeated(history: History) -> Iterator[Finding]:
    """A lookup that found nobody is followed by another one."""
    for exchange in history.answers("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"):
        answered = exchange.answered_us or 0
        again = history.first("FindCoordinator", answered)
        if again is not None:
            yield held("a failed lookup was followed by another one", again.sent_us)
        else:
            yield broken("no FindCoordinator after one that was answered COORDINATOR_NOT_AVAILABLE", answered)


@checks("D3")
def lookups_are_spaced(history: History) -> Iterator[Finding]:
    """After a failed lookup the retry backoff passes before the next.

    It counts from the answer, as Kafka's documentation of retry.backoff.ms says ("before attempting to retry a failed
    request"): a lookup that a Fetch on its connection held up, and that is repeated at once, did not wait.
    """
    least_ms = history.settings.retry_backoff_ms * JITTER
    for exchange in history.answers("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"):
        answered_us = exchange.answered_us or 0
        again = history.first("FindCoordinator", answered_us)
        if again is None:
            continue
        waited = (again.sent_us - answered_us) / 1000
        reason = f"the next FindCoordinator came {waited:.0f} ms after a failed one (retry.backoff.ms="
        reason += f"{history.settings.retry_backoff_ms})"
        yield held(reason, again.sent_us) if waited >= least_ms else broken(reason, again.sent_us)


@checks("D4")
def only_the_coordinator_is_spoken_to(history: History) -> Iterator[Finding]:
    """Group requests go to the node that the latest successful lookup named, never to another."""
    found = [
        (e.answered_us or 0, e.answered(FindCoordinatorResponse)) for e in history.answers("FindCoordinator", "NONE")
    ]
    count = 0
    for exchange in history.of(*GROUP_APIS):
        known = [(at_us, answer.node_id) for at_us, answer in found if answer is not None and at_us <= exchange.sent_us]
        if not known:
            yield broken(f"{exchange.api} was sent before a coordinator was found", exchange.sent_us)
            continue
        allowed = {known[-1][1]} | {
            node for at_us, node in known[:-1] if exchange.sent_us - known[-1][0] < IN_FLIGHT_US
        }
        count += 1
        if exchange.request.node not in allowed:
            yield broken(
                f"{exchange.api} went to node {exchange.request.node}, not to {known[-1][1]}", exchange.sent_us
            )
    if count:
        yield held(f"{count} group requests, each to the coordinator", history.ends_us)


@checks("D4")
def nobody_is_spoken_to_while_unknown(history: History) -> Iterator[Finding]:
    """Between NOT_COORDINATOR and the next successful lookup there is no group request."""
    found = [e.answered_us or 0 for e in history.answers("FindCoordinator", "NONE")]
    for exchange in failed_for_good(history):
        lost = exchange.answered_us or 0
        known_again = next((at_us for at_us in found if at_us > lost), history.ends_us)
        early = [e for e in history.of(*GROUP_APIS) if lost + IN_FLIGHT_US < e.sent_us < known_again]
        if early:
            yield broken(f"{early[0].api} was sent while the coordinator was unknown", early[0].sent_us)
        else:
            yield held("no group request while the coordinator was unknown", known_again)
