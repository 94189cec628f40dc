"""The parts of the core, how they are put together, and what concerns several of them.

    connection   who coordinates the group          membership, joining, leading, leaving   the rebalance
    heartbeats   signs of life, and the timers      commits, offsets               what is committed, where to begin
    metadata     topics and their leaders           validation, fetching           records
    questions    what the application asks about topics and offsets

Each part is given what it needs: the context, the requests, and the parts that it calls. Imports go one way, from the
decision to what carries it out. A part that calls one above it, to say what has happened, names what it calls there as
a protocol (`rebalance.Rebalance` is the one of `membership`), and gets it by `attach`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from groupspec.impl.core.commits import Commits
from groupspec.impl.core.config import Config
from groupspec.impl.core.connection import Connection, ConnectionState
from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.events import (
    Assign,
    CompleteFuture,
    DescribeMember,
    DescribeMetrics,
    Description,
    GroupMetadata,
)
from groupspec.impl.core.fetching import Fetching
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.leading import Leading
from groupspec.impl.core.leaving import Leaving
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import ErrorCode
from groupspec.impl.core.metadata import Metadata
from groupspec.impl.core.offsets import Offsets
from groupspec.impl.core.questions import Questions
from groupspec.impl.core.requests import Requests
from groupspec.impl.core.scope import Scope
from groupspec.impl.core.subscription import SubscriptionState
from groupspec.impl.core.timers import ORDER
from groupspec.impl.core.validation import Validation
from groupspec.impl.trace import TraceSink


class Part(Protocol):
    """One that does by itself what has become possible."""

    def progress(self) -> None:
        """Do it, if there is anything."""


class Parts:
    """All parts of one core.

    Attributes:
        scope: Who drives it. To be set before `handle` and `advance`, by a driver in which more than one thread does.
        timers: The deadlines that `Core.advance` fires.
    """

    def __init__(self, config: Config, subscription: SubscriptionState, trace: TraceSink | None) -> None:
        self.scope = Scope.ALL
        self.config = config
        self.subscription = subscription
        self.context = context = Context(config, subscription, trace)
        self.timers = context.timers
        self.requests = requests = Requests(context)
        self.connection = connection = Connection(context, requests)
        self.membership = membership = Membership(context, connection)
        self.heartbeats = Heartbeats(context, requests, connection, membership)
        self.metadata = Metadata(context, requests)
        self.leading = Leading(context, self.metadata, membership)
        self.joining = Joining(context, requests, connection, self.heartbeats, self.leading, membership)
        self.commits = Commits(context, requests, connection, self.metadata, membership)
        self.leaving = Leaving(context, requests, connection, self.joining, self.commits, membership)
        self.offsets = Offsets(context, requests, connection, self.metadata)
        self.questions = Questions(context, requests, self.metadata)
        self.validation = Validation(context, requests, self.metadata, self.offsets)
        self.fetching = Fetching(context, requests, self.metadata, self.offsets, self.validation, membership)
        self.metadata.attach(self.leading, membership)
        self.leading.attach(self.joining.send_sync)
        membership.attach(self.heartbeats, self.leading, self.joining, self.commits, self.leaving)
        self.leaving.attach(self.stop)
        self._at_work = self._steps_by_scope()

    def _steps_by_scope(self) -> dict[Scope, tuple[Callable[[], None], ...]]:
        """Which parts may make progress on whose behalf, in this order (`scope`): their functions for it."""
        commits, leaving, connection = self.commits, self.leaving, self.connection
        of_calls = (self.heartbeats, self.offsets, self.questions, self.metadata)
        in_poll = (commits, leaving, self.membership, *of_calls, self.fetching, connection)
        in_call = (commits, leaving, *of_calls, connection)
        in_heartbeat = (self.heartbeats, connection)
        parts = {Scope.ALL: in_poll, Scope.POLL: in_poll, Scope.CALL: in_call, Scope.HEARTBEAT: in_heartbeat}
        return {scope: tuple(part.progress for part in those) for scope, those in parts.items()}

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
            leaving=membership.leaving,
            fenced=membership.is_fenced(),
            partitions=self.subscription.positions.describe(),
            timers_ms=self.timers.armed(),
        )

    def progress(self) -> None:
        """Let every part that may do what has become possible, until nothing more does."""
        steps, connection, outputs = self._at_work[self.scope], self.connection, self.context.outputs
        while connection.state is not ConnectionState.DOWN:
            before = len(outputs)
            for step in steps:
                step()
            if len(outputs) == before:
                return

    # What the application does ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """The background thread runs. A second call changes nothing."""
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
        """The application polled: the poll interval starts anew (rule P2). If it only raises, that is all."""
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
        self.validation.demanded()
        self.fetching.demand()

    def assign(self, event: Assign) -> None:
        """Manual assignment: no group, only its committed offsets (rule D8)."""
        self.subscription.assign_manually(event.partitions)
        self.offsets.assignment_changed()
        self.metadata.polled()
        self.commits.assignment_changed()

    def describe_member(self, event: DescribeMember) -> None:
        """Who this member is."""
        identity, config = self.context.identity, self.config
        found = GroupMetadata(config.group_id or "", identity.generation, identity.member_id, config.group_instance_id)
        self.context.emit(CompleteFuture(event.future_id, found))

    def describe_metrics(self, event: DescribeMetrics) -> None:
        """What was counted and timed so far."""
        found = self.context.metrics.snapshot(self.context.now_ms, self.subscription.positions.lags())
        self.context.emit(CompleteFuture(event.future_id, found))

    def stop(self) -> None:
        """The end of everything: no request, no timer, no future is left over."""
        self.heartbeats.stop()
        self.commits.stop()
        self.offsets.stop()
        self.questions.stop()
        self.fetching.stop()
        self.metadata.stop()
        self.connection.stop()
        self.requests.give_up_all()
        self.timers.disarm(*ORDER)

    # The coordinator -------------------------------------------------------------------------------------------------

    def needs_coordinator(self) -> bool:
        """Whether anything waits for a coordinator (rule D7)."""
        return (
            self.membership.needs_coordinator() or self.commits.needs_coordinator() or self.offsets.needs_coordinator()
        )

    def coordinator_found(self) -> None:
        """It is known: whatever waited for it goes on."""
        self.heartbeats.coordinator_found()

    def lookup_failed(self, code: ErrorCode) -> None:
        """A lookup failed, and will be repeated."""
        self.commits.lookup_failed(code)

    def lookup_refused(self, error: KafkaError) -> None:
        """A lookup failed for good: what waits for the coordinator fails."""
        self.commits.lookup_refused(error)
        self.offsets.lookup_refused(error)
