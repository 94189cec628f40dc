"""JoinGroup and SyncGroup: what the member says to the coordinator in a rebalance, and what each answer means.

Errors are sorted as in Kafka's AbstractCoordinator: try again at once (REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED, a
lost identity), after the backoff (the coordinator loads, moved, or can't be reached), or only when the application
polls again (everything else: it has been told). The identity survives what says nothing about it (rule J4).
"""

from __future__ import annotations

from groupspec.impl.core import messages, protocol
from groupspec.impl.core.connection import Connection
from groupspec.impl.core.context import Context, Identity
from groupspec.impl.core.errors import KafkaError, error_for
from groupspec.impl.core.events import COORDINATOR
from groupspec.impl.core.heartbeats import Heartbeats
from groupspec.impl.core.leading import Leading, Shares
from groupspec.impl.core.messages import ErrorCode, TopicPartition
from groupspec.impl.core.protocol import MalformedProtocolData
from groupspec.impl.core.rebalance import Rebalance, RebalanceState
from groupspec.impl.core.requests import Requests, Sent


class Joining:
    """One round after the other: at most one JoinGroup or SyncGroup is out (rule J1)."""

    def __init__(
        self,
        context: Context,
        requests: Requests,
        connection: Connection,
        heartbeats: Heartbeats,
        leading: Leading,
        membership: Rebalance,
    ) -> None:
        self._context = context
        self._subscription = context.subscription
        self._requests = requests
        self._connection = connection
        self._heartbeats = heartbeats
        self._leading = leading
        self._membership = membership
        self._in_flight: Sent | None = None
        self._joined_topics: tuple[str, ...] = ()  # the subscription that the last JoinGroup carried
        self._last_assignment: tuple[TopicPartition, ...] = ()  # for the eager sticky assignor
        self._last_generation = -1

    def is_idle(self) -> bool:
        """Whether no JoinGroup or SyncGroup is out or about to be sent."""
        return self._in_flight is None and not self._leading.awaits_metadata

    def give_up(self) -> None:
        """Give up the request of this round."""
        self._requests.give_up(self._in_flight)
        self._in_flight = None
        self._leading.forget()

    def start_over(self) -> None:
        """This round leads nowhere: join again."""
        self.give_up()
        self._membership.enter(RebalanceState.PREPARING_REBALANCE)

    # JoinGroup -------------------------------------------------------------------------------------------------------

    def send_join(self) -> None:
        """Heartbeats end first (rule H3); the request says what is validly owned at this moment (rule K1)."""
        config, membership = self._context.config, self._membership
        self._heartbeats.disable()
        membership.enter(RebalanceState.PREPARING_REBALANCE)
        membership.preparing = membership.rejoin_again = False
        self._joined_topics = self._subscription.topics()
        self._leading.forget()
        self._in_flight = self._requests.send(
            messages.JoinGroupRequest(
                group_id=config.group_id or "",
                session_timeout_ms=config.session_timeout_ms,
                rebalance_timeout_ms=config.max_poll_interval_ms,
                member_id=self._context.identity.member_id,
                group_instance_id=config.group_instance_id,
                protocols=tuple((name, self._metadata(name)) for name in config.partition_assignment_strategy),
                reason=membership.rejoin_reason[:255],
            ),
            COORDINATOR,
            config.join_group_timeout_ms,
        )
        self._context.note("join_sent", partitions=membership.owned(), owned_generation=membership.owned_generation)

    def _metadata(self, assignor: str) -> bytes:
        """The subscription for one assignor: canonical bytes (rule J6), and what is validly owned (rule K1)."""
        membership = self._membership
        user_data = None
        if assignor == "sticky" and self._last_generation >= 0:
            user_data = protocol.encode_sticky_user_data(self._last_assignment, self._last_generation)
        return protocol.encode_subscription(
            protocol.Subscription(self._joined_topics, user_data, membership.owned(), membership.owned_generation)
        )

    def join_accepted(self, response: messages.JoinGroupResponse) -> None:
        """A new generation: adopt the identity, show signs of life, and synchronise at once."""
        self._in_flight = None
        if not self._is_ours(response.protocol_type, response.protocol_name):
            self.refused("JoinGroup", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return
        self._context.identity = Identity(response.member_id, response.generation, response.protocol_name)
        self._membership.enter(RebalanceState.COMPLETING_REBALANCE)
        self._heartbeats.enable()
        if response.leader == response.member_id:
            self._leading.lead(response)
        else:
            self.send_sync(())

    def member_id_required(self, response: messages.JoinGroupResponse) -> None:
        """The coordinator has given this member an id: nothing keeps it from joining with it, at once (rule J3)."""
        self._in_flight = None
        self._context.identity = Identity(response.member_id)

    def join_again(self) -> None:
        """Nothing keeps it from trying again at once, as the same member."""
        self._in_flight = None

    def identity_unknown(self) -> None:
        """The id is not known: join without an id; what is still owned (cooperative) is lost first."""
        self._in_flight = None
        self._membership.lose_identity(keep_member_id=False)

    def join_later(self) -> None:
        """The coordinator is not ready: try again after the backoff."""
        self._in_flight = None
        self._wait_for_backoff()

    def join_coordinator_gone(self, code: ErrorCode) -> None:
        """Find the coordinator, wait for the backoff, and try again as the same member."""
        self._in_flight = None
        self._wait_for_backoff()
        self._connection.forget(f"JoinGroup: {code.name}")

    # SyncGroup -------------------------------------------------------------------------------------------------------

    def send_sync(self, assignments: Shares) -> None:
        """Ask for the assignment; the leader brings everybody's.

        The coordinator may have been lost while a leader waited for metadata: then it joins again (as Java's
        AbstractCoordinator.sendSyncGroupRequest).
        """
        if not self._connection.is_known:
            self.sync_coordinator_gone(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        config, identity = self._context.config, self._context.identity
        self._in_flight = self._requests.send(
            messages.SyncGroupRequest(
                group_id=config.group_id or "",
                generation=identity.generation,
                member_id=identity.member_id,
                group_instance_id=config.group_instance_id,
                protocol_name=identity.protocol_name,
                assignments=assignments,
            ),
            COORDINATOR,
            config.request_timeout_ms,
        )
        self._context.note("sync_sent", leader=bool(assignments))

    def sync_accepted(self, response: messages.SyncGroupResponse) -> None:
        """The assignment. One that no longer fits the subscription is dropped, and the member joins again (rule J1)."""
        self._in_flight = None
        if not self._is_ours(response.protocol_type, response.protocol_name, self._context.identity.protocol_name):
            self.refused("SyncGroup", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return
        try:
            assigned = protocol.decode_assignment(response.assignment).partitions
        except MalformedProtocolData as error:
            self._await_poll(KafkaError(f"The assignment in SyncGroup's answer can't be read: {error}"))
            return
        if not response.assignment:  # Java's raises IllegalStateException (ConsumerCoordinator.onJoinComplete)
            text = "The leader of the group has left this member out: it has no partitions until the next rebalance"
            self._context.journal.seldom(__name__, text, self._context.now_ms)
        membership = self._membership
        if not self._fits(assigned):
            membership.dropped()
            return
        if self._has_changed_meanwhile():
            membership.rejoin_again = True
        self._last_assignment, self._last_generation = assigned, self._context.identity.generation
        membership.synced(assigned)

    def _fits(self, assigned: tuple[TopicPartition, ...]) -> bool:
        return all(self._subscription.wants(partition.topic) for partition in assigned)

    def _has_changed_meanwhile(self) -> bool:
        """Whether the subscription or the metadata is not what this round was made for (rules J1, J8)."""
        return self._subscription.topics() != self._joined_topics or self._leading.is_outdated()

    def sync_generation_gone(self) -> None:
        """The group went on without this member; its id is still known (rule J4)."""
        self._in_flight = None
        self._membership.lose_identity(keep_member_id=True)

    def sync_coordinator_gone(self, code: ErrorCode) -> None:
        """Find the coordinator, wait for the backoff, and join again as the same member."""
        self.start_over()
        self._wait_for_backoff()
        self._connection.forget(f"SyncGroup: {code.name}")

    # Either request --------------------------------------------------------------------------------------------------

    def refused(self, api: str, code: ErrorCode) -> KafkaError:
        """The application gets an error; its next poll joins again."""
        config = self._context.config
        timeout = (
            f" with session_timeout_ms={config.session_timeout_ms}" if code is ErrorCode.INVALID_SESSION_TIMEOUT else ""
        )
        error = error_for(code, f"{api} of member {config.client_id!r} in group {config.group_id!r}{timeout} refused")
        self._await_poll(error)
        return error

    def fenced(self, api: str, code: ErrorCode) -> None:
        """Another process has this instance id: report it, and send nothing from now on (rule X2)."""
        self._membership.fenced(self.refused(api, code))

    def _is_ours(self, protocol_type: str | None, name: str | None, expected: str | None = None) -> bool:
        """Whether the answer speaks of this group's protocol; older versions leave the fields out."""
        if protocol_type not in (None, "consumer"):
            return False
        if expected is not None:
            return name in (None, "", expected)
        return name in self._context.config.partition_assignment_strategy

    def _wait_for_backoff(self) -> None:
        self._context.arm("join_backoff", self._context.config.retry_backoff_ms)

    def _await_poll(self, error: KafkaError) -> None:
        self.start_over()
        self._membership.awaiting_poll = True
        self._context.report(error)
