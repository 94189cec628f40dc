"""The rebalance listener: callbacks about an application's partitions."""

from __future__ import annotations

from typing import Protocol

from groupspec.impl.core.messages import TopicPartition


class RebalanceListener(Protocol):
    """Called on the application's thread, inside poll(), unsubscribe() or close(), with no lock held (rule C5).

    Inside, commit(), committed(), position(), seek(), pause() and resume() work; poll(), unsubscribe() and close() do
    not: the rebalance waits for the callback to return. What it raises does not stop the rebalance; the application
    gets it from the call that it made (rule C4). For each partition calls alternate: assigned, then revoked or lost
    (C1).
    """

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """These will be taken away when this returns: the last moment to commit what was processed."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """These are new; positions can be asked for and set. May be empty. Fetching begins when this returns."""

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """These are gone already, and others may have them: too late to commit. By default as if revoked."""
        self.on_partitions_revoked(partitions)


class NoListener:
    """For applications that do not want to know."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """Nothing to do."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """Nothing to do."""

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """Nothing to do."""
