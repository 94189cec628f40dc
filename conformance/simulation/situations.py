"""Rare situations: named beforehand, each the trigger of a known bug; and whether a run has met them.

A campaign that meets a situation seldom proves little about it, whatever it did not find. `situations.toml` names them;
here is what each looks like, told by the request that ends, by what the core says, or by what the application does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from groupspec.conformance.simulation.member import Member
from groupspec.impl.core.events import SendRequest
from groupspec.impl.core.messages import ErrorCode, JoinGroupResponse, Response, TopicPartition
from groupspec.impl.core.protocol import decode_subscription
from groupspec.impl.core.rebalance import IN_A_ROUND, RebalanceState
from groupspec.impl.scripted import api_of
from groupspec.impl.trace import TraceEvent
from groupspec.spec.datafile import Record, read_entries


class Situation(Record, frozen=True):
    """One that should occur often in a campaign.

    Attributes:
        id: Its name in counters.
        statement: What it is.
        bugs: The known bugs whose trigger it is; none, where it is a mutant's only.
    """

    id: str
    statement: str
    bugs: tuple[str, ...]


SITUATIONS: Final = read_entries(Path(__file__).with_suffix(".toml"), Situation)

_GONE: Final = (ErrorCode.DISCONNECTED, ErrorCode.TIMED_OUT)
_NOT_THERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_EXPELLED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
_RETRIABLE: Final = (*_GONE, *_NOT_THERE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Moment:
    """A request of a process ends: with an answer, an error, or without an answer."""

    __slots__ = ("error", "process", "request", "response", "state", "took_ms")

    def __init__(
        self, process: Member, request: SendRequest, response: Response, error: ErrorCode, took_ms: int
    ) -> None:
        self.process: Member = process
        self.request, self.response = request, response
        self.error: ErrorCode = error
        self.took_ms: int = took_ms
        self.state: RebalanceState = process.core.membership.state

    @property
    def owned(self) -> tuple[TopicPartition, ...]:
        """What the process owns."""
        return self.process.subscription.assignment()

    @property
    def cooperative(self) -> bool:
        """The rebalance protocol."""
        return self.process.plan.config.cooperative


Answer = Callable[[Moment], bool]
_IN_ROUND_OR_BEFORE: Final = (*IN_A_ROUND, RebalanceState.PREPARE_REVOCATION, RebalanceState.REVOKING_PARTITION)
_FAILED: Final[dict[str, dict[str, Answer]]] = {
    "FindCoordinator": {
        "lookup-fails": lambda m: True,
        "lookup-unanswered": lambda m: m.error in _GONE,
    },
    "JoinGroup": {
        "join-coordinator-gone": lambda m: m.error in (*_NOT_THERE, *_GONE),
        "join-loading": lambda m: m.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        "join-id-required": lambda m: m.error is ErrorCode.MEMBER_ID_REQUIRED,
        "join-rebalance-in-progress": lambda m: m.error is ErrorCode.REBALANCE_IN_PROGRESS,
        "join-id-unknown": lambda m: m.error is ErrorCode.UNKNOWN_MEMBER_ID,
    },
    "SyncGroup": {
        "sync-lost": lambda m: m.error in _GONE,
        "sync-rebalance-owning": lambda m: m.error in (ErrorCode.REBALANCE_IN_PROGRESS, *_EXPELLED) and bool(m.owned),
        "sync-coordinator-moved": lambda m: m.error in (*_NOT_THERE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    },
    "Heartbeat": {
        "heartbeat-coordinator-moved": lambda m: m.error in _NOT_THERE,
        "heartbeat-unanswered": lambda m: m.error is ErrorCode.TIMED_OUT,
        "heartbeat-disconnected": lambda m: m.error is ErrorCode.DISCONNECTED,
        "heartbeat-rebalance": lambda m: m.error is ErrorCode.REBALANCE_IN_PROGRESS,
        "heartbeat-expelled-stable": lambda m: m.error in _EXPELLED and m.state is RebalanceState.STABLE,
        "heartbeat-expelled-in-callback": lambda m: m.error in _EXPELLED and m.process.application.is_in_callback,
        "expelled-while-rebalancing": lambda m: (
            m.error is ErrorCode.UNKNOWN_MEMBER_ID and m.state is not RebalanceState.STABLE and bool(m.owned)
        ),
    },
    "OffsetCommit": {
        "commit-rebalance-in-progress": lambda m: m.error is ErrorCode.REBALANCE_IN_PROGRESS,
        "commit-illegal-generation": lambda m: m.error is ErrorCode.ILLEGAL_GENERATION,
        "commit-expelled-in-round": lambda m: m.error in _EXPELLED and m.state in _IN_ROUND_OR_BEFORE,
        "commit-before-revocation-fails": lambda m: (
            m.error in _RETRIABLE and m.state is RebalanceState.PREPARE_REVOCATION
        ),
        "commit-before-revocation-expelled": lambda m: (
            m.error in _EXPELLED and m.state is RebalanceState.PREPARE_REVOCATION
        ),
        "commit-expelled-cooperative": lambda m: m.error in _EXPELLED and m.cooperative,
        "commits-cut-together": lambda m: m.error in _GONE and m.process.link.has_sent("OffsetCommit"),
    },
    "OffsetFetch": {
        "offsets-unanswered": lambda m: m.error in _GONE,
        "offsets-unstable": lambda m: m.error is ErrorCode.UNSTABLE_OFFSET_COMMIT,
    },
    "LeaveGroup": {"leave-unanswered": lambda m: m.error in _GONE},
}
"""API -> situation -> whether the failure of such a request is one, just before the core hears of it."""

_ENDED: Final[dict[str, dict[str, Answer]]] = {
    "JoinGroup": {
        "join-outlasts-session": lambda m: m.took_ms > m.process.plan.config.session_timeout_ms,
        "conflicting-claims": lambda m: _claims_conflict(m.response),
    },
    "SyncGroup": {
        "assignment-outdated": lambda m: not m.error and m.process.core.membership.rejoin_again,
        "auto-commit-due-in-round": lambda m: (
            m.process.core.timers.deadline_ms("auto_commit") is not None
            and m.took_ms > 0
            and (m.process.core.timers.deadline_ms("auto_commit") or 0) <= m.process.loop.now_ms + 1_000
        ),
    },
    "OffsetCommit": {"commit-slow": lambda m: m.took_ms > m.process.plan.config.auto_commit_interval_ms},
    "Fetch": {"fetch-outdated": lambda m: not m.error and not _asked(m) <= set(m.owned)},
}
"""The same, whether it has failed or not."""


def _asked(moment: Moment) -> set[TopicPartition]:
    return set(getattr(moment.request.request, "offsets", ()))


def _claims_conflict(response: Response) -> bool:
    """Whether the leader is told of two members that claim the same partition."""
    if not isinstance(response, JoinGroupResponse) or response.protocol_name != "cooperative-sticky":
        return False
    claims: Counter[TopicPartition] = Counter()
    for member in response.members:
        claims.update(decode_subscription(member.metadata).owned)
    return any(count > 1 for count in claims.values())


_NO_ANSWER: Final = ("DISCONNECTED", "TIMED_OUT")
Told = Callable[["Member", TraceEvent], bool]
_TOLD: Final[dict[str, dict[str, Told]]] = {
    "join_answered": {"late-join-answer": lambda p, e: bool(e.detail.get("late")) and e.error not in _NO_ANSWER},
    "heartbeat_answered": {
        "late-heartbeat-error": lambda p, e: bool(e.detail.get("late")) and e.error not in ("NONE", *_NO_ANSWER)
    },
    "heartbeat_sent": {"heartbeat-in-callback": lambda p, e: p.application.is_in_callback},
    "join_sent": {"offsets-asked-at-join": lambda p, e: p.link.has_sent("OffsetFetch")},
    "poll": {
        "poll-without-coordinator": lambda p, e: e.generation >= 0 and not p.core.connection.is_known,
        "poll-longer-than-interval": lambda p, e: (
            p.application.is_polling
            and p.loop.now_ms - p.application.poll_began_ms > p.plan.config.max_poll_interval_ms
        ),
    },
    "poll_expired": {
        "poll-interval-over-owning": lambda p, e: bool(p.subscription.assignment()),
        "poll-interval-over-in-callback": lambda p, e: p.application.is_in_callback,
        "poll-interval-over-in-round": lambda p, e: p.core.membership.state in IN_A_ROUND,
    },
    "coordinator_lost": {"coordinator-lost-uncommitted": lambda p, e: bool(p.subscription.positions.to_commit())},
    "subscribed": {"topics-change-in-round": lambda p, e: p.core.membership.state in IN_A_ROUND},
    "unsubscribed": {
        "unsubscribe-owning": lambda p, e: bool(p.subscription.assignment()),
        "unsubscribe-cooperative": lambda p, e: p.plan.config.cooperative and e.generation >= 0,
    },
    "assigned": {"nothing-assigned": lambda p, e: not p.subscription.assignment()},
}
"""What the core says -> situation -> whether it is one then."""


class Watch:
    """Counts the situations of one run."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._sent_ms: dict[tuple[str, int], int] = {}
        self._owners: dict[TopicPartition, list[int]] = {}

    def sent(self, process: Member, request: SendRequest) -> None:
        """A request leaves a process."""
        self._sent_ms[process.name, request.request_id] = process.loop.now_ms

    def received(self, process: Member, request: SendRequest, response: Response, error: ErrorCode) -> None:
        """A request has ended; the core does not know yet."""
        sent_ms = self._sent_ms.pop((process.name, request.request_id), process.loop.now_ms)
        if error is ErrorCode.FENCED_INSTANCE_ID:
            self.seen["fenced"] += 1
        api = api_of(request.request)
        for table in (_ENDED, _FAILED) if error else (_ENDED,):
            if (known := table.get(api)) is not None:
                moment = Moment(process, request, response, error, process.loop.now_ms - sent_ms)
                self._count(known, moment)

    def _count(self, known: dict[str, Answer], moment: Moment) -> None:
        for name, is_it in known.items():
            if is_it(moment):
                self.seen[name] += 1

    def served(self, request: SendRequest, is_stale: bool) -> None:
        """A broker has done what a request wanted; `is_stale`: nobody will ever hear of it."""
        if is_stale and api_of(request.request) in ("JoinGroup", "SyncGroup", "OffsetCommit"):
            self.seen["done-unheard"] += 1

    def told(self, process: Member, event: TraceEvent) -> None:
        """A core has told what it does."""
        if (known := _TOLD.get(event.event)) is not None:
            for name, is_it in known.items():
                if is_it(process, event):
                    self.seen[name] += 1

    def landed(self, is_of_old: bool) -> None:
        """A commit was accepted."""
        self.seen["commit-lands-on-new-topic"] += is_of_old

    def told_topic(self, is_gone: bool) -> None:
        """Metadata have told a process of a topic."""
        self.seen["metadata-behind"] += is_gone

    def held_back(self) -> None:
        """A process has to hold back."""
        self.seen["held-back"] += 1

    def sent_when_closed(self) -> None:
        """A request has found its connection closed."""
        self.seen["sent-when-closed"] += 1

    def assigned(self, process: Member, partition: TopicPartition) -> None:
        """A partition has an owner; it comes back to one who had it before somebody else."""
        before = self._owners.setdefault(partition, [])
        number = process.plan.number
        if before[-1:] != [number]:
            if number in before:
                self.seen["partition-comes-back"] += 1
                before.remove(number)
            before.append(number)

    def commits(self, process: Member) -> None:
        """The application commits."""
        if not process.core.connection.is_known:
            self.seen["commit-without-coordinator"] += 1

    def closes(self, process: Member) -> None:
        """The application calls close()."""
        self.seen["close-without-coordinator"] += not process.core.connection.is_known
        self.seen["close-in-round"] += process.core.membership.state in IN_A_ROUND
        self.seen["close-uncommitted"] += bool(process.subscription.positions.to_commit())
        self.seen["close-heartbeat-under-way"] += process.link.has_sent("Heartbeat")

    def callback_ran(self, process: Member, took_ms: int) -> None:
        """A rebalance callback has returned."""
        self.seen["callback-outlasts-session"] += took_ms > process.plan.config.session_timeout_ms

    def went_on(self, process: Member, stood_ms: int) -> None:
        """A process that stood still goes on."""
        if stood_ms > process.plan.config.session_timeout_ms and process.subscription.assignment():
            self.seen["stood-still-owning"] += 1
