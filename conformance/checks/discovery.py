"""Chapter D: finding the coordinator, forgetting it, and sending group requests to it only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupspec.conformance.checks.checker import (
    Finding,
    Known,
    broken,
    checks,
    held,
    held_if,
    missing,
    none_of,
    within,
)
from groupspec.conformance.history.exchange import COORDINATOR_GONE, GROUP_APIS, REBALANCE, Exchange, is_of_nobody
from groupspec.conformance.history.harness_protocol import ErrorRaised
from groupspec.conformance.history.history import History, once
from groupspec.impl.core.messages import FindCoordinatorResponse

LOADED_FIRST: Final = ("JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch")
"""What a coordinator that is loading the group refuses."""
PASSING: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "REBALANCE_IN_PROGRESS")
"""Errors of JoinGroup that say nothing of the member, nor of the coordinator: it is asked again."""
LOOKUP_WITHIN_MS: Final = 2_000
AT_ONCE_MS: Final = 15
JITTER: Final = 0.75  # KIP-580: a backoff is drawn from +-20 %


def failed_for_good(history: History) -> Iterator[Exchange]:
    """Group requests whose answer says that the coordinator is another node.

    Who leaves needs no coordinator any more: not LeaveGroup (Java's LeaveGroupResponseHandler marks nothing unknown),
    and nothing that is answered after close() was called.
    """
    apis = (api for api in GROUP_APIS if api != "LeaveGroup")
    return (e for e in history.of(*apis) if e.error in COORDINATOR_GONE and history.before_close(e.told_us))


@checks("D1")
def coordinator_is_forgotten(history: History) -> Iterator[Finding]:
    """NOT_COORDINATOR: a new lookup, without being asked; one that is out already will do."""
    for exchange in failed_for_good(history):
        if exchange.api == "OffsetCommit" and is_of_nobody(exchange):
            continue  # it needs no coordinator before its next commit (rule D7)
        told, why = exchange.told_us, f"after {exchange.api} was answered {exchange.error}"
        out = (each for each in history.of("FindCoordinator") if each.sent_us <= told and not each.ended_before(told))
        later = history.first("FindCoordinator", told) or history.first("FindCoordinator", exchange.sent_us)
        lookup = later or next(out, None)
        if lookup is None:
            yield from missing(history, f"no FindCoordinator {why}", told)
        else:
            reason = f"FindCoordinator {history.took_ms(told, lookup.sent_us):.0f} ms {why}"
            yield within(history, told, lookup.sent_us, LOOKUP_WITHIN_MS, reason, LOOKUP_WITHIN_MS)


@checks("D1")
def who_cannot_be_reached_is_looked_for(history: History) -> Iterator[Finding]:
    """No connection to the coordinator can be made: a new lookup. The story says by when, and who needs one."""
    for node in {node for _, node in coordinators(history)}:
        for refused_us in history.refused_us(node):
            lookup = history.first("FindCoordinator", refused_us)
            if lookup is not None:
                yield held(f"FindCoordinator after node {node} had refused connections", lookup.sent_us)


@checks("D1")
def coordinator_is_kept(history: History) -> Iterator[Finding]:
    """REBALANCE_IN_PROGRESS and the like say nothing about the coordinator: the JoinGroup waits for no lookup.

    One more lookup is no proof that it was forgotten, and harms nobody if it is answered at once: kafkajs looks up
    before each JoinGroup, sarama after whatever error a commit was answered with. Who has forgotten it cannot join
    while lookups fail. What a former coordinator says to who has found another meanwhile is no matter: librdkafka goes
    on to look for that one until it is connected to it.
    """
    found = coordinators(history)
    for exchange in (each for each in history.of(*GROUP_APIS) if each.error in REBALANCE):
        if exchange.api == "Heartbeat" and history.between(exchange.sent_us, exchange.told_us, "JoinGroup"):
            continue  # it is no news
        told, join = exchange.told_us, history.first("JoinGroup", exchange.told_us)
        knows = [node for at_us, node in found if at_us <= told][-1:]
        if knows != [exchange.request.node]:
            continue
        known_again = next((at_us for at_us, _ in found if at_us > told), history.until_close_us)
        lookups = history.between(told, known_again, "FindCoordinator")
        if join is not None and join.sent_us < known_again:
            yield held(f"JoinGroup waited for no lookup after {exchange.error}", join.sent_us)
        elif lookups and not _another_reason(history, lookups[0].sent_us):
            wrong = f"no JoinGroup after {exchange.error} until a lookup had succeeded: the coordinator was forgotten"
            yield from missing(history, wrong, lookups[0].sent_us, known_again)


def _another_reason(history: History, lookup_us: int) -> bool:
    """Whether something has said, since the coordinator was last found, that it is gone."""
    found_us = max((at_us for at_us, _ in coordinators(history) if at_us < lookup_us), default=0)
    said = any(found_us < each.told_us <= lookup_us for each in failed_for_good(history))
    unanswered = history.left_unanswered(found_us, lookup_us) or _timed_out(history, found_us, lookup_us)
    return said or unanswered or _session_ran_out(history, lookup_us)


def _timed_out(history: History, from_us: int, to_us: int) -> bool:
    """Whether the client hung up in between on a coordinator that had not answered for a request timeout."""
    limit_ms = history.settings.request_timeout_ms - history.exact.step_us / 1_000
    hung_up = [entry for entry in history.of_kind("disconnect") if from_us < entry.at_us <= to_us]
    return any(
        asked.request.connection == entry.connection
        and not asked.ended_before(entry.at_us)
        and history.apart_ms(asked.sent_us, entry.at_us) >= limit_ms
        for asked in history.of(*GROUP_APIS)
        for entry in hung_up
    )


def _session_ran_out(history: History, now_us: int) -> bool:
    """Whether no answer has told the member for a session timeout that its coordinator knows it.

    Then it forgets the coordinator by itself, whatever an answer that comes late says (rule H5; Kafka
    AbstractCoordinator.HeartbeatThread.run: sessionTimeoutExpired, markCoordinatorUnknown).
    """
    good = (e.told_us for e in history.of("JoinGroup", "SyncGroup", "Heartbeat") if e.error == "NONE")
    latest_us = max((at_us for at_us in good if at_us < now_us), default=0)
    return now_us - latest_us >= history.settings.session_timeout_ms * 1000


@checks("D2")
def lookups_are_shared(history: History) -> Iterator[Finding]:
    """At most one lookup is in flight; it may be given up for another, but not at will.

    Java's heartbeat thread gives up the lookup that is out, or sends the next one, each time that it wakes
    (AbstractCoordinator.HeartbeatThread.run, clearFindCoordinatorFuture): every retry.backoff.ms, and at `occasions`.
    """
    lookups = history.of("FindCoordinator")
    backoff_ms = history.settings.retry_backoff_ms
    for number, later in enumerate(lookups[1:], 1):
        out = [
            earlier
            for earlier in lookups[:number]
            if not earlier.ended_before(later.sent_us)
            and not history.connections_closed(earlier.sent_us, later.sent_us)
            and (later.sent_us - sent_from_us(history, earlier)) / 1000 < backoff_ms * JITTER
        ]
        shared = len(out) <= 1 or len(out) <= 1 + len(occasions(history, out[0], later))
        right = "FindCoordinator was shared, or given up for another as often as may be"
        wrong = f"{len(out) + 1} FindCoordinators within the retry backoff, none of which was answered"
        yield held_if(shared, right, f"{wrong} (retry.backoff.ms={backoff_ms})", later.sent_us)
    if len(lookups) == 1:
        yield held("one FindCoordinator was sent", lookups[0].sent_us)


def occasions(history: History, lookup: Exchange, again: Exchange) -> list[int]:
    """When a client could stop waiting for a lookup, or for its backoff, before it sent another.

    Whenever the application polls again: no pause outlives the poll in which it began (Kafka AbstractCoordinator
    ensureCoordinatorReady, Timer.sleep), and a poll wakes the heartbeat thread when a heartbeat is due (pollHeartbeat,
    notify). And whenever another answer says that the coordinator is gone, which wakes that thread too
    (HeartbeatThread.run, onFailure).
    """
    since_us = sent_from_us(history, lookup)
    told = (e.told_us for e in failed_for_good(history))
    return [*history.between_polls(since_us, again.sent_us), *(at for at in told if since_us < at <= again.sent_us)]


def sent_from_us(history: History, lookup: Exchange) -> int:
    """When a lookup was sent, at the earliest: not before an answer had said that the coordinator is gone."""
    found = [at_us for at_us, _ in coordinators(history) if at_us <= lookup.sent_us]
    known_us = max(found, default=0)
    told = (e.told_us for e in failed_for_good(history))
    lost_us = min((at_us for at_us in told if known_us < at_us <= lookup.sent_us), default=0)
    return max(lost_us, history.sent_from_us(lookup.sent_us))


@checks("D2")
def failed_lookup_is_repeated(history: History) -> Iterator[Finding]:
    """A lookup that found no coordinator is followed by another."""
    for exchange in history.answers("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"):
        again = history.first("FindCoordinator", exchange.sent_us + 1)
        if again is not None:
            yield held("a failed lookup was followed by another one", again.sent_us)
        else:
            reason = "no FindCoordinator after one that was answered COORDINATOR_NOT_AVAILABLE"
            yield from missing(history, reason, exchange.told_us)


@checks("D3")
def lookups_are_spaced(history: History) -> Iterator[Finding]:
    """After a failed lookup the retry backoff passes before the next, or there is an occasion not to wait so long.

    From attempt to attempt: Java's heartbeat thread wakes every retry.backoff.ms, whenever the answer came
    (AbstractCoordinator.HeartbeatThread.run). An occasion that is older than the answer explains only what follows it
    at once: the lookup was given up, not repeated. A lookup that had an occasion is the poll's, and does not shift the
    thread's pace.
    """
    backoff_ms = history.settings.retry_backoff_ms
    for exchange in history.answers("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"):
        again = history.first("FindCoordinator", exchange.told_us)
        if again is None:
            continue
        apart = (again.sent_us - sent_from_us(history, at_its_own_pace(history, exchange))) / 1000
        reason = f"the next FindCoordinator came {apart:.0f} ms after one that failed"
        if apart >= backoff_ms * JITTER:
            yield held(reason, again.sent_us)
            continue
        occasion = any(
            at_us >= exchange.told_us or history.took_ms(at_us, again.sent_us) <= AT_ONCE_MS
            for at_us in occasions(history, exchange, again)
        )
        right = f"{reason}, for the application's next poll or the next NOT_COORDINATOR"
        wrong = f"{reason}, and nothing new had asked for it (retry.backoff.ms={backoff_ms})"
        yield held_if(occasion, right, wrong, again.sent_us)


def at_its_own_pace(history: History, lookup: Exchange) -> Exchange:
    """The latest lookup up to this one that no occasion explains, or the first since the coordinator was lost."""
    lookups = history.of("FindCoordinator")
    place = lookups.index(lookup)
    while place > 0 and lookups[place - 1].error != "NONE" and occasions(history, lookups[place - 1], lookups[place]):
        place -= 1
    return lookups[place]


@checks("D3")
def a_loading_coordinator_is_asked_again(history: History) -> Iterator[Finding]:
    """COORDINATOR_LOAD_IN_PROGRESS: not in a spin; each of the application's polls may ask when it begins and ends."""
    backoff_us = 1000 * history.settings.retry_backoff_ms
    for exchange in history.of(*LOADED_FIRST):
        told = exchange.told_us
        if exchange.error != "COORDINATOR_LOAD_IN_PROGRESS" or not history.before_close(told):
            continue
        again = [e for e in history.between(told, told + backoff_us, exchange.api) if history.before_close(e.sent_us)]
        polls = sum(told <= poll.started_us <= told + backoff_us for poll in history.polls)
        wrong = f"{len(again)} times {exchange.api} within a retry backoff after COORDINATOR_LOAD_IN_PROGRESS"
        right = f"{exchange.api} was not repeated in a spin while the coordinator was loading"
        yield held_if(len(again) <= 2 * (polls + 2), right, wrong, told)


@checks("D3")
def what_passes_is_not_raised(history: History) -> Iterator[Finding]:
    """A JoinGroup that is refused in passing is sent again, and until then no poll raises anything."""
    for join in history.of("JoinGroup"):
        again = history.first("JoinGroup", join.told_us)
        if join.error not in PASSING or again is None:
            continue
        errors = [e for at_us, e in history.events(ErrorRaised) if join.told_us <= at_us <= again.sent_us]
        raised = [error for error in errors if error.call == "poll" and not error.woken]
        wrong = f"poll raised {raised[0].error} after JoinGroup was answered {join.error}" if raised else ""
        yield held_if(not raised, "a JoinGroup that was refused in passing raised nothing", wrong, join.told_us)


@checks("D4")
def only_the_coordinator_is_spoken_to(history: History) -> Iterator[Finding]:
    """Group requests go to the node that the latest successful lookup named, never to another."""
    found = coordinators(history)
    count = 0
    for exchange in history.of(*GROUP_APIS):
        known = [(at_us, node) for at_us, node in found if at_us <= exchange.sent_us]
        if not known:
            yield broken(f"{exchange.api} was sent before a coordinator was found", exchange.sent_us)
            continue
        count += 1
        found_us, node = known[-1]
        spoken = (e for e in history.of(*GROUP_APIS) if e.sent_us >= found_us and e.request.node == node)
        shown = Known.by(found_us, next(spoken, None))  # the first group request to that node shows it
        if exchange.request.node != node and shown.before(exchange, history):
            yield broken(f"{exchange.api} went to node {exchange.request.node}, not to {node}", exchange.sent_us)
    if count:
        yield held(f"{count} group requests, each to the coordinator", history.ends_us)


@once
def coordinators(history: History) -> list[tuple[int, int]]:
    """When a lookup was answered with which node, in the order of the answers, in which two that are out may swap."""
    found = ((e.told_us, e.answered(FindCoordinatorResponse)) for e in history.answers("FindCoordinator", "NONE"))
    return sorted((at_us, answer.node_id) for at_us, answer in found if answer is not None)


@checks("D8", needs="assign", rebalance="eager")  # without a group there is no protocol: it is judged once
def who_assigns_by_hand_joins_no_group(history: History) -> Iterator[Finding]:
    """No request of a member, and no lookup of a coordinator but for what is committed."""
    if history.assigned_by_hand:
        sent = history.of("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
        wrong = f"{sent[0].api} of a consumer whose partitions the application has assigned" if sent else ""
        yield none_of(sent, wrong, "partitions were assigned by hand, and no group was joined", history.ends_us)


@checks("D4")
def nobody_is_spoken_to_while_unknown(history: History) -> Iterator[Finding]:
    """Between NOT_COORDINATOR and the next successful lookup there is no group request."""
    found = coordinators(history)
    for exchange in failed_for_good(history):
        lost = exchange.told_us
        known_again = next((at_us for at_us, _ in found if at_us > lost), history.ends_us)
        knows = Known.of(exchange, history.first("FindCoordinator", lost))
        early = [e for e in history.between(lost, known_again, *GROUP_APIS) if knows.before(e, history)]
        wrong = f"{early[0].api} was sent while the coordinator was unknown" if early else ""
        yield none_of(early, wrong, "no group request while the coordinator was unknown", known_again)
