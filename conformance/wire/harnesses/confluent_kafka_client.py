"""The harness of confluent-kafka (librdkafka).

librdkafka joins in the background as soon as it is subscribed; its rebalance callbacks are served by poll() and
close(). A poll returns one message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, TopicPartition

from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import CallbackName, Partition
from groupspec.conformance.wire.harnesses.base import AnyPartition, Harness, Unsupported, kafka_settings, main

UNSUBSCRIBED_WITHIN_S = 5.0


class ClientError(Exception):
    """An error of the client's: librdkafka reported it, as a message or as a fatal one, or a callback met it."""


class ConfluentKafka(Harness):
    """confluent_kafka.Consumer."""

    client = "confluent-kafka"
    features = (
        "eager",
        "cooperative",
        "listener",
        "lost_callback",
        "listener_in_poll",
        "pull",
        "poll_interval",
        "auto_commit",
        "static",
        "seek",
        "pause",
        "callback_commit",
        "raising_listener",
        "pattern",
        "max_poll_records",
        "seek_to_beginning",
        "assign",
    )
    not_driven = ("consumer_protocol",)

    def version(self) -> str:
        """Of the installed package."""
        return str(confluent_kafka.__version__)

    def engine(self) -> str:
        """The librdkafka that comes with it."""
        return f"librdkafka {confluent_kafka.libversion()[0]}"

    def configure(self, command: protocol.Configure) -> None:
        """Make the consumer."""
        if command.max_poll_interval_ms < command.session_timeout_ms:
            raise Unsupported("max.poll.interval.ms below session.timeout.ms")
        settings = kafka_settings(command)
        settings["socket_timeout_ms"] = settings.pop("request_timeout_ms")
        settings["fetch_wait_max_ms"] = settings.pop("fetch_max_wait_ms")
        if "metadata_max_age_ms" in settings:
            settings["topic_metadata_refresh_interval_ms"] = settings.pop("metadata_max_age_ms")
        settings.pop("max_poll_records", None)  # librdkafka has no such setting: poll() returns one, consume(n) up to n
        assignor = "cooperative-sticky" if command.rebalance == "cooperative" else "range"
        self.consumer = Consumer(
            {name.replace("_", "."): value for name, value in settings.items()}
            | {"partition.assignment.strategy": assignor, "error_cb": self._informed}
        )

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe, with a listener."""
        self.consumer.subscribe(
            topics,
            on_assign=self._listening("partitions_assigned", self.assigned),
            on_revoke=self._listening("partitions_revoked", self.revoked),
            on_lost=self._listening("partitions_lost", self.lost),
        )

    def _listening(
        self, name: CallbackName, tell: Callable[[list[TopicPartition]], None]
    ) -> Callable[[Consumer, list[TopicPartition]], None]:
        """A callback of the listener.

        Before 2.13.0 the interpreter still has what one callback raised pending when the same poll() calls the next
        (confluent-kafka-python #865). The next one's first call of a function in C fails with a SystemError for it,
        whatever the application does: so this calls such a function first, before anything has been told, and tells of
        a callback that raised.
        """

        def called(_: Consumer, partitions: list[TopicPartition]) -> None:
            try:
                get_ident()
            except SystemError as pending:
                self.callback_begins(name, partitions)
                self.output.say(protocol.CallbackReturned(callback=name, raised=True))
                raise ClientError(f"{name} was called with an exception pending: {pending}") from pending
            tell(partitions)

        return called

    def subscribe_to_pattern(self, pattern: str) -> None:
        """The same to all topics that match: to librdkafka what begins with a ^."""
        self.subscribe([pattern])

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Read these, without a subscription."""
        self.consumer.assign([TopicPartition(each.topic, each.partition) for each in partitions])

    def poll(self, poll_ms: int) -> Mapping[AnyPartition, Sequence[int]]:
        """One poll."""
        message = self.consumer.poll(poll_ms / 1000)
        if message is None:
            return {}
        error = message.error()
        if error is not None:
            self._reported(error)
            return {}
        return {Partition(message.topic(), message.partition()): [message.offset()]}

    def commit(self) -> Mapping[AnyPartition, int]:
        """Commit the positions, and wait."""
        committed = self.consumer.commit(asynchronous=False)
        return {partition: partition.offset for partition in committed}

    def seek(self, partition: Partition, offset: int) -> None:
        """Read a partition from this offset on; -2 is its beginning to librdkafka, too (OFFSET_BEGINNING)."""
        self.consumer.seek(TopicPartition(partition.topic, partition.partition, offset))

    def pause(self, partitions: Sequence[Partition]) -> None:
        """Return no records of these."""
        self.consumer.pause([TopicPartition(each.topic, each.partition) for each in partitions])

    def resume(self, partitions: Sequence[Partition]) -> None:
        """Return records of these again."""
        self.consumer.resume([TopicPartition(each.topic, each.partition) for each in partitions])

    def unsubscribe(self) -> None:
        """Give up the subscription; the listener is called by poll()."""
        self.consumer.unsubscribe()
        until = time.monotonic() + UNSUBSCRIBED_WITHIN_S
        while self.consumer.assignment() and time.monotonic() < until:
            self.consumer.poll(0.05)

    def _informed(self, error: KafkaError) -> None:
        """What the error callback tells is for information, unless it is fatal: librdkafka goes on by itself."""
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._reported(error)
        else:
            self.note(f"{error.name()}: {error.str()}")

    def _reported(self, error: KafkaError) -> None:
        self.error(ClientError(f"{error.name()}: {error.str()}"))


if __name__ == "__main__":
    main(ConfluentKafka)
