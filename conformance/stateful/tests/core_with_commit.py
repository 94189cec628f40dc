"""A core in a group of its own, of which one commit is watched: what group, coordinator and application do around it.

`commits.py` brings about with it what the commit machine is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from groupspec.conformance.stateful.core_adapter import config_for
from groupspec.conformance.stateful.correspondence import PARTITIONS, TOPIC
from groupspec.impl.core import errors
from groupspec.impl.core import events as impl
from groupspec.impl.core.events import CompleteFuture, SendRequest
from groupspec.impl.core.messages import (
    ErrorCode,
    FetchedPartition,
    FetchResponse,
    OffsetCommitRequest,
    TopicPartition,
)
from groupspec.impl.scripted import ScriptedCoordinator, ScriptedCore
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


class CoreWithCommit(ScriptedCore):
    """A core in a group of its own, of which one commit is watched."""

    def __init__(self, member: Member, start: MemberState) -> None:
        self._futures = 0
        self._offset = 100
        super().__init__(config_for(member, start), ScriptedCoordinator())
        self._begin()

    def _begin(self) -> None:
        self.watched: Watched | None = None
        self.earlier: int | None = None
        self.emitted: list[str] = []
        self.carried: list[tuple[bool, bool]] = []
        self._closing = False
        self._refused = False
        self.do(impl.Start())
        self.do(impl.Subscribe((TOPIC,)))

    # What is so -------------------------------------------------------------------------------------------------------

    @property
    def knows_coordinator(self) -> bool:
        """Whether there is somebody to commit to."""
        return self.describe().connection == "STABLE"

    @property
    def standing(self) -> str:
        """What the consumer is to the group, in the machine's words."""
        now = self.describe()
        if self.subscription.is_manual():
            return "manual"
        if now.rebalance in IN_ROUND:
            return "in_round"
        return "member" if now.member_id and now.generation >= 0 else "outside"

    @property
    def identity(self) -> tuple[str, int]:
        """Member id and generation."""
        now = self.describe()
        return now.member_id, now.generation

    @property
    def is_out(self) -> bool:
        """Whether the request of the watched commit is out."""
        return self.watched is not None and any(sent.request_id == self.watched.request_id for sent in self.unanswered)

    def covers(self, watched: Watched | None) -> str:
        """What a commit covers; None: what an automatic one would."""
        if watched is None or watched.future_id is None:
            return "something" if self.subscription.positions.to_commit() else "nothing"
        return "nothing" if watched.covers_nothing else "something"

    def _ask(self) -> None:
        """The application asks for committed offsets: that needs a coordinator."""
        self._expire_if_armed("lookup_backoff", "offsets_backoff")
        self.do(impl.FetchCommitted((EARLIER,), self._future(), self.now_ms + DEADLINE_MS))

    def _expire_if_armed(self, *timers: str) -> None:
        for timer in timers:
            if self.core.timers.is_armed(timer):
                self.expire(timer)

    def _consume(self, covered: bool, unprocessed: bool) -> None:
        """There is something to commit, or not; and the application has records that it is still working on, or not."""
        self.subscription.positions.poll_started()
        self.subscription.positions.set_committed(self.subscription.positions.to_commit())
        self._offset += 10
        if covered or unprocessed:
            self.subscription.positions.seek(SUBJECT, self._offset)
            self.subscription.positions.poll_started()
        if not covered:
            self.subscription.positions.set_committed(self.subscription.positions.to_commit())
        if unprocessed:
            self._return_record()

    def _return_record(self) -> None:
        self.do(impl.Fetch())
        sent = self.newest("Fetch")
        assert sent is not None
        self.unanswered.remove(sent)
        found = FetchResponse({SUBJECT: FetchedPartition(b"a record", 1_000, ErrorCode.NONE)})
        self.do(impl.ResponseReceived(sent.request_id, found))
        buffered = self.subscription.positions.next_buffered()
        assert buffered is not None
        assert self.subscription.positions.advance(buffered, self._offset, self._offset + 1, exhausted=True)

    # The group around it ----------------------------------------------------------------------------------------------

    def _stand(self, wanted: str, same: bool, owned: bool) -> None:
        if self.standing == "manual" and wanted != "manual":
            self._leave()
            self.do(impl.Subscribe((TOPIC,)))
            return
        if self.describe().fenced:
            self._leave()
            self.do(impl.Subscribe((TOPIC,)))
        match wanted:
            case "manual" if self.standing == "manual":
                pass
            case "manual":
                self._leave()
                self.do(impl.Assign((SUBJECT, EARLIER)))
            case "outside" if self.standing == "outside":
                pass
            case "outside":
                self.expire("heartbeat")
                self._answer(self.newest("Heartbeat"), ErrorCode.UNKNOWN_MEMBER_ID)
            case "member":
                if self.standing == "member":
                    self.do(impl.EnforceRebalance("a test wants it"))
                    self._until(lambda: self.newest("JoinGroup") is not None, "FindCoordinator")
                self._until(
                    lambda: self.describe().rebalance == "STABLE",
                    "FindCoordinator",
                    "JoinGroup",
                    "SyncGroup",
                    owned=owned,
                )
            case _:
                if self.standing == "member":
                    self.do(impl.EnforceRebalance("a test wants it"))
                self._until(lambda: self.describe().rebalance in IN_ROUND, "FindCoordinator")
                if not same and self.describe().rebalance == "PREPARING_REBALANCE":
                    self._until(lambda: self.newest("SyncGroup") is not None, "FindCoordinator", "JoinGroup")

    def _until(self, reached: object, *answered: str, owned: bool = True) -> None:
        """Do what the group and the application would do, until something is so."""
        assert callable(reached)
        for _ in range(40):
            if reached():
                return
            sent = self.newest(*answered)
            state = self.describe().rebalance
            if sent is not None:
                self._answer(sent, ErrorCode.NONE, (SUBJECT, EARLIER) if owned else (EARLIER,))
            elif state == "REVOKING_PARTITION":
                self.do(impl.CallbackStarted())
                self.do(impl.PartitionsRevoked())
            elif state == "ASSIGNING_PARTITIONS":
                self.do(impl.PartitionsAssigned())
            else:
                self._expire_if_armed("join_backoff", "lookup_backoff")
                self.poll()
        raise AssertionError(f"the group does not get there: {self.describe()}")

    def _leave(self) -> None:
        self.do(impl.Unsubscribe(self._future()))
        self._until(lambda: not self.describe().leaving and not self.describe().subscribed, "LeaveGroup")

    def _close(self) -> None:
        """The consumer is closed, and another takes its place."""
        self._closing = True
        if self.describe().connection != "DOWN":
            self.do(impl.Close(self._future(), self.now_ms))
            self.do(impl.TimerExpired("close_deadline"))
        told = list(self.emitted)
        self.new_core()
        self._begin()
        self.emitted.extend(told)

    # Requests, and what comes of them ---------------------------------------------------------------------------------

    def _future(self) -> int:
        self._futures += 1
        return self._futures

    def _earlier_request(self) -> SendRequest:
        commits = ((sent, sent.request) for sent in reversed(self.unanswered))
        return next(sent for sent, one in commits if isinstance(one, OffsetCommitRequest) and EARLIER in one.offsets)

    def _answer(self, sent: SendRequest | None, error: ErrorCode, assigned: tuple[TopicPartition, ...] = ()) -> None:
        assert sent is not None
        self.do(self.answered(sent, error, assigned))

    def heard(self, output: impl.Output) -> None:
        """Note what becomes of the watched commit."""
        if isinstance(output, CompleteFuture):
            self._completed(output)
        elif isinstance(output, SendRequest) and isinstance(request := output.request, OffsetCommitRequest):
            if EARLIER in request.offsets:
                return
            self.emitted.append("OffsetCommit")
            is_member, static = bool(request.member_id) and request.generation >= 0, request.group_instance_id
            self.carried.append((is_member, static is not None))
            if self.watched is not None:
                self.watched.request_id = output.request_id

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
