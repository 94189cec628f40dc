"""How far the member is in a rebalance: what several parts read, and what they tell the one that decides.

`membership.Membership` decides; heartbeats, joining, leading and commits see no more of it than this class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

from groupspec.impl.core.context import Context
from groupspec.impl.core.errors import KafkaError
from groupspec.impl.core.messages import TopicPartition

Partitions = tuple[TopicPartition, ...]


class RebalanceState(Enum):
    """Where the member is in a rebalance."""

    UNJOINED = "UNJOINED"
    PREPARE_REVOCATION = "PREPARE_REVOCATION"
    REVOKING_PARTITION = "REVOKING_PARTITION"
    PARTITION_REVOKED = "PARTITION_REVOKED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    ASSIGNING_PARTITIONS = "ASSIGNING_PARTITIONS"
    STABLE = "STABLE"


IN_A_ROUND = (RebalanceState.PREPARING_REBALANCE, RebalanceState.COMPLETING_REBALANCE)


class Rebalance(ABC):
    """One member's rebalances."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._subscription = context.subscription
        self.state = RebalanceState.UNJOINED
        self.rejoin_needed = False
        self.rejoin_reason = ""
        self.rejoin_again = False  # asked for while a round was under way: another one must follow (rule J1)
        self.awaiting_poll = True  # no JoinGroup before the application's next poll
        self.preparing = False  # the rebalance has begun; JoinGroup has not been sent
        self.owned_generation = -1  # the generation that assigned what is owned (rule K1)
        self.to_revoke: Partitions | None = None  # in PREPARE_REVOCATION: what goes when the commit is settled
        self.leaving = False  # from the decision to leave until the member has left (rule L3)

    def owned(self) -> Partitions:
        """The partitions that the group has assigned to this member."""
        return () if self._subscription.is_manual() else self._subscription.assignment()

    def is_subscribed(self) -> bool:
        """Whether the application wants to be in the group."""
        return self._subscription.is_subscribed()

    def enter(self, state: RebalanceState) -> None:
        """Every change of state goes through here."""
        self.state = state
        self._context.rebalance_state = state.value

    # What the other parts tell it ------------------------------------------------------------------------------------

    @abstractmethod
    def rebalance_announced(self, reason: str) -> None:
        """The coordinator says that the group rebalances."""

    @abstractmethod
    def require_rejoin(self, reason: str) -> None:
        """Another JoinGroup is due."""

    @abstractmethod
    def commit_settled(self) -> None:
        """The commit before the rebalance has an outcome."""

    @abstractmethod
    def synced(self, assigned: Partitions) -> None:
        """SyncGroup's answer has an assignment."""

    @abstractmethod
    def dropped(self) -> None:
        """SyncGroup's answer has an assignment that does not fit the subscription."""

    @abstractmethod
    def lose_identity(self, keep_member_id: bool) -> None:
        """The coordinator does not accept this identity any more."""

    @abstractmethod
    def fenced(self, error: KafkaError) -> None:
        """Another process has the instance id."""

    @abstractmethod
    def poll_interval_expired(self) -> None:
        """The application has not polled for too long."""
