"""A consumer and the group, coordinator and application around it.

The stage on which one commit is watched (`commits.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.conformance.stateful.answers import PARTITIONS, TOPIC, Coordinator
from groupspec.conformance.stateful.core_adapter import config_for
from groupspec.conformance.stateful.translation import api_of
from groupspec.impl.core import errors
from groupspec.impl.core import events as impl
from groupspec.impl.core.core import Core
from groupspec.impl.core.events import CompleteFuture, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchResponse,
    OffsetCommitRequest,
    Request,
)
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.spec.compiler.member import Member, MemberState

SUBJECT, EARLIER = PARTITIONS[:2]
IN_ROUND = ("PREPARING_REBALANCE", "COMPLETING_REBALANCE")
_ENDINGS = (
    (errors.RebalanceInProgressError, "COMMIT_REBALANCING"),
    (errors.CommitFailedError, "COMMIT_FAILED"),
    (errors.RetriableCommitFailedError, "COMMIT_RETRIABLE"),
    (errors.FencedInstanceIdError, "COMMIT_FENCED"),
    (errors.KafkaTimeoutError, "COMMIT_TIMED_OUT"),
    (errors.ConsumerClosedError, "COMMIT_CLOSED"),
)
DEADLINE_MS = 60_000


@dataclass
class Watched:
    """The commit that the machine is about."""

    future_id: int | None
    purpose: str
    covers_nothing: bool = False
    request_id: int | None = None


class CommitStage:
    """A core in a group of its own, of which one commit is watched."""

    def __init__(self, member: Member, start: MemberState) -> None:
        self.config = config_for(member, start)
        self.coordinator = Coordinator()
        self.now_ms = 1_000
        self._futures = 0
        self._offset = 100
        self._begin()

    def _begin(self) -> None:
        self.subscription = SubscriptionState()
        self.core = Core(self.config, self.subscription)
        self.open: dict[int, Request] = {}
        self.watched: Watched | None = None
        self.earlier: int | None = None
        self.emitted: list[str] = []
        self.carried: list[tuple[bool, bool]] = []
        self._closing = False
        self._refused = False
        self._give(impl.Start())
        self._give(impl.Subscribe((TOPIC,)))

    # What is so -------------------------------------------------------------------------------------------------------

    @property
    def knows_coordinator(self) -> bool:
        """Whether there is somebody to commit to."""
        return self.core.describe().connection == "STABLE"

    @property
    def standing(self) -> str:
        """What the consumer is to the group, in the machine's words."""
        now = self.core.describe()
        if self.subscription.is_manual():
            return "manual"
        if now.rebalance in IN_ROUND:
            return "in_round"
        return "member" if now.member_id and now.generation >= 0 else "outside"

    @property
    def identity(self) -> tuple[str, int]:
        """Member id and generation."""
        now = self.core.describe()
        return now.member_id, now.generation

    @property
    def is_out(self) -> bool:
        """Whether the request of the watched commit is out."""
        return self.watched is not None and self.watched.request_id in self.open

    def covers(self, watched: Watched | None) -> str:
        """What a commit covers; None: what an automatic one would."""
        if watched is None or watched.future_id is None:
            return "something" if self.subscription.to_commit() else "nothing"
        return "nothing" if watched.covers_nothing else "something"

    def _asks(self, *apis: str) -> int | None:
        newest = reversed(self.open.items())
        return next((number for number, request in newest if api_of(request) in apis), None)

    def _ask(self) -> None:
        """The application asks for committed offsets: that needs a coordinator."""
        self._expire("lookup_backoff", "offsets_backoff")
        self._give(impl.FetchCommitted((EARLIER,), self._future(), self.now_ms + DEADLINE_MS))

    def _expire(self, *timers: str) -> None:
        for timer in timers:
            if self.core.timers.is_armed(timer):
                self.core.timers.expire_now(timer, self.now_ms)
                self._give(impl.TimerExpired(timer))

    def _consume(self, covered: bool, unprocessed: bool) -> None:
        """There is something to commit, or not; and the application has records that it is still working on, or not."""
        self.subscription.poll_started()
        self.subscription.set_committed(self.subscription.to_commit())
        self._offset += 10
        if covered or unprocessed:
            self.subscription.seek(SUBJECT, self._offset)
            self.subscription.poll_started()
        if not covered:
            self.subscription.set_committed(self.subscription.to_commit())
        if unprocessed:
            self._return_record()

    def _return_record(self) -> None:
        self._give(impl.Fetch())
        number = self._asks("Fetch")
        assert number is not None
        found = FetchResponse({SUBJECT: FetchedPartition(b"a record", 1_000, ErrorCode.NONE)})
        del self.open[number]
        self._give(impl.ResponseReceived(number, found))
        buffered = self.subscription.next_buffered()
        assert buffered is not None
        assert self.subscription.advance(buffered, self._offset, self._offset + 1, exhausted=True)

    # The group around it ----------------------------------------------------------------------------------------------

    def _stand(self, wanted: str, same: bool, owned: bool) -> None:
        if self.standing == "manual" and wanted != "manual":
            self._leave()
            self._give(impl.Subscribe((TOPIC,)))
            return
        if self.core.describe().fenced:
            self._leave()
            self._give(impl.Subscribe((TOPIC,)))
        match wanted:
            case "manual" if self.standing == "manual":
                pass
            case "manual":
                self._leave()
                self._give(impl.Assign((SUBJECT, EARLIER)))
            case "outside" if self.standing == "outside":
                pass
            case "outside":
                self.core.timers.expire_now("heartbeat", self.now_ms)
                self._give(impl.TimerExpired("heartbeat"))
                number = self._asks("Heartbeat")
                assert number is not None
                self._answer(number, ErrorCode.UNKNOWN_MEMBER_ID)
            case "member":
                if self.standing == "member":
                    self._give(impl.EnforceRebalance("a test wants it"))
                    self._until(lambda: self._asks("JoinGroup") is not None, "FindCoordinator")
                self._until(
                    lambda: self.core.describe().rebalance == "STABLE",
                    "FindCoordinator",
                    "JoinGroup",
                    "SyncGroup",
                    owned=owned,
                )
            case _:
                if self.standing == "member":
                    self._give(impl.EnforceRebalance("a test wants it"))
                self._until(lambda: self.core.describe().rebalance in IN_ROUND, "FindCoordinator")
                if not same and self.core.describe().rebalance == "PREPARING_REBALANCE":
                    self._until(lambda: self._asks("SyncGroup") is not None, "FindCoordinator", "JoinGroup")

    def _until(self, reached: object, *answered: str, owned: bool = True) -> None:
        """Do what the group and the application would do, until something is so."""
        assert callable(reached)
        for _ in range(40):
            if reached():
                return
            number = self._asks(*answered)
            state = self.core.describe().rebalance
            if number is not None:
                self._answer(number, ErrorCode.NONE, (SUBJECT, EARLIER) if owned else (EARLIER,))
            elif state == "REVOKING_PARTITION":
                self._give(impl.CallbackStarted())
                self._give(impl.PartitionsRevoked())
            elif state == "ASSIGNING_PARTITIONS":
                self._give(impl.PartitionsAssigned())
            else:
                self._expire("join_backoff", "lookup_backoff")
                self._poll()
        raise AssertionError(f"the group does not get there: {self.core.describe()}")

    def _poll(self) -> None:
        self.subscription.poll_started()
        self._give(impl.Poll())

    def _leave(self) -> None:
        self._give(impl.Unsubscribe(self._future()))
        self._until(lambda: not self.core.describe().leaving and not self.core.describe().subscribed, "LeaveGroup")

    def _close(self) -> None:
        """The consumer is closed, and another takes its place."""
        self._closing = True
        if self.core.describe().connection != "DOWN":
            self._give(impl.Close(self._future(), self.now_ms))
            self._give(impl.TimerExpired("close_deadline"))
        told = list(self.emitted)
        self._begin()
        self.emitted.extend(told)

    # Requests, and what comes of them
    # -----------------------------------------------------------------------------------

    def _future(self) -> int:
        self._futures += 1
        return self._futures

    def _earlier_request(self) -> int:
        return next(
            n for n, r in reversed(self.open.items()) if isinstance(r, OffsetCommitRequest) and EARLIER in r.offsets
        )

    def _answer(self, number: int, error: ErrorCode, assigned: tuple[object, ...] = ()) -> None:
        partitions = tuple(p for p in PARTITIONS if p in assigned)
        response = self.coordinator.answer(self.open.pop(number), error, partitions)
        self._give(impl.ResponseReceived(number, response))

    def _give(self, event: impl.InputEvent) -> None:
        for output in self.core.handle(event, self.now_ms):
            if isinstance(output, SendRequest):
                self._sent(output.request_id, output.request)
            elif isinstance(output, CompleteFuture):
                self._completed(output)

    def _sent(self, number: int, request: Request) -> None:
        self.open[number] = request
        if api_of(request) == "Metadata":
            self._answer(number, ErrorCode.NONE)
        elif isinstance(request, OffsetCommitRequest) and EARLIER not in request.offsets:
            self.emitted.append("OffsetCommit")
            self.carried.append(
                (bool(request.member_id) and request.generation >= 0, request.group_instance_id is not None)
            )
            if self.watched is not None:
                self.watched.request_id = number

    def _completed(self, output: CompleteFuture) -> None:
        if output.future_id == self.earlier:
            self.earlier = None
        elif self.watched is not None and output.future_id == self.watched.future_id:
            self.watched = None
            self.emitted.append(self._ending(output.error))

    def _ending(self, error: Exception | None) -> str:
        if error is None:
            return "COMMIT_DONE"
        if self._closing:
            return "COMMIT_CLOSED"
        return next((word for kind, word in _ENDINGS if isinstance(error, kind)), "COMMIT_REFUSED")
