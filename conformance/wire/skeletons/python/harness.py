"""The harness of my-client: it lets groupspec drive the client.

Each method that raises ToFillIn is yours to write; what they share is groupspec's: it reads the commands and writes the
events that groupspec's PROTOCOL.md explains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.wire.harnesses import base


class MyHarness(base.Harness):
    """The client behind the protocol: `self.consumer`, once `configure` has made it."""

    client = "my-client"  # its distribution, whose version is told
    # What the client's documentation promises: a rule that needs more than is declared is UNSUPPORTED, not failed.
    features = (
        "eager",  # rebalances that give up everything first; a client has this, "cooperative", or both
        "pull",  # records are taken by a poll with a timeout
        # Take the first sign away from what is there.
        # "cooperative",  # incremental rebalances (KIP-429)
        # "consumer_protocol",  # the consumer protocol (KIP-848, ConsumerGroupHeartbeat)
        # "listener",  # callbacks for assigned and revoked partitions
        # "lost_callback",  # a callback of its own for lost partitions, or a query that tells them
        # "listener_in_poll",  # callbacks run on the application's thread, inside poll(), unsubscribe() and close()
        # "join_needs_poll",  # nothing joins before the first poll()
        # "poll_interval",  # max.poll.interval.ms: a member that does not poll leaves (KIP-62)
        # "auto_commit",  # positions are committed by the client itself
        # "static",  # static members (KIP-345): the setting group.instance.id
        # "seek",  # reading on from another offset, asked for between two polls
        # "pause",  # pausing and resuming partitions
        # "wakeup",  # another thread ends the call in progress, or else the next one
        # "callback_commit",  # a callback may commit, and wait for it
        # "pattern",  # subscriptions by a regular expression
        # "raising_listener",  # a callback may raise: the rebalance goes on all the same
        # "close_timeout",  # a time limit of close() that the application sets, also 0
        # "callback_seek",  # a callback may set positions, and pause partitions
        # "max_poll_records",  # a limit of how many records a poll returns: the setting max.poll.records
        # "seek_to_beginning",  # reading on from the first record that there is, wherever that is
        # "assign",  # partitions that the application assigns itself, to be no member of a group
    )
    # Of PROTOCOL.md's features, also those that this base cannot carry out, what the client offers and this harness
    # does not drive: otherwise the client would seem to lack it.
    not_driven = ()
    # Settings that the client has for good, such as {"auto_commit": True}: no case asks it for another value.
    fixed: Mapping[str, protocol.Setting] = {}

    def configure(self, command: protocol.Configure) -> None:
        """Pass every setting on; groupspec looks on the wire for them.

        command.bootstrap (addresses, with commas between), group_id, client_id, session_timeout_ms,
        heartbeat_interval_ms, request_timeout_ms, retry_backoff_ms, max_poll_interval_ms (also the rebalance timeout in
        JoinGroup), fetch_max_wait_ms, auto_offset_reset ("earliest" or "latest"), auto_commit (every
        auto_commit_interval_ms, before a rebalance takes partitions away, and at close), more (further settings by the
        names of Kafka's consumer), rebalance ("eager": the range assignor; "cooperative": cooperative-sticky, and no
        other beside it).

        base.kafka_settings(command) has them under the names that kafka-python and aiokafka give them, but for
        rebalance. Where making the client already joins, keep the command, and make the client in subscribe.
        """
        raise base.ToFillIn("make the client with these settings")

    def subscribe(self, topics: list[str]) -> None:
        """Give the client a listener, if it has one; each callback calls self.assigned, self.revoked or self.lost.

        Each takes the partitions (anything with .topic and .partition). base.Listener(self) is one with Kafka's
        methods. Where a callback of one's own replaces the client's commit, commit first, if command.auto_commit said
        so. A callback of asyncio: self.callback_begins("partitions_assigned", partitions), await
        asyncio.sleep(self.callback_s), self.callback_ends("partitions_assigned"). Do not poll yet. A second call, also
        while the client is polled, replaces the first one's. With the feature "pattern": subscribe_to_pattern, too.
        """
        raise base.ToFillIn("subscribe to the topics, with a listener")

    def poll(self, poll_ms: int) -> Mapping[base.AnyPartition, Sequence[int]]:
        """Poll for at most that long; return the offsets of the records that came, by partition."""
        raise base.ToFillIn("poll once, and return what came")

    def commit(self) -> Mapping[base.AnyPartition, int]:
        """Commit what poll has returned, and wait; return the offset of the next record, by partition."""
        raise base.ToFillIn("commit the positions, wait, and return them")

    def assignment(self) -> list[base.AnyPartition] | None:
        """What the client says that it owns, asked in each callback; None where it cannot be asked there."""
        return None

    def unsubscribe(self) -> None:
        """Give the subscription up, and return when the listener has been called."""
        raise base.ToFillIn("unsubscribe")

    def close(self) -> None:
        """Close the client if it has been made; the process ends afterwards."""
        raise base.ToFillIn("close the client")

    # With the feature "close_timeout" override close_within(timeout_ms), too.


if __name__ == "__main__":
    base.main(MyHarness)
