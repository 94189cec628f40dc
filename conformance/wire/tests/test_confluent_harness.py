"""The harness of confluent-kafka tells of a callback that the client calls with another one's exception pending."""

from __future__ import annotations

from typing import Final

import pytest
from confluent_kafka import KafkaError, TopicPartition

from groupspec.conformance.checks.verdicts import Verdict
from groupspec.conformance.history import harness_protocol as protocol
from groupspec.conformance.history.harness_protocol import Event, Partition
from groupspec.conformance.wire.campaign import run_campaign
from groupspec.conformance.wire.clients import find_client
from groupspec.conformance.wire.harnesses import confluent_kafka_client as harness
from groupspec.conformance.wire.harnesses.base import ListenerFailure
from groupspec.conformance.wire.scenarios import written_cases

PARTITIONS: Final = [TopicPartition("orders", 0)]


class Told:
    """What a harness says."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def say(self, event: Event) -> None:
        self.events.append(event)


class Owning:
    """A consumer that owns nothing yet."""

    def assignment(self) -> list[TopicPartition]:
        return []


def of_confluent(told: Told) -> harness.ConfluentKafka:
    """The harness, of a client that owns nothing."""
    made = harness.ConfluentKafka(told)
    made.consumer = Owning()
    return made


def test_a_callback_that_met_another_ones_exception_is_told_as_the_clients_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_an_exception_pending() -> int:
        raise SystemError("returned a result with an exception set") from ListenerFailure("partitions_lost raises")

    told = Told()
    client = of_confluent(told)
    monkeypatch.setattr(harness, "get_ident", with_an_exception_pending)
    with pytest.raises(harness.ClientError, match="pending") as raised:
        client._listening("partitions_assigned", client.assigned)(client.consumer, PARTITIONS)
    client.error(raised.value, "poll")
    assigned, returned, error = told.events
    assert isinstance(assigned, protocol.PartitionsAssigned)
    assert assigned.partitions == [Partition("orders", 0)]
    assert isinstance(returned, protocol.CallbackReturned)
    assert returned.raised
    assert isinstance(error, protocol.ErrorRaised)
    assert error.harness_line == "", "the client's doing, not the harness's"


def test_a_mistake_of_the_harness_in_a_callback_is_still_its_own() -> None:
    told = Told()
    client = of_confluent(told)
    client.callback_s = "long"  # type: ignore[assignment]
    with pytest.raises(TypeError) as raised:
        client._listening("partitions_assigned", client.assigned)(client.consumer, PARTITIONS)
    client.error(raised.value, "poll")
    assert isinstance(told.events[-1], protocol.ErrorRaised)
    assert told.events[-1].harness_line.startswith("base.py:")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KafkaError(KafkaError._TRANSPORT, "Connection refused"), False),
        (KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"), False),
        (KafkaError(KafkaError._FATAL, "fenced"), True),
        (KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced", True), True),
    ],
)
def test_what_librdkafka_tells_for_information_is_no_error(
    error: KafkaError, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its error callback is informational but for what is fatal (rdkafka.h, rd_kafka_conf_set_error_cb)."""
    says = Told()
    of_confluent(says)._informed(error)
    assert [type(event) for event in says.events] == [protocol.ErrorRaised] * told
    assert error.str() in capsys.readouterr().err


@pytest.mark.realtime
def test_what_librdkafka_refuses_to_be_configured_with_is_unsupported_and_no_crash() -> None:
    """A poll interval below the session, which Kafka's own client takes."""
    cases = [case for case in written_cases() if case.id == "coordinator-long-unknown"]
    [client] = run_campaign([find_client("confluent-kafka")], cases, jobs=1).clients
    assert {row.judgement.verdict for row in client.rows} == {Verdict.UNSUPPORTED}
    assert "max.poll.interval.ms below session.timeout.ms" in client.rows[0].judgement.reason
    assert not client.crashes
