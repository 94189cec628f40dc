"""What happens in a run, by name: which call meets what is under way, and which setting's time is over meanwhile.

Read from a run's history alone. Names are those of `needs`: "close in syncing", "auto.commit.interval.ms in joining",
"Fetch silent", "Fetch and Metadata silent", "Fetch late", "OffsetFetch failing".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from groupspec.conformance.history.exchange import NO_MEMBER, Exchange
from groupspec.conformance.history.harness_protocol import (
    CALLBACKS,
    Close,
    Commit,
    Configure,
    Pause,
    PollReturned,
    Resume,
    Seek,
    Subscribe,
    Unsubscribe,
    Wakeup,
    name_of,
)
from groupspec.conformance.history.history import History
from groupspec.impl.core.messages import FetchResponse

PATH: Final = ("without-coordinator", "joining", "syncing", "reading-positions", "stable")
"""What a member does on its way, in its order."""
UPSET: Final = ("announced", "lost")
"""A rebalance, or the end of the membership, has been told, and JoinGroup is still to be sent."""
CALLBACK: Final = tuple(f"{name.removeprefix('partitions_')}-callback" for name in CALLBACKS)
BESIDE: Final = ("committing", "records-in-hand")
CALLS: Final = (Close, Unsubscribe, Subscribe, Commit, Seek, Pause, Resume, Wakeup)
OF_A_MEMBER: Final = ("Heartbeat", "OffsetCommit", "Fetch", "Metadata", "FindCoordinator")
"""What a stable member may have unanswered, one beside the other."""
APIS: Final = (
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "OffsetFetch",
    "ListOffsets",
    *OF_A_MEMBER[:4],
    "LeaveGroup",
)
NO_FAILURE: Final = ("NONE", "MEMBER_ID_REQUIRED")
POLL_INTERVAL: Final = "max.poll.interval.ms"
JUST_US: Final = 50_000
"""Before a time is over: what is under way then has not been ended by that."""
NEVER_MS: Final = 1_000_000_000
SILENT_MS: Final = 300
"""So long two requests are unanswered at once: several heartbeat intervals."""


@dataclass(frozen=True)
class Stretch:
    """From when to when something was under way, in microseconds."""

    from_us: int
    to_us: int

    def holds(self, at_us: int) -> bool:
        """Whether that moment is in it."""
        return self.from_us <= at_us < self.to_us

    def takes(self, ms: int) -> bool:
        """Whether it is longer than that."""
        return self.to_us - self.from_us > 1000 * ms


Stretches = Mapping[str, Sequence[Stretch]]


def occasions(history: History) -> frozenset[str]:
    """The names of what happens in it."""
    under_way = _under_way(history)
    return frozenset((*_calls(history, under_way), *_times(history, under_way), *_answers(history)))


def _under_way(history: History) -> Stretches:
    found: dict[str, list[Stretch]] = {
        "without-coordinator": list(_series(history, "FindCoordinator")),
        "joining": _unanswered(history, "JoinGroup"),
        "syncing": _unanswered(history, "SyncGroup"),
        "reading-positions": _unanswered(history, "OffsetFetch", "ListOffsets"),
        "announced": list(_until_it_joins(history, "REBALANCE_IN_PROGRESS")),
        "lost": list(_until_it_joins(history, *NO_MEMBER)),
        "committing": _unanswered(history, "OffsetCommit"),
        "records-in-hand": list(_in_hand(history)),
        **{name: [] for name in CALLBACK},
    }
    for callback in history.callbacks:
        if callback.partitions:
            name = f"{callback.name.removeprefix('partitions_')}-callback"
            found[name].append(Stretch(callback.started_us, callback.ended_us or history.ends_us))
    found["stable"] = list(_stable(history, found))
    return found


def _span(history: History, exchange: Exchange) -> Stretch:
    return Stretch(exchange.sent_us, exchange.told_us or history.ends_us)


def _unanswered(history: History, *apis: str) -> list[Stretch]:
    return [_span(history, exchange) for exchange in history.of(*apis)]


def _series(history: History, api: str) -> Iterator[Stretch]:
    """From a request to the first answer that succeeds, over all that are tried meanwhile."""
    begun: int | None = None
    for exchange in history.of(api):
        begun = exchange.sent_us if begun is None else begun
        if exchange.error == "NONE":
            yield Stretch(begun, exchange.told_us)
            begun = None
    if begun is not None:
        yield Stretch(begun, history.ends_us)


def _until_it_joins(history: History, *errors: str) -> Iterator[Stretch]:
    for exchange in history.of("Heartbeat", "OffsetCommit"):
        if exchange.error in errors:
            joined = history.first("JoinGroup", exchange.told_us)
            yield Stretch(exchange.told_us, joined.sent_us if joined else history.ends_us)


def _in_hand(history: History) -> Iterator[Stretch]:
    """From an answer with records that no poll was waiting for, to the return of the next poll."""
    for exchange in history.of("Fetch"):
        answer = exchange.answered(FetchResponse)
        brings = answer is not None and any(each.record_bytes for each in answer.partitions.values())
        if brings and not _polls(history, exchange.told_us):
            later = (at_us for at_us, _ in history.events(PollReturned) if at_us > exchange.told_us)
            yield Stretch(exchange.told_us, next(later, history.ends_us))


def _polls(history: History, at_us: int) -> bool:
    """Whether a poll is under way."""
    return any(poll.started_us <= at_us < (poll.ended_us or history.ends_us) for poll in history.polls)


def _stable(history: History, others: Stretches) -> Iterator[Stretch]:
    """From the answer to SyncGroup to the next JoinGroup or LeaveGroup, less what else is under way."""
    ends = sorted(exchange.sent_us for exchange in history.of("JoinGroup", "LeaveGroup"))
    upset = [each for name in (*PATH[:4], *UPSET, *CALLBACK) for each in others[name]]
    for sync in history.syncs:
        end_us = next((at_us for at_us in ends if at_us > sync.told_us), history.ends_us)
        edges = sorted({sync.told_us, end_us, *(us for each in upset for us in (each.from_us, each.to_us))})
        for from_us, to_us in pairwise(us for us in edges if sync.told_us <= us <= end_us):
            if not any(each.holds(from_us) for each in upset):
                yield Stretch(from_us, to_us)


# Calls ---------------------------------------------------------------------------------------------------------------


def _calls(history: History, under_way: Stretches) -> Iterator[str]:
    """Each call, in all that is under way as it begins."""
    for name, at_us in _called(history):
        yield from (f"{name} in {state}" for state, spans in under_way.items() if any(s.holds(at_us) for s in spans))
    for configured in history.commands(Configure)[:1]:
        for callback, does in configured[1].in_callback.items():
            if any(each.name == callback and each.partitions for each in history.callbacks):
                yield f"{does} in {callback.removeprefix('partitions_')}-callback"


def _called(history: History) -> Iterator[tuple[str, int]]:
    """The calls that the kit asked for, and when they begin: all but a wakeup between two polls."""
    for kind in CALLS:
        for asked_us, command in history.commands(kind):
            ends = (poll.ended_us or history.ends_us for poll in history.polls if poll.started_us <= asked_us)
            last_us = max(ends, default=0)
            at_us = asked_us if isinstance(command, Wakeup) else max(asked_us, last_us)
            yield name_of(kind) + ("-at-once" if getattr(command, "timeout_ms", None) == 0 else ""), at_us


# Times ---------------------------------------------------------------------------------------------------------------


def _times(history: History, under_way: Stretches) -> Iterator[str]:
    """Each setting whose time is over while something is under way; the poll interval: while nothing polls, too."""
    for setting, ms in lengths_ms(history).items():
        if setting == POLL_INTERVAL:
            over = list(_poll_interval_over(history, ms))
            found = {state for state, spans in under_way.items() for us in over if any(s.holds(us) for s in spans)}
            found |= {state for state in CALLBACK if any(span.takes(ms) for span in under_way[state])}
        else:
            found = {state for state, spans in under_way.items() if any(span.takes(ms) for span in spans)}
        yield from (f"{setting} over in {state}" for state in found)


def _poll_interval_over(history: History, ms: int) -> Iterator[int]:
    """Just before so much time has passed since a poll began, or ended that took longer, and no other one has begun.

    A poll that takes longer puts the interval off while it waits, too, last at a moment of its own (as Java's, each
    time that it looks at the coordinator): then the member may leave before so much time has passed since its end.
    """
    for poll, later in pairwise([*history.polls, None]):
        if poll is not None and poll.ended_us is not None:
            over_us = poll.started_us + 1000 * ms
            if poll.ended_us > over_us:
                over_us = poll.ended_us + 1000 * ms
                left = history.first("LeaveGroup", poll.ended_us)
                over_us = min(over_us, left.sent_us) if left is not None else over_us
            if poll.ended_us < over_us < (later.started_us if later is not None else history.until_close_us):
                yield over_us - JUST_US


def lengths_ms(history: History) -> Mapping[str, int]:
    """The run's settings that are times, by Kafka's names."""
    settings = history.settings
    found = {
        "heartbeat.interval.ms": settings.heartbeat_interval_ms,
        "session.timeout.ms": settings.session_timeout_ms,
        POLL_INTERVAL: settings.max_poll_interval_ms,
        "auto.commit.interval.ms": settings.auto_commit_interval_ms if settings.auto_commit else NEVER_MS,
    }
    for _, configure in history.commands(Configure)[:1]:
        found |= {name: int(text) for name, text in configure.more.items() if name.endswith(".ms")}
    return found


# Answers -------------------------------------------------------------------------------------------------------------


def _answers(history: History) -> Iterator[str]:
    """Requests that nobody answers within the request timeout, two at once, late answers, failures in a row."""
    settings = history.settings
    silent: dict[str, list[Stretch]] = {}
    for api in APIS:
        exchanges = history.of(api)
        spans = [_span(history, each) for each in exchanges]
        silent[api] = [span for span, each in zip(spans, exchanges, strict=True) if each.answer is None]
        if any(span.takes(settings.request_timeout_ms) for span in silent[api]):
            yield f"{api} silent"
        late = (s for s, each in zip(spans, exchanges, strict=True) if each.answer is not None)
        if any(span.takes(settings.heartbeat_interval_ms) for span in late):
            yield f"{api} late"
        if any(a.error == b.error not in NO_FAILURE for a, b in pairwise(exchanges) if a.answer and b.answer):
            yield f"{api} failing"
    for one, other in combinations(OF_A_MEMBER, 2):
        if any(_together(a, b).takes(SILENT_MS) for a in silent[one] for b in silent[other]):
            yield f"{one} and {other} silent"


def _together(one: Stretch, other: Stretch) -> Stretch:
    return Stretch(max(one.from_us, other.from_us), min(one.to_us, other.to_us))
