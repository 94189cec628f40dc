"""The broker of a case is like a real cluster where a client could notice that it is not."""

from __future__ import annotations

import socket

import pytest

from groupspec.conformance.wire.case_broker import CaseBroker, NoOccasion
from groupspec.conformance.wire.log import Log
from groupspec.impl.core.messages import ErrorCode, MetadataRequest, MetadataResponse
from groupspec.impl.network.codec import decode_response, encode_request
from groupspec.impl.network.frames import FrameReader, framed


def test_the_offsets_topic_is_there_and_internal() -> None:
    """Sarama asks for it before it asks for a coordinator again, and waited 7.5 s for a topic that was not there."""
    with CaseBroker(Log(), "orders") as broker:
        host, _, port = broker.bootstrap.split(",")[0].partition(":")
        with socket.create_connection((host, int(port)), 10) as peer:
            peer.sendall(framed(encode_request(MetadataRequest(("__consumer_offsets", "orders")), 1, 7, "test")))
            frames = FrameReader(1 << 20)
            while not (answer := list(frames.feed(peer.recv(65536)))):
                pass
    [frame] = answer
    _, metadata = decode_response("Metadata", 1, frame)
    assert isinstance(metadata, MetadataResponse)
    topics = {topic.topic: (len(topic.partitions), topic.error) for topic in metadata.topics}
    assert topics == {"__consumer_offsets": (50, ErrorCode.NONE), "orders": (4, ErrorCode.NONE)}
    name = b"__consumer_offsets"
    assert frame[frame.index(name) + len(name)] == 1, "is_internal follows the name in version 1"


def test_nothing_can_be_taken_from_who_has_nothing() -> None:
    with CaseBroker(Log(), "orders") as broker, pytest.raises(NoOccasion, match="has expelled it"):
        broker.take_one_partition()
