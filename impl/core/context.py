"""What the parts of the core share: the time of the event at hand, its outputs, and the member's identity.

The identity lives here, in one place, because everything that is sent or answered is judged against all of it at once
(rules M1 and J9): nobody may read the generation now and the member id later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from msgspec import Struct

from groupspec.impl.core.config import Config
from groupspec.impl.core.events import Error, Output
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.core.metrics import Metrics
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.timers import Timers
from groupspec.impl.journal import Journal
from groupspec.impl.trace import TraceEvent, TraceSink


class Identity(Struct, frozen=True):
    """Member id, generation and protocol; by default none of them."""

    member_id: str = ""
    generation: int = -1
    protocol_name: str = ""

    @property
    def is_member(self) -> bool:
        """Whether a coordinator would accept requests with it."""
        return self.generation >= 0 and self.member_id != ""


NOBODY = Identity()


class Waiting(Protocol):
    """What waits until its deadline; None: for ever."""

    deadline_ms: int | None


W = TypeVar("W", bound=Waiting)


class Context:
    """One per core."""

    def __init__(self, config: Config, subscription: SubscriptionState, trace: TraceSink | None) -> None:
        self.config = config
        self.subscription = subscription
        self.positions = subscription.positions
        self.timers = Timers()
        self.rebalance_state = "UNJOINED"  # for the log; `Rebalance.state` is what counts
        self.was_member = False  # whether a coordinator has ever accepted this consumer
        self.standings = 0  # how often it has become a member, or ceased to be one
        self._identity = NOBODY
        self.now_ms = 0
        self.epoch_ms = 0  # when `now_ms` was 0, since 1970
        self.metrics = Metrics()
        self.journal = Journal(config.client_id, config.group_id)
        self.outputs: list[Output] = []  # of this event, so far
        self._trace = trace
        self._trace_seq = 0

    @property
    def identity(self) -> Identity:
        """The member's identity now."""
        return self._identity

    @identity.setter
    def identity(self, identity: Identity) -> None:
        self.standings += identity.is_member is not self._identity.is_member
        self._identity = identity
        self.was_member = self.was_member or identity.is_member

    def begin(self, now_ms: int) -> None:
        """A new event; time never runs backwards."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms

    def emit(self, output: Output) -> None:
        """One more thing for the driver to do."""
        self.outputs.append(output)

    def report(self, error: Exception) -> None:
        """An error for the application's next poll."""
        self.emit(Error(error))

    def take_outputs(self) -> list[Output]:
        """All outputs of this event."""
        outputs, self.outputs = self.outputs, []
        return outputs

    def arm(self, timer: str, delay_ms: int) -> None:
        """Start a timer from now on."""
        self.timers.arm(timer, self.now_ms + delay_ms)

    def arm_earliest(self, timer: str, waiting: Iterable[Waiting]) -> None:
        """Have a timer run out at the first deadline of these; stop it if none has one."""
        deadlines = [one.deadline_ms for one in waiting if one.deadline_ms is not None]
        if deadlines:
            self.timers.arm(timer, min(deadlines))
        else:
            self.timers.disarm(timer)

    def overdue(self, waiting: Iterable[W]) -> list[W]:
        """Those whose deadline has passed. The earliest has in any case: its timer has fired, if before its time."""
        limited = [(one.deadline_ms, one) for one in waiting if one.deadline_ms is not None]
        limit_ms = max(self.now_ms, min((deadline_ms for deadline_ms, _ in limited), default=0))
        return [one for deadline_ms, one in limited if deadline_ms <= limit_ms]

    def note(
        self,
        event: str,
        *,
        error: ErrorCode | None = None,
        partitions: Iterable[TopicPartition] = (),
        identity: Identity | None = None,
        throttle_time_ms: int = 0,
        **detail: str | int | bool | list[str],
    ) -> None:
        """Tell the trace and the log what has just happened; `identity`: if it is another one than the present."""
        who, partitions = identity or self._identity, tuple(partitions)
        code = None if error is None else error.name
        self.metrics.happened(event, bool(error), self.now_ms)
        place = (who.member_id, who.generation, self.rebalance_state)
        self.journal.event(__name__, self.now_ms, event, code if error else None, place, partitions, detail)
        if self._trace is None:
            return
        self._trace(
            TraceEvent(
                group=self.config.group_id or "",
                member=self.config.client_id,
                seq=self._trace_seq,
                at_us=self.now_ms * 1000,
                event=event,
                error=code,
                generation=who.generation,
                member_id=who.member_id,
                partitions=tuple(map(str, partitions)),
                detail=detail,
                throttle_time_ms=throttle_time_ms,
            )
        )
        self._trace_seq += 1
