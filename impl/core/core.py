"""The core: a consumer-group member without threads, sockets or clocks.

`handle(event, now_ms)` takes one input event and returns what is to be done about it, in order; `advance(now_ms)` does
the same for all timers that are due. Between two calls nothing happens. The same events at the same times always give
the same outputs: there is no randomness.

An event goes to its one handler (`dispatch.HANDLERS`), in the part of the core that it concerns. After every event each
part is asked to make progress: to send what has become possible, now that something has changed. `parts` says what they
are, and how they hang together. A driver whose threads may not do the same says before each call which of them it is
(`scope`).
"""

from __future__ import annotations

from groupspec.impl.core import events
from groupspec.impl.core.answers import Answer, answers_in
from groupspec.impl.core.config import Config
from groupspec.impl.core.context import Identity
from groupspec.impl.core.dispatch import dispatch, dispatch_late, is_late, row_of
from groupspec.impl.core.errors import ConsumerClosedError
from groupspec.impl.core.events import InputEvent, Output
from groupspec.impl.core.messages import ErrorCode, JoinGroupResponse, NoAnswer, Response
from groupspec.impl.core.parts import Parts
from groupspec.impl.core.requests import Sent
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.timers import is_expired
from groupspec.impl.trace import TraceSink

TRACED = {
    "FindCoordinator": "lookup_answered",
    "JoinGroup": "join_answered",
    "SyncGroup": "sync_answered",
    "Heartbeat": "heartbeat_answered",
    "LeaveGroup": "leave_answered",
    "OffsetCommit": "commit_answered",
}

REFUSED_WHEN_CLOSED = (
    events.Commit,
    events.FetchCommitted,
    events.ListOffsets,
    events.ListTopics,
    events.DescribeMember,
    events.DescribeMetrics,
)
"""What somebody waits for, and nobody can do any more."""


class Core(Parts):
    """One member. Everything happens inside `handle`; the outputs say what the driver has to do next."""

    def __init__(self, config: Config, subscription: SubscriptionState, trace: TraceSink | None = None) -> None:
        super().__init__(config, subscription, trace)
        self.connection.attach(self)

    @property
    def is_closed(self) -> bool:
        """Whether it has come to its end: `Closed` is among the outputs so far."""
        return self.leaving.closed

    def handle(self, event: InputEvent, now_ms: int) -> list[Output]:
        """Take one event. UnsolicitedResponse: an answer to nothing; nothing has changed then."""
        self.context.begin(now_ms)
        if self.leaving.closed:
            self._refuse(event)
        else:
            self._take(event)
            self.progress()
        return self.context.take_outputs()

    def resume(self, now_ms: int) -> list[Output]:
        """Do what another scope has made possible, and might not do itself."""
        self.context.begin(now_ms)
        self.progress()
        return self.context.take_outputs()

    def advance(self, now_ms: int) -> list[Output]:
        """Fire every timer of the scope that is due, in the order of `timers.ORDER`."""
        outputs: list[Output] = []
        for name in self.timers.due(now_ms):
            if name not in self.scope.timers:
                continue
            deadline_ms = self.timers.deadline_ms(name)
            if deadline_ms is not None and is_expired(deadline_ms, now_ms):  # an earlier one may have moved it
                outputs += self.handle(events.TimerExpired(name), now_ms)
        return outputs

    def next_deadline_ms(self) -> int | None:
        """When `advance` is needed in this scope at the latest; None: not at all."""
        return self.timers.next_deadline_ms(self.scope.timers)

    # One event -------------------------------------------------------------------------------------------------------

    def _take(self, event: InputEvent) -> None:
        if isinstance(event, events.ResponseReceived):
            sent = self.requests.look_up(event.request_id, event.response)
            self.answer(sent, event.response)
            if event.throttle_time_ms and sent.node == events.COORDINATOR:
                self.context.note("throttled", throttle_time_ms=event.throttle_time_ms)
        elif isinstance(event, events.TimerExpired):
            dispatch(self, "TimerExpired", event.timer, event)
        else:
            dispatch(self, type(event).__name__, "", event)

    def answer(self, sent: Sent, response: Response) -> None:
        """Give an answer to those whom it concerns, unless it is late (rule J9)."""
        answers = answers_in(sent, response)
        late = is_late(self, sent, answers[0].error if answers else ErrorCode.NONE)
        self.requests.end(sent, response)
        if not isinstance(response, NoAnswer):
            self.context.metrics.answered(sent.api, response, self.context.now_ms - sent.sent_ms)
        self._note_answer(sent, answers, late)
        if self.questions.answered(sent, response, answers):
            return
        for part in answers:
            if late:
                dispatch_late(self, part)
            else:
                dispatch(self, sent.api, row_of(part.error), part)
        self.fetching.ended(sent)
        self.offsets.reset_ended(sent)
        self.validation.ended(sent, response)

    def _note_answer(self, sent: Sent, answers: list[Answer], late: bool) -> None:
        if sent.api not in TRACED:
            return
        response, identity = answers[0].response, sent.identity
        if isinstance(response, JoinGroupResponse) and response.member_id:  # what the coordinator says this member is
            identity = Identity(response.member_id, response.generation)
        self.context.note(TRACED[sent.api], error=answers[0].error, identity=identity, late=late)

    def _refuse(self, event: InputEvent) -> None:
        """After the end: futures are completed; everything else is ignored."""
        if isinstance(event, REFUSED_WHEN_CLOSED):
            error = ConsumerClosedError("The consumer is closed")
            self.context.emit(events.CompleteFuture(event.future_id, error=error))
        elif isinstance(event, events.Close | events.Unsubscribe):
            self.context.emit(events.CompleteFuture(event.future_id))
