"""The embedded consumer protocol, against two implementations that are not ours (kio's and kafka-python's)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment as KafkaPythonAssignment
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription as KafkaPythonSubscription

from groupspec.impl.core.messages import TopicPartition
from groupspec.impl.core.protocol import (
    HIGHEST_VERSION,
    Assignment,
    MalformedProtocolData,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

partitions = st.frozensets(
    st.builds(TopicPartition, topic=st.text(min_size=1, max_size=8), partition=st.integers(0, 2**31 - 1)), max_size=8
).map(lambda chosen: tuple(sorted(chosen)))
user_data = st.none() | st.binary(max_size=20)
subscriptions = st.builds(
    Subscription,
    topics=st.frozensets(st.text(max_size=8), max_size=5).map(lambda topics: tuple(sorted(topics))),
    user_data=user_data,
    owned=partitions,
    generation=st.integers(-1, 2**31 - 1),
    rack=st.none() | st.text(max_size=8),
)
versions = st.integers(0, HIGHEST_VERSION)


def as_version(subscription: Subscription, version: int) -> Subscription:
    """What is left of a subscription in a version."""
    return Subscription(
        subscription.topics,
        subscription.user_data,
        subscription.owned if version >= 1 else (),
        subscription.generation if version >= 2 else -1,
        subscription.rack if version >= 3 else None,
    )


@given(subscriptions, versions)
def test_a_subscription_survives_the_way_there_and_back(subscription: Subscription, version: int) -> None:
    assert decode_subscription(encode_subscription(subscription, version)) == as_version(subscription, version)


@given(subscriptions, versions)
def test_kafka_python_reads_the_same_subscription(subscription: Subscription, version: int) -> None:
    read = KafkaPythonSubscription.decode(encode_subscription(subscription, version))
    expected = as_version(subscription, version)
    assert read.version == version
    assert tuple(read.topics) == expected.topics
    assert read.user_data == expected.user_data
    if version >= 1:
        owned = [TopicPartition(group.topic, number) for group in read.owned_partitions for number in group.partitions]
        assert tuple(owned) == expected.owned
    if version >= 2:
        assert read.generation_id == expected.generation
    if version >= 3:
        assert read.rack_id == expected.rack


@given(partitions, user_data, versions)
def test_an_assignment_survives_and_kafka_python_reads_the_same(
    given_partitions: tuple[TopicPartition, ...], data: bytes | None, version: int
) -> None:
    assignment = Assignment(given_partitions, data)
    encoded = encode_assignment(assignment, version)
    assert decode_assignment(encoded) == assignment
    read = KafkaPythonAssignment.decode(encoded)
    assert tuple(TopicPartition(*partition) for partition in read.partitions()) == given_partitions
    assert read.user_data == data


@given(subscriptions, st.binary(min_size=1, max_size=30), st.integers(HIGHEST_VERSION + 1, 2**15 - 1))
def test_a_newer_version_is_read_as_far_as_it_is_known(subscription: Subscription, extra: bytes, version: int) -> None:
    newer = struct.pack(">h", version) + encode_subscription(subscription)[2:] + extra
    assert decode_subscription(newer) == subscription


@given(subscriptions, st.data())
def test_a_subscription_cut_anywhere_is_refused(subscription: Subscription, data: st.DataObject) -> None:
    encoded = encode_subscription(subscription)
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    with pytest.raises(MalformedProtocolData, match="Subscription"):
        decode_subscription(cut)


@given(subscriptions, partitions, st.integers(0, 200), st.integers(0, 255))
def test_a_byte_that_is_wrong_is_read_or_refused(
    subscription: Subscription, given_partitions: tuple[TopicPartition, ...], at: int, byte: int
) -> None:
    encoded = (encode_subscription(subscription), encode_assignment(Assignment(given_partitions)))
    for data, decode in zip(encoded, (decode_subscription, decode_assignment), strict=True):
        place = at % len(data)
        try:
            decode(data[:place] + bytes((byte,)) + data[place + 1 :])
        except MalformedProtocolData as refusal:
            assert str(refusal)  # noqa: PT017  (either outcome is right)


@given(subscriptions, st.integers(HIGHEST_VERSION + 1, 9) | st.integers(-9, -1))
def test_a_version_that_is_not_known_is_not_written(subscription: Subscription, version: int) -> None:
    with pytest.raises(ValueError, match="this writer knows 0 to"):
        encode_subscription(subscription, version)


@given(st.binary(max_size=60))
def test_random_bytes_are_read_or_refused_but_never_break_the_reader(noise: bytes) -> None:
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(noise)
        except MalformedProtocolData as refusal:
            assert str(refusal)  # noqa: PT017  (either outcome is right)


def test_topics_are_written_in_order() -> None:
    shuffled, in_order = Subscription(("b", "a")), Subscription(("a", "b"))
    assert encode_subscription(shuffled) == encode_subscription(in_order)


def test_no_bytes_are_an_empty_assignment() -> None:
    assert decode_assignment(b"") == Assignment(())


def test_a_negative_version_and_a_lying_count_are_named() -> None:
    with pytest.raises(MalformedProtocolData, match="version -2 is negative"):
        decode_assignment(struct.pack(">h", -2))
    with pytest.raises(MalformedProtocolData, match="claims 2147483647 items"):
        decode_subscription(struct.pack(">hi", 0, 2**31 - 1))
