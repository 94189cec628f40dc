"""The core: a consumer-group member without threads, sockets or clocks.

`handle(event, now_ms)` takes one input event and returns what is to be done about it, in order; `advance(now_ms)` does
the same for all timers that are due. Between two calls nothing happens. The same events at the same times always give the
same outputs: there is no randomness, and backoffs are fixed.

An event goes to its one handler (`dispatch.HANDLERS`), in the part of the core that it concerns. After every event each
part is asked to make progress: to send what has become possible, now that something has changed.

    connection   who coordinates the group          membership, joining, leading, leaving   the rebalance
    heartbeats   signs of life, and the timers      commits, offsets               what is committed, where to begin
    metadata     topics and their leaders           fetching                       records
"""

from __future__ import annotations

from groupspec.impl.core.answers import Answer, answers_in
from groupspec.impl.core.commits import Commits
from groupspec.impl.core.config import Config
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.context import Context, Identity
from groupspec.impl.core.dispatch import dispatch, dispatch_late, is_late
from groupspec.impl.core.events import (
    Assign,
    Close,
    Commit,
    Description,
    FetchCommitted,
    InputEvent,
    Output,
    ResponseReceived,
    TimerExpired,
    Unsubscribe,
)
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import ErrorCode, JoinGroupResponse, Response
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.requests import Requests, Sent
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.timers import ORDER, Timers, is_expired
from groupspec.impl.trace import TraceSink

TRACED = {
    "FindCoordinator": "lookup_answered",
    "JoinGroup": "join_answered",
    "SyncGroup": "sync_answered",
    "Heartbeat": "heartbeat_answered",
    "LeaveGroup": "leave_answered",
    "OffsetCommit": "commit_answered",
}


class Core:
    """One member. Everything happens inside `handle`; the outputs say what the driver has to do next."""

    config: Config
    subscription: SubscriptionState
    context: Context
    requests: Requests
    connection: Connection
    heartbeats: Heartbeats
    membership: Membership
    joining: Joining
    leading: Leading
    leaving: Leaving
    commits: Commits
    metadata: Metadata
    offsets: Offsets
    fetching: Fetching

    def __init__(self, config: Config, subscription: SubscriptionState, trace: TraceSink | None = None) -> None:
        self.config = config
        self.subscription = subscription
        self.context = Context(config, subscription, trace)
        self.requests = Requests(self.context)
        self.connection = Connection(self)
        self.heartbeats = Heartbeats(self)
        self.membership = Membership(self)
        self.joining = Joining(self)
        self.leading = Leading(self)
        self.leaving = Leaving(self)
        self.commits = Commits(self)
        self.metadata = Metadata(self)
        self.offsets = Offsets(self)
        self.fetching = Fetching(self)

    @property
    def timers(self) -> Timers:
        """The deadlines that `advance` fires."""
        return self.context.timers

    def handle(self, event: InputEvent, now_ms: int) -> list[Output]:
        """Take one event. UnsolicitedResponse: an answer to nothing; nothing has changed then."""
        self.context.begin(now_ms)
        if self.leaving.closed:
            self._refuse(event)
        else:
            self._take(event)
            self._progress()
        return self.context.take_outputs()

    def advance(self, now_ms: int) -> list[Output]:
        """Fire every timer that is due, in the order of `timers.ORDER`."""
        outputs: list[Output] = []
        for name in self.timers.due(now_ms):
            deadline_ms = self.timers.deadline_ms(name)
            if deadline_ms is not None and is_expired(deadline_ms, now_ms):  # an earlier one may have moved it
                outputs += self.handle(TimerExpired(name), now_ms)
        return outputs

    def next_deadline_ms(self) -> int | None:
        """When `advance` is needed at the latest; None: not at all."""
        return self.timers.next_deadline_ms()

    def describe(self) -> Description:
        """The state, in the proposal's names."""
        membership, identity = self.membership, self.context.identity
        return Description(
            connection=self.connection.state.value,
            rebalance=membership.state.value,
            heartbeat=self.heartbeats.state.value,
            member_id=identity.member_id,
            generation=identity.generation,
            protocol=identity.protocol_name,
            owned=membership.owned(),
            rejoin_needed=membership.rejoin_needed,
            subscribed=membership.is_subscribed(),
            leaving=self.leaving.active,
            fenced=membership.is_fenced(),
            partitions=self.subscription.describe(),
            timers_ms=self.timers.armed(),
        )

    # One event -------------------------------------------------------------------------------------------------------

    def _take(self, event: InputEvent) -> None:
        if isinstance(event, ResponseReceived):
            self.answer(self.requests.look_up(event.request_id, event.response), event.response)
        elif isinstance(event, TimerExpired):
            dispatch(self, "TimerExpired", event.timer, event)
        else:
            dispatch(self, type(event).__name__, "", event)

    def answer(self, sent: Sent, response: Response) -> None:
        """Give an answer to those whom it concerns, unless it is late (rule J9)."""
        answers = answers_in(sent, response)
        late = is_late(self, sent, answers[0].error if answers else ErrorCode.NONE)
        self.requests.end(sent, response)
        self._note_answer(sent, answers, late)
        for part in answers:
            if late:
                dispatch_late(self, part)
            else:
                dispatch(self, sent.api, part.error.name, part)
        self.fetching.ended(sent)
        self.offsets.reset_ended(sent)

    def _note_answer(self, sent: Sent, answers: list[Answer], late: bool) -> None:
        if sent.api not in TRACED:
            return
        response, identity = answers[0].response, sent.identity
        if isinstance(response, JoinGroupResponse) and response.member_id:  # what the coordinator says this member is
            identity = Identity(response.member_id, response.generation)
        self.context.note(TRACED[sent.api], error=answers[0].error, identity=identity, late=late)

    def _progress(self) -> None:
        """Let every part do what has become possible, until nothing more does."""
        before = -1
        while self.connection.state is not ConnectionState.DOWN and before != self.context.output_count():
            before = self.context.output_count()
            self.commits.progress()
            self.leaving.progress()
            self.membership.progress()
            self.heartbeats.progress()
            self.offsets.progress()
            self.metadata.progress()
            self.fetching.progress()
            self.connection.progress()

    def needs_coordinator(self) -> bool:
        """Whether anything waits for a coordinator (rule D7)."""
        return (
            self.membership.needs_coordinator() or self.commits.needs_coordinator() or self.offsets.needs_coordinator()
        )

    # Events that concern several parts -------------------------------------------------------------------------------

    def start(self) -> None:
        """The background thread runs. Being told so twice changes nothing."""
        if self.connection.state is not ConnectionState.DOWN:
            return
        config = self.config
        self.connection.start()
        self.heartbeats.start()
        self.context.note(
            "config",
            rebalance=config.rebalance_protocol.value,
            session_timeout_ms=config.session_timeout_ms,
            max_poll_interval_ms=config.max_poll_interval_ms,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            static=config.is_static,
        )

    def polled(self, raises: bool) -> None:
        """The application polled; first of all the poll interval starts anew (rule P2). If it only raises, that is all."""
        self.heartbeats.polled()
        self.context.note("poll")
        if raises:
            return
        self.connection.asked()
        self.membership.polled()
        self.metadata.polled()
        self.offsets.demanded()

    def demand(self) -> None:
        """The application wants records, and the positions that this needs."""
        self.offsets.demanded()
        self.fetching.demand()

    def assign(self, event: Assign) -> None:
        """Manual assignment: no group, only its committed offsets (rule D8)."""
        self.subscription.assign_manually(event.partitions)
        self.offsets.assignment_changed()
        self.metadata.polled()
        self.commits.assignment_changed()

    def stop(self) -> None:
        """The end of everything: no request, no timer, no future is left over."""
        self.heartbeats.stop()
        self.commits.stop()
        self.offsets.stop()
        self.fetching.stop()
        self.metadata.stop()
        self.connection.stop()
        self.requests.give_up_all()
        self.timers.disarm(*ORDER)

    def _refuse(self, event: InputEvent) -> None:
        """After the end: whoever waits for an answer gets one; everything else comes too late."""
        if isinstance(event, Commit | FetchCommitted):
            self.leaving.refuse(event.future_id)
        elif isinstance(event, Close | Unsubscribe):
            self.leaving.acknowledge(event.future_id)
