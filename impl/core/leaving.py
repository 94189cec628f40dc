"""Leaving: unsubscribe() and close(), and the LeaveGroup of a member whose application does not poll.

The order is fixed (rules C7, L1, L2, L5): commit (close only), callback for what is owned, LeaveGroup once, and for a
close the wait for its answer. The application is inside close() or unsubscribe() all the while and runs the callback
from there, so the callback is waited for however long it takes; all waiting for the network ends with the deadline.
"""

from __future__ import annotations

from collections.abc import Callable

from groupspec.impl.core.commits import Commits
from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import ConsumerClosedError
from groupspec.impl.core.events import COORDINATOR, CallbackKind, Close, Closed, CompleteFuture, Unsubscribe
from groupspec.impl.core.joining import Joining
from groupspec.impl.core.membership import Membership
from groupspec.impl.core.messages import ErrorCode, LeaveGroupRequest
from groupspec.impl.core.rebalance import IN_A_ROUND, RebalanceState
from groupspec.impl.core.requests import Requests, Sent
from groupspec.impl.core.timers import is_expired


class Leaving:
    """The way out."""

    def __init__(
        self,
        context: Context,
        requests: Requests,
        connection: Connection,
        joining: Joining,
        commits: Commits,
        membership: Membership,
    ) -> None:
        self._context = context
        self._positions = context.positions
        self._requests = requests
        self._connection = connection
        self._joining = joining
        self._commits = commits
        self._membership = membership
        self.closed = False
        self._closing = False
        self._committing = False
        self._unsubscribed: list[int] = []
        self._closers: list[int] = []
        self._deadline_ms = 0
        self._leave_group: Sent | None = None  # the LeaveGroup that the close waits for

    def attach(self, stop_everything: Callable[[], None]) -> None:
        """What ends all parts together (`parts`)."""
        self._stop_everything = stop_everything

    def unsubscribe(self, event: Unsubscribe) -> None:
        """Release everything and leave."""
        self._context.note("unsubscribed")
        self._unsubscribed.append(event.future_id)
        if not self._membership.leaving:
            self._membership.leaving = True
            self._abandon_round()
            self._release()

    def close(self, event: Close) -> None:
        """The same for good, after a last commit. A second close joins the first (rule L4)."""
        self._closers.append(event.future_id)
        if self._closing:
            return
        self._closing = True
        self._deadline_ms = event.deadline_ms
        self._context.timers.arm("close_deadline", event.deadline_ms)
        if event.processed:
            self._positions.poll_started()
        if not self._membership.leaving:
            self._membership.leaving = True
            self._leave_group = None  # one of an earlier unsubscribe says nothing of this membership
            self._commits.commit_before_close(event.deadline_ms)
            self._abandon_round()
            self._committing = True

    def progress(self) -> None:
        """When the last commit has an outcome, let go of the partitions."""
        if self._committing and self._commits.is_idle:
            self._committing = False
            self._release()

    def deadline_over(self) -> None:
        """No more waiting for the network: every open commit fails, and the close goes on, or ends (rule L2)."""
        self._context.timers.disarm("close_deadline")
        if not self._closing:
            return
        self._deadline_ms = min(self._deadline_ms, self._context.now_ms)
        self._commits.give_up_all(ConsumerClosedError("The consumer was closed before the commit was answered"))
        if self._leave_group is not None:
            self._end()

    def _abandon_round(self) -> None:
        """Answers to JoinGroup and SyncGroup do not count any more (rule L3)."""
        self._membership.rejoin_needed = False
        self._joining.give_up()
        self._commits.rebalance_abandoned()
        self._context.timers.disarm("join_backoff")

    def _release(self) -> None:
        """Have the callback run for everything that is owned; if one is due or runs already, it comes first."""
        membership = self._membership
        if membership.state is RebalanceState.REVOKING_PARTITION:
            return
        owned = membership.owned()
        if not owned:
            self._leave()
        elif self._context.identity.is_member and membership.state not in IN_A_ROUND:
            membership.revoke(CallbackKind.REVOKED, owned)
        else:
            membership.revoke(CallbackKind.LOST, owned)

    def released(self) -> None:
        """A callback has returned; there may be more to let go of. LeaveGroup comes after the last commits.

        (As Java's ConsumerCoordinator.close, which waits for pending asynchronous commits before it leaves.)
        """
        if not self._committing:
            self._release()

    def _leave(self) -> None:
        reason = "the consumer is being closed" if self._closing else "the consumer unsubscribed from all topics"
        self._leave_group = self.send_leave_group(reason)
        self._membership.left()
        self._membership.leaving = False
        for future_id in self._unsubscribed:
            self._context.emit(CompleteFuture(future_id))
        self._unsubscribed.clear()
        if self._closing and (self._leave_group is None or is_expired(self._deadline_ms, self._context.now_ms)):
            self._end()

    def send_leave_group(self, reason: str) -> Sent | None:
        """Send LeaveGroup, if there is a member id and a coordinator; static members send none (rule L1).

        Nor does who has lost its generation and not joined since: the id that it has kept is no membership.
        """
        config, identity = self._context.config, self._context.identity
        joins = bool(identity.member_id) and self._membership.state in IN_A_ROUND
        if config.is_static or not (identity.is_member or joins) or not self._connection.is_known:
            return None
        self._context.note("leave_sent", reason=reason)
        return self._requests.send(
            LeaveGroupRequest(config.group_id or "", identity.member_id, None, reason),
            COORDINATOR,
            config.request_timeout_ms,
        )

    def answered(self, sent: Sent) -> None:
        """Whatever the coordinator says: this member has left. A close that waited for it ends."""
        if sent is self._leave_group:
            self._leave_group = None
            if self._closing:
                self._end()

    def coordinator_gone(self, sent: Sent, code: ErrorCode) -> None:
        """LeaveGroup was not answered, and is not repeated: the session timeout removes the member (rules D1, L1)."""
        self.answered(sent)
        self._connection.forget(f"LeaveGroup: {code.name}")

    def _end(self) -> None:
        """Everybody gets an answer, everything stops."""
        self.closed = True
        self._stop_everything()
        self._context.note("closed")
        for future_id in self._closers:
            self._context.emit(CompleteFuture(future_id))
        self._closers.clear()
        self._context.emit(Closed())
